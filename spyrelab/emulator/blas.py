"""One BLAS thread inside a core: host threads already run cores side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> tuple[Any, ...]:
    """Controllers of every BLAS that is loaded; compiled products call one of them."""
    import scipy.linalg.cython_blas  # noqa: F401  (loads the library that numba calls)

    found = ThreadpoolController().select(user_api="blas")
    return tuple(found.lib_controllers)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run a block with a single BLAS thread, and restore the numbers afterwards."""
    changed = [(library, library.get_num_threads()) for library in _libraries()]
    changed = [(library, count) for library, count in changed if count != 1]
    for library, _ in changed:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, count in changed:
            library.set_num_threads(count)
