"""Telling Helion about the card."""

from __future__ import annotations

__all__ = ["install"]


def install() -> None:
    """Make Helion's kernels run on the card; calling it again does nothing more.

    Happens by itself when Helion is imported after SpyreLab. Triton compiles for the card from then
    on where no other device is present; beside one, `spyrelab.triton.install` makes it so.

    Raises
    ------
    HelionVersionError, TritonVersionError
        The installed versions are not those that this was written for.
    """
    from spyrelab.helion import internals

    internals.check()
    from spyrelab import triton
    from spyrelab.helion.backend import register
    from spyrelab.helion.devices import patch_devices
    from spyrelab.helion.oracle import register_products
    from spyrelab.helion.search_space import patch_search_space
    from spyrelab.helion.searches import patch_searches
    from spyrelab.triton.driver import SpyreDriver

    if SpyreDriver.is_active():
        triton.install()
    patch_devices()
    patch_search_space()
    patch_searches()
    register()
    register_products()
