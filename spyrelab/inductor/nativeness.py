"""Which nodes the device can do by programs alone, found out by recording each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy
import torch
from torch._inductor import ir

from spyrelab.device.eager.recording import NeedsValues
from spyrelab.device.errors import DeviceError
from spyrelab.device.forms import form_of
from spyrelab.inductor.graphs import current
from spyrelab.inductor.internals import V
from spyrelab.inductor.literals import Unspeakable, call_of, evaluated, results_of
from spyrelab.inductor.lowerings import SpyreKernel
from spyrelab.inductor.recorded import Given, record_one
from spyrelab.opspec import Unsupported

__all__ = ["Survey", "hint"]


def hint(value: Any) -> Any:
    """The number that an expression had when the graph was traced."""
    if not isinstance(value, sympy.Basic):
        return value
    known = V.graph.sizevars.shape_env.backed_var_to_val
    number = value.xreplace({symbol: known.get(symbol, symbol) for symbol in value.free_symbols})
    if number.free_symbols:
        raise Unspeakable("a size that only values tell")
    if number in (sympy.true, sympy.false):
        return bool(number)
    return int(number) if number.is_integer else float(number)


class Survey:
    """What each node of a graph is, in order.

    Attributes
    ----------
    given : dict
        Buffer: how it lies in device memory, as far as can be known.
    reasons : dict
        Name of each node that is no run of programs: why.
    """

    def __init__(self, nodes: Sequence[Any]) -> None:
        self.given: dict[str, Given] = dict(_inputs())
        self.reasons: dict[str, str] = {}
        for node in nodes:
            if isinstance(node.node, SpyreKernel):
                reason = self._record(node.node)
                if reason is not None:
                    self.reasons[node.node.get_name()] = reason

    def is_native(self, kernel: Any) -> bool:
        """Whether a kernel is a run of programs."""
        return isinstance(kernel, SpyreKernel) and kernel.get_name() not in self.reasons

    def _record(self, kernel: Any) -> str | None:
        results = [result for result in results_of(kernel) if result is not None]
        try:
            call = evaluated(call_of(kernel), hint)
            if any(node.get_device().type != "spyre" for node in (*kernel.inputs, *results)):
                raise Unspeakable("an operand on another device")
            names = [node.get_name() for node in kernel.inputs]
            self.given.update(record_one(call, {name: self._of(name) for name in names}))
        except (Unspeakable, NeedsValues, Unsupported, DeviceError) as error:
            self.given.update({r.get_name(): _default(r.get_layout()) for r in results})
            return str(error)
        return None

    def _of(self, name: str) -> Given:
        if name not in self.given:
            buffer = V.graph.get_buffer(name)
            self.given[name] = _default(buffer.get_layout())
        return self.given[name]


def _default(layout: Any) -> Given:
    size, stride = tuple(map(hint, layout.size)), tuple(map(hint, layout.stride))
    return Given(form_of(size, stride, layout.dtype), size, stride, 0, layout.dtype)


def _inputs() -> Iterator[tuple[str, Given]]:
    """Inputs of the graph whose real tensors were seen when it was compiled.

    AOTAutograd's names tell which of Dynamo's inputs one is; where it has changed their order, a
    bundle notices at its first launch.
    """
    known = current().inputs
    nodes: dict[str, Any] = V.graph.graph_inputs
    for name, node in nodes.items():
        device = node.get_device() if isinstance(node, ir.TensorBox) else None
        if device is None or device.type != "spyre":
            continue
        given = _default(node.get_layout())
        number = _position(name)
        if number is not None and number < len(known) and known[number] is not None:
            form, offset = known[number]
            if form.dtype.itemsize == given.dtype.itemsize and _reaches(form, given, offset):
                given = Given(form, given.size, given.stride, offset, given.dtype)
        yield name, given


def _position(name: str) -> int | None:
    for prefix, first in (("primals_", 1), ("arg", 0)):
        digits = name.removeprefix(prefix).removesuffix("_1" if prefix == "arg" else "")
        if name.startswith(prefix) and digits.isdigit():
            return int(digits) - first
    return None


def _reaches(form: Any, given: Given, offset: int) -> bool:
    last = sum((n - 1) * s for n, s in zip(given.size, given.stride, strict=True))
    return 0 in given.size or (offset + last + 1) * given.dtype.itemsize <= form.host_bytes


def bytes_of(kernel: Any) -> int:
    """What crosses the link to the host when a kernel runs there."""
    nodes = [*kernel.inputs, *(result for result in results_of(kernel) if result is not None)]
    total = 0
    for node in nodes:
        if node.get_device() is not None and node.get_device().type == "spyre":
            layout = node.get_layout()
            size = torch.Size(map(hint, layout.size))
            total += size.numel() * layout.dtype.itemsize
    return total
