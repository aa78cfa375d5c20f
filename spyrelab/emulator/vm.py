"""The tile VM: one compiled interpreter for every lowered program."""

from __future__ import annotations

from spyrelab.emulator.native import machine_code
from spyrelab.emulator.opcodes import WIDTH, Column, Op, Place, Status
from spyrelab.emulator.vm_atomic import transfer_atomics
from spyrelab.emulator.vm_copy import copy_run, copy_strided, iota, take
from spyrelab.emulator.vm_elementwise import run_binary, run_other, run_ternary, run_unary
from spyrelab.emulator.vm_frame import Field, floats_at, integers_at, memory_at, table_at
from spyrelab.emulator.vm_steps import (
    LX_PEAK,
    exchanges_of,
    may_collect,
    may_reclaim,
    may_take_turn,
    run_matmul,
    run_reduce,
    track_lx,
)
from spyrelab.emulator.vm_transfer import transfer_box, transfer_runs
from spyrelab.emulator.vm_watch_walk import watch

_DONE, _SUSPENDED, _TOO_LARGE, _INDEX, _OVERFLOW, _STEP, _EXTENTS = map(
    int,
    (
        Status.DONE,
        Status.SUSPENDED,
        Status.TILE_TOO_LARGE,
        Status.INDEX_OUT_OF_RANGE,
        Status.LX_OVERFLOW,
        Status.BAD_STEP,
        Status.EXTENTS_DIFFER,
    ),
)
_FAILED, _PRINTS = int(Status.ASSERTION_FAILED), int(Status.PRINTS)
_SUB, _DST, _A, _B, _C = map(int, (Column.SUB, Column.DST, Column.A, Column.B, Column.C))
_SIZE, _OUTER, _MODE, _ROUND, _UNIT, _NEEDED = map(
    int,
    (Column.SIZE, Column.OUTER, Column.MODE, Column.ROUND, Column.UNIT, Column.NEEDED),
)
_CORE, _TILE_0, _TILE_1, _TILE_2, _LX_BASE, _DDR = map(
    int,
    (
        Place.CORE,
        Place.TILE_0,
        Place.TILE_1,
        Place.TILE_2,
        Place.LX_BASE,
        Place.DDR_BYTES,
    ),
)
_RING = 4


@machine_code()
def run_core(
    pc,
    core,
    cores,
    code,
    pool,
    memory,
    all_F,
    all_I,
    F,
    I,
    limits,
    exact,
    compute_all,
    core_peak,
    published,
    collected,
    seen_published,
    seen_collected,
    counters,
    error,
):
    """Run one core from ``pc`` until it ends, waits or fails; returns (status, pc).

    ``all_F`` and ``all_I`` are the arenas of all cores, for collecting from others; ``seen_*``
    are the publication counts that this core may rely on.
    """
    status = _DONE
    while True:
        row = code[pc]
        op = row[0]
        compute = compute_all or row[_NEEDED] != 0
        if row[_UNIT] >= 0:
            counters[row[_UNIT]] += I[row[_SIZE]] * I[row[_OUTER]]
        if op == Op.BINARY_FLOAT:
            if compute:
                run_binary(op, row, F, I)
        elif op == Op.UNARY_FLOAT or op == Op.UNARY_INT:
            if compute:
                run_unary(op, row, F, I)
        elif op == Op.BINARY_INT or op == Op.COMPARE_INT or op == Op.COMPARE_FLOAT:
            if compute:
                run_binary(op, row, F, I)
        elif op == Op.LOAD_BOX or op == Op.STORE_BOX:
            status = transfer_box(
                op == Op.STORE_BOX,
                compute,
                row[_A],
                pool,
                memory,
                F,
                I,
                core,
                limits,
                counters,
                error,
            )
            if status != _DONE:
                return status, pc
        elif op == Op.ADD:
            I[row[_DST]] = I[row[_A]] + I[row[_B]]
        elif op == Op.SUBTRACT:
            I[row[_DST]] = I[row[_A]] - I[row[_B]]
        elif op == Op.MULTIPLY:
            I[row[_DST]] = I[row[_A]] * I[row[_B]]
        elif op == Op.SET_INT:
            I[row[_DST]] = I[row[_A]]
        elif op == Op.FOR_ENTER:
            if I[row[_C]] <= 0:
                error[3] = I[row[_C]]
                return _STEP, pc
            if I[row[_A]] >= I[row[_B]]:
                pc = row[_DST]
                continue
        elif op == Op.FOR_NEXT:
            I[row[_A]] += I[row[_C]]
            if I[row[_A]] < I[row[_B]]:
                pc = row[_DST]
                continue
        elif op == Op.JUMP:
            pc = row[_DST]
            continue
        elif op == Op.BRANCH_FALSE:
            if I[row[_A]] == 0:
                pc = row[_DST]
                continue
        elif op == Op.HALT:
            return _DONE, pc
        elif op == Op.REDUCE_FLOAT or op == Op.REDUCE_INT:
            if compute:
                run_reduce(op == Op.REDUCE_FLOAT, row, pool, F, I)
        elif op == Op.MATMUL_FLOAT or op == Op.MATMUL_INT:
            if compute:
                run_matmul(op == Op.MATMUL_FLOAT, exact, row, pool, F, I)
        elif op == Op.GATHER or op == Op.SCATTER:
            status = transfer_runs(
                op == Op.SCATTER,
                compute,
                row[_A],
                pool,
                memory,
                F,
                I,
                core,
                limits,
                counters,
                error,
            )
            if status != _DONE:
                return status, pc
        elif op == Op.SELECT_FLOAT or op == Op.SELECT_INT or op == Op.TERNARY_FLOAT:
            if compute:
                run_ternary(op, row, F, I)
        elif op == Op.CONVERT or op == Op.POWER or op == Op.CLASSIFY or op == Op.TERNARY_INT:
            if compute:
                run_other(op, row, F, I)
        elif op == Op.FILL_FLOAT:
            if compute:
                d = row[_DST]
                F[d : d + I[row[_SIZE]]] = F[row[_A]]
        elif op == Op.FILL_INT:
            if compute:
                d = row[_DST]
                I[d : d + I[row[_SIZE]]] = I[row[_A]]
        elif op == Op.COPY_FLOAT:
            if compute:
                d, a, n = row[_DST], row[_A], I[row[_SIZE]]
                copy_run(F[a : a + n], F[d : d + n])
        elif op == Op.COPY_INT:
            if compute:
                d, a, n = row[_DST], row[_A], I[row[_SIZE]]
                copy_run(I[a : a + n], I[d : d + n])
        elif op == Op.STRIDED_FLOAT:
            if compute:
                copy_strided(row[_A], pool, F, I)
        elif op == Op.STRIDED_INT:
            if compute:
                copy_strided(row[_A], pool, I, I)
        elif op == Op.TAKE_FLOAT:
            if compute and not take(
                F, row[_A], I[row[_C]], I, row[_B], row[_DST], I[row[_SIZE]], error
            ):
                return _INDEX, pc
        elif op == Op.TAKE_INT:
            if compute and not take(
                I, row[_A], I[row[_C]], I, row[_B], row[_DST], I[row[_SIZE]], error
            ):
                return _INDEX, pc
        elif op == Op.IOTA:
            if compute:
                iota(I, row[_DST], I[row[_SIZE]], I[row[_A]], I[row[_B]], I[row[_C]])
        elif op == Op.COUNT:
            pass
        elif op == Op.CHECK_SIZE:
            error[3] = I[row[_A]]
            error[4] = I[row[_B]]
            if error[3] > error[4] or error[3] < 0:
                return _TOO_LARGE, pc
        elif op == Op.CHECK_RANGE:
            error[4] = I[row[_B]]
            if compute and I[row[_SIZE]] > 0:
                for i in range(I[row[_OUTER]]):
                    error[3] = I[row[_A] + i]
                    if error[3] < 0 or error[3] >= error[4]:
                        return _INDEX, pc
        elif op == Op.CHECK_EQUAL:
            error[3] = I[row[_A]]
            error[4] = I[row[_B]]
            if error[3] != error[4]:
                return _EXTENTS, pc
        elif op == Op.TRACK_LX:
            status = track_lx(row[_A], pool, I, core_peak, limits[1], counters, error)
            if status != _DONE:
                return status, pc
        elif op == Op.PRODUCE:
            group = pool[row[_B] + core]
            if group < 0:
                pc = row[_C]
                continue
            I[row[_DST]] = group
        elif op == Op.RECLAIM:
            if not may_reclaim(row[_B], cores, core, row[_A], pool, published, seen_collected):
                return _SUSPENDED, pc
        elif op == Op.PUBLISH or op == Op.TURN_DONE:
            published[row[_A], core] += 1
        elif op == Op.COLLECT:
            table = row[_B]
            if pool[table + 2 * cores + core] < 0:
                pc = row[_C]
                continue
            if not may_collect(table, cores, core, row[_A], pool, seen_published, collected):
                return _SUSPENDED, pc
            I[row[_DST]] = pool[table + 2 * cores + core]
            I[row[_SIZE]] = pool[table + 3 * cores + core]
        elif op == Op.FETCH:
            sender = pool[pool[row[_A] + cores + core] + I[row[_B]]]
            if sender != core:
                counters[_RING] += I[row[_OUTER]] * row[_ROUND]
            if compute:
                d, a, n = row[_DST], row[_C], I[row[_SIZE]]
                if row[_MODE] == 0:
                    copy_run(all_F[sender, a : a + n], F[d : d + n])
                else:
                    copy_run(all_I[sender, a : a + n], I[d : d + n])
        elif op == Op.DONE:
            collected[row[_A], core] += 1
        elif op == Op.ATOMIC:
            status = transfer_atomics(
                compute_all,
                compute,
                row[_A],
                pool,
                memory,
                F,
                I,
                core,
                limits,
                counters,
                error,
            )
            if status != _DONE:
                return status, pc
        elif op == Op.TURN:
            if not may_take_turn(row[_A], I[row[_B]], cores, seen_published):
                return _SUSPENDED, pc
        elif op == Op.PRINT:
            if compute:
                return _PRINTS, pc
        elif op == Op.CHECK_TRUE:
            if compute:
                for i in range(I[row[_SIZE]]):
                    if I[row[_A] + i] == 0:
                        return _FAILED, pc
        elif op == Op.WATCH:
            watch(row[_SUB], row[_A], row[_B], core, limits[2], pool, F, I, error)
            if error[0] != _DONE:
                return error[0], pc
        pc += 1


@machine_code()
def _begin(core, f, F, I, integers, floats):
    """A core's constants, scalars and coordinates."""
    copy_run(integers, I[: integers.size])
    copy_run(floats, F[: floats.size])
    I[_CORE] = core
    I[_TILE_0] = core % f[Field.GRID_0]
    I[_TILE_1] = core // f[Field.GRID_0] % f[Field.GRID_1]
    I[_TILE_2] = core // (f[Field.GRID_0] * f[Field.GRID_1])
    I[_DDR] = f[Field.DDR_BYTES]
    I[_LX_BASE] = f[Field.DDR_BYTES] + core * f[Field.LX_BYTES]


@machine_code(makes_arrays=True)
def run_cores(first, stride, f):
    """Run cores ``first, first + stride, ...`` of a frame as far as they go.

    Program counters are -1 before the first step, -2 after the end.  Returns the number of
    cores that moved, or ``-1 - core`` for the first core that failed.
    """
    cores, arenas, exchanges = f[Field.CORES], f[Field.ARENAS], f[Field.EXCHANGES]
    code = table_at(f[Field.CODE_AT], f[Field.ROWS], WIDTH)
    pool = integers_at(f[Field.POOL_AT], f[Field.POOL_SIZE])
    integers = integers_at(f[Field.INTEGERS_AT], f[Field.INTEGERS_SIZE])
    floats = floats_at(f[Field.FLOATS_AT], 1, f[Field.FLOATS_SIZE])[0]
    memory = memory_at(f[Field.MEMORY_AT], f[Field.MEMORY_SIZE])
    all_F = floats_at(f[Field.F_AT], arenas, f[Field.F_SIZE])
    all_I = table_at(f[Field.I_AT], arenas, f[Field.I_SIZE])
    limits = (f[Field.DDR_BYTES], f[Field.LX_BYTES], f[Field.WATCH_AT])
    peaks, pcs = integers_at(f[Field.PEAKS_AT], cores), integers_at(f[Field.PCS_AT], cores)
    published = table_at(f[Field.PUBLISHED_AT], exchanges, cores)
    collected = table_at(f[Field.COLLECTED_AT], exchanges, cores)
    seen_published = table_at(f[Field.SEEN_PUBLISHED_AT], exchanges, cores)
    seen_collected = table_at(f[Field.SEEN_COLLECTED_AT], exchanges, cores)
    counters = table_at(f[Field.COUNTERS_AT], cores, f[Field.COUNTER_COLUMNS])
    errors = table_at(f[Field.ERRORS_AT], cores, 8)
    exact, compute = f[Field.EXACT] != 0, f[Field.COMPUTE] != 0
    moved = 0
    for core in range(first, cores, stride):
        pc = pcs[core]
        if pc == -2:
            continue
        F, I = all_F[core % arenas], all_I[core % arenas]
        if pc == -1:
            pc = 0
            _begin(core, f, F, I, integers, floats)
            counters[core, LX_PEAK] = peaks[core]
            moved += 1
        before = exchanges_of(published, collected, core)
        status, stop = run_core(
            pc,
            core,
            cores,
            code,
            pool,
            memory,
            all_F,
            all_I,
            F,
            I,
            limits,
            exact,
            compute,
            peaks[core],
            published,
            collected,
            seen_published,
            seen_collected,
            counters[core],
            errors[core],
        )
        if exchanges_of(published, collected, core) != before:
            moved += 1
        pcs[core] = stop
        if status == _DONE:
            pcs[core] = -2
            moved += 1
        elif status == _PRINTS:
            errors[core, 0] = status
            moved += 1
        elif status != _SUSPENDED:
            errors[core, 0] = status
            return -1 - core
    return moved
