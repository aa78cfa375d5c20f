"""Random programs: compiled is eager, bit for bit; planned together within roundings.

``SPYRELAB_PROGRAMS=300`` runs more of them.
"""

from __future__ import annotations

import os
from typing import Any

import hypothesis
import torch
from hypothesis import HealthCheck, given, settings

from spyrelab.inductor import config
from tests.inductor.compare import assert_same, bits
from tests.inductor.programs import Program, Shaken, programs

COUNT = int(os.environ.get("SPYRELAB_PROGRAMS", "60"))

FACTOR = 16
"""An operation of the device may be several operations of the host: a softmax rounds in between,
``gelu`` goes through polynomials of its own, and two runs with other roundings do not show the
worst case of each element."""


def on_card(program: Program, function: Any) -> tuple[Any, list[torch.Tensor]]:
    """Results, and the arguments afterwards."""
    args = [value.to("spyre") for value in program.arguments()]
    return function(*args), args


def reference(program: Program) -> tuple[list[Any], list[float]]:
    """Results on the CPU in float32, and how far roundings in the program's type may be off.

    The bound is measured: every result of the program run in float64 is moved by up to a
    rounding, so whatever enlarges errors (a difference, a small divisor) enlarges the bound too.
    """
    function = program.function()
    args = program.arguments()

    def run(kind: torch.dtype, mode: Any = None) -> list[Any]:
        mine = [v.to(kind) if v.is_floating_point() else v.clone() for v in args]
        if mode is None:
            return bits((function(*mine), mine))
        with mode:
            return bits((function(*mine), mine))

    plain = run(torch.float64)
    eps = torch.finfo(program.dtype).eps
    far = [0.0] * len(plain)
    for seed in range(3):
        for number, (one, other) in enumerate(
            zip(run(torch.float64, Shaken(eps, seed)), plain, strict=True)
        ):
            if one.is_floating_point() and one.numel():
                far[number] = max(far[number], float((one - other).abs().max()))
    # Inputs that stay as they are, and results like a maximum, still round once.
    least = [eps * float(v.abs().max()) if v.numel() else 0.0 for v in plain]
    return run(torch.float32), [FACTOR * max(pair) for pair in zip(far, least, strict=True)]


def assert_within(found: Any, wanted: Any, bounds: list[float]) -> None:
    """Floating-point results; those that are indices may differ where values are close."""
    for one, other, bound in zip(bits(found), bits(wanted), bounds, strict=True):
        assert one.shape == other.shape
        if one.is_floating_point():
            torch.testing.assert_close(one.double(), other.double(), atol=bound, rtol=0)


@settings(
    max_examples=COUNT,
    deadline=None,
    derandomize="SPYRELAB_PROGRAMS" not in os.environ,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
@given(programs())
def test_compiled_is_eager(program: Program) -> None:
    torch._dynamo.reset()
    function = program.function()
    wanted = on_card(program, function)
    with config.patch(planner="none"):
        assert_same(on_card(program, torch.compile(function)), wanted)
    torch._dynamo.reset()
    host, bounds = reference(program)
    with config.patch(planner="joint"):
        found = on_card(program, torch.compile(program.function()))
    assert_within(found, wanted, bounds)
    assert_within(found, host, bounds)
    assert_within(wanted, host, bounds)
