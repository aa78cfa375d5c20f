"""Saving, loading, pickling and copying, in both directions."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path

import pytest
import torch


def saved(thing: object) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize("here", ["cpu", "spyre"])
@pytest.mark.parametrize("there", ["cpu", "spyre", "spyre:0", None])
def test_save_and_load(here: str, there: str | None, dtype: torch.dtype) -> None:
    x = (torch.randn(3, 5, 70) * 3).to(dtype)
    y = torch.load(saved(x.to(here)), map_location=there)
    assert y.device.type == (there or here).split(":")[0]
    assert y.dtype == dtype and y.stride() == x.stride()
    assert y.cpu().equal(x)
    if y.is_spyre:
        assert y.device_tensor_layout() == x.to("spyre").device_tensor_layout()
        assert (y == x.to("spyre")).all()


def test_map_location_as_function_and_mapping() -> None:
    x = torch.randn(3, 70)
    for where in (lambda s, loc: s.to(device="spyre"), {"cpu": "spyre:0"}, torch.device("spyre")):
        y = torch.load(saved(x), map_location=where, weights_only=not callable(where))
        assert y.is_spyre and y.cpu().equal(x)
    z = torch.load(saved(x.to("spyre")), map_location={"spyre:0": "cpu"})
    assert not z.is_spyre and z.equal(x)


def test_a_file_for_another_card_is_refused() -> None:
    with pytest.raises(RuntimeError, match="one card"):
        torch.load(saved(torch.ones(3)), map_location="spyre:1")


@pytest.mark.parametrize("there", ["cpu", "spyre"])
def test_shared_storages_stay_shared(there: str) -> None:
    x = torch.randn(6, 70).to("spyre")
    a, b, c = torch.load(saved([x, x[2:], x.t()]), map_location=there)
    assert a.cpu().equal(x.cpu()) and b.cpu().equal(x[2:].cpu()) and c.cpu().equal(x.t().cpu())
    a.zero_()
    assert float(b.abs().sum()) == 0 and float(c.abs().sum()) == 0


def test_a_view_that_comes_first_decides_nothing() -> None:
    x = torch.randn(6, 70).to("spyre")
    b, a = torch.load(saved([x[2:, 3:], x]), map_location="spyre")
    assert a.cpu().equal(x.cpu()) and b.cpu().equal(x[2:, 3:].cpu())


def test_a_chosen_layout_is_saved_as_host_bytes() -> None:
    from spyrelab.layout import SpyreTensorLayout

    x = torch.randn(5, 70).half()
    y = x.to("spyre", device_layout=SpyreTensorLayout.default((5, 70), "f16", [1, 0]))
    assert torch.load(saved(y), map_location="cpu").equal(x)
    z = copy.deepcopy(y)
    assert z.cpu().equal(x) and z.device_tensor_layout() == y.device_tensor_layout()


def test_modules_and_optimizers() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(70, 5), torch.nn.Linear(5, 2)).to("spyre")
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(4, 70, device="spyre")).sum().backward()
    optimizer.step()
    file = saved({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    state = torch.load(file)
    other = torch.nn.Sequential(torch.nn.Linear(70, 5), torch.nn.Linear(5, 2)).to("spyre")
    other.load_state_dict(state["model"])
    again = torch.optim.AdamW(other.parameters())
    again.load_state_dict(state["optimizer"])
    x = torch.randn(4, 70, device="spyre")
    assert other(x).equal(model(x))
    moments = again.state[other[0].weight]["exp_avg"]
    assert moments.is_spyre and moments.equal(optimizer.state[model[0].weight]["exp_avg"])
    on_host = torch.nn.Sequential(torch.nn.Linear(70, 5), torch.nn.Linear(5, 2))
    on_host.load_state_dict(state["model"])
    torch.testing.assert_close(on_host(x.cpu()), model(x).cpu())


def test_a_second_process_continues(tmp_path: Path, run_python) -> None:
    x = torch.randn(4, 70, device="spyre").half()
    torch.save({"x": x, "view": x[1:, :3]}, tmp_path / "x.pt")
    code = f"""
import torch, spyrelab.device
loaded = torch.load({str(tmp_path / "x.pt")!r})
print(loaded["x"].device, float(loaded["x"].float().sum()), loaded["view"].tolist())
"""
    want = f"spyre:0 {float(x.float().sum())} {x[1:, :3].tolist()}"
    assert run_python(code).strip() == want


def test_pickle() -> None:
    x = torch.randn(3, 70).to("spyre").requires_grad_()
    y = pickle.loads(pickle.dumps(x))
    assert y.is_spyre and y.requires_grad and y.cpu().equal(x.detach().cpu())


def test_deepcopy() -> None:
    model = torch.nn.Linear(70, 70).to("spyre")
    other = copy.deepcopy(model)
    assert other.weight.equal(model.weight)
    assert other.weight.data_ptr() != model.weight.data_ptr()
    x = torch.randn(5, 70).to("spyre")
    a, b = copy.deepcopy([x, x[1:]])
    a.zero_()
    assert float(b.abs().sum()) == 0 and float(x.abs().sum()) > 0


def test_typed_storages_and_shallow_copies() -> None:
    x = torch.randn(5).to("spyre")
    y = copy.copy(x)
    assert y.data_ptr() == x.data_ptr()
