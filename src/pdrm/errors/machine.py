"""Faults of a machine, when it is built (E03xx) and when it runs (E04xx)."""

from pdrm.errors.message import PdrmError


class Nondeterministic(PdrmError):
    """Two rules of one state apply to the same label and top of stack.

    At most one rule may apply, after one precedence: a rule that names the top symbol beats a rule with `z`. A silent
    rule excludes every reading rule at the same state and top, and a rule that ignores the stack (`eps`) clashes with
    one that looks at it.
    """

    code = "E0301"


class EndlessSilentMoves(PdrmError):
    """Silent moves read no label, so a machine must run out of them.

    From the configuration in the message it never does. Configurations that no word reaches count too: counterfactual
    experiences start the machine anywhere.
    """

    code = "E0302"


class FinalStateWithRules(PdrmError):
    """A final state ends the episode, so no rule may leave it (final states are disjoint from the others)."""

    code = "E0303"


class TooManyCases(PdrmError):
    """A formula splits into more cases than the determinism check will look at. Split the rule into simpler ones."""

    code = "E0304"


class CannotTranslate(PdrmError):
    """The theory allows no such translation, or the machine has a feature that it does not cover."""

    code = "E0305"


class UndefinedMove(PdrmError):
    """No rule applies to this label in this configuration, and the machine says `otherwise error`."""

    code = "E0401"


class MachineFinished(PdrmError):
    """The machine is in a final state: the episode is over and no further label can be read."""

    code = "E0402"


class ImpossibleLabel(PdrmError):
    """The label holds two events that the machine declares exclusive (at most one of them in any label)."""

    code = "E0403"


class UnknownConfiguration(PdrmError):
    """A configuration names a state or a stack symbol that the machine does not have."""

    code = "E0404"


class StackFull(PdrmError):
    """The store of stacks has reached the number of distinct stacks it was given."""

    code = "E0405"
