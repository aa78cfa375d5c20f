"""From an operation to launches: caching, temporaries, refusals, work division."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from spyrelab.layout import SpyreTensorLayout, contiguous_strides
from spyrelab.opspec import (
    Operand,
    OpSpecError,
    Role,
    Unsuitable,
    Unsupported,
    builder_of,
    compile,
    element_type,
    family,
    place,
    registry,
)
from spyrelab.opspec.division import BURST_BYTES, divide
from spyrelab.opspec.iteration import boxes
from tests.opspec.host import Host


def operand(size: tuple[int, ...], dtype: str = "f16") -> Operand:
    layout = SpyreTensorLayout.default(size, dtype)
    return Operand(dtype, place(layout, size, contiguous_strides(size)).access)


@pytest.fixture
def picky() -> Iterator[str]:
    """An operation whose program wants whole sticks."""

    @family("picky")
    def build(op: str, inputs: Any, outputs: Any, **attributes: Any) -> Any:
        for position, entry in enumerate((*inputs, *outputs)):
            if entry.access.axes[-1][-1].stride != 1:
                raise Unsuitable(position, "its sticks lie elsewhere")
        return builder_of("neg")("neg", inputs, outputs)

    yield "picky"
    del registry._BUILDERS["picky"]


def test_the_same_question_has_the_same_answer() -> None:
    x = operand((3, 70))
    assert compile("add", [x, x], [x]) is compile("add", (x, x), (operand((3, 70)),))
    assert compile("gelu", [x], [x], approximate="tanh") is not compile("gelu", [x], [x])


def test_slices_of_one_shape_share_a_program(host: Host) -> None:
    x, out = host.put(np.arange(512.0).reshape(8, 64), "f16"), host.empty((2, 64), "f16")
    first = host.run("neg", [x[0:2]], [out])
    assert host.run("neg", [x[5:7]], [out]) is first
    np.testing.assert_array_equal(host.get(out), -np.arange(320.0, 448.0).reshape(2, 64))


def test_temporaries_stand_for_unsuitable_operands(host: Host, picky: str) -> None:
    values = np.arange(70.0 * 3).reshape(70, 3)
    x, out = host.put(values, "f16"), host.empty((70, 3), "f16")
    compiled = host.run(picky, [x.transpose()], [out.transpose()], sanitize=True)
    assert [len(step.slots) for step in compiled.steps] == [2, 2, 2]
    assert compiled.temporaries == (SpyreTensorLayout.default((3, 70), "f16"),) * 2
    roles = [[slot.role for slot in step.slots] for step in compiled.steps]
    assert roles[0] == [Role.INPUT, Role.TEMPORARY]
    assert roles[2] == [Role.TEMPORARY, Role.OUTPUT]
    np.testing.assert_array_equal(host.get(out), -values)


def test_an_output_that_no_input_fits_is_computed_beside(host: Host) -> None:
    values = np.arange(300.0).reshape(100, 3) % 50
    x, y = host.put(values, "f16"), host.put(np.ones(300), "f16")
    flat = x.view((300,), (1,))
    host.run("add", [flat, y], [flat], sanitize=True)
    np.testing.assert_array_equal(host.get(x), values + 1)


def test_a_program_that_refuses_even_temporaries_is_unsupported() -> None:
    @family("stubborn")
    def build(op: str, inputs: Any, outputs: Any, **attributes: Any) -> Any:
        raise Unsuitable(0, "it does not like it")

    try:
        with pytest.raises(Unsupported, match="does not like it, even in a default layout"):
            compile("stubborn", [operand((3,))], [operand((3,))])
    finally:
        del registry._BUILDERS["stubborn"]


def test_unknown_operations_and_types_are_refused() -> None:
    with pytest.raises(Unsupported, match="operation 'no such thing'"):
        compile("no such thing", [], [operand((3,))])
    with pytest.raises(Unsupported, match="element type f64"):
        element_type("f64")


def test_two_families_cannot_have_one_operation() -> None:
    with pytest.raises(OpSpecError, match="'add' has two builders"):
        family("add")(lambda op, inputs, outputs: None)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(
    ("size", "cores"), [((3,), 1), ((64, 64), 2), ((64, 128), 4), ((1024, 1024), 32)], ids=str
)
def test_a_core_has_at_least_a_burst(size: tuple[int, ...], cores: int) -> None:
    x = operand(size)
    (step,) = compile("add", [x, x], [x]).steps
    assert step.program.cores == cores
    assert cores == 1 or np.prod(size) * 2 // cores >= BURST_BYTES


def test_tiles_stay_within_their_budget() -> None:
    x, y = operand((2048, 4096)), operand((4096,))
    for box in boxes([x.access, y.access, x.access], 2):
        division = divide(box, [2, 2, 2])
        assert np.prod(division.tile) <= 16384
        assert division.cores == 32


def test_operands_with_their_sticks_along_three_dimensions(host: Host) -> None:
    values = np.arange(70 * 80 * 90).reshape(70, 80, 90) % 100
    x, y = host.put(values, "f16"), host.put(values.transpose(2, 0, 1), "f16")
    z, out = host.put(values.transpose(1, 2, 0), "f16"), host.empty((70, 80, 90), "f16")
    host.run("addcmul", [x, y.transpose(1, 2, 0), z.transpose(2, 0, 1)], [out])
    np.testing.assert_array_equal(host.get(out), (values + values**2).astype(np.float16))


def test_few_instructions_for_a_small_sum() -> None:
    x = operand((64, 64))
    (step,) = compile("add", [x, x], [x]).steps
    assert len(step.program.code) <= 12
