"""What notebooks show of programs, timelines, layouts and plans: whole, safe, self-contained."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from spyrelab import ktir, timing
from spyrelab.kernels import CATALOGUE
from spyrelab.layout import SpyreTensorLayout
from spyrelab.viz.timeline_svg import timeline_svg

VOID = {"br", "img", "hr"}


class Balanced(HTMLParser):
    """Fails where tags do not close, and keeps what a browser would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        known = dict(attrs)
        assert not {"src", "srcset", "data"} & known.keys()
        self.ids += [known["id"] or ""] if "id" in known else []
        self.links += [known["href"] or ""] if "href" in known else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def softmax() -> ktir.Module:
    return CATALOGUE["softmax"].build(rows=64, cols=256, cores=4)


def test_a_timeline_names_every_bar(softmax: ktir.Module) -> None:
    estimate = timing.estimate(softmax)
    text = timeline_svg(estimate, cores=2)
    page = Balanced(re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL))
    bars = page.tags.count("rect")
    assert bars == page.tags.count("title") > 10
    assert "0 DDR load" in text and "1 DDR load" in text and "2 DDR load" not in text
    assert text in estimate._repr_html_()
    assert "http" not in text


def test_a_program_leads_to_its_source(tmp_path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text("first\nvalue = <b>loaded</b>\n")
    text = f"""module {{
  func.func @f(%x: index) {{
    %c = arith.constant 1 : index loc("here"("{file}":2:5))
    %d = arith.addi %c, %c : index loc(callsite("other.py":7:1 at "{file}":1:1))
    return
  }}
}}"""
    shown = ktir.parse(text)._repr_html_()
    page = Balanced(shown)
    assert len(page.links) == 2 and all(link[1:] in page.ids for link in page.links)
    assert "kernel.py:2" in shown and "value = &lt;b&gt;loaded" in shown and "loc(" not in shown


def test_what_is_shown_does_not_say_where_it_was_made(tmp_path) -> None:
    shown, drawn = [], []
    for folder in ("here", "some where"):
        file = tmp_path / folder / "kernel.py"
        text = ktir.dumps(CATALOGUE["softmax"].build(rows=64, cols=256, cores=4))
        place = f' loc("top"("{file}":2:5))'
        module = ktir.parse(text.replace("dimensions = [1]", "dimensions = [1]" + place))
        shown.append(module._repr_html_())
        drawn.append(timeline_svg(timing.estimate(module), cores=1))
    for one, other in (shown, drawn):
        assert one == other and "kernel.py" in one and str(tmp_path) not in one


def test_sticks_say_what_they_hold() -> None:
    shown = SpyreTensorLayout.default((3, 100), "f16")._repr_html_()
    assert Balanced(shown).tags.count("rect") == 6
    assert "6 sticks of 64 lanes" in shown and "host elements from 264" in shown
    large = SpyreTensorLayout.default((1000, 1000), "f16")._repr_html_()
    assert Balanced(large).tags.count("rect") == 256 and "of 16,000 are drawn" in large
