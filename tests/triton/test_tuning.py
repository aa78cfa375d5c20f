"""Tuners and benchmarks get predicted time, and nothing runs."""

from __future__ import annotations

import pickle
import time

import pytest
import torch
import triton
import triton.language as tl

import spyrelab
from spyrelab.triton.launcher import ScratchpadError
from tests.triton import kernels

CONFIGS = [
    triton.Config({"BM": m, "BN": n, "BK": k}, num_stages=s, num_warps=4)
    for m, n, k, s in (
        (16, 16, 32, 2),
        (64, 64, 64, 3),
        (32, 128, 64, 2),
        (1024, 1024, 1024, 2),
    )
]


@pytest.fixture
def operands():
    generator = torch.Generator().manual_seed(1)
    a = torch.randn(256, 256, generator=generator).half()
    b = torch.randn(256, 256, generator=generator).half()
    return a.to("spyre"), b.to("spyre")


def test_autotune_chooses_by_predicted_time(operands):
    a, b = operands
    tuned = triton.autotune(CONFIGS, key=["m", "n", "k"])(kernels.matmul)
    with spyrelab.record() as seen:
        found = kernels.product(tuned, a, b)
    assert [launch.op for launch in seen.kernels] == ["matmul"]  # the chosen one, once
    wanted = a.cpu().float() @ b.cpu().float()
    torch.testing.assert_close(found.cpu().float(), wanted, atol=5e-2, rtol=2e-3)
    times = {config.kwargs["BM"]: spent[0] for config, spent in tuned.configs_timings.items()}
    assert times[1024] == float("inf")  # does not fit the scratchpad
    chosen = times[tuned.best_config.kwargs["BM"]]
    assert chosen == min(times.values()) == pytest.approx(seen.seconds * 1e3)


def test_two_runs_choose_the_same(operands):
    chosen = []
    for _ in range(2):
        tuned = triton.autotune(CONFIGS[:3], key=["m", "n", "k"])(kernels.matmul)
        kernels.product(tuned, *operands)
        chosen.append(
            (tuned.best_config.kwargs, sorted(map(tuple, tuned.configs_timings.values())))
        )
    assert chosen[0] == chosen[1]


def test_a_kernel_that_overflows_the_scratchpad_says_so(operands):
    with pytest.raises(ScratchpadError, match="smaller blocks") as raised:
        kernels.product(kernels.matmul, *operands, BM=1024, BN=1024, BK=1024)
    assert isinstance(raised.value, triton.OutOfResources)
    assert "%" in str(raised.value) and "matmul" in str(raised.value)
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value)


def test_do_bench_predicts_and_runs_nothing():
    x = torch.randn(4096, device="spyre")
    out = torch.zeros_like(x)
    with spyrelab.record() as seen:
        kernels.add[(64,)](x, x, out, 4096, BLOCK=64)
    out.zero_()
    calls = []

    def call():
        calls.append(1)
        kernels.add[(64,)](x, x, out, 4096, BLOCK=64)

    begin = time.perf_counter()
    spent = triton.testing.do_bench(call)
    assert time.perf_counter() - begin < 2 and len(calls) < 12
    assert spent == pytest.approx(seen.seconds * 1e3, rel=1e-9)
    assert out.cpu().count_nonzero() == 0
    quantiles = triton.testing.do_bench(call, quantiles=[0.5, 0.2, 0.8])
    assert quantiles == pytest.approx([spent] * 3)
    call()
    assert torch.equal(out.cpu(), x.cpu() * 2)


def test_a_benchmark_that_fails_leaves_launches_real():
    x = torch.randn(64, device="spyre")
    out = torch.zeros_like(x)

    def call():
        kernels.add[(1,)](x, x, out, 64, BLOCK=64)
        raise RuntimeError("wrong")

    try:
        triton.testing.do_bench(call)
    except RuntimeError:
        assert out.cpu().count_nonzero() == 0
        kernels.add[(1,)](x, x, out, 64, BLOCK=64)  # the benchmark's frame is still alive here
    assert torch.equal(out.cpu(), x.cpu() * 2)


def test_dry_blocks_count_launches_and_run_none():
    from spyrelab.triton import dry

    x = torch.randn(4096, device="spyre")
    out = torch.zeros_like(x)
    with dry() as outer:
        kernels.add[(64,)](x, x, out, 4096, BLOCK=64)
        with dry() as inner:
            kernels.add[(64,)](x, x, out, 4096, BLOCK=64)
            kernels.add[(64,)](x, x, out, 4096, BLOCK=64)
    assert len(outer.launches) == 1 and len(inner.launches) == 2
    assert inner.seconds == pytest.approx(2 * outer.seconds) and outer.seconds > 0
    assert out.cpu().count_nonzero() == 0
    assert "1 launches" in repr(outer)


def test_torchs_own_work_counts_in_a_dry_block():
    from spyrelab.triton import dry

    x = torch.randn(1 << 16, device="spyre")
    out = torch.zeros_like(x)
    with dry() as alone:
        kernels.add[(64,)](x, x, out, 4096, BLOCK=64)
    with dry() as both:
        y = x * 2
        kernels.add[(64,)](y, x, out, 4096, BLOCK=64)
    assert both.seconds > 1.5 * alone.seconds


def test_a_tuned_kernel_reads_its_index_arrays_in_dry_mode():
    from spyrelab.triton import dry

    out = torch.zeros(32, 64, device="spyre")
    spent = []
    for length in (10, 10000):
        lengths = torch.full((32,), length, dtype=torch.int32, device="spyre")
        with dry() as asked:
            kernels.count_rows[(32,)](out, lengths, BLOCK=64)
        spent.append(asked.seconds)
    assert spent[1] > 3 * spent[0]


@triton.jit
def squares(x, out, n, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, n, BLOCK, num_stages=STAGES):
        value = tl.load(x + start + tl.arange(0, BLOCK)).to(tl.float32)
        total += tl.exp(value * value) * tl.sigmoid(value)
    tl.store(out + tl.arange(0, BLOCK), total)


def test_one_stage_keeps_loads_from_going_ahead():
    x = torch.ones(64 * 1024, dtype=torch.float16, device="spyre")
    out = torch.empty(2048, device="spyre")
    took = {}
    for stages in (1, 2, 3):
        with spyrelab.triton.dry() as seen:
            squares[(1,)](x, out, len(x), STAGES=stages, BLOCK=2048)
        took[stages] = seen.seconds
    assert took[2] == took[3] < 0.97 * took[1]
