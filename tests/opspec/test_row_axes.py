"""How row operations see operands: digits, segments, flattened views, many axes, few cores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from spyrelab.ktir.types import F16
from spyrelab.layout.access import Access, Digit
from spyrelab.opspec.errors import Unsuitable
from spyrelab.opspec.operand import Operand
from spyrelab.opspec.row_space import Bound, Segment, Space, bind, joined, refined, segments_of
from tests.opspec.card import Placed, run
from tests.opspec.row_cases import check, random


def bound(*digits: tuple[Digit, ...] | None, position: int = 0) -> Bound:
    return Bound(f"in{position}", F16, digits, position)


def test_digits_that_follow_each_other_are_one() -> None:
    assert joined((Digit(3, 64), Digit(64, 1))) == (Digit(192, 1),)
    assert joined((Digit(1, 320), Digit(64, 1))) == (Digit(64, 1),)
    assert joined((Digit(3, 320), Digit(64, 1))) == (Digit(3, 320), Digit(64, 1))


def test_segments_hold_whole_sticks_of_every_operand() -> None:
    half, single = (Digit(4, 640), Digit(64, 1)), (Digit(8, 320), Digit(32, 1))
    space = Space((230,), (True,))
    assert segments_of(space, 0, [bound(half)]) == [Segment(0, 192, 64), Segment(192, 38, 1)]
    both = [bound(half), bound(single, position=1)]
    assert segments_of(space, 0, both) == [
        Segment(0, 192, 64),
        Segment(192, 32, 1),
        Segment(224, 6, 1),
    ]
    assert segments_of(space, 0, [bound((Digit(230, 1),))]) == [Segment(0, 230, 1)]


def test_an_axis_of_several_digits_is_taken_apart() -> None:
    flattened = bound((Digit(3, 64), Digit(10, 640)))
    space, bounds = refined(Space((30,), (False,)), [flattened, bound((Digit(30, 1),), position=1)])
    assert space == Space((3, 10), (False, False))
    assert bounds[0].digits == ((Digit(3, 64),), (Digit(10, 640),))
    assert bounds[1].digits == ((Digit(3, 10),), (Digit(10, 1),))


def test_digits_that_do_not_fit_are_refused_by_operand() -> None:
    access = Access((29,), ((Digit(3, 64), Digit(10, 640)),))
    space = Space((29,), (False,))
    held = bind(space, "in1", 1, Operand("f16", access), (0,))
    with pytest.raises(Unsuitable) as caught:
        refined(space, [bound((Digit(29, 1),)), held])
    assert caught.value.position == 1


@pytest.mark.parametrize("shape", [(2, 10, 70), (3, 100, 64), (2, 4, 5, 130), (2, 128, 66)])
def test_flattened_views_are_used_in_place(shape: tuple[int, ...]) -> None:
    flat = random(shape, torch.float16).view(-1, shape[-1])
    assert flat._base is not None
    for dim in (0, 1):
        for op, wanted in (
            ("softmax", torch.softmax(flat.float(), dim).half()),
            ("argmax", flat.argmax(dim)),
        ):
            out = torch.zeros_like(wanted)
            run(op, [Placed(flat)], [out], **{"dim" if op == "softmax" else "dims": dim})
            torch.testing.assert_close(out, wanted, rtol=2e-3, atol=2e-3)
    out = torch.zeros(shape, dtype=torch.float16).view(-1, shape[-1])
    run("softmax", [Placed(flat)], [Placed(out)], dim=1)
    torch.testing.assert_close(out, torch.softmax(flat.float(), 1).half(), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("rank", [6, 7])
def test_many_axes(rank: int) -> None:
    x = random((2, 3, 2, 3, 2, 1, 66)[-rank:], torch.float16)
    for dims in itertools.chain([(0,), (rank - 1,)], [tuple(range(0, rank, 2))]):
        wanted = x.float().sum(dims)
        check("sum", [x], [wanted], dims=dims, dtype=torch.float16, scale=4)


@pytest.mark.parametrize("dims", [0, 1, (0, 1)])
def test_each_element_is_read_once_and_sticks_are_whole(dims: int | tuple[int, ...]) -> None:
    x = random((512, 640), torch.float16)
    counters = check("sum", [x], [x.float().sum(dims)], dims=dims, dtype=x.dtype, scale=20)
    assert int(counters.ddr_read.sum()) == x.numel() * 2
    assert int(counters.sticks_read.sum()) == x.numel() // 64
    assert np.count_nonzero(np.asarray(counters.ddr_read)) >= 10
    assert counters.lx_peak.max() < 1 << 20


def test_one_element_needs_one_core() -> None:
    for shape in ((), (1,), (1, 1, 1)):
        x = torch.full(shape, 3.0)
        counters = check("sum", [x], [x.sum()], dims=None)
        assert len(counters.ddr_read) == 1
        check("softmax", [x], [torch.ones_like(x)], dim=-1)
        check("cumsum", [x], [x], dim=-1)
        check("argmax", [x], [torch.tensor(0)], dims=None)
