"""Tile functions that are compiled apart and called by address.

numba links the code of every callee into its caller and optimises all of it again. With some
two hundred tile loops below the VM that would multiply the compile time by the depth of the call
graph. A function decorated with `tile_function` is instead compiled once, on its own; compiled
callers hold a symbol for the place of its address and read that place when they run.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import core, extending, njit, types
from numpy.typing import NDArray

cgutils: Any = core.cgutils
typing: Any = core.typing
_lower_builtin: Any = extending.lower_builtin
_type_callable: Any = extending.type_callable

_functions: dict[str, tuple[Any, tuple[types.Type, ...], ctypes.c_int64]] = {}
_on_demand: set[str] = set()

INT = types.int64
INTS, FLOATS = types.Array(types.int64, 1, "C"), types.Array(types.float32, 1, "C")
BYTES, WORDS = types.Array(types.uint8, 1, "C"), types.Array(types.uint16, 1, "C")


Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


def tile_function(
    *arguments: types.Type, on_demand: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function of these argument types callable from Python and from compiled code.

    It returns nothing and raises nothing. Compiled callers fail with RuntimeError unless
    `load` ran before; one that is compiled ``on_demand`` must be named there.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        dispatcher = njit(nogil=True, error_model="numpy", cache=True)(function)
        name, address = function.__name__, ctypes.c_int64(0)
        llvm.add_symbol(_symbol(name), ctypes.addressof(address))
        _functions[name] = dispatcher, arguments, address
        if on_demand:
            _on_demand.add(name)

        def tile(*values: Any) -> None:
            load(name)
            dispatcher(*values)

        tile.__name__, tile.__doc__ = name, function.__doc__
        tile.__module__ = function.__module__
        _teach_numba(tile, inspect.signature(function), arguments)
        return tile

    return decorate


def load(*on_demand: str) -> None:
    """Compile every tile function, or read it from numba's cache, and publish its address."""
    for name, (dispatcher, arguments, address) in _functions.items():
        if address.value == 0 and (name in on_demand or name not in _on_demand):
            dispatcher.compile(arguments)
            result = dispatcher.overloads[arguments]
            symbol = result.fndesc.llvm_func_name
            address.value = result.library.get_pointer_to_function(symbol)


def _symbol(name: str) -> str:
    return f"spyrelab_tile_{name}"


def _teach_numba(
    tile: Callable[..., None],
    parameters: inspect.Signature,
    arguments: tuple[types.Type, ...],
) -> None:
    @_type_callable(tile)
    def type_tile(context: Any) -> Any:
        def typer(*values: Any) -> Any:
            return (
                typing.signature(types.none, *arguments) if len(values) == len(arguments) else None
            )

        typer.pysig = parameters  # type: ignore[attr-defined]
        return typer

    @_lower_builtin(tile, *arguments)
    def lower_tile(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        function_type = context.call_conv.get_function_type(types.none, arguments)
        address = _load_address(builder, _symbol(tile.__name__))
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, address)):
            message = ("the tile functions are not loaded: call linkage.load() first",)
            context.call_conv.return_user_exc(builder, RuntimeError, message)
        callee = builder.inttoptr(address, function_type.as_pointer())
        # The hidden first two arguments are places for a result and for an exception.
        places = [cgutils.alloca_once(builder, kind.pointee) for kind in function_type.args[:2]]
        packed = context.get_arg_packer(arguments).as_arguments(builder, values)
        builder.call(callee, [*places, *packed])
        return context.get_dummy_value()


def _load_address(builder: Any, symbol: str) -> Any:
    module = builder.module
    place = module.globals.get(symbol)
    if place is None:
        place = ir.GlobalVariable(module, ir.IntType(64), symbol)
        place.linkage = "external"
    return builder.load(place)
