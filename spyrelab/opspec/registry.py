"""Which builder makes the program of an operation.

A family module decorates one function for all its operations::

    @family("sum", "mean")
    def build_reduction(op, inputs, outputs, **attributes) -> Module: ...

The function's arguments are called ``in0``, ``in1``, ..., ``out0``, ... in order; tensors are
pointers, inputs that are strings are scalars of that type.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from spyrelab.ktir.ir import Module
from spyrelab.opspec.errors import OpSpecError, Unsupported
from spyrelab.opspec.operand import Input, Operand

if TYPE_CHECKING:
    from spyrelab.opspec.compile import Compiled

__all__ = [
    "FamilyBuilder",
    "builder_of",
    "composite",
    "composite_of",
    "family",
    "operation_names",
    "takes_shifted",
    "takes_unsigned",
    "updates",
]


class FamilyBuilder(Protocol):
    """Builds the program of one operation of a family.

    Raises `Unsuitable` for an operand to be copied first, `Unsupported` for what the family
    does not do.
    """

    def __call__(
        self, op: str, inputs: tuple[Input, ...], outputs: tuple[Operand, ...], **attributes: Any
    ) -> Module: ...


CompositeBuilder = Callable[..., "Compiled | None"]
"""Compiles an operation as several; None where its family's program serves."""

Built = TypeVar("Built", bound=Callable[..., Module])
Composed = TypeVar("Composed", bound=CompositeBuilder)

_FAMILY_MODULES = (
    "pointwise",
    "copies",
    "detours",
    "fill",
    "moves",
    "reductions",
    "row_kernels",
    "norms",
    "norm_backward",
    "scans",
    "ordering",
    "positions",
    "matmul",
    "padding",
    "convolution",
    "indexing",
    "pooling",
    "windows",
    "attention",
)
_BUILDERS: dict[str, FamilyBuilder] = {}
_TAKES_SHIFTED: set[str] = set()
_TAKES_UNSIGNED: set[str] = set()
_UPDATES: set[str] = set()
_COMPOSITES: dict[str, CompositeBuilder] = {}
_loaded = False


def family(
    *names: str,
    takes_shifted: bool = False,
    updates: bool = False,
    takes_unsigned: bool = False,
) -> Callable[[Built], Built]:
    """Make a function the builder of these operations.

    ``takes_shifted`` says that operands may be `Shifted`; otherwise they always have an `Access`.
    ``takes_unsigned`` says that they may be of type u8; otherwise such an operation is refused.
    ``updates`` says that the program changes its outputs instead of filling them.
    """

    def register(builder: Built) -> Built:
        if takes_shifted:
            _TAKES_SHIFTED.update(names)
        if takes_unsigned:
            _TAKES_UNSIGNED.update(names)
        if updates:
            _UPDATES.update(names)
        for name in names:
            known = _BUILDERS.setdefault(name, builder)
            if known is not builder:
                raise OpSpecError(f"'{name}' has two builders; give one another name")
        return builder

    return register


def composite(*names: str) -> Callable[[Composed], Composed]:
    """Make a function compile these operations, with the arguments of a family's builder.

    It returns what `spyrelab.opspec.compile` does, or None to let the family's builder do it.
    """

    def register(build: Composed) -> Composed:
        for name in names:
            if _COMPOSITES.setdefault(name, build) is not build:
                raise OpSpecError(f"'{name}' is composed twice; give one another name")
        return build

    return register


def composite_of(op: str) -> CompositeBuilder | None:
    """What compiles an operation as several, if anything does."""
    _load()
    return _COMPOSITES.get(op)


def builder_of(op: str) -> FamilyBuilder:
    """The builder of an operation; raises Unsupported."""
    _load()
    if op not in _BUILDERS:
        raise Unsupported(f"operation '{op}'")
    return _BUILDERS[op]


def takes_shifted(op: str) -> bool:
    """Whether an operation's builder works on shifted slices where they lie."""
    return op in _TAKES_SHIFTED


def takes_unsigned(op: str) -> bool:
    """Whether an operation's builder knows bytes without sign."""
    _load()
    return op in _TAKES_UNSIGNED


def updates(op: str) -> bool:
    """Whether an operation changes its outputs, which hold something before."""
    return op in _UPDATES


def operation_names() -> tuple[str, ...]:
    """Every operation that has a builder, sorted."""
    _load()
    return tuple(sorted({*_BUILDERS, *_COMPOSITES}))


def _load() -> None:
    global _loaded
    if _loaded:
        return
    for name in _FAMILY_MODULES:
        try:
            import_module(f"spyrelab.opspec.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"spyrelab.opspec.{name}":
                raise
    _loaded = True
