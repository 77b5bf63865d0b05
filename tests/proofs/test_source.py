"""The digest of a proof's source: it sees every change it should, and no other."""

import json

import pytest

from proofs.checked import Checked
from proofs.promises import PROOFS
from proofs.record import Record, fresh_record, load, missing, save
from proofs.source import COMPILED, ROOT, Sources
from tests.proofs.checks import proof

FILES = {
    "proofs/first.py": "from pdrm.machines.step import step\nfrom proofs import shared, unknown\n",
    "proofs/shared.py": "x = 1\n",
    "proofs/display.py": "x = 1\n",
    "src/pdrm/machines/step.py": "    from pdrm.errors import Fault\n",
    "src/pdrm/machines/catalogue/letter.pdrm": "name letter\n",
    "src/pdrm/errors/message.py": "x = 1\n",
    "src/pdrm/learning/agent.py": "from pdrm.machines.step import step\n",
    "src/pdrm/cli/main.py": "x = 1\n",
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def digest(root, **changes):
    return Sources(root).digest(proof("first", check="proofs.first:check", **changes))


@pytest.mark.parametrize("name", FILES)
def test_it_sees_what_the_proof_depends_on(name, root):
    before, with_command = digest(root), digest(root, also=("cli",))
    (root / name).write_text(FILES[name] + "\n# changed\n")
    unseen = ("proofs/display.py", "src/pdrm/learning/agent.py", "src/pdrm/cli/main.py")
    assert (digest(root) == before) == (name in unseen)
    assert (digest(root, also=("cli",)) == with_command) == (name in unseen[:2])


def test_a_new_file_changes_it_and_compiled_files_do_not(root):
    before = digest(root)
    (root / "src/pdrm/machines/__pycache__").mkdir()
    (root / "src/pdrm/machines/__pycache__/step.pyc").write_bytes(b"\0")
    assert digest(root) == before
    (root / "src/pdrm/machines/new.py").write_text("")
    assert digest(root) != before


@pytest.mark.parametrize("one", PROOFS, ids=lambda one: one.name)
def test_every_proof_depends_on_the_folders_below(one):
    folders = Sources().folders(one)
    assert {"machines", "errors"} <= set(folders) or {"domains", "errors"} <= set(folders)
    assert all((ROOT / "src" / "pdrm" / folder).is_dir() for folder in folders)
    assert all(path.parent == ROOT / "proofs" for path in Sources().modules(one))
    machinery = {"display.py", "pool.py", "page.py", "promises.py", "shares.py"}
    assert not machinery & {path.name for path in Sources().modules(one)}, "a change to it would start the proof afresh"


def test_every_folder_with_kernels_is_compiled_from():
    kernels = {path.relative_to(ROOT / "src" / "pdrm").parts[0] for path in (ROOT / "src").rglob("kernels.py")}
    assert kernels <= set(COMPILED)


def test_a_record_counts_for_its_source_and_versions_only(tmp_path):
    one = proof("holds")
    record = fresh_record(one, "digest")
    record.add(Checked("holds", 3, 100, 0.5, "", {"large": 2}), "monday")
    record.add(Checked("holds", 4, 100, 0.5, "it went wrong", {"large": 1}), "tuesday")
    save(one, record, tmp_path)
    assert load(one, "digest", tmp_path) == record
    assert (record.cases, record.done, record.sessions, record.counts) == (
        200,
        [3, 4],
        ["monday", "tuesday"],
        {"large": 3},
    )
    assert json.loads((tmp_path / "holds-digest.json").read_text())["wrong"] == {"4": "it went wrong"}
    save(one, fresh_record(one, "other"), tmp_path)
    assert load(one, "other", tmp_path) == fresh_record(one, "other")
    assert load(one, "digest", tmp_path) == record, "going back to a source finds its record"
    record.versions["numba"] = "0.1"
    save(one, record, tmp_path)
    assert load(one, "digest", tmp_path).cases == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cases": 3}', '{"source": "digest", "unknown": 1}'])
def test_a_record_that_cannot_be_read_is_none(text, tmp_path):
    (tmp_path / "holds-digest.json").write_text(text)
    assert load(proof("holds"), "digest", tmp_path) == fresh_record(proof("holds"), "digest")


def test_versions_are_those_of_what_takes_part():
    record = fresh_record(proof("holds", oracles=("automata-lib", "no-such-package")), "digest")
    assert set(record.versions) == {"Python", "numpy", "numba", "automata-lib"}
    assert missing(proof("holds", oracles=("automata-lib", "no-such-package"))) == ["no-such-package"]
    assert Record("digest").versions == {}
