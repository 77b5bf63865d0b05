"""The study shown on the page runs, and says what the page says."""

import json
import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text()


def test_the_study_of_the_page_runs(pdrm, tmp_path):
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "views.toml").write_text(text)
    outcome = pdrm("run", tmp_path / "views.toml", "--workers", 1, "-o", tmp_path / "out", "--json")
    rows = json.loads(outcome.out)
    assert [(row["line"], row["seeds"]) for row in rows] == [("1-pdRM", 3), ("1-CpRM", 3)]
    assert rows[1]["final_success"] == 1.0
    for name in re.findall(r"^\| `([a-z.]+)` \|", PAGE, re.MULTILINE):
        assert (tmp_path / "out" / name).exists()
    run = next((tmp_path / "out" / "runs").iterdir())
    for name in ("spec.json", "curve.csv", "policy.npz", "result.json", "timing.json"):
        assert f"`{name}`" in PAGE
        assert (run / name).exists()
