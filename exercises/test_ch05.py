"""Graded tests of chapter 5: boxes, spans, addresses and lives.  Values follow from the answers."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import ceil, prod
from typing import Any

from spyrelab.grade import WrongError, expect_equal, task

STICK = 128

core_box = partial(task, "ch05.1", "core_box")
choose_parts = partial(task, "ch05.2", "choose_parts")
first_fit = partial(task, "ch05.3", "first_fit")
lives = partial(task, "ch05.4", "lives")


# ---- 1: what belongs to a core ----------------------------------------------------------------


def expect_boxes(impl: Any, space: dict[str, tuple[int, int]], idle: int = 0) -> None:
    ranges = []
    for extent, parts in space.values():
        size = ceil(extent / parts)
        ranges.append([(at, min(at + size, extent)) for at in range(0, extent, size)])
    wanted: list[Any] = [dict(zip(space, box, strict=True)) for box in product(*ranges)]
    for core, box in enumerate(wanted + [None] * idle):
        found = impl.core_box(dict(space), core)
        expect_equal(found, box, f"core_box({space}, {core})")


@core_box(
    hints=[
        "Write the cores of {'M': (4, 2), 'N': (6, 3)} into a table of 2 x 3: core 0 and 1 are "
        "neighbours along N.",
        "divmod(core, parts) of the last symbol gives the rest for the others, and the part.",
    ]
)
def test_boxes_of_equal_parts(impl: Any) -> None:
    """Parts that divide their range."""
    expect_boxes(impl, {"M": (512, 4), "N": (1024, 8)})
    expect_boxes(impl, {"B": (6, 2), "M": (96, 3), "N": (64, 1), "K": (128, 4)})


@core_box(
    hints=[
        "The last part may have fewer indices than the others, and some cores may have nothing.",
        "A part has ceil(extent / parts) indices and ends at extent at the latest; there are as "
        "many boxes as the product of all parts.",
    ]
)
def test_boxes_of_unequal_parts(impl: Any, rng: Any) -> None:
    """Ranges that the parts do not divide, and more cores than boxes."""
    expect_boxes(impl, {"d0": (100, 7), "d1": (50, 4)}, idle=4)
    size, parts = int(rng.integers(5, 40)), int(rng.integers(2, 6))
    expect_boxes(impl, {"d0": (size * parts - 3, parts), "d1": (9, 5)}, idle=2)


# ---- 2: within the reach of a core ------------------------------------------------------------


def reach(extents: Any, parts: Any, strides: Any) -> int:
    """Most bytes from the first to the last element of an operand."""
    steps = [n // p - 1 for n, p in zip(extents, parts, strict=True)]
    return max(2 + 2 * sum(n * s for n, s in zip(steps, moves, strict=True)) for moves in strides)


def expect_parts(impl: Any, extents: Any, strides: Any, cores: int, limit: int) -> None:
    divisors = [[p for p in range(1, min(n, cores) + 1) if n % p == 0] for n in extents]
    legal = [
        p for p in product(*divisors) if prod(p) <= cores and reach(extents, p, strides) <= limit
    ]
    what = f"choose_parts({extents}, {strides}, {cores}, {limit})"
    found = impl.choose_parts(extents, [tuple(s) for s in strides], cores, limit)
    if not legal or found is None:
        expect_equal(found, None if not legal else max(legal, key=prod), what)
        return
    expect_equal(type(found).__name__, "tuple", f"{what}: type of the answer")
    expect_equal(len(found), len(extents), f"{what}: number of parts")
    for extent, parts in zip(extents, found, strict=True):
        if parts < 1 or extent % parts:
            raise WrongError(f"{what}: {parts} parts do not divide {extent}")
    used = prod(found)
    if used > cores:
        raise WrongError(f"{what}: {found} needs {used} cores")
    far = reach(extents, found, strides)
    if far > limit:
        raise WrongError(f"{what}: with {found} a core reaches over {far:,} bytes")
    expect_equal(used, max(map(prod, legal)), f"{what}: cores at work")


@choose_parts(
    hints=[
        "At first let the limit be far away: which divisors give most cores?",
        "With 12 and 9 indices and 32 cores, (4, 9) is too much, and (12, 1) less than (3, 9). Try "
        "all combinations.",
    ]
)
def test_parts_without_a_limit(impl: Any) -> None:
    """Limits that nobody meets."""
    for extents in ((12, 9), (512, 1024), (7, 11), (30,), (6, 10, 15)):
        strides = [tuple(prod(extents[s + 1 :]) for s in range(len(extents)))]
        expect_parts(impl, extents, strides, 32, 1 << 40)


@choose_parts(
    hints=[
        "A core that has some columns of every row reaches from its first row to its last one.",
        "Reach of an operand: 2 bytes times 1 + sum((extent / parts - 1) * stride). It does not "
        "help to cut a symbol of small stride.",
    ]
)
def test_parts_within_a_limit(impl: Any, rng: Any) -> None:
    """Operands that lie in one piece."""
    for rows, cols, share in ((4096, 64, 8), (96, 1024, 3), (64, 4096, 32)):
        expect_parts(impl, (rows, cols), [(cols, 1)], 32, rows * cols * 2 // share)
        expect_parts(impl, (cols, rows), [(1, cols)], 32, rows * cols * 2 // share)
    expect_parts(impl, (8, 8, 8), [(64, 8, 1)], 24, 100 + int(rng.integers(0, 20)))


@choose_parts(
    hints=[
        "There may be several operands, and a symbol along which one of them does not move.",
        "Every operand has to be within the limit; if no choice is legal, say None. Cutting K "
        "does nothing for the reach of a result [M, N].",
    ]
)
def test_parts_of_a_product(impl: Any) -> None:
    """Three operands, and limits that cannot be met."""
    m, n, k = 256, 512, 128
    strides = [(k, 0, 1), (0, 1, n), (n, 1, 0)]
    for limit in (1 << 30, m * n * 2 // 4, m * n * 2 // 32, k * n * 2 // 4, 4096, 64):
        expect_parts(impl, (m, n, k), strides, 32, limit)


# ---- 3: first-fit -----------------------------------------------------------------------------


def placed(buffers: Any, capacity: int) -> list[int | None]:
    """What first-fit says, by trying every stick."""
    found: list[int | None] = []
    for size, first, last in buffers:
        taken = {
            stick
            for (other, born, dies), at in zip(buffers, found, strict=False)
            if at is not None and born <= last and first <= dies
            for stick in range(at // STICK, at // STICK + ceil(other / STICK))
        }
        needed = ceil(size / STICK)
        places = range(capacity // STICK - needed + 1)
        free = (at for at in places if not taken.intersection(range(at, at + needed)))
        stick = next(free, None)
        found.append(None if stick is None else stick * STICK)
    return found


def expect_addresses(impl: Any, buffers: Any, capacity: int) -> None:
    found = impl.first_fit(list(buffers), capacity)
    expect_equal(type(found).__name__, "list", "type of the answer")
    expect_equal(len(found), len(buffers), "length of the answer")
    for number, (own, wanted) in enumerate(zip(found, placed(buffers, capacity), strict=True)):
        what = f"first_fit({buffers[: number + 1]}, {capacity}): address of the last"
        expect_equal(own, wanted, what)


def some(rng: Any, count: int, most: int, steps: int = 12) -> list[tuple[int, int, int]]:
    made = []
    for _ in range(count):
        first = int(rng.integers(0, steps))
        made.append((STICK * int(rng.integers(1, most)), first, first + int(rng.integers(0, 5))))
    return made


@first_fit(
    hints=[
        "Two buffers are in each other's way if some step finds both alive; the first and the last "
        "step count.",
        "They meet if one is born when the other is not yet dead: first <= other's last, and "
        "other's first <= last. With nobody in the way the address is 0.",
    ]
)
def test_addresses_of_two(impl: Any) -> None:
    """Buffers that are alive together, and buffers that are not."""
    expect_addresses(impl, [(256, 0, 2), (128, 1, 3)], 4096)
    expect_addresses(impl, [(256, 0, 2), (128, 2, 3)], 4096)
    expect_addresses(impl, [(256, 3, 5), (128, 0, 2)], 4096)
    expect_addresses(impl, [(256, 0, 9), (128, 4, 4), (128, 5, 6)], 4096)


@first_fit(
    hints=[
        "A buffer may fit into a hole below others. A hole that is too small is no hole.",
        "Go through those that are in the way from the lowest address up. A long buffer may end "
        "above a later one that began higher: the next free address is the largest end so far.",
    ]
)
def test_addresses_with_holes(impl: Any, rng: Any) -> None:
    """Holes of all sizes."""
    expect_addresses(impl, [(128, 0, 1), (256, 0, 9), (128, 2, 9), (256, 3, 4)], 1 << 20)
    expect_addresses(impl, [(256, 0, 1), (128, 0, 9), (384, 2, 9), (256, 2, 2)], 1 << 20)
    for _ in range(8):
        expect_addresses(impl, some(rng, 30, 9), 1 << 20)


@first_fit(
    hints=[
        "The scratchpad ends somewhere, and is given out in whole sticks.",
        "A buffer of 200 bytes takes 256. What would end above the capacity gets None, and those "
        "who come later may have its place.",
    ]
)
def test_addresses_in_little_room(impl: Any, rng: Any) -> None:
    """Buffers that do not fit, and odd sizes."""
    expect_addresses(impl, [(200, 0, 1), (100, 0, 1), (512, 0, 1), (128, 1, 1)], 512)
    for _ in range(6):
        odd = [(size - int(rng.integers(0, 100)), *life) for size, *life in some(rng, 24, 9)]
        expect_addresses(impl, odd, 12 * STICK)


# ---- 4: lives ---------------------------------------------------------------------------------


def expect_lives(
    impl: Any, given: Any, text: str, wanted: list[str], loop: Any, answer: dict[str, Any]
) -> None:
    """``text``: one step after another, ``a b > c`` reads a and b and writes c."""
    steps = []
    for part in text.split(", "):
        reads, writes = part.split(">")
        steps.append(given.Step(tuple(reads.split()), tuple(writes.split())))
    found = impl.lives(list(steps), list(wanted), loop)
    what = f"lives of the steps '{text}' (reads > writes), wanted {wanted}, loop {loop}"
    expect_equal(type(found).__name__, "dict", f"{what}: type of the answer")
    expect_equal(sorted(found), sorted(answer), f"{what}: tensors")
    for name, life in answer.items():
        expect_equal(found[name], life, f"{what}: {name}")


@lives(
    hints=[
        "Without a loop given_ch05.lives is right: follow it on paper.",
        "A tensor is born where it is written. It dies where it is read for the last time; if "
        "nobody reads it, at once; if it is wanted, at the last step. Inputs have no life here.",
    ]
)
def test_lives_in_a_row(impl: Any, given: Any) -> None:
    """Steps without a loop."""
    answer = {"a": (0, 2), "b": (1, 3), "c": (2, 2), "d": (3, 4)}
    expect_lives(impl, given, "x > a, a > b, a > c, b > d, x d d > ", [], None, answer)
    answer = {"a": (0, 3), "b": (1, 2), "c": (2, 3)}
    expect_lives(impl, given, "x > a, a > b, b > c, c > ", ["a"], None, answer)


@lives(
    hints=[
        "w is fetched before the loop and read in its first step. Who may have its place in the "
        "second step, and what does the second turn read then?",
        "What is written before the loop and read inside has to live until the last step of the "
        "loop.",
    ]
)
def test_lives_from_before_a_loop(impl: Any, given: Any) -> None:
    """A tensor that every turn reads again."""
    answer = {"w": (0, 4), "a": (1, 2), "b": (2, 3), "c": (3, 4), "d": (4, 4)}
    expect_lives(impl, given, "> w, w > a, a > b, b > c, c > d", [], (1, 4), answer)
    answer = {"w": (0, 3), "v": (1, 3), "a": (2, 2), "b": (3, 4)}
    expect_lives(impl, given, "> w, > v, w > a, v > b, b > ", [], (2, 3), answer)


@lives(
    hints=[
        "Not everything has to live as long as the loop does.",
        "What a turn writes for itself is written again by the next turn. What is read before the "
        "loop or behind it only is not the loop's business, and a longer life is no answer.",
    ]
)
def test_lives_around_a_loop(impl: Any, given: Any) -> None:
    """Tensors that a loop does not need again."""
    answer = {"u": (0, 1), "w": (1, 3), "a": (2, 3), "b": (3, 4), "c": (4, 5)}
    text = "> u, u > w, w > a, a > b, b > c, c > "
    expect_lives(impl, given, text, [], (2, 3), answer)
    answer = {"w": (0, 5), "a": (1, 2), "b": (2, 5), "c": (3, 5)}
    expect_lives(impl, given, "> w, w > a, a > b, > c, c w > , b w > ", ["c"], (1, 2), answer)
