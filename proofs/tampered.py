"""Tampered files: whatever is done to a file that pdrm writes or reads, reading it gives what it held, something that is as
valid, or an error of pdrm's; never a crash, never an endless wait, and nothing that its fingerprint does not fit is used.

The cases run in a child process with limits of time and memory. Kernels are plain Python there: an index that compiled code
would follow out of bounds is an error. What is accepted is used: a run goes on from it, a policy plays, a domain is trained in.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import jax
import numpy as np

import pdrm
from pdrm.analysis.sufficient_k.certificate import load_certificate
from pdrm.analysis.sufficient_k.checker import check_certificate
from pdrm.analysis.sufficient_k.every_stack import EveryStack
from pdrm.domains import domain_files
from pdrm.errors import PdrmError
from pdrm.experiments import fact_cache, study, study_file
from pdrm.experiments.store import Store
from pdrm.language.json_form import to_json
from pdrm.language.loading import catalogue, catalogue_text, load
from pdrm.language.writer import to_text
from pdrm.learning import run, run_loop
from pdrm.learning.agents import agent_for
from pdrm.learning.run import Run, train
from pdrm.learning.run_loop import POLICY, Learner, RunSpec
from pdrm.task import Task

CASES = 10_000
SECONDS, MEMORY = 10, 2**30
"""What one case may take, and how much more memory than before they began."""
PLAIN_PYTHON = {"NUMBA_DISABLE_JIT": "1", "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}

LONGEST_MESSAGE = 10_000

# --- In the parent


def check(seed: int, cases: int = CASES, *, deep: bool = True) -> Counter[str]:
    """Tamper with so many files in a child process."""
    words = [str(seed), str(cases), *(["deep"] if deep else [])]
    command = [sys.executable, "-X", "faulthandler", "-m", "proofs.tampered", *words]
    done = subprocess.run(
        command,
        env={**os.environ, **PLAIN_PYTHON},
        capture_output=True,
        text=True,
        check=False,
        errors="replace",
    )
    last = done.stdout.splitlines()[-1:] or ["nothing"]
    assert done.returncode == 0, (
        f"ended with {done.returncode} after `{last[0]}`:\n{done.stderr[-3000:]}"
    )
    return Counter(json.loads(last[0]))


# --- In the child: the ways to tamper

JUNK: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        0.5,
        -0.0,
        1e308,
        float("nan"),
        float("inf"),
        2**31,
        2**63,
        10**30,
        -(2**40),
    ),
    *(
        "",
        "0",
        "full",
        "q",
        "letter",
        "x" * 300,
        "../../x",
        "$x$",
        "\ud800",
        "a\nb",
        "é□",
        "nan",
        "1e999",
        "٣",
        "\x00",
    ),
    *([], {}, [[]], [0], {"a": 1}, [None] * 5, [[[[[[[[1]]]]]]]]),
)
EDGES = (
    -(2**63),
    -(2**31),
    -3,
    -2,
    -1,
    0,
    1,
    2,
    3,
    7,
    100,
    2**15,
    2**31 - 1,
    2**40,
    2**62,
    2**63 - 1,
)
FLOATS = (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1.0, 1e308, -1e-320)
KINDS = (
    "int8",
    "int32",
    "int64",
    "uint64",
    "float32",
    "float64",
    ">i8",
    "bool",
    "complex128",
    "U3",
    "S4",
    "M8[s]",
)


def tamper_bytes(data: bytes, chance: Random) -> bytes:
    """One to three accidents to the bytes."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        at = chance.randrange(len(data) + 1)
        until = min(len(data), at + chance.choice((1, 1, 1, 2, 4, 16, 200)))
        match chance.randrange(6):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + data[until:]
            case 2:
                data = data[:until] + data[at:]
            case 3:
                data = data[:at] + chance.randbytes(until - at) + data[until:]
            case 4:
                flipped = bytes(one ^ (1 << chance.randrange(8)) for one in data[at : at + 1])
                data = data[:at] + flipped + data[at + 1 :]
            case _:
                piece = chance.choice(
                    (
                        b"\x00",
                        b"\xff",
                        b'"',
                        b"{",
                        b"[" * 3000,
                        b"9" * 40,
                        b"\\ud800",
                        b",",
                        b"\n",
                        b"PK\x01\x02",
                    )
                )
                data = data[:at] + piece + data[at:]
    return data


def tamper_json(data: bytes, chance: Random) -> bytes:
    """Another value, a key less, more or renamed, two values swapped, somewhere in it."""
    value = json.loads(data)
    places = list(_places(value))
    for _ in range(chance.choice((1, 1, 2))):
        holder, key = chance.choice(places)
        try:
            match chance.randrange(5):
                case 0 if isinstance(holder, dict):
                    holder.pop(key, None)
                case 1 if isinstance(holder, dict):
                    holder[chance.choice(("x", "", "name", "k", "seed"))] = holder.pop(key, 0)
                case 2:
                    other, place = chance.choice(places)
                    holder[key], other[place] = other[place], holder[key]
                case 3 if isinstance(holder, list):
                    holder.insert(key, holder[key])
                case _:
                    holder[key] = chance.choice(JUNK)
        except (KeyError, IndexError):
            continue
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError):  # a value that holds itself
        return b"{}"


def _places(value: object) -> Iterator[tuple[Any, Any]]:
    keys = (
        list(value)
        if isinstance(value, dict)
        else range(len(value))
        if isinstance(value, list)
        else ()
    )
    for key in keys:
        yield value, key
        yield from _places(value[key])


def tamper_arrays(data: bytes, chance: Random) -> bytes:
    """Another number, type or shape, an array less or renamed, or two swapped."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {name: file[name] for name in file.files}
    for _ in range(chance.choice((1, 1, 1, 2))):
        name = chance.choice(list(arrays))
        arrays[name] = _tamper_array(arrays[name], chance)
        match chance.randrange(12):
            case 0:
                del arrays[name]
            case 1:
                other = chance.choice(list(arrays))
                arrays[name], arrays[other] = arrays[other], arrays[name]
            case 2:
                arrays[chance.choice(("x", "node", "values.key"))] = arrays[name]
        if not arrays:
            break
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _tamper_array(array: np.ndarray[Any, Any], chance: Random) -> np.ndarray[Any, Any]:
    changed = np.array(array)
    numbers = FLOATS if changed.dtype.kind == "f" else EDGES
    match chance.randrange(10):
        case 0:
            return (
                changed[: chance.randrange(len(changed) + 1)]
                if changed.ndim
                else changed.reshape(1)
            )
        case 1:
            return (
                np.concatenate((changed, changed[: chance.randrange(1, 4)]))
                if changed.ndim
                else changed
            )
        case 2:
            return changed.reshape(-1) if chance.random() < 0.5 else changed[None]
        case 3:
            with np.errstate(all="ignore"):
                try:
                    return changed.astype(chance.choice(KINDS))
                except (TypeError, ValueError):
                    return changed.astype("U3")
        case 4 if changed.ndim:
            return changed[::-1]
        case _ if changed.size and changed.dtype.kind in "iufb":
            flat = changed.reshape(-1)
            for place in (chance.randrange(flat.size) for _ in range(chance.choice((1, 1, 3)))):
                near = (
                    int(flat[place]) + chance.choice((-1, 1)) if changed.dtype.kind in "iu" else 0.1
                )
                new = chance.choice(
                    (near, chance.choice(numbers), flat[chance.randrange(flat.size)])
                )
                whole = changed.dtype.kind in "iu"  # those wrap round
                flat[place : place + 1] = (
                    np.array([int(new) % 2**64], np.uint64) if whole else np.array([new])
                ).astype(changed.dtype)
    return changed


# --- The files, and what is done with each

Use = Callable[[Path], object]
"""Reads a folder whose file was tampered with, and uses what it finds; returns it in a form that can be compared."""


class Target:
    """A folder with a file to tamper with. fingerprint: whether another content than the first must be refused."""

    def __init__(
        self, folder: Path, file: str, use: Use, ways: tuple[Any, ...], *, fingerprint: bool = False
    ) -> None:
        self.folder, self.file, self.use, self.ways, self.fingerprint = (
            folder,
            file,
            use,
            ways,
            fingerprint,
        )
        self.data = (folder / file).read_bytes()
        self.truth = use(folder)

    def one_case(self, chance: Random) -> str:
        """Tamper with the file and use it: refused, the same, or other."""
        way = chance.choice(self.ways)
        (self.folder / self.file).write_bytes(data := way(self.data, chance))
        try:
            found = self.use(self.folder)
        except PdrmError as error:
            return (
                "refused"
                if len(str(error)) < LONGEST_MESSAGE
                else f"refused with {len(str(error)):,} characters"
            )
        finally:
            (self.folder / self.file).write_bytes(self.data)
        same = bool(data == self.data or found == self.truth)
        assert same or not (self.fingerprint and way is tamper_bytes), (
            f"other content was used: {found!r:.300}"
        )
        return "read as before" if same else "valid all the same"


SMALL = {"episodes": 30, "step_limit": 15, "test_every": 10, "test_episodes": 2}
AGENTS = (
    ("q", "letter", {"k": "1"}),
    ("cprm", "letter", {"k": "full", "updates_per_step": 5}),
    ("cprm", "maze-5x5", {"k": "2", "counterfactuals": "co-observed"}),
    ("cra-cql", "letter", {}),
    ("hrm", "deliver-8", {"k": "2"}),
)
BOTH = (tamper_bytes, tamper_arrays, tamper_arrays, tamper_arrays)
RECORD = (tamper_bytes, tamper_json, tamper_json)


def targets(place: Path, *, deep: bool) -> list[Target]:
    """Every kind of file."""
    found: list[Target] = []
    for number, (name, domain, settings) in enumerate(AGENTS):
        task = Task(domain)
        spec = RunSpec(task, agent_for(task, name, {**SMALL, **settings}), 0)
        found += _of_a_run(place / f"run{number}", spec)
    if deep:
        for name, settings in (
            ("ppo", {"n_steps": 4}),
            ("dqn", {"buffer_size": 40, "learning_starts": 4}),
        ):
            sizes = {
                "total_timesteps": 64,
                "test_every": 16,
                "n_envs": 2,
                "net_arch": (4,),
                "batch_size": 8,
                "depth": 8,
            }
            spec = RunSpec(Task("echo"), agent_for(Task("echo"), name, {**sizes, **settings}), 0)
            found += _of_a_run(place / name, spec)
    return found + _others(place)


def _of_a_run(folder: Path, spec: RunSpec) -> list[Target]:
    """The files of a run that was stopped half way, and of the same run when it is done."""
    half, done = folder / "half", folder / "done"
    for one in (half, done):
        one.mkdir(parents=True)
    learner = run_loop.make_learner([spec])
    learner.advance(learner.between_tests)
    tests = [learner.test()]
    run_loop._save_checkpoints([(spec, half)], learner, tests)
    run_loop.execute([spec], [done])
    resume = _go_on_deep if spec.agent.deep else _go_on
    kinds = [
        Target(half, run_loop.CHECKPOINT, partial(resume, spec, learner), BOTH),
        Target(done, run_loop.SPEC, lambda at: run_loop.read_spec(at).record(), RECORD),
        Target(done, run_loop.RESULT, lambda at: run.Run(spec, at).result, RECORD),
        Target(done, run_loop.TIMING, lambda at: run.Run(spec, at).timing, RECORD),
        Target(
            done,
            run_loop.CURVE,
            lambda at: run.Run(spec, at).curve.text(),
            (tamper_bytes,),
            fingerprint=True,
        ),
        Target(done, "policy.json", partial(_play, spec), RECORD),
        Target(done, run_loop.POLICY, partial(_play, spec), BOTH, fingerprint=not spec.agent.deep),
    ]
    if not spec.agent.deep:
        kinds.append(
            Target(done, run_loop.POLICY, partial(_play, spec, resealed=True), (tamper_arrays,))
        )
    return kinds


def _go_on(spec: RunSpec, _learner: Learner, folder: Path) -> object:

    learner = run_loop.make_learner([spec])
    run_loop._checkpointed(folder)
    (tests,) = run_loop._resume(learner, [folder])
    learner.advance(3)
    (test,) = learner.test()
    return (
        [one.returns.tolist() for one in tests],
        test.returns.tolist(),
        learner.snapshot(0)["ints"].tolist(),
    )


def _go_on_deep(_spec: RunSpec, learner: Learner, folder: Path) -> object:
    """Compiled programs belong to a learner: it is put back again and again."""
    run_loop._checkpointed(folder)
    (tests,) = run_loop._resume(learner, [folder])
    if learner.done < learner.total:
        learner.advance(1)
    (test,) = learner.test()
    return [one.returns.tolist() for one in tests], test.returns.tolist()


def _play(spec: RunSpec, folder: Path, *, resealed: bool = False) -> object:
    """Load the policy and play an episode. resealed: with the fingerprint that the arrays have now."""
    beside = folder / "policy.json"
    before = beside.read_bytes()
    try:
        if resealed:
            new = {
                **json.loads(before),
                "sha256": sha256((folder / POLICY).read_bytes()).hexdigest(),
            }
            beside.write_text(json.dumps(new))
        if spec.agent.deep:
            policy: Any = Run(spec, folder).policy
            return [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(policy.network)]
        episode = Run(spec, folder).episode(0)
        return [(moment.state, moment.action, moment.reward) for moment in episode], Run(
            spec, folder
        ).policy.digest()
    finally:
        if resealed:
            beside.write_bytes(before)


def _others(place: Path) -> list[Target]:
    """Studies, caches, certificates, domains and machines."""
    place.mkdir(exist_ok=True)
    map_text = "step_limit 9\nplace k key\n#####\n#@.k#\n#####\n"
    (place / "map.txt").write_text(map_text)
    domain_files.save_domain(domain_files.load_domain(place / "map.txt"), place / "map.npz")
    task = "events key\nstack #\nstart go\nfinal done\notherwise stay 0\ngo -> done : key, z / z, 1"
    text = (
        "name = 'small'\nseeds = [1, 2]\nsettings = { episodes = 20, test_every = 10, step_limit = 9 }\n[[panels]]\n"
        "domain = 'letter'\ntitle = 'Letters'\nsuccess = ['u2']\n[[panels.agents]]\nagent = 'q'\nk = 1\n"
        "gigabytes = 0.5\nseconds = 1\n[[panels.agents]]\nagent = 'cprm'\nsettings = { learning_rate = 0.3 }\n"
    )
    (place / "study.toml").write_text(text)
    asked = study_file.load_study(place / "study.toml")
    (place / "runs").mkdir(exist_ok=True)
    study.save_studies([asked], place, Store.below(place))
    fact_cache.read_or_find(
        place / "facts.json", {"k": 1}, lambda: {"sizes": [1, 2, 3], "k": {"a": 0.5}}
    )
    pdrm.check_k("paint", k=[5]).certificate(5, "start").save(place / "proof.json")
    paint, echo = Task("paint"), Task("echo")
    proof = (every := EveryStack.of(echo, 0.99)) and every.prove("everywhere", 1)
    assert proof is not None
    proof.save(place / "stacks.json")
    (place / "maze.pdrm").write_text(catalogue_text("treasure-maze"))
    (place / "maze.json").write_text(to_json(catalogue("treasure-maze")))
    (place / "letter.json").write_text(to_json(catalogue("letter-counting")))

    def learn_in(file: str, at: Path) -> object:
        there = domain_files.load_domain(at / file)
        if there.states * len(there.actions) > 10_000:
            return there.states
        few = {"episodes": 3, "test_every": 3, "test_episodes": 1, "step_limit": 9}
        return train(Task(there, task), "q", progress=False, **few).curve.text()

    def judge(at: Path) -> object:
        check_certificate(paint.finite, paint.pushdown, load_certificate(at / "proof.json"))
        return True

    def judge_stacks(at: Path) -> object:
        check_certificate(echo.finite, echo.pushdown, load_certificate(at / "stacks.json"))
        return True

    def facts(at: Path) -> object:
        return fact_cache.read_or_find(
            at / "facts.json", {"k": 1}, lambda: {"sizes": [1, 2, 3], "k": {"a": 0.5}}
        )

    def read_study(at: Path) -> object:
        return [spec.id for *_, spec in study_file.load_study(at / "study.toml").runs()]

    def read_studies(at: Path) -> object:
        return [
            [spec.id for *_, spec in one.runs()] for one in study.load_studies(at, Store.below(at))
        ]

    return [
        Target(place, "study.toml", read_study, (tamper_bytes,)),
        Target(place, "studies.json", read_studies, RECORD),
        Target(place, "facts.json", facts, RECORD, fingerprint=True),
        Target(place, "proof.json", judge, RECORD),
        Target(place, "stacks.json", judge_stacks, RECORD),
        Target(place, "map.npz", partial(learn_in, "map.npz"), BOTH),
        Target(place, "map.txt", partial(learn_in, "map.txt"), (tamper_bytes,)),
        Target(place, "maze.pdrm", lambda at: to_text(load(at / "maze.pdrm")), (tamper_bytes,)),
        Target(place, "maze.json", lambda at: to_text(load(at / "maze.json")), RECORD),
        Target(place, "letter.json", lambda at: to_text(load(at / "letter.json")), RECORD),
    ]


# --- The child


@contextmanager
def _limits() -> Iterator[None]:
    """Some memory more than now for all cases."""
    now = (
        int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        * resource.getpagesize()
    )
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, hard))
    yield


def _too_long(_number: int, _frame: object) -> None:
    raise AssertionError(f"it took more than {SECONDS} s")


def main(seed: int, cases: int, *, deep: bool) -> None:
    """Tamper with files, say before each case which it is, and count what became of them."""
    place, counts = Path(mkdtemp()), Counter[str]()
    try:
        found = targets(place, deep=deep)
        signal.signal(signal.SIGPROF, _too_long)
        with _limits():
            for case in range(cases):
                chance = Random(f"{seed}-{case}")
                target = chance.choice(found)
                print(
                    f"seed {seed}, case {case}: {target.folder.relative_to(place)}/{target.file}",
                    flush=True,
                )
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                counts[target.one_case(chance)] += 1
                signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(json.dumps({"cases": cases, **counts}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), deep="deep" in sys.argv[3:])
