"""torch.accelerator and memory statistics."""

from __future__ import annotations

import gc

import pytest
import torch


def test_the_accelerator_is_the_card() -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("spyre")
    assert torch.accelerator.device_count() == 1
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.set_device_index(0)
    torch.accelerator.synchronize()
    torch.accelerator.current_stream().synchronize()


def test_memory_of_the_accelerator() -> None:
    gc.collect()
    before = torch.accelerator.memory_allocated()
    x = torch.zeros(1000, 1000, device="spyre")
    assert torch.accelerator.memory_allocated() - before >= x.numel() * 4
    assert torch.accelerator.max_memory_allocated() >= torch.accelerator.memory_allocated()
    assert torch.accelerator.memory_reserved() >= before
    assert torch.accelerator.memory_stats()["allocated_bytes.all.current"] > before
    torch.accelerator.empty_cache()
    torch.accelerator.reset_peak_memory_stats()
    torch.accelerator.reset_accumulated_memory_stats()
    free, total = torch.accelerator.get_memory_info()
    assert 0 < free < total


def test_statistics() -> None:
    gc.collect()
    torch.spyre.reset_peak_memory_stats()
    before = torch.spyre.memory_allocated()
    x = torch.zeros(1 << 20, device="spyre")
    during = torch.spyre.memory_allocated()
    assert during - before == 4 << 20
    del x
    assert torch.spyre.memory_allocated() == before
    assert torch.spyre.max_memory_allocated() == during
    torch.spyre.reset_peak_memory_stats()
    assert torch.spyre.max_memory_allocated() == before
    stats = torch.spyre.memory_stats()
    assert stats["allocated_bytes.all.current"] == before
    assert stats["allocated_bytes.all.peak"] >= before
    torch.spyre.reset_accumulated_memory_stats()
    torch.zeros(64, device="spyre")
    assert torch.spyre.memory_stats()["allocation.all.allocated"] == 1
    assert torch.spyre.memory_reserved() == torch.spyre.memory_allocated()
    assert torch.spyre.max_memory_reserved() == torch.spyre.max_memory_allocated()


def test_padding_is_counted() -> None:
    gc.collect()
    before = torch.spyre.memory_allocated()
    x = torch.zeros(100, 1, device="spyre", dtype=torch.float16)
    assert torch.spyre.memory_allocated() - before == 100 * 128
    assert x.untyped_storage().nbytes() == 200


def test_free_and_total() -> None:
    free, total = torch.spyre.mem_get_info()
    x = torch.zeros(1 << 20, device="spyre")
    assert torch.spyre.mem_get_info() == (free - x.numel() * 4, total)
    torch.spyre.empty_cache()
    assert x.abs().sum().item() == 0


def test_the_summary_reads_well() -> None:
    text = torch.spyre.memory_summary()
    assert "allocated" in text and "MiB" in text and "live allocations" in text


@pytest.mark.parametrize("pinned", [True, False])
def test_pinned_memory_is_ordinary_memory(pinned: bool) -> None:
    x = torch.randn(5, 3)
    y = x.pin_memory() if pinned else x
    assert y.is_pinned() is pinned
    assert y.to("spyre", non_blocking=True).cpu().equal(x)


def test_a_data_loader_pins() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True)
    total = sum(float(batch.to("spyre", non_blocking=True).sum()) for (batch,) in loader)
    assert total == 28
