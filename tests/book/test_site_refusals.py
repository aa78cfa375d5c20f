"""What keeps a site from being built or shown is said in one line, and nothing is lost."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from spyrelab import cli
from spyrelab.book import BookError, site
from spyrelab.book.listings import exercise_page, link_to_pages, linked_sources
from spyrelab.book.mathml import to_mathml
from spyrelab.book.results import ledger_page
from spyrelab.book.serving import open_server
from spyrelab.book.sphinx_extension import WORDS

ROOT = Path(__file__).parents[2]


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command line says of input that it cannot serve."""
    assert cli.main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    return shown.err


def require_sphinx() -> None:
    for name in site.NEEDED:
        pytest.importorskip(name)


def lay_out_page(text: str) -> object:
    """In place of the book, one page with the book's settings."""

    def lay_out(source: Path) -> None:
        source.mkdir()
        shutil.copytree(ROOT / "book" / "site" / "_static", source / "_static")
        shutil.copyfile(ROOT / "book" / "site" / "conf.py", source / "conf.py")
        (source / WORDS).write_text("{}", encoding="utf-8")
        (source / "index.md").write_text(text, encoding="utf-8")

    return lay_out


def test_a_missing_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(site, "find_spec", lambda name: None if name == "myst_nb" else name)
    line = said(["book", "build", "--out", str(tmp_path / "x")], capsys)
    assert "needs myst_nb: pip install -e '.[book]'" in line
    assert not (tmp_path / "x").exists()


def test_a_folder_with_other_files_is_left_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    require_sphinx()
    (tmp_path / "thesis.tex").write_text("years of work", encoding="utf-8")
    assert "holds other files" in said(["book", "build", "--out", str(tmp_path)], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_that_cannot_be_made(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    require_sphinx()
    (tmp_path / "file").touch()
    line = said(["book", "build", "--out", str(tmp_path / "file" / "site")], capsys)
    assert str(tmp_path / "file") in line


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("# A page\n\n[nowhere](nowhere.md)\n", "nowhere.md"),
        ("# A page\n\n$x_1_2$\n", "no formula"),
        ("# A page\n\n$\\sone$\n", "sone is unknown"),
        ("# A page\n\n![](none.png)\n", "none.png"),
    ],
)
def test_a_warning_keeps_the_earlier_site(
    text: str, warning: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    require_sphinx()
    monkeypatch.setattr(site, "lay_out", lay_out_page("# A page\n\n$\\frac{1}{2}$\n"))
    made = site.build_site(tmp_path / "html")
    page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert made.pages >= 1 and "<mfrac>" in page
    monkeypatch.setattr(site, "lay_out", lay_out_page(text))
    with pytest.raises(BookError, match=warning):
        site.build_site(tmp_path / "html")
    assert (tmp_path / "html" / "index.html").read_text(encoding="utf-8") == page
    assert [path.name for path in tmp_path.iterdir()] == ["html"]


def test_serve_needs_a_site_and_a_port(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    serve = ["book", "serve", "--out", str(tmp_path)]
    assert "'spyrelab book build' makes one" in said(serve, capsys)
    (tmp_path / "index.html").touch()
    assert "from 0" in said([*serve, "--port", "70000"], capsys)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "another with --port" in said([*serve, "--port", port], capsys)


def test_only_this_machine_is_served(tmp_path: Path) -> None:
    (tmp_path / "index.html").touch()
    with open_server(tmp_path) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_a_site_has_all_chapters(capsys: pytest.CaptureFixture[str]) -> None:
    assert "takes no chapters" in said(["book", "build", "ch01"], capsys)


def test_text_in_formulas_has_no_backslashes() -> None:
    require_sphinx()
    assert "<mtext>stride_map</mtext>" in to_mathml(r"\text{stride\_map}", block=True)


def test_links_to_files_become_links_to_pages() -> None:
    text = "[a](../exercises/ch01_machine.py), [b](../exercises/given_ch01.py), [c](x.csv)"
    assert linked_sources(text) == ["exercises/given_ch01.py"]
    assert link_to_pages(text) == (
        "[a](../exercises/ch01_machine.md), [b](../sources/exercises/given_ch01.md), [c](x.csv)"
    )


def test_broken_exercises_are_named(tmp_path: Path) -> None:
    file = tmp_path / "ch01_machine.py"
    file.write_text("def f(:\n", encoding="utf-8")
    with pytest.raises(BookError, match=r"ch01_machine\.py:1"):
        exercise_page(file)
    file.write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(BookError, match="no exercises"):
        exercise_page(file)


def test_a_missing_ledger_is_named(tmp_path: Path) -> None:
    with pytest.raises(BookError, match="checkout"):
        ledger_page(tmp_path / "ledger.csv")
