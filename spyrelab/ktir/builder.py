"""Write KTIR from Python: handles with operators in, a `Module` out.

Example
-------
>>> b = Builder("double", grid=(32,))
>>> x, out = b.pointers("x", "out")
>>> first = b.compute_tile_id() * 128
>>> X, OUT = (b.view(p, sizes=(4096,), dtype=F16) for p in (x, out))
>>> b.store(b.load(X[first], shape=(128,)) * 2, OUT[first])
>>> module = b.build()
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from spyrelab.ktir.builder_emit import Block
from spyrelab.ktir.builder_exchange import TileGroups
from spyrelab.ktir.builder_spyrelab import Row, SpyrelabBuilder
from spyrelab.ktir.builder_values import (
    BuilderError,
    Element,
    Handle,
    Place,
    Scalar,
    Tensor,
    View,
)
from spyrelab.ktir.ir import Function, Module, Operation, Region, Value
from spyrelab.ktir.types import I1, INDEX, ScalarType

__all__ = [
    "Branch",
    "Builder",
    "BuilderError",
    "Loop",
    "Place",
    "Row",
    "Scalar",
    "Tensor",
    "TileGroups",
    "View",
]


class Builder(SpyrelabBuilder):
    """Builds a module of one function.

    Parameters
    ----------
    name
        Name of the function.
    grid
        Compute tiles per grid dimension, one to three.
    attributes
        More attributes of the function, such as ``spyrelab.lx_backend_fraction``.
    """

    def __init__(
        self,
        name: str,
        grid: Sequence[int] = (1,),
        attributes: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if not 1 <= len(grid) <= 3 or any(extent < 1 for extent in grid):
            raise BuilderError(f"{tuple(grid)} is no grid", "give one to three positive numbers")
        self.name = name
        self.grid = tuple(grid)
        self._attributes = {"grid": self.grid, **(attributes or {})}
        self._arguments: list[Value] = []

    # ---- arguments -------------------------------------------------------------------

    def argument(self, name: str, dtype: ScalarType = INDEX) -> Scalar:
        """A scalar argument of the function."""
        if any(value.name == name for value in self._arguments):
            raise BuilderError(f"there are two arguments called '{name}'")
        value = Value(self.unique(name), dtype)
        if value.name != name:
            raise BuilderError(f"'{name}' names another value", "declare arguments first")
        self._arguments.append(value)
        return Scalar(self, dtype, value)

    def pointers(self, *names: str) -> tuple[Scalar, ...]:
        """Arguments that hold addresses (in elements of the views made on them)."""
        return tuple(self.argument(name) for name in names)

    def compute_tile_id(self, *names: str) -> Any:
        """This tile's coordinate: a scalar for a grid of one dimension, else a tuple."""
        hints = names or (("core",) if len(self.grid) == 1 else ("core_x", "core_y", "core_z"))
        made = self.emit("ktdp.get_compute_tile_id", [], [INDEX] * len(self.grid), hint=hints[0])
        for value, hint in zip(made[1:], hints[1:], strict=False):
            self.rename(value, hint)
        scalars = tuple(Scalar(self, INDEX, value, block=self.block) for value in made)
        return scalars[0] if len(scalars) == 1 else scalars

    # ---- control flow ----------------------------------------------------------------

    def loop(
        self,
        lower: Scalar | int,
        upper: Scalar | int,
        step: Scalar | int = 1,
        carry: Sequence[Element] = (),
        names: str | Sequence[str] = "i",
    ) -> Loop:
        """``scf.for``; a context manager that gives the index, or ``(index, *carried)``."""
        bounds = [self.constant(b) if isinstance(b, int) else b for b in (lower, upper, step)]
        if bounds[2].constant is not None and bounds[2].constant <= 0:
            raise BuilderError(f"a loop cannot step by {bounds[2].constant}", "step forward")
        hints = [names] if isinstance(names, str) else list(names)
        hints += [handle.value.name for handle in carry[len(hints) - 1 :]]
        return Loop(self, bounds, list(carry), hints)

    def if_(self, condition: Scalar) -> Branch:
        """``scf.if``; a context manager, with `Branch.otherwise` for the other case."""
        kind = getattr(condition, "dtype", type(condition).__name__)
        if kind != I1:
            hint = "compare first: a < b, or a.equals(b) where Python has a == b"
            raise BuilderError(f"a branch needs an i1, not {kind}", hint)
        return Branch(self, condition)

    def yield_(self, *values: Element) -> None:
        """Hand values out of the innermost open loop or branch."""
        if len(self._blocks) == 1:
            raise BuilderError("there is no open loop or branch to yield from")
        self.block.yielded = values

    def open(self, arguments: Sequence[Value] = ()) -> Block:
        """Open a nested block; operations go there until `close`."""
        block = Block(Region(tuple(arguments)))
        self._blocks.append(block)
        return block

    def close(self) -> tuple[Handle, ...] | None:
        """End the innermost block with ``scf.yield``; what it yielded."""
        values = self.block.yielded
        self.emit("scf.yield", values or ())
        self._blocks.pop()
        return values

    # ---- the end ---------------------------------------------------------------------

    def build(self) -> Module:
        """The finished module; the builder takes no more calls."""
        if len(self._blocks) != 1:
            raise BuilderError("a loop or branch is still open", "build after its with block")
        self.emit("func.return")
        self._finished = True
        body = self._blocks[0].region
        body.arguments = tuple(self._arguments)
        body.operations[:0] = self._constants.values()
        function = Function(self.name, body.arguments, body, attributes=dict(self._attributes))
        return Module((function,))


class Loop:
    """An ``scf.for`` under construction; made by `Builder.loop`."""

    def __init__(
        self, builder: Builder, bounds: list[Scalar], carry: list[Element], hints: list[str]
    ) -> None:
        self._builder = builder
        self._outer = builder.block
        operands = [builder.use(handle) for handle in (*bounds, *carry)]
        self._kinds = [handle.type for handle in carry]
        names = [builder.unique(hint) for hint in hints]
        index, *carried = (
            Value(name, kind)
            for name, kind in zip(names, [bounds[0].type, *self._kinds], strict=True)
        )
        self._arguments = (index, *carried)
        results = tuple(
            Value(builder.unique(f"{hint}_end"), kind)
            for hint, kind in zip(hints[1:], self._kinds, strict=True)
        )
        self._operation = Operation("scf.for", tuple(operands), results, location=builder.location)

    def __enter__(self) -> Any:
        self._builder.open(self._arguments)
        handles = [self._builder.element(value) for value in self._arguments]
        return handles[0] if len(handles) == 1 else tuple(handles)

    def yield_(self, *values: Element) -> None:
        """Values that the next round (or the result) starts with."""
        self._builder.yield_(*values)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            return
        region = self._builder.block.region
        given = [v.type for v in self._builder.block.yielded or ()]
        if given != self._kinds:
            wanted = ", ".join(map(str, self._kinds)) or "nothing"
            raise BuilderError(
                f"the loop yields {', '.join(map(str, given)) or 'nothing'}, not {wanted}",
                "call yield_ once with one value per carried value",
            )
        self._builder.close()
        self._operation.regions = (region,)
        self._outer.region.operations.append(self._operation)

    @property
    def results(self) -> tuple[Any, ...]:
        """The carried values after the last round."""
        return _results(self._builder, self._operation, self._outer)


class Branch:
    """An ``scf.if`` under construction; made by `Builder.if_`."""

    def __init__(self, builder: Builder, condition: Scalar) -> None:
        self._builder = builder
        self._outer = builder.block
        operands = (builder.use(condition),)
        self._operation = Operation("scf.if", operands, location=builder.location)

    def __enter__(self) -> Branch:
        self._builder.open()
        return self

    def yield_(self, *values: Element) -> None:
        """Values that this side of the branch gives."""
        self._builder.yield_(*values)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            return
        region = self._builder.block.region
        kinds = [handle.type for handle in self._builder.close() or ()]
        if not self._operation.regions:
            names = [self._builder.unique("chosen") for _ in kinds]
            self._operation.results = tuple(map(Value, names, kinds))
            self._outer.region.operations.append(self._operation)
        elif kinds != [value.type for value in self._operation.results]:
            raise BuilderError("the two sides of a branch yield different types")
        self._operation.regions += (region,)

    def otherwise(self) -> Branch:
        """The same branch, to be entered again for the other case."""
        if len(self._operation.regions) != 1:
            raise BuilderError("otherwise() follows the first with block, once")
        return self

    @property
    def results(self) -> tuple[Any, ...]:
        """What the branch yields."""
        return _results(self._builder, self._operation, self._outer)


def _results(builder: Builder, operation: Operation, block: Block) -> tuple[Any, ...]:
    return tuple(builder.element(value, block) for value in operation.results)
