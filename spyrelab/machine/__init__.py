"""The machine: every hardware number as data, and the memory that kernels run in.

>>> from spyrelab.machine import SPYRE, DeviceMemory
>>> SPYRE.cores, SPYRE.lx_front_end_bytes
(32, 1677721)
"""

from spyrelab.machine.allocator import Allocation
from spyrelab.machine.card import SPYRE, Machine, Rates
from spyrelab.machine.errors import (
    AllocationError,
    MachineError,
    MemoryReserveError,
    OutOfMemoryError,
    UnknownFieldError,
)
from spyrelab.machine.facts import FACTS, Fact, FactTable
from spyrelab.machine.memory import DeviceMemory, map_pages, reserve_bytes

__all__ = [
    "FACTS",
    "SPYRE",
    "Allocation",
    "AllocationError",
    "DeviceMemory",
    "Fact",
    "FactTable",
    "Machine",
    "MachineError",
    "MemoryReserveError",
    "OutOfMemoryError",
    "Rates",
    "UnknownFieldError",
    "map_pages",
    "reserve_bytes",
]
