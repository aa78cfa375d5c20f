"""A program with a WATCH instruction before every transfer and round every exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spyrelab.emulator.addresses import view_arguments
from spyrelab.emulator.opcodes import WIDTH, BoxMode, Column, Op
from spyrelab.emulator.vm_runs import element_size
from spyrelab.emulator.vm_watch import Step

if TYPE_CHECKING:
    from spyrelab.emulator.program import Program
    from spyrelab.ktir import Operation

_BEFORE = {
    Op.LOAD_BOX: Step.LOAD_BOX,
    Op.STORE_BOX: Step.STORE_BOX,
    Op.GATHER: Step.GATHER,
    Op.SCATTER: Step.SCATTER,
    Op.ATOMIC: Step.ATOMIC,
    Op.PUBLISH: Step.PUBLISH,
}
_TARGET = {
    Op.JUMP: Column.DST,
    Op.BRANCH_FALSE: Column.DST,
    Op.FOR_ENTER: Column.DST,
    Op.FOR_NEXT: Column.DST,
    Op.PRODUCE: Column.C,
    Op.COLLECT: Column.C,
}
"""Where an instruction keeps the row that it may jump to."""


@dataclass(frozen=True)
class Transfer:
    """One transfer instruction.

    Attributes
    ----------
    operation : Operation
        What it was lowered from.
    stores : bool
    space : int
        As in `spyrelab.emulator.lowering.values.View`.
    arguments : frozenset of str or None
        Pointers whose allocations it may touch; None: any live one.
    indices : tuple of int
        Places of coordinates that were loaded; see `spyrelab.emulator.lowering.runs.Indices`.
    """

    operation: Operation
    stores: bool
    space: int
    arguments: frozenset[str] | None
    indices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Watched:
    """What the VM runs in place of a program's own code.

    Attributes
    ----------
    code : int64 array [rows, WIDTH]
    rows : int64 array [rows]
        For every row the row of the program that it stands for.
    transfers : tuple of Transfer
        One per site.
    shift : int
        Binary logarithm of the smallest element that is moved.
    """

    code: np.ndarray
    rows: np.ndarray
    transfers: tuple[Transfer, ...]
    shift: int


def instrument(program: Program, poison: bool = False) -> Watched:
    """Insert the sanitizer's instructions; ``poison`` fills masked elements of float loads."""
    pool = program.pool
    rows: list[tuple[int, list[int]]] = []
    starts: list[int] = []
    transfers: list[Transfer] = []
    named = view_arguments(program.function)
    for number, row in enumerate(program.code.tolist()):
        op = Op(row[Column.OP])
        starts.append(len(rows))
        if op in _BEFORE:
            site = 0
            if op != Op.PUBLISH:
                site = len(transfers)
                transfers.append(_transfer(program, named, number, op))
            if poison and op == Op.LOAD_BOX and _is_poisonous(program, number):
                rows += _poison_first(number, row, pool)
            rows.append((number, _watch(_BEFORE[op], row[Column.A], site)))
        rows.append((number, row))
        if op == Op.COLLECT:
            rows.append((number, _watch(Step.COLLECT, row[Column.A], row[Column.B])))
        if poison and op in (Op.LOAD_BOX, Op.GATHER) and _is_poisonous(program, number):
            rows += _poison_after(number, row, pool)
    for _, row in rows:
        column = _TARGET.get(Op(row[Column.OP]))
        if column is not None:
            row[column] = starts[row[column]]
    sizes = [_element_size(program, number) for number in program.transfers]
    return Watched(
        np.array([row for _, row in rows], np.int64).reshape(-1, WIDTH),
        np.array([number for number, _ in rows], np.int64),
        tuple(transfers),
        min(sizes, default=1).bit_length() - 1,
    )


def _watch(step: Step, a: int, b: int) -> list[int]:
    row = [0] * WIDTH
    row[Column.OP], row[Column.SUB], row[Column.A], row[Column.B] = int(Op.WATCH), int(step), a, b
    row[Column.UNIT], row[Column.NEEDED] = -1, 1
    return row


def _transfer(
    program: Program, named: dict[Operation, frozenset[str] | None], number: int, op: Op
) -> Transfer:
    note = program.transfers[number]
    found: frozenset[str] | None = frozenset()
    for origin in note.origins:
        names = named.get(origin) if origin is not None else None
        found = None if found is None or names is None else found | names
    descriptor = int(program.code[number, Column.A])
    space = int(program.pool[descriptor + (4 if op in (Op.LOAD_BOX, Op.STORE_BOX) else 8)])
    operation = program.operations[program.source_of(number)]
    stores = op in (Op.STORE_BOX, Op.SCATTER, Op.ATOMIC)
    return Transfer(operation, stores, space, found, note.indices)


def _element(program: Program, number: int) -> int:
    op, descriptor = program.code[number, Column.OP], program.code[number, Column.A]
    return int(program.pool[descriptor + int(op in (Op.LOAD_BOX, Op.STORE_BOX))])


def _element_size(program: Program, number: int) -> int:
    return int(element_size.py_func(_element(program, number)))


def _is_poisonous(program: Program, number: int) -> bool:
    """Whether a load's masked elements may be anything: floats, of which no address is made."""
    return _element(program, number) <= 5 and not program.code[number, Column.NEEDED]


def _poison_first(number: int, row: list[int], pool: np.ndarray) -> list[tuple[int, list[int]]]:
    """Of several boxes that make up a tile, the first one fills it."""
    if pool[row[Column.A] + 5] != BoxMode.FIRST:
        return []
    return [(number, _watch(Step.POISON_TILE, row[Column.A], 0))]


def _poison_after(number: int, row: list[int], pool: np.ndarray) -> list[tuple[int, list[int]]]:
    if row[Column.OP] == Op.GATHER:
        return [(number, _watch(Step.POISON_RUNS, row[Column.A], 0))]
    if pool[row[Column.A] + 5] != BoxMode.ALONE:
        return []
    return [(number, _watch(Step.POISON_BOX, row[Column.A], 0))]
