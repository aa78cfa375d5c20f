"""Runs a kernel from its source: Triton's front end, our lowering, both engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from spyrelab.emulator import run
from spyrelab.triton.arguments import Role, Translation
from spyrelab.triton.compiler import SpyreBackend
from spyrelab.triton.stages import ktir_of, simplify

TARGET = GPUTarget("spyre", "aiu1", 32)
_TYPES = {
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.uint32: "u32",
    torch.int64: "i64",
    torch.bool: "i1",
}


class Typed:
    """A scalar argument of a chosen type."""

    def __init__(self, value: float, kind: str) -> None:
        self.value = value
        self.kind = kind


def translate_kernel(
    fn: Any, args: dict[str, Any], options: dict[str, Any] | None = None, **constants: Any
) -> Translation:
    """The KTIR of a kernel for arguments of these types; capital names are constants."""
    backend = SpyreBackend(TARGET)
    chosen = backend.parse_options(options or {})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    signature = {n: "constexpr" if n in constants else _kind(args[n]) for n in fn.arg_names}
    places = {(fn.arg_names.index(name),): value for name, value in constants.items()}
    source = ASTSource(fn, signature, places, {})
    module = source.make_ir(
        TARGET,
        chosen,
        backend.get_codegen_implementation(chosen),
        backend.get_module_map(),
        context,
    )
    metadata: dict[str, Any] = {}
    return ktir_of(simplify(module, metadata), chosen, metadata["name"])


def _kind(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"*{_TYPES[value.dtype]}"
    if isinstance(value, Typed):
        return value.kind
    return "i1" if isinstance(value, bool) else "i32" if isinstance(value, int) else "fp32"


def launch(
    fn: Any,
    grid: Sequence[int],
    args: dict[str, Any],
    kinds: Sequence[str] | None = None,
    sanitize: bool | str = True,
    **constants: Any,
) -> dict[str, torch.Tensor]:
    """What the tensors hold after a launch: alike on both engines, without findings.

    ``kinds``: how the accesses have to be done, in order of the kernel's text.
    """
    translation = translate_kernel(fn, args, **constants)
    if kinds is not None:
        assert [note.kind.value for note in translation.notes] == list(kinds), translation.notes
    outcomes = [
        run_translation(fn, translation, grid, args, engine, sanitize, tuple(constants))
        for engine in ("vm", "reference")
    ]
    for name, value in outcomes[0].items():
        other = outcomes[1][name]
        assert torch.equal(value.view(torch.uint8), other.view(torch.uint8)), name
    return outcomes[0]


def run_translation(
    fn: Any,
    translation: Translation,
    grid: Sequence[int],
    args: dict[str, Any],
    engine: str = "vm",
    sanitize: bool | str = False,
    constants: Sequence[str] = (),
) -> dict[str, torch.Tensor]:
    """What the tensors hold after a launch on one engine."""
    full = (*grid, 1, 1)
    names = [name for name in fn.arg_names if name not in constants]
    translation.module.verify()
    function = translation.module.function()
    if translation.barriers:
        function.attributes["grid"] = (int(np.prod(full)),)
    given: dict[str, Any] = {}
    pointers: dict[str, str] = {}
    for argument in translation.arguments:
        value: Any = None if argument.role is Role.GRID else args[names[argument.number]]
        if argument.role is Role.GRID:
            given[argument.name] = full[argument.number]
        elif argument.role is Role.EXTENT:
            given[argument.name] = value.nbytes // argument.item_bytes
        elif isinstance(value, torch.Tensor):
            array = _as_array(value)
            same = array.dtype.itemsize == argument.item_bytes
            given[argument.name] = array if same else array.view(f"i{argument.item_bytes}")
            pointers[argument.name] = names[argument.number]
        else:
            given[argument.name] = value.value if isinstance(value, Typed) else value
    found = run(
        translation.module,
        given,
        engine=engine,
        exact=True,
        sanitize=sanitize if engine == "vm" else False,
    )
    return {name: _as_tensor(found.outputs[key], args[name]) for key, name in pointers.items()}


def _as_array(value: torch.Tensor) -> Any:
    if value.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        return value.view(torch.uint8).numpy()
    if value.dtype == torch.bfloat16:
        return value.view(torch.int16).numpy().view(np.uint16)
    if value.dtype == torch.uint32:
        return value.view(torch.int32).numpy()
    return value.numpy()


def _as_tensor(array: Any, like: torch.Tensor) -> torch.Tensor:
    if like.dtype == torch.bfloat16:
        array = array.view(np.int16)
    tensor = torch.from_numpy(np.array(array))
    return tensor if tensor.dtype == like.dtype else tensor.view(like.dtype)
