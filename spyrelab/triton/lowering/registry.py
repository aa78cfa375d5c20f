"""Which function lowers which operation."""

from __future__ import annotations

from collections.abc import Callable

from spyrelab.ktir.builder_values import BuilderError
from spyrelab.ktir.ir import CallSiteLocation, Location
from spyrelab.ktir.types import SCALARS, ScalarType, TensorType
from spyrelab.triton.errors import UnsupportedKernelError
from spyrelab.triton.lowering.errors import unsupported
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.ttir import DescriptorType, FunctionType, TtirOperation, TtirType

__all__ = ["HANDLERS", "lower_operation", "lowers"]

Handler = Callable[[Kernel, TtirOperation], None]
HANDLERS: dict[str, Handler] = {}
"""Lowerings by the name of the operation."""


def lowers(*names: str) -> Callable[[Handler], Handler]:
    """Register a function for operations."""

    def register(handler: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return register


def lower_operation(kernel: Kernel, operation: TtirOperation) -> None:
    """Append what an operation means.

    Raises
    ------
    UnsupportedKernelError
        With the operation's place in the kernel's source.
    """
    for value in operation.results:
        _check(value.type, operation)
        kernel.makers[value] = operation
    handler = HANDLERS.get(operation.name)
    if handler is None:
        raise unsupported(f"{operation.name} has no meaning on the card", operation.location)
    with kernel.b.at(_location(kernel, operation)):
        try:
            handler(kernel, operation)
        except UnsupportedKernelError as error:
            if error.place:
                raise
            raise unsupported(error.message, operation.location, error.advice) from error
        except BuilderError as error:
            raise unsupported(
                f"{operation.name}: {error.message}", operation.location, error.hint
            ) from error


def _location(kernel: Kernel, operation: TtirOperation) -> Location | None:
    """Where an operation comes from, with the calls that led to it."""
    location = operation.location
    for caller in reversed(kernel.callers):
        location = caller if location is None else CallSiteLocation(location, caller)
    return location


def _check(kind: TtirType, operation: TtirOperation) -> None:
    if isinstance(kind, FunctionType):
        return
    if isinstance(kind, TensorType | DescriptorType):
        element = kind.element
    elif isinstance(kind, ScalarType):
        element = kind
    else:
        element = kind.pointee
        if element.name not in SCALARS and "ptr" in element.name:
            return
    if element.name in SCALARS:
        return
    advice = {"f64": "the card has no 64-bit floats: use tl.float32"}
    raise unsupported(
        f"{operation.name} makes a value of type {element}",
        operation.location,
        advice.get(element.name, f"use one of {', '.join(SCALARS)}"),
    )
