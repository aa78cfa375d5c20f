"""Which arguments are addresses."""

from __future__ import annotations

import time

import pytest

from spyrelab.emulator.addresses import pointer_itemsizes
from spyrelab.emulator.errors import LoweringError
from spyrelab.ktir import parse

VIEW = (
    "%v{n} = ktdp.construct_memory_view {at}, sizes: [4], strides: [1] {{coordinate_set = "
    "affine_set<(i) : (i >= 0, -i + 3 >= 0)>, memory_space = #ktdp.memory_space<global>}}"
    " : memref<4x{element}>\n"
)


def sizes(*lines: str, arguments: str = "%p: index, %q: index, %n: index") -> dict[str, int]:
    constants = "%c0 = arith.constant 0 : index\n%c4 = arith.constant 4 : index\n"
    text = f"func.func @f({arguments}) {{\n{constants}{''.join(lines)}return\n}}\n"
    return pointer_itemsizes(parse(text).function())


def view(at: str, element: str = "f16", n: int = 0) -> str:
    return VIEW.format(at=at, element=element, n=n)


def test_direct_use() -> None:
    assert sizes(view("%p"), view("%q", "i64", 1)) == {"p": 2, "q": 8}


def test_offsets_are_no_addresses() -> None:
    scaled = "%o = arith.muli %n, %c4 : index\n%a = arith.addi %p, %o : index\n"
    assert sizes(scaled, view("%a", "f32")) == {"p": 4}
    swapped = "%o = arith.muli %n, %c4 : index\n%a = arith.addi %o, %p : index\n"
    assert sizes(swapped, view("%a", "f32")) == {"p": 4}


def test_of_two_summands_the_known_pointer_counts() -> None:
    total = "%a = arith.addi %n, %p : index\n"
    assert sizes(total, view("%a"), view("%p", "f16", 1)) == {"p": 2}
    assert sizes(total, view("%a")) == {"n": 2}


def test_casts_selections_and_branches_pass_addresses_on() -> None:
    text = (
        "%i = arith.index_cast %p : index to i64\n%j = arith.index_cast %i : i64 to index\n"
        "%t = arith.cmpi eq, %n, %c0 : index\n%s = arith.select %t, %j, %q : index\n"
        "%r = scf.if %t -> (index) {\n  %a = arith.addi %s, %c4 : index\n  scf.yield %a : index\n"
        "} else {\n  scf.yield %s : index\n}\n"
    )
    assert sizes(text, view("%r", "i8")) == {"p": 1, "q": 1}


def test_loops_pass_addresses_on() -> None:
    text = (
        "%r = scf.for %i = %c0 to %n step %c4 iter_args(%at = %p) -> (index) {\n"
        + view("%at", "f32")
        + "  %next = arith.addi %at, %c4 : index\n  scf.yield %next : index\n}\n"
    )
    assert sizes(text, view("%r", "f32", 1)) == {"p": 4}


def test_a_pointer_from_a_branch_is_known_before_its_sum() -> None:
    text = (
        "%t = arith.cmpi eq, %n, %c0 : index\n"
        "%r = scf.if %t -> (index) {\n  %x = arith.addi %p, %c4 : index\n  scf.yield %x : index\n"
        "} else {\n  scf.yield %p : index\n}\n%a = arith.addi %r, %n : index\n"
    )
    assert sizes(text, view("%a")) == {"p": 2}


def test_long_functions_take_no_longer_than_their_length() -> None:
    step = "%x{0} = arith.addi %x{1}, %c4 : index\n"
    text = "%x0 = arith.addi %p, %c4 : index\n"
    text += "".join(step.format(i, i - 1) for i in range(1, 5000))
    start = time.process_time()
    assert sizes(text, view("%x4999")) == {"p": 2}
    assert time.process_time() - start < 5  # 0.3 s; a quadratic walk takes a minute


def test_two_element_sizes_are_an_error() -> None:
    with pytest.raises(LoweringError, match=r"argument %p .* of 2 and of 4 bytes"):
        sizes(view("%p"), view("%p", "f32", 1))
