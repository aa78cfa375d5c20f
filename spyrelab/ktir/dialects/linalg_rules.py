"""Rules of linalg: shapes, dimensions and regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spyrelab.ktir.affine import AffineMap, Dim
from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.form import elements_of, nothing
from spyrelab.ktir.ir import Operation, Value
from spyrelab.ktir.matching import compatible_shapes
from spyrelab.ktir.types import I1, Dimension, ScalarType, TensorType, Type

__all__ = ["nothing"]

Rule = Callable[[Check, Operation], None]

CONTRACTIONS = {
    "matmul": "mk,kn->mn",
    "matmul_transpose_a": "km,kn->mn",
    "matmul_transpose_b": "mk,nk->mn",
    "batch_matmul": "bmk,bkn->bmn",
    "batch_matmul_transpose_a": "bkm,bkn->bmn",
    "batch_matmul_transpose_b": "bmk,bnk->bmn",
    "batch_matvec": "bmk,bk->bm",
    "matvec": "mk,k->m",
    "vecmat": "k,kn->n",
    "dot": "k,k->",
}
"""Named sums of products, with their dimensions as einsum writes them."""

_ONE = "exp log abs ceil floor negf tanh sqrt rsqrt square reciprocal erf round copy"
ELEMENTWISE = {
    **dict.fromkeys(("add", "sub", "mul", "div", "max", "min", "powf"), 2),
    **dict.fromkeys(_ONE.split(), 1),
    "select": 3,
}
"""Named element by element operations, with their numbers of inputs."""

ITERATORS = ("parallel", "reduction")


def _groups(check: Check, operation: Operation, inputs: int) -> tuple[list[Value], list[Value]]:
    count = operation.attributes.get("inputs", 0)
    ins, outs = list(operation.operands[:count]), list(operation.operands[count:])
    if len(ins) != inputs or len(outs) != 1:
        check.fail(
            operation,
            f"{len(ins)} inputs and {len(outs)} outputs; it takes {inputs} and 1",
            "write ins(..) outs(..)",
        )
    return ins, outs


def _result_is_output(check: Check, operation: Operation, outs: Sequence[Value]) -> None:
    check.same_list(
        operation,
        "results",
        [value.type for value in operation.results],
        [value.type for value in outs],
        "results have the types of outs",
    )


def _same_class(check: Check, operation: Operation, kinds: Sequence[Type]) -> None:
    classes = {e.is_float for e in map(elements_of, kinds) if e is not None}
    if len(classes) > 1:
        check.fail(operation, "it mixes whole and floating point numbers", "cast one of them")


def contraction(spec: str) -> Rule:
    """Shapes must agree with an einsum such as ``mk,kn->mn``."""
    left, output = spec.split("->")
    terms = [*left.split(","), output]

    def rule(check: Check, operation: Operation) -> None:
        ins, outs = _groups(check, operation, 2)
        extents: dict[str, tuple[int, str]] = {}
        for value, letters in zip([*ins, *outs], terms, strict=True):
            shape = check.tensor(operation, "operand", value).shape
            if len(shape) != len(letters):
                check.fail(
                    operation,
                    f"%{value.name} has {len(shape)} dimensions, not {len(letters)}",
                    f"the shapes are {spec}",
                )
            for letter, extent in zip(letters, shape, strict=True):
                _agree(check, operation, extents, letter, extent, value.name)
        _same_class(check, operation, [value.type for value in operation.operands])
        _result_is_output(check, operation, outs)

    def _agree(
        check: Check,
        operation: Operation,
        extents: dict[str, tuple[int, str]],
        letter: str,
        extent: Dimension,
        name: str,
    ) -> None:
        if extent is None:
            return
        known, other = extents.setdefault(letter, (extent, name))
        if known != extent:
            check.fail(
                operation,
                f"dimension {letter} is {known} in %{other} and {extent} in %{name}",
                f"the shapes are {spec}",
            )

    return rule


def elementwise(operands: int) -> Rule:
    """All operands and the output have one shape."""

    def rule(check: Check, operation: Operation) -> None:
        ins, outs = _groups(check, operation, operands)
        shape = check.tensor(operation, "output", outs[0]).shape
        for value in ins:
            kind = check.tensor(operation, "input", value)
            if not compatible_shapes(kind.shape, shape):
                check.fail(
                    operation,
                    f"%{value.name} is a {kind}, but the output a {outs[0].type}",
                    "use linalg.broadcast first",
                )
        if operands == 3:
            if elements_of(ins[0].type) != I1:
                check.fail(operation, f"the condition %{ins[0].name} is a {ins[0].type}, not i1")
            ins = ins[1:]
        _same_class(check, operation, [value.type for value in (*ins, *outs)])
        _result_is_output(check, operation, outs)

    return rule


def fill(check: Check, operation: Operation) -> None:
    """One scalar (or rank-0 tensor) into every element of the output."""
    (value,), outs = _groups(check, operation, 1)
    scalar = isinstance(value.type, ScalarType) or (
        isinstance(value.type, TensorType) and not value.type.shape
    )
    if not scalar:
        check.fail(operation, f"%{value.name} is a {value.type}, not a scalar")
    check.tensor(operation, "output", outs[0])
    _same_class(check, operation, [value.type, outs[0].type])
    _result_is_output(check, operation, outs)


def _distinct(
    check: Check, operation: Operation, what: str, dimensions: Sequence[int], rank: int
) -> None:
    if len(set(dimensions)) != len(dimensions):
        check.fail(operation, f"{what} {list(dimensions)} names one twice")
    for dimension in dimensions:
        if not 0 <= dimension < rank:
            check.fail(
                operation,
                f"{what} {dimension} does not exist; the tensor has {rank}",
                f"they are numbered 0 to {rank - 1}",
            )


def _must_be(
    check: Check, operation: Operation, what: str, value: Value, shape: Sequence[Dimension]
) -> None:
    kind = check.tensor(operation, what, value)
    if not compatible_shapes(kind.shape, shape):
        wanted = TensorType(tuple(shape), kind.element)
        check.fail(operation, f"{what} %{value.name} is a {kind}, but {wanted} is needed")


def broadcast(check: Check, operation: Operation) -> None:
    """``dimensions`` are those of the output that the input lacks."""
    (source,), outs = _groups(check, operation, 1)
    target = check.tensor(operation, "output", outs[0])
    dimensions = operation.attributes["dimensions"]
    _distinct(check, operation, "dimension", dimensions, len(target.shape))
    kept = [e for axis, e in enumerate(target.shape) if axis not in dimensions]
    _must_be(check, operation, "input", source, kept)
    check.same(operation, "the element", elements_of(source.type) or source.type, target.element)
    _result_is_output(check, operation, outs)


def transpose(check: Check, operation: Operation) -> None:
    """Axis j of the output is axis ``permutation[j]`` of the input."""
    (source,), outs = _groups(check, operation, 1)
    kind = check.tensor(operation, "input", source)
    permutation = operation.attributes["permutation"]
    if sorted(permutation) != list(range(len(kind.shape))):
        check.fail(operation, f"{list(permutation)} is no permutation of {len(kind.shape)} axes")
    _must_be(check, operation, "output", outs[0], [kind.shape[axis] for axis in permutation])
    check.same(operation, "the element", elements_of(outs[0].type) or kind, kind.element)
    _result_is_output(check, operation, outs)


def reduce(check: Check, operation: Operation) -> None:
    """Outputs have the inputs' shape without the reduced dimensions."""
    count = operation.attributes.get("inputs", 0)
    ins, outs = operation.operands[:count], operation.operands[count:]
    if not ins or len(ins) != len(outs):
        check.fail(operation, f"{len(ins)} inputs and {len(outs)} outputs; as many are needed")
    dimensions = operation.attributes["dimensions"]
    shape = check.tensor(operation, "input", ins[0]).shape
    _distinct(check, operation, "dimension", dimensions, len(shape))
    kept = [e for axis, e in enumerate(shape) if axis not in dimensions]
    for source, target in zip(ins, outs, strict=True):
        _must_be(check, operation, "input", source, shape)
        _must_be(check, operation, "output", target, kept)
    _scalar_region(check, operation, [*ins, *outs], outs)
    _result_is_output(check, operation, outs)


def _scalar_region(
    check: Check, operation: Operation, arguments: Sequence[Value], outs: Sequence[Value]
) -> None:
    (region,) = operation.regions
    check.region_arguments(
        operation, region, [elements_of(value.type) or value.type for value in arguments]
    )
    wanted = [elements_of(value.type) or value.type for value in outs]
    check.yields(operation, region, "linalg.yield", wanted)


def pointwise_map(check: Check, operation: Operation) -> None:
    """All inputs have the output's shape."""
    count = operation.attributes.get("inputs", 0)
    ins, outs = operation.operands[:count], operation.operands[count:]
    if len(outs) != 1:
        check.fail(operation, f"{len(outs)} outputs; it has one")
    shape = check.tensor(operation, "output", outs[0]).shape
    for value in ins:
        _must_be(check, operation, "input", value, shape)
    _scalar_region(check, operation, ins, outs)
    _result_is_output(check, operation, outs)


def generic(check: Check, operation: Operation) -> None:
    """Maps, iterators, operands and region must fit each other."""
    maps = operation.attributes.get("indexing_maps", ())
    iterators = operation.attributes.get("iterator_types", ())
    outs = operation.operands[operation.attributes.get("inputs", 0) :]
    if len(maps) != len(operation.operands):
        check.fail(operation, f"{len(maps)} maps for {len(operation.operands)} operands")
    if not outs:
        check.fail(operation, "it has no outputs", "write outs(..)")
    for iterator in iterators:
        if iterator not in ITERATORS:
            check.fail(
                operation, f"unknown iterator type {iterator}", f"use {' or '.join(ITERATORS)}"
            )
    extents: dict[int, int | None] = {}
    for value, affine in zip(operation.operands, maps, strict=True):
        _loop_extents(check, operation, value, affine, len(iterators), extents)
    for axis in range(len(iterators)):
        if axis not in extents:
            check.fail(operation, f"no operand gives the extent of loop {axis}")
    _scalar_region(check, operation, operation.operands, outs)
    _result_is_output(check, operation, outs)


def _loop_extents(
    check: Check,
    operation: Operation,
    value: Value,
    affine: AffineMap,
    loops: int,
    extents: dict[int, int | None],
) -> None:
    shape = value.type.shape if isinstance(value.type, TensorType) else ()
    if affine.dims != loops or affine.symbols:
        check.fail(operation, f"map {affine} must have {loops} dimensions and no symbols")
    if len(affine.results) != len(shape):
        check.fail(
            operation,
            f"map {affine} does not fit %{value.name}: {value.type}",
        )
    for result, extent in zip(affine.results, shape, strict=True):
        if not isinstance(result, Dim):
            continue
        known = extents.get(result.index)
        if known is not None and extent is not None and known != extent:
            check.fail(
                operation, f"loop {result.index} runs over {known} and, in %{value.name}, {extent}"
            )
        extents[result.index] = extent if known is None else known


def index(check: Check, operation: Operation) -> None:
    """A loop of the operation around it."""
    outer = check.enclosing[-1] if check.enclosing else None
    if outer is None or outer.name not in ("linalg.generic", "linalg.map"):
        check.fail(operation, "it stands outside linalg.generic", "use scf.for to count")
    if outer.name == "linalg.map":
        kind = outer.operands[-1].type
        loops = len(kind.shape) if isinstance(kind, TensorType) else 0
    else:
        loops = len(outer.attributes["iterator_types"])
    number = operation.attributes["dim"]
    if not 0 <= number < loops:
        check.fail(operation, f"loop {number} does not exist; {outer.name} has {loops}")
