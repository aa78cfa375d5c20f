"""Plausible wrong answers to ch01.2.  Docstrings: the status, and how the first hint begins."""

from spyrelab.ktir import F16, Builder

TASK = "ch01.2"


def build(n, alpha, share, tile, size=None, cores=32):
    b = Builder("axpy", grid=(cores,))
    x, y, out = (b.view(p, sizes=(size or n,), dtype=F16) for p in b.pointers("x", "y", "out"))
    first = b.compute_tile_id() * share
    scaled = b.load(x[first], shape=(tile,)) * alpha
    b.store(scaled + b.load(y[first], shape=(tile,)), out[first])
    return b.build()


def rounded_up(n):
    return -(-n // (64 * 32)) * 64


def drops_the_tail(n, alpha):
    """wrong: The tail: n is not always a multiple"""
    share = max(1, n // 32)
    return build(n, alpha, share, share)


def view_larger_than_the_array(n, alpha):
    """wrong: The tail: n is not always a multiple"""
    share = rounded_up(n)
    return build(n, alpha, share, share, size=share * 32)


def tile_off_by_one(n, alpha):
    """wrong: Core c works on elements c * share"""
    share = rounded_up(n)
    return build(n, alpha, share, share - 1)


def forgets_alpha(n, alpha):
    """wrong: Core c works on elements c * share"""
    return build(n, 1.0, rounded_up(n), rounded_up(n))


def hard_coded_size(n, alpha):
    """wrong: Core c works on elements c * share"""
    return build(4096, alpha, 128, 128)


def overlapping_tiles(n, alpha):
    """over budget: Count the loads"""
    share = rounded_up(n)
    return build(n, alpha, share, min(n, share + 64))


def loads_x_twice(n, alpha):
    """over budget: Count the loads"""
    share = rounded_up(n)
    b = Builder("axpy", grid=(32,))
    x, y, out = (b.view(p, sizes=(n,), dtype=F16) for p in b.pointers("x", "y", "out"))
    first = b.compute_tile_id() * share

    def load(view):
        return b.load(view[first], shape=(share,))

    b.store(load(x) * (alpha - 1) + load(x) + load(y), out[first])
    return b.build()


def splits_sticks(n, alpha):
    """over budget: A share has to be a whole number of sticks"""
    share = -(-n // 32)
    return build(n, alpha, share, share)


def one_core_does_it_all(n, alpha):
    """over budget: Is every core at work?"""
    return build(n, alpha, n, n, cores=1)


def tile_larger_than_a_short_view(n, alpha):
    """wrong: With fewer elements than a share"""
    return build(n, alpha, rounded_up(n), rounded_up(n))
