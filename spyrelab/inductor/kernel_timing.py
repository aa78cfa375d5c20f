"""Inductor's tuner of Triton kernels chooses by predicted time."""

from __future__ import annotations

from torch._inductor.runtime.benchmarking import register_benchmarker

from spyrelab.inductor.user_kernels import predicted

__all__ = ["install"]


def install() -> None:
    """Register the timer of the device."""
    register_benchmarker("spyre", predicted, override=True)
