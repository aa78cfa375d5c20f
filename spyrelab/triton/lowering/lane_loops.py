"""Loops in functions of single elements: all elements go round together until the last is done."""

from __future__ import annotations

from typing import Any

from spyrelab.ktir.builder import Scalar, Tensor
from spyrelab.ktir.ir import Value as KtirValue
from spyrelab.ktir.types import I32
from spyrelab.triton.lowering.bodies import lower_body
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.kernel import Kernel, Value
from spyrelab.triton.ttir import TtirBlock, TtirOperation

__all__ = ["lane_while", "widened_inits"]

Shape = tuple[int, ...]


def widened_inits(kernel: Kernel, inits: list[Value], bounds: list[Any]) -> list[Value]:
    """What a counted loop starts from, one for each element.

    Raises
    ------
    UnsupportedKernelError
        Each element has bounds of its own.
    """
    shape = kernel.mapped
    assert shape is not None
    if any(isinstance(bound, Tensor) for bound in bounds):
        raise unsupported(
            "a for loop whose bounds differ from element to element",
            kernel.b.location,
            "write it as a while loop",
        )
    return [kernel.wrapped(_wide(kernel, value, shape)) for value in inits]


def lane_while(kernel: Kernel, operation: TtirOperation, shape: Shape) -> None:
    """``while``: elements that are done keep what they have while others go on."""
    b = kernel.b
    (before,), (after,) = operation.regions
    inits = [_wide(kernel, value, shape) for value in kernel.values(operation)]
    kinds = [tensor.type for tensor in inits]
    old = [KtirValue(b.unique("carried"), kind) for kind in kinds]
    test = b.begin(old)
    _define(kernel, before, old)
    _, (condition, *passed) = lower_body(kernel, before)
    holds = _wide(kernel, condition, shape)
    if kernel.active is not None:
        holds = holds & kernel.active
    going = b.reduce("max", b.select(holds, *_ones(kernel, shape))).item()
    given = [_wide(kernel, value, shape) for value in passed]
    carried = [holds, *(b.tensor(value) for value in old), *given]
    b.emit("scf.condition", [b.compare("ne", going, 0), *carried])
    b.suspend()
    arguments = [KtirValue(b.unique("carried"), tensor.type) for tensor in carried]
    body = b.begin(arguments)
    first, kept, new = arguments[0], arguments[1 : 1 + len(old)], arguments[1 + len(old) :]
    _define(kernel, after, new)
    outer, kernel.active = kernel.active, b.tensor(first)
    _, yielded = lower_body(kernel, after)
    kernel.active = outer
    pairs = zip(yielded, kept, strict=True)
    b.emit(
        "scf.yield",
        [b.select(b.tensor(first), _wide(kernel, value, shape), b.tensor(k)) for value, k in pairs],
    )
    b.suspend()
    outputs = [value.type for value in arguments]
    made = b.emit("scf.while", inits, outputs, {}, [test, body], hint="after")
    for result, value in zip(operation.results, made[1 + len(old) :], strict=True):
        kernel.define(result, kernel.wrapped(b.tensor(value)))


def _define(kernel: Kernel, block: TtirBlock, values: list[KtirValue]) -> None:
    for argument, value in zip(block.arguments, values, strict=True):
        kernel.define(argument, kernel.wrapped(kernel.b.tensor(value)))


def _ones(kernel: Kernel, shape: Shape) -> tuple[Tensor, Tensor]:
    return kernel.b.full(shape, 1, I32), kernel.b.full(shape, 0, I32)


def _wide(kernel: Kernel, value: Value, shape: Shape) -> Tensor:
    element = kernel.element(value)
    if isinstance(element, Scalar):
        return kernel.b.splat(element, shape)
    tensor: Tensor = element
    return tensor
