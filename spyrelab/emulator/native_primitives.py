"""`spyrelab.emulator.primitives` for compiled scalars: each is a few machine instructions.

They are emitted without fast-math flags, so nothing is contracted or reassociated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import core, extending, njit, types

_function: Any = core.cgutils.get_or_insert_function
intrinsic: Any = extending.intrinsic
"""numba's decorator, seen as untyped."""

_SINGLE, _DOUBLE = ir.FloatType(), ir.DoubleType()
_I32, _I64 = ir.IntType(32), ir.IntType(64)


COMPILED: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
"""Options of functions that only compiled code calls: they need no wrappers for other callers."""


def _float_intrinsic(name: str) -> Any:
    def primitive(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            declared = builder.module.declare_intrinsic(name, [args[0].type])
            return builder.call(declared, [args[0]])

        return x(x), codegen

    primitive.__name__ = name.rpartition(".")[2]
    return intrinsic(primitive)


floor = _float_intrinsic("llvm.floor")
ceil = _float_intrinsic("llvm.ceil")
trunc = _float_intrinsic("llvm.trunc")
rint = _float_intrinsic("llvm.rint")
sqrt = _float_intrinsic("llvm.sqrt")
absolute = _float_intrinsic("llvm.fabs")


@intrinsic
def prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index]`` ahead of its use; any index is harmless."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        place = builder.gep(data, [args[1]])
        pointer = builder.bitcast(place, ir.IntType(8).as_pointer())
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, word, word, word])
        callee = _function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(callee, [pointer, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.none(array, index), codegen


def _bitcast_intrinsic(argument: Any, result: Any, target: ir.Type) -> Any:
    @intrinsic
    def primitive(typingctx: Any, x: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], target)

        return result(argument), codegen

    return primitive


bits32 = _bitcast_intrinsic(types.float32, types.int32, _I32)
bits64 = _bitcast_intrinsic(types.float64, types.int64, _I64)
float64_of = _bitcast_intrinsic(types.int64, types.float64, _DOUBLE)


def _low_bits(builder: Any, value: Any) -> Any:
    return builder.trunc(value, _I32) if value.type.width > 32 else value


@intrinsic
def float32_of(typingctx: Any, pattern: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(_low_bits(builder, args[0]), _SINGLE)

    return types.float32(pattern), codegen


@intrinsic
def int32(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _low_bits(builder, args[0])

    return types.int32(x), codegen


@intrinsic
def widen(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if isinstance(x, types.Integer):
            return builder.sitofp(args[0], _DOUBLE)
        return builder.fpext(args[0], _DOUBLE)

    return types.float64(x), codegen


@intrinsic
def narrow(typingctx: Any, x: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fptrunc(args[0], _SINGLE)

    return types.float32(types.float64), codegen


@intrinsic
def select(typingctx: Any, condition: Any, chosen: Any, other: Any) -> Any:
    """``chosen`` where ``condition``, else ``other``, as one instruction and without a branch."""
    unified = typingctx.unify_types(chosen, other)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(args[0], args[1], args[2])

    return unified(types.boolean, unified, unified), codegen


@intrinsic
def horner(typingctx: Any, x: Any, coefficients: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, parts = args
        result = builder.extract_value(parts, 0)
        for index in range(1, len(coefficients)):
            product = builder.fmul(result, value)
            result = builder.fadd(product, builder.extract_value(parts, index))
        return result

    return x(x, coefficients), codegen


@intrinsic
def remainder(typingctx: Any, x: Any, y: Any) -> Any:
    """C's fmod, which is exact."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.frem(args[0], args[1])

    return x(x, x), codegen


def inlined(function: Any) -> Any:
    """A compiled scalar operation that is always inlined into its loop."""
    return njit(**COMPILED, forceinline=True)(function)


@inlined
def take(table: Any, index: Any) -> Any:
    return table[index]


PRIMITIVES: dict[str, Callable[..., Any]] = {
    "trunc": trunc,
    "rint": rint,
    "sqrt": sqrt,
    "absolute": absolute,
    "bits32": bits32,
    "bits64": bits64,
    "float32_of": float32_of,
    "float64_of": float64_of,
    "int32": int32,
    "widen": widen,
    "narrow": narrow,
    "select": select,
    "horner": horner,
    "take": take,
}
"""The compiled counterpart of every name of `spyrelab.emulator.primitives`."""
