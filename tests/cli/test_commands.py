"""The commands about machines."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from pdrm.cli import machine_commands
from pdrm.cli.arguments import MACHINES
from pdrm.cli.main import app, main
from pdrm.errors import explanations
from pdrm.language.loading import TASK_MODULES, catalogue_names, catalogue_text, load


def test_check_prints_ok_and_the_next_command(pdrm):
    outcome = pdrm("check", "letter")
    assert outcome.code == 0
    assert outcome.out.startswith("letter: ok\n")
    assert "next: pdrm draw letter -o letter.svg" in outcome.err


def test_check_json_has_the_promised_keys(pdrm, tmp_path):
    assert json.loads(pdrm("check", "letter", "--json").out) == {
        "ok": True,
        "errors": [],
        "warnings": [],
    }
    file = tmp_path / "bad.pdrm"
    file.write_text(catalogue_text("letter").replace("u0 -> u1", "u0 -> u7"))
    outcome = pdrm("check", file, "--json")
    record = json.loads(outcome.out)
    assert outcome.code == 2
    assert record["ok"] is False
    assert {key: record["errors"][0][key] for key in ("code", "line", "column")} == {
        "code": "E0201",
        "line": 13,
        "column": 7,
    }
    warned = json.loads(pdrm("check", "anbn", "--json").out)
    assert {"code", "line", "column", "message"} < set(warned["warnings"][0])


def test_check_with_a_domain_reports_tasks_that_cannot_be_learnt(pdrm, tmp_path):
    task, rooms = tmp_path / "task.pdrm", tmp_path / "map.txt"
    task.write_text(
        "events key gem\nstack #\nstart u\nfinal v\notherwise stay 0\nu -> v : key, z / z, 1"
    )
    for text, place in [("place k kye\n@.k", (1, 9)), ("@.k", (1, 3))]:
        rooms.write_text(text)
        assert pdrm("check", task).code == 0
        outcome = pdrm("check", task, "--domain", rooms)
        assert (outcome.code, outcome.out) == (2, "")
        assert "error[E0202]" in outcome.err
        (error,) = json.loads(pdrm("check", task, "--domain", rooms, "--json").out)["errors"]
        assert (error["code"], error["file"], error["line"], error["column"]) == (
            "E0202",
            str(rooms),
            *place,
        )


def test_step_json_has_the_promised_keys(pdrm):
    record = json.loads(pdrm("step", "letter", "A B C C", "--json").out)
    assert record["accepted"] is True
    assert record["reward"] == pytest.approx(0.97)
    assert record["steps"] == [
        {"label": ["A"], "state": "u0", "stack": ["A", "#"], "reward": -0.01},
        {"label": ["B"], "state": "u1", "stack": ["A", "#"], "reward": -0.01},
        {"label": ["C"], "state": "u1", "stack": ["#"], "reward": -0.01},
        {"label": ["C"], "state": "u2", "stack": ["#"], "reward": 1.0},
    ]


def test_step_of_the_other_kinds(pdrm):
    counted = json.loads(pdrm("step", "letter-counting", "A B C", "--json").out)
    assert [step["counters"] for step in counted["steps"]] == [[1], [1], [0]]
    assert counted["accepted"]
    assert "ended in" in pdrm("step", "letter-counting", "A B C").out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("check no-such-file.pdrm", "E0501"),
        ("check lettr", "E0506"),
        ("check .", "E0501"),
        ("step letter A++", "E0504"),
        ("step letter Q", "E0202"),
        ("step treasure-maze u+d", "E0403"),
        ("draw letter -o letter.bmp", "E0503"),
        ("draw letter -o nowhere/letter.svg", "E0502"),
        ("convert letter -o letter.xyz", "E0503"),
        ("explain E9999", "E0505"),
        ("catalogue nothing", "E0506"),
        ("fmt missing.pdrm", "E0501"),
    ],
)
def test_errors_exit_with_2_and_no_traceback(arguments, code, pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = pdrm(*arguments.split())
    assert outcome.code == 2
    assert outcome.err.startswith(f"error[{code}]")
    assert "fix:" in outcome.err
    assert "Traceback" not in outcome.err
    assert not list(tmp_path.iterdir())


def test_errors_name_options_as_they_are_typed(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, option in (
        ("train letter --steps 100", "`--steps`"),
        ("train echo --agent ppo --episodes 100", "`--steps`"),
        ("check-k letter --from end", "`--from`"),
        ("train letter --episodes 0", "`--episodes`"),
        ("train letter --set test_episodes=0", "`test_episodes`"),
    ):
        outcome = pdrm(*arguments.split())
        assert outcome.code == 2
        assert option in outcome.err
    assert "E0801" in pdrm("train", "letter", "--set", "learning_rate").err


def test_unknown_commands_and_options_exit_with_2(pdrm):
    assert pdrm("chek", "letter").code == 2
    assert pdrm("check", "letter", "--nope").code == 2


def test_convert_between_formats_and_kinds(pdrm, tmp_path):
    for output in ("m.json", "m.pdrm", "m.svg", "m.dot", "m.tex", "m.png"):
        command = "convert" if output in ("m.json", "m.pdrm") else "draw"
        assert pdrm(command, "letter-counting", "-o", tmp_path / output).code == 0
        assert (tmp_path / output).stat().st_size > 100
    pdrm("convert", "letter-counting", "-o", tmp_path / "stack.pdrm", "--to", "pushdown")
    assert load(tmp_path / "stack.pdrm").stack == ("#", "□")
    pdrm("convert", "anbn", "-o", tmp_path / "counters.pdrm", "--to", "counting")
    assert load(tmp_path / "counters.pdrm").counters == 2


def test_convert_does_not_overwrite_its_input(pdrm, tmp_path):
    file, link = tmp_path / "task.pdrm", tmp_path / "link.pdrm"
    file.write_text(catalogue_text("letter"))
    link.symlink_to(file)
    for output in (file, link):
        outcome = pdrm("convert", file, "-o", output)
        assert (outcome.code, outcome.err[:12]) == (2, "error[E0502]")
        assert file.read_text() == catalogue_text("letter")


def test_other_kinds_of_files_are_refused(pdrm, tmp_path):
    study, machine = tmp_path / "study.toml", tmp_path / "task.pdrm"
    study.write_text('name = "garden"\n\n[[panels]]\nname = "garden"\n')
    machine.write_text(catalogue_text("letter"))
    assert pdrm("check", study, "--json").code == 2
    outcome = pdrm("train", machine)
    assert outcome.code == 2
    assert outcome.err.count("error[") == 1


def test_fmt_formats_in_place_and_keeps_comments(pdrm, tmp_path):
    file = tmp_path / "task.pdrm"
    file.write_text(
        catalogue_text("letter").replace(" -> ", "->").replace("u0->u0 : {A}, ", "u0->u0:{A},   ")
    )
    assert pdrm("fmt", file, "--check").code == 1
    assert "unchanged" not in pdrm("fmt", file).out
    assert file.read_text() == catalogue_text("letter")
    before = file.stat()
    assert "unchanged" in pdrm("fmt", file).out
    assert file.stat() == before
    assert pdrm("fmt", file, "--check").code == 0


def test_explain_knows_every_code(pdrm):
    for code in explanations():
        assert pdrm("explain", code).out.startswith(code)
    assert len(pdrm("explain").out.splitlines()) == len(explanations())


def test_catalogue_lists_and_prints(pdrm):
    assert [line.split()[0] for line in pdrm("catalogue").out.splitlines()] == catalogue_names()
    assert pdrm("catalogue", "letter").out == catalogue_text("letter")


def test_a_machine_can_come_from_standard_input():
    command = [sys.executable, "-m", "pdrm", "check", "-"]
    done = subprocess.run(
        command, input=catalogue_text("letter"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("letter: ok")


def test_help_is_fast_and_imports_little():
    code = "import sys; sys.argv = ['pdrm', '--help']\nfrom pdrm.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
    heavy = "print([m for m in ('numba', 'jax', 'matplotlib', 'numpy', 'pygraphviz') if m in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code + heavy], capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == "[]"
    for command in ("check", "step", "draw", "convert", "fmt", "catalogue", "explain", "reproduce"):
        assert command in done.stdout


def test_shells_can_complete(monkeypatch, capsys):
    for name, value in {
        "_PDRM_COMPLETE": "complete_bash",
        "COMP_WORDS": "pdrm che",
        "COMP_CWORD": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        app(prog_name="pdrm")
    assert capsys.readouterr().out.split() == ["check", "check-k"]


def test_shells_complete_values(monkeypatch, capsys, tmp_path):
    """Catalogue names and files of the right kind that start with the word."""
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    for name in ("map.txt", "map.csv", "task.pdrm", "sub/mine.npz", "sub/mine.ltlf"):
        Path(name).touch()
    assert {f".{kind}" for kind in TASK_MODULES} < set(MACHINES)
    for words, offered in [
        ("solve ma", ["maze-5x5", "maze-10x10", "maze-20x20", "map.txt"]),
        ("train ./m", ["./map.txt"]),
        ("train sub/", ["sub/mine.npz"]),
        ("train nowhere/", []),
        ("domains water-2", ["water-20"]),
        ("train letter --agent c", ["cprm", "cra-q", "cra-cql"]),
        ("agents s", ["summary", "sac"]),
        ("solve letter --machine t", ["treasure-maze", "task.pdrm"]),
        ("check sub/", ["sub/mine.ltlf"]),
        ("check letter --domain pa", ["paint"]),
        ("sizes pa", ["paint"]),
        ("explain W060", [f"W060{digit}" for digit in range(1, 10)]),
        ("catalogue t", ["treasure-maze"]),
    ]:
        count = len(words.split())
        for name, value in {
            "_PDRM_COMPLETE": "complete_bash",
            "COMP_WORDS": f"pdrm {words}",
            "COMP_CWORD": count,
        }.items():
            monkeypatch.setenv(name, str(value))
        with pytest.raises(SystemExit):
            app(prog_name="pdrm")
        assert capsys.readouterr().out.split() == offered, words


def test_every_error_can_be_printed_as_json(pdrm):
    for arguments in ("step no.pdrm A", "train nowhere", "solve nowhere", "verify no.json"):
        outcome = pdrm(*arguments.split(), "--json")
        record = json.loads(outcome.out)
        assert (outcome.code, record["ok"], outcome.err) == (2, False, "")
        assert record["errors"][0]["message"]


def test_check_with_a_domain_keeps_the_warnings_of_the_machine(pdrm, tmp_path):
    task, rooms = tmp_path / "task.pdrm", tmp_path / "map.txt"
    task.write_text(
        "events key gem\nexclusive key gem\nstack #\nstart u\nfinal v\notherwise stay 0\n"
        "u -> u : key, z / z, 1\nu -> v : gem, z / z, 900"
    )
    rooms.write_text("step_limit 80\nplace k key\nplace g gem\n@.k.g")
    assert "W0606" in pdrm("check", task).out
    assert "W0606" in pdrm("check", task, "--domain", rooms).out


def test_fmt_reads_standard_input(pdrm, monkeypatch):
    text = catalogue_text("letter")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert pdrm("fmt", "-").out.split() == text.split()


def test_a_rule_of_a_grammar_that_no_word_needs_is_reported(pdrm, tmp_path):
    file = tmp_path / "g.grammar"
    file.write_text('grammar g\nstart: "a" "b"\nother: "d"\n')
    found = json.loads(pdrm("check", file, "--json").out)["warnings"]
    assert ("W0604", 3) in [(one["code"], one["line"]) for one in found]


def test_usage_errors_can_be_printed_as_json(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["pdrm", "check", "--json"])
    with pytest.raises(SystemExit, match="2"):
        main()
    (error,) = json.loads(capsys.readouterr().out)["errors"]
    assert error["code"] == "E0801"


def test_the_example_of_combine_can_be_copied(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    example = machine_commands.combine.__doc__.rpartition("Example: pdrm ")[2].split()
    assert pdrm(*example).code == 0
