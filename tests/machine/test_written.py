"""What device memory knows of bytes that nobody wrote."""

from __future__ import annotations

import numpy as np

from spyrelab.machine import DeviceMemory


def unwritten(memory: DeviceMemory, address: int) -> list[bool] | None:
    block = memory.owner(address)
    assert block is not None
    mask = memory.unwritten(block)
    return None if mask is None else mask.tolist()


def test_new_memory_is_unwritten() -> None:
    with DeviceMemory(1 << 20) as memory:
        a = memory.allocate(4, "a")
        assert unwritten(memory, a) == [True] * 4
        memory.mark_written(a + 1, 2)
        assert unwritten(memory, a) == [True, False, False, True]
        memory.mark_written(a, 1)
        memory.mark_written(a + 3, 1)
        assert unwritten(memory, a) is None
        assert unwritten(memory, memory.allocate(4, zero=True)) is None
        assert unwritten(memory, memory.reserve(4096, 3)) == [True] * 3


def test_ranges_over_several_allocations() -> None:
    with DeviceMemory(1 << 20) as memory:
        a, b = memory.reserve(1000, 4), memory.reserve(1004, 4)
        memory.mark_written(a + 2, 4)
        assert unwritten(memory, a) == [True, True, False, False]
        assert unwritten(memory, b) == [False, False, True, True]
        memory.mark_written(a, 100)
        assert unwritten(memory, a) is None
        assert unwritten(memory, b) is None


def test_reused_memory_is_unwritten_again() -> None:
    with DeviceMemory(1 << 20) as memory:
        a = memory.allocate(2)
        memory.mark_written(a, 2)
        memory.free(a)
        assert memory.allocate(2) == a
        assert unwritten(memory, a) == [True, True]
        memory.assume_written()
        assert unwritten(memory, a) is None


def test_what_a_launch_found_can_be_entered() -> None:
    with DeviceMemory(1 << 20) as memory:
        block = memory.owner(memory.allocate(3))
        assert block is not None
        memory.set_unwritten(block, np.array([False, True, False]))
        assert unwritten(memory, block.address) == [False, True, False]
        memory.set_unwritten(block, np.zeros(3, np.bool_))
        assert unwritten(memory, block.address) is None


def test_scratchpad_writes_last_for_one_launch() -> None:
    with DeviceMemory(1 << 20) as memory:
        memory.mark_written(memory.lx_base(1), 64)
        assert memory.take_scratchpad_writes() == [(memory.lx_base(1), memory.lx_base(1) + 64)]
        assert memory.take_scratchpad_writes() == []
