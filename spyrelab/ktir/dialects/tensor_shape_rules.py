"""Rules of operations that only give the same elements another shape."""

from __future__ import annotations

from collections.abc import Sequence

from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.lists import dynamic
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.matching import compatible_shapes, element_count
from spyrelab.ktir.types import Dimension, TensorType

Groups = Sequence[Sequence[int]]


def _pair(check: Check, operation: Operation) -> tuple[TensorType, TensorType]:
    source = check.tensor(operation, "source", operation.operands[0])
    result = check.tensor(operation, "result", operation.result)
    if source.element != result.element:
        check.fail(operation, f"{source} and {result} have different elements")
    return source, result


def _regroup(
    check: Check, operation: Operation, groups: Groups, short: TensorType, long: TensorType
) -> None:
    """Each group of the long shape's dimensions makes up one dimension of the short shape."""
    if [axis for group in groups for axis in group] != list(range(len(long.shape))):
        check.fail(
            operation,
            f"the groups do not hold dimensions 0 to {len(long.shape) - 1} of {long} in order",
        )
    if len(groups) != len(short.shape):
        # Groups of nothing but ones may vanish: tensor<1x1xf32> collapses to tensor<f32>.
        if groups or element_count(long.shape) not in (1, None):
            check.fail(operation, f"{len(groups)} groups for the {len(short.shape)} of {short}")
        return
    for group, extent in zip(groups, short.shape, strict=True):
        total = element_count([long.shape[axis] for axis in group])
        if total is not None and extent is not None and total != extent:
            check.fail(operation, f"dimensions {list(group)} of {long} make {total}, not {extent}")


def expand(check: Check, operation: Operation) -> None:
    """The result's groups make up the source's dimensions."""
    source, result = _pair(check, operation)
    groups = operation.attributes["reassociation"]
    if not source.shape and not groups:
        if element_count(result.shape) != 1:
            check.fail(operation, f"{source} has one element, {result} has not")
    else:
        _regroup(check, operation, groups, source, result)
    shape: Sequence[Dimension] | None = operation.attributes.get("output_shape")
    if shape is None:
        if len(operation.operands) != 1:
            check.fail(operation, f"it takes 1 operand, not {len(operation.operands)}")
        return
    check.integers(operation, "extent", *operation.operands[1:])
    if dynamic(shape) != len(operation.operands) - 1 or not compatible_shapes(shape, result.shape):
        check.fail(operation, f"output_shape does not fit {result}")


def collapse(check: Check, operation: Operation) -> None:
    """The source's groups make up the result's dimensions."""
    source, result = _pair(check, operation)
    groups = operation.attributes["reassociation"]
    if not result.shape and not groups:
        if element_count(source.shape) not in (1, None):
            check.fail(operation, f"{result} has one element, {source} has not")
        return
    _regroup(check, operation, groups, result, source)


def reshape(check: Check, operation: Operation) -> None:
    """As many elements before as after; the shape operand has one number per dimension."""
    source, result = _pair(check, operation)
    before, after = element_count(source.shape), element_count(result.shape)
    if before is not None and after is not None and before != after:
        check.fail(operation, f"{source} has {before} elements, {result} has {after}")
    _shape_operand(check, operation, operation.operands[1], result)


def _shape_operand(check: Check, operation: Operation, value: Value, result: TensorType) -> None:
    kind = value.type
    is_shape = isinstance(kind, TensorType) and kind.element.is_integer and len(kind.shape) == 1
    if not is_shape:
        check.fail(operation, f"%{value.name} is a {kind}, not a tensor<Nxindex>")
    if isinstance(kind, TensorType) and kind.shape[0] not in (None, len(result.shape)):
        check.fail(operation, f"%{value.name} has {kind.shape[0]} numbers for {result}")
