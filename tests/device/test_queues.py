"""Device tensors in queues between processes."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset


class _OnTheCard(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((3,), float(index), device="spyre")


def test_workers_return_tensors_of_the_card() -> None:
    batches = list(DataLoader(_OnTheCard(), 2, num_workers=1, timeout=60))
    assert all(batch.device.type == "spyre" for batch in batches)
    assert torch.cat(batches)[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
