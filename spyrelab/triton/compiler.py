"""Triton's compiler for the card: TTIR by Triton's own front end and passes, KTIR by ours."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from triton.backends.compiler import BaseBackend, GPUTarget, Language

from spyrelab.triton.options import SpyreOptions

__all__ = ["SpyreBackend"]


class SpyreBackend(BaseBackend):  # type: ignore[misc]  # Triton has no types
    """Compiles kernels for the target ``spyre``."""

    binary_ext = "hsaco"
    """What Triton keeps a binary as; with TRITON_STORE_BINARY_ONLY it keeps only known ones."""

    def __init__(self, target: GPUTarget) -> None:
        from spyrelab.triton import internals

        internals.check()
        super().__init__(target)

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether a target is the card."""
        return bool(target.backend == "spyre")

    def hash(self) -> str:
        """Part of the key that compiled kernels are found by."""
        from spyrelab.triton.fingerprint import fingerprint

        return fingerprint()

    def parse_options(self, opts: dict[str, Any]) -> SpyreOptions:
        """The options among a launch's keyword arguments."""
        return SpyreOptions.of(opts)

    def pack_metadata(self, metadata: Any) -> tuple[Any, ...]:
        """What launch hooks are given."""
        return metadata.num_warps, metadata.num_ctas, metadata.shared

    def get_codegen_implementation(self, options: SpyreOptions) -> dict[str, Any]:
        """Choices of the front end: products of any size, no custom types."""
        return {"min_dot_size": lambda left, right: (1, 1, 1), "convert_custom_types": _no_type}

    def get_module_map(self) -> dict[str, ModuleType]:
        """Our own libdevice."""
        from spyrelab.triton import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, ctx: Any) -> None:
        """Nothing beyond what Triton loads itself."""

    def add_stages(
        self, stages: dict[str, Any], options: SpyreOptions, language: Any = Language.TRITON
    ) -> None:
        """Two stages: Triton's IR simplified, then KTIR.

        Raises
        ------
        UnsupportedKernelError
            The kernel is written in Gluon.
        """
        from triton import knobs

        from spyrelab.triton import stages as ours

        if language != Language.TRITON:
            from spyrelab.triton.errors import UnsupportedKernelError

            raise UnsupportedKernelError("a Gluon kernel", advice="write it with @triton.jit")
        stages["ttir"] = lambda module, metadata: ours.simplify(module, metadata)
        stages["hsaco"] = lambda module, metadata: ours.translate(module, metadata, options)
        if knobs.runtime.add_stages_inspection_hook is not None:
            knobs.runtime.add_stages_inspection_hook(self, stages, options, language, None)


def _no_type(*args: Any, **kwargs: Any) -> Any:
    from spyrelab.triton.errors import UnsupportedKernelError

    raise UnsupportedKernelError(
        "the fp8 type e4b15", advice="the card has e4m3 (tl.float8e4nv) and e5m2 (tl.float8e5)"
    )
