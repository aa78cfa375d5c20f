"""Graded tests of chapter 3: the contracts of ``out=``, random numbers, modules and events."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
import torch

import spyrelab.device
from spyrelab.grade import WrongError, expect_close, expect_equal, task

MACHINERY = (
    "torch",
    "spyrelab.emulator",
    "spyrelab.kernels",
    "spyrelab.layout",
    "spyrelab.timing",
)
"""What an answer on the device calls, directly or not."""

spyre: Any = torch.spyre  # type: ignore[attr-defined]
multiply_into = partial(task, "ch03.4", "multiply_into", may_use=MACHINERY)
dropout = partial(task, "ch03.5", "dropout", may_use=MACHINERY)
masked_mean = partial(task, "ch03.6", "masked_mean", may_use=MACHINERY)
device_us = partial(task, "ch03.7", "device_us", may_use=MACHINERY)


def expect_tensor(found: Any, expected: torch.Tensor, what: str, rtol: float = 1e-6) -> None:
    """Fail unless the answer is a tensor of the device with these elements."""
    if not isinstance(found, torch.Tensor):
        raise WrongError(f"{what}: expected a tensor, got a {type(found).__name__}")
    expect_equal(found.device.type, "spyre", f"{what}: device")
    expect_equal(str(found.dtype), str(expected.dtype), f"{what}: dtype")
    wide = [t.detach().cpu().double().numpy() for t in (found, expected)]
    expect_close(wide[0], wide[1], rtol=rtol, atol=rtol, what=what)


def floats(rng: Any, *size: int) -> torch.Tensor:
    return torch.from_numpy(rng.standard_normal(size).astype(np.float32))


# ---- 4: the contract of out= -------------------------------------------------------------


def expect_product(impl: Any, x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> None:
    """The product has to be in ``out``, by programs of the answer's own."""
    expected = (x.cpu() * y.cpu()).to(out.dtype)
    spyre.reset_op_counts()
    found = impl.multiply_into(x, y, out)
    busy = [name for name in spyre.op_counts() if "mul" in name or "copy" in name]
    expect_equal(busy, [], "operations of aten that multiply or copy")
    expect_equal(found is out, True, "the result is out itself")
    tolerance = 1e-6 if out.dtype == torch.float32 else 2.0**-10
    expect_tensor(out, expected, f"out of dtype {out.dtype}", tolerance)


@multiply_into(
    hints=[
        "Who passes out= may have other names for it: its elements have to change, and it has to "
        "come back.",
        'run("mul", [x, y], [out]) writes into out, whatever its float type; then return out.',
    ]
)
def test_out_is_filled(impl: Any, rng: Any) -> None:
    """An out of the right size, of either float type, contiguous or not."""
    x, y = floats(rng, 6, 70).to("spyre"), floats(rng, 6, 70).to("spyre")
    for dtype in (torch.float32, torch.float16):
        expect_product(impl, x, y, torch.zeros(6, 70, dtype=dtype, device="spyre"))
    expect_product(impl, x, y, torch.zeros(70, 6, device="spyre").t())


@multiply_into(
    hints=[
        "torch resizes an out of another size than the result. Which size has the result?",
        "out.resize_(torch.broadcast_shapes(x.shape, y.shape)), if that is another one.",
    ]
)
def test_out_is_resized(impl: Any, rng: Any) -> None:
    """An out of the wrong size, and operands that broadcast."""
    x, y = floats(rng, 6, 1).to("spyre"), floats(rng, 70).to("spyre")
    for size in ((0,), (6, 70), (2, 3)):
        expect_product(impl, x, y, torch.zeros(size, device="spyre"))


@multiply_into(
    hints=[
        "Some results cannot be stored in some types, and a tensor on the CPU cannot be written by "
        "the card. When does the caller have to hear of it: before or after out has changed?",
        "First check out.device.type, and torch.can_cast(torch.result_type(x, y), out.dtype); only "
        "then resize and compute.",
    ]
)
def test_out_is_refused(impl: Any, rng: Any) -> None:
    """An out of an integer type, and one on the CPU."""
    x = floats(rng, 4, 70).to("spyre")
    for out in (torch.full((2, 3), 7, dtype=torch.int32, device="spyre"), torch.full((2, 3), 7.0)):
        what = f"out of dtype {out.dtype} on {out.device}"
        try:
            impl.multiply_into(x, x, out)
        except Exception as error:
            cause = error.__cause__
            if isinstance(cause, NotImplementedError) or not isinstance(cause, RuntimeError):
                raise
        else:
            raise WrongError(f"{what}: expected a RuntimeError, got a result")
        expect_equal(tuple(out.shape), (2, 3), f"{what}, after the refusal: size")
        expect_equal(out.tolist(), [[7, 7, 7], [7, 7, 7]], f"{what}, after the refusal: elements")


# ---- 5: random numbers -------------------------------------------------------------------


def thinned(x: torch.Tensor, p: float, generator: torch.Generator) -> torch.Tensor:
    """What the contract says, on the CPU."""
    keep = torch.rand(x.shape, generator=generator) >= p
    return torch.where(keep, x / (1 - p), torch.zeros(())) if p < 1 else torch.zeros_like(x)


@dropout(
    hints=[
        "The numbers are drawn in float32, one for each element, from the generator that is given; "
        "what is kept is divided by 1 - p. What if p is 1?",
        "keep = torch.rand(x.shape, generator=generator) >= p, on the CPU; torch.where(mask, "
        "x / (1 - p), 0.0) on the device. Nothing is kept if p is 1.",
    ]
)
def test_dropout_of_a_generator(impl: Any, rng: Any) -> None:
    """A generator with a known seed, several probabilities, a transposed tensor."""
    x, seed = floats(rng, 8, 70), int(rng.integers(1 << 30))
    for p in (0.25, 0.0, 1.0):
        for given in (x, x.t()):
            found = impl.dropout(given.to("spyre"), p, torch.Generator().manual_seed(seed))
            expected = thinned(given, p, torch.Generator().manual_seed(seed))
            expect_tensor(found, expected, f"dropout(x, {p})")


@dropout(
    hints=[
        "Without a generator the numbers are the device's: torch.spyre.manual_seed decides.",
        "generator = torch.spyre.default_generators[0], if none is given.",
    ]
)
def test_dropout_of_the_device(impl: Any, rng: Any) -> None:
    """No generator: equal seeds of the device give equal results, one after the other."""
    x, seed = floats(rng, 8, 70), int(rng.integers(1 << 30))
    generator = torch.Generator().manual_seed(seed)
    spyre.manual_seed(seed)
    for call in ("first", "second"):
        expected = thinned(x, 0.5, generator)
        expect_tensor(impl.dropout(x.to("spyre"), 0.5), expected, f"{call} dropout after a seed")


@dropout(
    hints=[
        "Somebody else draws from torch's default generator, and has seeded it for a reason.",
        "Neither draw from torch.default_generator nor seed it: pass the generator to torch.rand.",
    ]
)
def test_dropout_leaves_the_default_generator_alone(impl: Any, rng: Any) -> None:
    """What torch draws on the CPU does not depend on our calls."""
    x = floats(rng, 4, 70).to("spyre")
    for generator in (None, torch.Generator().manual_seed(3)):
        before = torch.get_rng_state()
        impl.dropout(x, 0.5, generator)
        same = bool((torch.get_rng_state() == before).all())
        expect_equal(same, True, "torch's default generator is as it was")


# ---- 6: nothing leaves the device --------------------------------------------------------


def setting(given: Any, rng: Any) -> tuple[Any, torch.Tensor, torch.Tensor]:
    width, tokens = int(rng.integers(20, 100)), int(rng.integers(5, 20))
    keep = torch.from_numpy(rng.random((3, tokens)) < 0.6)
    keep[:, 0] = True
    return given.MaskedMean(width).to("spyre"), floats(rng, 3, tokens, width), keep


def left_the_device() -> list[str]:
    return [name for name, count in spyre.op_counts().items() if count["fallback"]]


@masked_mean(
    hints=[
        "The result is not the one of the given module: which tokens count, and by what is the sum "
        "divided?",
        "Multiply by the mask as numbers, keep.to(x.dtype).unsqueeze(-1), sum over the tokens, and "
        "divide by the sum of the mask.",
    ]
)
def test_masked_mean_is_right(impl: Any, given: Any, rng: Any) -> None:
    """The same result as the given module's."""
    module, x, keep = setting(given, rng)
    with torch.no_grad():
        expected = module.cpu()(x, keep)
        module.to("spyre")
        found = impl.masked_mean(module, x.to("spyre"), keep.to("spyre"))
    expect_tensor(found, expected, "masked_mean", 1e-5)


@masked_mean(
    hints=[
        "Something still runs on the CPU. A program of the card computes no float64, and it cannot "
        "choose rows by a mask: how many there are is known only when it runs.",
        "Write (projected * mask).sum(1) in float32 instead of hidden[keep] = projected[keep] and "
        "double().",
    ]
)
def test_masked_mean_stays(impl: Any, given: Any, rng: Any) -> None:
    """No fallback on the way forward."""
    module, x, keep = setting(given, rng)
    on_card = x.to("spyre"), keep.to("spyre")
    spyre.reset_op_counts()
    with torch.no_grad():
        impl.masked_mean(module, *on_card)
    expect_equal(left_the_device(), [], "operations that ran on the CPU")
    native = sum(count["native"] for count in spyre.op_counts().values())
    expect_equal(native > 0, True, "something ran on the card")


@masked_mean(
    hints=[
        "The module has to learn: gradients have to reach its weights, and on the card.",
        "Nothing may detach the result, or go through .cpu(), .item() or torch.no_grad().",
    ]
)
def test_masked_mean_learns(impl: Any, given: Any, rng: Any) -> None:
    """The same gradients as the given module's, without a fallback."""
    module, x, keep = setting(given, rng)
    module.cpu()(x, keep).square().sum().backward()
    expected = module.project.weight.grad.clone()
    module.to("spyre").zero_grad()
    on_card = x.to("spyre"), keep.to("spyre")
    spyre.reset_op_counts()
    result = impl.masked_mean(module, *on_card)
    if not result.requires_grad:
        raise WrongError("masked_mean: the result does not require a gradient")
    result.square().sum().backward()
    expect_equal(left_the_device(), [], "operations that ran on the CPU, forward and backward")
    expect_tensor(module.project.weight.grad, expected, "gradient of the weight", 1e-4)


# ---- 7: time on the card -----------------------------------------------------------------


class Worker:
    """A function that can be measured: it counts its calls, and may be slow at first."""

    def __init__(self, rng: Any, first: int = 1, sleep: float = 0.0) -> None:
        rows = int(rng.integers(64, 512))
        self.x = floats(rng, rows, 256).to("spyre")
        self.first, self.sleep, self.calls = first, sleep, 0

    def __call__(self) -> None:
        self.calls += 1
        time.sleep(self.sleep)
        for _ in range(self.first if self.calls == 1 else 1):
            self.x.softmax(-1)

    def expected(self) -> float:
        with spyrelab.record() as recorded:
            self.x.softmax(-1)
        return recorded.seconds * 1e6


def expect_time(impl: Any, worker: Worker, repeats: int) -> None:
    expected = worker.expected()
    found = impl.device_us(worker, repeats)
    if not isinstance(found, float):
        raise WrongError(f"device_us: expected a float, got a {type(found).__name__}")
    if abs(found - expected) > 1e-6 * expected:
        raise WrongError(f"device_us: expected {expected:.4f} us a call, got {found:.4f}")
    expect_equal(worker.calls, repeats + 1, f"calls for {repeats} repeats")


@device_us(
    hints=[
        "Events count milliseconds of the card; the host's clock has no part in this.",
        "begin.elapsed_time(end) * 1e3, and both events need enable_timing=True.",
    ]
)
def test_time_of_one_call(impl: Any, rng: Any) -> None:
    """One call, with a host that dawdles."""
    expect_time(impl, Worker(rng, sleep=0.002), 1)


@device_us(
    hints=[
        "It is the mean of several calls.",
        "Divide by repeats: the two events are around all of them.",
    ]
)
def test_time_of_several_calls(impl: Any, rng: Any) -> None:
    """The mean over several calls."""
    expect_time(impl, Worker(rng), int(rng.integers(4, 8)))


@device_us(
    hints=[
        "The first call of many functions does more than the others.",
        "Call the function once before the first event is recorded.",
    ]
)
def test_time_without_the_first_call(impl: Any, rng: Any) -> None:
    """A function that sets things up when it is called first."""
    expect_time(impl, Worker(rng, first=4), 3)
