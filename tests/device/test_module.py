"""torch.spyre offers what torch.cuda does."""

from __future__ import annotations

import inspect

import pytest
import torch


def test_it_says_what_the_card_is() -> None:
    assert torch.spyre.is_available()
    assert torch.spyre.device_count() == 1
    assert torch.spyre.current_device() == 0
    assert "Spyre" in torch.spyre.get_device_name()
    properties = torch.spyre.get_device_properties("spyre:0")
    assert properties.multi_processor_count == 32
    assert properties.total_memory == torch.spyre.mem_get_info()[1]
    assert torch.float16 in torch.spyre.get_device_capability()["supported_dtypes"]
    torch.spyre.synchronize()


def test_the_current_card_can_be_chosen_if_it_is_the_one() -> None:
    torch.spyre.set_device(0)
    torch.spyre.set_device("spyre:0")
    with torch.spyre.device(0), torch.spyre.device("spyre"), torch.spyre.device(None):
        assert torch.empty(2, device="spyre").device == torch.device("spyre", 0)
    with torch.spyre.device_of(torch.empty(1)):
        pass
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.spyre.set_device(1)
    with pytest.raises(ValueError, match="Expected a spyre device"):
        torch.spyre.set_device("cpu")


def test_every_public_name_explains_itself() -> None:
    for name, thing in vars(torch.spyre).items():
        if not name.startswith("_") and (inspect.isfunction(thing) or inspect.isclass(thing)):
            assert thing.__doc__, name


def test_methods_that_torch_generates() -> None:
    x = torch.ones(2).spyre()
    assert x.is_spyre and not x.cpu().is_spyre
    module = torch.nn.Linear(2, 2).spyre()
    assert module.weight.is_spyre and isinstance(module.weight, torch.nn.Parameter)


def test_default_devices() -> None:
    with torch.device("spyre"):
        assert torch.ones(3).device.type == "spyre"
    torch.set_default_device("spyre")
    try:
        assert torch.arange(4).device.type == "spyre"
        assert torch.nn.Linear(2, 2).weight.device.type == "spyre"
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize(
    "make",
    [
        lambda d: torch.zeros(3, 65, device=d),
        lambda d: torch.ones(3, 65, device=d, dtype=torch.int32),
        lambda d: torch.full((3, 65), 2.5, device=d),
        lambda d: torch.arange(0, 10, 0.5, device=d),
        lambda d: torch.linspace(0, 1, 67, device=d),
        lambda d: torch.eye(66, device=d),
        lambda d: torch.tensor([[1.0, 2], [3, 4]], device=d),
        lambda d: torch.tril(torch.ones(65, 65, device=d)),
        lambda d: torch.zeros_like(torch.empty(3, 4, device=d)),
        lambda d: torch.scalar_tensor(3.5, device=d),
        lambda d: torch.empty(2, 0, 3, device=d),
        lambda d: torch.tensor([], device=d),
        lambda d: torch.asarray([1, 2], device=d),
    ],
)
def test_factories(make) -> None:
    got, want = make("spyre"), make("cpu")
    assert got.device.type == "spyre"
    assert got.dtype == want.dtype and got.shape == want.shape
    torch.testing.assert_close(got.cpu(), want)
