"""Plausible wrong answers to ch03.7.  Docstrings: the status, and how the first hint begins."""

from time import perf_counter

import torch

TASK = "ch03.7"


def events():
    return [torch.spyre.Event(enable_timing=True) for _ in range(2)]


def clock_of_the_host(function, repeats):
    """wrong: Events count milliseconds"""
    function()
    begin = perf_counter()
    for _ in range(repeats):
        function()
    return (perf_counter() - begin) * 1e6 / repeats


def milliseconds(function, repeats):
    """wrong: Events count milliseconds"""
    begin, end = events()
    function()
    begin.record()
    for _ in range(repeats):
        function()
    end.record()
    return begin.elapsed_time(end) / repeats


def events_without_timing(function, repeats):
    """crashed: Events count milliseconds"""
    begin, end = torch.spyre.Event(), torch.spyre.Event()
    function()
    begin.record()
    for _ in range(repeats):
        function()
    end.record()
    return begin.elapsed_time(end) * 1e3 / repeats


def sum_of_all_calls(function, repeats):
    """wrong: It is the mean of several calls"""
    begin, end = events()
    function()
    begin.record()
    for _ in range(repeats):
        function()
    end.record()
    return begin.elapsed_time(end) * 1e3


def one_call_for_all(function, repeats):
    """wrong: It is the mean of several calls"""
    begin, end = events()
    function()
    begin.record()
    function()
    end.record()
    return begin.elapsed_time(end) * 1e3


def first_call_measured_too(function, repeats):
    """wrong: The first call of many functions"""
    begin, end = events()
    begin.record()
    for _ in range(repeats + 1):
        function()
    end.record()
    return begin.elapsed_time(end) * 1e3 / (repeats + 1)
