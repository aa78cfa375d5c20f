"""Compiling a kernel from its source alone: no launch, no tensors."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from spyrelab.errors import UsageError
from spyrelab.triton.arguments import Translation
from spyrelab.triton.files import find_in
from spyrelab.triton.options import SpyreOptions

__all__ = ["Signature", "front_end", "kernel_in", "read_signature", "translate_kernel"]

_TYPE = re.compile(r"\*?k?(fp|bf|[iu])\d\w*$|tensordesc<.*>$")


@dataclass(frozen=True)
class Signature:
    """What a kernel is compiled for.

    Attributes
    ----------
    types : dict
        Parameter: Triton's type, ``"constexpr"`` for a constant.
    constants : dict
        Parameter: value.
    """

    types: Mapping[str, str]
    constants: Mapping[str, Any]


def kernel_in(place: str) -> Any:
    """The kernel that ``FILE:KERNEL`` names.

    Raises
    ------
    UsageError
        There is no such file, it cannot be loaded, or there is no such kernel in it.
    """
    from triton import KernelInterface

    kernel, _ = find_in(place, KernelInterface, "Triton")
    return kernel


def read_signature(kernel: Any, text: str | None) -> tuple[Signature, SpyreOptions]:
    """Types and constants of a kernel's parameters.

    Parameters
    ----------
    kernel
        A kernel, tuned or not: the first configuration gives what ``text`` leaves out.
    text
        ``NAME=TYPE`` or ``NAME=VALUE`` items between commas; names may be left out in order.

    Raises
    ------
    UsageError
        A parameter has neither; the message shows what to write.
    """
    function, defaults, options = _unwrapped(kernel)
    names = list(function.arg_names)
    given = _items(text or "", names)
    types: dict[str, str] = {}
    constants: dict[str, Any] = {}
    missing = []
    for parameter in function.params:
        value = given.get(parameter.name, defaults.get(parameter.name, inspect.Parameter.empty))
        if value is inspect.Parameter.empty and parameter.has_default:
            value = parameter.default
        if value is inspect.Parameter.empty and parameter.annotation_type:
            value = parameter.annotation_type
        if isinstance(value, str) and _TYPE.match(value):
            types[parameter.name] = value
        elif value is inspect.Parameter.empty:
            missing.append(parameter)
        else:
            types[parameter.name] = "constexpr"
            constants[parameter.name] = value
    if missing:
        sample = ",".join(f"{p.name}={_likely(p)}" for p in missing)
        raise UsageError(
            f"kernel {function.__name__!r} takes {', '.join(names)}; say what each is with"
            f" --signature, such as '{sample}' (types: *fp16, *bf16, *fp32, *i32, i32, fp32, ...)"
        )
    return Signature(types, constants), options


def _likely(parameter: Any) -> str:
    """What a message shows for a parameter that nothing is known of."""
    if parameter.is_constexpr:
        return "64"
    sized = parameter.name.lower().startswith(("n", "m", "k", "stride", "size", "len"))
    return "i32" if sized else "*fp16"


def _unwrapped(kernel: Any) -> tuple[Any, dict[str, Any], SpyreOptions]:
    """The kernel inside tuners and heuristics, and what the first configuration says."""
    defaults: dict[str, Any] = {}
    options = SpyreOptions()
    while hasattr(kernel, "fn"):
        if hasattr(kernel, "configs") and kernel.configs:
            config = kernel.configs[0]
            defaults |= config.kwargs
            options = SpyreOptions.of(config.all_kwargs())
        if hasattr(kernel, "params"):
            break
        kernel = kernel.fn
    return kernel, defaults, options


def _items(text: str, names: list[str]) -> dict[str, Any]:
    items: dict[str, Any] = {}
    for place, item in enumerate(re.split(r",(?![^<\[(]*[>\])])", text) if text.strip() else []):
        name, equals, value = item.strip().rpartition("=")
        if not equals:
            if place >= len(names):
                raise UsageError(f"--signature has more than the {len(names)} parameters")
            name = names[place]
        if name not in names:
            raise UsageError(f"--signature: no parameter {name!r}; there are {', '.join(names)}")
        items[name] = value if _TYPE.match(value) else _value(name, value)
    return items


def _value(name: str, text: str) -> Any:
    if text in ("tl.float16", "tl.bfloat16", "tl.float32", "tl.int32", "tl.int64"):
        import triton.language

        return getattr(triton.language, text.removeprefix("tl."))
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise UsageError(
            f"--signature: {name}={text} is neither a type (such as *fp16, i32) nor a value"
        ) from None


def translate_kernel(kernel: Any, signature: Signature, options: SpyreOptions) -> Translation:
    """The KTIR of a kernel.

    Raises
    ------
    UnsupportedKernelError
        The kernel uses something that has no meaning on the card.
    """
    from triton.compiler import ASTSource

    from spyrelab.triton.stages import ktir_of, simplify

    function, _, _ = _unwrapped(kernel)
    source = ASTSource(function, dict(signature.types), dict(signature.constants))
    metadata: dict[str, Any] = {}
    made = simplify(front_end(source, options), metadata)
    return ktir_of(made, options, metadata["name"])


def front_end(source: Any, options: SpyreOptions | None = None) -> Any:
    """What Triton's front end makes of a source object: a module in TTIR, not simplified."""
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget

    from spyrelab.triton.compiler import SpyreBackend

    target, chosen = GPUTarget("spyre", "aiu1", 32), options or SpyreOptions()
    backend = SpyreBackend(target)
    context = ir.context()
    ir.load_dialects(context)
    return source.make_ir(
        target, chosen, backend.get_codegen_implementation(chosen), backend.get_module_map(),
        context,
    )  # fmt: skip
