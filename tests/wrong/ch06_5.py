"""Plausible wrong answers to ch06.5.  Docstrings: the status, and how the first hint begins."""

import torch

TASK = "ch06.5"


def values_alone(x, scale, zero_point, low, high):
    """wrong: Compare with torch"""
    return ((torch.round(x / scale) + zero_point).clamp(low, high) - zero_point) * scale


def truncated(x, scale, zero_point, low, high):
    """wrong: Compare with torch"""
    q = torch.trunc(x / scale) + zero_point
    return (q.clamp(low, high) - zero_point) * scale, (q >= low) & (q <= high)


def mask_behind_the_clamp(x, scale, zero_point, low, high):
    """wrong: Compare with torch"""
    q = (torch.round(x / scale) + zero_point).clamp(low, high)
    return (q - zero_point) * scale, (q >= low) & (q <= high)


def mask_of_numbers(x, scale, zero_point, low, high):
    """wrong: Compare with torch"""
    q = torch.round(x / scale) + zero_point
    mask = ((q >= low) & (q <= high)).to(x.dtype)
    return (q.clamp(low, high) - zero_point) * scale, mask


def forgets_the_zero_point(x, scale, zero_point, low, high):
    """wrong: Compare with torch"""
    q = torch.round(x / scale)
    return q.clamp(low, high) * scale, (q >= low) & (q <= high)


def on_the_host(x, scale, zero_point, low, high):
    """crashed: The compiler calls your function"""
    q = torch.round(x.cpu() * (1 / scale)) + zero_point
    values = (q.clamp(low, high) - zero_point) * scale
    return values.to(x.device), ((q >= low) & (q <= high)).to(x.device)
