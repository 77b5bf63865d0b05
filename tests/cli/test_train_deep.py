"""Training deep agents from the shell: what is written, and what is refused."""

import json

import pytest

from pdrm.cli.train_deep import train_deep
from pdrm.errors import BadSetting

TINY = ["n_envs=4", "n_steps=16", "batch_size=32", "n_epochs=2", "net_arch=8,8", "linear_decay=true"]


def test_it_trains_and_writes_a_curve_and_policies(tmp_path, capsys):
    train_deep("echo", "ppo", None, 2, None, 128, TINY, tmp_path, as_json=True)
    printed = json.loads(capsys.readouterr().out)
    (folder,) = tmp_path.iterdir()
    assert printed["folder"] == str(folder)
    assert {file.name for file in folder.iterdir()} == {
        "spec.json",
        "curve.csv",
        *(f"policy-seed{seed}.{kind}" for seed in (0, 1) for kind in ("npz", "json")),
    }
    assert json.loads((folder / "spec.json").read_text())["settings"]["net_arch"] == [8, 8]


@pytest.mark.parametrize("word", ["n_env=4", "n_envs", "n_envs=many", "linear_decay=perhaps"])
def test_wrong_settings_are_refused(tmp_path, word):
    with pytest.raises(BadSetting):
        train_deep("echo", "ppo", None, 1, None, 128, [word], tmp_path, as_json=True)
    assert not list(tmp_path.iterdir())
