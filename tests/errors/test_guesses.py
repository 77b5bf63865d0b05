"""What a fix guesses at: words and files that are spelled alike, runs that are there, and nothing that is not."""

import pytest

import pdrm
from pdrm.errors import choose_shell

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
    assert fix_of(lambda: pdrm.Run.load(tmp_path / "mine")).startswith(
        f"name a run that is there, the last one: {tmp_path}/letter-q-1-seed6"
    )
    typo = str(next(tmp_path.iterdir())).replace("letter", "leter")
    assert fix_of(lambda: pdrm.Run.load(typo)).startswith("did you mean ")


def test_a_text_that_is_a_number_is_answered_with_the_number():
    run = pdrm.train("letter", "q", episodes=100)
    for call, fix in (
        (lambda: pdrm.train("letter", seed="a"), "seed=0"),
        (lambda: pdrm.train("letter", seed="7"), "seed=7"),
        (lambda: pdrm.train("letter", seed=[1, 2]), "seeds=[1, 2], for several runs"),
        (lambda: pdrm.PPO(net_arch=64), "set net_arch=(64, 64) (--set net_arch=64,64)"),
        (lambda: pdrm.PPO(net_arch="32,16"), "set net_arch=(32, 16) (--set net_arch=32,16)"),
        (lambda: pdrm.CpRM(episodes="1000"), "set episodes=1000 (--episodes 1000)"),
        (lambda: pdrm.CpRM(learning_rate="5"), "set learning_rate=0.5 (--learning-rate 0.5)"),
        (lambda: pdrm.DQN(learning_rate="3e-4"), "set learning_rate=0.0003 (--set learning_rate=0.0003)"),
        (lambda: run.evaluate("100"), "episodes=100"),
    ):
        assert fix_of(call) == fix
    assert choose_shell(fix_of(lambda: pdrm.PPO(net_arch=64))) == "set --set net_arch=64,64"


def test_what_stands_in_the_wrong_place():
    world = pdrm.domains.grid_domain("hall", "@.k", {"k": "sock"})
    task = MACHINE.format("", "sock")
    assert fix_of(lambda: pdrm.Task(world, task, "b")) == "name the others: Task(…, success='b')"
    assert "comes second" in fix_of(lambda: pdrm.Task(task, world))
    assert fix_of(lambda: pdrm.Study("letter", "q").run(seeds=3)) == "it is one of the study's: pdrm.Study(…, seeds=3)"
    assert fix_of(lambda: pdrm.Study("letter", "q", seeds=[0, 4, 0])) == "leave one out: seeds=[0, 4]"
    short = lambda: pdrm.domains.grid_domain("hall", "@.k", {"k": "sock"}, max_steps=3)  # noqa: E731 - called twice
    assert fix_of(short) == "it is called `step_limit` here"
    with pytest.raises(pdrm.PdrmError, match="`grid_domain` has no argument"):
        short()
    with pytest.raises(pdrm.PdrmError, match="4 characters and most have 5") as caught:
        pdrm.domains.parse_map("####\n#@..#\n#####")
    assert caught.value.where.line == 1


def test_entries_and_columns_that_are_misspelt():
    run = pdrm.train("letter", "q", episodes=100)
    rows, found = run.policy.table(), run.evaluate(episodes=3)
    assert rows["stack"] == [row.stack for row in rows]
    assert found.mean_return == found["mean_return"]
    for call, fix in (
        (lambda: rows["stak"], "did you mean `stack`?"),
        (lambda: found["succes"], "did you mean `success`?"),
    ):
        assert fix_of(call) == fix
        with pytest.raises(KeyError):
            call()
    assert "rows.frame().to_csv" in fix_of(lambda: rows.to_csv)
    assert not hasattr(found, "succes")
    assert "discounted by 0.99" in found._repr_html_()
