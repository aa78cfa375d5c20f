"""Random sequences against a model that only knows a list of ranges."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from spyrelab.machine.allocator import Allocation, Allocator
from spyrelab.machine.errors import AllocationError, OutOfMemoryError

SIZE, STICK = 128 * 64, 128
sizes = st.one_of(st.integers(0, 300), st.integers(0, SIZE), st.sampled_from([0, 1, 127, 128, 129]))


class Allocating(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.allocator = Allocator(SIZE, STICK)
        self.blocks: list[Allocation] = []
        self.peak = self.made = 0

    def holes(self) -> list[tuple[int, int]]:
        edges = sorted((block.address, block.address + block.extent) for block in self.blocks)
        ends = [0, *(end for _, end in edges)]
        starts = [*(start for start, _ in edges), SIZE]
        return [hole for hole in zip(ends, starts, strict=True) if hole[0] < hole[1]]

    def took(self, block: Allocation) -> None:
        self.blocks.append(block)
        self.made += 1
        self.peak = max(self.peak, sum(block.extent for block in self.blocks))

    @rule(nbytes=sizes)
    def allocate(self, nbytes: int) -> None:
        extent = max(-(-nbytes // STICK) * STICK, STICK)
        room = [end - -(-start // STICK) * STICK for start, end in self.holes()]
        if max(room, default=0) < extent:
            with pytest.raises(OutOfMemoryError) as caught:
                self.allocator.allocate(nbytes)
            assert caught.value.largest_hole == max(0, *room, 0)
            return
        block = self.allocator.allocate(nbytes, "x")
        assert block.address % STICK == 0 and (block.nbytes, block.extent) == (nbytes, extent)
        self.took(block)

    @rule(address=st.integers(-2, SIZE + 2), nbytes=sizes)
    def reserve(self, address: int, nbytes: int) -> None:
        end = address + max(nbytes, 1)
        if not any(low <= address and end <= high for low, high in self.holes()):
            with pytest.raises(AllocationError):
                self.allocator.reserve(address, nbytes)
            return
        self.took(self.allocator.reserve(address, nbytes))

    @precondition(lambda self: self.blocks)
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        block = data.draw(st.sampled_from(self.blocks))
        assert self.allocator.free(block.address) == block
        self.blocks.remove(block)
        with pytest.raises(AllocationError):
            self.allocator.free(block.address)

    @rule(address=st.integers(0, SIZE))
    def owner(self, address: int) -> None:
        expected = [block for block in self.blocks if block.address <= address < block.end]
        assert self.allocator.owner(address) == (expected[0] if expected else None)

    @invariant()
    def ranges_tile_the_space(self) -> None:
        assert self.allocator.holes == self.holes()
        assert self.allocator.starts == sorted(block.address for block in self.blocks)
        assert set(self.allocator.live.values()) == set(self.blocks)

    @invariant()
    def counters_agree(self) -> None:
        taken = sum(block.extent for block in self.blocks)
        assert self.allocator.allocated == taken
        assert self.allocator.free_bytes == SIZE - taken
        assert (self.allocator.peak, self.allocator.count) == (self.peak, len(self.blocks))
        assert self.allocator.total_count == self.made

    def teardown(self) -> None:
        for block in self.blocks:
            self.allocator.free(block.address)
        assert self.allocator.holes == [(0, SIZE)] and self.allocator.largest_hole == SIZE


TestAllocating = Allocating.TestCase
TestAllocating.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def test_the_smallest_hole_that_fits_is_taken_first() -> None:
    allocator = Allocator(SIZE, STICK)
    blocks = [allocator.allocate(size * STICK) for size in (4, 1, 2, 1, 3, 1)]
    for place in (0, 2, 4):
        allocator.free(blocks[place].address)
    assert allocator.allocate(2 * STICK).address == blocks[2].address
    assert allocator.allocate(STICK).address == blocks[4].address
