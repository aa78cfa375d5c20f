"""From nodes of Inductor's IR to calls, and from calls to the text that evaluates to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import sympy
import torch
from torch._inductor import ir
from torch._inductor.utils import convert_shape_to_inductor
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from spyrelab.inductor.calls import Call, Of
from spyrelab.inductor.internals import V

__all__ = ["Unspeakable", "call_of", "results_of", "size_symbols", "spell", "view_of"]


class Unspeakable(Exception):  # noqa: N818 - an answer more than an error
    """An argument that cannot be written down."""


def view_of(node: Any) -> Of:
    """An operand as a view of a named buffer."""
    if not isinstance(node, ir.IRNode) or not ir.is_storage_and_layout(node):
        raise Unspeakable(f"an operand that is a {type(node).__name__}")
    layout = node.get_layout()
    name = node.get_name()
    return Of(name, tuple(layout.size), tuple(layout.stride), layout.offset)


def results_of(kernel: Any) -> tuple[Any, ...]:
    """The buffers that hold a kernel's results in order; None for a result that is no tensor."""
    leaves = tree_leaves(kernel.outputs)
    return tuple(leaf if isinstance(leaf, ir.MultiOutput) else None for leaf in leaves)


def call_of(kernel: Any) -> Call:
    """A kernel as a call, sizes in symbols.

    Raises
    ------
    Unspeakable
        An argument cannot be written down.
    """
    views = [view_of(node) for node in kernel.inputs]
    args, kwargs = kernel.unflatten_args(views, kernel.constant_args)
    kwargs = {**kernel.kwargs, **kwargs}
    results = tuple(None if result is None else view_of(result) for result in results_of(kernel))
    return Call(str(kernel.op_overload), tuple(args), kwargs, results, kernel.hint)


def _expression(value: Any) -> Any:
    """A size as an expression, whatever wraps it."""
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return (
            convert_shape_to_inductor([value])[0]
            if isinstance(value, torch.SymInt)
            else (value.node.expr)
        )
    return value


def size_symbols(value: Any) -> set[sympy.Symbol]:
    """The symbols in anything that a call holds."""
    if isinstance(value, Call):
        return size_symbols((value.args, dict(value.kwargs), value.results))
    if isinstance(value, Of):
        return size_symbols((*value.size, *value.stride, value.offset))
    if isinstance(value, Mapping):
        return size_symbols(tuple(value.values()))
    if isinstance(value, list | tuple):
        return set().union(*(size_symbols(item) for item in value))
    value = _expression(value)
    return set(value.free_symbols) if isinstance(value, sympy.Basic) else set()


def spell(value: Any) -> str:
    """Text that evaluates to a value.

    Raises
    ------
    Unspeakable
        There is none.
    """
    value = _expression(value)
    for kinds, how in _SPELLINGS:
        if isinstance(value, kinds):
            return how(value)
    raise Unspeakable(f"an argument that is a {type(value).__name__}")


def _sequence(value: Any) -> str:
    inside = ", ".join(spell(item) for item in value)
    if isinstance(value, list):
        return f"[{inside}]"
    return f"({inside},)" if len(value) == 1 else f"({inside})"


def _view(value: Of) -> str:
    offset = f", {spell(value.offset)}" if value.offset != 0 else ""
    return f"Of({value.name!r}, {spell(value.size)}, {spell(value.stride)}{offset})"


def _mapping(value: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{key!r}: {spell(item)}" for key, item in value.items()) + "}"


def _call(value: Call) -> str:
    parts = [repr(value.op), spell(value.args), spell(value.kwargs), spell(value.results)]
    parts += [f"hint={spell(value.hint)}"] if value.hint else []
    return f"Call({', '.join(parts)})"


def _float(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'


_SPELLINGS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    (sympy.Basic, lambda value: V.graph.wrapper_code.codegen_python_sizevar(value)),
    (float, _float),
    ((bool, int, str, complex, type(None)), repr),
    (torch.device, lambda value: f"torch.device({str(value)!r})"),
    ((torch.dtype, torch.layout, torch.memory_format), str),
    (Of, _view),
    (Call, _call),
    ((list, tuple), _sequence),
    (Mapping, _mapping),
)


def evaluated(call: Call, value_of: Callable[[Any], Any]) -> Call:
    """A call with a number in place of every expression."""

    def number(value: Any) -> Any:
        if isinstance(value, Of):
            sizes = (tuple(map(number, value.size)), tuple(map(number, value.stride)))
            return Of(value.name, *sizes, number(value.offset))
        value = _expression(value)
        return value_of(value) if isinstance(value, sympy.Basic) else value

    leaves, spec = tree_flatten((call.args, dict(call.kwargs), call.results))
    args, kwargs, results = tree_unflatten([number(leaf) for leaf in leaves], spec)
    return Call(call.op, args, kwargs, results, call.hint)
