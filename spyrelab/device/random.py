"""Random numbers: one generator of the host stands for the card's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

__all__ = [
    "GENERATOR",
    "borrowed_default",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]

GENERATOR = torch.Generator("cpu")
"""What random operations on the device draw from. torch offers no way to make a generator of
another device from Python, so ``torch.Generator("spyre")`` does not exist."""
GENERATOR.manual_seed(torch.initial_seed())


@contextlib.contextmanager
def borrowed_default() -> Iterator[None]:
    """Let torch's default generator continue the device's sequence, for operations that take no
    generator."""
    default = torch.default_generator
    before = default.get_state()
    default.set_state(GENERATOR.get_state())
    try:
        yield
    finally:
        GENERATOR.set_state(default.get_state())
        default.set_state(before)


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device."""
    GENERATOR.manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; ``torch.manual_seed`` calls it."""
    GENERATOR.manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the current device with a random number."""
    GENERATOR.seed()


def seed_all() -> None:
    """Seed the generators of all devices with a random number."""
    GENERATOR.seed()


def initial_seed() -> int:
    """The seed of the current device's generator."""
    return GENERATOR.initial_seed()


def get_rng_state(device: Any = "spyre") -> torch.Tensor:
    """The state of a device's generator, as a ByteTensor on the CPU."""
    return GENERATOR.get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "spyre") -> None:
    """Set the state of a device's generator."""
    GENERATOR.set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices' generators."""
    return [GENERATOR.get_state()]


def set_rng_state_all(new_states: list[torch.Tensor]) -> None:
    """Set the states of all devices' generators."""
    for state in new_states:
        GENERATOR.set_state(state)
