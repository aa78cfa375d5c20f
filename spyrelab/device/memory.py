"""The card's memory behind torch storages, by DLPack, with no native code of our own.

torch calls the deleter of a DLPack tensor when the last alias of its storage dies: without the
GIL, with an exception pending, at interpreter exit. A deleter in Python would clobber that
exception or crash. So the deleter is one machine instruction's worth of compiled code that sets a
flag in the tensor's own slot, and the allocator looks for flags when it is next used.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from typing import Any

import numba
import numpy as np
import torch
from numba import types

from spyrelab.device.allocations import ENTRIES, Entry
from spyrelab.device.eager.recording import active, phantom, refuse
from spyrelab.device.forms import Form, raw_form
from spyrelab.device.internals import import_dlpack
from spyrelab.machine import DeviceMemory, OutOfMemoryError
from spyrelab.machine.memory import map_pages

__all__ = ["MEMORY", "CardMemory"]

_WORDS = 32
"""A slot: DLManagedTensor (words 0-7), the flag, address, index, then 10 sizes, 10 strides."""
_DATA, _DEVICE, _HEAD, _SIZES, _STRIDES, _DELETER, _DEAD, _ADDRESS = 0, 1, 2, 3, 4, 7, 8, 9
_SIZE, _STRIDE = 12, 22
MOST_DIMENSIONS = 10
_EXTERNAL_DEVICE = 12
"""kDLExtDev, which torch maps to PrivateUse1."""
_REAP_EVERY = 64
_REAP_BYTES = 64 << 20
"""Allocations, and bytes of them, after which to look for dead storages."""


_SLOT: Any = types.CPointer(types.int64)  # type: ignore[no-untyped-call]


@numba.cfunc(types.void(_SLOT), cache=True)
def _mark_dead(slot):  # type: ignore[no-untyped-def]
    slot[8] = 1


_new_capsule: Any = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class CardMemory:
    """All storages of the device; the memory itself is reserved at the first one.

    Attributes
    ----------
    device : DeviceMemory
        The emulated card's memory.
    host_base : int
        Host address of device address 0: what ``data_ptr()`` counts from.
    """

    phantoms = False

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._device: DeviceMemory | None = None
        self.host_base = 0
        self._slots: list[np.ndarray] = []
        self._free: list[tuple[np.ndarray, int, int]] = []
        self._made = self._unseen = 0
        self._period = _REAP_EVERY
        self.failures = 0

    @property
    def device(self) -> DeviceMemory:
        """The memory of the card, reserved when first asked for."""
        refuse("the host reads or writes device memory")
        if self._device is None:
            with self._lock:
                if self._device is None:
                    made = DeviceMemory()
                    self.host_base = made.bytes.ctypes.data
                    self._device = made
        return self._device

    @property
    def lock(self) -> threading.RLock:
        """Held while memory is shared out and while a program runs; no fork comes between."""
        return self._lock

    @property
    def is_initialized(self) -> bool:
        """Whether the memory has been reserved."""
        return self._device is not None

    def tensor(self, form: Form) -> torch.Tensor:
        """A fresh tensor in an allocation of its own; its elements are whatever was there.

        Raises
        ------
        torch.OutOfMemoryError
            No hole is large enough; everything else is as it was.
        """
        if active() is not None and not self.phantoms:
            return phantom(form)
        if len(form.size) > MOST_DIMENSIONS:
            block = self.tensor(raw_form(form.host_bytes))
            shell = torch.empty(0, dtype=form.dtype, device="spyre")
            shell.set_(block.untyped_storage(), 0, form.size, form.stride)
            self.move(ENTRIES[block.untyped_storage().data_ptr()], form)
            return shell
        memory = self._device or self.device
        with self._lock:
            self._made += 1
            self._unseen += form.device_bytes
            if self._unseen > _REAP_BYTES or self._made % self._period == 0 or not self._free:
                self.reap()
                self._unseen = form.device_bytes
            if not self._free:
                self._add_slots()
            address = self._allocate(memory, form.device_bytes)
            slots, number, pointer = self._free.pop()
            slot = slots[number]
            base = self.host_base + address
            slot[_DATA], slot[_HEAD], slot[_ADDRESS] = base, form.head, address
            rank = len(form.size)
            if rank:
                slot[_SIZE : _SIZE + rank] = form.size
                slot[_STRIDE : _STRIDE + rank] = form.stride
            ENTRIES[base] = Entry(form, address)
        try:
            return import_dlpack(_new_capsule(pointer, b"dltensor", None))
        except BaseException:
            slot[_DEAD] = 1
            raise

    def raw(self, nbytes: int) -> torch.Tensor:
        """A tensor of ``nbytes`` bytes in host order."""
        return self.tensor(raw_form(nbytes))

    def block(self, nbytes: int) -> int:
        """The address of device memory without a tensor; ``device.free`` takes it back."""
        memory = self.device
        with self._lock:
            return self._allocate(memory, nbytes)

    def reap(self) -> None:
        """Give back the memory of every storage that has died."""
        with self._lock:
            for slots in self._slots:
                for number in np.flatnonzero(slots[:, _DEAD]).tolist():
                    slot = slots[number]
                    named = int(slot[_ADDRESS])
                    entry = ENTRIES.pop(int(slot[_DATA]))
                    self.device.free(named)
                    if entry.address != named:
                        self.device.free(entry.address)
                    slot[_DEAD] = 0
                    self._free.append((slots, number, slot.ctypes.data))

    def move(self, entry: Entry, form: Form) -> None:
        """Give an allocation room for another form, elsewhere if need be; contents are lost."""
        with self._lock:
            if form.device_bytes > entry.form.device_bytes:
                new = self._allocate(self.device, form.device_bytes)
                entry.address = new
            elif form.device_bytes != entry.form.device_bytes:
                self.device.resize(entry.address, form.device_bytes)
            entry.form = form

    def retire(self) -> None:
        """Let slots outlive compiled code: from now on storages die without being noticed."""
        harmless: Any = ctypes.cast(ctypes.CDLL(None).labs, ctypes.c_void_p).value
        for slots in self._slots:
            slots[:, _DELETER] = harmless

    def _allocate(self, memory: DeviceMemory, nbytes: int) -> int:
        try:
            return memory.allocate(nbytes)
        except OutOfMemoryError:
            self.reap()
        try:
            return memory.allocate(nbytes)
        except OutOfMemoryError as error:
            self.failures += 1
            gib = 1 << 30
            raise torch.OutOfMemoryError(
                f"spyre out of memory. Tried to allocate {nbytes / gib:.2f} GiB"
                f" ({nbytes:,} bytes). Device 0 has a total capacity of"
                f" {memory.ddr_bytes / gib:.2f} GiB of which {memory.free_bytes / gib:.2f} GiB is"
                f" free; the largest free block has {error.largest_hole:,} bytes."
            ) from None

    def _add_slots(self) -> None:
        count = max(1024, sum(len(slots) for slots in self._slots))
        pages = map_pages(count * _WORDS * 8, huge=False)
        # Never unmapped: torch reads a slot when its storage dies, even after Python is gone.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(pages))
        slots = np.frombuffer(pages, np.int64).reshape(count, _WORDS)
        pointers = slots.ctypes.data + np.arange(count, dtype=np.int64) * _WORDS * 8
        slots[:, _DEVICE] = _EXTERNAL_DEVICE
        deleter: Any = _mark_dead.address
        slots[:, _DELETER] = deleter
        slots[:, _SIZES], slots[:, _STRIDES] = pointers + _SIZE * 8, pointers + _STRIDE * 8
        self._slots.append(slots)
        self._period = max(_REAP_EVERY, 2 * count // 32)
        self._free += [(slots, n, int(pointers[n])) for n in range(count - 1, -1, -1)]

    def _before_fork(self) -> None:
        # No thread that the child will not have may be in the middle of a change.
        self._lock.acquire()

    def _after_fork(self) -> None:
        self._lock.release()

    def _in_child(self) -> None:
        self._lock = threading.RLock()

    def outlive_interpreter(self) -> None:
        """Survive the end of Python and forks."""
        atexit.register(self.retire)
        os.register_at_fork(
            before=self._before_fork,
            after_in_parent=self._after_fork,
            after_in_child=self._in_child,
        )


class PhantomMemory(CardMemory):
    """Addresses for tensors that are recorded with and never read or written."""

    phantoms = True

    def __init__(self, nbytes: int) -> None:
        super().__init__()
        self._space = DeviceMemory(nbytes)
        self.host_base = self._space.bytes.ctypes.data
        self._device = self._space
        self.outlive_interpreter()

    @property
    def device(self) -> DeviceMemory:
        """The address space."""
        return self._space


MEMORY = CardMemory()
"""The one card of this process."""

MEMORY.outlive_interpreter()
