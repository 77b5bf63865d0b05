"""WaterWorld with a machine on it, drawn together: the box, and beside it the machine's state and its stack."""

from __future__ import annotations

from typing import Any

from pdrm.domains.water import WaterWorld
from pdrm.domains.water_drawing import Image, draw_water
from pdrm.domains.water_env import WaterEnv
from pdrm.product.any_machine import MachineLike
from pdrm.product.gym_env import MachineEnv
from pdrm.product.gym_observation import Observing
from pdrm.product.view import TopK, View

TOP_1 = TopK(1)


class WaterTask(MachineEnv):
    """The product of WaterWorld and a machine, its observation one vector.

    >>> env = WaterTask("water-17")
    >>> env.reset(seed=0)[0].shape, env.render().shape
    ((51,), (500, 660, 3))
    """

    def __init__(
        self,
        world: WaterWorld | str,
        machine: MachineLike = "water",
        view: View = TOP_1,
        **settings: Any,  # noqa: ANN401 - of the world, several types
    ) -> None:
        super().__init__(WaterEnv(world, "rgb_array", **settings), machine, "info", Observing(view, flatten=True))

    def render(self) -> Image:
        """The box, the machine's state and its stack."""
        env = self.env.unwrapped
        assert isinstance(env, WaterEnv)  # noqa: S101 - made above
        if env.water is None:
            env.reset(seed=0)
        assert env.water is not None  # noqa: S101 - just begun
        configuration = self.configuration
        return draw_water(env.world, env.water, [f"step {env.steps}", configuration.state], configuration.stack)
