"""A pointwise expression over arrays of one shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from spyrelab.kernels.arrays import Array, KernelError, element_type, random_array, zeros
from spyrelab.kernels.boxes import Boxes
from spyrelab.kernels.division import TILE_ELEMENTS, Split, ceil_div, positive, stick_elements
from spyrelab.kernels.expressions import Expression, evaluate, input_names, operation_count
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts, adjoining, lie_alike
from spyrelab.kernels.operands import operands
from spyrelab.ktir.builder import Builder, Scalar, Tensor
from spyrelab.ktir.ir import Module
from spyrelab.ktir.types import F32
from spyrelab.layout import access, contiguous_strides


def pointwise(
    expr: Expression,
    shape: Sequence[int],
    dtype: str = "f16",
    cores: int = 32,
    tile: int = TILE_ELEMENTS,
    compute: str | None = None,
    layouts: Layouts | None = None,
) -> Module:
    """``out = expr(inputs...)``, element by element.

    Rows (all axes but the last) go over the cores where there are enough of them, else runs
    of whole sticks.  Where all lie alike without padding, memory is walked as it comes.

    Arguments of the kernel: the inputs in order of appearance, then out.
    Bytes moved: ``(inputs + 1) * elements * itemsize``.

    Parameters
    ----------
    expr
        Text such as ``"x * 2 + y"`` or ``"where(x > 0, silu(x), y)"``, whose names become
        the inputs, or a callable over builder handles, whose parameters do.
    shape, dtype
        Of every input and of ``out``.
    compute
        Type of intermediate values; default f32, and ``dtype`` for a single operation
        (where it makes no difference).
    layouts
        Of inputs and ``out`` by name; the others are row-major.
    """
    positive(cores=cores, tile=tile, **{f"shape[{i}]": extent for i, extent in enumerate(shape)})
    element = element_type(dtype)
    names = input_names(expr)
    if "out" in names:
        raise KernelError("'out' is the result's name; call the input something else")
    wide = element_type(compute) if compute else element if operation_count(expr) == 1 else F32
    split = _split(tuple(shape), cores, tile, stick_elements(element))
    b = Builder("pointwise", grid=(cores,))
    total, given = split.total, layouts or {}
    flat = lie_alike(shape, [*names, "out"], given)
    boxes = None if flat else _boxes(shape, cores, tile, given)
    sizes = dict.fromkeys((*names, "out"), (total,) if boxes is None else tuple(shape))
    reach = {} if boxes is None else dict.fromkeys(sizes, boxes.tile)
    *inputs, out = operands(b, sizes, element, {} if flat else given, reach)

    def compute_box(at: Sequence[Scalar], size: Sequence[int]) -> None:
        loaded = [operand.load(at, size).to(wide) for operand in inputs]
        result = evaluate(expr, dict(zip(names, loaded, strict=True)))
        if not isinstance(result, Tensor):
            raise KernelError(f"the expression gives {result!r}, not a tensor")
        out.store(result.to(element), at)

    if boxes is None:
        with split.loop(b, b.compute_tile_id()) as first:
            compute_box((first,), (split.tile,))
    else:
        with boxes.walk(b) as at:
            compute_box(at, boxes.tile)
    return b.build()


def _boxes(shape: Sequence[int], cores: int, tile: int, layouts: Layouts) -> Boxes:
    """Boxes along the memory of the first tensor that is not row-major."""
    layout = next(iter(layouts.values()))
    place = access(layout, tuple(shape), contiguous_strides(shape))
    inner = len(shape) - 1 if place is None else adjoining(shape, place.access)
    return Boxes.of(shape, cores, tile, layout.elements_per_stick, inner)


def _split(shape: tuple[int, ...], cores: int, tile: int, stick: int) -> Split:
    total, columns = math.prod(shape), shape[-1] if shape else 1
    rows = total // columns
    share = ceil_div(rows, cores) * columns if rows >= cores else 0
    return Split.of(total, cores, tile, stick, share)


def spec(expr: Expression, **inputs: Any) -> Array:
    """The expression in float32."""
    wanted = {name: inputs[name] for name in input_names(expr)}
    with np.errstate(all="ignore"):
        return np.asarray(evaluate(expr, wanted), np.float32)


def arguments(
    expr: Expression, shape: Sequence[int], dtype: str = "f16", seed: int = 0, **_: Any
) -> dict[str, Array]:
    """Random inputs, and room for out."""
    rng = np.random.default_rng(seed)
    made = {name: random_array(rng, shape, dtype) for name in input_names(expr)}
    return {**made, "out": zeros(shape, dtype)}


POINTWISE = Kernel("pointwise", pointwise, spec, arguments)
