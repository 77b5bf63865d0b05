"""The deep bench: what it needs to run, what it compares, and how it splits the time."""

import subprocess
import sys

from benchmarks.deep import (
    water_product,
    water_task,
)

NOT_THERE = ("joblib", "matplotlib", "PIL", "pygraphviz", "torch", "stable_baselines3")


def test_it_can_be_recorded_where_little_is_installed():
    """As on a GPU machine that has JAX and hardly more."""
    script = f"""
import sys
sys.modules.update(dict.fromkeys({NOT_THERE}))
from benchmarks import deep
from benchmarks.__main__ import main
deep.bench_deep = lambda *_: [{{"figure": 1.0}}]
sys.argv = ["benchmarks", "deep", "--json"]
raise SystemExit(main())
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_both_sides_see_the_same():
    product, peer = water_product(), water_task()
    assert peer.observation_space.shape == (product.observation_size,)
    assert peer.action_space.n == product.domain.actions
