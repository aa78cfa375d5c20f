"""Plausible wrong answers to ch03.5.  Docstrings: the status, and how the first hint begins."""

import torch

TASK = "ch03.5"


def thin(x, p, generator):
    keep = torch.rand(x.shape, generator=generator) >= p
    return torch.where(keep.to("spyre"), x / (1 - p), 0.0) if p < 1 else torch.zeros_like(x)


def not_rescaled(x, p, generator=None):
    """wrong: The numbers are drawn in float32"""
    generator = generator or torch.spyre.default_generators[0]
    keep = torch.rand(x.shape, generator=generator) >= p
    return torch.where(keep.to("spyre"), x, 0.0)


def keeps_what_it_should_drop(x, p, generator=None):
    """wrong: The numbers are drawn in float32"""
    generator = generator or torch.spyre.default_generators[0]
    keep = torch.rand(x.shape, generator=generator) < p
    return torch.where(keep.to("spyre"), x / max(p, 1e-9), 0.0)


def division_by_zero(x, p, generator=None):
    """crashed: The numbers are drawn in float32"""
    generator = generator or torch.spyre.default_generators[0]
    keep = torch.rand(x.shape, generator=generator) >= p
    return x * keep.to("spyre") / (1 - p) if p < 1 else x * keep.to("spyre") * (1 / (1 - p))


def in_the_order_of_memory(x, p, generator=None):
    """wrong: The numbers are drawn in float32"""
    generator = generator or torch.spyre.default_generators[0]
    if x.is_contiguous():
        return thin(x, p, generator)
    return thin(x.t().contiguous(), p, generator).t()


def default_generator(x, p, generator=None):
    """wrong: Without a generator"""
    return thin(x, p, generator)


def same_numbers_each_time(x, p, generator=None):
    """wrong: Without a generator"""
    if generator is None:
        generator = torch.Generator().manual_seed(torch.spyre.initial_seed())
    return thin(x, p, generator)


def borrows_the_default_generator(x, p, generator=None):
    """wrong: Somebody else draws"""
    generator = generator or torch.spyre.default_generators[0]
    torch.default_generator.set_state(generator.get_state())
    result = thin(x, p, None)
    generator.set_state(torch.default_generator.get_state())
    return result
