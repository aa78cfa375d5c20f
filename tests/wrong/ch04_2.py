"""Plausible wrong answers to ch04.2.  Docstrings: the status, and how the first hint begins."""

from math import prod

import numpy as np

TASK = "ch04.2"


def places(device_size, stride_map, size, keep, largest_first=True):
    levels = [
        (stride, prod(device_size[d + 1 :]))
        for d, stride in enumerate(stride_map)
        if keep(device_size[d], stride)
    ]
    rest = np.arange(prod(size))
    place = np.zeros_like(rest)
    for stride, step in sorted(levels, reverse=True) if largest_first else levels:
        at, rest = np.divmod(rest, stride)
        place += at * step
    return place


def memory_is_row_major(elements, device_size, stride_map, size):
    """wrong: Take host element 1000"""
    return elements[: prod(size)].reshape(size)


def in_the_order_of_the_device(elements, device_size, stride_map, size):
    """wrong: Take host element 1000"""
    keep = lambda extent, stride: extent > 1 and stride > 0  # noqa: E731
    place = places(device_size, stride_map, size, keep, False)
    return elements[place % len(elements)].reshape(size)


def a_list(elements, device_size, stride_map, size):
    """wrong: Take host element 1000"""
    keep = lambda extent, stride: extent > 1 and stride > 0  # noqa: E731
    return elements[places(device_size, stride_map, size, keep)].reshape(size).tolist()


def walks_over_the_device(elements, device_size, stride_map, size):
    """wrong: Padding is no part"""
    offset = np.zeros(device_size, int)
    for d, stride in enumerate(stride_map):
        shape = [-1 if d == axis else 1 for axis in range(len(device_size))]
        offset = offset + max(stride, 0) * np.arange(device_size[d]).reshape(shape)
    host = np.zeros(prod(size), elements.dtype)
    inside = offset.ravel() < host.size
    host[offset.ravel()[inside]] = elements[inside]
    return host.reshape(size)


def padding_cut_off_behind(elements, device_size, stride_map, size):
    """crashed: Padding is no part"""
    offset = np.zeros(device_size, int)
    for d, stride in enumerate(stride_map):
        shape = [-1 if d == axis else 1 for axis in range(len(device_size))]
        offset = offset + max(stride, 0) * np.arange(device_size[d]).reshape(shape)
    return elements[np.argsort(offset.ravel(), kind="stable")].reshape(size)


def one_stick_moves(elements, device_size, stride_map, size):
    """wrong: Along a device dimension of one"""
    place = places(device_size, stride_map, size, lambda extent, stride: stride > 0)
    return elements[place % len(elements)].reshape(size)


def minus_one_is_one(elements, device_size, stride_map, size):
    """wrong: A stride of -1"""
    levels = [
        (abs(stride), prod(device_size[d + 1 :]))
        for d, stride in enumerate(stride_map)
        if device_size[d] > 1
    ]
    rest = np.arange(prod(size))
    place = np.zeros_like(rest)
    for stride, step in sorted(levels, key=lambda level: level[0])[::-1]:
        at, rest = np.divmod(rest, stride)
        place += at * step
    return elements[place % len(elements)].reshape(size)
