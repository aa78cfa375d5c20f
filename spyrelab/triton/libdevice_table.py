"""Every function of `triton.language.extra.libdevice` that the card computes.

The front end calls them by our symbols, which `recipe_of` turns into operations of KTIR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from spyrelab.ktir import F32, Builder
from spyrelab.triton.errors import UnsupportedKernelError
from spyrelab.triton.libdevice_floats import FLOATS, TESTS
from spyrelab.triton.libdevice_integers import INTEGERS, WIDE
from spyrelab.triton.libdevice_special import SPECIAL
from spyrelab.triton.libdevice_values import Words

__all__ = ["LIBDEVICE", "PREFIX", "UNSIGNED", "LibdeviceFunction", "recipe_of", "why_not"]

PREFIX = "spyrelab_"
UNSIGNED = "spyrelab_u_"
"""What symbols of functions of unsigned numbers begin with."""

_FLOATS = ("fp32", "fp16", "bf16")
_SIGNED, _UNSIGNED = ("int32", "int64"), ("uint32", "uint64")


@dataclass(frozen=True)
class LibdeviceFunction:
    """One function.

    Attributes
    ----------
    arity : int
    takes : tuple of str
        Triton's types that the first operand may have; the other operands share it.
    gives : str
        Triton's type of the result; ``"same"`` as the first operand.
    recipe : callable
        Of `Words` and the operands.
    second : str
        Triton's type of the second operand where it is another.
    """

    arity: int
    takes: tuple[str, ...]
    gives: str
    recipe: Callable[..., Any]
    second: str = ""


def _table() -> dict[str, LibdeviceFunction]:
    made: dict[str, LibdeviceFunction] = {}
    for name, (arity, recipe) in FLOATS.items():
        second = "int32" if name in ("ldexp", "scalbn") else ""
        made[PREFIX + name] = LibdeviceFunction(arity, _FLOATS, "same", recipe, second)
    for name, recipe in SPECIAL.items():
        made[PREFIX + name] = LibdeviceFunction(1, _FLOATS, "same", recipe)
    for name, (gives, recipe) in TESTS.items():
        made[PREFIX + name] = LibdeviceFunction(1, _FLOATS, gives, recipe)
    for name, (arity, gives, signed, unsigned) in INTEGERS.items():
        made[PREFIX + name] = LibdeviceFunction(arity, _SIGNED, gives, signed)
        made[UNSIGNED + name] = LibdeviceFunction(arity, _UNSIGNED, gives, unsigned)
    for name, (takes, gives, recipe) in WIDE.items():
        made[PREFIX + name] = LibdeviceFunction(1, (takes,), gives, recipe)
    both = (*_FLOATS, *_SIGNED)
    made[PREFIX + "abs"] = LibdeviceFunction(1, both, "same", _absolute)
    return made


def _absolute(w: Words, x: Any) -> Any:
    return w.math("absf" if x.dtype.is_float else "absi", x)


LIBDEVICE: dict[str, LibdeviceFunction] = _table()
"""Symbol, as `tt.extern_elementwise` names it: the function."""


def recipe_of(symbol: str) -> Callable[[Builder, Sequence[Any]], Any]:
    """What lowers a call of a library function: takes a builder and the operands' handles.

    Symbols of CUDA's own libdevice (``__nv_expf``) are understood as well. Operands of 16 bits
    are widened to f32, and the result is rounded once.

    Raises
    ------
    UnsupportedKernelError
        There is no such function.
    """
    function = LIBDEVICE.get(symbol) or _from_cuda(symbol)
    if function is None:
        name = symbol.removeprefix("__nv_").removeprefix(PREFIX)
        raise UnsupportedKernelError(f"libdevice function {symbol!r}", advice=why_not(name))

    def lower(builder: Builder, operands: Sequence[Any]) -> Any:
        first = operands[0].dtype
        narrow = first.is_float and first.bits < 32
        wide = [x.to(F32) if x.dtype.is_float else x for x in operands] if narrow else operands
        result = function.recipe(Words(builder), *wide)
        return result.to(first) if narrow and function.gives == "same" else result

    return lower


_CUDA_INTEGERS = {
    "clzll": "clz",
    "popcll": "popc",
    "brevll": "brev",
    "ffsll": "ffs",
    "mul64hi": "mulhi",
    "llabs": "abs",
    "fabsf": "abs",
    "umulhi": "u_mulhi",
    "umul64hi": "u_mulhi",
    "umul24": "u_mul24",
    "usad": "u_sad",
    "uhadd": "u_hadd",
    "urhadd": "u_rhadd",
    "signbitf": "signbit",
    "powif": "pow",
}


def _from_cuda(symbol: str) -> LibdeviceFunction | None:
    """The function behind a symbol of CUDA's libdevice."""
    name = symbol.removeprefix("__nv_")
    if name == symbol:
        return None
    name = _CUDA_INTEGERS.get(name, name)
    tries = (name, name.removesuffix("f"), name.replace("f_rn", "_rn"), name.removeprefix("f"))
    return next((LIBDEVICE[PREFIX + t] for t in tries if PREFIX + t in LIBDEVICE), None)


def why_not(name: str) -> str:
    """Why the card has no such function, and what to use instead."""
    if name.endswith(("_rz", "_rd", "_ru")):
        return f"the card rounds to nearest: use {name[:-3]}_rn"
    if "double" in name or name in ("rcp64h", "isfinited"):
        return "the card has no fp64: compute in fp32"
    if name in ("jn", "yn"):
        return "use j0, j1, y0, y1 and the recurrence"
    return "use a function of tl.math, or write it in terms of those"
