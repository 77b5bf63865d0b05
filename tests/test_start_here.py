"""*Start here*: every command of the page runs, from an empty folder, and says what it should.

What the first section installs is there already; `python -m pages.trial` tries it in a fresh environment and writes the timings.
"""

import re

from pages.trial import PAGE, sections, with_timings
from tests.shell import run_commands

TEXT = PAGE.read_text()


def test_the_commands_say_what_a_new_user_should_see(pdrm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, *rest = sections(TEXT)
    assert first.commands.splitlines() == [
        "python3 -m venv .venv",
        ". .venv/bin/activate",
        "pip install ./pdrm",
        "pdrm doctor",
    ]
    said = run_commands("pdrm doctor\n" + "".join(part.commands for part in rest), pdrm)
    assert "core: ok" in said
    assert "retrace: ok" in said
    assert "ended in home, # (final); reward 11.3" in said
    assert re.search(
        r"100 episodes of garden: .*\n  the optimal value, .* is 10\.56.*\n  ended in home: \d+",
        said,
    )
    assert re.search(r"its top, counterfactual\s+.*success 100% of 3 seeds", said)
    assert "100 episodes of van: mean return 9" in said
    assert "from the start: k = 1 is enough" in said


def test_every_section_is_timed_and_the_timings_can_be_written_anew():
    parts = sections(TEXT)
    assert re.findall(r"^\| (\d\. .+?) \| [\d.]+ s \|$", TEXT, re.MULTILINE) == [
        part.title for part in parts
    ]
    again = with_timings(TEXT, parts, [1.0] * len(parts))
    assert f"| all | {len(parts)} s |" in again
    assert sections(again) == parts
