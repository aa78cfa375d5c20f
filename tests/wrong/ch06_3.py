"""Plausible wrong answers to ch06.3.  Docstrings: the status, and how the first hint begins."""

from math import prod

TASK = "ch06.3"


def args_of(plan):
    return [arg for bundle in plan.bundles for spec in bundle.specs for arg in spec.args]


def everything(plan):
    """wrong: Print a plan"""
    return sum(2 * prod(arg.device_size) for arg in args_of(plan))


def address_zero_is_none(plan):
    """wrong: Print a plan"""
    return sum(2 * prod(arg.device_size) for arg in args_of(plan) if not arg.lx_address)


def reads_only(plan):
    """wrong: Print a plan"""
    args = [arg for arg in args_of(plan) if arg.is_input and arg.lx_address is None]
    return sum(2 * prod(arg.device_size) for arg in args)


def elements(plan):
    """wrong: Print a plan"""
    return sum(prod(arg.device_size) for arg in args_of(plan) if arg.lx_address is None)


def two_bytes(plan):
    """wrong: How many bytes has an element"""
    return sum(2 * prod(arg.device_size) for arg in args_of(plan) if arg.lx_address is None)


def first_bundle(plan):
    """wrong: How many bytes has an element"""
    args = [arg for spec in plan.bundles[0].specs for arg in spec.args if arg.lx_address is None]
    return sum({"f16": 2, "f32": 4}[arg.dtype] * prod(arg.device_size) for arg in args)
