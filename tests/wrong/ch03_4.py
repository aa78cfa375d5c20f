"""Plausible wrong answers to ch03.4.  Docstrings: the status, and how the first hint begins."""

import torch

from spyrelab.device.eager.launch import run

TASK = "ch03.4"


def a_new_tensor(x, y, out):
    """wrong: Who passes out="""
    made = torch.empty(torch.broadcast_shapes(x.shape, y.shape), device="spyre")
    run("mul", [x, y], [made])
    return made


def of_torch(x, y, out):
    """wrong: Who passes out="""
    return torch.mul(x, y, out=out)


def nothing_returned(x, y, out):
    """wrong: Who passes out="""
    run("mul", [x, y], [out])


def size_taken_as_it_is(x, y, out):
    """wrong: torch resizes an out"""
    if out.numel():
        run("mul", [x, y], [out])
    return out


def size_of_the_first(x, y, out):
    """crashed: torch resizes an out"""
    out.resize_(x.shape)
    run("mul", [x, y], [out])
    return out


def whatever_type(x, y, out):
    """wrong: Some results cannot be stored"""
    size = torch.broadcast_shapes(x.shape, y.shape)
    if out.shape != size:
        out.resize_(size)
    run("mul", [x, y], [out])
    return out


def refused_too_late(x, y, out):
    """wrong: Some results cannot be stored"""
    size = torch.broadcast_shapes(x.shape, y.shape)
    if out.shape != size:
        out.resize_(size)
    if not torch.can_cast(torch.result_type(x, y), out.dtype) or out.device != x.device:
        raise RuntimeError("no")
    run("mul", [x, y], [out])
    return out


def device_not_looked_at(x, y, out):
    """wrong: Some results cannot be stored"""
    if not torch.can_cast(torch.result_type(x, y), out.dtype):
        raise RuntimeError("no")
    size = torch.broadcast_shapes(x.shape, y.shape)
    if out.shape != size:
        out.resize_(size)
    run("mul", [x, y], [out])
    return out
