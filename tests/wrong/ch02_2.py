"""Plausible wrong answers to ch02.2.  Docstrings: the status, and how the first hint begins."""

from spyrelab.kernels import matmul
from spyrelab.machine import SPYRE
from spyrelab.timing import roofline

TASK = "ch02.2"
PEAK = SPYRE.peak_flops("f16")
BANDWIDTH = SPYRE.ddr_read_bytes_per_second


def us(flops, nbytes):
    return max(flops / PEAK, nbytes / BANDWIDTH) * 1e6


def multiply_accumulates(b, m, n, k):
    """wrong: Many rows: the matrix units bound"""
    return us(b * m * n * k, 2 * b * (m * k + k * n + m * n))


def seconds(b, m, n, k):
    """wrong: Many rows: the matrix units bound"""
    return us(2 * b * m * n * k, 2 * b * (m * k + k * n + m * n)) / 1e6


def compute_and_memory_added(b, m, n, k):
    """wrong: Many rows: the matrix units bound"""
    compute, memory = 2 * b * m * n * k / PEAK, 2 * b * (m * k + k * n + m * n) / BANDWIDTH
    return (compute + memory) * 1e6


def elements_for_bytes(b, m, n, k):
    """wrong: Few rows, or little depth"""
    return us(2 * b * m * n * k, b * (m * k + k * n + m * n))


def result_forgotten(b, m, n, k):
    """wrong: Few rows, or little depth"""
    return us(2 * b * m * n * k, 2 * b * (m * k + k * n))


def compute_only(b, m, n, k):
    """wrong: Few rows, or little depth"""
    return 2 * b * m * n * k / PEAK * 1e6


def batch_forgotten(b, m, n, k):
    """wrong: Each of the b products"""
    return us(2 * m * n * k, 2 * (m * k + k * n + m * n))


def right_operand_shared(b, m, n, k):
    """wrong: Each of the b products"""
    return us(2 * b * m * n * k, 2 * (b * m * k + k * n + b * m * n))


def asks_the_model(b, m, n, k):
    """wrong: Many rows: the matrix units bound"""
    return roofline(matmul(b, m, n, k, split=(1, 1, 1, 1))).seconds * 1e6
