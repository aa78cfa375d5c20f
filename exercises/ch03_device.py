"""Exercises of chapter 3: addresses, a fallback, native kernels, ``out=``, random numbers, time.

Fill in the functions; ``spyrelab grade ch03`` or, in a notebook, ``spyrelab.check("ch03.1")`` tells
how far you are.  Here answers may use torch, and tensors live on the device "spyre"; the grader
reads ``torch.spyre.op_counts()`` and the list of launches to see what they did there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spyrelab.device.eager.launch import run  # noqa: F401

LANES = 64
"""Elements of two bytes in a stick."""


def address_of(
    allocations: dict[int, Any],
    pointer: int,
    offset: int,
    stride: tuple[int, ...],
    index: tuple[int, ...],
) -> int:
    """Find an element of a view of a float16 matrix: its byte address in device memory.

    The view is what torch knows: ``pointer`` is its ``data_ptr()``, which counts two bytes for
    each element of ``offset``, its ``storage_offset()``; ``stride`` is its stride.  None of them
    knows of sticks.  ``allocations`` has the matrix under the ``data_ptr()`` of its storage; how
    it lies in device memory, ``Allocation`` in ``given_ch03.py`` says: it has ``address``, ``rows``
    and ``columns``.

    About 7 lines.
    """
    raise NotImplementedError("ch03.1")


def fallback(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run ``op``, such as ``torch.ops.aten.sort.default``, on the CPU for tensors of the device.

    Tensors of the device, also those in lists, are copied to the CPU and ``op`` is called there.
    An argument that it writes (``argument.alias_info`` is not None and has ``is_write``, for
    ``argument`` in ``op._schema.arguments``; positional ones come first) gets its new elements
    back.  The result is then that very argument; any other result is a new tensor on the device.
    Several results come as a tuple.

    About 20 lines.
    """
    raise NotImplementedError("ch03.2")


def swiglu(gate: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Compute ``silu(gate) * x`` natively: as launches of opspec's programs, and nothing else.

    ``run(op, inputs, outputs)`` launches the program of one operation ("silu", "mul", ...) on
    tensors of the device; outputs have to exist.  It broadcasts, and takes no empty tensors.
    Both tensors have one float type, which is that of the result.  Two launches; no operation of
    aten may do arithmetic, neither on the card nor on the CPU.

    About 7 lines.
    """
    raise NotImplementedError("ch03.3")


def multiply_into(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """Keep the contract of ``torch.mul(x, y, out=out)``, with `run` for the arithmetic.

    ``out`` itself is returned.  If it has another size than the product it is resized
    (``resize_``).  A product whose type (``torch.result_type``) cannot be cast to that of ``out``
    (``torch.can_cast``), or an ``out`` elsewhere than on the device, is a RuntimeError, raised
    before anything has changed.

    About 8 lines.
    """
    raise NotImplementedError("ch03.4")


def dropout(x: torch.Tensor, p: float, generator: torch.Generator | None = None) -> torch.Tensor:
    """Set each element to 0 with probability p, and divide the others by 1 - p.

    Equal seeds give equal results, on any device and in any layout: draw ``torch.rand(x.shape)``
    in float32 from ``generator``, and keep where it is at least ``p``.  Without a generator the
    numbers come from the device's own, ``torch.spyre.default_generators[0]``; torch's default
    generator of the CPU is none of our business and stays as it is.  p is from 0 to 1, both
    included.

    About 7 lines.
    """
    raise NotImplementedError("ch03.5")


def masked_mean(module: Any, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """Compute ``module(x, keep)`` of a ``MaskedMean`` without leaving the device.

    The class is in ``given_ch03.py``: a Linear called ``project``, then a mean.

    The same result to 5 digits, the same gradients, and no fallback, forward or backward.
    ``keep`` is a tensor of bool with at least one true a row; x is float32.

    About 4 lines.
    """
    raise NotImplementedError("ch03.6")


def device_us(function: Callable[[], object], repeats: int) -> float:
    """Measure a function: microseconds on the card of one call, without what the host does.

    The mean over ``repeats`` calls, between two events (``torch.spyre.Event``).  One call goes
    first and is not measured: it may set things up.

    About 8 lines.
    """
    raise NotImplementedError("ch03.7")
