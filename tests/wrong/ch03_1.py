"""Plausible wrong answers to ch03.1.  Docstrings: the status, and how the first hint begins."""

TASK = "ch03.1"


def linear_index(offset, stride, index):
    return offset + sum(i * step for i, step in zip(index, stride, strict=True))


def rows_without_padding(allocations, pointer, offset, stride, index):
    """wrong: A row of up to 64 elements has one stick"""
    return allocations[pointer - 2 * offset].address + 2 * linear_index(offset, stride, index)


def elements_for_bytes(allocations, pointer, offset, stride, index):
    """wrong: A row of up to 64 elements has one stick"""
    found = allocations[pointer - 2 * offset]
    row, column = divmod(linear_index(offset, stride, index), found.columns)
    tile, lane = divmod(column, 64)
    return found.address + (tile * found.rows + row) * 64 + lane


def sticks_of_a_row_together(allocations, pointer, offset, stride, index):
    """wrong: Which sticks come first"""
    found = allocations[pointer - 2 * offset]
    row, column = divmod(linear_index(offset, stride, index), found.columns)
    return found.address + 2 * (row * -(-found.columns // 64) * 64 + column)


def pointer_is_the_base(allocations, pointer, offset, stride, index):
    """crashed: A view shares the allocation"""
    found = allocations[pointer]
    row, column = divmod(linear_index(offset, stride, index), found.columns)
    tile, lane = divmod(column, 64)
    return found.address + 2 * ((tile * found.rows + row) * 64 + lane)


def index_of_the_view_is_row_and_column(allocations, pointer, offset, stride, index):
    """wrong: A view shares the allocation"""
    found = allocations[pointer - 2 * offset]
    row, column = index
    tile, lane = divmod(column, 64)
    return found.address + 2 * ((tile * found.rows + row) * 64 + lane)


def offset_forgotten(allocations, pointer, offset, stride, index):
    """wrong: A view shares the allocation"""
    found = allocations[pointer - 2 * offset]
    row, column = divmod(linear_index(0, stride, index), found.columns)
    tile, lane = divmod(column, 64)
    return found.address + 2 * ((tile * found.rows + row) * 64 + lane)
