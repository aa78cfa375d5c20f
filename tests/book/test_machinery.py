"""The book's machinery on small chapters of its own."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from PIL import Image

from spyrelab import cli
from spyrelab.book import BookError, Chapter, check, find_chapter, sync
from spyrelab.book.compare import compare, same_picture
from spyrelab.book.notebook import from_source, read, same_sources

SOURCE = """\
# %% [markdown]
# # A small chapter

# %%
print(6 * 7)

# %% tags=["volatile"]
import time
print(time.perf_counter_ns())

# %%
object()
"""


@pytest.fixture
def chapter(tmp_path: Path) -> Chapter:
    folder = tmp_path / "book"
    folder.mkdir()
    source = folder / "ch77_small.py"
    source.write_text(SOURCE, encoding="utf-8")
    return Chapter(source)


def outputs(*made: Any, tags: tuple[str, ...] = ()) -> Any:
    cell = nbformat.v4.new_code_cell("x", outputs=list(made), metadata={"tags": list(tags)})
    return nbformat.v4.new_notebook(cells=[cell])


def printed(text: str, name: str = "stdout") -> Any:
    return nbformat.v4.new_output("stream", name=name, text=text)


# ---- finding chapters --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ch01", "1", "ch01_machine", "book/ch01_machine.ipynb"])
def test_a_chapter_has_many_names(name: str) -> None:
    assert find_chapter(name).notebook.name == "ch01_machine.ipynb"


def test_an_unknown_chapter_names_those_that_exist() -> None:
    with pytest.raises(BookError, match="ch01"):
        find_chapter("ch99")
    assert cli.main(["book", "sync", "nonsense"]) == 2


def test_chapters_may_stand_behind_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["book", "sync", "--check", "ch98", "ch99"]) == 2
    assert "no chapter 'ch98'" in capsys.readouterr().err
    assert cli.main(["book", "sync", "--chek", "ch01"]) == 2
    assert "unrecognized arguments: --chek" in capsys.readouterr().err


# ---- sources and files -------------------------------------------------------------------


def test_sources_become_cells_with_stable_names(chapter: Chapter) -> None:
    one, other = from_source(chapter.source), from_source(chapter.source)
    assert [cell.cell_type for cell in one.cells] == ["markdown", "code", "code", "code"]
    assert one.cells[2].metadata == {"tags": ["volatile"]}
    assert [cell.id for cell in one.cells] == [cell.id for cell in other.cells]
    assert len({cell.id for cell in one.cells}) == 4
    assert one.metadata.kernelspec.name == "python3" and "jupytext" not in one.metadata


def test_equal_cells_still_have_names_of_their_own(chapter: Chapter) -> None:
    chapter.source.write_text("# %%\nx = 1\n\n# %%\nx = 1\n", encoding="utf-8")
    first, second = from_source(chapter.source).cells
    assert first.id != second.id
    nbformat.validate(from_source(chapter.source))


def test_differing_sources_are_named(chapter: Chapter) -> None:
    one, other = from_source(chapter.source), from_source(chapter.source)
    other.cells[1].source = "print(41)"
    other.cells[2].metadata = {}
    assert same_sources(one, other) == [
        "cell 2 differs from the source: print(41)",
        "cell 3 has other tags than the source",
    ]
    del other.cells[3]
    assert "the source has 4 cells, the notebook 3" in same_sources(one, other)


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"cells": 5}'])
def test_a_file_that_is_no_notebook(chapter: Chapter, text: str) -> None:
    chapter.notebook.write_text(text, encoding="utf-8")
    with pytest.raises(BookError, match="is no notebook"):
        read(chapter.notebook)


# ---- comparing outputs -------------------------------------------------------------------


def test_equal_text_is_equal_whatever_the_pieces() -> None:
    assert compare(outputs(printed("a\n"), printed("b\n")), outputs(printed("a\nb\n"))) == []


def test_addresses_do_not_count() -> None:
    one, other = (outputs(printed(f"<object at 0x7f{digit}0a1b2c3d>")) for digit in "12")
    assert compare(one, other) == []


def test_a_changed_line_is_shown() -> None:
    (problem,) = compare(outputs(printed("a\n8 bytes\n")), outputs(printed("a\n9 bytes\n")))
    assert problem == "cell 1 (x): was '8 bytes', is '9 bytes'"


def test_a_new_kind_of_output_is_a_difference() -> None:
    (problem,) = compare(outputs(printed("a")), outputs(printed("a"), printed("w", "stderr")))
    assert "outputs were stdout and are stdout, stderr" in problem
    (problem,) = compare(outputs(printed("a\nb")), outputs(printed("a")))
    assert "had 2 lines of output, has 1" in problem


@pytest.mark.parametrize("tag", ["volatile", "exercise"])
def test_tagged_cells_may_differ(tag: str) -> None:
    one, other = (outputs(printed(text), tags=(tag,)) for text in ("1 ms", "2 ms"))
    assert compare(one, other) == []


def picture(change: Any = None, size: tuple[int, int] = (200, 120)) -> bytes:
    pixels = np.full((size[1], size[0], 3), 255, np.uint8)
    pixels[40:80, 40:120] = (0, 114, 178)
    if change is not None:
        change(pixels)
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "png")
    return buffer.getvalue()


def test_pictures_may_differ_by_soft_edges() -> None:
    def soften(pixels: Any) -> None:
        pixels[40, 40:120] = (20, 125, 185)

    assert same_picture(picture(), picture(soften))


def test_pictures_may_not_differ_by_a_bar_or_a_size() -> None:
    def grow(pixels: Any) -> None:
        pixels[40:80, 120:130] = (0, 114, 178)

    def recolour(pixels: Any) -> None:
        pixels[40:80, 40:120] = (213, 94, 0)

    assert not same_picture(picture(), picture(grow))
    assert not same_picture(picture(), picture(recolour))
    assert not same_picture(picture(), picture(size=(240, 120)))


# ---- making and checking -----------------------------------------------------------------


def test_a_chapter_is_made_once_and_then_left_alone(chapter: Chapter) -> None:
    first = sync(chapter)
    assert first.passed and first.written and first.seconds > 0
    made = chapter.notebook.read_bytes()
    again = sync(chapter)
    assert again.passed and not again.written
    assert chapter.notebook.read_bytes() == made
    notebook = read(chapter.notebook)
    assert notebook.cells[1].outputs[0].text == "42\n"
    assert set(notebook.metadata) == {"kernelspec", "language_info"}


def test_check_sees_a_stale_output_and_a_stale_source(chapter: Chapter) -> None:
    assert not check(chapter).passed
    sync(chapter)
    document = json.loads(chapter.notebook.read_text(encoding="utf-8"))
    document["cells"][1]["outputs"][0]["text"] = ["43\n"]
    stale = json.dumps(document)
    chapter.notebook.write_text(stale, encoding="utf-8")
    assert check(chapter).problems == ("cell 2 (print(6 * 7)): was '43', is '42'",)
    assert chapter.notebook.read_text(encoding="utf-8") == stale
    chapter.source.write_text(SOURCE.replace("6 * 7", "6 * 8"), encoding="utf-8")
    assert "differs from the source" in check(chapter).problems[0]


def test_how_often_a_stream_is_flushed_leaves_no_trace(chapter: Chapter) -> None:
    lines = "".join(f"print({n}, flush=True); time.sleep(0.3)\n" for n in (1, 2))
    chapter.source.write_text(
        f"# %%\nimport time\n\n{lines}display('between')\n{lines}", encoding="utf-8"
    )
    assert sync(chapter).passed
    (cell,) = read(chapter.notebook).cells
    shown = [output.get("text") or output.data["text/plain"] for output in cell.outputs]
    assert shown == ["1\n2\n", "'between'", "1\n2\n"]


def test_a_failing_cell_is_named_and_nothing_is_written(chapter: Chapter) -> None:
    chapter.source.write_text("# %%\nx = 1\n\n# %%\nx / 0\n", encoding="utf-8")
    (problem,) = sync(chapter).problems
    assert problem == "cell 2 (x / 0): ZeroDivisionError: division by zero"
    assert not chapter.notebook.exists()


def test_what_a_reader_would_miss_is_a_problem(chapter: Chapter) -> None:
    lines = [
        "import base64, sys",
        "from IPython.display import Image",
        f"print('careful', file=sys.stderr); Image({picture()!r})",
    ]
    chapter.source.write_text("# %%\n" + "\n".join(lines) + "\n", encoding="utf-8")
    problems = " ".join(sync(chapter).problems)
    assert "a picture has no description" in problems
    assert "writes to standard error: 'careful" in problems
