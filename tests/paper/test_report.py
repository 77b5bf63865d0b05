"""The report of a small reproduction: what is on the page, that it needs nothing from outside, and how a browser shows it."""

import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from pdrm.experiments.store import Store
from pdrm.experiments.study import run_study
from pdrm.learning.agents import PAPER_SETTINGS
from pdrm.paper import theory_section as theory
from pdrm.paper.claims import CLAIMS, judge_claims
from pdrm.paper.evidence import Evidence
from pdrm.paper.figures import BESIDE_SUMMARY, DEEP, FOUND, MAZE, SUMMARY, figures
from pdrm.paper.recorded import known_lines
from pdrm.paper.report import write_report
from pdrm.paper.study_section import study_section
from tests.experiments.small import keep_small_sizes

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
VOID = {"meta", "link", "img", "br", "hr", "input"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """LetterEnv and PaintWorld with two seeds, and a few of the mazes' agents."""
    place = tmp_path_factory.mktemp("report")
    studies = figures(["letter", "paint"], seeds=2)
    assert not run_study(studies, place).failures
    keep_small_sizes(place)
    evidence = Evidence(place, 2)
    lines = known_lines([*studies, *DEEP], evidence.store)
    write_report(lines, judge_claims(evidence), evidence, theory=False)
    return place


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "index.html").read_text()


class Balance(HTMLParser):
    """Whether what is opened is closed, and what the page would fetch or run."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.tags, self.sources = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_every_claim_is_on_the_page_with_its_verdict(page):
    for claim in CLAIMS:
        assert f"<code>{claim.id}</code>" in page
    row = re.search(r"<tr><td>(.{0,80})</td><td><code>paint</code>", page).group(1)
    assert "holds" in row
    assert "does not hold" in re.search(
        r"<tr><td>(.{0,160})</td><td><code>water-17</code>", page
    ).group(1)
    assert "no run is recorded" in page


def test_verdicts_that_rest_on_a_choice_made_after_results_are_marked(page):
    """In the text above the table by name, and in their rows with what was chosen."""
    marked = [claim for claim in CLAIMS if claim.afterwards]
    named = re.search(r"those marked † \((.*?)\)", page).group(1)
    assert re.findall(r"<code>(.*?)</code>", named) == [claim.id for claim in marked]
    rows = dict(
        re.findall(r"<tr><td>.{0,160}</td><td><code>([\w-]+)</code></td><td>(.*?)</td></tr>", page)
    )
    for claim in CLAIMS:
        assert ("† chosen after seeing results" in rows[claim.id]) == bool(claim.afterwards)
    assert "single episodes, pdRM and Q-CRA end above" in rows["letter-best"]


def test_how_likely_each_agent_is_better_than_the_best(page):
    """PaintWorld's full policy asks for all at once, whatever the seed: no other is ever better."""
    part = page[page.index('id="study-paint"') :]
    table = part[part.index("who ends better than pdRM") :]
    assert re.search(r'<td>1-pdRM</td><td class="n">0 %</td><td class="n">–</td>', table)


def test_one_seed_has_no_interval(tmp_path):
    """And its verdict says how few it is."""
    outcome = run_study(figures(["paint"], seeds=1), tmp_path)
    evidence = Evidence(tmp_path)
    written = write_report(
        outcome.lines, judge_claims(evidence, ["paint"]), evidence, theory=False
    ).read_text()
    assert re.search(r"<tr><td>.{0,80}<br>1 of 10 seeds</td><td><code>paint</code>", written)
    (row,) = re.findall(r"<tr><td>pdRM</td><td>5</td>(.*?)</tr>", written)
    cells = re.findall(r'<td class="n">(.*?)</td>', row)
    assert (cells[0], cells[1], cells[2]) == ("−0.71", "0.82", "1 of 1 (100 %)")
    part = written[written.index("who ends better than pdRM") :]
    assert re.search(r'<td>1-pdRM</td><td class="n">0 %</td><td class="n">–</td>', part)


def test_what_was_proved_is_proved_again_for_another_discount(tmp_path, monkeypatch):
    monkeypatch.setattr(theory, "CHECKED", ("paint",))
    monkeypatch.setattr(theory, "COUNTED", ("paint",))
    once = theory.theory_facts(tmp_path)["k"]["paint"]
    assert once["discount"] == 0.99
    monkeypatch.setitem(PAPER_SETTINGS, "paint", {**PAPER_SETTINGS["paint"], "discount": 0.5})
    again = theory.theory_facts(tmp_path)["k"]["paint"]
    assert again["discount"] == 0.5
    asked = []
    monkeypatch.setattr(theory, "check_k", lambda *args, **_: asked.append(args))
    assert theory.theory_facts(tmp_path)["k"]["paint"] == again
    assert not asked


def test_what_was_not_run_here_says_so(page):
    """WaterWorld's figures come from records, and are marked."""
    part = page[page.index('id="study-water"') :]
    assert "Not run here: recorded on NVIDIA H200" in part
    assert part.count('<span class="badge none">recorded</span>') == 4
    assert "python -m pdrm.experiments.water_runs printed" in part
    assert "<code>pdrm reproduce water-tuned</code> makes your own runs" in part
    assert re.search(r"<td>PPO</td><td>none</td><td class=\"n\">21,701 \(", part)
    assert "<li>holds: PPO + 1-pdRM achieves early</li>" in part  # tuned, as the paper found


def test_what_is_ours_is_drawn_into_the_papers_figures(tmp_path):
    """As it came with the package: in the plot, in the table, and said to be ours; the study's lines are judged without it."""
    known = {
        curves.line.name: curves
        for _, curves in known_lines([FOUND], Store.below(tmp_path))
        if curves.panel is FOUND.panels[0]
    }
    other = replace(known[BESIDE_SUMMARY], panel=MAZE.panels[0])
    shown = [study_section(MAZE, [other], Store.below(tmp_path), tmp_path, beside=beside)
             for beside in (None, {"maze-5x5": known[SUMMARY]})]  # fmt: skip
    plain, both = (str(section.body) for section in shown)
    assert "not in the paper" not in plain
    assert "<td>summary (ours, not in the paper)</td><td>full</td>" in both
    assert "10 of 10 (100 %)" in both[both.index("summary (ours, not in the paper)") :]
    assert "no claim is judged by it" in both
    assert both.partition("who ends better")[2].find("not in the paper") == -1


def test_figures_have_their_numbers(page):
    for agent in ("pdRM", "1-pdRM", "CpRM", "1-CpRM", "Q-CRA", "CQL-CRA", "0-pdRM (ours)"):
        assert f"<td>{agent}</td>" in page
    # PaintWorld's best policy asks for all at once: the mean over n = 1..5 of -n/(n+1) is -0.71.
    assert re.search(r'<td>pdRM</td><td>5</td><td class="n">−0\.71 \(', page)
    assert "learning rate 0.01" in page
    assert page.count("data:image/svg+xml;base64,") >= 4


def test_the_page_is_whole_and_needs_nothing(page):
    seen = Balance()
    seen.feed(page)
    assert not seen.open
    assert not seen.wrong
    assert "script" not in seen.tags
    outside = [source for source in seen.sources if not source.startswith(("data:", "#"))]
    assert set(outside) == {"curves.csv", "summary.csv", "claims.json"}
    anchors = {source[1:] for source in seen.sources if source.startswith("#")}
    assert anchors <= set(re.findall(r'id="([^"]+)"', page))


def test_files_beside_it(folder):
    assert (folder / "figures/letter.pdf").read_bytes().startswith(b"%PDF")
    assert (folder / "figures/paint.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "curves.csv").read_text().startswith("study,panel,line")


@pytest.mark.skipif(BROWSER is None, reason="no browser here")
@pytest.mark.parametrize("width", [1200, 390])
def test_in_a_browser(page, width, tmp_path):
    """No error, no request, no sideways scrolling, at the width of a desk and of a phone."""
    probe = (
        "<script>window.onload = () => { const d = document.documentElement; document.title = "
        "[d.scrollWidth <= d.clientWidth, [...document.images].every(i => i.naturalWidth > 0), "
        "performance.getEntriesByType('resource').filter(e => !e.name.startsWith('data:')).length].join(); };"
        "window.onerror = m => { document.title = 'error ' + m; };</script>"
    )
    file = tmp_path / "probe.html"
    file.write_text(page.replace("</body>", f"{probe}</body>"))
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size={max(width, 500)},900",
        "--dump-dom",
    ]
    if width < 500:  # a window is at least 500 wide: a phone is a frame of its own
        frame = tmp_path / "phone.html"
        frame.write_text(
            f'<body><iframe id="f" width="{width}" height="800" srcdoc=""></iframe><script>'
            "const f = document.getElementById('f'); f.onload = () => setTimeout(() => { const d = f.contentDocument; const e = "
            "d.documentElement; document.title = [e.scrollWidth <= e.clientWidth, [...d.images].every(i => i.naturalWidth > 0), 0]"
            f".join(); }}, 500); f.srcdoc = {_quoted(page)};</script></body>"
        )
        file = frame
    done = subprocess.run(
        [*command, "--virtual-time-budget=5000", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title, done.stderr[-500:]
    assert title.group(1) == "true,true,0"


def _quoted(text):
    import json

    return json.dumps(text).replace("</", "<\\/")
