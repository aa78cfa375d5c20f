"""The program that moves a tensor between layouts, against pack and unpack."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.layout import (
    LayoutError,
    SpyreTensorLayout,
    contiguous_strides,
    convert,
    element_offsets,
    pack,
    unpack,
)
from spyrelab.layout.costs import bytes_moved, predicted_seconds
from spyrelab.layout.restickify import restickify
from spyrelab.machine import SPYRE

Layout = SpyreTensorLayout
SEAL = 0x3A5C
"""What lies in the padding on both sides; as a half-precision number it is finite."""

STORED = {"f16": np.float16, "f32": np.float32}


def sealed(packed: np.ndarray, layout: Layout, size: tuple[int, ...]) -> np.ndarray:
    padding = np.ones(packed.size, bool)
    padding[element_offsets(layout, size, contiguous_strides(size)).ravel()] = False
    packed[padding] = SEAL
    return padding


def check(size: tuple[int, ...], source: Layout, target: Layout, engine: str = "vm") -> None:
    """Run the program; elements arrive, padding stays as it was."""
    kind = np.dtype(f"u{source.itemsize}")
    array = (np.arange(np.prod(size)) * 7 % 31000).astype(kind).reshape(size)
    before = pack(array, source)
    sealed(before, source, size)
    after = np.zeros(target.numel, kind)
    padding = sealed(after, target, size)
    module = restickify(size, source, target)
    module.verify()
    stored = STORED.get(source.dtype, kind)
    arguments = {"source": before.view(stored), "target": after.view(stored)}
    run = emulator.run(module, arguments, engine=engine, sanitize=engine == "vm")
    result = run.outputs["target"].view(kind)
    assert (unpack(result, target, size) == array).all(), f"{size}: {source} -> {target}"
    assert (result[padding] == SEAL).all(), f"{size}: {source} -> {target}"
    assert run.counters.lx_peak.max() <= SPYRE.lx_front_end_bytes


def kinds(size: tuple[int, ...], dtype: str = "f16") -> list[Layout]:
    turned = [*range(1, len(size)), 0]
    default = Layout.default(size, dtype)
    return [
        default,
        Layout.default(size, dtype, turned),
        default.padded(
            [n + 3 * (n > 1) for n in default.device_size[:-1]] + [default.device_size[-1]]
        ),
        Layout.sparse(size, dtype),
        Layout.linear(size, dtype),
    ]


@pytest.mark.parametrize("pair", list(itertools.permutations(range(5), 2)))
@pytest.mark.parametrize("size", [(70, 130), (3, 20, 65)])
def test_every_kind_of_layout_to_every_other(size: tuple[int, ...], pair: tuple[int, int]) -> None:
    source, target = (kinds(size)[at] for at in pair)
    check(size, source, target)


@pytest.mark.parametrize("engine", ["vm", "reference"])
def test_both_engines(engine: str) -> None:
    check((70, 65), Layout.default((70, 65)), Layout.default((70, 65), dim_order=[1, 0]), engine)


def test_random_layouts() -> None:
    rng = random.Random(4)
    for _ in range(60):
        rank = rng.randint(0, 4)
        size = tuple(rng.choice([1, 2, 3, 7, 40, 64, 65, 130]) for _ in range(rank))
        if np.prod(size) > 60_000:
            continue
        dtype = rng.choice(["f16", "f32", "i64", "i16"])
        order = rng.sample(range(rank), rank)
        choices = [*kinds(size, dtype), Layout.default(size, dtype, order)] if rank else []
        check(
            size,
            *rng.choices(choices or [Layout.default((), dtype), Layout.linear((), dtype)], k=2),
        )


def test_a_tensor_with_strides_of_its_own() -> None:
    size, stride = (40, 70), (1, 40)
    source = Layout.default(size, host_stride=stride)
    target = Layout.linear(size, host_stride=stride)
    array = np.arange(2800, dtype=np.uint16).reshape(70, 40).T
    module = restickify(size, source, target, stride)
    before = pack(array, source, stride).view(np.float16)
    arguments = {"source": before, "target": np.zeros(2800, np.float16)}
    result = emulator.run(module, arguments).outputs["target"].view(np.uint16)
    assert (result == np.arange(2800)).all()


def test_conversion_to_the_1_6_9_format_on_the_way() -> None:
    size = (10, 100)
    half, wide = Layout.default(size, "f16"), Layout.default(size, "df16", [1, 0])
    values = np.random.default_rng(0).standard_normal(size).astype(np.float16)
    arguments = {"source": pack(values, half), "target": np.zeros(wide.numel, np.uint16)}
    result = emulator.run(restickify(size, half, wide), arguments).outputs["target"]
    expected = convert(values.view(np.uint16), "f16", "df16")
    assert (unpack(result.view(np.uint16), wide, size) == expected).all()


def test_sticks_touched() -> None:
    """A turn within one kind touches each stick once; a sparse source one stick per element."""
    size = (128, 256)
    default, turned = Layout.default(size), Layout.default(size, dim_order=[1, 0])
    sparse = Layout.sparse(size)

    def sticks(source: Layout, target: Layout) -> tuple[int, int]:
        module = restickify(size, source, target)
        arrays = {
            n: np.zeros(x.numel, np.float16)
            for n, x in zip(("source", "target"), (source, target), strict=True)
        }
        counters = emulator.run(module, arrays).counters
        return int(counters.sticks_read.sum()), int(counters.sticks_written.sum())

    assert sticks(default, turned) == (512, 512)
    assert sticks(sparse, default) == (32768, 512)
    assert sticks(default, sparse) == (512, 32768)


def test_costs() -> None:
    size = (512, 256)
    default, turned = Layout.default(size), Layout.default(size, dim_order=[1, 0])
    sparse = Layout.sparse(size)
    turn = predicted_seconds(size, "f16", default, turned)
    assert 0 < turn < predicted_seconds(size, "f16", sparse, default)
    assert bytes_moved(size, "f16", default, turned) == 2 * 2 * 512 * 256
    assert predicted_seconds(
        (2, 48), "f16", Layout([2, 3, 16], [48, 16, 1]), Layout([2, 2, 24], [48, 24, 1])
    ) == float("inf")


def test_what_cannot_be_moved() -> None:
    good = Layout.default((4, 100))
    with pytest.raises(LayoutError, match="does not describe"):
        restickify((4, 100), good, Layout.default((3, 100)))
    with pytest.raises(LayoutError, match="neither divides the other"):
        restickify((2, 48), Layout([2, 3, 16], [48, 16, 1]), Layout([2, 2, 24], [48, 24, 1]))
