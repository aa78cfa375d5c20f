"""Random numbers: seeds, states, forks."""

from __future__ import annotations

import pytest
import torch

DRAWS = {
    "rand": lambda: torch.rand(3, 65, device="spyre"),
    "randn": lambda: torch.randn(3, 65, device="spyre"),
    "randint": lambda: torch.randint(0, 100, (65,), device="spyre"),
    "randperm": lambda: torch.randperm(65, device="spyre"),
    "bernoulli": lambda: torch.full((65,), 0.5, device="spyre").bernoulli(),
    "multinomial": lambda: torch.ones(65, device="spyre").multinomial(20),
    "dropout": lambda: torch.nn.functional.dropout(torch.ones(65, device="spyre")),
    "exponential": lambda: torch.empty(65, device="spyre").exponential_(),
    "rand_like": lambda: torch.rand_like(torch.empty(65, device="spyre")),
}


@pytest.mark.parametrize("name", DRAWS)
def test_seeds_repeat(name: str) -> None:
    draw = DRAWS[name]
    torch.manual_seed(7)
    first, second = draw(), draw()
    torch.manual_seed(7)
    assert draw().equal(first)
    assert not first.equal(second)
    torch.spyre.manual_seed(7)
    assert draw().equal(first)
    torch.spyre.manual_seed_all(7)
    assert draw().equal(first)


@pytest.mark.parametrize("name", DRAWS)
def test_the_host_has_a_sequence_of_its_own(name: str) -> None:
    torch.manual_seed(7)
    want = torch.rand(3)
    torch.manual_seed(7)
    DRAWS[name]()
    assert torch.rand(3).equal(want)


def test_states_can_be_saved() -> None:
    state = torch.spyre.get_rng_state()
    first = torch.rand(5, device="spyre")
    torch.spyre.set_rng_state(state)
    assert torch.rand(5, device="spyre").equal(first)
    states = torch.spyre.get_rng_state_all()
    torch.spyre.set_rng_state_all(states)
    torch.spyre.seed()
    torch.spyre.seed_all()
    assert torch.spyre.initial_seed() == torch.spyre.default_generators[0].initial_seed()


def test_forked_sequences() -> None:
    torch.spyre.manual_seed(3)
    with torch.random.fork_rng(device_type="spyre"):
        inside = torch.rand(5, device="spyre")
    assert torch.rand(5, device="spyre").equal(inside)


def test_a_generator_of_the_host_may_be_given() -> None:
    generator = torch.Generator().manual_seed(5)
    x = torch.empty(5, device="spyre").normal_(generator=generator)
    assert x.cpu().equal(torch.empty(5).normal_(generator=torch.Generator().manual_seed(5)))


def test_checkpoints_restore_the_sequence() -> None:
    from torch.utils.checkpoint import checkpoint

    x = torch.ones(200, device="spyre", requires_grad=True)
    y = checkpoint(lambda t: torch.nn.functional.dropout(t) * t, x, use_reentrant=False)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.cpu().equal(2 * y.detach().cpu())
