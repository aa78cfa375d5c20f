"""What a device in pure Python cannot give says so, and the process goes on."""

from __future__ import annotations

import pytest
import torch


def test_there_is_one_card() -> None:
    for make in (
        lambda: torch.empty(2, device="spyre:1"),
        lambda: torch.empty_strided((2,), (1,), device="spyre:1"),
        lambda: torch.ones(2).to("spyre:1"),
        lambda: torch.UntypedStorage(4, device="spyre:1"),
    ):
        with pytest.raises(RuntimeError, match=r"invalid device ordinal.*one card"):
            make()


def test_there_are_no_generators() -> None:
    with pytest.raises(RuntimeError, match=r"[Gg]enerator"):
        torch.Generator(device="spyre")


def test_storages_keep_their_size() -> None:
    x = torch.ones(4, device="spyre")
    with pytest.raises(RuntimeError, match="not resizable"):
        x.untyped_storage().resize_(400)
    assert x.tolist() == [1, 1, 1, 1]


def test_device_memory_is_not_host_memory() -> None:
    x = torch.ones(4, device="spyre")
    with pytest.raises(TypeError, match=r"host memory first|can't convert"):
        x.numpy()


def test_unknown_types() -> None:
    with pytest.raises(RuntimeError):
        torch.empty(3, dtype=torch.quint8, device="spyre")


def test_sparse_tensors() -> None:
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.ones(3, 3, device="spyre").to_sparse()
