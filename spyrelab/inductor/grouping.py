"""After fusion: maximal runs of native operations, each one node of the schedule."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import torch
from torch._inductor import ir
from torch._inductor.custom_graph_pass import CustomSchedulerPass
from torch._inductor.scheduler import BaseSchedulerNode, FusedSchedulerNode, init_group_node

from spyrelab.inductor.cache import sources
from spyrelab.inductor.internals import V
from spyrelab.inductor.lowerings import SpyreKernel
from spyrelab.inductor.nativeness import Survey, bytes_of
from spyrelab.inductor.observing import watchers

__all__ = ["GroupRuns", "Run"]

_log = logging.getLogger("spyrelab.inductor")


class Run(FusedSchedulerNode):
    """Native operations that nothing comes between.

    Attributes
    ----------
    survey : Survey
        What is known of the graph's buffers.
    """

    def __init__(self, scheduler: Any, snodes: list[BaseSchedulerNode], survey: Survey) -> None:
        # The plain constructor wants loops, which no operation of ours is.
        super(FusedSchedulerNode, self).__init__(scheduler)
        init_group_node(self, scheduler, snodes)
        self.users = []
        device: Any = snodes[0].get_device()
        self.group = (device, ((1,), (1,)))
        self.survey = survey

    @property
    def kernels(self) -> list[Any]:
        """The operations."""
        return [node.node for node in self.snodes if isinstance(node.node, SpyreKernel)]


class GroupRuns(CustomSchedulerPass):
    """Makes the runs, as long as dependencies allow; the rest keeps its order."""

    def __call__(self, nodes: list[BaseSchedulerNode]) -> list[BaseSchedulerNode]:
        """The new schedule."""
        survey = Survey(nodes)
        for kernel in [node.node for node in nodes if isinstance(node.node, SpyreKernel)]:
            reason = survey.reasons.get(kernel.get_name())
            if reason is not None:
                kernel.reason = reason
                _report(kernel, reason)
                for seen in watchers:
                    seen.others.append((str(kernel.op_overload), reason))
        made: list[BaseSchedulerNode] = []
        for native, part in _parts(nodes, survey):
            made += [Run(part[0].scheduler, part, survey)] if native else part
        return made

    def uuid(self) -> Any:
        """For cache keys."""
        return sources()


def _report(kernel: Any, reason: str) -> None:
    """One line on an operation that leaves the card, unless the host is where it belongs."""
    leaves = "has no kernel" in reason and not _is_random(kernel.op_overload)
    frames = [node.meta.get("stack_trace") for node in kernel.get_origins()]
    lines = [line.strip() for text in frames if text for line in text.splitlines()]
    where = next((line for line in reversed(lines) if line.startswith("File")), "no source line")
    _log.log(
        logging.WARNING if leaves else logging.INFO,
        "%s (%s) is not compiled: %s; each call moves %s bytes",
        kernel.op_overload,
        where,
        reason,
        f"{bytes_of(kernel):,}",
    )


def _is_random(op: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in op.tags


def _is_part(node: BaseSchedulerNode, survey: Survey) -> bool:
    inner: Any = node.node
    if isinstance(inner, ir.MultiOutput):
        inner = inner.inputs[0]
    return survey.is_native(inner)


def _parts(
    nodes: Sequence[BaseSchedulerNode], survey: Survey
) -> list[tuple[bool, list[BaseSchedulerNode]]]:
    """The nodes in an order with few changes between native ones and others."""
    waiting = list(nodes)
    done: set[str] = {*V.graph.graph_inputs, *V.graph.constants}
    everything = {name for node in nodes for name in node.get_buffer_names()}
    parts: list[tuple[bool, list[BaseSchedulerNode]]] = []
    native = True
    while waiting:
        taken: list[BaseSchedulerNode] = []
        left: list[BaseSchedulerNode] = []
        for node in waiting:
            needs = {dep.name for dep in node.unmet_dependencies} & everything
            # What is not native may have an order of its own: random numbers, prints.
            blocked = not native and any(not _is_part(other, survey) for other in left)
            if _is_part(node, survey) == native and needs <= done and not blocked:
                taken.append(node)
                done |= set(node.get_buffer_names())
            else:
                left.append(node)
        if taken:
            parts.append((native, taken))
        waiting, native = left, not native
    return parts
