"""All exceptions of the package, each with a stable code and an explanation.

`pdrm explain CODE` prints the explanation, the docstring of the class. A message contains the
problem, the location (`file:line:column` with a caret), the reason and a fix. The first two digits
of a code are its subject: 01 syntax, 02 names, 03 building a machine, 04 running it, 05 files and
words, 06 warnings, 07 domains, 08 settings, agents, policies and runs, 09 wrapped environments, 10
analysis, 11 studies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import ClassVar

from pdrm.task_warnings import (
    WARNINGS,
    EarlyAcceptance as EarlyAcceptance,
    Finding as Finding,
    NeverSucceeded as NeverSucceeded,
    TaskWarning as TaskWarning,
    warn_caller as warn_caller,
)
from pdrm.wording import (
    Where as Where,
    did_you_mean as did_you_mean,
    format_message,
    name_alike as name_alike,
    suggest as suggest,
)


class PdrmError(Exception):
    """Base class of all errors that pdrm raises deliberately.

    >>> print(PdrmError("nothing works", fix="start again"))
    error[E0000]: nothing works
      fix: start again
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
        """The offending word, which is marked in the quoted text."""
        if isinstance(message, PdrmError):  # Gymnasium re-raises errors of its subprocesses so
            vars(self).update(vars(message))

    @property
    def errors(self) -> tuple[PdrmError, ...]:
        """The single errors, in the order of the text: usually only this one."""
        return (self,)

    def __str__(self) -> str:
        return format_message(f"error[{self.code}]: {self.message}", self.where, self.fix)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or ■ in a notebook. The message says what was kept; a notebook shows only this line.

    >>> print(Interrupted("stopped; nothing was kept"))
    stopped; nothing was kept
    """

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class SeveralErrors(PdrmError, code="E0001"):
    """Several errors in one text, reported together, each with its own code."""

    def __init__(self, errors: Sequence[PdrmError] | SeveralErrors) -> None:
        if isinstance(errors, SeveralErrors):
            errors = errors.errors
        super().__init__(f"{len(errors)} errors", where=errors[0].where)
        self._errors = tuple(errors)

    def __reduce__(self) -> tuple[type[SeveralErrors], tuple[tuple[PdrmError, ...]]]:
        """Pickle the errors, not the message."""
        return type(self), (self._errors,)

    @property
    def errors(self) -> tuple[PdrmError, ...]:
        return self._errors

    def __str__(self) -> str:
        return "\n\n".join(str(error) for error in self._errors)


MAX_FAULTS = 100
"""The maximum number of errors reported at once."""


def raise_all(errors: Iterable[PdrmError]) -> None:
    """Raise the errors, if any, up to the reporting limit."""
    reported = list(islice(errors, MAX_FAULTS))
    if reported:
        raise SeveralErrors(reported) if len(reported) > 1 else reported[0]


class CannotRead(PdrmError, code="E0101"):
    """The line is not a header, a `for`, a `map` or a rule. A rule reads `SOURCE -> TARGET : LABEL,
    TOP / PUSH, REWARD`, such as `u0 -> u0 : {A}, z / A z, -0.01`. Labels are exact sets `{a, t}`,
    formulas `a & !t`, or `eps`."""


class UnknownKeyword(PdrmError, code="E0102"):
    """A header line starts with an unknown keyword. The keywords of a machine are name, events,
    exclusive, stack, counters, states, start, final, otherwise, map and for. Above a formula they
    are accept, reward, fail, step, complete, events and exclusive."""


class BadReward(PdrmError, code="E0103"):
    """The reward, the last part of a rule, must be a finite number such as `1`, `-0.01` or `1e5`.
    Before: `u -> f : a, z / z, ten`. After: `u -> f : a, z / z, 10`."""


class BadIndentation(PdrmError, code="E0104"):
    """Indent the rules inside a `for` block, and nothing else, with spaces, all by the same
    amount."""


class NotUtf8(PdrmError, code="E0105"):
    """Machine files must be UTF-8 text. The message gives the first invalid byte."""


class TooLarge(PdrmError, code="E0106"):
    """A file, a line, a formula or an expansion exceeds a limit. The limits protect time and memory
    against damaged or hostile files."""


class TooDeep(PdrmError, code="E0107"):
    """Parentheses, negations, `for` blocks or JSON values are nested too deeply."""


class BadName(PdrmError, code="E0108"):
    """A name has 1 to 100 characters. It cannot start with `-` or contain spaces, quotes, a
    backslash or any of `{ } ( ) [ ] , : / & | ! < > = +`. `where` is reserved. `z` (any stack
    symbol) and `eps` (none) cannot name a stack symbol; `eps`, `true` and `false` cannot name an
    event."""


class BadNumber(PdrmError, code="E0109"):
    """A count must be an integer: the number of counters, a counter test (0, 1 or -) or a counter
    change."""


class BadShape(PdrmError, code="E0110"):
    """A value has the wrong type or form. In JSON, a key is missing or unknown, or a value has the
    wrong type: see the published schema. In Python, a name is given where a list of names is
    needed, or a connective of guards has fewer than two parts."""


class NotConstant(PdrmError, code="E0111"):
    """Only `ConstantRewardFunction(NUMBER)` can be read. Other reward functions are Python code,
    which is not run."""


class BadGrammar(PdrmError, code="E0112"):
    """A grammar consists of rules such as `pair: "open" pair* "close"`, with alternatives `|`,
    groups `( )`, `?`, `*`, `+`, and events in double quotes. Every name must be defined by a rule,
    one rule must be called `start`, and every rule must derive some word."""


class Undecidable(PdrmError, code="E0113"):
    """One event of look-ahead is not enough to parse this grammar. Either it is ambiguous, and the
    message shows a word with two derivations; or it needs more look-ahead, and the message names
    the rule."""

    words: tuple[str, str] | None = None
    """A word that has two derivations, twice, in the format of `pdrm step`."""


class UnknownState(PdrmError, code="E0201"):
    """A rule, `start` or `otherwise` uses an unknown state: no rule leaves it, and it is not final.
    Declare dead ends: `states u0 dead`."""


class UnknownEvent(PdrmError, code="E0202"):
    """A guard or a label uses an event that the machine's `events` line does not declare, or the
    domain of a task emits such an event. Use the same spelling in both, or declare the event; no
    rule has to read it."""


class UnknownSymbol(PdrmError, code="E0203"):
    """A rule uses a symbol that the `stack` line does not declare, or pushes `z`, the symbol on
    top, without reading it. Before: `u -> u : a, # / A z, 0`. After: `u -> u : a, # / A #, 0`, or
    `u -> u : a, z / A z, 0`."""


class DuplicateName(PdrmError, code="E0204"):
    """A name is defined twice: a header, event, symbol or map entry, or a loop variable that is
    also something else."""


class MissingHeader(PdrmError, code="E0205"):
    """A machine needs a `start` state and an `otherwise` rule for labels that no other rule reads:
    `stay R`, `go STATE R` or `error`. One of them is missing, or `otherwise` is not one of these
    three."""


class UnknownMap(PdrmError, code="E0206"):
    """`f(x)` uses a map that is not defined above it, or a value that the map does not list. Define
    the map before the rules, `map back u:d d:u`, and use it in a loop `for a in u d:` as in `return
    -> return : back(a), a / eps, 1`."""


class NoBottom(PdrmError, code="E0207"):
    """The `stack` line must list at least one symbol. The first is the bottom (initial) symbol."""


class Nondeterministic(PdrmError, code="E0301"):
    """Two rules of a state apply to the same label and stack top. A rule that names the top symbol
    has priority over a rule with `z`. A silent rule excludes every reading rule at the same state
    and top. A rule that ignores the stack (`eps`) conflicts with every rule that reads it."""


class EndlessSilentMoves(PdrmError, code="E0302"):
    """Silent moves read no label, so they must end (within a million moves), but from the
    configuration in the message they never do. This is an error even if the configuration is
    unreachable, because counterfactual experiences start from any configuration."""


class FinalStateWithRules(PdrmError, code="E0303"):
    """A final state ends the episode, so it cannot be the start state and no rule can leave it. If
    the task should continue there, the state is not final. Before: `final f` with a rule `f -> u :
    a, z / z, 0`. After: `final g`, and a rule that leads to `g` when the task is done."""


class TooManyCases(PdrmError, code="E0304"):
    """A formula such as `a1 & b1 | a2 & b2 | …` over many events has more cases than the
    determinism check can handle. Reduce them with a line `exclusive a b c d`, or with several rules
    with few events each."""


class CannotTranslate(PdrmError, code="E0305"):
    """The translation is impossible in theory, or the machine has a feature that it does not
    support."""


class CannotCombine(PdrmError, code="E0306"):
    """Two machines can be combined only if their stacks always move together: for every label that
    some word leads to, both push equally many symbols, or both pop. The message shows a word after
    which they do not (Section 5)."""


class UndefinedMove(PdrmError, code="E0401"):
    """No rule applies to this label in this configuration, and the machine has `otherwise error`.
    Add a rule (`pdrm check` lists the missing cases), or define a default: `otherwise stay 0` or
    `otherwise go lost -1`."""


class MachineFinished(PdrmError, code="E0402"):
    """The machine is in a final state: the episode is over and no further label can be read.
    `machine.run(word)` stops there and reports the remaining labels in `unread`. Before `step`,
    check if the state is in `machine.final`."""


class ImpossibleLabel(PdrmError, code="E0403"):
    """The label contains two events that the machine declares exclusive (at most one of them in any
    label). If both can happen in one step, remove the `exclusive` line and separate the rules: `a &
    !b` and `b`."""


class UnknownConfiguration(PdrmError, code="E0404"):
    """A configuration contains a state or a stack symbol that the machine does not have (see
    `machine.states`, `machine.stack`). It is a state and a stack, top first: `Configuration("u0",
    ("A", "#"))`."""


class StackFull(PdrmError, code="E0405"):
    """The maximum number of distinct stacks is reached. A machine that pushes in every step creates
    new stacks for as long as it runs: allow more stacks, or limit the steps."""


class CannotOpen(PdrmError, code="E0501"):
    """The file does not exist, is a folder, or cannot be read. Paths are relative to the current
    folder. `pdrm check letter` is the catalogue's machine, `pdrm check letter.pdrm` is your
    file."""


class CannotWrite(PdrmError, code="E0502"):
    """The file cannot be written (no permission, no space, no such folder). An existing file is
    unchanged."""


class UnknownFormat(PdrmError, code="E0503"):
    """The suffix of a file's name determines its format: `.pdrm` or `.json` for machines, `.svg`,
    `.png`, `.pdf`, `.dot` or `.tex` for drawings."""


class BadWord(PdrmError, code="E0504"):
    """A word is a list of labels separated by spaces. A label is events joined by `+`, or `-` for
    the empty label."""


class UnknownCode(PdrmError, code="E0505"):
    """The code given to `pdrm explain` does not exist."""


class UnknownMachine(PdrmError, code="E0506"):
    """The catalogue has no machine of that name, and no such file exists."""


class UnknownDomain(PdrmError, code="E0701"):
    """Unknown domain. `pdrm domains` lists the domains."""


class BadArrays(PdrmError, code="E0702"):
    """The arrays of a finite domain do not describe a labelled MDP. Shapes must agree;
    probabilities must be at least 0 and sum to 1; next states, labels and starts must exist;
    rewards must be finite. The message names the state, action and outcome."""


class UnknownPlace(PdrmError, code="E0703"):
    """A place that has an event, or is the start, does not occur in the map: draw it, or remove the
    line. In a map `#` is a wall, `.` floor and `@` the start. In Python, `parse_map(text,
    places="kd")` declares all other characters."""


class RaggedMap(PdrmError, code="E0704"):
    """The rows of a map must all have the same length, and there must be at least one row. Draw
    floor as `.`, also at the end of a row."""


class NoStart(PdrmError, code="E0705"):
    """A map needs at least one start: `@` on plain floor, or a place that is declared as the
    start."""


class UnreachablePlace(PdrmError, code="E0706"):
    """A place of the map cannot be reached from a start, so its event never occurs. Open a wall, or
    move or remove the place."""


class NoTransitionTable(PdrmError, code="E0707"):
    """Only Gymnasium environments with a transition table `P`, such as FrozenLake, Taxi and
    CliffWalking, can be converted to arrays. Use any other environment directly, with a labelling
    function."""


class BadDomainSetting(PdrmError, code="E0708"):
    """A domain has no such setting, or the value is out of range. In a map's file, settings are the
    lines above the map (`step_limit 50`, `place k key`); in Python they are arguments:
    `pdrm.domain("letter", step_limit=50)`. The file of a machine goes after `--machine`."""


class BadAction(PdrmError, code="E0709"):
    """The action is not one of the environment's actions: integers from 0 on, in the order of `pdrm
    domains NAME`. Convert network outputs and action names first: `env.step(int(action))`."""


class BadDomainFile(PdrmError, code="E0710"):
    """A file is not a domain, i.e. neither a map (text) nor arrays (`.npz`, written by
    `save_domain`), or it is damaged. A map draws walls as `#`, floor as `.` and the start as `@`,
    and can have settings above it, such as `step_limit 50` or `place k key`."""


class BadSetting(PdrmError, code="E0801"):
    """A setting or an option has an invalid value. The message gives the valid values, and the fix
    an example. On the command line, settings of agents are given as `--set learning_rate=0.1`.
    `pdrm agents NAME` lists the settings of an agent."""


class UnknownSetting(BadSetting, code="E0807"):
    """The agent does not have this setting, or does not use this option of the command. `pdrm
    agents NAME` lists the settings of an agent. Networks count timesteps (`--steps`), tables
    episodes (`--episodes`)."""


class ConflictingOptions(BadSetting, code="E0808"):
    """Two options contradict each other, or one of two is required and missing. `--seed 3` is one
    run, `--seeds 3` is three runs with seeds 0 to 2."""


class WrongKind(BadSetting, code="E0809"):
    """Wrong type: not a domain or a machine, or an object that cannot be drawn. A domain is a name,
    a file, the text of a map, a `FiniteDomain`, a `WaterWorld`, a `JaxWorld`, or a function that
    makes an environment; a machine is a name, a file, a text or a machine object."""


class DoesNotApply(BadSetting, code="E0810"):
    """The option does not apply to this task or agent: a table cannot learn in a continuous domain,
    an agent with discrete actions cannot use continuous ones, an environment of your own chooses
    its render mode itself, a witness needs an insufficient k and a certificate a sufficient one."""


class NoMachine(BadSetting, code="E0811"):
    """A domain of your own has no default machine, so its rewards are undefined: add `--machine
    task.pdrm`, or in Python `Task(domain, machine)`. The domains of the catalogue have default
    machines."""


class WrongArguments(BadSetting, TypeError, code="E0812"):
    """A function is called with an unknown argument, or a required one is missing. Argument names
    are consistent across functions: `k`, `discount`, `seeds`, `episodes`, `success`, `machine`.
    `help(pdrm.train)` lists them."""


class Diverged(BadSetting, code="E0813"):
    """The parameters of a network or the values of a table diverged (NaN or inf), because the
    rewards are too large for the learning rate. The other runs of a batch continue."""

    runs: tuple[int, ...] = ()
    """The indices of these runs in their batch (empty: all of them)."""


class UnknownName(BadSetting, AttributeError, KeyError, code="E0814"):
    """Unknown attribute, table column or line of a study. For a name from another library,
    the message gives its counterpart: `pdrm.train(task, agent)` trains,
    `run.policy.act(observation)` acts, and `task.env()` has `reset` and `step`."""


class UnknownChoice(BadSetting, code="E0815"):
    """Invalid choice. The message lists the choices, or the closest ones."""


class UnknownAgent(PdrmError, code="E0802"):
    """Unknown agent. `pdrm agents` lists the agents."""


class BadPolicyFile(PdrmError, code="E0803"):
    """A policy file is missing, unreadable or damaged, or is not a policy. Its `.npz` and `.json`
    files belong together."""


class WrongPolicy(PdrmError, code="E0804"):
    """A policy was learnt with another machine or domain. Its rows are numbered by the states and
    symbols of that task, and would mean something else here. Use it in its own task, or train a
    policy for this task."""


class BadRunFolder(PdrmError, code="E0805"):
    """A folder is not a run, or is the run of another spec. `pdrm train -o FOLDER` creates a
    subfolder for each seed, with `spec.json`, `policy.npz`, `curve.csv` and `result.json`. Before:
    `pdrm evaluate runs`, with several runs in it. After: `pdrm evaluate runs/letter-q-1-*`. If a
    file is damaged, remove the folder and train again."""


class MissingPackage(PdrmError, code="E0806"):
    """An optional package is not installed. Networks, drawings and logging need large packages,
    which are not installed by default. The `fix` line installs the missing package, and `pdrm
    doctor` lists what is installed."""


class CannotWrap(PdrmError, code="E0901"):
    """`pdrm.wrap` needs a `gymnasium.Env`, and `pdrm.wrap_vector` a list of functions that each
    make one (a vector environment cannot reset a single environment). The keys `machine`, `env` and
    `before` of `info` are reserved. `Monitor` and `RecordEpisodeStatistics` go outside, to see all
    rewards."""


class BadLabel(PdrmError, code="E0902"):
    """A labelling function must return a set (or list, or tuple) of event names, which is empty if
    nothing happened. None (a forgotten `return`) and strings (which would be read letter by letter)
    are errors: return `{"goal"}`."""


class BadEnvironmentReward(PdrmError, code="E0903"):
    """The environment returned a reward that is not a finite number. Find the step
    (`env.unwrapped.step(action)[1]`), or ignore the environment's reward: `pdrm.wrap(env, machine,
    labels, reward_weight=0)`."""


class EpisodeOver(PdrmError, code="E0904"):
    """The episode has not started, has terminated, or was interrupted by an error or by another
    wrapper of the same environment. Call `reset` before the next `step`, and make a separate
    environment for each machine."""


class StackTooHigh(PdrmError, code="E0905"):
    """The stack has more symbols than the observation can hold, and `k="full"` must show all of
    them. Give `wrap` a larger `depth`, or a number as `k`, to observe the top k symbols of a stack
    of any height."""


class FinishedAtReset(PdrmError, code="E0906"):
    """The machine reached a final state before the first action, by silent moves or by the label at
    reset. Such an episode has no step in which it could end, and `reset` cannot report that it is
    over."""


class BadEnvironment(PdrmError, code="E0907"):
    """The environment does not follow Gymnasium's interface: `reset` takes `seed` and `options` and
    returns `(observation, info)`, `step` returns `(observation, reward, terminated, truncated,
    info)`, `info` is a dictionary, and observations have the shape of their space.
    `shimmy.GymV21CompatibilityV0` converts environments of the old Gym."""


class ProductTooLarge(PdrmError, code="E1001"):
    """The product of domain and machine does not fit in memory. Explore fewer states with `--depth`
    or a smaller `--height`, or allow more memory: `--memory 16`."""


class UnboundedStep(PdrmError, code="E1002"):
    """Silent moves with rewards repeat, so the proved error of the optimal value is too large. Give
    the rewards in the rules that read a label, or use a smaller discount."""


class BadCertificate(PdrmError, code="E1003"):
    """A certificate is damaged, belongs to another task (even if a single reward differs), or does
    not prove its claim. Make it again: `pdrm check-k maze-5x5 --certificate proof.json`, then `pdrm
    verify proof.json`."""


class NoDiscount(PdrmError, code="E1004"):
    """The discount must be at least 0 and below 1. With 1, the value of collecting 1 in every step
    forever is infinite, and value iteration need not converge. Before: `--discount 1`. After:
    `--discount 0.99`."""


class StochasticMoves(PdrmError, code="E1005"):
    """The agent `summary` needs deterministic moves, and so does `pdrm solve` if infinitely many
    configurations can be reached: with stochastic moves, the value of a stack symbol is not the
    maximum of a few lines. `pdrm check-k` bounds values there."""


class OutOfTime(PdrmError, code="E1006"):
    """`pdrm solve` exceeded its time limit. No partial solution is returned: allow more `seconds`,
    or use `pdrm check-k`, which always returns bounds on the value."""


class BadStudy(PdrmError, code="E1101"):
    """A study is invalid: its file cannot be read, a key is unknown, a value has the wrong type,
    two lines have the same name, or the seeds are not different integers (or a count) from 0 on.
    The message names the key; docs/studies.md shows a complete study."""


class UnknownStudy(PdrmError, code="E1102"):
    """The paper has no figure, panel or reading of that name: see `pdrm reproduce --help`. Run your
    own study with `pdrm run study.toml`."""


class WorkersLost(PdrmError, code="E1103"):
    """The workers died repeatedly, before they started anything or in the same run. Finished runs
    are kept, and the same command resumes. The usual cause is too little memory: use fewer workers
    (`--workers 1`), or smaller runs."""


class NotRecorded(PdrmError, code="E1104"):
    """These runs do not exist yet. Run the study first (`pdrm run`, `pdrm reproduce`), or name its
    folder: `pdrm claims FOLDER`."""


def explanations() -> dict[str, tuple[str, str]]:
    """The title and explanation of every code.

    >>> explanations()["E0301"][0]
    'nondeterministic'
    """
    table = {}
    for kind in (*PdrmError.__subclasses__(), *BadSetting.__subclasses__()):
        title = re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()
        table[kind.code] = (title, kind.__doc__ or "")
    for code, text in WARNINGS.items():
        first_clause = re.split(r"[.:]\s", text)[0]
        table[code] = (" ".join(first_clause.split()), text)
    return dict(sorted(table.items()))
