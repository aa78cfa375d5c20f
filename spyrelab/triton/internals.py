"""Every name of Triton that the backend relies on beyond the documented language.

Triton promises nothing about these. Where a release moves one, this page says which.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

import triton

from spyrelab.triton.errors import TritonVersionError

__all__ = ["FIRST", "LAST", "check", "generic_text", "hold_out_of_line", "run_passes"]

FIRST, LAST = (3, 7, 1), (3, 9)
"""First and last version that the tests run on; a patch release of the last counts as it."""

_NEEDED = {
    "triton.backends.Backend": "adds the backend without an entry point",
    "triton.backends.backends": "adds the backend without an entry point",
    "triton.backends.compiler.BaseBackend": "base class of the compiler",
    "triton.backends.compiler.GPUTarget": "names the card",
    "triton.backends.compiler.Language": "tells Triton from Gluon",
    "triton.backends.driver.DriverBase": "base class of the driver",
    "triton.compiler.compiler.make_backend": "chooses a backend for a target",
    "triton.runtime.autotuner.Autotuner": "tuning",
    "triton.runtime.autotuner.OutOfResources": "tells tuners to skip a configuration",
    "triton.runtime.driver._active": "the active driver",
    "triton.runtime.driver.set_active": "the active driver",
    "triton.runtime.jit.JITFunction": "kernels",
    "triton.knobs.runtime": "hooks of compilation",
    "triton.language.core.extern_elementwise": "libdevice",
    "triton.language.core.extern": "libdevice",
    "triton._C.libtriton.ir.builder": "makes attributes",
    "triton._C.libtriton.ir.module.get_function": "keeps grid barriers out of line",
    "triton._C.libtriton.ir.module.set_attr": "the generic form of a module",
    "triton._C.libtriton.ir.module.walk": "finds grid barriers",
    "triton._C.libtriton.ir.pass_manager": "Triton's own passes",
    "triton._C.libtriton.passes.common.add_canonicalizer": "Triton's own passes",
    "triton._C.libtriton.passes.common.add_cse": "Triton's own passes",
    "triton._C.libtriton.passes.common.add_inliner": "Triton's own passes",
    "triton._C.libtriton.passes.common.add_symbol_dce": "Triton's own passes",
    "triton._C.libtriton.passes.ttir.add_combine": "Triton's own passes",
    "triton._C.libtriton.passes.ttir.add_loop_unroll": "Triton's own passes",
    "triton._C.libtriton.passes.ttir.add_reorder_broadcast": "Triton's own passes",
    "triton._C.libtriton.passes.ttir.add_triton_licm": "Triton's own passes",
}
"""Name: what it is needed for."""

BARRIERS = "x_grid_barrier"
"""End of the name of the function that torch and Helion wait for all programs with."""


def check() -> None:
    """Raise TritonVersionError where this Triton is not one that the backend was written for."""
    found = tuple(int(part) for part in re.findall(r"\d+", triton.__version__)[:3])
    if not found >= FIRST or found[:2] > LAST:
        raise TritonVersionError(
            f"triton {triton.__version__} is installed; the card's backend was written for"
            " 3.7.1 to 3.9: pip install 'triton>=3.7.1,<3.10'"
        )
    missing = [f"{path} ({purpose})" for path, purpose in _NEEDED.items() if not _exists(path)]
    if missing:
        raise TritonVersionError(
            f"triton {triton.__version__} lacks {', '.join(missing)}; install triton 3.7.1 to"
            " 3.9, or mend spyrelab/triton/internals.py"
        )


def _exists(path: str) -> bool:
    """Whether a dotted path names something; modules are imported as far as they go."""
    parts = path.split(".")
    found: Any = triton
    for end, name in enumerate(parts[1:], 2):
        if not hasattr(found, name):
            try:
                importlib.import_module(".".join(parts[:end]))
            except ImportError:
                return False
        if not hasattr(found, name):
            return False
        found = getattr(found, name)
    return True


def hold_out_of_line(module: Any) -> None:
    """Mark grid barriers as not to be inlined, so that lowering knows them by name."""
    from triton._C.libtriton import ir

    names: list[str] = []

    def visit(operation: Any) -> None:
        if operation.get_name() == "tt.func":
            name = operation.get_str_attr("sym_name")
            if name.split("__")[0].endswith(BARRIERS):
                names.append(name)

    module.walk(visit)
    for name in names:
        yes = ir.builder(module.context).get_bool_attr(True)
        module.get_function(name).set_attr("noinline", yes)


def run_passes(module: Any) -> None:
    """Triton's own simplifications, in place.

    Tensor descriptors stay: they say more about an access than the pointers they would become.
    """
    from triton._C.libtriton import ir, passes

    hold_out_of_line(module)
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    passes.common.add_inliner(manager)
    if hasattr(passes.ttir, "add_rewrite_tensor_pointer"):  # block pointers: up to 3.7
        passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.ttir.add_reorder_broadcast(manager)
    passes.common.add_cse(manager)
    passes.ttir.add_triton_licm(manager)
    passes.common.add_symbol_dce(manager)
    passes.ttir.add_loop_unroll(manager)
    manager.run(module, "make_ttir")


def generic_text(module: Any) -> str:
    """A module in MLIR's generic form, with locations; the module is of no use afterwards.

    Triton cannot be asked for this form, but MLIR prints it for a module that fails
    verification, and an attribute of the wrong type makes it fail.
    """
    from triton._C.libtriton import ir

    module.set_attr("llvm.data_layout", ir.builder(module.context).get_unit_attr())
    text = str(module)
    if '"tt.func"' not in text:
        raise TritonVersionError(
            f"triton {triton.__version__} no longer prints a module in MLIR's generic form;"
            " install triton 3.7.1 to 3.9, or mend spyrelab/triton/internals.py"
        )
    return text
