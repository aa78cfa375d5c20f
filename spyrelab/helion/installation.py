"""Telling Helion about the card."""

from __future__ import annotations

__all__ = ["install"]

_LATER = {
    "helion._testing": "spyrelab.helion.testing",
    "helion._compiler._inductor.template_buffer": "spyrelab.helion.compiled",
}
"""Modules of Helion that it loads when they are needed: ours that enters into them then."""

_watched: list[bool] = []


def install() -> None:
    """Make Helion's kernels run on the card; calling it again does nothing more.

    Happens by itself when Helion is imported after SpyreLab. Triton compiles for the card from then
    on where no other device is present; beside one, `spyrelab.triton.install` makes it so.

    Raises
    ------
    HelionVersionError, TritonVersionError
        The installed versions are not those that this was written for. Raised by each import of
        Helion then: it is never there without what makes it run on the card.
    """
    from spyrelab.helion import internals

    internals.check()
    from spyrelab import triton
    from spyrelab.arrival import watch
    from spyrelab.helion.backend import register
    from spyrelab.helion.benchmarking import patch_benchmarks
    from spyrelab.helion.devices import patch_devices
    from spyrelab.helion.oracle import register_products
    from spyrelab.helion.search_space import patch_configurations, patch_search_space
    from spyrelab.helion.searches import patch_searches
    from spyrelab.triton.driver import SpyreDriver

    if SpyreDriver.is_active():
        triton.install()
    patch_devices()
    patch_benchmarks()
    patch_search_space()
    patch_configurations()
    patch_searches()
    register()
    register_products()
    if not _watched:
        watch(_LATER)
        _watched.append(True)
