"""What a fix guesses at: words and files that are spelled alike, runs that are there, and nothing that is not."""

import pytest

import pdrm

MACHINE = "events sock{}\nstack #\nstart a\nfinal b\notherwise stay 0\na -> b : {}, # / #, 1"


def fix_of(call):
    with pytest.raises(pdrm.PdrmError) as caught:
        call()
    return caught.value.fix


def test_an_event_that_is_not_declared():
    assert fix_of(lambda: pdrm.parse(MACHINE.format("", "shoe"))) == "add `shoe` to the `events` line"
    assert fix_of(lambda: pdrm.parse(MACHINE.format("", "sok"))).startswith("did you mean `sock`?")
    machine = pdrm.parse(MACHINE.format("", "sock"))
    assert fix_of(lambda: machine.run([{"shoe"}])) == "add `shoe` to the machine's `events` line"


def test_a_file_that_is_spelled_alike(tmp_path):
    (tmp_path / "flat.txt").write_text("#####\n#@..#\n#####")
    (tmp_path / "other.pdrm").write_text(MACHINE.format("", "sock"))
    assert fix_of(lambda: pdrm.load_domain(tmp_path / "flatt.txt")) == f"did you mean {tmp_path / 'flat.txt'}?"
    assert fix_of(lambda: pdrm.load(tmp_path / "dress.pdrm")) == "check the path and its permissions"
    assert fix_of(lambda: pdrm.Task(tmp_path / "flat.txt")) == 'give one: machine="task.pdrm" (--machine task.pdrm)'


def test_what_says_how_long_to_train():
    assert "total_timesteps=" in fix_of(lambda: pdrm.Study("letter", "ppo", settings={"episodes": 9}))
    assert "episodes=" in fix_of(lambda: pdrm.QLearning(total_timesteps=9))
    assert "exploration_initial_eps" in fix_of(lambda: pdrm.DQN(epsilon=0.5))


def test_a_folder_of_runs_lists_the_last(tmp_path):
    for seed in range(7):
        pdrm.train("letter", "q", episodes=1, test_every=1, seed=seed, folder=tmp_path)
    said = fix_of(lambda: pdrm.learning.Run.load(tmp_path))
    assert said.count("letter-q-1-seed") == 5
    assert said.endswith(", and 2 more)")
