"""Storages made and moved without a tensor."""

from __future__ import annotations

import torch


def test_untyped_storages_on_the_device() -> None:
    storage = torch.UntypedStorage(48, device="spyre")
    assert storage.device.type == "spyre" and storage.nbytes() == 48
    x = torch.empty(0, device="spyre").set_(storage, 0, (3, 4), (4, 1))
    x.copy_(torch.arange(12.0).reshape(3, 4))
    assert x.cpu().equal(torch.arange(12.0).reshape(3, 4))
    assert torch.UntypedStorage(0, device="spyre").nbytes() == 0


def test_a_storage_has_as_many_bytes_as_on_the_host() -> None:
    for size in ((), (3, 5), (64,), (2, 0)):
        x = torch.empty(size, dtype=torch.float16)
        assert x.to("spyre").untyped_storage().nbytes() == x.untyped_storage().nbytes()


def test_storages_move_with_their_contents() -> None:
    x = torch.randn(5, 70)
    y = x.to("spyre")
    assert torch.empty(0).set_(y.untyped_storage().cpu()).equal(x.flatten())
    back = x.untyped_storage().to(device="spyre")
    z = torch.empty(0, device="spyre").set_(back, 0, (5, 70), (70, 1))
    assert z.cpu().equal(x)
    assert z.device_tensor_layout() == y.device_tensor_layout()
    copy = y.untyped_storage().clone()
    y.zero_()
    z.set_(copy, 0, (5, 70), (70, 1))
    assert z.cpu().equal(x)


def test_storages_copy_into_each_other() -> None:
    x, y = torch.randn(5, 70), torch.zeros(5, 70, device="spyre")
    y.untyped_storage().copy_(x.untyped_storage())
    assert y.cpu().equal(x)
    z = torch.zeros(5, 70)
    z.untyped_storage().copy_(y.untyped_storage())
    assert z.equal(x)


def test_a_part_of_raw_memory_leaves_it_linear() -> None:
    x = torch.arange(20.0)
    storage = x.untyped_storage().to(device="spyre")
    part = torch.empty(0, device="spyre").set_(storage, 3, (2, 5), (5, 1))
    whole = torch.empty(0, device="spyre").set_(storage, 0, (4, 5), (5, 1))
    assert part.cpu().equal(x[3:13].reshape(2, 5))
    part.zero_()
    x[3:13] = 0
    assert whole.cpu().equal(x.reshape(4, 5))


def test_setting_a_tensor_to_nothing_and_to_another() -> None:
    x, y = torch.ones(3, device="spyre"), torch.zeros(4, 5, device="spyre")
    x.set_(y)
    assert x.data_ptr() == y.data_ptr() and x.shape == (4, 5)
    x.set_()
    assert x.numel() == 0 and x.device.type == "spyre"
