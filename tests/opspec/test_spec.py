"""OpSpec: what it refuses, and that its text gives it again."""

from __future__ import annotations

import random
from typing import Any

import pytest

from spyrelab.layout import LayoutError, Located, SpyreTensorLayout, access, contiguous_strides
from spyrelab.opspec.coordinates import Coordinate
from spyrelab.opspec.errors import OpSpecError
from spyrelab.opspec.spec import OpSpec, TensorArg, operand_of, tensor_arg
from spyrelab.opspec.views import Shifted, flipped, offsets_of, place
from tests.layout.views import random_sample, random_view

SPACE = {"c0": (3, 0), "c1": (100, 0)}


def argument(name: str = "x", is_input: bool = True, **changes: Any) -> TensorArg:
    fields: dict[str, Any] = {
        "dtype": "f16",
        "device_size": [2, 3, 64],
        "stride_map": [64, 100, 1],
        "coordinates": ["c1//64", "c0", "c1%64"],
    }
    return TensorArg(name, is_input, **{**fields, **changes})


@pytest.mark.parametrize("backwards", [False, True])
def test_the_text_of_any_view_gives_it_again(backwards: bool) -> None:
    rng = random.Random(7)
    tried = 0
    while tried < 200:
        sample = random_sample(rng)
        size, stride, offset = random_view(rng, sample)
        found = access(sample.layout, tuple(size), tuple(stride), offset)
        if backwards and found is not None:
            turned = flipped(
                place(sample.layout, tuple(size), tuple(stride), offset), range(len(size))
            )
            plain = turned is not None and not isinstance(turned.access, Shifted)
            found = Located(turned.access, turned.start) if plain else None
        if found is None:
            continue
        tried += 1
        space = {f"c{d}": (extent, 1) for d, extent in enumerate(size)}
        arg = tensor_arg("x", sample.layout, found, tuple(space))
        spec = OpSpec("neg", space, (arg,))
        assert eval(repr(spec)) == spec
        again = operand_of(arg, space)
        want = offsets_of(found.access) + found.start
        assert (offsets_of(again.access) + again.start == want).all(), (sample.layout, arg)
        last = [at({symbol: n - 1 for symbol, (n, _) in space.items()}) for at in arg.coordinates]
        assert all(0 <= at < extent for at, extent in zip(last, arg.device_size, strict=True)), (
            sample.layout,
            arg,
        )


def test_names_and_numbers_of_every_kind_can_be_read_back() -> None:
    info = {"value": float("-inf"), "bounds": (float("inf"), 2), "numbers": {0: 1.5}, "axis": (1,)}
    spec = OpSpec("clamp", SPACE, [argument('a "b"'), argument("y\n", False)], info)  # type: ignore[arg-type]
    again = eval(repr(spec))
    assert again == spec
    assert isinstance(spec.args, tuple)


@pytest.mark.parametrize("text", ["-3*c0 + 2", "c0 + -1", "-2*(c0//4%8) + -1*c1", "7", "-7"])
def test_coordinates_may_run_backwards(text: str) -> None:
    assert str(Coordinate.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["c0//0", "c0%0", "c0%-2", "2*3*c0", "c0 + True", "c0*2", "f(c0)", "", "c0 c1", "\0"]
)
def test_other_coordinates_are_refused(text: str) -> None:
    with pytest.raises(LayoutError, match="cannot read the coordinate"):
        Coordinate.parse(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coordinates": ["c0"]}, "3 device dimensions, 3 host strides and 1 coordinates"),
        ({"stride_map": [64, 1]}, "3 device dimensions, 2 host strides"),
        ({"lx_address": -128}, "LX address -128"),
        ({"dtype": "f12"}, "f12 is no element type"),
    ],
)
def test_an_operand_whose_fields_contradict_each_other(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises((OpSpecError, LayoutError), match=message):
        argument(**changes)


@pytest.mark.parametrize(
    ("space", "args", "message"),
    [
        ({"c0": (3, 0)}, [argument()], "symbols that the iteration space lacks: c1"),
        ({**SPACE, "c0": (3, 4)}, [argument()], "c0 has 3 indices in 4 parts"),
        ({**SPACE, "c0": (3, -1)}, [argument()], "c0 has 3 indices in -1 parts"),
        ({**SPACE, "c0": (-3, 1)}, [argument()], "c0 has -3 indices"),
        (SPACE, [argument("y", False), argument()], "the input 'x' comes after an output"),
    ],
)
def test_a_spec_whose_fields_contradict_each_other(
    space: dict[str, tuple[int, int]], args: list[TensorArg], message: str
) -> None:
    with pytest.raises(OpSpecError, match=message):
        OpSpec("add", space, tuple(args))


def test_a_default_layout_has_the_coordinates_that_one_expects() -> None:
    layout = SpyreTensorLayout.default((3, 100))
    found = access(layout, (3, 100), contiguous_strides((3, 100)))
    assert found is not None
    assert tensor_arg("x", layout, found, ("c0", "c1")) == argument()
