"""Kernels from source to result on the card."""

from __future__ import annotations

import pytest
import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

import spyrelab
from spyrelab.device.allocations import entry_of
from spyrelab.triton.launcher import RELAID
from tests.triton import kernels


def added(n, dtype=torch.float32, block=64):
    x, y = torch.randn(n).to(dtype), torch.randn(n).to(dtype)
    out = torch.empty(n, dtype=dtype, device="spyre")
    kernels.add[(triton.cdiv(n, block),)](x.to("spyre"), y.to("spyre"), out, n, BLOCK=block)
    assert torch.equal(out.cpu(), x + y)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("n", [1, 64, 1000, 5000])
def test_vector_add(n, dtype):
    added(n, dtype)


def test_softmax():
    x = torch.randn(70, 100)
    out = torch.empty(70, 100, device="spyre")
    kernels.softmax[(70,)](out, x.to("spyre"), 100, 100, 100, BLOCK=128)
    torch.testing.assert_close(out.cpu(), torch.softmax(x, -1), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(transposed):
    a = torch.randn(100, 150).half().to("spyre")
    b = torch.randn(90, 150).half().to("spyre").t() if transposed else torch.randn(150, 90).half()
    b = b.to("spyre")
    found = kernels.product(kernels.matmul, a, b, BM=32, BN=32, BK=64)
    wanted = a.cpu().float() @ b.cpu().float()
    torch.testing.assert_close(found.cpu().float(), wanted, atol=2e-2, rtol=2e-3)


@pytest.mark.parametrize("n", [64, 70])
def test_heuristics_and_tuples(n):
    x = torch.randn(n)
    out = torch.empty(n, device="spyre")
    kernels.scale[(triton.cdiv(n, 32),)]((out, 2.5), x.to("spyre"), n, BLOCK=32)
    assert torch.equal(out.cpu(), x * 2.5)


def test_host_descriptors():
    x = torch.randn(50, 32)
    out = torch.empty(50, 32, device="spyre")
    source = TensorDescriptor.from_tensor(x.to("spyre"), [16, 32])
    kernels.double_rows[(4,)](source, TensorDescriptor.from_tensor(out, [16, 32]), BLOCK=16)
    assert torch.equal(out.cpu(), x * 2)


def test_numbers_of_every_size():
    out = torch.zeros(7, device="spyre")
    kernels.typed[(1,)](out, -7, 300, -(1 << 31), -(5 << 32), 0xF << 60, 0.3, True)
    wanted = [-7.0, 300.0, -(2.0**31), -5.0, 15.0, 0.30000001192092896, 1.0]
    assert out.cpu().tolist() == wanted


def test_a_view_starts_where_it_starts():
    whole = torch.arange(200.0, device="spyre")
    out = torch.zeros(200, device="spyre")
    kernels.add[(1,)](whole[3:], whole[100:], out[50:], 60, BLOCK=64)
    wanted = torch.zeros(200)
    wanted[50:110] = torch.arange(3.0, 63) + torch.arange(100.0, 160)
    assert torch.equal(out.cpu(), wanted)


def test_a_tiled_allocation_becomes_linear_once():
    RELAID.clear()
    x = torch.randn(70, 100)
    card, out = x.to("spyre"), torch.empty(70, 100, device="spyre")
    assert entry_of(card).form.tiled
    for _ in range(2):
        kernels.softmax[(70,)](out, card, 100, 100, 100, BLOCK=128)
    assert RELAID == {"softmax: x": 1, "softmax: out": 1}
    assert not entry_of(card).form.tiled
    assert torch.equal(card.cpu(), x)


def test_gpu_options_are_accepted():
    x = torch.randn(32, device="spyre")
    out = torch.empty_like(x)
    options = {"num_warps": 8, "num_ctas": 2, "num_stages": 3, "maxnreg": 64, "waves_per_eu": 2}
    kernels.add[(1,)](x, x, out, 32, BLOCK=32, **options)
    assert torch.equal(out.cpu(), x.cpu() * 2)
    with pytest.raises(KeyError, match="no_such_option"):
        kernels.add[(1,)](x, x, out, 32, BLOCK=32, no_such_option=1)


def test_empty_tensors_reach_a_kernel_that_masks_everything():
    nothing, out = torch.empty(0, device="spyre"), torch.ones(4, device="spyre")
    kernels.add[(1,)](nothing, nothing, out, 0, BLOCK=32)
    assert torch.equal(out.cpu(), torch.ones(4))


def test_a_launch_is_on_the_clock():
    x = torch.randn(4096, device="spyre")
    out = torch.empty_like(x)
    with spyrelab.record() as seen:
        kernels.add[(64,)](x, x, out, 4096, BLOCK=64)
    (launch,) = seen.kernels
    assert launch.op == "add" and launch.estimate.seconds > 0
    assert launch.estimate.port_bytes == 3 * 4096 * 4


def test_the_time_is_that_of_the_index_arrays_when_it_was_launched():
    out = torch.zeros(32, 64, device="spyre")
    lengths = torch.full((32,), 1, dtype=torch.int32, device="spyre")
    with spyrelab.record() as seen:
        kernels.count_rows[(32,)](out, lengths, BLOCK=64)
        assert out.cpu()[:, 0].tolist() == [1.0] * 32
        lengths.fill_(4000)
        kernels.count_rows[(32,)](out, lengths, BLOCK=64)
        lengths.fill_(1)
    short, long = (k for k in seen.kernels if k.op == "count_rows")
    assert out.cpu()[:, 0].tolist() == [4000.0] * 32
    assert long.seconds > 3 * short.seconds


def test_the_metadata_say_what_the_kernel_needs():
    x = torch.randn(32, device="spyre")
    compiled = kernels.add[(1,)](x, x, torch.empty_like(x), 32, BLOCK=32)
    assert 2 * 32 * 4 <= compiled.metadata.shared <= 4 * 128
    assert "ktdp.load" in compiled.asm["hsaco"].decode()
    assert "tt.load" in compiled.asm["ttir"]


def test_launch_hooks_are_called():
    from triton import knobs

    seen = []
    x = torch.randn(32, device="spyre")
    hook = lambda metadata: seen.append(metadata.get()["name"])  # noqa: E731
    if not hasattr(knobs.runtime.launch_enter_hook, "add"):
        pytest.skip("this Triton has one hook, which tests do not replace")
    knobs.runtime.launch_enter_hook.add(hook)
    try:
        kernels.add[(1,)](x, x, torch.empty_like(x), 32, BLOCK=32)
    finally:
        knobs.runtime.launch_enter_hook.remove(hook)
    assert seen == ["add"]


def test_a_kernel_found_on_disk_is_the_same(tmp_path, monkeypatch):
    from spyrelab.triton import kernel

    x = torch.randn(100, device="spyre")
    out = torch.empty_like(x)
    kernels.add[(4,)](x, x, out, 100, BLOCK=32)
    out.zero_()
    kernels.add.device_caches.clear()
    kernel._loaded.clear()
    kernels.add[(4,)](x, x, out, 100, BLOCK=32)
    assert torch.equal(out.cpu(), x.cpu() * 2)


@pytest.mark.parametrize("fault", ["bound", "none"])
def test_the_sanitizer_watches_kernels(fault):
    from spyrelab.emulator import SanitizerError

    x = torch.randn(100, device="spyre")
    y, out = torch.randn(100, device="spyre"), torch.empty(100, device="spyre")
    # One past the end: still inside the last stick that the tensor took when it was tiled.
    n = 101 if fault == "bound" else 100
    with spyrelab.sanitize():
        if fault == "none":
            kernels.add[(2,)](x, y, out, n, BLOCK=64)
            return
        with pytest.raises(SanitizerError) as raised:
            kernels.add[(2,)](x, y, out, n, BLOCK=64)
    assert "tests/triton/kernels.py" in str(raised.value)
