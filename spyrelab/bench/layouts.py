"""Layouts as benches: transfers, restickify, products on eager kernels, and placements.

Emulated numbers are predictions of programs that were run and gave the right elements. Host time
is that of the copy, of the emulated kernel, or of finding the placement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from spyrelab.bench.implementations import Implementation, Prediction, Ready, Workload
from spyrelab.emulator import Counters, run
from spyrelab.emulator.arrays import place_arguments
from spyrelab.errors import UsageError
from spyrelab.kernels import Kernel
from spyrelab.kernels.arrays import Array
from spyrelab.ktir import Module
from spyrelab.layout import SpyreTensorLayout, pack, unpack
from spyrelab.layout.graph_examples import GRAPHS
from spyrelab.layout.placement import Placement, place, place_greedily
from spyrelab.layout.restickify import restickify
from spyrelab.machine import DeviceMemory

if TYPE_CHECKING:
    import torch

__all__ = ["LAYOUTS", "PLACEMENT", "PRODUCT", "PRODUCTS", "RESTICKIFY", "TRANSFER", "layout_called"]

Size = tuple[int, ...]


def layout_called(name: str, size: Sequence[int]) -> SpyreTensorLayout:
    """The layout of a tensor of ``size`` that benches call ``name``.

    ``rows`` has sticks along the last dimension, ``columns`` along the one before it.
    """
    order = [*range(len(size))]
    if name == "columns":
        order[-2:] = order[-1], order[-2]
    makers: dict[str, Callable[[], SpyreTensorLayout]] = {
        "rows": lambda: SpyreTensorLayout.default(size),
        "columns": lambda: SpyreTensorLayout.default(size, "f16", order),
        "linear": lambda: SpyreTensorLayout.linear(size),
        "sparse": lambda: SpyreTensorLayout.sparse(size),
    }
    return makers[name]()


# -- kernels -------------------------------------------------------------------------------------


def _build_restickify(size: Size, source: str, target: str) -> Module:
    return restickify(size, layout_called(source, size), layout_called(target, size))


def _no_single_program(**parameters: Any) -> Module:
    raise UsageError("this bench case is about no single program of the card")


def _no_arguments(**parameters: Any) -> dict[str, Array]:
    raise UsageError("this bench case takes no arrays")


def _no_meaning(**parameters: Any) -> Array:
    raise UsageError("this bench case is checked by its implementations")


RESTICKIFY = Kernel("restickify", _build_restickify, _no_meaning, _no_arguments)
TRANSFER = Kernel("transfer", _no_single_program, _no_meaning, _no_arguments)
PRODUCT = Kernel("product", _no_single_program, _no_meaning, _no_arguments)
PLACEMENT = Kernel("placement", _no_single_program, _no_meaning, _no_arguments)


def _values(size: Size, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(size, np.float32).astype(np.float16)


def _wide(values: Array) -> Array:
    return values.astype(np.float32)


# -- transfers: the host packs and unpacks -------------------------------------------------------


@contextmanager
def _copying(workload: Workload) -> Iterator[Ready]:
    """A plain copy, which any transfer has to be compared with."""
    values = _values(workload.case.parameters["size"])
    room = np.empty_like(values)
    yield Ready(lambda: np.copyto(room, values), lambda: _wide(room), expected=_wide(values))


@contextmanager
def _packing(workload: Workload) -> Iterator[Ready]:
    values, layout = _transfer(workload)
    done: list[Array] = []

    def call() -> None:
        done[:] = [pack(values, layout)]

    def result() -> Array:
        return _wide(unpack(done[0], layout, values.shape))

    yield Ready(call, result, expected=_wide(values))


@contextmanager
def _unpacking(workload: Workload) -> Iterator[Ready]:
    values, layout = _transfer(workload)
    packed, padding = pack(values, layout), pack(np.ones_like(values), layout) == 0
    packed[padding] = np.nan  # whoever reads padding gives himself away
    done: list[Array] = []

    def call() -> None:
        done[:] = [unpack(packed, layout, values.shape)]

    yield Ready(call, lambda: _wide(done[0]), expected=_wide(values))


def _transfer(workload: Workload) -> tuple[Array, SpyreTensorLayout]:
    size = workload.case.parameters["size"]
    return _values(size), layout_called(workload.case.parameters["layout"], size)


# -- restickify: the program, and the eager copy -------------------------------------------------


@contextmanager
def _restickifying(workload: Workload) -> Iterator[Ready]:
    """The program, on the VM."""
    size, source, target = _ends(workload)
    values, program = _values(size), workload.program
    arrays = {"source": pack(values, source), "target": np.zeros(target.numel, np.float16)}
    with DeviceMemory(machine=program.machine) as memory:
        placed = place_arguments(memory, program, arrays)
        addresses = {name: where.address for name, where in placed.items()}

        def call() -> Counters:
            return program.launch(addresses, memory, "vm", workload.threads)

        def result() -> Array:
            return _wide(unpack(placed["target"].read(memory), target, size))

        yield Ready(call, result, expected=_wide(values))


@contextmanager
def _eager(workload: Workload) -> Iterator[Ready]:
    """The same on device "spyre", by the kernels that eager mode uses."""
    import torch

    if workload.case.kernel is PRODUCT:
        operation, expected = PRODUCTS[workload.case.parameters["product"]]()
    else:
        size, source, target = _ends(workload)
        values = torch.from_numpy(_values(size))
        x = _on_card(values, source)
        out = _on_card(torch.zeros_like(values), target)
        operation, expected = (lambda: out.copy_(x)), values.float()
    yield _recorded(operation, expected)


def _recorded(operation: Callable[[], torch.Tensor], expected: torch.Tensor) -> Ready:
    from spyrelab.device.timeline import record

    with record() as recorded:
        result = operation()
    kernels = recorded.kernels
    estimates = [kernel.estimate for kernel in kernels if kernel.estimate is not None]
    prediction = Prediction(
        round(recorded.seconds * 1e6, 6),
        ddr_bytes=sum(
            int(made.counts[name].sum())
            for made in estimates
            for name in ("ddr_read", "ddr_write")
            if name in made.counts
        ),
        extra={"kernels": [[k.name, round(k.seconds * 1e6, 6)] for k in kernels]},
    )
    return Ready(
        operation,
        lambda: result.cpu().float().numpy(),
        expected=expected.numpy(),
        prediction=prediction,
    )


def _ends(workload: Workload) -> tuple[Size, SpyreTensorLayout, SpyreTensorLayout]:
    parameters = workload.case.parameters
    size = parameters["size"]
    return size, *(layout_called(parameters[end], size) for end in ("source", "target"))


# -- products under different layouts ------------------------------------------------------------

Product = Callable[[], tuple[Callable[[], "torch.Tensor"], "torch.Tensor"]]


def _product(rows: bool, weight: str) -> tuple[Callable[[], torch.Tensor], torch.Tensor]:
    """``x @ w`` for x [512, 1024] and w [1024, 1024], either of them stored in another order.

    Parameters
    ----------
    rows : bool
        Whether the left operand has its sticks along k.
    weight : str
        ``rows``, ``transposed`` (read as ``stored.T``), or ``packed``, which is stored
        transposed, and in sticks along the dimension that the product wants.
    """
    import torch

    x = torch.from_numpy(_values((512, 1024), 1))
    w = torch.from_numpy(_values((1024, 1024), 2))
    left = x.to("spyre") if rows else x.T.contiguous().to("spyre").T
    if weight == "rows":
        right = w.to("spyre")
    else:
        end = "columns" if weight == "packed" else "rows"
        right = _on_card(w.T.contiguous(), layout_called(end, (1024, 1024))).T
    return (lambda: left @ right), x.float() @ w.float()


PRODUCTS: Mapping[str, Product] = {
    "as_it_is": lambda: _product(True, "rows"),
    "left_transposed": lambda: _product(False, "rows"),
    "right_transposed": lambda: _product(True, "transposed"),
    "right_transposed_and_packed": lambda: _product(True, "packed"),
}
"""The same product, its operands stored in different ways."""


def _on_card(values: torch.Tensor, layout: SpyreTensorLayout) -> torch.Tensor:
    moved: Any = values.to
    result: torch.Tensor = moved("spyre", device_layout=layout)
    return result


# -- placements ----------------------------------------------------------------------------------


def _placing(method: Callable[..., Placement]) -> Implementation:
    @contextmanager
    def ready(workload: Workload) -> Iterator[Ready]:
        graph = GRAPHS[workload.case.parameters["graph"]]()
        placement = method(graph)
        made = placement.restickifies
        right = [_is_right(each.tensor.size, each.source, each.target) for each in made]
        moved = sum(
            each.tensor.numel * (each.source.itemsize + each.target.itemsize) for each in made
        )
        extra = {
            "restickifies": [[each.tensor.name, round(each.seconds * 1e6, 6)] for each in made],
            "checked": "every restickify that is placed, run on the emulator",
        }
        prediction = Prediction(round(placement.seconds * 1e6, 6), ddr_bytes=moved, extra=extra)
        found = np.array([1.0, *right], np.float32)
        expected = np.ones_like(found)
        yield Ready(lambda: method(graph), lambda: found, expected, prediction)

    return ready


@cache
def _is_right(size: Size, source: SpyreTensorLayout, target: SpyreTensorLayout) -> bool:
    """Whether the program that converts a tensor gives every element its place."""
    values = _values(size)
    arrays = {"source": pack(values, source), "target": np.zeros(target.numel, np.float16)}
    moved = run(restickify(size, source, target), arrays).outputs["target"]
    return bool(np.array_equal(unpack(moved, target, size), values))


LAYOUTS: dict[str, Implementation] = {
    "copy": _copying,
    "pack": _packing,
    "unpack": _unpacking,
    "eager": _eager,
    "restickify": _restickifying,
    "greedy": _placing(place_greedily),
    "exact": _placing(place),
}
"""Implementations by name."""
