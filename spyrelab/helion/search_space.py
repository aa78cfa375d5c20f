"""What a tuner may propose for the card."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["MEANINGLESS", "patch_configurations", "patch_search_space", "without_choice"]

_STICK_BITS = 128 * 8

MEANINGLESS = (
    "load_cache_modifiers",
    "load_eviction_policies",
    "num_warps",
    "range_multi_buffers",
    "range_warp_specializes",
    "store_cache_modifiers",
)
"""Choices that change nothing on the card, which has no warps and no caches."""


def patch_search_space() -> None:
    """Narrow what is searched for kernels on the card; a configuration by hand may be anything.

    Rows of a tile lie in sticks of 128 bytes, in the scratchpad as in memory, and a part of one
    costs as much as the whole. So blocks of a tile's last dimension are searched from one stick
    on, or from the whole dimension where that is less. The narrowing is one of the search space,
    not a filter: a filter would spend the search's proposals on what it throws away. And a core
    takes one program at a time, so persistent kernels have as many programs as there are cores.
    """
    from helion._compiler.triton.backend import TritonBackend

    plain: Any = TritonBackend.adjust_block_size_constraints
    if hasattr(plain, "_spyrelab"):
        return

    def adjust(
        self: Any,
        block_specs: list[Any],
        ndim: int,
        block_sizes: Sequence[Any] | None = None,
        kernel_tensor_sizes: Mapping[tuple[Any, ...], int] | None = None,
        min_element_bits: int = 32,
    ) -> None:
        from helion._compiler.compile_environment import CompileEnvironment

        plain(self, block_specs, ndim, block_sizes, kernel_tensor_sizes, min_element_bits)
        environment = CompileEnvironment.current()
        if environment.device.type != "spyre":
            return
        environment.config_spec.max_num_sm_multiplier = 1
        last = set(_last_blocks(block_sizes or (), kernel_tensor_sizes or {}))
        for spec in block_specs:
            if spec.block_id in last:
                stick = _STICK_BITS // min_element_bits
                spec.autotuner_min = min(max(spec.autotuner_min, stick), spec.max_size)

    adjust._spyrelab = True  # type: ignore[attr-defined]
    TritonBackend.adjust_block_size_constraints = adjust


def _last_blocks(blocks: Sequence[Any], shapes: Iterable[tuple[Any, ...]]) -> Iterator[int]:
    """Blocks that end a tile, of the tiles with the most dimensions that each is part of."""
    shapes = list(shapes)
    for block in blocks:
        found = [shape for shape in shapes if any(map(block.dim_matches, shape))]
        most = max(map(len, found), default=0)
        if any(block.dim_matches(shape[-1]) for shape in found if len(shape) == most):
            yield block.block_id


def without_choice(config_spec: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """What tuners are told to leave as it is: what changes nothing, and what a user has fixed."""
    plain = config_spec.default_config().config
    return {**{key: plain[key] for key in MEANINGLESS if key in plain}, **given}


_FOREIGN = (
    "matrix_instr_nonkdim",
    "maxnreg",
    "range_warp_specializes",
    "waves_per_eu",
    "xcd_remap",
)
"""Choices that only GPUs of one kind have; configurations that were tuned there hold them."""


def patch_configurations() -> None:
    """Let kernels bring configurations that were tuned on a GPU: what means nothing is left out."""
    from helion.autotuner.config_spec import ConfigSpec

    from spyrelab.helion.devices import is_card

    plain: Any = ConfigSpec.normalize
    if hasattr(plain, "_spyrelab"):
        return

    @functools.wraps(plain)
    def normalize(self: Any, config: Any, **settings: Any) -> Any:
        if is_card(self.device):
            values = getattr(config, "config", config)
            for name in _FOREIGN:
                values.pop(name, None)
        return plain(self, config, **settings)

    normalize._spyrelab = True  # type: ignore[attr-defined]
    ConfigSpec.normalize = normalize
