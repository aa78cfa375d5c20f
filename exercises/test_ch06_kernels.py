"""Graded tests of chapter 6: a new operation, a fallback less, a compilation less."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.fx.experimental.proxy_tensor import make_fx

from spyrelab.grade import WrongError, expect_close, expect_equal, task

MACHINERY = (
    "torch",
    "spyrelab.emulator",
    "spyrelab.kernels",
    "spyrelab.layout",
    "spyrelab.tiling",
    "spyrelab.timing",
)
"""What an answer on the device calls, directly or not."""

fake_quantize = partial(task, "ch06.5", "fake_quantize", may_use=MACHINERY, seconds=60.0)
power_spectrum = partial(task, "ch06.6", "power_spectrum", may_use=MACHINERY, seconds=60.0)
annealed = partial(task, "ch06.7", "annealed", may_use=MACHINERY, seconds=60.0)


def floats(rng: Any, *size: int) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(size).astype(np.float32))


def host(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().double().numpy()


def expect_tensor(found: Any, expected: torch.Tensor, what: str, rtol: float = 1e-6) -> None:
    """Fail unless the answer is a tensor of the device with these elements."""
    if not isinstance(found, torch.Tensor):
        raise WrongError(f"{what}: expected a tensor, got a {type(found).__name__}")
    expect_equal(found.device.type, "spyre", f"{what}: device")
    expect_equal(str(found.dtype), str(expected.dtype), f"{what}: dtype")
    expect_close(host(found), host(expected), rtol=rtol, atol=rtol, what=what)


@contextmanager
def afresh() -> Iterator[None]:
    """Compile all that is compiled: what a cache remembers is not seen."""
    with warnings.catch_warnings(), torch._inductor.config.patch(force_disable_caches=True):
        warnings.filterwarnings("ignore", message="dynamo_pgo")  # says that there are no caches
        yield


def left_over(function: Any, *args: Any) -> list[str]:
    """Operations of a compiled function that are no part of a bundle."""
    from spyrelab.inductor.observing import observed

    torch.compiler.reset()
    with observed() as seen, afresh():
        torch.compile(function, fullgraph=True)(*args)
    return [op for op, _ in seen.others]


# ---- 5: a new operation -------------------------------------------------------------------------

NEW = "fake_quantize_per_tensor_affine_cachemask"


@contextmanager
def entered(function: Any) -> Iterator[None]:
    """The function as torch's kernel of the operation, for device "spyre"."""
    library = torch.library.Library("aten", "IMPL")
    library.impl(NEW, function, "PrivateUse1")
    try:
        yield
    finally:
        library._destroy()


def settings(rng: Any) -> Iterator[tuple[float, int, int, int]]:
    yield 0.125, 0, -8, 7
    yield 0.0625, int(rng.integers(-20, 20)), -16, 15
    yield 0.25, 3, 0, 15


@fake_quantize(
    hints=[
        "Compare with torch.fake_quantize_per_tensor_affine on the CPU: what is rounded, and what "
        "is in range where?",
        "q = torch.round(x / scale) + zero_point; clamp it, take zero_point off again, multiply by "
        "scale; the mask is (q >= low) & (q <= high).",
    ]
)
def test_quantized_in_eager(impl: Any, rng: Any) -> None:
    """Values and mask, one call at a time."""
    x = floats(rng, 6, 70)
    operation = getattr(torch.ops.aten, NEW)
    for setting in settings(rng):
        expected = operation(x, *setting)
        found = impl.fake_quantize(x.to("spyre"), *setting)
        expect_equal(type(found).__name__, "tuple", "type of the answer")
        for part, one, other in zip(("values", "mask"), found, expected, strict=True):
            expect_tensor(one, other, f"{part} for {setting}")


@fake_quantize(
    hints=[
        "The compiler calls your function with tensors that have no elements, and notes what it "
        "launches. What makes it ask for an element, or leave the card?",
        "No .cpu(), .item(), bool(tensor) or float64; only operations that torch.spyre.op_counts() "
        "counts as native.",
    ]
)
def test_quantized_in_a_bundle(impl: Any, rng: Any) -> None:
    """A model with it compiles into bundles alone."""
    x, w = floats(rng, 16, 64).to("spyre"), floats(rng, 64, 64).to("spyre")
    impl.fake_quantize(x, 0.125, 0, -8, 7)  # what fails by itself says so more plainly

    def model(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.fake_quantize_per_tensor_affine(x.relu(), 0.125, 0, -8, 7) @ w

    with entered(impl.fake_quantize):
        expect_equal(left_over(model, x, w), [], "operations that are not native")
        found = torch.compile(model)(x, w)
    expect_tensor(found, model(x.cpu(), w.cpu()), "the model", 1e-4)


# ---- 6: a fallback less -------------------------------------------------------------------------


@power_spectrum(
    hints=[
        "What is the real part of exp(-i a), and what is |z| squared? x is real.",
        "With angles = outer(t, k) * 2 pi / n it is (x @ cos(angles)) ** 2 + (x @ sin(angles)) ** 2"
        ", for k from 0 to n // 2.",
    ]
)
def test_spectrum_is_right(impl: Any, rng: Any) -> None:
    """The same numbers as torch.fft's."""
    for rows, n in ((3, 8), (int(rng.integers(2, 9)), 64), (5, 200)):
        x = floats(rng, rows, n)
        expected = torch.fft.rfft(x).abs().square()
        found = impl.power_spectrum(x.to("spyre"))
        expect_tensor(found, expected.float(), f"spectrum of {rows} x {n}", 3e-3)


@power_spectrum(
    hints=[
        "Something is still done by the host: torch.fft, or tables of angles that are made there.",
        "Make the tables with torch.arange(..., dtype=x.dtype, device=x.device).",
    ]
)
def test_spectrum_stays(impl: Any, rng: Any) -> None:
    """Compiled, nothing leaves the device."""
    x = floats(rng, 16, 64).to("spyre")
    # The grader watches answers, and Dynamo cannot look through that: trace it beforehand.
    traced = make_fx(impl.power_spectrum)(x)
    expect_equal(left_over(traced, x), [], "operations that are not native")


# ---- 7: a compilation less ----------------------------------------------------------------------

CALLS = 4


@annealed(
    hints=[
        "The result is not that of the given module: what is multiplied by what, at which call?",
        "At call number c, counted from 1, the scores are multiplied by 1 + c / 4.",
    ]
)
def test_annealed_is_right(impl: Any, given: Any, rng: Any) -> None:
    """The same results, call by call."""
    module, model = impl.annealed(64), given.Annealed(64)
    model.score = copy.deepcopy(module.score)
    module.to("spyre")
    for number in range(CALLS):
        x = floats(rng, 8, 64)
        with torch.no_grad():
            expect_tensor(module(x.to("spyre")), model(x), f"call {number + 1}", 1e-5)
        expect_equal(int(module.step), number + 1, "step")


@annealed(
    hints=[
        "Which guard fails at the second call? With TORCH_LOGS=recompiles in the environment torch "
        "says so.",
        "A number in Python is part of the program. Keep the count in a tensor: "
        'self.register_buffer("step", torch.zeros(())), and self.step.add_(1).',
    ]
)
def test_annealed_is_compiled_once(impl: Any, rng: Any) -> None:
    """One compilation for many calls, in one graph without fallbacks."""
    from spyrelab.inductor.observing import observed

    module = impl.annealed(64).to("spyre")
    torch.compiler.reset()
    backend = CompileCounterWithBackend("inductor")
    compiled: Any = torch.compile(module, backend=backend, fullgraph=True)
    with torch.no_grad(), afresh(), observed() as seen:
        for _ in range(CALLS):
            compiled(floats(rng, 8, 64).to("spyre"))
    expect_equal(backend.frame_count, 1, f"compilations in {CALLS} calls")
    expect_equal([op for op, _ in seen.others], [], "operations that are not native")
    expect_equal(int(module.step), CALLS, "step")
