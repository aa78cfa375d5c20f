"""Options of a kernel: what the card minds, and what other backends mind."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

__all__ = ["SpyreOptions"]


@dataclass(frozen=True)
class SpyreOptions:
    """Options of one kernel.

    Warps, cooperative groups of blocks and register limits mean nothing to the card: they are
    accepted so that a kernel written for a GPU runs as it is, and change nothing.

    Attributes
    ----------
    num_stages : int
        Buffers that loops load into, where `tl.range` does not say. The card lets the loads of
        the next iteration go ahead wherever its scratchpad has room, so that 1, the default of
        most callers, keeps nothing from that; ``tl.range(..., num_stages=1)`` does.
    launch_cooperative_grid : bool
        Accepted: all programs of a kernel with a grid barrier run at once anyway.
    default_dot_input_precision : str
        Products are taken in f32 whatever is asked for.
    supported_fp8_dtypes : tuple of str
        e5m2 and e4m3.
    debug : bool
        Whether `tl.device_assert` is checked.
    """

    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 1
    warp_size: int = 32
    maxnreg: int | None = None
    ir_override: str | None = None
    enable_fp_fusion: bool = False
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4nv", "fp8e5")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple[tuple[str, str], ...] = ()
    debug: bool = False
    backend_name: str = "spyre"
    sanitize_overflow: bool = False
    arch: str = "aiu1"
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False
    waves_per_eu: int = 0
    matrix_instr_nonkdim: int = 0
    kpack: int = 1
    schedule_hint: str = ""
    ptx_options: str | None = None
    enable_reflect_ftz: bool = True
    allow_flush_denorm: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """The options among the keyword arguments of a launch; others are the kernel's own."""
        names = {field.name for field in fields(cls)}
        return cls(**{k: v for k, v in given.items() if k in names and v is not None})

    def hash(self) -> str:
        """Part of the key that compiled kernels are found by."""
        return hashlib.sha256(repr(self).encode()).hexdigest()
