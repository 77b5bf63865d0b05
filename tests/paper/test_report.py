"""The report of a small reproduction: its content, that it is self-contained, and its look in a browser."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from pdrm.experiments.study import run_study
from pdrm.paper import facts
from pdrm.paper.claims import CLAIMS, judge_claims
from pdrm.paper.figures import DEEP, figures, study
from pdrm.paper.judging import Evidence
from pdrm.paper.recorded import known_lines
from pdrm.paper.report import k_section, sizes_section, write_report
from tests.experiments.small import keep_small_facts

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
    keep_small_facts(place)
    evidence = Evidence(place, 2)
    lines = known_lines([*studies, *map(study, DEEP)], evidence.store)
    write_report(lines, judge_claims(evidence), evidence, theory=False)
    return place


@pytest.fixture(scope="module")
def page(folder):
    return (folder / "index.html").read_text()


class Balance(HTMLParser):
    """Check that tags are closed, and collect everything that the page would fetch or run."""

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


def test_the_page_has_every_claim_with_its_verdict(page):
    for claim in CLAIMS:
        assert f"<code>{claim.id}</code>" in page
    row = re.search(r"<tr><td>(.{0,80})</td><td><code>paint</code>", page).group(1)
    assert "holds" in row
    assert "does not hold" in re.search(
        r"<tr><td>(.{0,160})</td><td><code>water-17</code>", page
    ).group(1)
    assert "no run is recorded" in page


def test_facts_are_cached(tmp_path, monkeypatch):
    monkeypatch.setattr(facts, "CHECKED_DOMAINS", ("paint",))
    monkeypatch.setattr(facts, "DOMAINS", ("paint",))
    monkeypatch.setattr(facts, "size_claims", lambda _records: [])
    once = facts.theory_facts(tmp_path)
    asked = []
    monkeypatch.setattr(facts, "check_k", lambda *args, **_: asked.append(args))
    assert facts.theory_facts(tmp_path) == once
    assert not asked
    assert "k = 5" in k_section(once).body
    assert "Sizes of paint" in sizes_section(once).body


def test_figures_have_tables(page):
    for agent in ("pdRM", "1-pdRM", "CpRM", "1-CpRM", "Q-CRA", "CQL-CRA", "0-pdRM (ours)"):
        assert f"<td>{agent}</td>" in page
    # PaintWorld's best policy asks for all at once: the mean over n = 1..5 of -n/(n+1) is -0.71.
    assert re.search(r"<td>pdRM</td><td>5</td><td>−0\.71 \(", page)
    assert "learning_rate=0.01" in page
    assert page.count("data:image/svg+xml;base64,") >= 4


def test_the_page_is_complete_and_self_contained(page):
    seen = Balance()
    seen.feed(page)
    assert not seen.open
    assert not seen.wrong
    assert "script" not in seen.tags
    outside = [source for source in seen.sources if not source.startswith(("data:", "#"))]
    assert set(outside) == {"curves.csv", "summary.csv"}
    anchors = {source[1:] for source in seen.sources if source.startswith("#")}
    assert anchors <= set(re.findall(r'id="([^"]+)"', page))


@pytest.mark.skipif(BROWSER is None, reason="no browser here")
@pytest.mark.parametrize("width", [1200, 390])
def test_in_a_browser(page, width, tmp_path):
    """No error, no request and no horizontal scrolling, at the widths of a desktop and a phone."""
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
    quoted = json.dumps(page).replace("</", "<\\/")
    if width < 500:  # a window is at least 500 wide: a phone is a frame of its own
        frame = tmp_path / "phone.html"
        frame.write_text(
            f'<body><iframe id="f" width="{width}" height="800" srcdoc=""></iframe><script>'
            "const f = document.getElementById('f'); f.onload = () => setTimeout(() => { const d = f.contentDocument; const e = "
            "d.documentElement; document.title = [e.scrollWidth <= e.clientWidth, [...d.images].every(i => i.naturalWidth > 0), 0]"
            f".join(); }}, 500); f.srcdoc = {quoted};</script></body>"
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
