"""Making the card Triton's device, also beside other drivers."""

from __future__ import annotations

from typing import Any

from spyrelab.triton.errors import TritonVersionError

__all__ = ["install", "is_installed"]

NAME = "spyre"


def install() -> None:
    """Let Triton compile for the card from now on; kernels of other drivers keep theirs.

    Calling it again changes nothing. ``triton.runtime.driver.driver.reset_active()`` goes back.

    Raises
    ------
    TritonVersionError
        Triton is missing or is a version that the backend does not know, or another package
        has registered a backend of the same name.
    """
    try:
        import triton
    except ImportError:
        raise TritonVersionError(
            "Triton is not installed: pip install 'triton>=3.7.1,<3.10' (Linux only)"
        ) from None
    from triton.backends import Backend, backends
    from triton.runtime.driver import driver

    from spyrelab.triton import internals
    from spyrelab.triton.compiler import SpyreBackend
    from spyrelab.triton.driver import SpyreDriver

    internals.check()
    known: Any = backends.get(NAME)
    if known is None:
        backends[NAME] = Backend(SpyreBackend, SpyreDriver)
    elif known.compiler is not SpyreBackend:
        raise TritonVersionError(
            f"triton {triton.__version__} has a backend {NAME!r} from"
            f" {known.compiler.__module__} already: two cannot share the name; uninstall one"
        )
    if not isinstance(driver._active, SpyreDriver):
        driver.set_active(SpyreDriver())


def is_installed() -> bool:
    """Whether Triton would compile for the card now."""
    import sys

    if sys.modules.get("triton") is None:
        return False
    from triton.runtime.driver import driver

    from spyrelab.triton.driver import SpyreDriver

    return isinstance(driver._active, SpyreDriver)
