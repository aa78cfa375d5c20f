"""Sums of products over shared indices, as a program of matrix products.

Every index is a row (only in A), a column (only in B), a batch entry (in both and in the
result) or summed. Each has spans, the boxes without padding, and each combination of batch,
row and column spans is divided over the cores by itself; the spans of the sum follow each
other.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from spyrelab.ktir.builder import Builder, Scalar
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import ScalarType
from spyrelab.layout.access import Axis
from spyrelab.opspec.contraction_plan import Plan
from spyrelab.opspec.contraction_program import BIAS, LEFT, OUT, RIGHT, Finish, Program
from spyrelab.opspec.errors import Unsuitable, Unsupported
from spyrelab.opspec.spans import MixedDigitsError, Span, common_spans, joined
from spyrelab.opspec.target import Target, target

__all__ = ["MOST_DIGITS", "ROLES", "Contraction", "Index"]

MOST_DIGITS = 8
"""Dimensions of a tile that the virtual machine walks."""

ROLES = ("batch", "rows", "cols", "depth")
_MOST_BLOCKS = 16


@dataclass(frozen=True)
class Index:
    """One index of a contraction: its extent and its axis in A, B, result and bias.

    An operand without the index has an axis of stride 0.
    """

    extent: int
    axes: tuple[Axis, ...]

    def role(self) -> str:
        """What the index is, from the operands that it moves: a name in `ROLES`."""
        left, right, out = (self._moves(i) for i in (LEFT, RIGHT, OUT))
        if not out and self.extent > 1:
            return "depth"
        if left and right:
            return "batch"
        return "cols" if right else "rows"

    @staticmethod
    def by_role(indices: Sequence[Index]) -> tuple[tuple[Index, ...], ...]:
        """Indices sorted into roles, in their order."""
        return tuple(tuple(i for i in indices if i.role() == role) for role in ROLES)

    def _moves(self, operand: int) -> bool:
        return any(digit.stride for digit in self.axes[operand] if digit.count > 1)


@dataclass(frozen=True)
class Contraction:
    """A sum of products to be built.

    Attributes
    ----------
    name : str
        Of the function.
    roles : tuple
        The indices per role in the order batch, rows, columns, depth; outermost first.
    elements : tuple of ScalarType
        Types of A, B, result and, if there is one, bias.
    names : tuple of str
        Names of their pointers.
    positions : tuple of int
        Their positions for `Unsuitable`.
    sticks : bool
        Whether operands have to obey the card's rule for sticks.
    start : int
        Where B begins, in elements from its pointer.
    turned : bool
        Tiles of B are loaded with their columns first: where its inner stride lies in the sum.
    """

    name: str
    roles: tuple[tuple[Index, ...], ...]
    elements: tuple[ScalarType, ...]
    names: tuple[str, ...]
    positions: tuple[int, ...]
    sticks: bool = True
    start: int = 0
    turned: bool = False

    def build(
        self,
        arguments: Sequence[tuple[str, ScalarType | None]],
        finish: Callable[[dict[str, Scalar]], Finish] | None = None,
    ) -> Module:
        """The module; ``arguments`` are all its names, pointers with None for a type."""
        spans = [self._spans(role, indices) for role, indices in enumerate(self.roles)]
        blocks = list(itertools.product(*spans[:3]))
        if len(blocks) > _MOST_BLOCKS:
            raise Unsupported(f"a product in {len(blocks)} pieces")
        self._check_sticks(blocks[0], spans[3])
        into = target()
        if into is not None:
            return self._emitted(into, blocks, spans[3], finish)
        plans = [
            Plan.of(block, spans[3], self.elements[LEFT], len(self.elements) > BIAS)
            for block in blocks
        ]
        cores = max(plan.cores for plan in plans)
        b = Builder(self.name, grid=(cores,))
        scalars = {
            name: b.argument(name) if kind is None else b.argument(name, kind)
            for name, kind in arguments
        }
        made = finish(scalars) if finish else _rounded(self.elements[OUT])
        core = b.compute_tile_id()
        for plan in plans:
            if plan.cores == cores:
                Program(b, self, plan, scalars, made, core).emit()
                continue
            with b.if_(core < plan.cores):
                Program(b, self, plan, scalars, made, core).emit()
        return b.build()

    def _emitted(
        self,
        into: Target,
        blocks: Sequence[tuple[Span, ...]],
        depth: Sequence[Span],
        finish: Callable[[dict[str, Scalar]], Finish] | None,
    ) -> Module:
        """One core's code, in another program."""
        for name, position in zip(self.names, self.positions, strict=True):
            if into.given[name].sparse:
                raise Unsuitable(position, "each element stands alone in a stick")
        scalars = dict(into.scalars)
        made = finish(scalars) if finish else _rounded(self.elements[OUT])
        biased = len(self.elements) > BIAS
        nobody = into.builder.constant(0)
        for block in blocks:
            partial = biased or into.partners is not None
            plan = Plan.alone(block, depth, self.elements[LEFT], partial, into.lx_bytes)
            Program(into.builder, self, plan, scalars, made, nobody).emit()
        return Module(())

    def _spans(self, role: int, indices: Sequence[Index]) -> list[Span]:
        operands = len(self.elements)
        try:
            single = [common_spans(i.extent, i.axes[:operands]) for i in indices]
        except MixedDigitsError as error:
            raise Unsuitable(
                self.positions[error.operand], f"{error} along the {ROLES[role]}"
            ) from None
        if not single:
            return [Span(0, (1,), ((0,),) * operands, (0,) * operands)]
        return [joined(chosen) for chosen in itertools.product(*single)]

    def _check_sticks(self, block: Sequence[Span], depth: Sequence[Span]) -> None:
        """The card's rule: A's sticks lie along the sum, B's and the result's along the columns."""
        for operand, role in ((LEFT, 3), (RIGHT, 2), (OUT, 2)) if self.sticks else ():
            innermost = self.roles[role][-1] if self.roles[role] else None
            if innermost and innermost.extent > 1 and innermost.axes[operand][-1].stride != 1:
                raise Unsuitable(
                    self.positions[operand],
                    f"its sticks do not lie along the {ROLES[role]} of the product",
                )
        for operand, roles in ((0, (0, 1)), (1, (0, 2)), (2, (0, 1, 2))):
            digits = sum(len(block[role].counts) for role in roles)
            digits += len(depth[0].counts) if operand < 2 else 0
            if digits > MOST_DIGITS:
                raise Unsuitable(self.positions[operand], f"it takes {digits} digits to walk it")


def _rounded(kind: ScalarType) -> Finish:
    return lambda b, total, bias: total.to(kind)
