"""Faults of domains: their maps, their arrays and the requests made of them (E07xx)."""

from pdrm.errors.message import PdrmError


class UnknownDomain(PdrmError):
    """No domain of that name is known. `pdrm domains` lists them."""

    code = "E0701"


class BadArrays(PdrmError):
    """The arrays of a finite domain do not describe a labelled MDP.

    Shapes must agree; probabilities are at least 0 and sum to 1; next states, labels and starts must exist; rewards are
    finite. The message names the state, the action and the outcome.
    """

    code = "E0702"


class UnknownPlace(PdrmError):
    """A map holds a character that is neither `#` (wall), `.` (floor), `@` (start) nor a place that was given a meaning,
    or a meaning was given to a place that the map does not hold."""

    code = "E0703"


class RaggedMap(PdrmError):
    """The rows of a map must all have the same length, and there must be at least one."""

    code = "E0704"


class NoStart(PdrmError):
    """A map needs at least one start: `@` on plain floor, or a place that was named as the start."""

    code = "E0705"


class UnreachablePlace(PdrmError):
    """A place of the map is walled off from a start: an agent that starts there can never visit it."""

    code = "E0706"


class NoTransitionTable(PdrmError):
    """Only a Gymnasium environment that exposes its transition table as `P` can be turned into arrays.

    `P[state][action]` is a list of (probability, next state, reward, terminated), as in FrozenLake, Taxi and
    CliffWalking. Any other environment can still be used as it is, with a labelling function.
    """

    code = "E0707"


class BadDomainSetting(PdrmError):
    """A setting of a domain is not known, or its value is outside what makes sense."""

    code = "E0708"


class BadAction(PdrmError):
    """The environment was given something that is not one of its actions."""

    code = "E0709"


class BadDomainFile(PdrmError):
    """A file holds no domain: it is neither a map (text) nor arrays with their words (`.npz`), or it is damaged.

    A map draws walls as `#`, floor as `.` and the start as `@`; lines above it such as `step_limit 50` or `place k key` say
    more. Arrays are saved with `save_domain`.
    """

    code = "E0710"
