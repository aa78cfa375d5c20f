"""`triton.language.extra.libdevice` as kernels for the card see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triton.language import core
from triton.language.extra import libdevice as _declared

from spyrelab.triton.errors import UnsupportedKernelError
from spyrelab.triton.libdevice_table import LIBDEVICE, PREFIX, UNSIGNED, why_not

_FLOATS = ("fp32", "fp16", "bf16")


def _operands(name: str, given: tuple[Any, ...], semantic: Any) -> list[Any]:
    """Operands as tensors; numbers among floats become floats of the same type."""
    tensors = [semantic.to_tensor(argument) for argument in given]
    function = LIBDEVICE.get(PREFIX + name) or LIBDEVICE[UNSIGNED + name]
    if len(tensors) != function.arity:
        raise TypeError(f"libdevice.{name} takes {function.arity} operands, not {len(tensors)}")
    if "fp32" not in function.takes:
        return tensors
    floats = [t.dtype for t in tensors if str(t.dtype) in _FLOATS]
    if not floats:
        return tensors
    # A Python number counts as fp32, but does not widen what it is combined with.
    widest = floats[0]
    for argument, tensor in zip(given, tensors, strict=True):
        known = not isinstance(argument, (int, float)) and tensor.dtype.is_floating()
        if known and not isinstance(argument, core.constexpr):
            widest = tensor.dtype
            break
    fixed = 1 if function.second else None
    return [t if at == fixed else t.to(widest, _semantic=semantic) for at, t in enumerate(tensors)]


def _define(name: str) -> Callable[..., Any]:
    @core.extern
    def function(*arguments: Any, _semantic: Any = None) -> Any:
        tensors = _operands(name, arguments, _semantic)
        types = tuple(tensor.dtype for tensor in tensors)
        first = str(types[0])
        symbol = UNSIGNED + name if UNSIGNED + name in LIBDEVICE and first[0] == "u" else None
        symbol = symbol or PREFIX + name
        known = LIBDEVICE[symbol]
        if first not in known.takes:
            raise UnsupportedKernelError(
                f"libdevice.{name} of {first}", advice=f"it takes {', '.join(known.takes)}"
            )
        result = types[0] if known.gives == "same" else core.dtype(known.gives)
        overloads = {types: (symbol, result)}
        return core.extern_elementwise(
            "", "", tensors, overloads, is_pure=True, _semantic=_semantic
        )

    function.__name__ = function.__qualname__ = name
    return function


def _refuse(name: str) -> Callable[..., Any]:
    @core.extern
    def function(*arguments: Any, _semantic: Any = None) -> Any:
        raise UnsupportedKernelError(f"libdevice.{name}", advice=why_not(name))

    function.__name__ = function.__qualname__ = name
    return function


def _define_all() -> None:
    """Every declared function, under its own name."""
    for name, declared in vars(_declared).items():
        if callable(declared) and not name.startswith("_"):
            has = PREFIX + name in LIBDEVICE
            globals()[name] = _define(name) if has else _refuse(name)


_define_all()
