"""Drawings: what they show, in numbers and in words."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from PIL import Image

from spyrelab.emulator import Counters
from spyrelab.errors import UsageError
from spyrelab.machine import SPYRE
from spyrelab.viz.card import draw_card
from spyrelab.viz.picture import describe, description, new_axes, png, show
from spyrelab.viz.sticks import draw_owners, sticks_of
from spyrelab.viz.traffic import draw_traffic


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def words(axes: Any) -> str:
    return description(axes.figure)


def counters(read: int, written: int) -> Counters:
    made = Counters.zeros(2)
    made.ddr_read[:] = read // 2
    made.ddr_write[:] = written // 2
    return made


# ---- pictures in general -----------------------------------------------------------------


def test_the_same_drawing_gives_the_same_bytes() -> None:
    assert png(draw_card()) == png(draw_card())


def test_a_png_has_the_size_and_resolution_of_the_book() -> None:
    picture = Image.open(BytesIO(png(new_axes(4, 2))))
    assert picture.size == (440, 220)
    assert picture.format == "PNG"


def test_descriptions_of_all_axes_make_up_the_alt_text() -> None:
    axes = new_axes(3, 2)
    assert words(axes) == ""
    assert words(describe(axes, "One line.")) == "One line."


def test_show_hands_on_the_description(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[Any, Any]] = []
    monkeypatch.setattr("IPython.display.display", lambda *a, **k: shown.append((a[0], k)))
    show(describe(new_axes(2, 1), "A small one."))
    bundle, options = shown[0]
    assert options["metadata"] == {"image/png": {"alt": "A small one."}}
    assert bundle["text/plain"] == "A small one."
    assert b64decode(bundle["image/png"]).startswith(b"\x89PNG")


# ---- the card ----------------------------------------------------------------------------


def test_the_card_shows_every_core_and_its_own_numbers() -> None:
    shown = texts(draw_card())
    assert [text for text in shown if text.isdigit()] == [str(core) for core in range(32)]
    assert sum(text == "LX" for text in shown) == 32
    assert any("128 GiB" in text for text in shown)
    assert any("2 MiB" in text for text in shown)


@pytest.mark.parametrize("cores", [1, 5, 64])
def test_other_machines_are_drawn_with_their_numbers(cores: int) -> None:
    machine = SPYRE.replace(cores=cores, lx_bytes=4 << 20, corelets_per_core=1)
    axes = draw_card(machine)
    assert sum(text == "LX" for text in texts(axes)) == cores
    assert sum(text == "corelet" for text in texts(axes)) == 1
    assert f"{cores} cores" in words(axes) and "4 MiB" in words(axes)


# ---- sticks ------------------------------------------------------------------------------


def test_rows_are_cut_into_sticks_and_padded_with_nobody() -> None:
    sticks = sticks_of([[0] * 5, [1] * 5], lanes=4)
    assert sticks.shape == (2, 2, 4)
    assert sticks[1].tolist() == [[1, 1, 1, 1], [1, -1, -1, -1]]


@pytest.mark.parametrize("owners", [np.zeros((2, 2, 2)), np.zeros(0)])
def test_owners_of_a_shape_that_cannot_be_drawn(owners: Any) -> None:
    with pytest.raises(UsageError, match="vector or a matrix"):
        draw_owners(owners)


def test_each_stick_carries_the_number_of_its_core() -> None:
    axes = draw_owners(np.arange(4096) // 128, title="halves")
    assert texts(axes) == [str(stick // 2) for stick in range(64)]
    assert words(axes).startswith("halves: 64 sticks owned by 32 cores, 0 to 31")
    assert "no stick is shared" in words(axes)


def test_shared_sticks_are_framed_and_counted() -> None:
    axes = draw_owners(np.tile(np.arange(256) // 32, (3, 1)))
    framed = [
        patch
        for patch in axes.patches
        if isinstance(patch, Rectangle) and patch.get_linewidth() > 1.5
    ]
    assert len(framed) == 12
    assert "12 sticks are shared" in words(axes)


# ---- traffic -----------------------------------------------------------------------------


def test_bars_are_as_long_as_the_bytes_they_stand_for() -> None:
    axes = draw_traffic({"slow": counters(10_000_000, 6_000_000)}, lower_bound=4_000_000)
    read, written = (container.patches[0] for container in axes.containers)
    assert (read.get_x(), read.get_width()) == (0, 10)
    assert (written.get_x(), written.get_width()) == (10, 6)
    assert "16.0 MB, 4 x the least" in texts(axes)[0]
    assert axes.get_xlim()[0] == 0


def test_traffic_in_words() -> None:
    versions = {"slow": counters(6_000_000, 2_000_000), "fast": counters(2_000_000, 2_000_000)}
    axes = draw_traffic(versions, lower_bound=4_000_000)
    assert "slow 8.0 MB, fast 4.0 MB" in words(axes)
    assert "the least there can be is 4.0 MB" in words(axes)
    assert texts(axes)[1].strip() == "4.0 MB, the least"


def test_no_versions_is_an_error() -> None:
    with pytest.raises(UsageError, match="no version"):
        draw_traffic({})
