"""A run that was trained, or is to be: its curve, its policy, episodes with it; and `train`, which makes one."""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from pdrm.domains.domain_files import load_domain
from pdrm.domains.finite_domain import FiniteDomain
from pdrm.domains.water import WaterWorld
from pdrm.errors import (
    BadPolicyFile,
    BadRunFolder,
    BadSetting,
    CannotTranslate,
    ConflictingOptions,
    Interrupted,
    NeverSucceeded,
    PdrmError,
    WrongKind,
    check_policy_files,
    warn_caller,
)
from pdrm.files import MALFORMED, describe_fault, ensure_folder, parse_record, read_bytes
from pdrm.lazy import borrow
from pdrm.learning.advice import advise, count_last_tests, is_judged
from pdrm.learning.agents import (
    DEFAULT_DEEP,
    DEFAULT_TABLE,
    CountingQ,
    Deep,
    agent_for,
    read_agent,
    resolve_seeds,
)
from pdrm.learning.curve import Curve, find_successes, format_return, settle_returns
from pdrm.learning.run_loop import (
    CHECKPOINT,
    CURVE,
    FACTS,
    POLICY,
    RESULT,
    SPEC,
    TIMING,
    RunSpec,
    Status,
    Watch,
    execute,
    is_done,
    no_run,
    read_curve_so_far,
    read_json,
    read_progress,
    read_spec,
)
from pdrm.learning.settings import Agent, check_agent, check_count, check_known
from pdrm.machines.checks.pushdown_analysis import highest_stack
from pdrm.progress import is_shown, say, show_progress
from pdrm.task import MachineLike, Task, tuple_of

if TYPE_CHECKING:
    from pdrm.drawing.plots import Plot
    from pdrm.drawing.rows import Rows
    from pdrm.learning.deep.deep_policy import DeepPolicy
    from pdrm.learning.evaluation import Evaluation, Moment, Trained
    from pdrm.learning.replays import Film, Replay
    from pdrm.learning.tabular.policy import AnyPolicy
    from pdrm.learning.tabular.summary_policy import SummaryPolicy


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
    """Where its files are."""

    def __repr__(self) -> str:
        spec, state = self.spec, "trained" if self.done else self._describe_progress()
        with suppress(PdrmError):  # a damaged folder is said where it is read
            if self._tested:
                state += f", return {format_return(self.curve.final_return)}"
            if self._tested and self.warning is None and spec.task.success:
                state += (
                    f", success {find_successes(self.curve.ends[-1], spec.task.success).mean():.0%}"
                )
            state += "" if self.warning is None else f", but {self.warning.message}"
        return f"<Run of {spec.agent.name}, k = {spec.agent.k}, on {spec.task.name}, seed {spec.seed}: {state}>"

    def _describe_progress(self) -> str:
        """How far a run is that is not done."""
        found = read_progress(self.folder) if self._tested else {}
        return (
            f"not finished, {found['done'] / found['total']:.0%} trained"
            if found
            else "not finished"
        )

    @property
    def _tested(self) -> bool:
        """Whether a test was kept: it is done, or was stopped after one."""
        return self.done or (self.folder / CHECKPOINT).exists()

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture

        said = html("p", repr(self).strip("<>"))
        if not self._tested:
            return said
        said += html("p", self._describe_last_test())
        said += "" if self.warning is None else html("p", f"To try: {self.warning.fix}")
        return said + picture(self.plot()._repr_png_(), "png", "the return of each test")

    def _describe_last_test(self) -> str:
        """How the last test went, in a line."""
        curve, success = self.curve, self.spec.task.success
        went = f"the last test: mean return {format_return(curve.final_return)}"
        if not success:
            return went
        achieved = find_successes(curve.ends[-1], success)
        return f"{went}, {int(achieved.sum())} of {len(achieved)} episodes ended in {' or '.join(success)}"

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Run:
        """The run that was trained before. folder: its own, or the one given to `train` or `pdrm train` where that holds one run."""
        place = Path(folder)
        inside = (
            [] if (place / SPEC).exists() else [file.parent for file in place.glob(f"*/{SPEC}")]
        )
        found = inside[0] if len(inside) == 1 else place
        return cls(read_spec(found), found)

    def save(self, folder: str | os.PathLike[str] = "runs") -> Run:
        """Keep the run in a folder of its own inside `folder`, as `train(…, folder=…)` would have; returns the run there."""
        there = Path(folder) / self.spec.name
        if there.resolve() != self.folder.resolve():
            shutil.copytree(self.folder, ensure_folder(there), dirs_exist_ok=True)
        return Run(self.spec, there)

    @property
    def done(self) -> bool:
        """Whether it is trained to the end."""
        return is_done(self.folder)

    @property
    def curve(self) -> Curve:
        """Its tests; of a run that was stopped, those until then."""
        if not self.done:
            return read_curve_so_far(self.folder, self.spec.agent.unit)
        path, result = self.folder / CURVE, self.folder / RESULT
        fix = f"remove {self.folder} and run again"
        try:
            data = path.read_bytes()
            curve = _parse_curve(data.decode())
        except (*MALFORMED, csv.Error) as error:
            raise BadRunFolder(f"{path} is damaged: {describe_fault(error)}", fix=fix) from error
        if result.exists() and hashlib.sha256(data).hexdigest() != self.result.get("curve_sha256"):
            raise BadRunFolder(f"{path} is not the curve that {RESULT} names", fix=fix)
        return curve

    @property
    def warning(self) -> NeverSucceeded | None:
        """That none of the last tests achieved the task, and what to try; None where one did, and for a table that was trained for
        less than 300 episodes."""
        success, agent = self.spec.task.success, self.spec.agent
        if not is_judged(self.spec.task, agent) or not self.done:
            return None
        ends = self.curve.ends[-count_last_tests(len(self.curve)) :]
        if find_successes(ends, success).any():
            return None
        tests = f"the last {len(ends)} tests" if len(ends) > 1 else "the last test"
        (last, _), *_ = Counter(ends.ravel().tolist()).most_common(1)
        wanted = " or ".join(f"`{state}`" for state in success)
        how = "ended" if last in self.spec.task.machine.final else "were cut off"
        fault = f"no episode of {tests} ended in {wanted}, most {how} in `{last}`"
        return NeverSucceeded(fault, **advise(self.spec.task, agent)._asdict())

    def plot(self, path: str | os.PathLike[str] | None = None) -> Plot:
        """Its curve as a figure of matplotlib, which shows itself in a notebook: the median return of the episodes of each test, and a
        band from their 25th to their 75th percentile. path: where to write it as well (.svg, .png, .pdf)."""
        from pdrm.drawing.curve_plots import CurveLine, run_plot

        curve, spec = self.curve, self.spec
        low, middle, high = np.percentile(curve.returns, (25, 50, 75), axis=1)
        name = f"{spec.agent.name}, k = {spec.agent.k}, seed {spec.seed}"
        return run_plot(
            CurveLine(name, spec.task.name, curve.unit, curve.at, low, middle, high)
        ).saved(path)

    @property
    def result(self) -> dict[str, Any]:
        """What `result.json` says: rows of a table, hashes of the policy and the curve."""
        hashes = {"id": str, "policy_sha256": str, "curve_sha256": str, "policy_bytes": int}
        return read_json(self.folder / RESULT, hashes, optional=dict.fromkeys(FACTS, (int, float)))

    @property
    def timing(self) -> dict[str, Any]:
        """What `timing.json` says: seconds of the last sitting, version, computer."""
        number, texts = (int, float), dict.fromkeys(("finished", "pdrm"), str)
        return read_json(
            self.folder / TIMING, {"seconds": number, **texts}, optional={"side_by_side": int}
        )

    @property
    def policy(self) -> AnyPolicy | SummaryPolicy | DeepPolicy:
        """What was learnt: a table by what is seen, or networks that act step by step."""
        self._check_policy()
        if isinstance(self.spec.agent, Deep):
            import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
            from pdrm.learning.deep.deep_policy import load_deep_policy

            return load_deep_policy(
                self.folder / POLICY, _domain_of(self.spec.task, self.spec.agent)
            )
        return _place(self._trained().policy, self.spec.task.finite, self.spec.task)

    def evaluate(self, episodes: int = 100, seed: int = 0) -> Evaluation:
        """Episodes without exploration, summed up in a dictionary. episodes: how many. seed: of the episodes.

        Its `ends` count the machine's last states; `cut off in …`: of episodes that a limit ended there, `truncated` of them in all.
        `mean_discounted_return`, with the agent's `discount`, is what to compare with an optimal value.
        """
        from pdrm.learning.evaluation import CUT_OFF, Evaluation, discount_rewards

        check_count("episodes", episodes, 1)
        check_count("seed", seed, 0)
        discount = float(self.spec.agent.discount)
        if self.spec.agent.deep:
            returns, worth, steps, ends, cut, more = self._play(episodes, seed)
        else:
            trained, rng = self._trained(), np.random.default_rng(seed)
            runs = [list(trained.episode(rng)) for _ in range(episodes)]
            paid = [sum(moment.reward for moment in run) for run in runs]
            returns, steps = settle_returns(paid).tolist(), [len(run) - 1 for run in runs]
            ends, more = [run[-1].configuration.state for run in runs], {}
            worth = float(np.mean([discount_rewards(run, discount) for run in runs]))
            cut = [trained.was_cut_off(run[-1]) for run in runs]
        named = Counter(
            f"{CUT_OFF}{end}" if short else end for end, short in zip(ends, cut, strict=True)
        )
        return Evaluation(
            domain=self.spec.task.name,
            seed=self.spec.seed,
            episodes=episodes,
            mean_return=float(np.mean(returns)),
            mean_discounted_return=worth,
            discount=discount,
            returns=returns,
            mean_steps=float(np.mean(steps)),
            success=float(find_successes(np.array(ends), self.spec.task.success).mean()),
            ends=dict(named.most_common()),
            truncated=sum(cut),
            **more,
        )

    def success(self, episodes: int = 100, seed: int = 0) -> float:
        """The share of episodes without exploration that achieve the task: they end in a state of `Task.success`. episodes, seed:
        as for `evaluate`."""
        return float(self.evaluate(episodes, seed)["success"])

    def optimal_value(self) -> float | None:
        """The best that `evaluate(…)["mean_discounted_return"]` can be in the long run: the optimal value of the task, discounted as the agent
        learns, with the whole stack in view and no step limit. None where it is not found within seconds: moves are random, or the domain is
        large. `pdrm.solve` says more."""
        value: float | None = borrow("find_optimal_value")(
            self.spec.task, float(self.spec.agent.discount)
        )
        return value

    def episode(self, seed: int = 0) -> list[Moment]:
        """One episode without exploration, moment by moment. seed: of the episode."""
        if not self.spec.agent.deep:
            return list(self._trained().episode(seed))
        policy: Any = self.policy
        from pdrm.learning.deep.deep_policy import play_episode

        return play_episode(policy, self.spec.task, seed)

    def replay(self, seed: int = 0) -> Replay:
        """One episode without exploration, to look at: `print(run.replay())`. seed: of the episode. In a finite domain."""
        from pdrm.learning.replays import Replay

        task, agent = self.spec.task, self.spec.agent
        if task.continuous:
            fault = f"{self.folder} is a run in {task.name}, which has no grid"
            raise BadSetting(fault, fix=f"run.film('film.gif') (pdrm film {self.folder})")
        return Replay(task, self.episode(seed), isinstance(agent, CountingQ))

    def film(
        self, path: str | os.PathLike[str] = "film.gif", seed: int = 0, every: int | None = None
    ) -> Film:
        """Film one episode without exploration, the machine's state and stack beside it; returns how it went, as a dictionary that
        shows the film in a notebook.

        path: a .gif, or a .png of the last moment. seed: of the episode. every: steps from picture to picture; None: 1, in
        WaterWorld 10.
        """
        file = Path(path)
        if file.suffix not in (".gif", ".png"):
            raise BadSetting(
                f"{file} is neither a .gif nor a .png", fix='run.film("film.gif") (-o film.gif)'
            )
        from pdrm.learning.deep.film import film_run, save_film, save_picture

        if self.spec.task.continuous:
            pictures, went = film_run(self.policy, self.spec.task, seed, every or 10)
        else:
            replay = self.replay(seed)
            pictures, went = replay.pictures(every or 1), replay.facts()
        if file.suffix == ".png":
            save_picture(file, pictures[-1])
        else:
            save_film(file, pictures, milliseconds=60 if self.spec.task.continuous else 300)
        from pdrm.learning.replays import Film

        return Film(went, file)

    def _check_policy(self) -> None:
        """Raise where the run has no policy: it is not trained yet, or its policy was not kept."""
        if (self.folder / POLICY).exists():
            return
        if not self.done:
            raise no_run(self.folder)
        fault = f"{self.folder} holds a run that is trained, but its {POLICY} is missing"
        fix = "copy it there, or remove the folder and train again with pdrm.train or pdrm train, which keep every policy; a study does not keep large ones"
        raise BadPolicyFile(fault, fix=fix)

    def _trained(self) -> Trained:
        """The table, to play episodes with; it must have been learnt with the machine that the spec names."""
        from pdrm.learning.evaluation import Trained
        from pdrm.learning.tabular.policy import load_table

        self._check_policy()
        task, agent = self.spec.task, self.spec.agent
        machine = task.counting if isinstance(agent, CountingQ) else task.pushdown
        where = task.finite.tested_on[0] if len(task.finite.tested_on) == 1 else task.finite
        settings = {
            "step_limit": "step_limit",
            "operations": "operations_per_episode",
            "ties": "ties",
        }
        known = {
            name: getattr(agent, setting)
            for name, setting in settings.items()
            if hasattr(agent, setting)
        }
        return Trained(load_table(self.folder / POLICY), where, machine, **known)

    def _play(
        self, episodes: int, seed: int
    ) -> tuple[list[float], float, list[int], list[str], list[bool], dict[str, Any]]:
        """Episodes of a network, all at once: returns, their mean when they are discounted, steps, last states, whether a limit ended
        them, and how often a full stack."""
        policy: Any = self.policy
        from pdrm.learning.deep.deep_learner import DeepLearner
        from pdrm.learning.deep.networks import stack_trees

        learner = DeepLearner([self.spec.task], [self.spec.agent], [self.spec.seed])
        learner.training.state = learner.training.state._replace(
            network=stack_trees([policy.network])
        )
        (test,) = learner.play(episodes, seed)
        full, task = np.asarray(learner.played.cut_off).reshape(-1), self.spec.task
        worth = float(np.asarray(learner.played.discounted, np.float64).mean())
        short = ~np.isin(test.ends, task.machine.final) & (
            full | (test.steps >= task.domain.step_limit)
        )
        columns = test.steps.tolist(), test.ends.tolist(), short.tolist()
        return settle_returns(test.returns).tolist(), worth, *columns, {"cut_off": int(full.sum())}


MEANS = ("mean_return", "mean_discounted_return", "mean_steps", "success")
"""What evaluations of several runs have the mean of."""


class RunRow(NamedTuple):
    """How the final test of one of several runs went."""

    seed: int
    training: int
    """Before that test, in the agent's unit."""
    final_return: float
    """The mean of its episodes."""
    success: float
    """The share of them that achieved the task."""

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
        if not self:
            return "<no runs>"
        return f"<{len(self)} run{'s' * (len(self) != 1)} of {self._describe()}>"

    def _describe(self) -> str:
        spec, seeds = self[0].spec, ", ".join(str(run.spec.seed) for run in self)
        return f"{spec.agent.name}, k = {spec.agent.k}, on {spec.task.name}, seed{'s' * (len(self) != 1)} {seeds}"

    def _repr_html_(self) -> str:
        from pdrm.drawing.markup import html, picture

        said = html("p", repr(self).strip("<>"))
        if not self or not all(run.done for run in self):
            return said
        return (
            said
            + self.table()._repr_html_()
            + picture(self.plot()._repr_png_(), "png", f"tests of {self._describe()}")
        )

    def table(self) -> Rows[RunRow]:
        """A row for each run: how its final test went."""
        from pdrm.drawing.rows import Rows

        def make(number: int) -> RunRow:
            run = self[number]
            curve, success = run.curve, run.spec.task.success
            share = float(find_successes(curve.ends[-1:], success).mean())
            return RunRow(run.spec.seed, int(curve.at[-1]), curve.final_return, share)

        return Rows(len(self), make)

    def frame(self) -> Any:
        """The table as a pandas `DataFrame`, where pandas is installed."""
        return self.table().frame()

    def plot(self, path: str | os.PathLike[str] | None = None) -> Plot:
        """Their curves as one figure of matplotlib: the median over the runs of the mean return of each test, and a band from the
        25th to the 75th percentile. path: where to write it as well."""
        from pdrm.drawing.curve_plots import CurveLine, run_plot

        curves, spec = [run.curve for run in self], self[0].spec
        low, middle, high = np.percentile(
            [curve.returns.mean(axis=1) for curve in curves], (25, 50, 75), axis=0
        )
        name = self._describe().replace(f" on {spec.task.name},", "")
        return run_plot(
            CurveLine(name, spec.task.name, curves[0].unit, curves[0].at, low, middle, high)
        ).saved(path)

    def evaluate(self, episodes: int = 100, seed: int = 0) -> Evaluation:
        """Episodes of all runs without exploration, summed up in one dictionary. episodes: of each run. seed: of the episodes."""
        from pdrm.learning.evaluation import Evaluation

        each = [run.evaluate(episodes, seed) for run in self]
        ends = sum((Counter(one["ends"]) for one in each), Counter[str]())
        return Evaluation(
            domain=each[0]["domain"],
            seeds=[run.spec.seed for run in self],
            episodes=sum(one["episodes"] for one in each),
            discount=each[0]["discount"],
            returns=[paid for one in each for paid in one["returns"]],
            **{name: float(np.mean([one[name] for one in each])) for name in MEANS},
            ends=dict(ends.most_common()),
            truncated=sum(one["truncated"] for one in each),
        )


def load_policy(
    path: str | os.PathLike[str], domain: FiniteDomain | WaterWorld | None = None
) -> AnyPolicy | SummaryPolicy | DeepPolicy:
    """A policy that was saved: a table or networks, as its file says.

    path: a run's folder, or a `.npz` file of a run or of `policy.save`, with what is beside it. domain: where it was learnt; None: that
    of the run's own record, or beside the file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = train("letter", "q", k=1, episodes=200).policy.save(f"{folder}/mine.npz")
    ...     policy = load_policy(f"{folder}/mine.npz")
    >>> policy.act(15, "u0", ("#",)) in range(4)
    True
    """
    file = Path(path)
    if file.is_dir() or (file.name == POLICY and domain is None and (file.parent / SPEC).exists()):
        return Run.load(file if file.is_dir() else file.parent).policy
    check_policy_files(file)
    try:
        description = parse_record(read_bytes(file.with_suffix(".json")))
        about = description.get("about")
        spec = about.get("spec") if isinstance(about, dict) else None
        task = None if domain is not None else _task_of(spec)
        if "pdrm_deep_policy" in description:
            agent = read_agent(description["agent"], description["settings"])
    except (*MALFORMED, PdrmError) as error:
        fault = f"{file} is not a policy, or is damaged: {describe_fault(error, file.with_suffix('.json').name)}"
        raise BadPolicyFile(
            fault, fix="restore a copy of it, or train again; a run's folder will do, too"
        ) from error
    if "pdrm_deep_policy" not in description:
        from pdrm.learning.tabular.policy import load_table

        where = domain if task is None else task.finite
        return _place(load_table(file), where if isinstance(where, FiniteDomain) else None, task)
    import pdrm.product.jax_env  # noqa: F401 - fails when jax is not installed
    from pdrm.learning.deep.deep_policy import DOMAIN, load_deep_policy

    if task is None and domain is None and (beside := file.with_suffix(DOMAIN)).exists():
        domain = load_domain(beside)
    if task is None and domain is None:
        fault = f"{file} was learnt in a domain of its own, which is not beside it"
        raise BadPolicyFile(
            fault, fix=f'pdrm.learning.load_policy("{file}", domain), with that domain'
        )
    found = Task(domain, description["machine"]) if task is None and domain is not None else task
    assert found is not None and isinstance(agent, Deep)
    return load_deep_policy(file, _domain_of(found, agent))


def _task_of(spec: Any) -> Task | None:
    """The task of a spec's record, where its domain is one of the catalogue's."""
    where = spec.get("task") if isinstance(spec, dict) else None
    if not isinstance(where, dict) or "domain_sha256" in where or "world" in where:
        return None
    return Task(where["domain"], where.get("machine"))


def _domain_of(task: Task, agent: Deep) -> FiniteDomain | WaterWorld:
    """The task's domain, with the kind of action that the agent chooses."""
    if isinstance(task.domain, WaterWorld):
        return replace(task.domain, continuous=agent.continuous is True)
    return task.domain


def _place(
    policy: AnyPolicy | SummaryPolicy, domain: FiniteDomain | None, task: Task | None
) -> AnyPolicy | SummaryPolicy:
    """The policy, with the domain where it was learnt; where it sees counters, with the machine that shows a stack in their place, if
    there is one."""
    from pdrm.learning.tabular.policy import Policy

    placed = replace(policy, domain=domain)
    if task is None or not isinstance(placed, Policy) or not placed.counts:
        return placed
    with suppress(CannotTranslate):  # several counters of one's own
        return replace(placed, pushdown=task.pushdown)
    return placed


@lru_cache(maxsize=2_000)
def _parse_curve(text: str) -> Curve:
    """The curve of a text; a report asks for each several times."""
    return Curve.parse(text)


TaskLike = Task | str | os.PathLike[str] | FiniteDomain | WaterWorld
"""A task, or a domain that comes with a machine: itself, its name or its file."""


@overload
def train(
    task: TaskLike,
    agent: Agent | str | None = ...,
    *,
    machine: MachineLike | None = ...,
    success: str | Sequence[str] = ...,
    seed: int = ...,
    seeds: None = ...,
    folder: str | os.PathLike[str] | None = ...,
    watch: Watch | None = ...,
    progress: bool | None = ...,
    **settings: Any,
) -> Run: ...
@overload
def train(
    task: TaskLike,
    agent: Agent | str | None = ...,
    *,
    machine: MachineLike | None = ...,
    success: str | Sequence[str] = ...,
    seeds: int | Sequence[int],
    folder: str | os.PathLike[str] | None = ...,
    watch: Watch | None = ...,
    progress: bool | None = ...,
    **settings: Any,
) -> Runs: ...
def train(
    task: TaskLike,
    agent: Agent | str | None = None,
    *,
    machine: MachineLike | None = None,
    success: str | Sequence[str] = (),
    seed: int = 0,
    seeds: int | Sequence[int] | None = None,
    folder: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Run | Runs:
    """Train an agent on a task; returns the run, or with `seeds` a list of runs, which has a `table`, a `plot` and an `evaluate` of all.

    task: a `Task`, or what makes one: a domain, its name or its file. agent: settings such as `CpRM(k=1)`, or a name such as
    "cprm", which has the paper's settings where the domain is the paper's; `settings` override them. Left out: Q-learning, in
    WaterWorld PPO. machine, success: as for `Task`, in place of the task's own. seed: of the run. seeds: of several runs, as
    for `Study`: how many (0, 1, …), or which. folder: where each run's own folder is made, and where a run that was stopped goes
    on; None: a temporary one, which lasts as long as the run. watch: called after every test. progress: whether to show how it
    goes; None: on a terminal and in a notebook. settings: of the agent. Warns (`NeverSucceeded`) if none of the last tests succeeds
    (of a table: from 300 episodes on). Ctrl-C stops after the next test, and says where what was learnt is; the same call goes on.

    >>> len(train("letter", "q", k=1, episodes=200).curve)
    2
    >>> [run.spec.seed for run in train("letter", k=1, episodes=200, seeds=3)]
    [0, 1, 2]
    """
    _check_door(task, agent)
    given = task if isinstance(task, Task) else Task(task, machine, success=tuple_of(success))
    if isinstance(task, Task) and (machine is not None or success):
        own = task.machine if machine is None else machine
        given = Task(
            task, own, success=tuple_of(success) if success or machine is not None else task.success
        )
    called = (DEFAULT_DEEP if given.continuous else DEFAULT_TABLE) if agent is None else agent
    chosen = (
        agent_for(given, called, settings) if isinstance(called, str) else _change(called, settings)
    )
    several: object = seed
    if isinstance(several, list | tuple | range):
        raise BadSetting(
            f"the seed is {seed!r}, but must be one integer",
            fix=f"seeds={list(several)}, for several runs",
        )
    check_count("seed", seed, 0)
    from pdrm.product.task_findings import warn_of_tasks

    warn_of_tasks(given)
    if chosen.deep:
        RunSpec(given, chosen, seed).check()  # before a bar says that something is compiled
    if seeds is None:
        return _train_all([RunSpec(given, chosen, seed)], folder, watch, progress)[0]
    if seed:
        raise ConflictingOptions("both `seed` and `seeds` are given", fix="leave one of them out")
    specs = [RunSpec(given, chosen, one) for one in resolve_seeds(seeds)]
    return Runs(_train_all(specs, folder, watch, progress))


def _check_door(task: object, agent: object) -> None:
    """Refuse an agent in the place of the task, and several tasks or agents."""
    if isinstance(task, Agent) or (isinstance(task, type) and issubclass(task, Agent)):
        name = task.__name__ if isinstance(task, type) else type(task).__name__
        raise WrongKind(
            f"{task!r} is an agent", fix=f"the task comes first: pdrm.train(task, pdrm.{name}(…))"
        )
    if isinstance(task, list | tuple | set) or isinstance(agent, list | tuple | set):
        what = "tasks" if isinstance(task, list | tuple | set) else "agents"
        fix = "pdrm.Study(tasks, agents, seeds=3).run() trains every agent on every task"
        raise WrongKind(
            f"`train` takes one task and one agent, and several {what} are given", fix=fix
        )


def _change(agent: object, settings: dict[str, Any]) -> Agent:
    """The agent with some settings changed; one that it does not have is refused."""
    chosen = check_agent(agent)
    check_known(type(chosen), settings)
    return replace(chosen, **settings)


def _describe_test(status: Status) -> str:
    """How a test during training went, beside the bar."""
    said = [f"return {format_return(float(status.test.returns.mean()))}"]
    if success := status.spec.task.success:
        said += [f"achieved {find_successes(status.test.ends, success).mean():.0%}"]
    for name, value in status.facts.items():
        if name != "cut_off" or value:
            called = "stack overflows" if name == "cut_off" else name
            said += [f"{called} {value:{'.3g' if value < 1 else ',.0f'}}"]
    return "  ".join(said)


def _train_all(
    specs: Sequence[RunSpec],
    folder: str | os.PathLike[str] | None,
    watch: Watch | None,
    progress: bool | None,
) -> list[Run]:
    """Train runs that differ in their seed to the end, with one bar: networks side by side, tables one after the other."""
    runs, chosen = [_place_run(spec, folder) for spec in specs], specs[0].agent
    temporary = [_remove_with(run) for run in runs if folder is None]
    shown, left = (
        is_shown() if progress is None else progress,
        [run for run in runs if not run.done],
    )
    if shown:
        _announce(runs)
    groups = [left] if chosen.deep else [[run] for run in left]
    with show_progress(
        chosen.total * len(groups), chosen.unit, quiet=not shown or not left
    ) as update:

        def train_group(group: list[Run], before: int) -> None:
            def tell(status: Status) -> None:
                seed = f"seed {status.spec.seed}  " * (len(runs) > 1)
                update(before + status.done, f"{seed}{_describe_test(status)}")
                if watch is not None:
                    watch(status)

            if begun := _describe_begun(group):
                if shown:
                    say(f"{begun[1]}: {', '.join(str(run.folder) for run in group)}")
                update(before + begun[0], begun[1])
            elif chosen.deep:
                update(before, "compiling; the first test comes after that")
            execute([run.spec for run in group], [run.folder for run in group], tell)

        try:
            for place, group in enumerate(groups):
                train_group(group, place * chosen.total)
        except KeyboardInterrupt:
            raise Interrupted(_keep_stopped(runs, temporary)) from None
    _warn_of_failure(runs)
    return runs


def _announce(runs: Sequence[Run]) -> None:
    """Say which runs are done already, and where a network is shown more of the stack than there ever is."""
    for run in runs:
        if run.done:
            say(f"was trained before: {run.folder}")
    task, agent = runs[0].spec.task, runs[0].spec.agent
    if agent.deep and isinstance(agent.k, int) and agent.k > 1:
        height = highest_stack(task.pushdown, int(task.domain.step_limit) + 1, agent.k)
        if height < agent.k:
            said = f"the stack of `{task.machine.name}` never holds more than {height} symbols"
            say(f"{said}: k={max(1, height)} shows the same as k={agent.k}, to a smaller network")


_STOPPED: dict[str, Path] = {}
"""Where runs are that were stopped and have no folder of the user's, by their ids: the same call goes on there."""


def _place_run(spec: RunSpec, folder: str | os.PathLike[str] | None) -> Run:
    """The run in its own folder; None: in a temporary one, where it was stopped if it was."""
    if folder is not None:
        return Run(spec, Path(folder) / spec.name)
    before = _STOPPED.pop(spec.id, None)
    root = (
        before if before is not None and before.exists() else Path(tempfile.mkdtemp(prefix="pdrm-"))
    )
    return Run(spec, root / spec.name)


def _remove_with(run: Run) -> weakref.finalize[..., Run]:
    """Have a temporary folder removed when its run is no longer used."""
    return weakref.finalize(run, shutil.rmtree, run.folder.parent, ignore_errors=True)


def _warn_of_failure(runs: Sequence[Run]) -> None:
    """Warn once, of all runs whose last tests did not achieve the task."""
    failed = {run.spec.seed: run.warning for run in runs if run.warning is not None}
    for warning in list(failed.values())[:1]:
        seeds = ", ".join(map(str, failed))
        told = f"{warning.message} (agent `{runs[0].spec.agent.name}`, seed{'s' * (len(failed) > 1)} {seeds})"
        warn_caller(NeverSucceeded(told, fix=warning.fix, shell_fix=warning.shell_fix))


def _describe_begun(runs: Sequence[Run]) -> tuple[float, str] | None:
    """How far runs are that go on from where they were stopped, and what to say of it; None: they begin."""
    found = [
        read_progress(run.folder)
        for run in runs
        if not run.done and (run.folder / CHECKPOINT).exists()
    ]
    if not all(found) or not found:
        return None
    done = min(one["done"] for one in found)
    return done, f"going on from {done / found[0]['total']:.0%}"


def _keep_stopped(runs: Sequence[Run], temporary: Sequence[weakref.finalize[..., Run]]) -> str:
    """Keep runs that were stopped, also where their folders would be removed; returns what to say of it."""
    kept = [run for run in runs if run._tested]
    if not kept:
        return "stopped before the first test: there is nothing to keep"
    if not temporary:
        return f"stopped; what was learnt is in {', '.join(str(run.folder) for run in kept)}: the same line goes on from there"
    for removal in temporary:
        removal.detach()
    _STOPPED.update((run.spec.id, run.folder.parent) for run in kept)
    loads = ", ".join(f'pdrm.Run.load("{run.folder}")' for run in kept)
    later = 'until this session ends the same line goes on from there, and with folder="runs" also later'
    return f"stopped; what was learnt by then: {loads}; {later}"
