"""``@helion.kernel(backend="spyre")``: Helion's own Triton code, timed by prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helion._compiler.backend_registry import list_backends, register_compiler_backend
from helion._compiler.triton.backend import TritonBackend

from spyrelab.triton.benchmarking import predict

__all__ = ["SpyreBackend", "predict_all", "register"]


def predict_all(
    functions: Sequence[Callable[[], Any]], *ignored: Any, **settings: Any
) -> list[float]:
    """Predicted milliseconds of each call; how often to repeat them does not matter."""
    return [predict(function) for function in functions]


class SpyreBackend(TritonBackend):  # type: ignore[misc]  # Helion's classes are untyped here
    """The card as a backend of its own."""

    @property
    def name(self) -> str:
        """What kernels and ``HELION_BACKEND`` call it."""
        return "spyre"

    @property
    def codegen_name(self) -> str:
        """Whose code it generates."""
        return "triton"

    def get_do_bench(self) -> Callable[..., Any]:
        """Predicted time of one call."""
        return predict

    def get_interleaved_bench(self) -> Callable[..., list[float]]:
        """Predicted time of several calls."""
        return predict_all

    def supports_precompile(self) -> bool:
        """Compiling takes no other process: nothing hangs or crashes in it."""
        return False


def register() -> None:
    """Enter the backend, once."""
    if "spyre" not in list_backends():
        register_compiler_backend(SpyreBackend)
