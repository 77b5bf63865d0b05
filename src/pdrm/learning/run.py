"""`train`, and the `Run` it returns: its learning curve, policy and evaluation."""

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
from pdrm.learning.settings import LENGTHS, NOTHING, JsonObject, check_count
from pdrm.learning.tabular.policy import TabularPolicy
from pdrm.product.task_findings import inspect_task, warn_of_tasks
from pdrm.progress import is_shown
from pdrm.task import DomainLike, MachineLike, Task, task_for
from pdrm.wording import plural

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows
    from pdrm.learning.replays import Film, Replay


@dataclass(frozen=True, repr=False)
class Run:
    """A run in its folder: its learning curve, its policy and its evaluation.

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
    """The policy of a third-party agent that cannot be saved in a file."""

    def __repr__(self) -> str:
        state = "trained"
        if not self.done:
            state = f"not finished, {read_progress(self.folder).share:.0%} trained"
        with suppress(PdrmError):  # a damaged folder is reported when it is read
            row = self.row
            state += f", return {format_return(row.final_return)}, success {row.success:.0%}"
        return f"<Run of {_describe(self.spec)}, seed {self.spec.seed}: {state}>"

    def __getattr__(self, name: str) -> Any:
        fault = f"a run has no attribute {name!r}"
        if name in NAMES_ELSEWHERE:
            raise UnknownName(fault, fix=NAMES_ELSEWHERE[name])
        raise AttributeError(fault)

    @property
    def tested(self) -> bool:
        """True if the run has an evaluation: it is done, or was stopped after one."""
        return self.done or (self.folder / CHECKPOINT).exists()

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture

        shown = html("p", repr(self).strip("<>"))
        if self.tested:
            shown += picture(self.plot()._repr_png_(), "png", "the return of each evaluation")
        return shown

    @classmethod
    def load(
        cls,
        folder: FilePath,
        *,
        task: Task | None = None,
        agent: AgentLike | None = None,
    ) -> Run:
        """Read a run from its folder.

        Args:
            folder: The run's folder, or the one given to `train` or `pdrm train` if it contains one
                run.
            task: The task, if it has an environment of your own.
            agent: The agent, if it is your own.
        """
        run_folder = find_run(Path(folder))
        return cls(read_spec(run_folder, task, agent), run_folder)

    def save(self, folder: FilePath = "runs") -> Run:
        """Copy the run to its own folder inside `folder`; returns the copy."""
        target = Path(folder) / self.spec.name
        if target.resolve() != self.folder.resolve():
            shutil.copytree(self.folder, ensure_folder(target), dirs_exist_ok=True)
        return Run(self.spec, target, self.learnt)

    @property
    def done(self) -> bool:
        """True if the training is complete."""
        return is_done(self.folder)

    @property
    def curve(self) -> Curve:
        """The evaluations during training. A stopped run has those so far."""
        return Curve.parse(read_curve(self.folder), self.spec.agent.unit)

    @property
    def row(self) -> RunRow:
        """Its row in a table of runs: the result of the last evaluation."""
        curve = self.curve
        success = float(find_successes(curve.ends[-1], self.spec.task.success).mean())
        return RunRow(self.spec.seed, int(curve.at[-1]), curve.final_return, success)

    @property
    def warning(self) -> NeverSucceeded | None:
        """A warning if no episode of the last evaluations solved the task, with advice."""
        task = self.spec.task
        agent = self.spec.agent
        fix = advise(task, agent)
        if not self.done or not fix:
            return None
        ends = self.curve.ends[-count_last_evaluations(len(self.curve)) :]
        if find_successes(ends, task.success).any():
            return None
        wanted = " or ".join(f"`{state}`" for state in task.success)
        about = f"{plural(len(ends), 'evaluation')} (agent `{agent.name}`, seed {self.spec.seed})"
        fault = f"no episode ended in {wanted} in the last {about}"
        return NeverSucceeded(fault, fix=f"try {fix}")

    def plot(
        self,
        path: FilePath | None = None,
        *,
        x: str | None = None,
        y: str = "return",
    ) -> Plot:
        """Plot the learning curve with matplotlib: the median of the episodes of each evaluation,
        and a band from their 25th to their 75th percentile.

        Args:
            path: A file to write (.svg, .png, .pdf).
            x: "steps" or "episodes" (default: the unit of the agent's training).
            y: "return" or "success".
        """
        return Runs([self]).plot(path, x=x, y=y)

    @property
    def result(self) -> JsonObject:
        """The content of `result.json`: statistics, and hashes of the policy and the curve."""
        return read_json(self.folder / RESULT)

    @property
    def timing(self) -> JsonObject:
        """The content of `timing.json`: seconds since the last start, version, computer."""
        return read_json(self.folder / TIMING)

    @property
    def policy(self) -> Any:
        """The learnt policy: a table, networks, or the policy of a third-party agent."""
        if self.learnt is not None:
            return self.learnt
        from pdrm.learning.saved_policy import read_policy

        return read_policy(self.spec, self.folder)

    def evaluate(
        self, episodes: int = 100, seed: int = 0, *, task: Task | DomainLike | None = None
    ) -> Evaluation:
        """Play episodes without exploration, and summarise them in a dictionary.

        `ends` counts episodes by their last machine state. Episodes that a limit ended are
        counted as `truncated in STATE`, and `truncated` is their total. Compare
        `mean_discounted_return`, with the task's `discount`, with an optimal value.

        Args:
            episodes: The number of episodes.
            seed: Their seed.
            task: Another task with the same machine, observations and actions (default: the run's).
        """
        own_task = self.spec.task
        played_task = own_task if task is None else task_for(task)
        if played_task.machine != own_task.machine and self.spec.agent.k != NOTHING:
            fault = f"`{self.spec.agent.name}` was trained with another machine than `{played_task.name}` has"
            raise WrongPolicy(fault, fix=f"give that task the machine `{own_task.machine.name}`")
        result = self.played(played_task, episodes, seed)
        return Evaluation.of(played_task, [result], seed=self.spec.seed)

    def played(self, task: Task, episodes: int, seed: int) -> EvaluationResult:
        """Play episodes without exploration. Networks play episodes of their task in parallel."""
        check_count("episodes", episodes, 1)
        check_count("seed", seed, 0)
        if isinstance(self.spec.agent, Deep) and task is self.spec.task:
            result: EvaluationResult = self.policy.play(task, episodes, seed)
            return result
        return sum_up(self._play(task, episodes, seed), task.discount)

    def _play(self, task: Task, episodes: int, seed: int) -> Iterator[Episode]:
        policy = self.policy
        return play_policy(self._env(policy, task), policy, episodes, seed)

    def _env(self, policy: Any, task: Task) -> Any:
        """The environment of a task (or its only evaluation task) for the policy."""
        agent: Any = self.spec.agent
        if len(task.tested_on) == 1:
            task = task.tested_on[0]
        if not isinstance(policy, TabularPolicy):
            return policy.env(task) if isinstance(agent, Deep) else task.env(agent.k)
        policy.check_domain(task.finite)
        step_limit = agent.step_limit or task.finite.step_limit
        domain = replace(task.finite, step_limit=step_limit)
        return Task(domain, task.machine, success=task.success).env(0)

    def success(self, episodes: int = 100, seed: int = 0) -> float:
        """The share of episodes without exploration that end in a state of `Task.success`."""
        return float(self.evaluate(episodes, seed)["success"])

    def optimal_value(self, discount: float | None = None) -> float | None:
        """The optimal value of the task: the highest possible mean of
        `evaluate(…)["mean_discounted_return"]`.

        The policy sees the whole stack, and there is no step limit. None if the value is not
        found within seconds: the domain is not finite, the task is large, or it is stochastic
        with many configurations. `pdrm.solve` reports more.

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
        """Play one episode without exploration in a finite domain: `print(run.replay())`."""
        from pdrm.learning.replays import Replay

        task = self.spec.task
        domain = task.finite
        (episode,) = self._play(task, 1, seed)
        return Replay(domain, episode, isinstance(self.spec.agent, CountingQ))

    def film(self, path: FilePath = "film.gif", seed: int = 0, every: int | None = None) -> Film:
        """Film one episode without exploration, next to the machine's state and stack.

        Notebooks show the film.

        An environment of your own is filmed if it is made with `render_mode="rgb_array"`.

        Args:
            path: A .gif, or a .png of the last moment.
            seed: The seed of the episode.
            every: Steps between two pictures (default: 1, or 10 in WaterWorld).
        """
        from pdrm.learning.deep.film import film_run, save_film
        from pdrm.learning.replays import Film

        file = Path(path)
        task = self.spec.task
        if file.suffix not in (".gif", ".png"):
            raise BadSetting(
                f"{file} is neither a .gif nor a .png", fix="give a name such as film.gif"
            )
        if isinstance(task.domain, FiniteDomain):
            replay = self.replay(seed)
            pictures = replay.pictures(every or 1)
            facts = replay.episode.facts()
        else:
            policy = self.policy
            env = self._env(policy, task)
            pictures, facts = film_run(policy, env, seed, every or (10 if task.continuous else 1))
        save_film(file, pictures, milliseconds=60 if task.continuous else 300)
        return Film(facts, file)


# --- Advice for an agent that does not learn its task

LAST_SHARE = 4
"""A task was not learnt if no episode of the last quarter of the evaluations solves it."""
MIN_EPISODES = 300
"""With fewer training episodes, a table is not expected to have learnt the task."""


def count_last_evaluations(evaluations: int) -> int:
    """The size of the last quarter of the evaluations.

    >>> count_last_evaluations(30), count_last_evaluations(2)
    (7, 1)
    """
    return max(1, evaluations // LAST_SHARE)


def advise(task: Task, agent: AnyAgent) -> str:
    """Advice for an agent that never solves its task.

    Empty if success is not defined or cannot be reached, or after few episodes.

    >>> from pdrm.learning.agents import QLearning
    >>> advise(Task("letter"), QLearning(k=1, episodes=3_000)).split("; ")[0]
    'more training (episodes = 6000), or the agent `cprm`'
    """
    few = agent.unit == "episodes" and agent.total < MIN_EPISODES
    if few or not task.success or "W0608" in [finding.code for finding in inspect_task(task)]:
        return ""
    longer = f"more training ({LENGTHS[agent.unit]} = {2 * agent.total})"
    if not isinstance(task.domain, FiniteDomain):
        return longer
    if agent.name == "q":
        longer += ", or the agent `cprm`"
    return f"{longer}; `pdrm check-k` (`pdrm.check_k`) finds a sufficient k"


def _describe(spec: RunSpec) -> str:
    return f"{spec.agent.name}, k = {spec.agent.k}, on {spec.task.name}"


class RunRow(NamedTuple):
    """The result of the last evaluation of a run."""

    seed: int
    training: int
    """Training before it, in the agent's unit."""
    final_return: float
    """The mean return of its episodes."""
    success: float
    """The share of its episodes that solved the task."""

    def record(self) -> JsonObject:
        """The row as a dictionary."""
        return self._asdict()


class Runs(list[Run]):
    """A list of runs that differ only in their seed. A notebook shows it as one table and one plot.

    >>> runs = train("letter", "q", k=1, episodes=200, seeds=2)
    >>> runs
    <2 runs of q, k = 1, on letter, seeds 0, 1>
    >>> runs.table()[1].seed, runs.evaluate(episodes=5)["episodes"]
    (1, 10)
    """

    def __repr__(self) -> str:
        about = f" of {_describe(self[0].spec)}, {self._seeds()}" if self else ""
        return f"<{plural(len(self), 'run')}{about}>"

    def _seeds(self) -> str:
        return f"seed{'s' * (len(self) > 1)} {', '.join(str(run.spec.seed) for run in self)}"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture

        about = repr(self).strip("<>")
        plot = picture(self.plot()._repr_png_(), "png", f"evaluations of {about}")
        return html("p", about) + self.table()._repr_html_() + plot

    def table(self) -> Rows[RunRow]:
        """A row for each run: the result of its last evaluation."""
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
        """Plot the curves as one figure (see `Run.plot`): the median over the runs of the mean of
        each evaluation, and a band from the 25th to the 75th percentile."""
        from pdrm.drawing.plots import CurveLine, study_plot

        check_axes(x, y)
        spec = self[0].spec
        curves = [run.curve for run in self]
        unit = spec.agent.unit if x is None else UNIT_OF[x]
        training = curves[0].timesteps if unit == "timesteps" else curves[0].episodes
        results = [curve.returns for curve in curves]
        if y == "success":
            results = [find_successes(curve.ends, spec.task.success) for curve in curves]
        samples = results[0].T
        if len(self) > 1:
            samples = np.array([result.mean(axis=1) for result in results])
        low, middle, high = np.percentile(samples, (25, 50, 75), axis=0)
        name = f"{spec.agent.name}, k = {spec.agent.k}, {self._seeds()}"
        line = CurveLine(name, spec.task.name, unit, training, low, middle, high, y, name)
        return study_plot([[line]]).saved(path)

    def evaluate(self, episodes: int = 100, seed: int = 0) -> Evaluation:
        """Play episodes of all runs without exploration, and summarise them in one dictionary."""
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

    Warns (`NeverSucceeded`) if no episode of the last evaluations solves the task. Ctrl-C stops
    after the next evaluation and reports the folder of the run. With a `folder`, the same call
    resumes.

    Args:
        task: A `Task`, or its domain, the name of a domain, or a file.
        agent: Settings such as `CpRM(k=1)`, a name such as "cprm", or your own agent (default:
            Q-learning in finite domains, otherwise PPO).
        machine: A machine to use instead of the task's, as for `Task`.
        success: The machine states that mean success, as for `Task`.
        seed: The seed of the run.
        seeds: The number of runs (seeds 0, 1, …), or their seeds.
        folder: The folder for the folders of the runs (default: a temporary one, which is removed
            with the run).
        workers: The number of parallel runs, or `Workers` on this machine or a cluster.
        log: A tool that logs evaluations in the folder of the run: tensorboard or wandb.
        watch: Called after every evaluation, if there is one worker.
        progress: Show a progress bar (default: in a terminal and in a notebook).
        settings: Settings of the agent.

    Returns:
        The run. With `seeds`, a list of runs that has `table`, `plot` and `evaluate` for all.

    >>> len(train("letter", "q", k=1, episodes=200).curve)
    2
    >>> [run.spec.seed for run in train("letter", k=1, episodes=200, seeds=3)]
    [0, 1, 2]
    """
    resolved_task = task_for(task, machine, success)
    if agent is None:
        agent = DEFAULT_TABLE if isinstance(resolved_task.domain, FiniteDomain) else DEFAULT_DEEP
    resolved_agent = agent_for(agent, settings)
    check_count("seed", seed, 0)
    if seeds is not None and seed:
        raise ConflictingOptions("both `seed` and `seeds` are given", fix="leave one of them out")
    warn_of_tasks(resolved_task)
    numbers = (seed,) if seeds is None else resolve_seeds(seeds)
    specs = [RunSpec(resolved_task, resolved_agent, number) for number in numbers]
    specs[0].check()
    root = Path(tempfile.mkdtemp(prefix="pdrm-")) if folder is None else Path(folder)
    runs = Runs(Run(spec, root / spec.name) for spec in specs)
    planned = [PlannedRun(spec, f"seed {spec.seed}") for spec in specs]
    shown = is_shown() if progress is None else progress
    try:
        failures, policies = train_all(planned, root, workers, log=log, watch=watch, shown=shown)
    except KeyboardInterrupt:
        kept = ", ".join(str(run.folder) for run in runs if run.tested)
        saved = f"saved in {kept}; the same command with this folder resumes"
        raise Interrupted(f"stopped; {saved if kept else 'nothing was saved yet'}") from None
    if failures:
        if folder is None:
            shutil.rmtree(root, ignore_errors=True)
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
    """Remove the temporary folder of a run, and the folder around it after the last run."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()
