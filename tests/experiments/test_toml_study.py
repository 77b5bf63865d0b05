"""Studies from files, and the errors of invalid files."""

import pytest

import pdrm
from pdrm.errors import BadStudy, CannotOpen, PdrmError
from pdrm.experiments.study_file import load_study

GOOD = """\
name = "mine"
title = "A study"
seeds = [3, 5]
settings = { episodes = 200 }

[[panels]]
domain = "letter"
success = "u2"

[[panels.agents]]
name = "1-pdRM"
agent = "q"
k = 1

[[panels.agents]]
agent = "cra-q"
settings = { learning_rate = 0.5 }

[[panels]]
name = "own"
domain = "rooms.txt"
machine = "task.pdrm"
[panels.settings]
episodes = 50
[[panels.agents]]
agent = "cprm"
k = "full"
colour = "red"
"""
TASK = "name task\nevents key\nstack #\nstart go\nfinal done\notherwise stay 0\ngo -> done : key, z / z, 1\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with your own domain and machine."""
    rooms = pdrm.domains.grid_domain(
        "rooms",
        pdrm.domains.parse_map("#####\n#@.k#\n#####", places="@k", start="@"),
        {"k": "key"},
        step_limit=20,
    )
    pdrm.domains.save_domain(rooms, tmp_path / "rooms.npz")
    (tmp_path / "task.pdrm").write_text(TASK)
    return tmp_path


def written(folder, text):
    path = folder / "study.toml"
    path.write_text(text)
    return path


def test_a_panel_has_the_name_in_its_map(folder):
    """Not the file's name, and with the machine if two maps have the same name."""
    panel = '[[panels]]\ndomain = "{}.txt"\nmachine = "{}.pdrm"\nagents = [{{ agent = "q" }}]\n{}'
    (folder / "map.txt").write_text("name garden\nplace k key\n#####\n#@.k#\n#####\n")
    (folder / "other.pdrm").write_text(TASK.replace("name task", "name other"))
    for panels, names in (
        ([("task", "")], ["garden"]),
        ([("task", 'name = "mine"\n')], ["mine"]),
        ([("task", ""), ("other", "")], ["task, garden", "other, garden"]),
    ):
        text = 'name = "s"\n' + "".join(panel.format("map", *one) for one in panels)
        assert [one.name for one in load_study(written(folder, text)).panels] == names


def test_a_study_has_the_content_of_its_file(folder):
    study = load_study(written(folder, GOOD.replace("rooms.txt", "rooms.npz")))
    assert (study.name, study.title, study.seeds) == ("mine", "A study", (3, 5))
    letter, own = study.panels
    assert (letter.name, letter.task.success) == ("letter", ("u2",))
    assert [(line.name, line.agent, line.k) for line in letter.lines] == [
        ("1-pdRM", "q", 1),
        ("cra-q full", "cra-q", "full"),
    ]
    specs = [spec for _, _, spec in study.runs()]
    assert [(spec.seed, spec.agent.episodes, spec.agent.learning_rate) for spec in specs] == [
        *((seed, 200, rate) for rate in (0.01, 0.5) for seed in (3, 5)),
        *((seed, 50, 0.5) for seed in (3, 5)),
    ]
    assert own.task.machine == pdrm.parse(TASK)
    assert own.lines[0].key == "red"
    assert specs[-1].task.finite.states == 3
    assert own.task.success == ("done",)


def test_a_python_file_sets_study(tmp_path):
    path = tmp_path / "study.py"
    path.write_text(
        "import pdrm\n"
        "lines = tuple(pdrm.experiments.AgentLine(name=f'{k}-pdRM', agent='q', k=str(k)) for k in range(3))\n"
        "STUDY = pdrm.Study(name='views', panels=(pdrm.experiments.Panel(name='echo', domain='echo', lines=lines),), seeds=(0,))\n"
    )
    assert [line.k for line in load_study(path).panels[0].lines] == ["0", "1", "2"]
    for text, told in (
        ("x = 1", "not set STUDY"),
        ("1 / 0", "ZeroDivisionError"),
        ("STUDY = (", "SyntaxError"),
    ):
        path.write_text(text)
        with pytest.raises(BadStudy, match=told):
            load_study(path)


@pytest.mark.parametrize(
    ("good", "bad", "line", "told"),
    [
        ('name = "mine"', 'name = "mine', 1, "invalid TOML"),
        ("seeds = [3, 5]", "seeds = [3, 3]", 3, "seeds"),
        ("seeds = [3, 5]", "seeds = 0", 3, "seeds"),
        ("seeds = [3, 5]", 'seeds = ["a"]', 3, "seeds"),
        ("seeds = [3, 5]", "seeds = true", 3, "seeds is True"),
        ("seeds = [3, 5]", "seed = [3, 5]", 3, "no such key"),
        ('title = "A study"', "title = 7", 2, "title is 7"),
        ('success = "u2"', 'sucess = "u2"', 8, "panels[1].sucess"),
        ('domain = "letter"', 'domain = "lettr"', 7, "lettr"),
        ('domain = "letter"', "", 6, "panels[1] has no `domain`"),
        ('agent = "q"', 'agent = "qq"', 12, "qq"),
        ("seeds = [3, 5]", "seeds = 99999999999", 3, "`seeds` is 99999999999"),
        ('machine = "task.pdrm"', 'machine = "letterr"', 22, "letterr"),
        ("k = 1", "k = -1", 13, "`k` is -1"),
        ("k = 1", 'k = "all"', 13, "`k` is 'all'"),
        ("k = 1", "k = 1.5", 13, "panels[1].agents[1].k is 1.5"),
        (
            "settings = { learning_rate = 0.5 }",
            "settings = { learning_rate = 5 }",
            17,
            "learning_rate",
        ),
        ("settings = { learning_rate = 0.5 }", "settings = { rate = 5 }", 17, "rate"),
        ('machine = "task.pdrm"', 'machine = "no.pdrm"', 22, "no.pdrm"),
        (
            'machine = "task.pdrm"',
            'machine = "task.pdrm"\nsuccess = "dome"',
            23,
            "`dome` is not a final state",
        ),
        ('success = "u2"', 'success = "u7"', 8, "`u7` is not a final state"),
        ('name = "1-pdRM"', 'name = "cra-q full"', 7, "lines of panel"),
        ("[[panels.agents]]\nname", "[[panels.agent]]\nname", 10, "no such key"),
    ],
)
def test_an_error_has_its_line(good, bad, line, told, folder):
    text = GOOD.replace("rooms.txt", "rooms.npz")
    assert good in text
    with pytest.raises(PdrmError) as raised:
        load_study(written(folder, text.replace(good, bad, 1)))
    error = raised.value
    assert told in error.message
    assert error.fix
    assert (error.where.file, error.where.line) == (str(folder / "study.toml"), line)


def test_an_error_in_a_machine_names_its_file(folder):
    (folder / "task.pdrm").write_text(TASK.replace("go -> done", "go => done"))
    with pytest.raises(PdrmError) as raised:
        load_study(written(folder, GOOD.replace("rooms.txt", "rooms.npz")))
    assert (raised.value.where.file, raised.value.where.line) == (str(folder / "task.pdrm"), 7)


@pytest.mark.parametrize(
    "text", ["", "name = 'a'", "panels = 3", "panels = [3]", "[[panels]]\ndomain = 'letter'\n"]
)
def test_an_incomplete_study_is_refused(text, tmp_path):
    with pytest.raises(BadStudy) as raised:
        load_study(written(tmp_path, text))
    assert raised.value.fix


def test_files_that_are_not_studies_are_refused(tmp_path):
    for name in ("none.toml", "none.py"):
        with pytest.raises(CannotOpen):
            load_study(tmp_path / name)
    with pytest.raises(BadStudy):
        load_study(tmp_path / "study.json")
    (tmp_path / "bytes.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(PdrmError, match="UTF-8"):
        load_study(tmp_path / "bytes.toml")


FULL = """\
name = "mine"
seeds = 1
settings = { episodes = 60, test_every = 20 }
[[panels]]
domain = "maze-5x5"
success = "home"
[[panels.agents]]
name = "a"
agent = "q"
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "why"),
    [
        ('"home"', '"hom"', 6, "`hom` is not a final state of machine `treasure-maze`"),
        ("episodes = 60", "episods = 60", 3, "no setting `episods`"),
        ('"maze-5x5"', '"key.txt"', 5, "key.txt cannot be opened"),
        ('agent = "q"', 'agent = "ppo"', 3, "agent `ppo` has no setting `episodes`"),
        ('name = "a"', 'settings = { epsilon = "much" }', 8, "epsilon"),
    ],
)
def test_an_error_has_its_location(tmp_path, old, new, line, why):
    path = tmp_path / "study.toml"
    path.write_text(FULL)
    assert load_study(path).name == "mine"
    path.write_text(FULL.replace(old, new))
    with pytest.raises(PdrmError, match=why) as raised:
        load_study(path)
    assert raised.value.where.line == line


STUDY = 'name = "{name}"\nseeds = 1\n[[panels]]\ndomain = "letter"\n[[panels.agents]]\nagent = "q"\n{line}\n'


@pytest.mark.parametrize(
    ("name", "line"),
    [
        *(("../../x", ""), ("/x/y", ""), ("", ""), ("..", ""), ("x" * 300, "")),
        ("x", "settings = { episodes = [3] }"),
    ],
)
def test_invalid_values(name, line, tmp_path):
    (tmp_path / "s.toml").write_text(STUDY.format(name=name, line=line))
    with pytest.raises(PdrmError):
        load_study(tmp_path / "s.toml")


def test_huge_counts_and_values_that_are_not_numbers(folder):
    panel = "[[panels]]\ndomain = 'letter'\n[[panels.agents]]\nagent = 'q'\n"
    for text, why in [
        ("a" + ".a" * 5_000 + " = 1\n", "no such key"),
        ("# " + "x" * 2**18, "more than 262,144 bytes"),
        (f"seeds = [1.5]\n{panel}", "`seeds` is"),
        (f"seeds = [true]\n{panel}", "`seeds` is"),
        (f"{panel}k = '\u0661'", "non-negative integer"),
    ]:
        with pytest.raises(PdrmError, match=why) as caught:
            load_study(written(folder, text))
        assert caught.value.where
