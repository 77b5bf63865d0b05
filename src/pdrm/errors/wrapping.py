"""Faults met when a machine is put on someone's environment (E09xx)."""

from pdrm.errors.message import PdrmError


class CannotWrap(PdrmError):
    """`pdrm.wrap` needs a `gymnasium.Env`, and `pdrm.wrap_vector` a list of functions that each make one.

    A vector environment that exists already cannot be wrapped: when the machine reaches a final state its sub-environment
    must be reset, and a vector environment offers no way to do that for one of them. Only spaces that Gymnasium can
    flatten can be flattened, only a `Discrete` one can be numbered, and the key `machine` of `info` must be free.
    """

    code = "E0901"


class BadLabel(PdrmError):
    """A labelling function returns a set (or list, or tuple) of event names; the empty set where nothing happened.

    A text is refused, since it would be read letter by letter: return `{"goal"}`, not `"goal"`. So is None, which is most
    often a forgotten `return`.
    """

    code = "E0902"


class BadEnvironmentReward(PdrmError):
    """The environment paid something that is not a finite number, so no sum with the machine's reward makes sense."""

    code = "E0903"


class EpisodeOver(PdrmError):
    """The episode has not begun, has terminated, or was broken off by an error: call `reset` before the next `step`."""

    code = "E0904"


class StackTooHigh(PdrmError):
    """The stack holds more symbols than the observation has room for.

    Cutting it would make different configurations look alike, which `FullStack` promises not to do. Give `wrap` a larger
    `depth`, or use `TopK(k)`, which sees the top k symbols of a stack of any height.
    """

    code = "E0905"


class FinishedAtReset(PdrmError):
    """The machine reached a final state before the first action, by silent moves or by the label at reset.

    Such an episode has no step in which it could end, and `reset` has no way to say that it is over.
    """

    code = "E0906"
