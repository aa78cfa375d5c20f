"""The generated module: Inductor's own, with bundles instead of kernels."""

from __future__ import annotations

from typing import Any

from torch._inductor.codegen.wrapper import PythonWrapperCodegen, SubgraphPythonWrapperCodegen

from spyrelab.inductor.internals import V
from spyrelab.inductor.observing import watchers
from spyrelab.inductor.reach import require_reached

__all__ = ["SpyreWrapper"]


class SpyreWrapper(PythonWrapperCodegen):
    """Writes the module that holds a graph's bundles and calls them."""

    @staticmethod
    def create(
        is_subgraph: bool,
        subgraph_name: str | None,
        parent_wrapper: PythonWrapperCodegen | None,
        partition_signatures: Any = None,
    ) -> Any:
        """A wrapper for a graph, or for a graph inside another one."""
        if is_subgraph:
            inner: Any = SubgraphPythonWrapperCodegen
            return inner(subgraph_name, parent_wrapper, partition_signatures)
        outer: Any = SpyreWrapper
        return outer()

    def generate(self, is_inference: bool) -> Any:
        """Write everything.

        Raises
        ------
        CompileError
            A hint reaches no operation.
        """
        require_reached(V.graph)
        write: Any = super().generate
        made = write(is_inference)
        for seen in watchers:
            seen.codes.append(made[0].value)
        return made

    def write_header(self) -> None:
        """Import what bundles are made of."""
        super().write_header()
        self.header.splice(
            """
            from spyrelab.inductor import runtime as spyre
            from spyrelab.inductor.runtime import Call, Of, Recorded, Step, Storage, View
            from spyrelab.layout import SpyreTensorLayout
            from spyrelab.opspec.spec import Coordinate, OpSpec, TensorArg, Term
            from spyrelab.tiling import Bundle, LoopSpec, Plan
            """,
            strip=True,
        )
