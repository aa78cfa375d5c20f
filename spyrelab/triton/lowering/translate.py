"""Triton's IR in, KTIR out."""

from __future__ import annotations

import re

from spyrelab.ktir.ir import Module, walk
from spyrelab.triton.arguments import Role, Translation
from spyrelab.triton.errors import UnsupportedKernelError
from spyrelab.triton.lowering.builder import KernelBuilder
from spyrelab.triton.lowering.cleanup import drop_unused
from spyrelab.triton.lowering.kernel import Kernel
from spyrelab.triton.lowering.programs import CORES, lower_kernel
from spyrelab.triton.ttir import TtirOperation, parse_ttir, to_origins

__all__ = ["translate"]


def translate(text: str, function: str | None = None) -> Translation:
    """The KTIR of a kernel.

    Parameters
    ----------
    text
        A module of Triton's IR in generic MLIR form, with locations.
    function
        The kernel's name; without it the module's only public function.

    Raises
    ------
    UnsupportedKernelError
        With file, line and column in the kernel's source, and what to use instead.
    KtirError
        For text that is no generic MLIR.
    """
    module = parse_ttir(text)
    to_origins(module)
    functions = {
        operation.attributes["sym_name"]: operation
        for region in module.regions
        for block in region
        for operation in block.operations
        if operation.name == "tt.func"
    }
    chosen = _chosen(functions, function)
    others = {name: f for name, f in functions.items() if f is not chosen}
    name = re.sub(r"\W", "_", chosen.attributes["sym_name"])
    b = KernelBuilder(name, (CORES,), {"spyrelab.origin": "triton"})
    kernel = Kernel(b, others)
    kernel.stages = module.attributes.get("spyrelab.num_stages", 1)
    lower_kernel(kernel, chosen)
    built = b.build()
    drop_unused(built)
    _drop_arguments(built, kernel)
    return _translation(built, kernel)


def _chosen(functions: dict[str, TtirOperation], name: str | None) -> TtirOperation:
    if name is not None:
        if name not in functions:
            raise UnsupportedKernelError(
                f"no kernel {name}", advice=f"the module has {', '.join(functions)}"
            )
        return functions[name]
    public = [f for f in functions.values() if f.attributes.get("sym_visibility") != "private"]
    if len(public) != 1:
        raise UnsupportedKernelError(f"the module has {len(public)} kernels", advice="name one")
    return public[0]


def _drop_arguments(module: Module, kernel: Kernel) -> None:
    """Leave out pointers, extents and descriptor parts that the program does not use."""
    function = module.function()
    used = {value for o in walk(function.body.operations) for value in o.operands}
    plain = (Role.SCALAR, Role.GRID)
    pairs = zip(function.arguments, kernel.arguments, strict=True)
    kept = [(value, entry) for value, entry in pairs if value in used or entry.role in plain]
    function.arguments = function.body.arguments = tuple(value for value, _ in kept)
    kernel.arguments = [entry for _, entry in kept]


def _translation(module: Module, kernel: Kernel) -> Translation:
    return Translation(
        module, tuple(kernel.arguments), tuple(kernel.notes), kernel.barriers, dict(kernel.types)
    )
