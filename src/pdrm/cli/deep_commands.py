"""A warning before training: events that a machine waits for and that the domain never emits."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from pdrm.cli.machine_commands import checked_text
from pdrm.cli.output import next_command, print_json
from pdrm.errors import BadSetting, did_you_mean

if TYPE_CHECKING:
    from pdrm.language.document import AnyMachine
    from pdrm.learning.deep.deep_run import DeepSpec, Watch
    from pdrm.learning.deep.many_envs import Episodes
    from pdrm.machines.guards import Label


def warn_of_unheard(machine: AnyMachine, domain: str, labels: Iterable[Label]) -> None:
    """Say on standard error which events in the machine's rules are in none of the labels that the domain emits."""
    unheard = unheard_events(machine, labels)
    if unheard:
        named = ", ".join(f"`{event}`" for event in unheard)
        said = f"reads event{'s' * (len(unheard) > 1)} {named}, which `{domain}` never emits"
        typer.echo(f"warning: machine `{machine.name}` {said}", err=True)


def unheard_events(machine: AnyMachine, labels: Iterable[Label]) -> list[str]:
    """Those events, in the machine's own order. What is declared and in no rule is not waited for.

    >>> from pdrm.language.loading import catalogue
    >>> unheard_events(catalogue("letter"), [frozenset({"A"}), frozenset({"A", "C"})])
    ['B']
    """
    from pdrm.machines.guards import events_of

    read = frozenset[str]().union(*(events_of(rule.guard) for rule in machine.transitions))
    heard = frozenset[str]().union(*labels)
    return [event for event in machine.events if event in read - heard]


# --- `pdrm train` with a deep agent (ppo, rppo, dqn, sac), and what was learnt so: what `pdrm.cli.train_commands` hands over to.

DEEP_AGENTS = ("ppo", "rppo", "dqn", "sac")


class Asked(NamedTuple):
    """What was asked for."""

    domain: str
    agent: str
    k: str | None
    seeds: int
    machine: str | None
    steps: int | None
    chosen: list[str]
    """`name=value`: settings by Stable-Baselines3's names."""
    log: str | None = None
    depth: int | None = None
    """Symbols that a stack has room for; None: what the task can need."""


def is_water(domain: str) -> bool:
    """Whether a domain is one of WaterWorld's, which are continuous."""
    from pdrm.domains.water import SIDES

    return domain in SIDES


def prepare_jax() -> None:
    """Say what to install where JAX is missing, and choose what serves it on a processor."""
    # XLA's pool of threads for the processor can stall on machines with few cores; a GPU is not concerned.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import pdrm.product.jax_env  # noqa: F401 - raises there


def train_deep(asked: Asked, output: Path, *, as_json: bool) -> None:
    """Train all seeds side by side."""
    prepare_jax()
    from pdrm.learning.deep.deep_run import execute, is_done, share_cut_off

    spec, steps, name = _spec(asked)
    if steps != int(spec.settings.total_timesteps) and not as_json:
        typer.echo(
            f"{steps:,} steps: iterations are whole ({spec.settings.n_envs} environments side by side)", err=True
        )
    folder = output / f"{name}-{asked.agent}-{spec.k}-seeds{asked.seeds}-{spec.id}"
    before, shown = is_done(folder), None if as_json else _watch(steps)
    try:
        with _logging(asked.log, spec, folder, shown) as watch:
            execute(spec, folder, watch)
    except KeyboardInterrupt:
        typer.echo(f"stopped; what was learnt is in {folder}, and the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    cut = share_cut_off(folder, spec)
    if as_json:
        seeds = list(spec.seeds)
        print_json({"folder": str(folder), "id": spec.id, "seeds": seeds, "depth": spec.depth, "cut_off": cut})
        return
    typer.echo(f"{asked.seeds} run{'s' * (asked.seeds > 1)} {'(done before) ' if before else ''}-> {folder}")
    if cut:
        typer.echo(_cut_off(cut, spec), err=True)
    next_command(f"pdrm film {folder}" if is_water(asked.domain) else f"pdrm evaluate {folder}")


def _cut_off(share: float, spec: DeepSpec) -> str:
    """What is said of a run whose stacks were full."""
    needed = spec.needed_depth()
    more = needed if needed > spec.depth else 2 * spec.depth
    said = (
        f"{_percent(share)} of the training episodes were cut off by a full stack: it has room for {spec.depth} symbols"
    )
    return f"{said}\n  fix: --depth {more}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 else "under 1%"


@contextmanager
def _logging(tool: str | None, spec: DeepSpec, folder: Path, shown: Watch | None) -> Iterator[Watch | None]:
    """A watch that also logs every test with the tool of that name; a run that is done has none left to log."""
    from pdrm.experiments.sinks import known_sink, sink_for
    from pdrm.learning.deep.deep_run import is_done

    if tool is None or is_done(folder):
        yield shown
        return
    with sink_for(known_sink(tool), folder, folder.name, asdict(spec)) as sink:

        def both(timesteps: int, tested: Episodes, cut_off: float) -> None:
            sink.log({**_scalars(spec, tested), "train/cut_off": cut_off}, timesteps)
            if shown is not None:
                shown(timesteps, tested, cut_off)

        yield both


def _scalars(spec: DeepSpec, tested: Episodes) -> dict[str, float]:
    """What is logged after a test."""
    own = {f"test/return_seed{seed}": float(tested.returns[run].mean()) for run, seed in enumerate(spec.seeds)}
    every = {"return": tested.returns, "steps": tested.steps, "ended": tested.terminated}
    return {**{f"test/{name}": float(values.mean()) for name, values in every.items()}, **own}


def _watch(total: int) -> Watch:
    """A line a test."""
    from pdrm.cli.display import duration

    began = [(0.0, 0)]

    def watch(timesteps: int, tested: Episodes, cut_off: float) -> None:
        now = time.monotonic()
        if began[0][1]:
            seconds = (now - began[0][0]) * (total - timesteps) / (timesteps - began[0][1])
            left = f", about {duration(max(0.0, seconds))} left"
        else:
            began[0], left = (now, timesteps), ""
        gained, ended, share = (float(part.mean()) for part in (tested.returns, tested.terminated, tested.cut_off))
        cut = f"  cut off by a full stack {_percent(cut_off)} in training" if cut_off else ""
        cut += f"  {'and' if cut else 'cut off by a full stack'} {_percent(share)} here" if share else ""
        said = f"return {gained:g}  ended before the limit {ended:.0%}{cut}{left}"
        typer.echo(f"{timesteps:>12,} of {total:,} steps  {said}", err=True)

    return watch


def _spec(asked: Asked) -> tuple[DeepSpec, int, str]:
    """The run that is meant, the steps it takes in whole iterations, and its domain's name."""
    from pdrm.domains.paper_domains import names
    from pdrm.learning.deep.deep_run import DeepSpec
    from pdrm.learning.deep.deep_training import settings_of

    if asked.seeds < 1:
        raise BadSetting("--seeds takes a whole number from 1 on", fix="--seeds 5")
    given = {**_ours(asked), **_given(asked.agent, asked.chosen)}
    given |= {} if asked.steps is None else {"total_timesteps": asked.steps}
    text = None if asked.machine is None else checked_text(asked.machine)
    own = asked.domain not in names() and not is_water(asked.domain)
    spec = DeepSpec(
        domain=asked.domain,
        agent=asked.agent,
        k=asked.k or "1",
        settings=settings_of(asked.agent, given),
        seeds=tuple(range(asked.seeds)),
        machine_text=text,
        test_every=max(1, int(given.get("total_timesteps", 100_000)) // 20),
        domain_sha256=_digest(Path(asked.domain)) if own else "",
    )
    spec = replace(spec, depth=spec.needed_depth() if asked.depth is None else asked.depth)
    training = spec.training()  # so that what is wrong is said before anything is made
    domain = training.product.domain
    warn_of_unheard(spec.machine(domain), domain.name, domain.labels)
    whole = -(-int(spec.settings.total_timesteps) // training.steps_per_iteration) * training.steps_per_iteration
    return spec, whole, re.sub(r"[^\w.-]+", "-", domain.name)


def _digest(path: Path) -> str:
    from pdrm.domains.array_domain import domain_bytes
    from pdrm.domains.domain_files import find_domain

    return hashlib.sha256(domain_bytes(find_domain(str(path)))).hexdigest()


def _ours(asked: Asked) -> dict[str, Any]:
    """The settings that were tuned for WaterWorld; elsewhere Stable-Baselines3's."""
    from pdrm.experiments.paper import water_programs as water

    if not is_water(asked.domain):
        return {}
    programs = (*water.tuned((0,)), *water.off_policy((0,)))
    program = next(one for one in programs if one.agent == asked.agent)
    run = program.runs[0]
    return {**program.settings, "learning_rate": run.learning_rate, "total_timesteps": run.total_timesteps}


def _given(agent: str, chosen: list[str]) -> dict[str, Any]:
    """The settings in `name=value` words, each as the type its default has."""
    from pdrm.learning.deep.deep_training import algorithm_of

    kind = algorithm_of(agent).settings
    defaults = {field.name: field.default for field in fields(kind)}
    found: dict[str, Any] = {}
    for word in chosen:
        name, equals, value = word.partition("=")
        if not equals:
            raise BadSetting(f"`--set {word}` gives no value", fix=f"--set {name}=VALUE")
        if name not in defaults:
            raise BadSetting(f"`{word}` sets nothing of agent `{agent}`", fix=did_you_mean(name, defaults))
        found[name] = _value(name, value, defaults[name])
    return found


def _value(name: str, text: str, default: object) -> Any:  # noqa: ANN401 - a number, a flag, or several numbers
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, tuple):
            return tuple(int(part) for part in text.split(","))
        number = float(text)
        return int(number) if isinstance(default, int) and number.is_integer() else number
    except (KeyError, ValueError):
        raise BadSetting(f"`{text}` is no value for `{name}`", fix=f"its default is {default}") from None


def is_deep(folder: Path) -> bool:
    """Whether a folder holds a run of a deep agent."""
    try:
        found = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("agent") in DEEP_AGENTS


def evaluate_deep(run: Path, episodes: int, seed: int) -> list[dict[str, Any]]:
    """How episodes of each seed's policy go."""
    prepare_jax()
    from pdrm.learning.deep.deep_run import evaluated

    return evaluated(run, episodes, seed)
