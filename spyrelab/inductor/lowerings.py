"""One node of Inductor's IR for each operation: none is turned into loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.utils import convert_shape_to_inductor
from torch.utils._pytree import tree_leaves, tree_map

from spyrelab.inductor.hinting import hint_of
from spyrelab.inductor.internals import V
from spyrelab.inductor.retracing import retraced, traced

__all__ = ["SpyreKernel", "lower"]

aten = torch.ops.aten

_LEFT_ALONE = {
    "aten::sym_size",
    "aten::sym_stride",
    "aten::sym_numel",
    "aten::sym_storage_offset",
    "aten::_local_scalar_dense",
    "aten::_assert_scalar",
    "aten::_assert_async",
    "aten::_assert_tensor_metadata",
    "aten::set_",
    "aten::resize_",
    "aten::nonzero",
}
"""Operations on sizes, and those whose results have sizes that only their values tell."""

_PRIMS = {"prims::convert_element_type", "prims::device_put"}
"""What passes of torch put into graphs beside operations of ATen."""

_ALIASES = {"aten::_unsafe_view", "aten::_reshape_alias"}
"""Views that do not say so in their schema."""

_NOT_STRIDED = {"aten::_conj", "aten::_neg_view", "aten::view.dtype", "aten::view_as_real"}
_NOT_STRIDED |= {"aten::view_as_complex"}
"""Views that are more than other sizes and strides of the same elements."""


class SpyreKernel(ir.FallbackKernel):
    """An operation on tensors as a call; a run of native ones becomes one bundle.

    Attributes
    ----------
    reason : str or None
        Why it is not native.
    hint : mapping or None
        What the user wishes.
    """

    reason: str | None = None
    hint: Any = None

    def codegen(self, wrapper: Any) -> None:
        """Write the call, and above it why it is not part of a bundle."""
        if self.reason is not None:
            wrapper.writeline(f"# not native: {self.reason}")
        super().codegen(wrapper)


class Result(ir.MultiOutput):
    """A result of a call, with the strides that tracing foresaw."""

    def codegen_size_asserts(self, wrapper: Any) -> None:
        """Instead of asking for strides, see to them."""
        layout, name = self.get_layout(), self.get_name()
        size, stride = map(wrapper.codegen_python_shape_tuple, (layout.size, layout.stride))
        wrapper.writeline(f"{name} = spyre.settled({name}, {size}, {stride})")


def lower(target: Any, args: Any, kwargs: Any, plain: Callable[..., Any]) -> Any:
    """What an operation becomes; ``plain`` is what Inductor would have made of it."""
    kinds: Any = torch._ops
    if isinstance(target, kinds.OpOverloadPacket) and "default" in target.overloads():
        # Passes of torch put packets into graphs as well.
        target = target.default
    if not isinstance(target, kinds.OpOverload):
        return plain(target, args, kwargs)
    name = target.name()
    ours = target.namespace == "aten" or name in _PRIMS
    if not ours or name.partition(".")[0] in _LEFT_ALONE:
        return plain(target, args, kwargs)
    if _is_view(target, name):
        viewed = _views(args[0])
        if viewed is not None:
            return viewed
    return _kernel(target, args, kwargs)


def _is_view(target: Any, name: str) -> bool:
    if name in _NOT_STRIDED:
        return False
    infos = [returned.alias_info for returned in target._schema.returns]
    return name in _ALIASES or any(info is not None and not info.is_write for info in infos)


def _kernel(target: Any, args: Any, kwargs: Any) -> Any:
    written = _written(target, args, kwargs)
    for node in written:
        V.graph.mark_buffer_mutated(node.get_name())
    made = SpyreKernel.create(target, *args, **kwargs)

    hint = hint_of(V.graph.current_node)

    def wrapped(node: Any) -> Any:
        if isinstance(node, ir.MultiOutput):
            node.__class__ = Result
            kernel: Any = node.inputs[0]
            kernel.hint = hint
        return node.wrap_for_lowering() if isinstance(node, ir.IRNode) else node

    made = tree_map(wrapped, made)
    # An operation in place is its operand, whatever it returns.
    return args[0] if written and (made is None or _returns_first(target)) else made


def _returns_first(target: Any) -> bool:
    return bool(torch._library.utils.mutates_and_returns_first_arg(target))


def _written(target: Any, args: Any, kwargs: Any) -> list[Any]:
    """The tensors that an operation writes into."""
    found: list[Any] = []
    for info, value in torch._library.utils.zip_schema(target._schema, args, kwargs):
        if info.alias_info is not None and info.alias_info.is_write:
            found += [leaf for leaf in tree_leaves(value) if isinstance(leaf, ir.IRNode)]
    return found


def _views(base: Any) -> Any:
    """Each result of the current node as a strided view of its first operand, if that has strides.

    Sizes and strides are those of tracing: every node of ours has the strides that it had there.
    """
    if not isinstance(base, ir.TensorBox):
        return None
    node = V.graph.current_node
    given = traced(node.args[0])
    base.realize()
    if not isinstance(given, torch.Tensor) or not ir.is_storage_and_layout(base):
        return None
    storage, layout = ir.as_storage_and_layout(base)
    if list(layout.stride) != list(convert_shape_to_inductor(given.stride())):
        return None

    def view(made: torch.Tensor) -> Any:
        if made.dtype != given.dtype:
            return None
        (step,) = convert_shape_to_inductor([made.storage_offset()])
        (start,) = convert_shape_to_inductor([given.storage_offset()])
        reached = ir.FixedLayout(
            layout.device,
            layout.dtype,
            convert_shape_to_inductor(made.size()),
            convert_shape_to_inductor(made.stride()),
            layout.offset + step - start,
        )
        return ir.TensorBox(ir.ReinterpretView(data=storage, layout=reached))

    result = retraced(node)
    if isinstance(result, torch.Tensor):
        return view(result)
    views = [view(made) for made in result]
    return None if None in views else views
