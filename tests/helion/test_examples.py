"""Kernels in the style of Helion's documentation run on the card and agree with torch."""

from __future__ import annotations

from itertools import product

import helion
import pytest
import torch

import spyrelab
from spyrelab.errors import SpyreLabError
from tests.helion.cases import CASES, Case, compare, normal, run, several
from tests.helion.kernels import centre_columns

TYPES = [torch.float16, torch.bfloat16, torch.float32]
MANNERS = [
    ("flat", "pointer"),
    ("persistent_blocked", "tensor_descriptor"),
    ("persistent_interleaved", "pointer"),
]
"""Orders of programs and ways to address; each kernel meets all of them."""

DESCRIBED = {"softmax", "matmul", "rms_norm", "layer_norm", "bmm"}
"""Helion has no descriptors for what is seen flat, or through indices."""

PLANS = [
    pytest.param(name, order, address, TYPES[(number + turn) % 3], id=f"{name}-{order}-{address}")
    for (number, name), (turn, (order, address)) in product(enumerate(CASES), enumerate(MANNERS))
    if name != "centre_columns" or order == "persistent_blocked"  # see below
]


def given(make, dtype, seed=3):
    return make(torch.Generator().manual_seed(seed), dtype)


@pytest.mark.parametrize(("name", "order", "address", "dtype"), PLANS)
def test_examples_agree_with_torch(name, order, address, dtype):
    args = given(CASES[name].make, dtype)
    found, code = run(name, {"pid_type": order, "indexing": address}, args)
    compare(name, found, args)
    if address == "tensor_descriptor" and name in DESCRIBED:
        assert "make_tensor_descriptor" in code
    assert ("get_num_sm" in code) == order.startswith("persistent")


HARD = {
    "softmax": [normal(1, 1), normal(129, 257)],
    "matmul": [several((1, 64), (64, 128)), several((65, 33), (33, 129))],
    "rms_norm": [several((1, 7), (7,)), several((130, 256), (256,))],
    "softmax_two_passes": [normal(3, 1000), normal(65, 128)],
    "attention": [several((1, 1, 64), (1, 65, 64), (1, 65, 64))],
    "layer_norm": [several((5, 1000), (1000,), (1000,))],
    "swiglu": [several((1, 1), (1, 1)), several((64, 257), (64, 257))],
    "long_sum": [normal(1, 4097)],
    "matmul_split_k": [several((33, 257), (257, 65))],
    "bmm": [several((1, 33, 65), (1, 65, 17))],
    "centre_columns": [normal(1, 3), normal(257, 130)],
}


@pytest.mark.parametrize(
    ("name", "make", "dtype"),
    [
        pytest.param(name, make, TYPES[number % 3], id=f"{name}-{number}")
        for name, makes in HARD.items()
        for number, make in enumerate(makes)
    ],
)
def test_odd_sizes(name, make, dtype):
    args = given(make, dtype)
    found, _ = run(name, {}, args)
    compare(name, found, args)


def test_jagged_rows_may_all_be_empty():
    args = (torch.ones(1, 3), torch.tensor([0, 0, 0], dtype=torch.int32))
    found, _ = run("jagged_sum", {}, args)
    assert torch.equal(found, torch.zeros(2, 3))


@pytest.mark.parametrize("name", ["softmax_two_passes", "attention", "matmul_split_k", "bmm"])
def test_configurations_by_chance(name):
    """Whatever a tuner may propose computes the same."""
    import random

    random.seed(5)
    args = given(CASES[name].make, torch.float16)
    kernel = CASES[name].kernel
    bound = kernel.bind(tuple(x.to("spyre") for x in args))
    space = bound.config_spec.create_config_generation()
    for _ in range(4):
        found, _ = run(name, dict(space.unflatten(space.random_flat()).config), args)
        compare(name, found, args)


def test_a_persistent_kernel_has_a_program_for_each_core():
    args = given(normal(512, 64), torch.float16)
    with spyrelab.record() as seen:
        run("softmax", {"pid_type": "persistent_interleaved", "block_sizes": [1]}, args)
    assert [launch.op for launch in seen.kernels] == ["_helion_softmax"]
    assert helion.runtime.get_num_sm(torch.device("spyre")) == 32


def test_a_barrier_needs_programs_that_run_at_once():
    x = torch.ones(64, 64, device="spyre")
    bound = centre_columns.bind((x,))
    plain = bound.config_spec.default_config().config
    with pytest.raises(helion.exc.BarrierRequiresPersistent):
        bound.compile_config(helion.Config(**{**plain, "pid_type": "flat"}), allow_print=False)
    many = bound.compile_config(helion.Config(**{**plain, "num_sm_multiplier": 2}))
    with pytest.raises(SpyreLabError, match="64 programs have to run at once"):
        many(x)


def test_a_backend_of_its_own_name():
    args = given(CASES["matmul"].make, torch.float16)
    plain = CASES["matmul"]
    kernel = helion.kernel(backend="spyre", autotune_effort="none")(plain.kernel.fn)
    CASES["named"] = Case(kernel, plain.make, plain.reference, plain.loose)
    try:
        found, _ = run("named", {}, args)
        compare("named", found, args)
    finally:
        del CASES["named"]


def test_operands_that_do_not_fit():
    kernel = CASES["matmul"].kernel
    with pytest.raises(AssertionError, match="4 columns but b has 5 rows"):
        kernel(torch.ones(3, 4, device="spyre"), torch.ones(5, 6, device="spyre"))
    with pytest.raises(helion.exc.TorchOpTracingError, match="same device"):
        kernel(torch.ones(3, 4, device="spyre"), torch.ones(4, 6))
    with pytest.raises(SpyreLabError, match="'a' is a tensor on 'cpu'"):
        kernel(torch.ones(3, 4), torch.ones(4, 6))
