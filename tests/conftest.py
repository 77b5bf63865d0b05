"""What the tests share: the `pdrm` command run in this process."""

import gc
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# XLA's pool of threads for the processor can stall on machines with few cores; and the tests run so few steps that optimising
# what is compiled takes longer than it saves. A step of PPO compiles in 3.9 s of processor time with fusion emitters, in 1.0 s without.
QUICKLY_COMPILED = " ".join(
    (
        "--xla_cpu_multi_thread_eigen=false",
        "--xla_backend_optimization_level=0",
        "--xla_llvm_disable_expensive_passes=true",
        "--xla_cpu_use_fusion_emitters=false",
        "--xla_cpu_parallel_codegen_split_count=1",
    )
)
os.environ.setdefault("XLA_FLAGS", QUICKLY_COMPILED)

# The threads of PyTorch, two for each worker, would wait for each other most of the time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What JAX compiled once is read back the next time, in workers, in processes that tests start, and when the tests are run again.
COMPILED = Path(__file__).parent.parent / ".cache" / "compiled"
MAX_COMPILED = 500 * 2**20
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    if COMPILED.exists() and sum(file.stat().st_size for file in COMPILED.iterdir()) > MAX_COMPILED:
        shutil.rmtree(COMPILED)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(COMPILED)
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# How long data takes to generate says more about the machine than about the tests.
settings.register_profile("pdrm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pdrm")

# By default Python looks for cycles after every 700 new objects, and through everything that lives every few hundred thousand: with
# JAX, PyTorch and two thousand tests in memory, that is a tenth of the time. Files that nobody closed are still noticed.
gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish():
    """Leave the modules and the tests, which live to the end, out of every later look for cycles."""
    gc.collect()
    gc.freeze()


SLOW = (
    *(
        "tests/learning/",
        "tests/test_",
        "tests/properties/",
        "tests/pages/",
        "tests/experiments/",
    ),
    *("tests/cli/", "tests/analysis/", "tests/product/"),
)


def pytest_collection_modifyitems(items):
    """Begin with the chapters whose files take longest, so that no worker is left with one of them at the end."""
    items.sort(
        key=lambda item: next(
            (at for at, begin in enumerate(SLOW) if item.nodeid.startswith(begin)), len(SLOW)
        )
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def pdrm(capsys, monkeypatch):
    """Run `pdrm ARGUMENTS` as the shell would."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "160")

    def run(*arguments: object) -> Outcome:
        from pdrm.cli.main import main

        monkeypatch.setattr(sys, "argv", ["pdrm", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        return Outcome(code if isinstance(code, int) else 0, printed.out, printed.err)

    return run
