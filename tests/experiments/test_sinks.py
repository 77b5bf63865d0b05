"""Logging: the tools read the evaluations of the run, and are loaded only on request."""

import json
import struct
import subprocess
import sys

import pytest
import wandb
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray
from wandb.proto.wandb_internal_pb2 import Record

from pdrm import lazy
from pdrm.errors import BadSetting, MissingPackage
from pdrm.learning.run import train
from pdrm.learning.sinks import TensorBoard, WeightsAndBiases

NAMES = [
    "test/return",
    "test/return_lowest",
    "test/steps",
    "train/epsilon",
    "train/rows",
    "train/steps",
]


def run(agent, log):
    return train("maze-5x5", agent, k=1, episodes=60, test_every=20, test_episodes=5, watch=log)


def from_tensorboard(folder):
    reader = EventAccumulator(str(folder))
    reader.Reload()
    tags = reader.Tags()["tensors"]
    return {
        tag: [(e.step, float(make_ndarray(e.tensor_proto))) for e in reader.Tensors(tag)]
        for tag in tags
    }


@pytest.mark.parametrize("agent", ["q", "cprm", "hrm"])
def test_tensorboard_reads_the_evaluations(agent, tmp_path):
    with TensorBoard(tmp_path / "log") as log:
        curve = run(agent, log).curve
    found = from_tensorboard(tmp_path / "log")
    assert sorted(found) == NAMES
    paid = curve.returns.mean(axis=1).tolist()
    assert found["test/return"] == [
        (at, pytest.approx(one)) for at, one in zip(curve.at, paid, strict=True)
    ]
    assert found["train/rows"][-1][1] > 10


def records(data):
    """The records of a file: 7 bytes, then blocks of 32 KiB. A record has a checksum, a length, a part number and bytes."""
    place, parts = 7, []
    while place + 7 <= len(data):
        _, length, part = struct.unpack("<IHB", data[place : place + 7])
        if part:
            parts.append(data[place + 7 : place + 7 + length])
            if part in (1, 4):  # whole, or the last part
                yield b"".join(parts)
                parts = []
        place += 7 + length
        rest = 2**15 - place % 2**15
        place += rest if rest < 7 or not part else 0


def from_wandb(folder):
    wandb.teardown()  # its own process writes the file, and may still be at it when a run has finished
    (file,) = folder.glob("wandb/offline-run-*/*.wandb")
    rows = []
    for data in records(file.read_bytes()):
        record = Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            rows.append(
                {
                    item.key or ".".join(item.nested_key): json.loads(item.value_json)
                    for item in items
                }
            )
    return rows


def test_wandb_stores_the_evaluations(tmp_path):
    (tmp_path / "log").mkdir()
    with WeightsAndBiases(
        "p", mode="offline", dir=str(tmp_path / "log"), settings={"silent": True}
    ) as log:
        curve = run("q", log).curve
    rows = from_wandb(tmp_path / "log")
    assert [(row["_step"], row["test/return"]) for row in rows] == list(
        zip(curve.at, curve.returns.mean(axis=1), strict=True)
    )
    assert set(NAMES) <= set(rows[0])


def test_a_missing_tool_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(
        lazy, "import_module", lambda name: (_ for _ in ()).throw(ImportError(name))
    )
    with pytest.raises(MissingPackage) as caught:
        TensorBoard(tmp_path)
    assert "fix: pip install tensorboard" in str(caught.value)


def test_an_unknown_tool_is_refused(tmp_path):
    with pytest.raises(BadSetting) as caught:
        train("letter", "q", episodes=10, folder=tmp_path, log="tensorbord")
    assert "tensorboard" in str(caught.value)


def test_logging_tools_are_loaded_on_request():
    code = "import sys, pdrm.learning.sinks; print([m for m in ('tensorboard', 'wandb') if m in sys.modules])"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_train_logs_to_the_requested_tool(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train = ("train", "maze-5x5", "--episodes", 200, "--set", "test_every=100", "--log")
    assert pdrm(*train, "tensorbord").code == 2
    assert not (tmp_path / "runs").exists()
    assert pdrm(*train, "tensorboard").code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    assert [episode for episode, _ in from_tensorboard(folder)["test/return"]] == [100, 200]
    files = sorted(folder.iterdir())
    assert pdrm(*train, "tensorboard").code == 0  # done before: nothing is left to log
    assert sorted(folder.iterdir()) == files
