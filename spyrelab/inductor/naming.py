"""Names that users give to the dimensions of tensors, for their hints to use.

A name follows its dimension through the operations of a graph. Before the graph is compiled every
hint is rewritten to the symbols of the operation that it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.fx import traceback

from spyrelab.inductor.errors import CompileError
from spyrelab.inductor.hinting import hint_of, put_hint

__all__ = ["name_dims", "resolve_names"]

_KEY = "spyrelab_dims"

Names = tuple[str | None, ...]
"""The name of each dimension of a tensor; None where it has none."""
Symbols = dict[str, str]
"""The symbol of an operation's iteration space that each name stands for."""


def name_dims(tensor: torch.Tensor, *names: str) -> torch.Tensor:
    """Name the dimensions of a tensor, inside a compiled function.

    >>> x = spyrelab.name_dims(x, "rows", "hidden")  # doctest: +SKIP
    >>> with spyrelab.hint(work_div={"rows": 8}):  # doctest: +SKIP
    ...     y = torch.relu(x) @ w

    Parameters
    ----------
    names
        One for each dimension.

    Returns
    -------
    Tensor
        The same tensor. Use this one: the names are known from here on.

    Raises
    ------
    CompileError
        There are more or fewer names than dimensions, or two alike.
    """
    if len(names) != tensor.dim() or len(set(names)) < len(names):
        raise CompileError(
            f"a tensor of size {list(tensor.shape)} takes {tensor.dim()} different names for its"
            f" dimensions, not {', '.join(names) or 'none'}"
        )
    if not torch.compiler.is_compiling():
        return tensor
    with traceback.annotate({_KEY: names}):
        return tensor.view_as(tensor)


def resolve_names(model: Any) -> None:
    """Rewrite the hints of a graph from names to symbols.

    Raises
    ------
    CompileError
        A hint uses a name that no operation inside it can be divided by.
    """
    if not isinstance(model, torch.fx.GraphModule):
        return
    named: dict[torch.fx.Node, Names] = {}
    lost: dict[str, str] = {}
    reached: set[str] = set()
    for node in model.graph.nodes:
        given = (node.meta.get("custom") or {}).get(_KEY)
        if given is not None and node.op == "call_method":
            named[node] = tuple(given)
        elif node.op in ("call_function", "call_method"):
            symbols, result = _meaning(node, named)
            named[node] = result
            known = {name for names in named.values() for name in names if name}
            found, missed = _rewrite(node, symbols, known)
            reached |= found
            lost.update(dict.fromkeys(missed, _called(node)))
    missing = sorted(set(lost) - reached)
    if missing:
        raise CompileError(
            f"no operation inside its hint can be divided by dimension {', '.join(missing)}:"
            f" {lost[missing[0]]} has no such dimension"
        )


def _rewrite(node: torch.fx.Node, symbols: Symbols, known: set[str]) -> tuple[set[str], set[str]]:
    """Put symbols for the names in a hint; the names that have one, and those that have none."""
    wishes = hint_of(node) or {}
    used = {name for wanted in wishes.values() for name in wanted} & known
    if used:
        made = {
            kind: {
                symbols.get(name, name): count
                for name, count in wanted.items()
                if name in symbols or name not in known
            }
            for kind, wanted in wishes.items()
        }
        put_hint(node, made)
    return used & set(symbols), used - set(symbols)


def _meaning(node: torch.fx.Node, named: Mapping[torch.fx.Node, Names]) -> tuple[Symbols, Names]:
    """What names stand for in an operation, and the names of its result's dimensions."""
    result = _size(node)
    if result is None or not any(named.get(arg) for arg in node.all_input_nodes):
        return {}, ()
    rule = _RULES.get(_called(node), _aligned)
    return rule(node, named, result)


def _called(node: torch.fx.Node) -> str:
    target: Any = node.target
    return target if isinstance(target, str) else getattr(target, "__name__", str(target))


def _size(node: Any) -> tuple[int, ...] | None:
    value = node.meta.get("example_value") if isinstance(node, torch.fx.Node) else None
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def _names(node: Any, named: Mapping[torch.fx.Node, Names], rank: int) -> Names:
    found = named.get(node, ())
    return found if len(found) == rank else (None,) * rank


def _aligned(
    node: torch.fx.Node, named: Mapping[torch.fx.Node, Names], result: tuple[int, ...]
) -> tuple[Symbols, Names]:
    """Operands that broadcast, or one whose dimensions are reduced."""
    sizes = [size for arg in node.all_input_nodes if (size := _size(arg)) is not None]
    rank = max([len(result), *map(len, sizes)])
    symbols: Symbols = {}
    made: list[str | None] = [None] * len(result)
    for arg in node.all_input_nodes:
        own = named.get(arg, ())
        shift = rank - len(own)
        symbols |= {name: f"d{shift + axis}" for axis, name in enumerate(own) if name}
        if _size(arg) == result:
            made = [name or old for name, old in zip(own, made, strict=False)] or made
    return symbols, tuple(made)


def _product(
    node: torch.fx.Node, named: Mapping[torch.fx.Node, Names], result: tuple[int, ...]
) -> tuple[Symbols, Names]:
    left, right = node.args[0], node.args[1]
    sizes = _size(left), _size(right)
    if sizes[0] is None or sizes[1] is None or min(map(len, sizes)) < 2:  # type: ignore[arg-type]
        return {}, ()
    rows = _names(left, named, len(sizes[0]))
    columns = _names(right, named, len(sizes[1]))
    if _called(node) == "linear":
        columns = columns[::-1]
    pairs = [*_leading(rows, sizes[0], len(sizes[1]) == 2), (rows[-1], "K")]
    pairs += [(columns[-2], "K"), (columns[-1], "N")]
    symbols = {name: symbol for name, symbol in pairs if name}
    return symbols, (*rows[:-1], columns[-1])


def _leading(rows: Names, size: tuple[int, ...], is_flat: bool) -> Iterator[tuple[Any, str]]:
    """The left operand's dimensions but the last; flat, they are one, cut along the first."""
    if is_flat:
        first = next((axis for axis, n in enumerate(size[:-1]) if n != 1), len(size) - 2)
        yield rows[first], "M"
        return
    for axis, name in enumerate(rows[:-2]):
        yield name, "B" if len(rows) == 3 else f"B{axis}"
    yield rows[-2], "M"


def _attention(
    node: torch.fx.Node, named: Mapping[torch.fx.Node, Names], result: tuple[int, ...]
) -> tuple[Symbols, Names]:
    if len(node.args) < 3 or len(result) != 4:
        return {}, ()
    query, key, value = (_names(arg, named, 4) for arg in node.args[:3])
    pairs = [*zip(query, "BHMD", strict=True), *zip(key, "BHND", strict=True)]
    pairs += zip(value, "BHNE", strict=True)
    return {name: symbol for name, symbol in pairs if name}, (*query[:3], value[3])


_Rule = Callable[
    [torch.fx.Node, Mapping[torch.fx.Node, Names], tuple[int, ...]], tuple[Symbols, Names]
]
_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("matmul", "mm", "bmm", "linear"), _product),
    "scaled_dot_product_attention": _attention,
}
