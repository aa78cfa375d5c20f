"""Plausible wrong answers to ch03.3.  Docstrings: the status, and how the first hint begins."""

import torch

from spyrelab.device.eager.launch import run

TASK = "ch03.3"


def of_torch(gate, x):
    """wrong: torch.nn.functional.silu is a kernel"""
    return torch.nn.functional.silu(gate) * x


def on_the_host(gate, x):
    """wrong: torch.nn.functional.silu is a kernel"""
    return (torch.nn.functional.silu(gate.cpu()) * x.cpu()).to("spyre")


def three_launches(gate, x):
    """wrong: torch.nn.functional.silu is a kernel"""
    out = torch.empty_like(x)
    run("sigmoid", [gate], [out])
    run("mul", [out, gate], [out])
    run("mul", [out, x], [out])
    return out


def the_other_one_gated(gate, x):
    """wrong: torch.nn.functional.silu is a kernel"""
    out = torch.empty_like(x)
    run("silu", [x], [out])
    run("mul", [gate, out], [out])
    return out


def size_of_x(gate, x):
    """crashed: The two may broadcast"""
    out = torch.empty_like(gate)
    run("silu", [gate], [out])
    result = torch.empty_like(x)
    run("mul", [out, x], [result])
    return result


def nothing_launched_with_nothing(gate, x):
    """crashed: What is the result of nothing?"""
    out = torch.empty(torch.broadcast_shapes(gate.shape, x.shape), dtype=x.dtype, device=x.device)
    active = torch.empty_like(gate)
    run("silu", [gate], [active])
    run("mul", [active, x], [out])
    return out


def x_for_nothing(gate, x):
    """wrong: What is the result of nothing?"""
    if gate.numel() == 0 or x.numel() == 0:
        return x
    return nothing_launched_with_nothing(gate, x)
