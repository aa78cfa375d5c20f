"""What the time of a kernel depends on, and what is remembered for it."""

from __future__ import annotations

import torch
import triton

import spyrelab
from spyrelab.device import clock
from spyrelab.ktir import I32
from tests.triton import kernels


def compiled(kernel, *args, grid=(1,), **constants):
    return kernel[grid](*args, **constants).function


def test_dense_kernels_depend_on_numbers_only():
    x = torch.randn(64, device="spyre")
    kernel = compiled(kernels.add, x, x, torch.empty_like(x), 60, BLOCK=64)
    assert set(kernel.steering.scalars) >= {"n", "grid_x"}
    assert kernel.steering.arrays == {}


def test_trip_counts_from_memory_make_their_array_count():
    out = torch.zeros(4, 64, device="spyre")
    lengths = torch.tensor([1, 2, 3, 4], dtype=torch.int32, device="spyre")
    kernel = compiled(kernels.count_rows, out, lengths, grid=(4,), BLOCK=64)
    assert kernel.steering.arrays == {"lengths": I32}


def test_values_that_are_only_computed_with_do_not_count():
    a = torch.randn(64, 64, device="spyre").half()
    kernels.product(kernels.matmul, a, a, BM=32, BN=32, BK=32)
    kernel = next(iter(kernels.matmul.device_caches[1 << 20][0].values())).function
    assert kernel.steering.arrays == {}


def test_equal_arguments_are_one_object_and_predicted_once(monkeypatch):
    from spyrelab.device import clock as watched

    predicted = []
    original = watched._estimated
    monkeypatch.setattr(watched, "_estimated", lambda x: predicted.append(x) or original(x))
    out = torch.zeros(4, 64, device="spyre")
    lengths = torch.tensor([1, 2, 3, 4], dtype=torch.int32, device="spyre")
    start = clock.mark()
    for _ in range(3):
        kernels.count_rows[(4,)](out, lengths, BLOCK=64)
    lengths.copy_(torch.tensor([9, 9, 9, 9], dtype=torch.int32))
    kernels.count_rows[(4,)](out, lengths, BLOCK=64)
    launches = [x for x in clock.since(start) if x.op == "count_rows"]
    assert launches[0].args is launches[1].args is launches[2].args
    assert launches[3].args["lengths"].tolist() == [9] * 4
    before = len(predicted)
    first, again, _, other = (clock.seconds_of(launch) for launch in launches)
    assert first == again < other and len(predicted) - before == 2


def test_hosts_threads_may_launch_at_once():
    from concurrent.futures import ThreadPoolExecutor

    x = torch.randn(8, 1000)
    rows = [row.to("spyre") for row in x]

    def double(row):
        out = torch.empty_like(row)
        kernels.add[(triton.cdiv(1000, 64),)](row, row, out, 1000, BLOCK=64)
        return out

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(double, rows))
    assert torch.equal(torch.stack([out.cpu() for out in found]), x * 2)


def test_rows_of_a_gather_have_lengths_that_count():
    x, out = torch.randn(64, 64, device="spyre"), torch.zeros(64, 64, device="spyre")
    order = torch.randperm(64).to(torch.int32).to("spyre")
    kernel = compiled(kernels.picked_rows, x, out, order, 40, 48, BLOCK=64)
    assert "columns" in kernel.steering.scalars
    with spyrelab.record() as seen:
        for columns in (16, 48):
            kernels.picked_rows[(1,)](x, out, order, 40, columns, BLOCK=64)
    narrow, wide = (launch.estimate for launch in seen.kernels)
    assert narrow.port_bytes < wide.port_bytes


def test_a_view_that_begins_before_its_array():
    x, ends = torch.randn(9, 64), torch.tensor([4, 5, 9], dtype=torch.int32)
    out = torch.zeros(3, 64, device="spyre")
    with spyrelab.record() as seen:
        kernels.since_the_last[(3,)](x.to("spyre"), out, ends.to("spyre"), BLOCK=64)
    expected = torch.stack([part.sum(0) for part in x.split([4, 1, 4])])
    torch.testing.assert_close(out.cpu(), expected)
    (launch,) = seen.kernels
    assert launch.estimate.inexact == () and launch.estimate.port_bytes >= 12 * 256
