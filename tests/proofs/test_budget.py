"""Times as they are written after `PROVE=`."""

import pytest

from proofs.__main__ import main
from proofs.budget import duration, seconds_of


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("5m", 300), ("1h", 3600), ("8h", 28800), ("1.5m", 90)])
def test_times(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "0m", "-5m", "5d", "1e3s", "nan", "infs", "５m ", "five"])
def test_other_words_are_refused_with_a_fix(text, capsys):
    with pytest.raises(ValueError, match="write a number with s, m or h"):
        seconds_of(text)
    with pytest.raises(SystemExit) as ended:
        main([f"--budget={text}"])
    assert ended.value.code == 2
    assert "such as 30s, 5m or 8h" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.4, "59s"), (60, "1m00s"), (3599, "59m59s"), (3600, "1h00m")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text
