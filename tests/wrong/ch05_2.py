"""Plausible wrong answers to ch05.2.  Docstrings: the status, and how the first hint begins."""

from itertools import product
from math import gcd, prod

TASK = "ch05.2"


def search(extents, strides, cores, limit, reach, sort=True):
    divisors = [[p for p in range(1, n + 1) if n % p == 0] for n in extents]
    legal = [parts for parts in product(*divisors) if prod(parts) <= cores]
    for parts in sorted(legal, key=prod, reverse=True) if sort else legal:
        sizes = [n // p for n, p in zip(extents, parts, strict=False)]
        if reach(sizes, strides) <= limit:
            return parts
    return None


def exact(sizes, moves):
    return 2 + 2 * sum((n - 1) * s for n, s in zip(sizes, moves, strict=False))


def first_that_is_legal(extents, strides, cores, limit):
    """wrong: At first let the limit"""
    return search(extents, strides, cores, limit, lambda n, m: max(exact(n, s) for s in m), False)


def greedily_from_the_left(extents, strides, cores, limit):
    """wrong: At first let the limit"""
    found = []
    for extent in extents:
        parts = max(p for p in range(1, cores + 1) if extent % p == 0)
        found.append(parts)
        cores //= parts
    return tuple(found)


def powers_of_two(extents, strides, cores, limit):
    """wrong: At first let the limit"""
    found = []
    for extent in extents:
        found.append(gcd(extent, cores))
        cores //= found[-1]
    return tuple(found)


def limit_forgotten(extents, strides, cores, limit):
    """wrong: A core that has some columns"""
    return search(extents, strides, cores, limit, lambda n, m: 0)


def elements_for_bytes(extents, strides, cores, limit):
    """wrong: A core that has some columns"""
    return search(extents, strides, cores, limit, lambda n, m: max(exact(n, s) for s in m) // 2)


def size_for_reach(extents, strides, cores, limit):
    """wrong: A core that has some columns"""
    return search(extents, strides, cores, limit, lambda n, m: 2 * prod(n))


def first_operand_only(extents, strides, cores, limit):
    """wrong: There may be several operands"""
    return search(extents, strides, cores, limit, lambda n, m: exact(n, m[0]))


def all_operands_together(extents, strides, cores, limit):
    """wrong: There may be several operands"""
    return search(extents, strides, cores, limit, lambda n, m: sum(exact(n, s) for s in m))
