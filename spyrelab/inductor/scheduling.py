"""What Inductor asks of a backend when it writes the code of a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy
from torch._inductor.scheduler import BaseScheduling
from torch._inductor.utils import sympy_product

from spyrelab.inductor.bundles import write_bundle
from spyrelab.inductor.errors import CompileError
from spyrelab.inductor.grouping import Run
from spyrelab.inductor.internals import V

__all__ = ["SpyreScheduling"]


class SpyreScheduling(BaseScheduling):
    """Runs of native operations become bundles; nothing is fused before."""

    def group_fn(self, sizes: Sequence[Sequence[sympy.Expr]]) -> Any:
        """One extent for each group of loops."""
        return tuple(V.graph.sizevars.simplify(sympy_product(part)) for part in sizes)

    def can_fuse_vertical(self, node1: Any, node2: Any) -> bool:
        """Fusing is the planner's affair."""
        return False

    def can_fuse_horizontal(self, node1: Any, node2: Any) -> bool:
        """Fusing is the planner's affair."""
        return False

    def codegen_node(self, node: Any) -> None:
        """Write a run.

        Raises
        ------
        CompileError
            The node is a loop, which no operation becomes.
        """
        if not isinstance(node, Run):
            raise CompileError(f"Inductor made loops of {node.node}; report it with the graph")
        write_bundle(node)
        self.free_buffers_in_scheduler()

    def codegen_template(
        self,
        template_node: Any,
        epilogue_nodes: Sequence[Any],
        prologue_nodes: Sequence[Any],
        **settings: Any,
    ) -> Any:
        """Write a kernel that others have generated in Triton, as Inductor does for GPUs."""
        from torch._inductor.codegen.triton import TritonScheduling

        theirs: Any = TritonScheduling(self.scheduler)
        return theirs.codegen_template(template_node, epilogue_nodes, prologue_nodes, **settings)

    def codegen_sync(self) -> None:
        """A launch returns when it is done."""

    def flush(self) -> None:
        """Nothing is held back."""
