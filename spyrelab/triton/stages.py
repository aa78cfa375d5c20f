"""The stages of a compilation: Triton's IR, then KTIR."""

from __future__ import annotations

from typing import Any

from spyrelab.triton.options import SpyreOptions

__all__ = ["ktir_of", "simplify", "translate"]

NUM_STAGES = "spyrelab.num_stages"
"""Attribute of the TTIR module: buffers of loops that do not say how many."""


def simplify(module: Any, metadata: dict[str, Any]) -> Any:
    """Run Triton's own passes."""
    from spyrelab.triton.internals import run_passes

    run_passes(module)
    metadata["name"] = module.get_entry_func_name()
    return module


def ktir_of(module: Any, options: SpyreOptions, name: str | None = None) -> Any:
    """The `Translation` of a simplified module, which is of no use afterwards.

    Raises
    ------
    UnsupportedKernelError
        The kernel uses something that has no meaning on the card.
    """
    from triton._C.libtriton import ir

    from spyrelab.triton import lowering
    from spyrelab.triton.internals import generic_text

    stages = ir.builder(module.context).get_int32_attr(options.num_stages)
    module.set_attr(NUM_STAGES, stages)
    return lowering.translate(generic_text(module), name)


def translate(module: Any, metadata: dict[str, Any], options: SpyreOptions) -> bytes:
    """KTIR as text, and what it needs of the scratchpad among the metadata."""
    from spyrelab.emulator import LxOverflowError
    from spyrelab.machine import SPYRE
    from spyrelab.triton.kernel import Kernel, encode, remember

    metadata.setdefault("name", module.get_entry_func_name())
    translation = ktir_of(module, options, metadata["name"])
    kernel = Kernel(translation)
    binary = encode(translation)
    metadata["lx_reason"] = ""
    try:
        metadata["shared"] = int(kernel.program(SPYRE.cores).lx_peaks.max(initial=0))
    except LxOverflowError as error:
        metadata["shared"] = SPYRE.lx_bytes + 1
        metadata["lx_reason"] = f"kernel {metadata['name']!r}: {error}"
    metadata["global_scratch_size"] = metadata["profile_scratch_size"] = 0
    metadata["global_scratch_align"] = metadata["profile_scratch_align"] = 1
    remember(binary, kernel)
    return binary
