"""What `estimate` and `best_split` say to values that are missing or make no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spyrelab import kernels
from spyrelab.ktir import parse
from spyrelab.timing import TimingError, UnknownValueError, best_split, estimate
from tests.emulator.sanitizer_programs import program
from tests.timing.test_exact_counts import looping, turns

SAMPLES = Path(__file__).parents[1] / "data" / "ktir_samples"
COUNTED = (
    "func.func @f(%n: index) attributes {grid = [2]} {\n"
    + program("scf.for %q = %c0 to %n step %c1 {\n}\n", args="").split("{\n", 1)[1]
)


def sample(name: str) -> Any:
    return parse(next(SAMPLES.glob(f"**/{name}.mlir")).read_text())


@pytest.mark.parametrize(
    "value", ["5", "a", float("nan"), 2.7, 2**70, -(2**70), [1, 2], float("inf"), object()]
)
def test_a_scalar_is_one_whole_number_that_fits(value: Any) -> None:
    with pytest.raises(TimingError, match="'n'"):
        estimate(parse(COUNTED), {"n": value})


def test_whole_numbers_of_any_kind_are_taken() -> None:
    for value in (3, 3.0, np.int32(3), np.array([3]), True):
        estimate(parse(COUNTED), {"n": value})


def test_missing_sizes_are_named() -> None:
    with pytest.raises(UnknownValueError, match="the argument 'n_in'; pass it in args"):
        estimate(sample("12c_symbols_clause"))


def test_computed_values_are_not_asked_for() -> None:
    module = sample("11_control_flow")
    data = np.load(SAMPLES / "11_control_flow.npz")
    names = [argument.name for argument in module.function(None).arguments]
    with pytest.raises(UnknownValueError, match=r"linalg.reduce in line \d+.*without running") as e:
        estimate(module, {name: data[name] for name in names})
    assert "pass it" not in str(e.value)


def test_arrays_that_are_too_short_are_named() -> None:
    parameters = {
        "queries": 8,
        "heads": 8,
        "kv_heads": 2,
        "head_dim": 64,
        "page_size": 64,
        "max_pages": 8,
    }
    module = kernels.paged_attention(**parameters)
    with pytest.raises(TimingError, match="'lengths' has 2 elements"):
        estimate(module, {"lengths": np.full(2, 64, np.int32)})


@pytest.mark.parametrize("step", ["%c0", "%minus"])
def test_a_step_is_positive(step: str) -> None:
    text = "%minus = arith.constant -1 : index\n" + turns("").replace("step %c1", f"step {step}")
    with pytest.raises(TimingError, match="not positive"):
        estimate(looping(text))


def test_a_loop_without_an_end_is_refused() -> None:
    text = (
        "%r = scf.while (%s = %c0) : (index) -> (index) {\n"
        "%go = arith.cmpi sge, %s, %c0 : index\nscf.condition(%go) %s : index\n} do {\n"
        "^bb0(%a: index):\n%n = arith.addi %a, %c1 : index\nscf.yield %n : index\n}\n"
    )
    with pytest.raises(TimingError, match="never ends"):
        estimate(looping(text))


@pytest.mark.parametrize("fraction", ["x", float("nan"), 5, -3, None.__class__])
def test_a_share_is_a_number_between_0_and_1(fraction: Any) -> None:
    with pytest.raises(TimingError, match="lx_backend_fraction"):
        estimate(kernels.softmax(64, 64), lx_backend_fraction=fraction)
    with pytest.raises(TimingError, match="lx_backend_fraction"):
        best_split(1, 64, 64, 64, lx_backend_fraction=fraction)


@pytest.mark.parametrize("cores", [0, -1, 64, 1.5, "a"])
def test_cores_are_those_of_the_machine(cores: Any) -> None:
    with pytest.raises(TimingError, match="cores"):
        best_split(1, 512, 4096, 4096, cores=cores)
    with pytest.raises(TimingError, match="cores"):
        estimate(kernels.softmax(64, 64), cores=cores)
    if cores != 64:
        with pytest.raises(TimingError, match="cores"):
            estimate(kernels.softmax(64, 64)).plot(cores=cores)


@pytest.mark.parametrize("size", ["a", 0, 1.5, float("nan")])
def test_sizes_are_whole_numbers(size: Any) -> None:
    with pytest.raises(TimingError, match="size"):
        best_split(size, 512, 512, 512)
