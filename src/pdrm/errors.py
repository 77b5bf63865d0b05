"""Every exception of the package: each fault has one class, one stable code, and one explanation.

The explanation is the class's docstring, which `pdrm explain CODE` prints. A message says what is wrong, where
(`file:line:column` with a caret), why, and what to do. The first two digits of a code say what it is about: 01 reading a text,
02 its names, 03 a machine when it is built, 04 when it runs, 05 files, words and requests, 06 warnings, 07 domains, 08 settings,
agents, policies and runs, 09 a machine on someone's environment, 10 what can be proved, 11 studies.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from pdrm.wording import Where as Where
from pdrm.wording import count_to_caller, tell
from pdrm.wording import did_you_mean as did_you_mean
from pdrm.wording import name_alike as name_alike
from pdrm.wording import suggest as suggest


class PdrmError(Exception):
    """The parent of every error that pdrm raises on purpose: catch it to catch them all.

    >>> print(PdrmError("nothing works", fix="begin again"))
    error[E0000]: nothing works
      fix: begin again
    """

    code: ClassVar[str] = "E0000"

    def __init_subclass__(cls, *, code: str = "E0000") -> None:
        super().__init_subclass__()
        cls.code = code

    def __init__(
        self, message: str | PdrmError, *, where: Where | None = None, fix: str = "", word: str = ""
    ) -> None:
        super().__init__(message)
        self.message: str = str(message)
        self.where: Where | None = where
        self.fix: str = fix
        self.word: str = word
        """The offending word, so that a reader can point at it in the text."""
        if isinstance(message, PdrmError):  # as Gymnasium raises again what another process raised
            vars(self).update(vars(message))

    @property
    def errors(self) -> tuple[PdrmError, ...]:
        """The faults this error stands for, in the order of the text: itself, or each of several."""
        return (self,)

    def __str__(self) -> str:
        return tell(f"error[{self.code}]: {self.message}", self.where, self.fix)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or ■ in a notebook, and what was kept; a notebook shows this line and nothing else.

    >>> print(Interrupted("stopped; nothing was kept"))
    stopped; nothing was kept
    """

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class SeveralErrors(PdrmError, code="E0001"):
    """One text can hold several faults; they are reported together, each with its own code."""

    def __init__(self, errors: Sequence[PdrmError] | SeveralErrors) -> None:
        if isinstance(errors, SeveralErrors):
            errors = errors.errors
        super().__init__(f"{len(errors)} errors", where=errors[0].where)
        self._errors = tuple(errors)

    def __reduce__(self) -> tuple[type[SeveralErrors], tuple[tuple[PdrmError, ...]]]:
        """Pickle the faults, not the message."""
        return type(self), (self._errors,)

    @property
    def errors(self) -> tuple[PdrmError, ...]:
        return self._errors

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self._errors)


MAX_FAULTS = 100
"""The maximum number of errors reported at once."""


def raise_all(errors: Iterable[PdrmError]) -> None:
    """Raise the one error, or all of them together (as many as are reported), or nothing."""
    found = list(islice(errors, MAX_FAULTS))
    if found:
        raise SeveralErrors(found) if len(found) > 1 else found[0]


class CannotRead(PdrmError, code="E0101"):
    """The line is not a header, a `for`, a `map` or a rule. A rule reads `SOURCE -> TARGET : LABEL, TOP / PUSH, REWARD`, such as `u0 -> u0
    : {A}, z / A z, -0.01`. Labels are exact sets `{a, t}`, formulas `a & !t`, or `eps`."""


class UnknownKeyword(PdrmError, code="E0102"):
    """A header line starts with an unknown keyword. A machine's are name, events, exclusive, stack, counters, states, start, final,
    otherwise, map and for; those above a formula are accept, reward, fail, step, complete, events and exclusive."""


class BadReward(PdrmError, code="E0103"):
    """A reward, which stands last in a rule, must be a finite number such as `1`, `-0.01` or `1e5`: what an agent learns is made of sums of
    rewards. Before: `u -> f : a, z / z, ten`. After: `u -> f : a, z / z, 10`."""


class BadIndentation(PdrmError, code="E0104"):
    """The rules inside a `for` block, and nothing else, are indented with spaces, all by the same amount."""


class NotUtf8(PdrmError, code="E0105"):
    """Machine files are UTF-8 text. The message names the first byte that is not."""


class TooLarge(PdrmError, code="E0106"):
    """A file, a line, a formula or an expansion is beyond the limits that keep a damaged or hostile file from taking time and memory."""


class TooDeep(PdrmError, code="E0107"):
    """Parentheses, negations, `for` blocks or JSON values are nested beyond reason."""


class BadName(PdrmError, code="E0108"):
    """A name may not be empty, hold spaces or any of `{ } ( ) [ ] , : / & | ! < > = +`, nor start with `-`. `z` (any stack symbol) and
    `eps` (none) cannot name a stack symbol; `eps` and `true` cannot name an event."""


class BadNumber(PdrmError, code="E0109"):
    """A count must be an integer: the number of counters, a counter test (0, 1 or -) or a counter change."""


class BadShape(PdrmError, code="E0110"):
    """A JSON value has the wrong type, a key is missing, or a key is not known. See the published schema."""


class NotConstant(PdrmError, code="E0111"):
    """Only `ConstantRewardFunction(NUMBER)` can be read: other reward functions are Python code we do not run."""


class BadGrammar(PdrmError, code="E0112"):
    """A grammar is rules such as `pair: "open" pair* "close"`: alternatives `|`, groups `( )`, `?`, `*`, `+`, and events in double quotes.
    Every name is a rule, one rule is called `start`, and some word comes from each."""


class Undecidable(PdrmError, code="E0113"):
    """One event of look-ahead does not say how to read a word of this grammar. Either it is ambiguous, and the message shows a word with
    two derivations; or it needs more look-ahead, and the message names the rule."""

    words: tuple[str, str] | None = None
    """A word that has two derivations, twice, as `pdrm step` takes it."""


class UnknownState(PdrmError, code="E0201"):
    """A rule, `start` or `otherwise` names a state that no rule leaves and that is not final. Declare dead ends: `states u0 dead`."""


class UnknownEvent(PdrmError, code="E0202"):
    """A guard or a label uses an event that the machine's `events` line does not declare, or the domain of a task emits one, so that the
    machine could not read it. Spell it alike in both, or declare it: no rule has to read it."""


class UnknownSymbol(PdrmError, code="E0203"):
    """A rule uses a symbol that the `stack` line does not declare, or pushes back `z`, the symbol on top, without having looked at it.
    Before: `u -> u : a, # / A z, 0`. After: `u -> u : a, # / A #, 0`, or `u -> u : a, z / A z, 0`."""


class DuplicateName(PdrmError, code="E0204"):
    """One name is defined twice: headers, events, symbols, entries of a map, or a loop variable that is something else, too."""


class MissingHeader(PdrmError, code="E0205"):
    """A machine needs `start` and `otherwise` (`stay R`, `go STATE R` or `error`), which says what happens if no rule applies."""


class UnknownMap(PdrmError, code="E0206"):
    """A `f(x)` uses a map that is not defined above it, or a value that the map does not list. A map has a line before the rules: `map back
    u:d d:u`, and then in a loop `for a in u d:` the rule `return -> return : back(a), a / eps, 1`."""


class NoBottom(PdrmError, code="E0207"):
    """The `stack` line lists the stack symbols, the bottom (initial) one first: it must list at least one."""


class Nondeterministic(PdrmError, code="E0301"):
    """Two rules of one state apply to the same label and top of stack. A rule that names the top symbol beats one with `z`; a silent rule
    excludes every reading rule at the same state and top, and a rule that ignores the stack (`eps`) clashes with one that looks at it."""


class EndlessSilentMoves(PdrmError, code="E0302"):
    """Silent moves read no label, so a machine must run out of them (within a million), and from the configuration in the message it never
    does. It counts even if no word leads there: counterfactual experiences start the machine anywhere."""


class FinalStateWithRules(PdrmError, code="E0303"):
    """A final state ends the episode, so no rule may leave it. If the task should continue there, the state is not final. Before: `final f`
    with a rule `f -> u : a, z / z, 0`. After: `final g`, and a rule that leads to `g` when all is done."""


class TooManyCases(PdrmError, code="E0304"):
    """A formula such as `a1 & b1 | a2 & b2 | …` over many events splits into more cases than the determinism check will look at. A line
    `exclusive a b c d` makes them fewer, and so do several rules with few events each."""


class CannotTranslate(PdrmError, code="E0305"):
    """The theory allows no such translation, or the machine has a feature that it does not cover."""


class CannotCombine(PdrmError, code="E0306"):
    """Two machines can be combined only if their stacks always move together: at every label that some word leads to, both push equally
    many symbols, or both pop. The message shows a word after which they do not (Section 5)."""


class UndefinedMove(PdrmError, code="E0401"):
    """No rule applies to this label in this configuration, and the machine says `otherwise error`. Add a rule (`pdrm check` lists what is
    left open), or say what happens then: `otherwise stay 0` or `otherwise go lost -1`."""


class MachineFinished(PdrmError, code="E0402"):
    """The machine is in a final state: the episode is over and no further label can be read. `machine.run(word)` stops by itself and says
    in `unread` how many labels are left; before `step`, check if the state is in `machine.final`."""


class ImpossibleLabel(PdrmError, code="E0403"):
    """The label holds two events that the machine declares exclusive (at most one of them in any label), and the checks rely on it. If both
    can happen in one step, remove the `exclusive` line and tell the rules apart: `a & !b` and `b`."""


class UnknownConfiguration(PdrmError, code="E0404"):
    """A configuration names a state or a stack symbol that the machine does not have (see `machine.states`, `machine.stack`). It is a state
    and a stack, the top first: `Configuration("u0", ("A", "#"))`."""


class StackFull(PdrmError, code="E0405"):
    """The store of stacks, each kept once, has reached the number of distinct stacks it was given. A machine that pushes in every step
    makes new ones for as long as it runs: give the store more room, or limit the steps."""


class CannotOpen(PdrmError, code="E0501"):
    """The file does not exist, is a folder, or may not be read. A path is taken from the folder in which the command runs. `pdrm check
    letter` is the catalogue's machine, `pdrm check letter.pdrm` is a file of your own."""


class CannotWrite(PdrmError, code="E0502"):
    """The file could not be written (no permission, no space, no such folder). What was there before is untouched."""


class UnknownFormat(PdrmError, code="E0503"):
    """The ending of a file's name is its format: `.pdrm` or `.json` for machines, `.svg`, `.png`, `.pdf`, `.dot` or `.tex` for drawings."""


class BadWord(PdrmError, code="E0504"):
    """A word is labels separated by spaces; a label is events joined by `+`, or `-` for the empty label."""


class UnknownCode(PdrmError, code="E0505"):
    """`pdrm explain` was asked about a code that does not exist."""


class UnknownMachine(PdrmError, code="E0506"):
    """No machine of that name is in the catalogue, and no such file exists."""


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
        return tell(f"warning[{self.code}]: {self.message}", self.where, self.fix)


WARNINGS = {
    "W0601": "A state cannot be reached from the start by any word. A rule that should lead there is missing, never applies (W0603), or names another state. Remove the state, or check the rules that should lead to it.",
    "W0602": "Labels for which no rule applies: the `otherwise` line decides. This is not a fault, but often a surprise: with `otherwise go lost -1`, a step in which nothing happens (the label `{}`) ends the task, unless a rule such as `u -> u : {}, z / z, 0` reads it.",
    "W0603": "A rule never applies: its formula holds for no label, as `a & !a` does, or `a & b` where the two are exclusive; or its state and top of stack never occur together; or rules that name the top beat it, which go before those with `z`.",
    "W0604": "An event, a stack symbol or a rule of a grammar is declared and never used. Most often a rule is missing, or its name is misspelt: `events key door` with a rule that reads `Key` is an error, but with no rule for `door` the door simply does not matter. An event that the domain emits has to be declared even if no rule reads it; then all is well. Remove a symbol that nothing pushes.",
    "W0605": "A task is done as soon as the labels read so far are in its language (`accept first`), but what could follow them matters: `G a` is done at the first `a`. Most often `accept end` is meant, where the event `end` says that the word is complete.",
    "W0606": "A loop pays. On the machine alone: a word leads back to the configuration it began in and pays more than 0, as where a push and the pop that undoes it are both paid. With a domain: an agent can repeat it for ever, and an episode of it pays as "
    "much as the step that ends the task. Or `otherwise stay R` pays for every step in which no rule applies. Pay for one of the two only, or once, in the step that achieves something.",
    "W0607": "Continuing to the step limit pays more than any way to end the task: an agent that learns well never ends it. Pay more for ending, or less for continuing; a small cost for every step helps.",
    "W0608": "A final state cannot be reached in this domain, whatever the agent does: an event never comes, never together with another, or never with that stack.",
    "W0609": "The machine's rules read an event that the domain never emits: most often a misspelling. Rules that wait for it never fire. `pdrm domains NAME` lists the events of a domain; those of a map are its `place` lines.",
    "W0610": "None of the last evaluations of an agent completed the task. Most often rewards are too rare for its settings: it never meets one by chance, or a wrong step costs so much that it learns to do nothing. The default settings of networks are made for such tasks; more steps, another agent or a table (`cprm`) may help. A table may see too little of the stack: `pdrm.check_k` (`pdrm check-k`) says which k is enough.",
    "W0611": "An observation holds a small image, and Stable-Baselines3 is installed. Its `MultiInputPolicy` takes every image for a picture, and its convolutions need 36 by 36 pixels: torch would stop with `Kernel size can't be greater than actual input size`. "
    "`pdrm.wrap(…, flatten=True)` makes it plain numbers, `pdrm.SB3(…, policy='MlpPolicy')` in training; `keys=[…]` leaves it out.",
    "W0612": "Every reward is 0, so that there is nothing to learn: no rule and no `otherwise` line of the machine pays, and neither does the domain. Pay for the rule that ends the task: `… / …, 1`.",
    "W0613": "A rule with `z / A` replaces whatever is on top, the bottom symbol too, and rules that look for the bottom symbol can then never apply again. To push onto what is there, write `z / A z`.",
    "W0614": "A rule puts a symbol below the bottom symbol, which nothing ever reads: `z / z A` keeps the top and puts A under it. The new top stands leftmost: to push, write `z / A z`.",
    "W0616": "With `flatten=True` an observation is a vector of more than 10,000 numbers, most often an image. Without `flatten` the image stays one, and `MultiInputPolicy` reads it with convolutions; Gymnasium's `ResizeObservation` and `GrayscaleObservation` make it smaller.",
    "W0615": "A machine can empty its stack in a state in which every rule looks at a symbol. No rule ever applies again, and `otherwise stay` keeps it there to the end of the episode. Most often a rule `z / eps` pops the bottom symbol, too: "
    "name the symbol that it is to pop (`A / eps`), or end the task with it (`u -> lost : a, # / eps, 0`, where `lost` is final).",
    "W0617": "The environment of `pdrm.wrap` ended episodes, and paid for it, before the machine was in a final state, and the machine has never finished. Most often the environment's goal is not the end of the task: `ignore_end=True` lets episodes continue if the environment can be stepped further, and `reward_weight=0` leaves its reward out.",
}
"""The explanation of each warning code, for `pdrm explain`."""


class TaskWarning(UserWarning):
    """Warning: the task is probably not what you meant.

    >>> print(TaskWarning(Finding("W0612", "no rule pays anything")))
    warning[W0612]: no rule pays anything
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
    """Emit a warning that points at the caller's line."""
    warnings.warn(warning, stacklevel=count_to_caller())


class EarlyAcceptance(TaskWarning):
    """Warns of a task that is done before what it asks for has been seen: W0605.

    >>> print(EarlyAcceptance())
    warning[W0605]: the task is done at the first label that makes it true, whatever comes later
      fix: write the line `accept end` (in Python, accept="end"), or ask for something that stays true
    """

    def __init__(self, where: Where | None = None, words: tuple[str, str] | None = None) -> None:
        """words: one of the language, and one that begins with it."""
        said = "the task is done at the first label that makes it true, whatever comes later"
        if words is not None:
            said = f"the task is done when `{words[0]}` has been read, so that `{words[1]}`, a word too, is never read to its end"
        fix = 'write the line `accept end` (in Python, accept="end"), or ask for something that stays true'
        super().__init__(Finding("W0605", said, where, fix))


class NeverSucceeded(TaskWarning):
    """Warns of an agent none of whose last evaluations solved the task: W0610.

    >>> print(NeverSucceeded("no episode of the last 5 tests ended in `done`", fix="train longer"))
    warning[W0610]: no episode of the last 5 tests ended in `done`
      fix: train longer
    """

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(Finding("W0610", message, fix=fix))
        self.message, self.fix = message, fix


class UnknownDomain(PdrmError, code="E0701"):
    """No domain of that name is known. `pdrm domains` lists them."""


class BadArrays(PdrmError, code="E0702"):
    """The arrays of a finite domain do not describe a labelled MDP. Shapes must agree; probabilities are at least 0 and sum to 1; next
    states, labels and starts must exist; rewards are finite. The message names the state, action and outcome."""


class UnknownPlace(PdrmError, code="E0703"):
    """A place was given a meaning, or named as a start, and the map does not show it: draw it, or remove the line. In a map `#` is a wall,
    `.` floor and `@` the start; in Python, `parse_map(text, places="kd")` names all other characters."""


class RaggedMap(PdrmError, code="E0704"):
    """The rows of a map must all have the same length, and there must be at least one. Draw floor as `.`, also at the end of a row."""


class NoStart(PdrmError, code="E0705"):
    """A map needs at least one start: `@` on plain floor, or a place that was named as the start."""


class UnreachablePlace(PdrmError, code="E0706"):
    """A place of the map is walled off from a start, so that its event never comes. Open a wall, or move or remove the place."""


class NoTransitionTable(PdrmError, code="E0707"):
    """Only a Gymnasium environment that has its transition table as `P`, as FrozenLake, Taxi and CliffWalking, can be turned into arrays.
    Any other can be used as it is, with a labelling function."""


class BadDomainSetting(PdrmError, code="E0708"):
    """A setting of a domain is not known, or its value is out of range. In a map's file settings are the lines above the map (`step_limit
    50`, `place k key`), in Python arguments: `pdrm.domain("letter", step_limit=50)`. A machine's file goes after `--machine`."""


class BadAction(PdrmError, code="E0709"):
    """The environment was given something that is not one of its actions: integers from 0 on, in the order that `pdrm domains NAME` lists
    them. A network's output or an action's name has to be turned into one first: `env.step(int(action))`."""


class BadDomainFile(PdrmError, code="E0710"):
    """A file is not a domain: neither a map (text) nor arrays (`.npz`, of `save_domain`), or it is damaged. A map draws walls as `#`, floor
    as `.` and the start as `@`; lines above it such as `step_limit 50` or `place k key` say more."""


class BadSetting(PdrmError, code="E0801"):
    """A setting or an option has a value that it cannot have: the message says which it can have, and the fix gives one that works. The
    option `--learning-rate` is the setting `learning_rate`. `pdrm agents NAME` lists the settings of an agent."""


class UnknownSetting(BadSetting, code="E0807"):
    """An agent does not have this setting, or the command an option that the agent does not use. `pdrm agents NAME` lists the settings of
    an agent; networks count in timesteps (`--steps`), tables in episodes (`--episodes`)."""


class ConflictingOptions(BadSetting, code="E0808"):
    """Two options say the same thing, or one of two is needed and missing: `--seed 3` is one run, `--seeds 3` three with seeds 0 to 2."""


class WrongKind(BadSetting, code="E0809"):
    """Wrong type: not a domain or a machine, or something that cannot be drawn. A domain is a name, a file, a `FiniteDomain` or a
    `WaterWorld`; a machine is a name, a file, a text or a machine."""


class DoesNotApply(BadSetting, code="E0810"):
    """The task or the agent does not allow it: a table cannot learn in a continuous domain, an agent that chooses among actions cannot push
    in all directions, a witness needs a k that is not enough, a certificate one that is."""


class NoMachine(BadSetting, code="E0811"):
    """A domain of your own comes with no machine, so nothing says what is rewarded: give one, `--machine task.pdrm`, or in Python
    `Task(domain, machine)`. The domains of the catalogue come with theirs."""


class WrongArguments(BadSetting, TypeError, code="E0812"):
    """A function is called with an argument that it does not have, or without one that it needs. The words are the same everywhere: `k`,
    `discount`, `seeds`, `episodes`, `success`, `machine`. `help(pdrm.train)` lists them."""


class Diverged(BadSetting, code="E0813"):
    """The parameters of a network, or the values of a table, diverged (NaN or inf). The rewards are too
    large for the learning rate. Other networks of the same batch continue without it."""

    runs: tuple[int, ...] = ()
    """The positions of these runs in their batch (empty: all of them)."""


class NotHere(BadSetting, AttributeError, KeyError, code="E0814"):
    """A name of another library; the message says what it is called here. Agents are settings: `pdrm.train(task, agent)` trains them,
    `run.policy.act(observation)` acts, and `task.env()` has `reset` and `step`."""


class UnknownChoice(BadSetting, code="E0815"):
    """Invalid choice. The message lists the choices, or the closest ones."""


class UnknownAgent(PdrmError, code="E0802"):
    """No agent of that name. `pdrm agents` lists them."""


class BadPolicyFile(PdrmError, code="E0803"):
    """A policy file is missing, cannot be read, is damaged, or is not a policy: its `.npz` and `.json` belong together."""


class WrongPolicy(PdrmError, code="E0804"):
    """A policy is asked to act for a machine or a domain it was not learnt with: its rows are numbered by the states and symbols of its own
    task, and would mean something else. Use it in the task it was trained in, or train one for this task."""


class BadRunFolder(PdrmError, code="E0805"):
    """A folder is not a run, or holds the run of another spec. `pdrm train` makes a folder for each seed, inside the one after `-o`, with
    `spec.json`, `policy.npz`, `curve.csv` and `result.json`. Before: `pdrm evaluate runs`, with several runs in it. After: `pdrm evaluate
    runs/letter-q-1-*`. If a file is damaged, remove the folder and train again."""


class MissingPackage(PdrmError, code="E0806"):
    """A package that only this command needs is not installed. Networks, drawings and logging need large packages, so each comes when it is
    asked for. The `fix` line installs what is missing, and `pdrm doctor` lists what is there."""


class CannotWrap(PdrmError, code="E0901"):
    """`pdrm.wrap` needs a `gymnasium.Env`, and `pdrm.wrap_vector` a list of functions that each make one (a vector environment cannot reset
    one alone). `info` has `machine`, `env` and `before` free. `Monitor` and `RecordEpisodeStatistics` go outside, so that they see all
    rewards."""


class BadLabel(PdrmError, code="E0902"):
    """A labelling function returns a set (or list, or tuple) of event names; the empty set if nothing happened. None (a forgotten `return`)
    is refused, and so is a text, which would be read letter by letter: return `{"goal"}`."""


class BadEnvironmentReward(PdrmError, code="E0903"):
    """The environment paid something that is not a finite number. Find the step (`env.unwrapped.step(action)[1]`), or leave that reward
    out: `pdrm.wrap(env, machine, labels, reward_weight=0)` pays only what the machine pays."""


class EpisodeOver(PdrmError, code="E0904"):
    """The episode has not begun, has terminated, or was interrupted: by an error, or by another wrapper of the same environment. Call
    `reset` before the next `step`, and make an environment for each machine."""


class StackTooHigh(PdrmError, code="E0905"):
    """The stack holds more symbols than the observation has room for, and `k="full"` promises to show all. Give `wrap` a larger `depth`, or
    a number as `k`, to see the top k symbols of a stack of any height."""


class FinishedAtReset(PdrmError, code="E0906"):
    """The machine reached a final state before the first action, by silent moves or by the label at reset. Such an episode has no step in
    which it could end, and `reset` has no way to say that it is over."""


class BadEnvironment(PdrmError, code="E0907"):
    """An environment does not keep to Gymnasium's interface: `reset` takes `seed` and `options` and returns `(observation, info)`, `step`
    returns `(observation, reward, terminated, truncated, info)`, `info` is a dictionary, and observations have the shape of their space.
    `shimmy.GymV21CompatibilityV0` translates those of the old Gym."""


class ProductTooLarge(PdrmError, code="E1001"):
    """The product of domain and machine, with a state for each state of the domain and each configuration, does not fit in the memory
    allowed. `--depth` or a smaller `--height` asks about fewer of them, `--memory 16` allows more room."""


class UnboundedStep(PdrmError, code="E1002"):
    """One step can take arbitrarily many silent moves, so that no bound on what it pays is known: name a bound on the stack."""


class BadCertificate(PdrmError, code="E1003"):
    """A certificate is damaged, belongs to another task (even if a single reward differs), or does not prove what it says. Make it again:
    `pdrm check-k maze-5x5 --certificate proof.json`, then `pdrm verify proof.json`."""


class NoDiscount(PdrmError, code="E1004"):
    """Values are only bounded, and value iteration only certain, with a discount of at least 0 and below 1: with 1, an agent that collects
    1 in every step for ever is worth infinitely much. Before: `--discount 1`. After: `--discount 0.99`."""


class StochasticMoves(PdrmError, code="E1005"):
    """Summaries are for domains whose moves are deterministic (`pdrm solve`, agent `summary`). With chance in the moves, what a stack
    symbol is worth is no longer the greatest of some lines, and no value is guessed. `pdrm check-k` bounds values there."""


class OutOfTime(PdrmError, code="E1006"):
    """`pdrm solve` was not done when its time was up. Half a solution proves nothing, so there is none: allow more `seconds`, or have `pdrm
    check-k` bound the value, which answers in any case."""


class BadStudy(PdrmError, code="E1101"):
    """A study's file cannot be read, or says something that no study can mean: a key that is not known, a value of the wrong kind, two
    lines of one name. The message names the key; `pdrm explain E1101` and docs/studies.md show a whole study."""


class UnknownStudy(PdrmError, code="E1102"):
    """No figure or panel of the paper has that name: see `pdrm reproduce --help`. Run a file of your own with `pdrm run study.toml`."""


class WorkersLost(PdrmError, code="E1103"):
    """The workers died repeatedly, before they began anything or in the same run. Finished runs are kept; the same command continues. Most
    often memory ran out: use fewer workers (`--workers 1`), or smaller runs."""


class NotRecorded(PdrmError, code="E1104"):
    """These runs do not exist yet. Run the study first (`pdrm run`, `pdrm reproduce`), or name the folder it was run in: `-o FOLDER`."""


def explanations() -> dict[str, tuple[str, str]]:
    """Code -> (title, explanation) of every error and warning.

    >>> explanations()["E0301"][0]
    'nondeterministic'
    """
    kinds = [*PdrmError.__subclasses__(), *BadSetting.__subclasses__()]
    table = {
        kind.code: (re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower(), kind.__doc__ or "")
        for kind in kinds
    }
    table |= {
        code: (text.partition(". ")[0].partition(":")[0].rstrip("."), text)
        for code, text in WARNINGS.items()
    }
    return dict(sorted(table.items()))
