"""Rules of the ``spyrelab`` operations that touch no memory."""

from __future__ import annotations

from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.form import elements_of, nothing
from spyrelab.ktir.ir import Operation
from spyrelab.ktir.matching import compatible_shapes
from spyrelab.ktir.types import I1, INDEX, ScalarType, TensorType, Type

__all__ = ["assertion", "histogram", "nothing", "print_values", "scan", "take", "turn"]


def turn(check: Check, operation: Operation) -> None:
    """It takes the number of turns that come before."""
    check.same(operation, "the turn", operation.operands[0].type, INDEX)


def _axis(check: Check, operation: Operation, rank: int) -> int:
    axis = operation.attributes["axis"]
    if type(axis) is not int or not 0 <= axis < rank:
        check.fail(operation, f"there is no axis {axis} of {rank}", f"count from 0 to {rank - 1}")
    return int(axis)


def scan(check: Check, operation: Operation) -> None:
    """Tensors of one shape; the body combines an earlier element with a later one."""
    if not operation.operands:
        check.fail(operation, "there is nothing to scan", "write ins(%x : tensor<..>)")
    kinds = [check.tensor(operation, "input", value) for value in operation.operands]
    shape = kinds[0].shape
    _axis(check, operation, len(shape))
    for value, kind in zip(operation.operands, kinds, strict=True):
        if not compatible_shapes(kind.shape, shape):
            check.fail(operation, f"%{value.name} is a {kind}, the first input a {kinds[0]}")
    check.same_list(operation, "results", [r.type for r in operation.results], list(kinds))
    elements: list[Type] = [kind.element for kind in kinds]
    (region,) = operation.regions
    check.region_arguments(operation, region, [*elements, *elements])
    check.yields(operation, region, "linalg.yield", elements)


def take(check: Check, operation: Operation) -> None:
    """The result has the shape of the indices, which has that of the source but on the axis."""
    source = check.tensor(operation, "source", operation.operands[0])
    indices = check.tensor(operation, "indices", operation.operands[1])
    axis = _axis(check, operation, len(source.shape))
    if not indices.element.is_integer or indices.element == I1:
        check.fail(operation, f"the indices are a {indices}", "use index, i32 or i64")
    around = [(*kind.shape[:axis], *kind.shape[axis + 1 :]) for kind in (source, indices)]
    if len(source.shape) != len(indices.shape) or not compatible_shapes(*around):
        check.fail(operation, f"{indices} and {source} differ in more than axis {axis}")
    wanted = TensorType(indices.shape, source.element)
    check.same(operation, "the result", operation.result.type, wanted)


def histogram(check: Check, operation: Operation) -> None:
    """Whole numbers in, counts of 0, 1, .. out."""
    if not 1 <= len(operation.operands) <= 2:
        check.fail(operation, "it takes a tensor and perhaps a mask")
    source = check.tensor(operation, "input", operation.operands[0])
    if not source.element.is_integer:
        check.fail(operation, f"a {source} does not number bins", "cast it to i32")
    for mask in operation.operands[1:]:
        check.same(operation, "the mask", mask.type, TensorType(source.shape, I1))
    result = operation.result.type
    if not isinstance(result, TensorType) or len(result.shape) != 1 or None in result.shape:
        check.fail(operation, f"the result is a {result}, not one static row of bins")
    if not result.element.is_integer or result.element == I1:
        check.fail(operation, f"{result} cannot count", "use i32")


def print_values(check: Check, operation: Operation) -> None:
    """Scalars and tensors behind a text; the first ``program`` ones number the program."""
    count = operation.attributes.get("program", 0)
    if type(count) is not int or not 0 <= count <= min(3, len(operation.operands)):
        check.fail(operation, f"program = {count}", "it counts the operands that number it, 0 to 3")
    for value in operation.operands:
        if not isinstance(value.type, ScalarType | TensorType):
            check.fail(operation, f"%{value.name} is a {value.type}", "print scalars and tensors")
    check.integers(operation, "program number", *operation.operands[:count])


def assertion(check: Check, operation: Operation) -> None:
    """A condition, or a tensor of conditions."""
    (condition,) = operation.operands
    if elements_of(condition.type) != I1:
        check.fail(operation, f"%{condition.name} is a {condition.type}", "compare first: i1")
