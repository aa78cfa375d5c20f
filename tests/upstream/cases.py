"""The cases of the op ledger: torch's own operator and module databases, and how to judge one.

Nothing here knows what our device can do: samples come from ``op_db`` and ``module_db`` inside
the torch wheel, and what they must give is what torch gives on the CPU, in float32.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_flatten, tree_map

from tests.upstream.differences import GRADCHECKED, MismatchError, check_gradients
from tests.upstream.exemptions import (
    HOST_OPERANDS,
    NEEDS_CUDA,
    NEEDS_SPARSE,
    SCALED,
    SORTS,
    UNINITIALISED,
    tolerance_of,
)
from tests.upstream.opchecks import OPCHECKED, run_opcheck

DTYPES = (torch.float16, torch.float32)
DEVICE = "spyre"
SEED = 20_260


@dataclass(frozen=True, order=True)
class Case:
    """One entry of the ledger; ``kind`` is op, module, opcheck or gradcheck."""

    kind: str
    name: str
    dtype: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}:{self.dtype}"


@functools.cache
def operators() -> dict[str, OpInfo]:
    """Every OpInfo by its full name."""
    return {op.full_name: op for op in op_db}


@functools.cache
def modules() -> dict[str, Any]:
    """Every ModuleInfo by its name."""
    return {module.name: module for module in module_db}


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def applicable() -> list[Case]:
    """What applies to a device without CUDA and without sparse storage."""
    found = [
        Case("op", name, name_of(dtype))
        for name, op in operators().items()
        for dtype in DTYPES
        if op.supports_dtype(dtype, "cpu")
        if name not in NEEDS_CUDA and (name, name_of(dtype)) not in NEEDS_SPARSE
    ]
    found += [
        Case("module", name, name_of(dtype))
        for name, module in modules().items()
        for dtype in module.dtypes
        if dtype in DTYPES
    ]
    found += [Case("gradcheck", name, "float32") for name in GRADCHECKED]
    found += [Case("opcheck", name, "float32") for name in OPCHECKED]
    return found


def run(case: Case, limit: int | None = None) -> None:
    """Run a case; raise what goes wrong. ``limit`` keeps the first samples only."""
    dtype = getattr(torch, case.dtype)
    if case.kind == "op":
        _run_operator(operators()[case.name], dtype, limit)
    elif case.kind == "module":
        _run_module(modules()[case.name], dtype)
    elif case.kind == "gradcheck":
        _run_gradcheck(operators()[case.name])
    elif case.kind == "opcheck":
        run_opcheck(case.name)
    else:
        raise ValueError(f"no kind of case is called {case.kind}")


def run_backward(case: Case) -> bool:
    """Compare the gradients of an operator's first differentiable sample; False if none."""
    op, dtype = operators()[case.name], getattr(torch, case.dtype)
    if not op.supports_autograd or not op.supports_dtype(dtype, "cpu"):
        return False
    for sample in _samples(op, dtype, requires_grad=True):
        leaves = [t for t in tensors(sample) if t.requires_grad]
        if not leaves:
            continue
        try:
            expected = _gradients(op, sample, leaves)
        except NotImplementedError:
            return False  # the CPU has no gradient to compare with
        if expected is None:
            continue
        copied = move(sample, op.full_name in HOST_OPERANDS)
        found = _gradients(op, copied, [t for t in tensors(copied) if t.requires_grad])
        compare(found, expected, op.full_name, dtype, backward=True)
        return True
    return False


def tensors(sample: Any) -> list[torch.Tensor]:
    """Every tensor of a sample, in order."""
    parts = (sample.input, sample.args, sample.kwargs) if _is_sample(sample) else sample
    return [leaf for leaf in tree_flatten(parts)[0] if isinstance(leaf, torch.Tensor)]


def move(sample: Any, indices_stay: bool = False) -> Any:
    """The sample on the device; leaves stay leaves, views of one shape stay views."""

    def copy(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if indices_stay and not value.is_floating_point():
                return value
            if _is_part(value):
                return _moved_with_storage(value)
            copied = value.detach().to(DEVICE)
            if value.stride() != copied.stride() and value.numel():
                copied = (
                    torch.empty_strided(
                        value.shape, value.stride(), dtype=value.dtype, device=DEVICE
                    ).copy_(value.detach())
                    if not _overlaps(value)
                    else copied
                )
            return copied.requires_grad_(value.requires_grad)
        if isinstance(value, torch.device):
            return torch.device(DEVICE) if value.type == "cpu" else value
        return value

    if not _is_sample(sample):
        return tree_map(copy, sample)
    moved = SampleInput(
        tree_map(copy, sample.input), args=tuple(tree_map(copy, list(sample.args))),
        kwargs={k: tree_map(copy, v) for k, v in sample.kwargs.items()},
    )  # fmt: skip
    if moved.kwargs.get("device") == "cpu":
        moved.kwargs["device"] = DEVICE
    moved.output_process_fn_grad = sample.output_process_fn_grad
    return moved


def _is_part(value: torch.Tensor) -> bool:
    """Whether a contiguous tensor is a part of a larger storage, which an operator may reach."""
    count = value.untyped_storage().nbytes() // value.element_size()
    return value.is_contiguous() and value.numel() < count


def _moved_with_storage(value: torch.Tensor) -> torch.Tensor:
    storage = torch.empty(0, dtype=value.dtype).set_(value.detach().untyped_storage())
    part = storage.to(DEVICE).as_strided(value.shape, value.stride(), value.storage_offset())
    return part.detach().requires_grad_(value.requires_grad)


def _is_sample(value: Any) -> bool:
    return isinstance(value, SampleInput)


def _overlaps(value: torch.Tensor) -> bool:
    return any(
        stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride(), strict=True)
    )


def _samples(op: OpInfo, dtype: torch.dtype, requires_grad: bool = False) -> Iterator[SampleInput]:
    torch.manual_seed(SEED)
    yield from op.sample_inputs("cpu", dtype, requires_grad=requires_grad)


def _call(op: OpInfo, sample: SampleInput) -> Any:
    torch.manual_seed(SEED)
    return op(sample.input, *sample.args, **sample.kwargs)


def _widen(sample: SampleInput) -> SampleInput:
    """The sample with halves as float32."""

    def up(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == torch.float16:
            return value.float()
        return torch.float32 if value is torch.float16 else value

    return SampleInput(
        tree_map(up, sample.input), args=tuple(tree_map(up, list(sample.args))),
        kwargs={k: tree_map(up, v) for k, v in sample.kwargs.items()},
    )  # fmt: skip


def _run_operator(op: OpInfo, dtype: torch.dtype, limit: int | None) -> None:
    for number, sample in enumerate(_samples(op, dtype)):
        if limit is not None and number >= limit:
            return
        try:
            moved = move(sample, op.full_name in HOST_OPERANDS)
            found = _call(op, moved)
            _judge(op, dtype, sample, found)
        except Exception as error:
            error.add_note(f"sample {number} of {op.full_name}: {sample.summary()}"[:400])
            raise


def _judge(op: OpInfo, dtype: torch.dtype, sample: SampleInput, found: Any) -> None:
    metadata_only = op.full_name in UNINITIALISED
    expected = _reference(op, sample)
    if dtype != torch.float16 or metadata_only:
        compare(found, expected, op.full_name, dtype, metadata_only=metadata_only)
        return
    try:
        compare(found, expected, op.full_name, dtype)
    except MismatchError:
        # Half arithmetic on the CPU rounds where it likes: float32, rounded once, settles it.
        try:
            wide = _call(op, _widen(sample))
        except Exception:
            wide = expected
        rounded = tree_map(lambda w, e: _as_type_of(w, e), wide, expected)
        compare(found, rounded, op.full_name, dtype)


def _reference(op: OpInfo, sample: SampleInput) -> Any:
    """The CPU's answer."""
    if op.full_name == "msort":
        return torch.sort(sample.input, stable=True, dim=0).values
    return _call(op, _stable(sample) if op.full_name in SORTS else sample)


def _stable(sample: SampleInput) -> SampleInput:
    """The same sort, told to keep the order of equal elements."""
    named = dict(zip(("dim", "descending"), sample.args, strict=False))
    return SampleInput(sample.input, kwargs={**sample.kwargs, **named, "stable": True})


def _as_type_of(wide: Any, narrow: Any) -> Any:
    return wide.to(narrow.dtype) if isinstance(wide, torch.Tensor) else wide


def compare(
    found: Any,
    expected: Any,
    name: str,
    dtype: torch.dtype,
    metadata_only: bool = False,
    backward: bool = False,
) -> None:
    """Raise MismatchError unless both trees hold equal shapes, types and close values."""
    ours, theirs = tree_flatten(found)[0], tree_flatten(expected)[0]
    if len(ours) != len(theirs):
        raise MismatchError(f"{len(ours)} results, not {len(theirs)}")
    rtol, atol = tolerance_of(name, name_of(dtype), backward)
    for position, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if not isinstance(other, torch.Tensor):
            if one != other and not _both_nan(one, other):
                raise MismatchError(f"result {position} is {one!r}, not {other!r}")
            continue
        if one.device.type not in (DEVICE, other.device.type):
            raise MismatchError(f"result {position} lies on {one.device}")
        if one.shape != other.shape or one.dtype != other.dtype:
            raise MismatchError(
                f"result {position} is {one.dtype}{list(one.shape)}, not"
                f" {other.dtype}{list(other.shape)}"
            )
        if metadata_only:
            continue
        largest = 1.0
        if name in SCALED and other.numel():
            largest = max(float(other.detach().abs().nan_to_num(0.0, 0.0, 0.0).max()), 1.0)
        try:
            torch.testing.assert_close(
                one.detach().cpu(), other.detach(), rtol=rtol, atol=atol * largest,
                equal_nan=True, check_stride=False,
            )  # fmt: skip
        except AssertionError as error:
            raise MismatchError(
                f"result {position}: {str(error).splitlines()[0]} {error}"[:400]
            ) from None


def _both_nan(one: Any, other: Any) -> bool:
    return isinstance(one, float) and isinstance(other, float) and one != one and other != other


def _gradients(op: OpInfo, sample: Any, leaves: Sequence[torch.Tensor]) -> Any:
    torch.manual_seed(SEED)
    on_host = leaves[0].device.type == "cpu"
    answer = _reference(op, sample) if on_host else _call(op, sample)
    result = sample.output_process_fn_grad(answer)
    outputs = [t for t in tree_flatten(result)[0] if isinstance(t, torch.Tensor)]
    outputs = [t for t in outputs if t.requires_grad and (t.is_floating_point() or t.is_complex())]
    if not outputs:
        return None
    torch.manual_seed(SEED)
    seeds = [torch.rand(t.shape, dtype=torch.float32).to(t.dtype).to(t.device) for t in outputs]
    return torch.autograd.grad(outputs, list(leaves), seeds, allow_unused=True)


def _run_module(info: Any, dtype: torch.dtype) -> None:
    for training in (False, True) if info.train_and_eval_differ else (False,):
        torch.manual_seed(SEED)
        inputs = info.module_inputs_func(
            info, device="cpu", dtype=dtype, requires_grad=False, training=training
        )
        for entry in inputs:
            if entry.forward_input is None:
                continue
            _compare_module(info, entry, dtype, training)


def _compare_module(info: Any, entry: Any, dtype: torch.dtype, training: bool) -> None:
    def make(device: str, kind: torch.dtype) -> Callable[..., Any]:
        torch.manual_seed(SEED)
        arguments = entry.constructor_input
        module = info.module_cls(*arguments.args, **arguments.kwargs).to(kind)
        return module.to(device).train(training)

    def call(module: Callable[..., Any], change: Callable[[Any], Any]) -> Any:
        torch.manual_seed(SEED)
        forward = entry.forward_input
        return module(*tree_map(change, list(forward.args)), **tree_map(change, forward.kwargs))

    found = call(make(DEVICE, dtype), move)
    if dtype != torch.float16:
        expected = call(make("cpu", dtype), lambda value: value)
        compare(found, expected, info.name, dtype)
        return
    try:
        compare(found, call(make("cpu", dtype), lambda value: value), info.name, dtype)
    except (MismatchError, NotImplementedError, RuntimeError):
        # As for operators: float32, rounded once, settles it.
        wide = call(make("cpu", torch.float32), _float)
        rounded = tree_map(lambda w, f: _as_type_of(w, f), wide, found)
        compare(found, rounded, info.name, dtype)


def _float(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype == torch.float16:
        return value.float()
    return value


def _run_gradcheck(op: OpInfo) -> None:
    """Gradients by formula against differences, all of it on the device, in float32."""
    for sample in _samples(op, torch.float32, requires_grad=True):
        moved = move(sample)
        needed = [t for t in tensors(moved) if t.requires_grad]
        if not needed or any(not 0 < t.numel() <= 512 for t in needed):
            continue

        def compute(moved: SampleInput = moved) -> torch.Tensor:
            result = moved.output_process_fn_grad(_call(op, moved))
            first: torch.Tensor = tree_flatten(result)[0][0]
            return first

        if 0 < compute().numel() <= 512:
            check_gradients(compute, needed)
            return
    raise MismatchError("no sample is small enough for differences")
