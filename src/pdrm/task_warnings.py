"""Warnings about likely mistakes in a task, each with a stable code and an explanation.

`pdrm explain CODE` prints the explanation. Its first clause is the title.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from pdrm.wording import Where, caller_stacklevel, format_message


@dataclass(frozen=True, slots=True)
class Finding:
    """A likely mistake: a warning, never an error.

    >>> print(Finding("W0601", "state `u3` cannot be reached"))
    warning[W0601]: state `u3` cannot be reached
    """

    code: str
    message: str
    where: Where | None = None
    fix: str = ""

    def __str__(self) -> str:
        return format_message(f"warning[{self.code}]: {self.message}", self.where, self.fix)


WARNINGS = {
    "W0601": """No word leads from the start to this state. A rule that should lead there is
    missing, never applies (W0603), or names another state. Remove the state, or check these rules.""",
    "W0602": """Labels that no rule reads: the `otherwise` line applies. This is not an error, but
    often a surprise. With `otherwise go lost -1`, a step in which nothing happens (the label `{}`)
    ends the task, unless a rule such as `u -> u : {}, z / z, 0` reads it.""",
    "W0603": """A rule never applies. Its formula may hold for no label (`a & !a`, or `a & b` if a
    and b are exclusive), its state and stack top may never occur together, or rules that name the
    top may always have priority over it.""",
    "W0604": """A declared name is never used: an event, a stack symbol or a rule of a grammar.
    Usually a rule is missing, or its name is misspelt. (`events key door` with a rule that reads
    `Key` is an error, but without any rule for `door` the event is ignored.) Events emitted by the
    domain must be declared even if no rule reads them. Remove a symbol that no rule pushes.""",
    "W0605": """A task ends before its word is complete: with `accept first` it is done as soon as
    the labels read so far are in its language, although later labels matter. `G a` is done at the
    first `a`. Usually `accept end` is meant, where the event `end` marks the end of the word.""",
    "W0606": """A loop has a positive reward: an agent can collect it forever. On the machine
    alone, a word returns to the configuration it started in with a reward above 0, for example if
    both a push and the matching pop are rewarded. With a domain, an episode of the loop returns at
    least as much as ending the task. Or `otherwise stay R` rewards every step in which no rule
    applies. Reward only one of the two, or only the step that achieves something.""",
    "W0607": """Never ending the task is best: continuing to the step limit returns more than any
    way of ending it. Raise the reward for ending, or lower the reward for continuing; a small cost
    per step helps.""",
    "W0608": """A final state cannot be reached in this domain, whatever the agent does: an event
    never occurs, never together with another event, or never with that stack.""",
    "W0609": """The machine's rules read an event that the domain never emits, usually a
    misspelling. Rules that wait for it never apply. `pdrm domains NAME` lists the events of a
    domain; the events of a map are its `place` lines.""",
    "W0610": """None of the agent's last evaluations completed the task. Usually rewards are too
    rare for its settings: exploration never finds one, or a wrong step costs so much that the
    agent learns to do nothing. More steps, another agent or a table (`cprm`) may help. A table may
    also see too little of the stack: `pdrm.check_k` (`pdrm check-k`) finds the k that is enough.""",
    "W0611": """An observation contains a small image, and Stable-Baselines3 is installed. Its
    `MultiInputPolicy` treats every image as a picture, for convolutions that need at least 36 by
    36 pixels. Smaller images make torch fail with `Kernel size can't be greater than actual input
    size`. Flatten the image with `pdrm.wrap(…, flatten=True)` or `pdrm.SB3(…,
    policy='MlpPolicy')`, or leave it out with `keys=[…]`.""",
    "W0612": """Every reward is 0, so there is nothing to learn: neither the machine nor the domain
    gives a reward. Add one to the rule that ends the task: `… / …, 1`.""",
    "W0613": """A rule replaces the bottom symbol: `z / A` replaces any top symbol, also the bottom
    symbol, and rules that read the bottom symbol can never apply again. To push onto the stack,
    write `z / A z`.""",
    "W0614": """A rule puts a symbol below the bottom symbol: no rule can read it there. `z / z A`
    keeps the top and puts A under it. The new top stands leftmost: to push, write `z / A z`.""",
    "W0615": """A machine can empty its stack in a state in which every rule reads a symbol. No
    rule applies afterwards, and `otherwise stay` remains there to the end of the episode. Usually
    a rule `z / eps` also pops the bottom symbol: name the symbol to pop (`A / eps`), or end the
    task with it (`u -> lost : a, # / eps, 0`, where `lost` is final).""",
    "W0616": """A flattened observation is very large: with `flatten=True` it is a vector of more
    than 10,000 numbers, usually an image. Without `flatten` the image is kept, and
    `MultiInputPolicy` reads it with convolutions. Gymnasium's `ResizeObservation` and
    `GrayscaleObservation` make it smaller.""",
    "W0617": """The environment ends episodes before the machine is done: `pdrm.wrap` saw episodes
    that ended with a reward, but the machine never finished. Usually the environment's goal is not
    the end of the task. `ignore_end=True` continues these episodes if the environment allows
    further steps, and `reward_weight=0` ignores the environment's reward.""",
}


class TaskWarning(UserWarning):
    """A warning about a likely mistake in a task.

    >>> print(TaskWarning(Finding("W0612", "every reward is 0")))
    warning[W0612]: every reward is 0
    """

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding

    @property
    def code(self) -> str:
        """The code of the warning, for `pdrm explain`."""
        return self.finding.code

    def __str__(self) -> str:
        return str(self.finding)


def warn_caller(warning: UserWarning) -> None:
    """Emit a warning with the caller's line as its location."""
    warnings.warn(warning, stacklevel=caller_stacklevel())


class EarlyAcceptance(TaskWarning):
    """W0605: a task is done before its whole word has been read.

    >>> print(EarlyAcceptance())
    warning[W0605]: the task is done at the first label that makes it true, whatever follows
      fix: add the line `accept end` (in Python, accept="end")
    """

    def __init__(self, where: Where | None = None, words: tuple[str, str] | None = None) -> None:
        """`words`: a word of the language, and a longer word that starts with it."""
        message = "the task is done at the first label that makes it true, whatever follows"
        if words is not None:
            short, long = words
            message = f"the task is done after `{short}`; the longer word `{long}` is never read"
        fix = 'add the line `accept end` (in Python, accept="end")'
        super().__init__(Finding("W0605", message, where, fix))


class NeverSucceeded(TaskWarning):
    """W0610: none of the last evaluations of an agent solved the task.

    >>> print(NeverSucceeded("no episode of the last 5 evaluations solved it", fix="train longer"))
    warning[W0610]: no episode of the last 5 evaluations solved it
      fix: train longer
    """

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(Finding("W0610", message, fix=fix))
        self.message = message
        self.fix = fix
