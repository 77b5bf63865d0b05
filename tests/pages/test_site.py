"""The documentation builds strictly, its links exist, and it loads no external resources."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from pdrm.errors import explanations

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "zensical.toml"


def build(folder):
    """Build a copy of the documentation, strictly."""
    shutil.copytree(ROOT / "docs", folder / "docs", dirs_exist_ok=True)
    shutil.copy(CONFIG, folder)
    (folder / "src").symlink_to(ROOT / "src")  # the docstrings of the reference pages
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / "site"


class Page(HTMLParser):
    """The anchors of a page, its links, and the resources that it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if "id" in attributes:
            self.anchors.add(attributes["id"])
        if tag == "a" and "href" in attributes:
            self.links.add(attributes["href"])
        is_navigation = attributes.get("rel") in ("canonical", "prev", "next")
        if tag in ("script", "img", "link") and not is_navigation:
            self.loads |= {attributes[key] for key in ("src", "href") if key in attributes}


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r'"([\w-]+\.md)"', CONFIG.read_text()))
    assert listed == {path.name for path in (ROOT / "docs").glob("*.md")}
    assert tomllib.loads(CONFIG.read_text())["project"]["site_name"] == "pdrm"


def test_links_exist_and_nothing_external_is_loaded(site):
    pages = {
        path.name: Page(path.read_text()) for path in site.glob("*.html") if path.name != "404.html"
    }
    assert len(pages) == len(list((ROOT / "docs").glob("*.md")))
    for name, page in pages.items():
        for target in page.loads:
            assert not target.startswith(("http:", "https:", "//")), (name, target)
            assert (site / unquote(target.partition("?")[0])).exists(), (name, target)
        for target in page.links:
            if target.startswith(("https://", "mailto:")):
                continue
            file, _, anchor = target.partition("#")
            assert (site / unquote(file or name)).exists(), (name, target)
            assert not anchor or unquote(anchor) in pages[file or name].anchors, (name, target)


def test_every_code_is_explained(site):
    page = Page((site / "errors.html").read_text())
    assert explanations().keys() <= page.anchors


def test_formulas_need_no_script(site):
    text = (site / "notation.html").read_text()
    assert "<mi>ℛ</mi>" in text
    assert "$" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
