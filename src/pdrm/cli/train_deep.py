"""`pdrm train` with a deep agent (ppo, rppo, dqn, sac): what `pdrm.cli.train` hands over to."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from pdrm.cli.machine_commands import machine_text
from pdrm.cli.output import next_command, print_json
from pdrm.errors import BadSetting, did_you_mean

DEEP_AGENTS = ("ppo", "rppo", "dqn", "sac")


def train_deep(
    domain: str,
    agent: str,
    k: str | None,
    seeds: int,
    machine: str | None,
    steps: int | None,
    chosen: list[str],
    output: Path,
    as_json: bool,
) -> None:
    """Train all seeds side by side. chosen: `name=value`, settings by Stable-Baselines3's names."""
    # XLA's pool of threads for the processor can stall on machines with few cores; a GPU is not concerned.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import pdrm.product.jax_env  # noqa: F401 - says what to install where JAX is missing
    from pdrm.learning.deep.run import DeepSpec, execute

    if seeds < 1:
        raise BadSetting("--seeds takes a whole number from 1 on", fix="--seeds 5")
    given = _given(agent, chosen) | ({} if steps is None else {"total_timesteps": steps})
    text = None if machine is None else machine_text(machine)
    spec = DeepSpec(domain, agent, k or "1", _settings(agent, given), tuple(range(seeds)), text)
    folder = output / f"{Path(domain).stem}-{agent}-{spec.k}-seeds{seeds}-{spec.id}"

    def watch(timesteps: int, tested: Any) -> None:  # noqa: ANN401 - episodes
        if not as_json:
            ended = float(tested.terminated.mean())
            typer.echo(f"{timesteps:>12,} steps  return {float(tested.returns.mean()):g}  ended {ended:.0%}", err=True)

    try:
        execute(spec, folder, watch)
    except KeyboardInterrupt:
        typer.echo(f"stopped; what was learnt is in {folder}, and the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    if as_json:
        print_json({"folder": str(folder), "id": spec.id, "seeds": list(spec.seeds)})
    else:
        typer.echo(f"{seeds} runs -> {folder}")
        next_command(f"head {folder}/curve.csv")


def _settings(agent: str, given: dict[str, Any]) -> Any:  # noqa: ANN401 - the agent's own kind
    from pdrm.learning.deep.algorithm import settings_of

    return settings_of(agent, given)


def _given(agent: str, chosen: list[str]) -> dict[str, Any]:
    """The settings in `name=value` words, each as the type its default has."""
    from pdrm.learning.deep.algorithm import algorithm_of

    kind = algorithm_of(agent).settings
    defaults = {field.name: field.default for field in fields(kind)}
    found: dict[str, Any] = {}
    for word in chosen:
        name, equals, value = word.partition("=")
        if not equals or name not in defaults:
            raise BadSetting(f"`{word}` sets nothing of agent `{agent}`", fix=did_you_mean(name, defaults))
        found[name] = _value(name, value, defaults[name])
    return found


def _value(name: str, text: str, default: object) -> Any:  # noqa: ANN401 - a number, a flag, or several numbers
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, tuple):
            return tuple(int(part) for part in text.split(","))
        return int(text) if isinstance(default, int) and "." not in text and "e" not in text else float(text)
    except (KeyError, ValueError):
        raise BadSetting(f"`{text}` is no value for `{name}`", fix=f"its default is {default}") from None
