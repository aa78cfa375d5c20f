"""Host memory behind the arenas, kept by each thread that launches programs."""

from __future__ import annotations

import contextlib
import mmap
import threading

import numpy as np

_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)


class ArenaPool(threading.local):
    """Grows as needed; pages that no program touches cost nothing."""

    def __init__(self) -> None:
        self._float = np.empty(0, np.float32)
        self._integer = np.empty(0, np.int64)

    def arenas(self, rows: int, floats: int, integers: int) -> tuple[np.ndarray, np.ndarray]:
        """F (float32) and I (int64) arenas of ``rows`` cores; contents are undefined."""
        if self._float.size < rows * floats:
            self._float = _pages(rows * floats, np.dtype(np.float32))
        if self._integer.size < rows * integers:
            self._integer = _pages(rows * integers, np.dtype(np.int64))
        return (
            self._float[: rows * floats].reshape(rows, floats),
            self._integer[: rows * integers].reshape(rows, integers),
        )


def _pages(count: int, kind: np.dtype) -> np.ndarray:
    pages = mmap.mmap(-1, max(count * kind.itemsize, 1), flags=_FLAGS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, kind, count)


POOL = ArenaPool()
