"""Short programs with one fault each, put together from lines of KTIR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spyrelab.emulator import Kind
from tests.emulator.short_programs import tile, view

OWN_LX, ROW = "ct_local", 64
"""Every tile is a row of 64 f16 elements: one stick."""
_COUNTER = iter(range(1 << 30))


def rows(count: int) -> np.ndarray:
    """An array of ``count`` rows."""
    return np.arange(count * ROW, dtype=np.float16) / 64


def program(*lines: str, cores: int = 2, args: str = "x y") -> str:
    """A function over ``%core`` and ``%row``, the first element of the core's own row."""
    names = ", ".join(f"%{name}: index" for name in args.split())
    head = (
        f"func.func @f({names}) attributes {{grid = [{cores}]}} {{\n"
        "%core = ktdp.get_compute_tile_id : index\n"
        + "".join(f"%c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 3, 32, 63, 64, 128))
        + "%row = arith.muli %core, %c64 : index\n"
    )
    return head + "".join(lines) + "return\n}\n"


def over(name: str, pointer: str, count: int, space: str = "global") -> str:
    """A view of ``count`` elements of type f16."""
    return view(name, pointer, count, "f16", space)


def load(value: str, base: str, start: str, of: int, count: int = ROW) -> str:
    kind = f"!ktdp.access_tile<{count}xindex>"
    at = f"t{next(_COUNTER)}"
    return (
        tile(at, base, start, count, "f16", of)
        + f"%{value} = ktdp.load %{at} : {kind} -> tensor<{count}xf16>\n"
    )


def store(value: str, base: str, start: str, of: int, count: int = ROW) -> str:
    kind = f"!ktdp.access_tile<{count}xindex>"
    at = f"t{next(_COUNTER)}"
    return (
        tile(at, base, start, count, "f16", of)
        + f"ktdp.store %{value}, %{at} : tensor<{count}xf16>, {kind}\n"
    )


def ones(value: str = "one", count: int = ROW) -> str:
    return f"%{value} = arith.constant dense<1.0> : tensor<{count}xf16>\n"


def add(value: str, a: str, b: str) -> str:
    return f"%{value} = arith.addf %{a}, %{b} : tensor<64xf16>\n"


def on(core: int, *lines: str) -> str:
    """Lines for one core."""
    flag = f"is{next(_COUNTER)}"
    test = f"%{flag} = arith.cmpi eq, %core, %c{core} : index\n"
    return test + f"scf.if %{flag} {{\n" + "".join(lines) + "}\n"


def repeat(*lines: str, times: int = 2) -> str:
    """Lines in a loop over ``%i``."""
    return f"scf.for %i = %c0 to %c{times} step %c1 {{\n" + "".join(lines) + "}\n"


def send(producer: int, consumer: int, value: str = "one", result: str = "got") -> str:
    """``consumer`` receives what ``producer`` yields; nobody else takes part."""
    future, group = f"f{next(_COUNTER)}", f"g{next(_COUNTER)}"
    kind = "!ktdp.tile_future<(tensor<64xf16>), groups = affine_set<(g) : (g == 0)>>"
    return (
        f"%{future} = ktdp.inter_tile_produce producer_tiles_per_group = "
        f"affine_set<(i)[g] : (i - {producer} == 0)> -> {kind} {{\n^bb0(%{group}: index):\n"
        f"ktdp.yield_partial %{value} : tensor<64xf16>\n}}\n"
        f"%{result} = ktdp.inter_tile_consume(%{future}) consumer_tiles_per_group = "
        f"affine_set<(i)[g] : (i - {consumer} == 0)> : {kind} -> tensor<64xf16>\n"
    )


def indirect(kind: str, base: str, of: int, index: str, points: int, value: str = "one") -> str:
    """``value[i] = base[index[first + i]]`` or the store, element by element; first = %first."""
    at = f"t{next(_COUNTER)}"
    head = (
        f"%{at} = ktdp.construct_indirect_access_tile intermediate_variables(%i) "
        f"%{base}[ind(%{index}[%first + %i])] {{variables_space_set = affine_set<(i) : (i >= 0, "
        f"-i + {points - 1} >= 0)>}} : memref<{of}xf16>, memref<4xi64> -> "
        f"!ktdp.access_tile<{points}xindex>\n"
    )
    if kind == "load":
        return head + (
            f"%{value} = ktdp.load %{at} : !ktdp.access_tile<{points}xindex> "
            f"-> tensor<{points}xf16>\n"
        )
    return head + (
        f"ktdp.store %{value}, %{at} : tensor<{points}xf16>, !ktdp.access_tile<{points}xindex>\n"
    )


@dataclass(frozen=True)
class Planted:
    """A program and what the sanitizer has to say of it.

    ``unwritten`` names the arrays that are allocated, but not filled; ``written`` the bytes of
    them that are.  ``core`` is the lowest core involved, ``other`` the other one of a race.
    """

    name: str
    text: str
    kind: Kind
    operation: str = "ktdp.load"
    args: dict[str, Any] = field(default_factory=dict)
    core: int = 0
    other: int | None = None
    allocation: str = ""
    unwritten: tuple[str, ...] = ()
    written: int = 0
    kinds: tuple[Kind, ...] = ()
