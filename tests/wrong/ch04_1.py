"""Plausible wrong answers to ch04.1.  Docstrings: the status, and how the first hint begins."""

from math import ceil, prod

TASK = "ch04.1"


def layout(size, tiles, middle, first, strides=None):
    strides = strides or [prod(size[d + 1 :]) for d in range(len(size))]
    device_size = [*(size[d] for d in middle), tiles, *(size[d] for d in first), 64]
    return device_size, [*(strides[d] for d in middle), 64, *(strides[d] for d in first), 1]


def row_by_row(size):
    """wrong: Start with the stick"""
    rank = len(size)
    strides = [prod(size[d + 1 :]) for d in range(rank)]
    return [*size[:-1], ceil(size[-1] / 64), 64], [*strides[:-1], 64, 1]


def device_strides_for_host_strides(size):
    """wrong: Start with the stick"""
    device_size, _ = layout(size, ceil(size[-1] / 64), range(1, len(size) - 1), range(1))
    return device_size, [prod(device_size[d + 1 :]) for d in range(len(device_size))]


def bytes_for_elements(size):
    """wrong: Start with the stick"""
    device_size, strides = layout(size, ceil(size[-1] / 64), range(1, len(size) - 1), range(1))
    return device_size, [2 * stride for stride in strides]


def half_a_stick_forgotten(size):
    """wrong: The last stick of a row"""
    return layout(size, max(size[-1] // 64, 1), range(1, len(size) - 1), range(1))


def padding_on_the_host(size):
    """wrong: The last stick of a row"""
    tiles = ceil(size[-1] / 64)
    padded = [*size[:-1], 64 * tiles]
    strides = [prod(padded[d + 1 :]) for d in range(len(size))]
    return layout(size, tiles, range(1, len(size) - 1), range(1), strides)


def matrices_only(size):
    """crashed: A tensor may have any number"""
    rows, cols = size
    return [ceil(cols / 64), rows, 64], [64, cols, 1]


def sticks_outermost(size):
    """wrong: A tensor may have any number"""
    strides = [prod(size[d + 1 :]) for d in range(len(size))]
    return [ceil(size[-1] / 64), *size[:-1], 64], [64, *strides[:-1], 1]


def a_vector_twice(size):
    """wrong: A tensor may have any number"""
    return layout(size, ceil(size[-1] / 64), range(1, len(size) - 1), range(1))
