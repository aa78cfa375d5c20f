"""Operands, elementwise operations and casts of random programs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.emulator.random_programs_data import BITS, is_float, is_integer, literal
from tests.emulator.random_programs_state import (
    Growing,
    Shape,
    SkipStepError,
    Tensor,
    count,
    dynamic_sizes,
    tensor_type,
)

FLOAT_TWO = ("addf", "subf", "mulf", "divf", "maximumf", "minimumf", "maxnumf", "minnumf", "addf",
             "mulf", "remf")  # fmt: skip
INTEGER_TWO = (
    "addi", "subi", "muli", "divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi",
    "remui", "andi", "ori", "xori", "shli", "shrsi", "shrui", "maxsi", "maxui", "minsi", "minui",
)  # fmt: skip
FLOAT_ONE = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt", "sin", "cos",
    "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "erf", "erfc", "absf", "ceil", "floor",
    "round", "roundeven", "trunc",
)  # fmt: skip
SPYRE_ONE = ("exp", "gelu", "silu", "sigmoid", "sqrt", "rsqrt", "reciprocal")
CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
CMPF = ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule",
        "une", "uno", "true")  # fmt: skip


# -- operands of a wanted type ---------------------------------------------------------------


def like(g: Growing, shape: Shape, element: str, depth: int = 0) -> Tensor:
    """A tensor of a shape and element type: one there is, or a fresh one of many kinds."""
    found = [t for t in g.tensors if t.shape == shape and t.element == element]
    if found and g.chance(0.55):
        return g.recent(found)
    kind = tensor_type(shape, element)
    choice = g.rng.randrange(6)
    if choice == 0 and not dynamic_sizes(shape):
        return g.define(f"arith.constant {dense(g, shape, element)}", shape, element)
    if choice == 1 and shape:
        return broadcast(g, shape, element, depth)
    if choice == 2:
        return fill(g, shape, element)
    if choice == 3 and (source := _castable(g, shape, element)) is not None:
        return cast(g, source, element)
    scalar = g.scalar(element)
    sizes = dynamic_sizes(shape)
    listed = f"[{', '.join(sizes)}]" if sizes else ""
    return g.define(f"tensor.splat {scalar.name}{listed} : {kind}", shape, element)


def dense(g: Growing, shape: Shape, element: str) -> str:
    sizes = [e.size for e in shape]
    if count(sizes) <= 16 and sizes and g.chance(0.5):
        return f"dense<{_nested(g, sizes, element)}> : {tensor_type(shape, element)}"
    return f"dense<{literal(g.rng, element)}> : {tensor_type(shape, element)}"


def _nested(g: Growing, sizes: Sequence[int], element: str) -> str:
    if not sizes:
        return literal(g.rng, element)
    return f"[{', '.join(_nested(g, sizes[1:], element) for _ in range(sizes[0]))}]"


def empty(g: Growing, shape: Shape, element: str) -> Tensor:
    return g.define(
        f"tensor.empty({', '.join(dynamic_sizes(shape))}) : {tensor_type(shape, element)}",
        shape, element,
    )  # fmt: skip


def outs(g: Growing, shape: Shape, element: str) -> Tensor:
    return empty(g, shape, element) if g.chance(0.6) else like(g, shape, element)


def fill(g: Growing, shape: Shape, element: str) -> Tensor:
    target = empty(g, shape, element)
    same = is_float if is_float(element) else is_integer
    other = g.element(same) if g.chance(0.15) else element
    value = g.scalar(other)
    return g.define(
        f"linalg.fill ins({value.name} : {other}) outs({target.name} : {target.type}) -> "
        f"{target.type}", shape, element,
    )  # fmt: skip


def broadcast(g: Growing, shape: Shape, element: str, depth: int = 0) -> Tensor:
    if depth > 2:
        raise SkipStepError
    rank = len(shape)
    added = sorted(g.rng.sample(range(rank), g.rng.randint(1, rank)))
    kept = tuple(e for axis, e in enumerate(shape) if axis not in added)
    source = like(g, kept, element, depth + 1)
    target = empty(g, shape, element)
    return g.define(
        f"linalg.broadcast ins({source.name} : {source.type}) outs({target.name} : {target.type}) "
        f"dimensions = {added}", shape, element,
    )  # fmt: skip


# -- elementwise -----------------------------------------------------------------------------


def operation(g: Growing, element: str, pick_operand, kind: str) -> tuple[str, str]:
    """Text and result element of an elementwise operation; ``pick_operand(element)`` names one.

    ``kind`` gives the text of the type of an element.
    """
    t = kind(element)
    choice = g.rng.random()
    if choice < 0.1:
        a, b, c = pick_operand("i1"), pick_operand(element), pick_operand(element)
        text = f"arith.select {a}, {b}, {c} : "
        return text + (t if kind("i1") == "i1" else f"{kind('i1')}, {t}"), element
    if is_float(element):
        return _float_operation(g, element, pick_operand, t, choice)
    if choice < 0.2:
        predicate = g.rng.choice(CMPI)
        return (
            f"arith.cmpi {predicate}, {pick_operand(element)}, {pick_operand(element)} : {t}",
            "i1",
        )
    if choice < 0.3:
        name = g.rng.choice(("absi", "ctpop", "ctlz", "cttz"))
        return f"math.{name} {pick_operand(element)} : {t}", element
    if choice < 0.34:
        return f"math.ipowi {pick_operand(element)}, {pick_operand(element)} : {t}", element
    name = g.rng.choice(INTEGER_TWO)
    return f"arith.{name} {pick_operand(element)}, {pick_operand(element)} : {t}", element


def _float_operation(g: Growing, element: str, pick, t: str, choice: float) -> tuple[str, str]:
    if choice < 0.2:
        return f"arith.cmpf {g.rng.choice(CMPF)}, {pick(element)}, {pick(element)} : {t}", "i1"
    if choice < 0.25:
        return f"math.{g.rng.choice(('isnan', 'isinf', 'isfinite'))} {pick(element)} : {t}", "i1"
    if choice < 0.32:
        return f"math.fma {pick(element)}, {pick(element)}, {pick(element)} : {t}", element
    if choice < 0.36:
        return f"arith.negf {pick(element)} : {t}", element
    if choice < 0.42:
        name = g.rng.choice(("powf", "atan2", "copysign"))
        return f"math.{name} {pick(element)}, {pick(element)} : {t}", element
    if choice < 0.55:
        return f"math.{g.rng.choice(FLOAT_ONE)} {pick(element)} : {t}", element
    return f"arith.{g.rng.choice(FLOAT_TWO)} {pick(element)}, {pick(element)} : {t}", element


def elementwise(g: Growing) -> None:
    first = g.tensor()
    element = first.element if g.chance(0.85) else g.element()
    waiting = [first.name] if element == first.element else []

    def pick(wanted: str) -> str:
        if waiting and wanted == element and g.chance(0.7):
            return waiting.pop()
        return like(g, first.shape, wanted).name

    text, result = operation(g, element, pick, lambda e: tensor_type(first.shape, e))
    g.define(text, first.shape, result)


def select_by_scalar(g: Growing) -> None:
    a = g.tensor()
    b, condition = like(g, a.shape, a.element), g.scalar("i1")
    g.define(f"arith.select {condition.name}, {a.name}, {b.name} : {a.type}", a.shape, a.element)


def scalar_operation(g: Growing) -> None:
    element = g.element()
    if is_float(element) and g.chance(0.3) and element in ("f16", "f32", "!spyreop.df16"):
        value = g.scalar(element).name
        name = g.rng.choice(SPYRE_ONE)
        g.define_scalar(f"spyreop.{name} {value} : {element}", element)
        return
    text, result = operation(g, element, lambda e: g.scalar(e).name, lambda e: e)
    g.define_scalar(text, result)


def _castable(g: Growing, shape: Shape, element: str) -> Tensor | None:
    found = [t for t in g.tensors if t.shape == shape and t.element != element]
    return g.recent(found) if found else None


def cast_name(g: Growing, a: str, b: str) -> str:
    """A cast between two element types."""
    names = []
    if is_float(a) and is_float(b):
        names += ["extf"] * (BITS[a] < BITS[b]) + ["truncf"] * (BITS[a] > BITS[b])
    elif is_float(a):
        names += ["fptosi", "fptoui"]
    elif is_float(b):
        names += ["sitofp", "uitofp"]
    elif "index" in (a, b):
        names += ["index_cast", "index_castui"]
    elif BITS[a] < BITS[b]:
        names += ["extsi", "extui"]
    elif BITS[a] > BITS[b]:
        names += ["trunci"]
    if BITS[a] == BITS[b] and a != b and "index" not in (a, b) and g.chance(0.5):
        names = ["bitcast"]
    return f"arith.{g.pick(names)}"


def cast(g: Growing, source: Tensor, element: str) -> Tensor:
    name = cast_name(g, source.element, element)
    target = tensor_type(source.shape, element)
    return g.define(f"{name} {source.name} : {source.type} to {target}", source.shape, element)


def any_cast(g: Growing) -> None:
    source = g.tensor()
    cast(g, source, g.element(lambda e: e != source.element))


def scalar_cast(g: Growing) -> None:
    a = g.element()
    b = g.element(lambda e: e != a)
    value = g.scalar(a)
    g.define_scalar(f"{cast_name(g, a, b)} {value.name} : {a} to {b}", b)
