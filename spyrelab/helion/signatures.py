"""Arguments of a Helion kernel from a text: shapes and types of tensors, and numbers."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

import torch

from spyrelab.errors import UsageError
from spyrelab.ktir.errors import did_you_mean

__all__ = ["HOW", "read_arguments"]

HOW = "x=fp16[64,128] (a tensor), i=i32(0,3,8) (its values), n=4, eps=1e-6, e=relu (in the file)"

_TYPES: dict[str, torch.dtype] = {
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "i1": torch.bool,
    **{f"i{bits}": getattr(torch, f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": getattr(torch, f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{
        name: getattr(torch, name)
        for name in ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2",
                     "bool")
    },
    **{f"{sign}int{bits}": getattr(torch, f"{sign}int{bits}")
       for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
"""As Triton writes them, and as torch does."""


def read_arguments(kernel: Any, text: str | None, names: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a kernel is called with; tensors on the card, zero where no values are given.

    Parameters
    ----------
    kernel : helion.Kernel
    text
        Items between commas, by place or as ``NAME=ITEM``, see `HOW`. ``fp16[64,128].T`` is a
        view of that tensor; lists, tuples and dicts hold items.
    names
        What other words of the text stand for: the globals of the kernel's file.

    Raises
    ------
    UsageError
        An argument is missing or unknown, or an item cannot be read; the message shows how.
    """
    signature = inspect.signature(kernel.fn)
    call = _parsed(text or "")
    reader = _Reader(names)
    try:
        bound = signature.bind(
            *map(reader.item, call.args),
            **{str(word.arg): reader.item(word.value) for word in call.keywords},
        )
    except TypeError as error:
        parameters = signature.parameters.values()
        sample = ",".join(
            f"{p.name}={_likely(p)}" for p in parameters if p.default is inspect.Parameter.empty
        )
        raise UsageError(
            f"kernel {kernel.name!r} takes {', '.join(map(str, parameters))}: {error};"
            f" say what each is with --signature, such as '{sample}'"
        ) from None
    bound.apply_defaults()
    return tuple(bound.arguments.values())


def _likely(parameter: inspect.Parameter) -> str:
    """What a message shows for a parameter."""
    kind = str(getattr(parameter.annotation, "__name__", parameter.annotation))
    return {"float": "1.0", "int": "1", "bool": "True", "dtype": "fp16", "str": "'text'"}.get(
        kind, "fp16[64,128]"
    )


def _parsed(text: str) -> ast.Call:
    try:
        call = ast.parse(f"_({text})", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"--signature {text!r}: {error.args[0]}; write as in {HOW}") from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise UsageError(f"--signature {text!r} is no list of arguments; write as in {HOW}")
    return call


class _Reader:
    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def item(self, node: ast.expr) -> Any:
        """The value of one item."""
        match node:
            case ast.Subscript(ast.Name(name), size):
                return self._tensor(node, name, size)
            case ast.Call(ast.Name(name), args, []):
                return self._values(node, name, args)
            case ast.Attribute(ast.Name("torch"), name) if name in _TYPES:
                return _TYPES[name]
            case ast.Attribute(value, "T" | "mT" as view):
                inner = self.item(value)
                if not isinstance(inner, torch.Tensor):
                    raise _unreadable(node, f"only a tensor has .{view}")
                return getattr(inner, view)
            case ast.Name(name):
                return self._named(node, name)
            case ast.List(items):
                return [self.item(inner) for inner in items]
            case ast.Tuple(items):
                return tuple(self.item(inner) for inner in items)
            case ast.Dict(keys, values) if None not in keys:
                pairs = zip(keys, values, strict=True)
                return {self.item(key): self.item(value) for key, value in pairs if key}
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise _unreadable(node, f"write as in {HOW}") from None

    def _tensor(self, node: ast.expr, name: str, size: ast.expr) -> torch.Tensor:
        shape = self.item(size)
        shape = shape if isinstance(shape, tuple) else (shape,)
        if any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in shape):
            raise _unreadable(node, "a shape is whole numbers between commas")
        return torch.zeros(shape, dtype=_type(node, name), device="spyre")

    def _values(self, node: ast.expr, name: str, args: list[ast.expr]) -> torch.Tensor:
        found = [self.item(value) for value in args]
        kind = _type(node, name)
        try:
            return torch.tensor(found, dtype=kind).to("spyre")
        except (TypeError, ValueError, RuntimeError) as error:
            raise _unreadable(node, str(error).splitlines()[0]) from None

    def _named(self, node: ast.expr, name: str) -> Any:
        if name in _TYPES:
            return _TYPES[name]
        if name in self.names:
            return self.names[name]
        known = [*_TYPES, *(word for word in self.names if not word.startswith("_"))]
        hint = did_you_mean(name, known) or f"write as in {HOW}"
        raise _unreadable(node, f"neither a type nor a name in the file; {hint}")


def _type(node: ast.expr, name: str) -> torch.dtype:
    if name not in _TYPES:
        hint = did_you_mean(name, _TYPES) or f"there are {', '.join(_TYPES)}"
        raise _unreadable(node, f"no type {name!r}; {hint}")
    return _TYPES[name]


def _unreadable(node: ast.expr, why: str) -> UsageError:
    return UsageError(f"--signature: {ast.unparse(node)}: {why}")
