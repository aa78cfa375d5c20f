"""Plausible wrong answers to ch03.6.  Docstrings: the status, and how the first hint begins."""

import torch

TASK = "ch03.6"


def mean_of_all_tokens(module, x, keep):
    """wrong: The result is not the one of the given module"""
    weights = keep.to(x.dtype).unsqueeze(-1)
    return (module.project(x) * weights).mean(1)


def mask_before_the_projection(module, x, keep):
    """wrong: The result is not the one of the given module"""
    weights = keep.to(x.dtype).unsqueeze(-1)
    return module.project(x * weights).sum(1) / weights.sum(1)


def as_given(module, x, keep):
    """wrong: Something still runs on the CPU"""
    return module(x, keep)


def rows_chosen_by_the_mask(module, x, keep):
    """wrong: Something still runs on the CPU"""
    projected = module.project(x)
    hidden = torch.zeros_like(projected)
    hidden[keep] = projected[keep]
    return hidden.sum(1) / keep.to(x.dtype).sum(1, keepdim=True)


def still_double(module, x, keep):
    """wrong: Something still runs on the CPU"""
    weights = keep.to(x.dtype).unsqueeze(-1)
    return ((module.project(x) * weights).double().sum(1) / weights.sum(1)).float()


def all_on_the_host(module, x, keep):
    """wrong: Something still runs on the CPU"""
    weights = keep.cpu().to(x.dtype).unsqueeze(-1)
    module = module.cpu()
    result = (module.project(x.cpu()) * weights).sum(1) / weights.sum(1)
    module.to("spyre")
    return result.to("spyre")


def without_gradients(module, x, keep):
    """wrong: The module has to learn"""
    weights = keep.to(x.dtype).unsqueeze(-1)
    return (module.project(x).detach() * weights).sum(1) / weights.sum(1)


def without_a_graph(module, x, keep):
    """wrong: The module has to learn"""
    with torch.no_grad():
        weights = keep.to(x.dtype).unsqueeze(-1)
        return (module.project(x) * weights).sum(1) / weights.sum(1)
