"""The package's environments report labels in `info`, also at reset: `labels="info"`."""

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import pdrm
from pdrm.domains.environments import FiniteEnv
from pdrm.domains.paper_domains import domain
from pdrm.task import pushdown_machine

NAMES = ["letter", "maze-5x5", "multi-10x10", "deliver-8", "deliver-4-8", "paint", "echo"]


def check_the_machine_reads_what_the_domain_emits(name):
    machine = pushdown_machine(domain(name).machine)
    env = pdrm.wrap(FiniteEnv(name), machine, "info")
    env.action_space.seed(0)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        begin = machine.begin()
        here, paid = begin.after, begin.reward
        if info["label"] is not None:
            step = machine.step(here, info["label"])
            here, paid = step.after, paid + step.reward
        assert (env.configuration, info["machine"]["reward"]) == (here, paid)
        over = False
        while not over:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            step = machine.step(here, info["label"])
            here, over = step.after, terminated or truncated
            assert env.configuration == here
            assert reward == info["machine"]["environment_reward"] + step.reward
            assert terminated >= (here.state in machine.final)


def test_the_machine_reads_what_the_domain_emits():
    for name in NAMES:
        check_the_machine_reads_what_the_domain_emits(name)


@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version:UserWarning")
@pytest.mark.filterwarnings("ignore:.*the environment not having a spec:UserWarning")
def test_gymnasium_finds_nothing_wrong():
    for name in NAMES:
        check_env(pdrm.wrap(FiniteEnv(name), domain(name).machine, "info", flatten=True))


def test_a_task_drawn_as_text_shows_the_state_and_the_stack_of_its_machine():
    env = pdrm.Task("maze-5x5").env(render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.render()
    env.reset(seed=0)
    env.step(1)
    assert (
        env.render()
        == "#x###\n#@..#\n#.###\n#..t#\n#####\nstep 1  {d}\nstate  search\nstack\n  | d |\n  | # |"
    )
    replay = pdrm.train("maze-5x5", "cprm", episodes=1_000).replay()
    assert replay.screens[1].count("  | d |") == 1, "a replay shows a stack in the same way"
    picture = pdrm.Task("maze-5x5").env(render_mode="rgb_array")
    picture.reset(seed=0)
    assert picture.render().shape[-1] == 3
    silent = pdrm.Task("maze-5x5").env()
    silent.reset(seed=0)
    limited = gymnasium.wrappers.TimeLimit(silent, 9)
    for one in (silent, limited, silent.unwrapped):
        with pytest.warns(UserWarning, match="without a render_mode") as warned:
            assert one.render() is None
        assert warned[0].filename == __file__, "it points at the user's line"


def test_environments_of_others_are_drawn_with_the_machine_under_them():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False, render_mode="ansi")
    env = pdrm.wrap(lake, "letter", lambda *step: {"A"} if step[2] == 4 else set())
    env.reset(seed=0)
    env.step(1)
    shown = env.render()
    assert shown.startswith(lake.render().rstrip("\n"))
    assert shown.endswith("\nstate  u0\nstack\n  | A |\n  | # |")
