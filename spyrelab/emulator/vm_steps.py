"""Steps of the tile VM that take more than a line: folds, matrix products, exchanges."""

from __future__ import annotations

from spyrelab.emulator.native import machine_code
from spyrelab.emulator.opcodes import Column, Status
from spyrelab.emulator.tile_matmul import matmul_float, matmul_int
from spyrelab.emulator.tile_reduce import reduce_float, reduce_int

_DONE, _OVERFLOW = int(Status.DONE), int(Status.LX_OVERFLOW)
_SUB, _A, _ROUND = int(Column.SUB), int(Column.A), int(Column.ROUND)
LX_PEAK = 7
"""Counter column of the scratchpad peak."""


@machine_code()
def track_lx(d, pool, I, core_peak, limit, counters, error):
    """Scratchpad use at a point with tiles of dynamic size."""
    used = core_peak + pool[d]
    for i in range(pool[d + 1]):
        count, itemsize = I[pool[d + 2 + 2 * i]], pool[d + 3 + 2 * i]
        used += ((max(count, 0) * itemsize + 127) >> 7) << 7
    counters[LX_PEAK] = max(counters[LX_PEAK], used)
    error[3] = used
    error[4] = limit
    return _OVERFLOW if used > limit else _DONE


@machine_code()
def run_reduce(is_float, row, pool, F, I):
    d = row[_A]
    source, out, scratch = pool[d], pool[d + 1], pool[d + 2]
    outer, reduced, inner = I[pool[d + 3]], I[pool[d + 4]], I[pool[d + 5]]
    count, results = outer * reduced * inner, outer * inner
    if is_float:
        reduce_float(
            row[_SUB],
            row[_ROUND],
            F[source : source + count],
            outer,
            reduced,
            inner,
            F[scratch : scratch + 2 * reduced * inner],
            F[out : out + results],
        )
    else:
        reduce_int(
            row[_SUB],
            row[_ROUND],
            I[source : source + count],
            outer,
            reduced,
            inner,
            I[scratch : scratch + 2 * reduced * inner],
            I[out : out + results],
        )


@machine_code()
def run_matmul(is_float, exact, row, pool, F, I):
    d = row[_A]
    a, b, c, out, scratch = pool[d], pool[d + 1], pool[d + 2], pool[d + 3], pool[d + 4]
    m, n, k = I[pool[d + 6]], I[pool[d + 7]], I[pool[d + 8]]
    flip_a, flip_b = pool[d + 9], pool[d + 10]
    for _ in range(I[pool[d + 5]]):
        if is_float:
            matmul_float(
                exact,
                row[_ROUND],
                flip_a != 0,
                flip_b != 0,
                F[a : a + m * k],
                F[b : b + k * n],
                F[c : c + m * n],
                F[out : out + m * n],
                m,
                n,
                k,
                F[scratch : scratch + pool[d + 11]],
            )
        else:
            matmul_int(
                row[_ROUND],
                flip_a != 0,
                flip_b != 0,
                I[a : a + m * k],
                I[b : b + k * n],
                I[c : c + m * n],
                I[out : out + m * n],
                m,
                n,
                k,
            )
        a += m * k
        b += k * n
        c += m * n
        out += m * n


@machine_code()
def may_reclaim(table, cores, core, number, pool, published, collected):
    """Whether every taker has collected all that this core published."""
    start, count = pool[table + 4 * cores + core], pool[table + 5 * cores + core]
    for i in range(count):
        if collected[number, pool[start + i]] < published[number, core]:
            return False
    return True


@machine_code()
def may_collect(table, cores, core, number, pool, published, collected):
    """Whether every producer has published once more than this core has collected."""
    start, count = pool[table + cores + core], pool[table + 2 * cores + core]
    for i in range(count):
        if published[number, pool[start + i]] <= collected[number, core]:
            return False
    return True


@machine_code()
def may_take_turn(number, wanted, cores, published):
    """Whether exactly so many turns are done, over all cores."""
    done = 0
    for core in range(cores):
        done += published[number, core]
    return done == wanted


@machine_code()
def exchanges_of(published, collected, core):
    total = 0
    for number in range(published.shape[0]):
        total += published[number, core] + collected[number, core]
    return total
