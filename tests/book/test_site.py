"""The site: built without a warning, whole, and right in a browser."""

from __future__ import annotations

import ast
import csv
import functools
import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from spyrelab.book import chapters
from spyrelab.book.serving import open_server
from spyrelab.book.site import NEEDED, html_pages
from tests.book import chromium

ROOT = Path(__file__).parents[2]
CHAPTERS = [f"book/{chapter.source.stem}.html" for chapter in chapters()]
EXERCISES = [f"exercises/{chapter.source.stem}.html" for chapter in chapters()]
WITH_FORMULAS = ("ch01", "ch02", "ch04", "ch05")
SAMPLE = ["api/index.html", "api/ktir.html", "api/timing.html", "api/kernels.html"]
"""Pages of the reference are all made alike."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    absent = [name for name in (*NEEDED, "selenium") if importlib.util.find_spec(name) is None]
    if absent:
        why = f"{', '.join(absent)} not installed: pip install -e '.[book]'"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    folder = tmp_path_factory.mktemp("site") / "html"
    command = [sys.executable, "-m", "spyrelab", "book", "build", "--out", str(folder)]
    made = subprocess.run(
        [*without_network(), *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": "/proc/self/none", "PYTHONPATH": str(ROOT)},
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert f"{len(html_pages(folder))} pages in {folder}" in made.stdout
    return folder


@functools.cache
def without_network() -> tuple[str, ...]:
    """What to put before a command so that it reaches no network; nothing where that is barred."""
    command = ("unshare", "-n") if os.geteuid() == 0 else ("unshare", "-r", "-n")
    if shutil.which("unshare") is None:
        return ()
    return (
        command if subprocess.run([*command, "true"], capture_output=True).returncode == 0 else ()
    )


def browser_pages(site: Path) -> list[str]:
    return [page for page in html_pages(site) if not page.startswith("api/") or page in SAMPLE]


class Links(HTMLParser):
    """What a page refers to, and the pieces of it that can be referred to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if name in ("href", "src") and value:
                self.targets.append(value)


def test_the_site_has_every_page(site: Path) -> None:
    pages = set(html_pages(site))
    results = {"results/ledger.html", "results/plans.html", "results/attention.html"}
    look_up = {"index.html", "pages/glossary.html", "pages/references.html", "api/index.html"}
    assert {*CHAPTERS, *EXERCISES, *results, *look_up} <= pages
    packages = {path.parent.name for path in (ROOT / "spyrelab").glob("*/__init__.py")}
    inner = {"commands", "device", "viz"}  # a registration and two that only others call
    assert {f"api/{name}.html" for name in packages - inner} <= pages


def test_every_link_inside_the_site_leads_somewhere(site: Path) -> None:
    found = {page: Links(site / page) for page in html_pages(site)}
    broken = []
    for page, links in found.items():
        for target in links.targets:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = (site / page).parent / urllib.parse.unquote(parts.path)
            file = (path if parts.path else site / page).resolve()
            anchors = found.get(str(file.relative_to(site.resolve())))
            if not file.is_file() or (anchors and parts.fragment not in {*anchors.anchors, ""}):
                broken.append((page, target))
    assert broken == []


def test_exercises_are_shown_without_solutions(site: Path) -> None:
    shown = "\n".join((site / page).read_text(encoding="utf-8") for page in html_pages(site))
    for chapter in chapters():
        tree = ast.parse((ROOT / "exercises" / chapter.source.name).read_text(encoding="utf-8"))
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        page = (site / "exercises" / f"{chapter.source.stem}.html").read_text(encoding="utf-8")
        assert names and all(f">{name}<" in page for name in names)
    assert "solutions/" not in shown


def test_the_ledger_page_has_every_case(site: Path) -> None:
    page = (site / "results" / "ledger.html").read_text(encoding="utf-8")
    with (ROOT / "tests" / "upstream" / "ledger.csv").open(encoding="utf-8") as file:
        ops = {row["op"] for row in csv.DictReader(file)}
    assert len(ops) > 600
    assert [op for op in ops if f'<span class="pre">{op}</span>' not in page] == []


def test_a_chapter_is_shown_with_its_committed_outputs(site: Path) -> None:
    from spyrelab.book.notebook import images, read

    for chapter in chapters():
        page = (site / "book" / f"{chapter.source.stem}.html").read_text(encoding="utf-8")
        described = images(read(chapter.notebook))
        assert len(described) > 2
        heard = {html.unescape(words) for words in re.findall(r'alt="([^"]*)"', page)}
        assert [words for _, words in described if words not in heard] == []


def test_neither_a_network_nor_a_home_is_needed(site: Path) -> None:
    if not without_network():
        pytest.skip("unshare may not take the network away here")
    code = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=5)"
    tried = subprocess.run(
        [*without_network(), sys.executable, "-c", code], capture_output=True, text=True
    )
    assert "unreachable" in tried.stderr
    assert (site / "index.html").is_file()


@pytest.fixture(scope="module")
def browser(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Browser]:
    chromium.require()
    with open_server(site) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        base = f"http://127.0.0.1:{server.server_address[1]}"
        with chromium.opened(base, tmp_path_factory.mktemp("profile")) as opened:
            yield opened
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of the pages are kept: ``SPYRELAB_ARTEFACTS``, else a temporary folder."""
    given = os.environ.get("SPYRELAB_ARTEFACTS")
    folder = Path(given) / "site" if given else tmp_path_factory.mktemp("shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("width", [1200, 400])
def test_every_page_in_a_browser(
    browser: chromium.Browser, site: Path, shots: Path, width: int
) -> None:
    browser.resize(width)
    wrong = {}
    for name in browser_pages(site):
        sight = browser.visit(name)
        page, problems = sight.page, list(sight.problems)
        problems += [f"an empty image: {source}" for source in page["empty"]]
        problems += [f"an image without words: {source}" for source in page["mute"]]
        problems += [f"a formula as text: {text}" for text in page["raw"]]
        if page["invisible"]:
            problems.append(f"{page['invisible']} of {page['formulas']} formulas are not drawn")
        if page["wide"] > width:
            problems.append(f"{page['wide']} pixels wide")
        if name.startswith(tuple(f"book/{chapter}" for chapter in WITH_FORMULAS)):
            problems += [] if page["formulas"] else ["no formulas"]
        if name in CHAPTERS and page["text"] < 5000:
            problems.append(f"only {page['text']} letters")
        if problems:
            wrong[name] = problems
        browser.screenshot(shots / f"{name.replace('/', '-').removesuffix('.html')}-{width}.png")
    assert wrong == {}


def test_navigation_reaches_every_chapter(browser: chromium.Browser) -> None:
    browser.resize(1200)
    wanted = [f"{browser.base}/{page}" for page in [*CHAPTERS, *EXERCISES]]
    start = browser.visit("index.html").page
    assert set(wanted) <= set(start["links"])
    page, walked = start, []
    while page["next"] and len(walked) < len(wanted):
        walked.append(page["next"])
        page = browser.visit(page["next"].removeprefix(f"{browser.base}/")).page
    assert walked == wanted


def test_the_browser_test_sees_what_is_wrong(tmp_path: Path) -> None:
    chromium.require()
    (tmp_path / "index.html").write_text(
        "<!doctype html><html><head><link rel=icon href=data:,></head>"
        "<body style='margin:0'><div class=bd-article><p>$$x$$</p><img src=none.png>"
        "<img src=http://192.0.2.1/a.png alt=a><div style='width:900px'>x</div></div>"
        "<script>console.error('oh')</script></body></html>",
        encoding="utf-8",
    )
    with open_server(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}"
        with chromium.opened(base, tmp_path / "profile") as opened:
            opened.resize(400)
            opened.driver.set_page_load_timeout(20)
            opened.driver.execute_cdp_cmd("Network.enable", {})
            opened.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*192.0.2.1*"]})
            sight = opened.visit("index.html")
        server.shutdown()
    said = "\n".join(sight.problems)
    assert "404: " in said and "asks for http://192.0.2.1" in said and "oh" in said
    assert sight.page["wide"] == 900 and sight.page["raw"] and sight.page["mute"]
    assert len(sight.page["empty"]) == 2
