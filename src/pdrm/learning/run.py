"""A run that was trained, or is to be: its curve, its policy, episodes with it; and `train`, which makes one."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from pdrm.domains.finite_domain import FiniteDomain
from pdrm.errors import (
    BadSetting,
    ConflictingOptions,
    Interrupted,
    NeverSucceeded,
    PdrmError,
    UnknownName,
    WrongPolicy,
    warn_caller,
)
from pdrm.files import FilePath, ensure_folder
from pdrm.lazy import NAMES_ELSEWHERE
from pdrm.learning.agents import DEFAULT_DEEP, DEFAULT_TABLE, CountingQ, Deep
from pdrm.learning.evaluation import (
    UNIT_OF,
    Curve,
    Episode,
    Evaluation,
    Moment,
    check_axes,
    find_successes,
    format_return,
    play_policy,
    sum_up,
)
from pdrm.learning.execution import PlannedRun, Workers, train_all
from pdrm.learning.protocol import AgentLike, AnyAgent, EvaluationResult, Policy, agent_for
from pdrm.learning.run_folder import (
    CHECKPOINT,
    RESULT,
    TIMING,
    RunSpec,
    find_run,
    is_done,
    read_curve,
    read_json,
    read_progress,
    read_spec,
    resolve_seeds,
)
from pdrm.learning.run_loop import Watch
from pdrm.learning.settings import LENGTHS, NOTHING, check_count
from pdrm.learning.tabular.policy import TabularPolicy
from pdrm.product.task_findings import warn_of_tasks
from pdrm.progress import is_shown
from pdrm.task import DomainLike, MachineLike, Task, task_for

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows
    from pdrm.learning.replays import Film, Replay


@dataclass(frozen=True, repr=False)
class Run:
    """A run in its folder: its curve, its policy, and episodes with it.

    >>> from pdrm.learning.agents import CpRM
    >>> run = train("maze-5x5", CpRM(k=1, episodes=1_000), seed=0)
    >>> run.curve.final_return, run.evaluate(episodes=5)["ends"]
    (100005.0, {'home': 5})
    """

    spec: RunSpec
    """The task, the agent and the seed."""
    folder: Path
    """The folder of the run."""
    learnt: Policy | None = field(default=None, compare=False)
    """The policy of an agent of your own that cannot be kept in a file."""

    def __repr__(self) -> str:
        state = "trained"
        if not self.done:
            state = f"not finished, {read_progress(self.folder).share:.0%} trained"
        with suppress(PdrmError):  # a damaged folder is told when it is read
            row = self.row
            state += f", return {format_return(row.final_return)}, success {row.success:.0%}"
        return f"<Run of {_describe(self.spec)}, seed {self.spec.seed}: {state}>"

    def __getattr__(self, name: str) -> Any:
        fault = f"a run has no attribute {name!r}"
        raise (
            UnknownName(fault, fix=NAMES_ELSEWHERE[name])
            if name in NAMES_ELSEWHERE
            else AttributeError(fault)
        )

    @property
    def tested(self) -> bool:
        """True if an evaluation is kept: it is done, or was stopped after one."""
        return self.done or (self.folder / CHECKPOINT).exists()

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture

        said = html("p", repr(self).strip("<>"))
        if self.tested:
            said += picture(self.plot()._repr_png_(), "png", "the return of each test")
        return said

    @classmethod
    def load(
        cls,
        folder: FilePath,
        *,
        task: Task | None = None,
        agent: AgentLike | None = None,
    ) -> Run:
        """Read a run that was trained before.

        Args:
            folder: Its own, or the one given to `train` or `pdrm train` if that holds one run.
            task: As it was given, if it has an environment of your own.
            agent: As it was given, if it is your own.
        """
        found = find_run(Path(folder))
        return cls(read_spec(found, task, agent), found)

    def save(self, folder: FilePath = "runs") -> Run:
        """Keep the run in a folder of its own inside `folder`, as `train(…, folder=…)` would have; returns the run there."""
        there = Path(folder) / self.spec.name
        if there.resolve() != self.folder.resolve():
            shutil.copytree(self.folder, ensure_folder(there), dirs_exist_ok=True)
        return Run(self.spec, there, self.learnt)

    @property
    def done(self) -> bool:
        """True if it is trained to the end."""
        return is_done(self.folder)

    @property
    def curve(self) -> Curve:
        """Its evaluations; of a run that was stopped, those until then."""
        return Curve.parse(read_curve(self.folder), self.spec.agent.unit)

    @property
    def row(self) -> RunRow:
        """Its row in a table of several runs: the result of its last evaluation."""
        curve = self.curve
        success = float(find_successes(curve.ends[-1], self.spec.task.success).mean())
        return RunRow(self.spec.seed, int(curve.at[-1]), curve.final_return, success)

    @property
    def warning(self) -> NeverSucceeded | None:
        """A warning that no episode of the last evaluations solved the task, and what to try."""
        task, agent = self.spec.task, self.spec.agent
        fix = advise(task, agent)
        if not self.done or not fix:
            return None
        ends = self.curve.ends[-count_last_tests(len(self.curve)) :]
        if find_successes(ends, task.success).any():
            return None
        wanted = " or ".join(f"`{state}`" for state in task.success)
        about = f"agent `{agent.name}`, seed {self.spec.seed}"
        fault = f"no episode of the last tests ({len(ends)}) ended in {wanted} ({about})"
        return NeverSucceeded(fault, fix=fix)

    def plot(
        self,
        path: FilePath | None = None,
        *,
        x: str | None = None,
        y: str = "return",
    ) -> Plot:
        """Draw its curve as a figure of matplotlib: the median of the episodes of each evaluation, and a band from their 25th to their
        75th percentile.

        Args:
            path: Where to write it as well (.svg, .png, .pdf).
            x: "steps" or "episodes" (default: what the agent's training is counted in).
            y: "return" or "success".
        """
        return Runs([self]).plot(path, x=x, y=y)

    @property
    def result(self) -> dict[str, Any]:
        """The content of `result.json`: rows of a table, hashes of the policy and the curve."""
        return read_json(self.folder / RESULT)

    @property
    def timing(self) -> dict[str, Any]:
        """The content of `timing.json`: seconds of the last sitting, version, computer."""
        return read_json(self.folder / TIMING)

    @property
    def policy(self) -> Any:
        """The learnt policy: a table, networks that act step by step, or the policy of an agent of your own."""
        if self.learnt is not None:
            return self.learnt
        from pdrm.learning.saved_policy import read_policy

        return read_policy(self.spec, self.folder)

    def evaluate(
        self, episodes: int = 100, seed: int = 0, *, task: Task | DomainLike | None = None
    ) -> Evaluation:
        """Play episodes without exploration, and sum them up in a dictionary.

        `ends` counts episodes by the machine's last state. Those that a limit ended appear as `truncated in STATE`; `truncated` is their total.
        `mean_discounted_return`, with the task's `discount`, is what to compare with an optimal value.

        Args:
            episodes: How many.
            seed: Of the episodes.
            task: Another task with the same machine, observations and actions (default: the run's own).
        """
        own = self.spec.task
        where = own if task is None else task_for(task)
        if where.machine != own.machine and self.spec.agent.k != NOTHING:
            fault = (
                f"`{self.spec.agent.name}` was trained with another machine than `{where.name}` has"
            )
            raise WrongPolicy(fault, fix=f"give that task the machine `{own.machine.name}`")
        return Evaluation.of(where, [self.played(where, episodes, seed)], seed=self.spec.seed)

    def played(self, task: Task, episodes: int, seed: int) -> EvaluationResult:
        """Episodes without exploration; of networks on their own task all at once."""
        check_count("episodes", episodes, 1)
        check_count("seed", seed, 0)
        if isinstance(self.spec.agent, Deep) and task is self.spec.task:
            test: EvaluationResult = self.policy.play(task, episodes, seed)
            return test
        return sum_up(self._play(task, episodes, seed), task.discount)

    def _play(self, task: Task, episodes: int, seed: int) -> Iterator[Episode]:
        policy = self.policy
        return play_policy(self._env(policy, task), policy, episodes, seed)

    def _env(self, policy: Any, task: Task) -> Any:
        """A task, or the only one for its evaluation, as an environment that shows what the policy sees."""
        agent: Any = self.spec.agent
        where = task.tested_on[0] if len(task.tested_on) == 1 else task
        if not isinstance(policy, TabularPolicy):
            return policy.env(where) if isinstance(agent, Deep) else where.env(agent.k)
        policy.check_domain(where.finite)
        domain = replace(where.finite, step_limit=agent.step_limit or where.finite.step_limit)
        return Task(domain, where.machine, success=where.success).env(0)

    def success(self, episodes: int = 100, seed: int = 0) -> float:
        """The share of episodes without exploration that solve the task: they end in a state of `Task.success`."""
        return float(self.evaluate(episodes, seed)["success"])

    def optimal_value(self, discount: float | None = None) -> float | None:
        """The best that `evaluate(…)["mean_discounted_return"]` can be in the long run: the optimal value of the task with the whole
        stack in view and no step limit. None if it is not found within seconds: the domain is not finite, random, or large.
        `pdrm.solve` says more.

        Args:
            discount: γ (default: the task's).
        """
        from pdrm.analysis.solving import find_optimal_value

        task = self.spec.task
        return find_optimal_value(task, task.discount if discount is None else discount)

    def episode(self, seed: int = 0) -> list[Moment]:
        """Play one episode without exploration, moment by moment."""
        (episode,) = self._play(self.spec.task, 1, seed)
        return list(episode.moments)

    def replay(self, seed: int = 0) -> Replay:
        """Play one episode without exploration in a finite domain, to look at: `print(run.replay())`."""
        from pdrm.learning.replays import Replay

        task = self.spec.task
        domain = task.finite
        (episode,) = self._play(task, 1, seed)
        return Replay(domain, episode, isinstance(self.spec.agent, CountingQ))

    def film(self, path: FilePath = "film.gif", seed: int = 0, every: int | None = None) -> Film:
        """Film one episode without exploration, next to the machine's state and stack; a notebook shows the film.

        An environment of your own is filmed if it is made with `render_mode="rgb_array"`.

        Args:
            path: A .gif, or a .png of the last moment.
            seed: Of the episode.
            every: Steps from picture to picture (default: 1, in WaterWorld 10).
        """
        from pdrm.learning.deep.film import film_run, save_film
        from pdrm.learning.replays import Film

        file, task = Path(path), self.spec.task
        if file.suffix not in (".gif", ".png"):
            raise BadSetting(f"{file} is neither a .gif nor a .png", fix='run.film("film.gif")')
        if isinstance(task.domain, FiniteDomain):
            replay = self.replay(seed)
            pictures, went = replay.pictures(every or 1), replay.episode.facts()
        else:
            policy = self.policy
            env = self._env(policy, task)
            pictures, went = film_run(policy, env, seed, every or (10 if task.continuous else 1))
        save_film(file, pictures, milliseconds=60 if task.continuous else 300)
        return Film(went, file)


# --- If an agent does not learn its task

LAST_TESTS = 4
"""The last quarter of the evaluations says if a task was learnt."""
MIN_EPISODES = 300
"""A table that was trained for less is not expected to have learnt anything."""


def count_last_tests(tests: int) -> int:
    """The number of evaluations at the end that say if a task was learnt.

    >>> count_last_tests(30), count_last_tests(2)
    (7, 1)
    """
    return max(1, tests // LAST_TESTS)


def advise(task: Task, agent: AnyAgent) -> str:
    """Suggest what to try with an agent that never solves its task; nothing if it cannot be solved, or after few episodes.

    >>> from pdrm.learning.agents import QLearning
    >>> advise(Task("letter"), QLearning(k=1, episodes=3_000))
    'train longer (episodes=6_000); pdrm.CpRM also learns from counterfactuals; pdrm.check_k says which k is enough'
    """
    if not task.success or (agent.unit == "episodes" and agent.total < MIN_EPISODES):
        return ""
    longer = f"train longer ({LENGTHS[agent.unit]}={2 * agent.total:_})"
    if not isinstance(task.domain, FiniteDomain):
        return longer
    others = "pdrm.check_k says which k is enough"
    if agent.name == "q":
        others = f"pdrm.CpRM also learns from counterfactuals; {others}"
    return f"{longer}; {others}"


def _describe(spec: RunSpec) -> str:
    return f"{spec.agent.name}, k = {spec.agent.k}, on {spec.task.name}"


class RunRow(NamedTuple):
    """The result of the final evaluation of one of several runs."""

    seed: int
    training: int
    """Before that evaluation, in the agent's unit."""
    final_return: float
    """The mean of its episodes."""
    success: float
    """The share of them that solved the task."""

    def record(self) -> dict[str, Any]:
        """The row by the names of its columns."""
        return self._asdict()


class Runs(list[Run]):
    """Runs that differ in their seed: a list (iterable: of runs), which a notebook shows as one table and one plot.

    >>> runs = train("letter", "q", k=1, episodes=200, seeds=2)
    >>> runs
    <2 runs of q, k = 1, on letter, seeds 0, 1>
    >>> runs.table()[1].seed, runs.evaluate(episodes=5)["episodes"]
    (1, 10)
    """

    def __repr__(self) -> str:
        about = f" of {_describe(self[0].spec)}, {self._seeds()}" if self else ""
        return f"<{len(self)} run{'s' * (len(self) != 1)}{about}>"

    def _seeds(self) -> str:
        numbers = ", ".join(str(run.spec.seed) for run in self)
        return f"seed{'s' * (len(self) != 1)} {numbers}"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture

        about = repr(self).strip("<>")
        plot = picture(self.plot()._repr_png_(), "png", f"tests of {about}")
        return html("p", about) + self.table()._repr_html_() + plot

    def table(self) -> Rows[RunRow]:
        """A row for each run: the result of its final evaluation."""
        from pdrm.drawing.rows import Rows

        return Rows(len(self), lambda number: self[number].row)

    def frame(self) -> Any:
        """The table as a pandas `DataFrame`, if pandas is installed."""
        return self.table().frame()

    def plot(
        self,
        path: FilePath | None = None,
        *,
        x: str | None = None,
        y: str = "return",
    ) -> Plot:
        """Draw their curves as one figure, as `Run.plot`: the median over the runs of the mean of each evaluation, and a band from the 25th
        to the 75th percentile."""
        from pdrm.drawing.plots import CurveLine, study_plot

        check_axes(x, y)
        spec, curves = self[0].spec, [run.curve for run in self]
        unit = spec.agent.unit if x is None else UNIT_OF[x]
        at = curves[0].timesteps if unit == "timesteps" else curves[0].episodes
        values = [curve.returns for curve in curves]
        if y == "success":
            values = [find_successes(curve.ends, spec.task.success) for curve in curves]
        several = np.array([one.mean(axis=1) for one in values]) if len(self) > 1 else values[0].T
        low, middle, high = np.percentile(several, (25, 50, 75), axis=0)
        name = f"{spec.agent.name}, k = {spec.agent.k}, {self._seeds()}"
        line = CurveLine(name, spec.task.name, unit, at, low, middle, high, y, name)
        return study_plot([[line]]).saved(path)

    def evaluate(self, episodes: int = 100, seed: int = 0) -> Evaluation:
        """Play episodes of all runs without exploration, and sum them up in one dictionary."""
        task = self[0].spec.task
        played = [run.played(task, episodes, seed) for run in self]
        return Evaluation.of(task, played, seeds=[run.spec.seed for run in self])


@overload
def train(
    task: Task | DomainLike,
    agent: AgentLike | None = ...,
    *,
    machine: MachineLike | None = ...,
    success: str | Sequence[str] = ...,
    seed: int = ...,
    seeds: None = ...,
    folder: FilePath | None = ...,
    workers: Workers | int = ...,
    log: str | None = ...,
    watch: Watch | None = ...,
    progress: bool | None = ...,
    **settings: Any,
) -> Run: ...
@overload
def train(
    task: Task | DomainLike,
    agent: AgentLike | None = ...,
    *,
    seeds: int | Sequence[int],
    **given: Any,
) -> Runs: ...
def train(
    task: Task | DomainLike,
    agent: AgentLike | None = None,
    *,
    machine: MachineLike | None = None,
    success: str | Sequence[str] = (),
    seed: int = 0,
    seeds: int | Sequence[int] | None = None,
    folder: FilePath | None = None,
    workers: Workers | int = 1,
    log: str | None = None,
    watch: Watch | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Run | Runs:
    """Train an agent on a task.

    Warns (`NeverSucceeded`) if no episode of the last evaluations solves it. Ctrl-C stops after the next evaluation, and says where what was
    learnt is; with a `folder`, the same call resumes.

    Args:
        task: A `Task`, or what makes one: a domain, its name or its file.
        agent: Settings such as `CpRM(k=1)`, a name such as "cprm", or an agent of your own (default: Q-learning, in WaterWorld PPO).
        machine: As for `Task`, instead of the task's own.
        success: As for `Task`.
        seed: Of the run.
        seeds: Of several runs: how many (0, 1, …), or which.
        folder: Where the folder of each run is made (default: a temporary one, which lasts as long as the run).
        workers: How many runs at a time, or `Workers`, here or on a cluster.
        log: A tool that evaluations are logged to, in the folder of the run: tensorboard or wandb.
        watch: Called after every evaluation, if there is one worker.
        progress: Show a progress bar (default: on a terminal and in a notebook).
        settings: Of the agent.

    Returns:
        The run; with `seeds` a list of runs, which has a `table`, a `plot` and an `evaluate` of all.

    >>> len(train("letter", "q", k=1, episodes=200).curve)
    2
    >>> [run.spec.seed for run in train("letter", k=1, episodes=200, seeds=3)]
    [0, 1, 2]
    """
    given = task_for(task, machine, success)
    default = DEFAULT_TABLE if isinstance(given.domain, FiniteDomain) else DEFAULT_DEEP
    chosen = agent_for(default if agent is None else agent, settings)
    check_count("seed", seed, 0)
    if seeds is not None and seed:
        raise ConflictingOptions("both `seed` and `seeds` are given", fix="leave one of them out")
    warn_of_tasks(given)
    numbers = (seed,) if seeds is None else resolve_seeds(seeds)
    specs = [RunSpec(given, chosen, one) for one in numbers]
    specs[0].check()
    root = Path(tempfile.mkdtemp(prefix="pdrm-")) if folder is None else Path(folder)
    runs = Runs(Run(spec, root / spec.name) for spec in specs)
    planned = [PlannedRun(spec, f"seed {spec.seed}") for spec in specs]
    shown = is_shown() if progress is None else progress
    try:
        failures, policies = train_all(planned, root, workers, log=log, watch=watch, shown=shown)
    except KeyboardInterrupt:
        loads = ", ".join(f'pdrm.Run.load("{run.folder}")' for run in runs if run.tested)
        said = f"what was learnt by then: {loads or 'nothing yet'}"
        later = 'with folder="runs" ' if folder is None else ""
        raise Interrupted(f"stopped; {said}; {later}the same command resumes") from None
    if failures:
        raise failures[0].error
    runs = Runs(replace(run, learnt=policies.get(run.spec.id)) for run in runs)
    if folder is None:
        for run in runs:
            weakref.finalize(run, _remove, run.folder)
    warnings = [warning for run in runs if (warning := run.warning) is not None]
    if warnings:
        warn_caller(warnings[0])
    return runs[0] if seeds is None else runs


def _remove(folder: Path) -> None:
    """Remove a temporary folder of a run, and the one around it if it was the last."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()
