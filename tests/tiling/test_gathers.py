"""Cores of a group give each other what they hold; others read where it lies in what they got."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.layout import pack, unpack
from spyrelab.machine import SPYRE
from spyrelab.opspec.spec import OpSpec
from spyrelab.tiling import TilingError, lower_bundle
from spyrelab.tiling.blocks import Draft
from spyrelab.tiling.candidates import Split, with_split
from spyrelab.tiling.cut import Slicing
from spyrelab.tiling.fetching import Moved, computing, copied, gathers, local_name, renamed
from spyrelab.tiling.loops import replaced
from spyrelab.tiling.stays import Sliced

ROWS, COLUMNS = 64, 512
SPLITS = [Split((4, 8)), Split((4, 8), first="d1"), Split((8, 4)), Split((16, 1)), Split((2, 8))]


def two() -> tuple[OpSpec, OpSpec]:
    """``-x`` and then ``|-x|``, and where they lie."""
    draft = Draft()
    draft.op("abs", draft.op("neg", draft.input("x", ROWS, COLUMNS)))
    first, second = draft.ops
    return first, second


def placed(spec: OpSpec, places: dict[str, tuple[str, int]]) -> OpSpec:
    def put(arg):  # type: ignore[no-untyped-def]
        if arg.name not in places:
            return arg
        name, address = places[arg.name]
        return replace(arg, name=name, lx_address=address)

    return replaced(spec, args=put)


def made_of(spec: OpSpec, split: Split) -> Sliced:
    return Sliced(Slicing.of(with_split(spec, split)), SPYRE)


def moves(split: Split) -> list[Moved]:
    sliced = made_of(two()[0], split)
    return list(gathers(sliced.slicing, sliced.slicing.spec.args[1], "t0@1"))


@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_every_gather_to_every_reader(split: Split) -> None:
    first, second = two()
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype(np.float16)
    layout = first.args[0].layout
    source = made_of(first, split).stay(1)
    served = 0
    for moved in moves(split):
        target = made_of(moved.spec, moved.split)
        assert target.stay(0).key == source.key
        assert target.stay(1).nbytes > source.nbytes
        for other in SPLITS:
            need = made_of(second, other).stay(0)
            if source.serves(need) or not target.stay(1).serves(need):
                continue
            served += 1
            where = {"t0": ("t0", 0), "t0@1": ("t0@1", source.nbytes)}
            items = [
                placed(with_split(first, split), where),
                placed(with_split(moved.spec, moved.split), where),
                placed(with_split(second, other), {"t0": where["t0@1"]}),
            ]
            launch = lower_bundle(items, work_bytes=32 << 10)
            memory = {"x": pack(x, layout), "t1": np.zeros(layout.numel, np.float16)}
            taken = dict(zip(launch.arguments, launch.tensors, strict=True))
            arrays = {argument: memory[name] for argument, name in taken.items()}
            done = emulator.run(launch.module, arrays, sanitize=True)
            (result,) = (a for a, name in taken.items() if name == "t1")
            found = unpack(done.outputs[result], layout, (ROWS, COLUMNS))
            np.testing.assert_array_equal(found, np.abs(x))
            assert done.counters.ring.sum() > 0
    assert served


def test_scattered_groups_are_left_out() -> None:
    draft = Draft()
    draft.op("neg", draft.input("x", 4, ROWS, COLUMNS))
    sliced = made_of(draft.ops[0], Split((2, 4, 4)))
    found = list(gathers(sliced.slicing, sliced.slicing.spec.args[1], "t0@1"))
    joined = [set(moved.spec.op_info["gathered"]) for moved in found]
    assert {"d1_part"} in joined
    assert {"d0_part", "d2_part"} not in joined


def test_a_copy_serves_whom_it_was_made_for() -> None:
    draft = Draft()
    x, w = draft.input("x", 128, 256), draft.input("w", 256, 512)
    draft.op("mm", x, w, size=(128, 512))
    (spec,) = draft.ops
    for split in (Split((4, 8, 1)), Split((4, 8, 1), first="N"), Split((32, 1, 1))):
        sliced = made_of(spec, split)
        for position in range(2):
            moved = copied(sliced.slicing, spec.args[position], local_name("x", 0))
            assert moved is not None
            assert made_of(moved.spec, moved.split).stay(1).serves(sliced.stay(position))


def test_a_core_that_lacks_something_is_an_error() -> None:
    first, second = two()
    where = {"t0": ("t0", 0)}
    items = [
        placed(with_split(first, Split((4, 8))), where),
        placed(with_split(second, Split((8, 4))), where),
    ]
    with pytest.raises(TilingError, match="other cores"):
        lower_bundle(items)


def test_names() -> None:
    assert local_name("t%1", 7) == "t%1@7"
    assert local_name("t%1@2", 7) == "t%1@7"
    assert renamed("t%1@7", {"t": "buf"}) == "buf%1@7"
    first, second = two()
    moved = moves(SPLITS[0])[0].spec
    read = replaced(second, args=lambda a: replace(a, name="t0@1") if a.is_input else a)
    assert computing([first, moved, read]) == [first, second]
