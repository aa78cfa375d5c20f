"""A module's parameters stay themselves when it moves."""

from __future__ import annotations

import copy
import pickle

import torch


def _tied() -> torch.nn.Sequential:
    torch.manual_seed(0)
    table = torch.nn.Embedding(7, 4)
    head = torch.nn.Linear(4, 7, bias=False)
    head.weight = table.weight
    return torch.nn.Sequential(table, head)


def test_shared_parameters_stay_shared_and_are_trained_together() -> None:
    index = torch.tensor([1, 2, 2, 5])
    gradients = {}
    for device in ("cpu", "spyre"):
        model = _tied().to(device)
        assert model[0].weight is model[1].weight
        model(index.to(device)).square().mean().backward()
        gradients[device] = model[0].weight.grad.cpu()
    torch.testing.assert_close(gradients["spyre"], gradients["cpu"])


def test_an_optimizer_made_before_the_move_trains_the_moved_parameters() -> None:
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    before = model.weight.detach().clone()
    model.to("spyre")
    model(torch.ones(2, 3, device="spyre")).sum().backward()
    optimizer.step()
    torch.testing.assert_close(model.weight.detach().cpu(), before - 1.0)


def test_gradients_attributes_and_types_move_along_and_back() -> None:
    model = torch.nn.Linear(3, 2)
    own = model.weight
    own.note = "kept"  # type: ignore[attr-defined]
    model.bias.requires_grad_(False)
    own.grad = torch.ones(2, 3)
    model.to("spyre", torch.float16)
    assert model.weight is own
    assert own.device.type == own.grad.device.type == "spyre"
    assert own.dtype == own.grad.dtype == torch.float16
    assert own.note == "kept"  # type: ignore[attr-defined]
    assert own.requires_grad and not model.bias.requires_grad
    model.cpu()
    assert model.weight is own and own.device.type == own.grad.device.type == "cpu"


def test_a_live_graph_does_not_stand_in_the_way() -> None:
    model = torch.nn.Linear(3, 2)
    held = model(torch.ones(1, 3)).sum()
    model.to("spyre")
    assert model.weight.device.type == "spyre" and model.weight.requires_grad
    assert held.requires_grad


def test_moved_modules_can_be_copied_and_pickled() -> None:
    model = _tied().to("spyre")
    for double in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert double[0].weight is double[1].weight
        assert double[0].weight.device.type == "spyre"


def test_modules_on_other_devices_are_left_to_torch() -> None:
    model = torch.nn.Linear(3, 2)
    own = model.weight
    assert model.double().weight is own
    assert own.dtype == torch.float64
