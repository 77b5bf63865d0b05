"""Catalogue names and files: the same rule for machines and domains, in Python, commands and studies."""

from pathlib import Path

import pytest

from pdrm.domains import find_domain
from pdrm.errors import CannotOpen, UnknownDomain, UnknownMachine
from pdrm.experiments.study_file import load_study
from pdrm.task import pushdown_machine

TASK = "name own\nevents key\nstack #\nstart go\nfinal done\notherwise stay 0\ngo -> done : key, z / z, 1\n"
ROOMS = "name own\nplace k key\n#####\n#@.k#\n#####\n"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_catalogue_name_wins_over_a_file_and_a_dot_selects_the_file(here, pdrm):
    for text, find in ((TASK, pushdown_machine), (ROOMS, find_domain)):
        (here / "letter").write_text(text)
        assert find("letter").name == "letter"
        assert find("./letter").name == "own"
        assert find(Path("letter")).name == "own"
        assert find(str(here / "letter")).name == "own"
    (here / "letter").write_text(TASK)
    assert pdrm("check", "letter").out.startswith("letter: ok")
    assert pdrm("check", "./letter").out.startswith("own: ok")


def test_a_misspelt_name_is_an_unknown_name(here, pdrm):
    (here / "lettr").mkdir()
    with pytest.raises(UnknownMachine, match="did you mean `letter`"):
        pushdown_machine("lettr")
    with pytest.raises(UnknownDomain, match="did you mean `letter`"):
        find_domain("lettr")
    assert "did you mean `letter`" in pdrm("check", "lettr").err
    for find in (pushdown_machine, find_domain):
        for word in ("./letter", Path("letter"), "no/letter"):
            with pytest.raises(CannotOpen):
                find(word)


STUDY = 'name = "s"\nseeds = 1\n[[panels]]\nmachine = "task.pdrm"\ndomain = "{}"\n[[panels.agents]]\nagent = "q"\n'


def test_a_study_finds_its_domain_next_to_its_file(here):
    folder = here / "study"
    (folder / "maps").mkdir(parents=True)
    for place in ("rooms", "maps/rooms", "maps/rooms.txt"):
        (folder / place).write_text(ROOMS)
    (folder / "task.pdrm").write_text(TASK)
    for word in ("maps/rooms", "rooms", "maps/rooms.txt"):
        (folder / "study.toml").write_text(STUDY.format(word))
        panel = load_study(folder / "study.toml").panels[0]
        assert Path(panel.domain) == folder / word
        assert panel.task.finite.name == "own"


def test_a_study_does_not_use_the_working_folder(here):
    (here / "rooms").write_text(ROOMS)
    folder = here / "study"
    folder.mkdir()
    (folder / "task.pdrm").write_text(TASK)
    for word, error in (("rooms", CannotOpen), ("lettr", UnknownDomain)):
        (folder / "study.toml").write_text(STUDY.format(word))
        with pytest.raises(error):
            load_study(folder / "study.toml")
