"""Plausible wrong answers to ch06.6.  Docstrings: the status, and how the first hint begins."""

from math import pi

import torch

TASK = "ch06.6"


def angles(x, count, device):
    n = x.shape[-1]
    times = torch.arange(n, dtype=x.dtype, device=device)
    waves = torch.arange(count, dtype=x.dtype, device=device)
    return torch.outer(times, waves) * (2 * pi / n)


def cosines_alone(x):
    """wrong: What is the real part"""
    return (x @ angles(x, x.shape[-1] // 2 + 1, x.device).cos()).square()


def not_squared(x):
    """wrong: What is the real part"""
    table = angles(x, x.shape[-1] // 2 + 1, x.device)
    return ((x @ table.cos()).square() + (x @ table.sin()).square()).sqrt()


def all_waves(x):
    """wrong: What is the real part"""
    table = angles(x, x.shape[-1], x.device)
    return (x @ table.cos()).square() + (x @ table.sin()).square()


def as_it_was(x):
    """wrong: Something is still done by the host"""
    return torch.fft.rfft(x).abs().square()


def tables_of_the_host(x):
    """wrong: Something is still done by the host"""
    table = angles(x, x.shape[-1] // 2 + 1, "cpu").double()
    cos, sin = table.cos().to(x.dtype).to(x.device), table.sin().to(x.dtype).to(x.device)
    return (x @ cos).square() + (x @ sin).square()
