"""Programs of the ``spyrelab`` dialect, built for a size, a type and a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from spyrelab import emulator
from spyrelab.emulator.counters import Column
from spyrelab.emulator.formats import encode, storage_dtype
from spyrelab.ktir import (
    BF16,
    F8E4M3,
    F16,
    F32,
    I1,
    I8,
    I16,
    I32,
    I64,
    Module,
    ScalarType,
    dumps,
    parse,
)
from spyrelab.ktir.builder import Builder, View

FLOATS = (F32, F16, BF16, F8E4M3)
WHOLE = (I8, I16, I32, I64)
_DTYPES = {F32: np.float32, F16: np.float16, I1: bool}


def values(rng: np.random.Generator, shape: Any, kind: ScalarType) -> np.ndarray:
    """Random elements as they lie in memory."""
    if kind in (F32, F16):
        return rng.normal(scale=4, size=shape).astype(_DTYPES[kind])
    if kind.is_float:
        return encode(rng.normal(scale=4, size=shape).astype(np.float32), kind)
    if kind == I1:
        return rng.integers(0, 2, shape).astype(bool)
    most = 1 << min(kind.bits, 40) - 1
    return rng.integers(-most, most, shape).astype(storage_dtype(kind))


def zeros(shape: Any, kind: ScalarType) -> np.ndarray:
    return np.zeros(shape, _DTYPES.get(kind) or storage_dtype(kind))


def whole_view(b: Builder, name: str, shape: tuple[int, ...], kind: ScalarType) -> View:
    """A view of all of an array argument."""
    return b.view(b.pointers(name)[0], shape, kind)


def loaded(view: View) -> Any:
    shape = [extent or 0 for extent in view.memref.shape]
    return view.builder.load(view[(0,) * len(shape)], shape)  # type: ignore[attr-defined]


def kept(value: Any, view: View) -> None:
    view.builder.store(value, view[(0,) * view.rank])  # type: ignore[attr-defined]


def built(b: Builder) -> Module:
    """The module, after its round trip through text."""
    module = b.build()
    module.verify()
    assert parse(dumps(module)) == module
    return module


def agreed(module: Module, /, **arguments: Any) -> dict[str, np.ndarray]:
    """What all engines and host threads compute: bits and counters are equal."""
    runs = [
        emulator.run(module, arguments, engine=engine, exact=True, threads=threads)
        for engine, threads in (("reference", 1), ("vm", 1), ("vm", 2), ("null", 1))
    ]
    wanted = runs[0]
    for found in runs[1:3]:
        for key, array in wanted.outputs.items():
            assert array.tobytes() == found.outputs[key].tobytes(), key
    for found in runs[1:]:
        for column in Column:
            expected = wanted.counters.column(column).tolist()
            assert found.counters.column(column).tolist() == expected, column
    return wanted.outputs
