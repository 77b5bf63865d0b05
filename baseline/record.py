# ruff: noqa
"""Record the state of the library in baseline/*.json, or compare it with what was recorded.

python baseline/record.py [SECTION…]              record: ledger, language, tables, check_k, grammars, times (none named: all)
python baseline/record.py --compare [SECTION…]    do the same again and print what differs (`-` gone, `+` new, `~` changed)

It uses only the command line and public names, and tolerates names that are gone. Run it with PYTHONPATH=src.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import inspect
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

import pdrm

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))
import tasks  # noqa: E402

CHAPTERS = "machines language domains product learning analysis experiments paper drawing report errors".split()
AGENTS = "q cprm hrm summary cra-q cra-cql ppo rppo dqn sac".split()
DOMAINS = "letter maze-5x5 maze-10x10 maze-20x20 multi-10x10 multi-20x20 deliver-8 deliver-4-8 paint echo water-17 water-20".split()
CORE = {
    **os.environ,
    "NO_COLOR": "1",
    "COLUMNS": "200",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}


def shell(
    *words: str | Path, folder: Path | None = None, limit: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run `pdrm` with these words."""
    call = [sys.executable, "-m", "pdrm", *map(str, words)]
    try:
        return subprocess.run(
            call,
            capture_output=True,
            text=True,
            cwd=folder,
            env=CORE,
            timeout=limit,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(call, -1, "", f"took longer than {limit} s")


def codes_in(text: str) -> list[str]:
    return sorted(set(re.findall(r"\b[EW]\d{4}\b", text)))


def attempt(make: Callable[[], Any]) -> Any:
    """What is made, or the code and the place of the error, or the name of the exception."""
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            made = make()
        said = sorted(
            {getattr(one.message, "code", None) or one.category.__name__ for one in found}
        )
        return {**made, "warnings": said} if isinstance(made, dict) and said else made
    except Exception as error:  # noqa: BLE001 - anything may be gone
        if not hasattr(error, "code"):
            return {"fails": type(error).__name__}
        each = getattr(error, "errors", None) or [error]
        return {"errors": [[one.code, *place(one)] for one in each]}


def place(error: Any) -> list[int]:
    where = getattr(error, "where", None)
    return [getattr(where, "line", 0) or 0, getattr(where, "column", 0) or 0]


# --- The ledger


def options_of(text: str) -> dict[str, Any]:
    """The arguments and options in a `--help`, with their kinds and defaults."""
    part, found = "", {}
    usage = re.search(r"Usage: .*?pdrm(?: \S+)? (.*)", text)
    for line in text.splitlines():
        if re.match(r"^\S.*:$", line):
            part = line[:-1]
        option = re.match(r"^  (-\S.*?)(?:  |$)", line)
        if option and part and part != "Arguments":
            found[option[1].strip()] = part
        argument = re.match(r"^  ([a-z_.]+ <.*?>)(?:  |$)", line)
        if argument and part == "Arguments":
            found[argument[1]] = part
    return {"usage": usage[1] if usage else "", "options": sorted(found)}


def commands() -> dict[str, Any]:
    front = shell("--help").stdout
    names = re.findall(r"^  ([a-z][a-z-]*)  ", front.split("Commands:")[-1], re.M)
    found = {"": options_of(front.split("Commands:")[0])}
    return found | {name: options_of(shell(name, "--help").stdout) for name in names}


def signature(thing: Any) -> str:
    """Names and defaults; annotations are left out."""
    try:
        own = inspect.signature(thing)
    except (TypeError, ValueError):
        return type(thing).__name__
    parts = [one.replace(annotation=inspect.Parameter.empty) for one in own.parameters.values()]
    return re.sub(
        r" at 0x[0-9a-f]+",
        "",
        str(own.replace(parameters=parts, return_annotation=inspect.Signature.empty)),
    )


def describe(thing: Any) -> Any:
    if not inspect.isclass(thing):
        return signature(thing) if callable(thing) else type(thing).__name__
    members = {}
    for name in dir(thing):
        if name.startswith("_"):
            continue
        one = inspect.getattr_static(thing, name)
        one = one.__func__ if isinstance(one, classmethod | staticmethod) else one
        members[name] = signature(one) if inspect.isfunction(one) else "attribute"
    if dataclasses.is_dataclass(thing):
        members |= {
            one.name: "attribute"
            for one in dataclasses.fields(thing)
            if not one.name.startswith("_")
        }
    return {"": signature(thing), **members}


def names() -> dict[str, Any]:
    found: dict[str, Any] = {
        "pdrm": {name: describe(getattr(pdrm, name, None)) for name in pdrm.__all__}
    }
    for chapter in CHAPTERS:
        try:
            module = import_module(f"pdrm.{chapter}")
        except ImportError:
            continue
        listed = getattr(module, "__all__", None) or [
            name
            for name, one in vars(module).items()
            if inspect.isclass(one) and one.__module__ == module.__name__
        ]
        found[f"pdrm.{chapter}"] = {
            name: describe(getattr(module, name, None)) for name in sorted(listed)
        }
    return found


def settings() -> dict[str, Any]:
    """The agents' settings with their defaults."""
    front = {
        "q": "QLearning",
        "cprm": "CpRM",
        "hrm": "Hierarchical",
        "summary": "Summary",
        "cra-q": "CountingQ",
    }
    front |= {
        "cra-cql": "CountingCQL",
        "ppo": "PPO",
        "rppo": "RecurrentPPO",
        "dqn": "DQN",
        "sac": "SAC",
        "sb3": "SB3",
    }
    found = {}
    for agent, name in front.items():
        kind = getattr(pdrm, name, None) or getattr(pdrm.learning, name, None)
        if kind is not None and dataclasses.is_dataclass(kind):
            made = attempt(
                lambda kind=kind: {
                    one.name: repr(getattr(kind(), one.name)) for one in dataclasses.fields(kind)
                }
            )
            found[agent] = made
    return found


def errors() -> dict[str, str]:
    """The codes, and for each the titles that `pdrm explain` lists."""
    return dict(re.findall(r"^([EW]\d{4})\s+(.*)$", shell("explain").stdout, re.M))


def keys_of(value: Any, path: str = "") -> set[str]:
    """The paths of a JSON value; numbers as keys are `#`, entries of lists `[]`."""
    if isinstance(value, dict):
        found = {path} if path else set()
        for key, one in value.items():
            found |= keys_of(
                one, f"{path}.{'#' if re.fullmatch(r'-?[0-9.]+(e-?[0-9]+)?', key) else key}"
            )
        return found
    if isinstance(value, list):
        return {path}.union(*(keys_of(one, f"{path}[]") for one in value))
    return {path}


def json_keys() -> dict[str, Any]:
    """The keys of what each command prints with --json, on fixed examples."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bad.pdrm").write_text(tasks.LETTER.replace("{B}", "{D}"))
        (folder / "study.toml").write_text(STUDY)
        calls = {
            "check": ["check", "letter"],
            "check bad": ["check", "bad.pdrm"],
            "check with domain": ["check", "letter", "--domain", "letter"],
            "step": ["step", "letter", "A A B C C C"],
            "step counting": ["step", "letter-counting", "A B C"],
            "agents": ["agents"],
            "agents cprm": ["agents", "cprm"],
            "agents ppo": ["agents", "ppo"],
            "domains": ["domains"],
            "domains maze": ["domains", "maze-5x5"],
            "train": ["train", "letter", "--episodes", "200", "--k", "1"],
            "train seeds": ["train", "letter", "--episodes", "200", "--k", "1", "--seeds", "2"],
            "evaluate": ["evaluate", "--episodes", "5"],
            "check-k paint": ["check-k", "paint", "--seconds", "20", "--certificate", "proof.json"],
            "check-k maze": ["check-k", "maze-5x5", "--seconds", "5"],
            "verify": ["verify", "proof.json"],
            "solve": ["solve", "maze-5x5"],
            "solve at": ["solve", "maze-5x5", "--in", "return", "--state", "4", "--stack", "d r #"],
            "sizes": ["sizes", "maze-5x5"],
            "sizes machine": ["sizes", "letter", "--steps", "10"],
            "run": ["run", "study.toml", "--workers", "1"],
            "claims without runs": ["claims"],
            "claims": ["claims", "-o", "report"],
            "claims readings": ["claims", "--readings"],
            "doctor": ["doctor"],
        }
        found: dict[str, Any] = {}
        for called, words in calls.items():
            if called == "claims":
                shell(
                    "reproduce",
                    "letter",
                    "--seeds",
                    "2",
                    "--workers",
                    "1",
                    "-o",
                    "report",
                    folder=folder,
                )
            if called == "evaluate":
                words = [
                    "evaluate",
                    *sorted(map(str, (folder / "runs").glob("*")))[:1],
                    "--episodes",
                    "5",
                ]
            outcome = shell(*words, "--json", folder=folder)
            try:
                found[called] = {
                    "exit": outcome.returncode,
                    "keys": sorted(keys_of(json.loads(outcome.stdout))),
                }
            except ValueError:
                found[called] = {"exit": outcome.returncode, "codes": codes_in(outcome.stderr)}
        found["bench"] = bench_keys(folder)
        written = {str(one.relative_to(folder)).split("/")[0] for one in folder.rglob("*")}
        run = next((folder / "runs").glob("letter-*"), folder / "none")
        found["files of a run"] = sorted(one.name for one in run.glob("*"))
        found["written"] = sorted(written)
        return found


def bench_keys(folder: Path) -> Any:
    """The figures of the benchmark of tables: of the command, or of the program outside the package."""
    outcome = shell("bench", "tabular", "--seconds", "1", "--json", folder=folder)
    if outcome.returncode:
        call = [sys.executable, "-m", "benchmarks", "tabular", "--seconds", "1", "--json"]
        outcome = subprocess.run(
            call, capture_output=True, text=True, cwd=ROOT, env=CORE, timeout=300
        )
    try:
        return sorted(keys_of(json.loads(outcome.stdout)))
    except ValueError:
        return {"exit": outcome.returncode, "codes": codes_in(outcome.stderr)}


STUDY = """name = "views"
seeds = 1
settings = { episodes = 200 }
[[panels]]
domain = "letter"
[[panels.agents]]
name = "one"
agent = "q"
k = 1
"""


def command_effects() -> dict[str, Any]:
    """Commands without --json: that they work, and what they write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "task.pdrm").write_text(tasks.LETTER)
        (folder / "rest.ltlf").write_text("F C\n")
        calls = [
            *(
                ["draw", "letter", "-o", f"letter{end}"]
                for end in (".svg", ".png", ".pdf", ".dot", ".tex")
            ),
            ["draw", "letter", "--word", "A B C", "-o", "word.svg"],
            *(
                ["convert", "letter", "-o", f"out{end}"]
                for end in (".pdrm", ".json", ".txt", ".dot", ".tex", ".svg")
            ),
            ["convert", "letter-counting", "-o", "counted.pdrm", "--to", "pushdown"],
            ["convert", "letter-pushdown", "-o", "counting.pdrm", "--to", "counting"],
            [
                "combine",
                "letter",
                "rest.ltlf",
                "--when",
                "letter & rest",
                "--weight",
                "rest=0.5",
                "-o",
                "both.pdrm",
            ],
            ["fmt", "task.pdrm"],
            ["fmt", "task.pdrm", "--check"],
            ["catalogue"],
            ["catalogue", "letter"],
            ["explain", "E0301"],
            ["new", "garden"],
            ["new", "lake", "--gym"],
            ["train", "letter", "--episodes", "200", "--k", "1", "-o", "runs"],
            ["replay", "runs/*", "--plain"],
            ["film", "runs/*", "-o", "film.gif"],
            ["report", "runs", "-o", "compared"],
            ["report", "runs", "--markdown"],
            ["check-k", "maze-5x5", "--seconds", "5", "--draw", "witness.svg"],
            ["sizes", "maze-5x5", "-o", "sizes.svg"],
            ["--version"],
        ]
        found = {}
        for words in calls:
            before = set(folder.rglob("*"))
            spelt = [str(next(folder.glob(word), word)) if "*" in word else word for word in words]
            outcome = shell(*spelt, folder=folder)
            new = sorted(
                str(one.relative_to(folder))
                for one in set(folder.rglob("*")) - before
                if one.is_file()
            )
            new = [one for one in new if not one.startswith(("runs/", "compared/"))]
            found[" ".join(words)] = {
                "exit": outcome.returncode,
                "codes": codes_in(outcome.stderr),
                "files": new,
            }
        return found


def ledger() -> dict[str, Any]:
    return {
        "commands": commands(),
        "names": names(),
        "settings": settings(),
        "errors": errors(),
        "json": json_keys(),
        "effects": command_effects(),
    }


# --- The language


def ran(machine: Any, words: Iterable[str]) -> dict[str, Any]:
    found = {}
    for word in words:

        def go(word: str = word) -> dict[str, Any]:
            run = machine.run(word)
            after = run.after
            memory = getattr(after, "stack", getattr(after, "counters", ()))
            paid = [round(float(step.reward), 12) for step in run.steps]
            return {
                "state": after.state,
                "memory": list(memory or ()),
                "accepted": run.accepted,
                "rewards": paid,
            }

        found[word] = attempt(go)
    return found


def written(machine: Any, words: Iterable[str]) -> dict[str, Any]:
    """The canonical text, whether it is read back as the same machine, and what the words do."""
    text = pdrm.language.to_text(machine)
    return {
        "text": text.splitlines(),
        "same again": pdrm.parse(text) == machine,
        "words": ran(machine, words),
    }


def language() -> dict[str, Any]:
    found: dict[str, Any] = {
        "texts": {},
        "grammars": {},
        "formulas": {},
        "patterns": {},
        "expressions": {},
        "combined": {},
    }
    for name, (text, words) in tasks.TEXTS.items():
        found["texts"][name] = attempt(lambda: written(pdrm.parse(text), words))
    for name, (text, options, words) in tasks.GRAMMARS.items():
        found["grammars"][name] = attempt(
            lambda: written(pdrm.from_grammar(text, **options), words)
        )
    for text, (options, words) in tasks.LTLF.items():
        found["formulas"][text] = attempt(lambda: written(pdrm.from_ltlf(text, **options), words))
    for count, patterns in tasks.DECLARE.items():
        given = ", ".join("abc"[:count])
        for pattern in patterns.split():
            make = lambda: pdrm.from_ltlf(f"{pattern}({given})", ["a", "b", "c"], accept="end")  # noqa: E731
            found["patterns"][pattern] = attempt(lambda: written(make(), tasks.DECLARE_WORDS))
    for text, (options, words) in tasks.REGEX.items():
        found["expressions"][text] = attempt(
            lambda: written(pdrm.from_regex(text, **options), words)
        )
    for name, (parts, options, words) in tasks.COMBINATIONS.items():

        def combine() -> dict[str, Any]:
            made = [pdrm.from_ltlf(one) if " " in one else pdrm.catalogue(one) for one in parts]
            return written(
                pdrm.combine(dict(zip(("one", "two"), made, strict=True)), **options), words
            )

        found["combined"][name] = attempt(combine)
    found["catalogue"] = {
        name: attempt(lambda: written(pdrm.catalogue(name), []))
        for name in pdrm.language.catalogue_names()
    }
    found["faulty"] = faulty()
    found["snippets"] = snippets()
    found["files"] = formats()
    return found


def faulty() -> dict[str, Any]:
    """Faulty files: the codes and places of their errors."""
    texts, found = json.loads((HERE / "faulty.json").read_text())["texts"], {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            end = (
                ".json"
                if name.startswith("json")
                else ".txt"
                if name.startswith("reward-m")
                else ".pdrm"
            )
            file = Path(folder, f"task{end}")
            file.write_bytes(
                text["bytes"].encode("latin-1") if isinstance(text, dict) else text.encode()
            )
            found[name] = attempt(lambda: {"read": type(pdrm.load(file)).__name__})
    return found


def snippets() -> dict[str, Any]:
    """For every code a few lines of Python or a command that show it: the codes that are said."""
    found, here = {}, Path.cwd()
    for code, text in json.loads((HERE / "faulty.json").read_text())["snippets"].items():
        lines = text.splitlines()
        python = "\n".join(line for line in lines if not line.startswith("pdrm "))
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                with contextlib.redirect_stdout(said), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(compile("import pdrm\n" + python, "<example>", "exec"), {})  # noqa: S102 - our own
            except Exception as error:  # noqa: BLE001
                said.write(getattr(error, "code", type(error).__name__))
            sys.modules.pop("wandb", None)
            for line in lines:
                if line.startswith("pdrm "):
                    outcome = shell(*line.split()[1:], folder=Path(folder))
                    said.write(outcome.stderr + outcome.stdout)
            os.chdir(here)
        shown = codes_in(said.getvalue())
        found[code] = shown or [said.getvalue().strip()[:40]]
    return found


def formats() -> dict[str, Any]:
    """Files of each kind are read as the same machine that was saved."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("letter", "letter-counting", "treasure-maze", "water"):
            for end in (".pdrm", ".json"):
                file = Path(folder, name + end)

                def through() -> dict[str, Any]:
                    machine = pdrm.catalogue(name)
                    pdrm.save(machine, file)
                    return {"same": pdrm.load(file) == machine}

                found[name + end] = attempt(through)
        json_file = Path(folder, "letter.json")
        found["letter as JSON"] = (
            sorted(keys_of(json.loads(json_file.read_text()))) if json_file.exists() else None
        )
        for name, text in (
            ("f.ltlf", "ltlf f\nfail -1\nF a\n"),
            ("e.regex", 'regex e\naccept end\n"a"* "b"\n'),
        ):
            Path(folder, name).write_text(text)
            found[name] = attempt(lambda: written(pdrm.load(Path(folder, name)), ["a b end", "a"]))
    return found


# --- Learnt tables

LARGEST = 300_000
"""Rows of a table that are hashed; of a larger one those of a shorter run with the same seed."""
SHORT = {"multi-10x10": 30, "multi-20x20": 10}
"""Episodes of that shorter run, where it is not 200."""


def hash_rows(rows: Iterable[str]) -> str:
    """A hash that does not depend on the order: that of the sorted rows."""
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()[:32]


def row_text(row: Any) -> str:
    values = ",".join(f"{name}={float(value)!r}" for name, value in sorted(row.values.items()))
    return f"{row.environment_state}|{row.machine_state}|{' '.join(map(str, row.stack))}|{values}"


def option_rows(policy: Any, table: Any) -> list[str]:
    """What a hierarchical policy knows of each option where its meta-policy has a row."""
    found = []
    for row in table:
        for option in range(len(row.values)):
            values = policy.values(row.environment_state, row.machine_state, row.stack, option)
            shown = ",".join(repr(float(value)) for value in values)
            found.append(
                f"{row.environment_state}|{row.machine_state}|{' '.join(row.stack)}|{option}|{shown}"
            )
    return found


def learnt(line: dict[str, Any]) -> dict[str, Any]:
    def train(**more: Any) -> Any:
        chosen = {"k": line["k"], **line["settings"], **more}
        return pdrm.train(line["task"], line["agent"], seed=0, progress=False, **chosen)

    began = time.process_time()
    run = train()
    curve = [[float(value) for value in test] for test in run.curve.returns]
    found = {"curve": hashlib.sha256(json.dumps(curve).encode()).hexdigest()[:32]}
    found |= {
        "last": round(sum(curve[-1]) / len(curve[-1]), 9),
        "episodes": "all",
        "all rows": len(run.policy.table()),
    }
    if found["all rows"] > LARGEST:
        episodes = SHORT.get(line["panel"], 200)
        run = train(episodes=episodes, test_every=episodes)
        found["episodes"] = episodes
    table = run.policy.table()
    found |= {"rows": len(table), "hash": hash_rows(map(row_text, table))}
    if line["agent"] == "hrm":
        found["options"] = hash_rows(option_rows(run.policy, table))
    found["seconds"] = round(time.process_time() - began, 2)
    return found


def tables() -> dict[str, Any]:
    """Of every line of the paper's tabular figures, and of the study `ours`: what seed 0 learnt."""
    found = {}
    for line in json.loads((HERE / "lines.json").read_text()):
        name = f"{line['panel']}: {line['line']}"
        found[name] = attempt(lambda: learnt(line))
        found[name].pop("warnings", None)
        print("  ", name, found[name], flush=True)
    return found


# --- Which k


def write_tasks(folder: Path) -> dict[str, list[str]]:
    """The tasks: what to give to `pdrm check-k`."""
    calls = {name: [name] for name in DOMAINS}
    for name, map_text, machine, end in (
        ("anb2n", tasks.ANBB_MAP, tasks.ANBB, ".pdrm"),
        ("xml", tasks.XML_MAP, tasks.XML, ".grammar"),
        ("throw", tasks.THROW_MAP, tasks.THROW, ".pdrm"),
    ):
        (folder / f"{name}.txt").write_text(map_text)
        (folder / f"{name}{end}").write_text(machine)
        calls[name] = [f"{name}.txt", "--machine", f"{name}{end}"]
    shell("new", "garden", folder=folder)
    shell("new", "hall", "--gym", folder=folder)
    calls["new garden"] = ["garden/map.txt", "--machine", "garden/task.pdrm"]
    pdrm.domains.save_domain(hallway(3), folder / "hall.npz")
    calls["new hall --gym"] = ["hall.npz", "--machine", "hall/task.pdrm"]
    pdrm.domains.save_domain(lake(), folder / "lake.npz")
    for name, machine in (("goal", tasks.GOAL), ("ways", tasks.FETCH)):
        (folder / f"{name}.pdrm").write_text(machine)
        calls[f"FrozenLake, {name}"] = [
            "lake.npz",
            "--machine",
            f"{name}.pdrm",
            "--discount",
            "0.95",
        ]
    return calls


def hallway(doors: int) -> Any:
    """The environment of `pdrm new --gym` as arrays: its state is the number of steps taken."""
    after, label, chance = [], [], []
    for step in range(2 * doors + 1):
        last = step == 2 * doors
        there = step if last else step + 1
        walks = step < doors
        after.append([[there, there]] * 2)
        chance.append([[0.5, 0.5]] * 2 if walks else [[1.0, 0.0]] * 2)
        label.append([[1, 2]] * 2 if walks else [[0, 0]] * 2 if last else [[3, 3], [4, 4]])
    words = [(), ("seen", "red"), ("seen", "blue"), ("pressed", "red"), ("pressed", "blue")]
    ends = [step == 2 * doors for step in range(2 * doors + 1)]
    arrays = {
        "next": after,
        "label": label,
        "labels": words,
        "probability": chance,
        "terminal": ends,
    }
    return pdrm.domains.from_arrays("hall", **arrays, step_limit=2 * doors, actions=("red", "blue"))


def lake() -> Any:
    import gymnasium

    def events(_state: int, action: int, after: int, _info: Any) -> set[str]:
        side = {0: {"left"}, 2: {"right"}}.get(action, set())
        return side | ({"goal"} if after == 15 else set())

    world = gymnasium.make("FrozenLake-v1")
    return pdrm.from_gymnasium(world, events, name="lake", step_limit=100)


def check_k() -> dict[str, Any]:
    """The full answers of `pdrm check-k --seconds 20 --json`, on one core."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for called, words in write_tasks(folder).items():
            began = time.monotonic()
            outcome = shell(
                "check-k", *words, "--seconds", "20", "--json", folder=folder, limit=240
            )
            try:
                found[called] = json.loads(outcome.stdout)
            except ValueError:
                found[called] = {"exit": outcome.returncode, "codes": codes_in(outcome.stderr)}
            found[called]["wall_seconds"] = round(time.monotonic() - began, 1)
            print("  ", called, brief(found[called]), flush=True)
    return found


def brief(answer: dict[str, Any]) -> dict[str, Any]:
    """The verdicts and bounds of an answer, of the earlier form (`gap`) or the later (`k.#.loss`)."""
    found: dict[str, Any] = {"exit": answer.get("exit", 0), "codes": answer.get("codes", [])}
    found["value"] = answer.get("value_from_start", answer.get("value"))
    found["recommended"] = (answer.get("recommendation") or {}).get("k", answer.get("recommended"))
    for k, verdicts in (answer.get("k") or {}).items():
        gap = (answer.get("gap") or {}).get(k) or {}
        own = {name: verdicts.get(name) for name in ("same_values", "everywhere", "start")}
        own["loss"] = verdicts.get("loss", gap.get("loss"))
        own["spread"] = verdicts.get("spread", gap.get("spread"))
        found[k] = own
    return found


def contradictions(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What an answer says against an earlier one, and what it no longer knows."""
    before, now, said = brief(old), brief(new), []
    if before["exit"] != now["exit"] or before["codes"] != now["codes"]:
        said.append(f"~ exit {before['exit']} {before['codes']} -> {now['exit']} {now['codes']}")
    if not meet(before["value"], now["value"]):
        said.append(f"! value {before['value']} -> {now['value']}")
    if before["recommended"] != now["recommended"]:
        said.append(f"~ recommended {before['recommended']} -> {now['recommended']}")
    for k in sorted({key for key in (*before, *now) if key.isdigit()}, key=int):
        one, other = before.get(k), now.get(k)
        if one is None or other is None:
            said.append(f"{'+' if one is None else '-'} k = {k}")
            continue
        for name in ("same_values", "everywhere", "start"):
            a, b = one[name], other[name]
            if a != b:
                sign = "!" if {a, b} == {"yes", "no"} else "+" if a == "undecided" else "-"
                said.append(f"{sign} k = {k} {name}: {a} -> {b}")
        if not meet(one["loss"], other["loss"]):
            said.append(f"! k = {k} loss {one['loss']} -> {other['loss']}")
        elif wider(one["loss"], other["loss"]):
            said.append(f"- k = {k} loss is wider: {one['loss']} -> {other['loss']}")
    return said


def meet(one: Any, other: Any) -> bool:
    """Whether two intervals have a number in common, within 1e-6; an unknown end is everything."""
    if not one or not other:
        return True
    (low, high), (least, most) = one, other
    low, least = (-float("inf") if end is None else end for end in (low, least))
    high, most = (float("inf") if end is None else end for end in (high, most))
    slack = 1e-6 * max(
        1.0, *(abs(end) for end in (low, high, least, most) if abs(end) < float("inf"))
    )
    return low <= most + slack and least <= high + slack


def wider(one: Any, other: Any) -> bool:
    if not one or None in one:
        return False
    if not other or None in other:
        return True
    return other[1] - other[0] > 2 * (one[1] - one[0]) + 1e-6


# --- Grammars, and times


def grammars() -> dict[str, Any]:
    """The machines made from the example grammars."""
    found = {}
    for file in sorted((ROOT / "examples" / "grammars").glob("*.grammar")):

        def made() -> dict[str, Any]:
            machine = pdrm.load(file)
            counts = {
                "rules": len(machine.transitions),
                "states": len(machine.states) + len(machine.final),
            }
            return counts | {
                "symbols": len(machine.stack),
                "text": pdrm.language.to_text(machine).splitlines(),
            }

        found[file.name] = attempt(made)
    return found


def times() -> dict[str, Any]:
    """Seconds to read a file of 16,000 rules, microseconds of a `wrap` step (on a shared computer: medians)."""
    head = "events a\nstack #\nstart u0\nfinal f\notherwise stay 0\n"
    text = head + "".join(f"u{n} -> u{(n + 1) % 16_000} : a, z / z, 0\n" for n in range(16_000))
    letters = [f"e{n}" for n in range(126)]
    one = f"events {' '.join(letters)}\nexclusive {' '.join(letters)}\nstack # {' '.join(letters)}\nstart u\nfinal f\notherwise stay 0\n"
    one += "".join(f"u -> u : {e}, {s} / {s}, 0\n" for e in letters for s in letters)
    found = {}
    for name, each in (("16,000 rules in 16,000 states", text), ("15,876 rules in one state", one)):
        seconds = []
        for _ in range(3):
            began = time.process_time()
            pdrm.parse(each)
            seconds.append(time.process_time() - began)
        found[f"read {name}, s"] = round(statistics.median(seconds), 3)
    found |= {f"wrap step{form}, us": cost for form, cost in wrap_costs().items()}
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import pdrm"], env=CORE, check=True)
    found["import pdrm, s"] = round(time.monotonic() - began, 3)
    began = time.monotonic()
    shell("step", "letter", "A B C")
    found["pdrm step, s"] = round(time.monotonic() - began, 3)
    return found


def wrap_costs() -> dict[str, float]:
    import gymnasium

    def lake() -> Any:
        return gymnasium.make("FrozenLake-v1", disable_env_checker=True)

    def events(_before: Any, _action: Any, after: int, _info: Any) -> set[str]:
        return {"A"} if after % 3 == 0 else set()

    def burst(env: Any) -> float:
        env.reset(seed=0)
        steps, began = 0, time.perf_counter()
        while steps < 3_000:
            _, _, terminated, truncated, _ = env.step(steps % 4)
            steps += 1
            if terminated or truncated:
                env.reset()
        return (time.perf_counter() - began) / steps * 1e6

    envs = {"bare": lake(), "plain": pdrm.wrap(lake(), "letter", events, k=1)}
    envs["flat"] = pdrm.wrap(lake(), "letter", events, k=1, flatten=True)
    bursts = [{name: burst(env) for name, env in envs.items()} for _ in range(25)]  # in turns
    found = {}
    for name in ("plain", "flat"):
        more = [one[name] - one["bare"] for one in bursts]
        best = min(one[name] for one in bursts) - min(one["bare"] for one in bursts)
        found[f" {name}, more than bare, median"] = round(statistics.median(more), 2)
        found[f" {name}, more than bare, best"] = round(best, 2)
    return found


# --- Recording and comparing

SECTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "ledger": ledger,
    "language": language,
    "grammars": grammars,
    "times": times,
    "tables": tables,
    "check_k": check_k,
}


def flatten(value: Any, path: str = "") -> dict[str, Any]:
    """A JSON value as a path for every leaf; lists of short texts are sets of them."""
    if isinstance(value, dict):
        found = {path + "/": "{}"} if not value else {}
        for key, one in value.items():
            found |= flatten(one, f"{path}/{key}")
        return found
    if isinstance(value, list) and path.rsplit("/", 1)[-1] in (
        "options",
        "keys",
        "files",
        "codes",
        "files of a run",
        "written",
        "bench",
    ):
        return {f"{path}/{one}": "" for one in value}
    return {path: value}


def compare(section: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    if section == "check_k":
        lines = []
        for name in sorted({*old, *new}):
            said = contradictions(old.get(name, {}), new.get(name, {}))
            lines += [f"  {name}"] + [f"    {one}" for one in said] if said else []
        return lines
    if section == "times":
        return [f"  {name}: {old.get(name)} -> {new.get(name)}" for name in {**old, **new}]
    before, now = flatten(old), flatten(new)
    lines = []
    for path in sorted({*before, *now}):
        if path.endswith(("/seconds", "/last")):
            continue
        if path not in now:
            lines.append(f"  - {path} {short(before[path])}")
        elif path not in before:
            lines.append(f"  + {path} {short(now[path])}")
        elif before[path] != now[path]:
            lines.append(f"  ~ {path} {short(before[path])} -> {short(now[path])}")
    return lines


def short(value: Any) -> str:
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shown if len(shown) < 200 else shown[:200] + "…"


def main() -> None:
    words = sys.argv[1:]
    comparing = "--compare" in words
    chosen = [word for word in words if not word.startswith("--")] or list(SECTIONS)
    os.environ.update(NO_COLOR="1", NUMBA_NUM_THREADS="1")
    warnings.simplefilter("ignore")
    for section in chosen:
        began = time.monotonic()
        print(f"{section} …", flush=True)
        found = json.loads(json.dumps(SECTIONS[section](), ensure_ascii=False))
        file = HERE / f"{section}.json"
        if comparing:
            lines = compare(section, json.loads(file.read_text()), found)
            print(f"== {section}: {len(lines)} differences", *lines, sep="\n")
            (HERE / f"{section}.new.json").write_text(
                json.dumps(found, indent=1, ensure_ascii=False) + "\n"
            )
        else:
            file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        print(f"{section}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
