"""Broken text of any kind gives a KtirError with a line, and quickly."""

from __future__ import annotations

import random
import string
import time
from pathlib import Path

import pytest

from spyrelab.ktir import KtirError, dumps, parse
from spyrelab.ktir.lexer import MAX_DEPTH
from tests.ktir.programs import ARGUMENTS, SAMPLES, frame

TEN_MEGABYTES = 10_000_000
FUNCTION = f"module {{\nfunc.func @f({ARGUMENTS}) {{\n"
NOISE = "".join(random.Random(1).choices(string.printable, k=1000))

HUGE = {
    "parentheses": ("", "("),
    "spaces": ("", " "),
    "lines": ("", "\n"),
    "zeros": ("", "\0"),
    "noise": ("", NOISE),
    "noise_inside": (FUNCTION, NOISE),
    "letters": ("", "a"),
    "digits": (FUNCTION + "%x = arith.constant ", "9"),
    "string": ('"', "a"),
    "comment": ("//", "a"),
    "signs": ("#m = affine_map<(a) -> (", "- "),
    "map": ("#m = affine_map<", "("),
    "surrogates": ("", "\ud800"),
}
"""Beginning and endless rest of a text."""

NESTED = {
    "regions": FUNCTION + "scf.if %c {\n" * 20_000,
    "expressions": "#m = affine_map<(a) -> (" + "(" * 20_000,
    "sums": "#m = affine_map<(a) -> (a" + " + a" * 20_000 + ")>",
    "futures": "func.func @f(%a: " + "!ktdp.tile_future<(" * 20_000,
    "elided": "func.func @f(%a: " + "<(" * 20_000,
    "lists": "module attributes {a = " + "[" * 20_000,
    "dictionaries": "module attributes {a = " + "{a = " * 20_000,
    "enums": "module attributes {a = #x.y" + "<" * 20_000,
    "locations": "#l = loc(" + "fused[" * 20_000,
    "dense": FUNCTION + "%x = arith.constant dense<" + "[" * 20_000,
    "generic": FUNCTION + '"tensor.generate"() ({' * 20_000,
    "modules": "module {" * 20_000,
}


def refuse(text: str) -> KtirError:
    with pytest.raises(KtirError) as caught:
        parse(text)
    error = caught.value
    assert error.line is not None
    assert error.column is not None
    assert len(str(error)) < 1000
    return error


@pytest.mark.parametrize("name", HUGE)
def test_ten_megabytes(name: str) -> None:
    beginning, rest = HUGE[name]
    text = beginning + rest * (TEN_MEGABYTES // len(rest))
    start = time.process_time()
    refuse(text)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting(name: str) -> None:
    refuse(NESTED[name])


def test_what_may_nest_does() -> None:
    depth = MAX_DEPTH - 2
    module = parse(frame("scf.if %c {\n" * depth + "}\n" * depth))
    module.verify()
    assert parse(dumps(module)) == module
    inner = "(" * 90 + "%i" + ")" * 90
    body = "%w = ktdp.construct_memory_view %i, sizes: [64], strides: [1] : memref<64xf16>\n"
    body += f"%a = ktdp.construct_access_tile %w[{inner}] : memref<64xf16> -> <4xindex>"
    parse(frame(body)).verify()


def has_place(error: KtirError) -> bool:
    return error.line is not None and error.column is not None


def survives(text: str) -> bool:
    """Whether text parses; anything but a module or a KtirError with a place escapes."""
    try:
        module = parse(text)
    except KtirError as error:
        if not has_place(error):
            raise
        return False
    try:
        module.verify()
    except KtirError as error:
        if not has_place(error):
            raise
        return True
    assert parse(dumps(module)) == module
    return True


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_truncation(path: Path) -> None:
    text = path.read_text()
    end = len(text.rstrip())
    places = range(0, end - 1, max(1, end // 60))
    parsed = sum(survives(text[:place]) for place in places)
    # A text cut inside the location aliases or after the module may still be whole.
    assert parsed <= 2


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_changed_characters(path: Path) -> None:
    text = path.read_text()
    source = random.Random(path.stem)
    for _ in range(60):
        place = source.randrange(len(text))
        survives(text[:place] + chr(source.randrange(256)) + text[place + 1 :])
        length = source.randrange(1, 20)
        survives(text[:place] + text[place + length :])


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_changed_numbers_and_words(path: Path) -> None:
    words = path.read_text().split(" ")
    source = random.Random(path.stem)
    for _ in range(40):
        changed = list(words)
        first, second = source.randrange(len(words)), source.randrange(len(words))
        changed[first], changed[second] = changed[second], changed[first]
        survives(" ".join(changed))
        digits = [i for i, word in enumerate(words) if word.strip(",]) ").isdigit()]
        changed = list(words)
        place = source.choice(digits)
        number = words[place].strip(",]) ")
        changed[place] = words[place].replace(number, str(source.choice([0, 1, 7, 64, 10**12])))
        survives(" ".join(changed))


def test_aliases_that_multiply_are_refused() -> None:
    chain = "".join(f"#l{i} = loc(fused[#l{i + 1}, #l{i + 1}])\n" for i in range(60))
    refuse(f"func.func @f() {{\nreturn loc(#l0)\n}}\n{chain}#l60 = loc(unknown)\n")


def test_a_kernel_of_150_operations_parses_in_milliseconds() -> None:
    line = "%x{} = arith.addf %t, %t : tensor<4x8xf16>\n"
    tile = (
        "%a{} = ktdp.construct_access_tile %w[%i + %j] "
        "{{access_tile_set = affine_set<(d) : (d >= 0, -d + 3 >= 0)>, "
        "access_tile_order = affine_map<(d) -> (d)>}} "
        ": memref<64xf16> -> !ktdp.access_tile<4xindex>\n"
    )
    body = "%w = ktdp.construct_memory_view %i, sizes: [64], strides: [1] : memref<64xf16>\n"
    body += "".join(line.format(n) + tile.format(n) for n in range(75))
    text = frame(body)
    parse(text)
    best = min(_seconds(text) for _ in range(5))
    assert best < 0.02, f"{best * 1e3:.1f} ms"  # 2 ms when nothing else runs


def _seconds(text: str) -> float:
    start = time.process_time()
    parse(text)
    return time.process_time() - start
