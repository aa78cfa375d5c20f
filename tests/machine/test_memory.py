"""Device memory: addresses, contents, refusals."""

from __future__ import annotations

import concurrent.futures
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from spyrelab.machine import (
    SPYRE,
    AllocationError,
    DeviceMemory,
    MachineError,
    MemoryReserveError,
    OutOfMemoryError,
    reserve_bytes,
)

MIB = 1 << 20


@pytest.fixture
def memory() -> Iterator[DeviceMemory]:
    with DeviceMemory(64 * MIB) as memory:
        yield memory


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_the_default_is_the_whole_card_and_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPYRELAB_MEMORY_GIB", raising=False)
    before = resident_bytes()
    with DeviceMemory() as memory:
        assert memory.ddr_bytes == 128 << 30
        assert memory.size == memory.bytes.size == memory.ddr_bytes + 32 * 2 * MIB
        memory.bytes[[0, memory.ddr_bytes, memory.size - 1]] = 1
        assert resident_bytes() - before < 16 * MIB


def test_scratchpads_follow_ddr(memory: DeviceMemory) -> None:
    assert memory.lx_base(0) == memory.ddr_bytes
    assert memory.lx_base(31) == memory.size - SPYRE.lx_bytes
    for core in (-1, 32):
        with pytest.raises(AllocationError, match="cores are 0 to 31"):
            memory.lx_base(core)


def test_views_are_one_memory(memory: DeviceMemory) -> None:
    memory.f32[3] = 1.0
    assert memory.u32[3] == 0x3F800000
    assert list(memory.u16[6:8]) == [0, 0x3F80] and list(memory.i16[6:8]) == [0, 0x3F80]
    assert list(memory.bytes[12:16]) == [0, 0, 0x80, 0x3F] and memory.i8[14] == -128
    memory.i64[0] = -1
    assert memory.i32[1] == -1
    assert memory.i64.size * 8 == memory.bytes.size


def test_allocations_are_aligned_disjoint_and_named(memory: DeviceMemory) -> None:
    first = memory.allocate(1, "x")
    second = memory.allocate(129)
    third = memory.allocate(128)
    assert (first, second, third) == (0, 128, 384)
    assert memory.allocated_bytes == 128 + 256 + 128
    assert memory.free_bytes == memory.ddr_bytes - memory.allocated_bytes
    owner = memory.owner(first)
    assert owner is not None and (owner.label, owner.nbytes, owner.extent) == ("x", 1, 128)
    assert memory.owner(first + 1) is None
    assert [block.address for block in memory.allocations] == [0, 128, 384]


def test_zero_sizes_are_legal_and_distinct(memory: DeviceMemory) -> None:
    addresses = {memory.allocate(0) for _ in range(3)}
    assert len(addresses) == 3
    assert memory.owner(0) is None
    for address in addresses:
        memory.free(address)
    assert memory.allocated_bytes == 0


def test_live_ranges_follow_the_version(memory: DeviceMemory) -> None:
    address = memory.allocate(100)
    starts, ends = memory.live
    assert (starts.tolist(), ends.tolist()) == ([address], [address + 100])
    assert memory.live[0] is starts
    version = memory.version
    memory.free(address)
    assert memory.version != version and memory.live[0].size == 0


def test_counters(memory: DeviceMemory) -> None:
    first, second = memory.allocate(1000), memory.allocate(2000)
    memory.free(first)
    assert memory.allocated_bytes == 2048
    assert memory.peak_bytes == 1024 + 2048
    assert memory.allocation_count == 1
    assert memory.total_allocation_count == 2
    assert memory.total_allocated_bytes == 1024 + 2048
    memory.reset_peak()
    assert memory.peak_bytes == 2048
    memory.free(second)
    assert memory.largest_hole == memory.free_bytes == memory.ddr_bytes


def test_fixed_addresses(memory: DeviceMemory) -> None:
    memory.reserve(1000, 200, "a")
    memory.reserve(1200, 56, "b")
    for address, nbytes, name in [
        (1199, 1, "a"),
        (900, 101, "a"),
        (1100, 1000, "a"),
        (1255, 9, "b"),
    ]:
        with pytest.raises(AllocationError, match=f"overlap {name} at"):
            memory.reserve(address, nbytes)
    assert memory.allocate(1000) == 1280, "the hole below holds only 896 aligned bytes"
    assert memory.allocate(896) == 0
    for address, nbytes in [(-1, 4), (memory.ddr_bytes - 3, 4), (0, -1)]:
        with pytest.raises(AllocationError, match="do not lie in device memory"):
            memory.reserve(address, nbytes)
    with pytest.raises(AllocationError, match="overlap an allocation at 0 to 896"):
        memory.reserve(0, 0)


def test_frees_that_cannot_be(memory: DeviceMemory) -> None:
    address = memory.allocate(1000, "weights")
    with pytest.raises(AllocationError, match=r"inside the allocation \(weights\) at 0"):
        memory.free(address + 8)
    memory.free(address)
    with pytest.raises(AllocationError, match="freed twice, or never allocated"):
        memory.free(address)
    with pytest.raises(AllocationError, match="cannot have -1 bytes"):
        memory.allocate(-1)


def test_running_out_says_how_much_is_left_and_changes_nothing(memory: DeviceMemory) -> None:
    blocks = [memory.allocate(16 * MIB) for _ in range(4)]
    memory.free(blocks[0])
    memory.free(blocks[2])
    state = (memory.allocated_bytes, memory.version, memory.live[0].tolist())
    with pytest.raises(OutOfMemoryError, match="asked for 20,971,520 bytes for 'kv'") as caught:
        memory.allocate(20 * MIB, "kv")
    assert caught.value.requested == 20 * MIB
    assert caught.value.free == 32 * MIB
    assert caught.value.largest_hole == 16 * MIB
    assert state == (memory.allocated_bytes, memory.version, memory.live[0].tolist())
    assert memory.allocate(16 * MIB) == blocks[0]


def test_contents_stay_unless_zero_is_asked_for(memory: DeviceMemory) -> None:
    address = memory.allocate(256)
    memory.bytes[address : address + 256] = 7
    memory.free(address)
    assert memory.bytes[memory.allocate(256)] == 7
    memory.free(address)
    assert not memory.bytes[memory.allocate(256, zero=True) :][:256].any()


def test_large_blocks_give_their_pages_back() -> None:
    with DeviceMemory(256 * MIB) as memory:
        memory.reserve(0, 100)
        address = memory.allocate(96 * MIB)
        memory.bytes[address : address + 96 * MIB] = 1
        touched = resident_bytes()
        memory.free(address)
        assert touched - resident_bytes() > 90 * MIB
        memory.bytes[address : address + 96 * MIB] = 1
        assert not memory.bytes[memory.allocate(96 * MIB, zero=True) :][: 96 * MIB].any()


def test_trim_gives_back_every_hole_and_scratchpad(memory: DeviceMemory) -> None:
    kept, gone = memory.allocate(MIB), memory.allocate(MIB)
    memory.bytes[kept] = memory.bytes[gone] = memory.bytes[memory.lx_base(3)] = 5
    memory.free(gone)
    memory.trim()
    assert (memory.bytes[kept], memory.bytes[gone], memory.bytes[memory.lx_base(3)]) == (5, 0, 0)


def test_threads_never_share_a_byte(memory: DeviceMemory) -> None:
    def churn(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            size = int(rng.integers(1, 5000))
            address = memory.allocate(size)
            memory.bytes[address : address + size] = seed
            if not (memory.bytes[address : address + size] == seed).all():
                return False
            memory.free(address)
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(churn, range(1, 5)))
    assert memory.allocation_count == 0 and memory.largest_hole == memory.ddr_bytes


def test_closing_leaves_views_of_others_alive() -> None:
    memory = DeviceMemory(MIB)
    view = memory.f32[:4]
    view[:] = 2.0
    memory.close()
    memory.close()
    del memory
    gc.collect()
    assert view.tolist() == [2.0] * 4


def test_a_closed_memory_refuses(memory: DeviceMemory) -> None:
    address = memory.allocate(1)
    memory.close()
    assert "closed" in repr(memory)
    for call in (
        lambda: memory.allocate(1),
        lambda: memory.free(address),
        memory.trim,
        memory.require_open,
    ):
        with pytest.raises(AllocationError, match="closed"):
            call()


@pytest.mark.parametrize(
    ("text", "expected"), [("8", 8 << 30), ("0.5", 1 << 29), ("", 128 << 30), ("1e-9", 128)]
)
def test_the_setting(text: str, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPYRELAB_MEMORY_GIB", text)
    assert reserve_bytes() == expected


@pytest.mark.parametrize("text", ["much", "-1", "0", "nan", "inf", "1e300"])
def test_a_setting_that_is_no_size(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPYRELAB_MEMORY_GIB", text)
    with pytest.raises(MachineError, match="positive number of GiB"):
        DeviceMemory()


def test_sizes_that_are_no_sticks() -> None:
    for size in (0, -128, 100):
        with pytest.raises(MachineError, match="multiple of 128"):
            DeviceMemory(size)
    with pytest.raises(MemoryReserveError, match="SPYRELAB_MEMORY_GIB"):
        DeviceMemory(1 << 60)


LIMITED = """
import resource
from spyrelab.machine import DeviceMemory, MemoryReserveError
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
try:
    DeviceMemory()
except MemoryReserveError as error:
    print(error)
"""


def test_a_refusing_system_is_told_the_setting() -> None:
    environment = {**os.environ, "SPYRELAB_MEMORY_GIB": ""}
    run = [sys.executable, "-c", LIMITED]
    said = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    assert "SPYRELAB_MEMORY_GIB=4" in said and "128.1 GiB" in said
    environment["SPYRELAB_MEMORY_GIB"] = "4"
    said = subprocess.run(run, env=environment, capture_output=True, text=True, check=True).stdout
    assert said == ""


def test_views_alive_at_exit_do_no_harm() -> None:
    code = (
        "import atexit; from spyrelab.machine import DeviceMemory\n"
        "memory = DeviceMemory(1 << 20)\nview = memory.u16[:10]\nview[:] = 3\n"
        "atexit.register(lambda: print(view.sum()))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "30" and shown.stderr == ""


def test_an_allocation_can_count_as_less_than_it_takes():
    with DeviceMemory(1 << 20) as memory:
        address = memory.allocate(500)
        memory.mark_written(address, 500)
        memory.resize(address, 400)
        (block,) = memory.allocations
        assert (block.nbytes, block.extent) == (400, 512)
        assert memory.owner(address + 399) == block and memory.owner(address + 400) is None
        assert memory.unwritten(block).sum() == 400  # contents are lost
        memory.resize(address, 512)
        assert memory.owner(address + 511) is not None
        with pytest.raises(AllocationError, match="513 bytes do not lie in the 512"):
            memory.resize(address, 513)
        with pytest.raises(AllocationError, match="lies inside the allocation"):
            memory.resize(address + 128, 10)
        memory.free(address)
        assert memory.allocated_bytes == 0
