"""Random programs of torch operations, as source text that a failure can print."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
import torch
from torch.nn import functional as F  # noqa: N812
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

EXTENTS = (1, 2, 3, 5, 7, 31, 32, 33, 63, 64, 65, 70)
"""Around a stick of each type, and small odd ones."""

LARGEST = 100.0
"""Values beyond that end a line: float16 has little room above."""

POINTWISE = (
    "{a}.relu()",
    "{a}.tanh()",
    "{a}.sigmoid()",
    "(-{a}.abs()).exp()",
    "F.gelu({a})",
    "{a} * 0.5 + 1",
    "({a}.abs() + 1).sqrt()",
    "1 / ({a}.abs() + 0.5)",
    "{a}.clamp(-0.5, 0.75)",
    "torch.where({a} > 0, {a}, 0)",
    "F.silu({a})",
)
PAIRS = ("{a} + {b}", "{a} * {b}", "{a} - {b}", "torch.maximum({a}, {b})")
VIEWS = (
    "{a}.transpose(0, -1)",
    "{a}.flatten()",
    "{a}.unsqueeze({d})",
    "{a}[..., ::2]",
    "{a}[1:]",
    "{a}[0]",
    "{a}.expand(2, *{a}.shape)",
    "{a}.movedim(0, -1)",
    "{a}.reshape(-1, {a}.shape[0])",
)
PRODUCTS = (
    "({a} @ {b}) * 0.1",
    "({a} @ {b}.transpose(-1, -2)) * 0.1",
    "F.linear({a}, {b}) * 0.1",
    "({a} @ {a}.transpose(-1, -2)) * 0.1",
)
ROWS = (
    "{a}.mean({d})",
    "{a}.sum({d}, keepdim=True) * 0.1",
    "{a}.amax({d})",
    "{a}.mean()",
    "{a}.softmax({d})",
    "F.log_softmax({a}, {d})",
    "F.layer_norm({a}, ({a}.shape[-1],), eps=0.1)",
    "F.rms_norm({a}, ({a}.shape[-1],), eps=0.1)",
    "{a}.cumsum({d}) * 0.1",
    "{a}.var({d}, correction=0)",
)
MOVES = (
    "torch.cat([{a}, {a} * 2], {d})",
    "torch.cat([{a}, {b}], {d})",
    "torch.stack([{a}, {b}], {d})",
    "{a}.index_select({d}, rows)",
    "{a}[rows]",
    "{a}.flip({d})",
    "{a}.roll(1, {d})",
    "{a}.contiguous()",
    "{a}.repeat(2, *[1] * ({a}.dim() - 1))",
    "{a}.float().to({a}.dtype)",
)
SEVERAL = (
    "{c}, {e} = {a}.max({d})",
    "{c}, {e} = {a}.chunk(2, {d})",
    "{c}, {e} = torch.var_mean({a}, {d}, correction=0)",
    "{c}, {e} = {a}.sort({d})",
)
IN_PLACE = (
    "{a}.mul_(0.5)",
    "{a}[0].fill_(0.25)",
    "{a}[..., 1:].add_(0.5)",
    "{a}.copy_({b})",
    "{a}.clamp_(-1, 1)",
    "{a}.transpose(0, -1)[0].zero_()",
)
FAMILIES = (POINTWISE, PAIRS, VIEWS, PRODUCTS, ROWS, MOVES, SEVERAL, IN_PLACE)

Names = dict[str, Any]
Sizes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Program:
    """Source of ``function``, and what it is called with."""

    source: str
    sizes: tuple[tuple[int, ...], ...]
    dtype: torch.dtype
    seed: int

    def function(self) -> Callable[..., Any]:
        """The function itself."""
        names: Names = {"torch": torch, "F": F}
        exec(self.source, names)
        made: Callable[..., Any] = names["function"]
        return made

    def arguments(self) -> list[torch.Tensor]:
        """Its arguments on the host: exact in the program's type."""
        generator = torch.Generator().manual_seed(self.seed)
        made = [torch.randn(*size, generator=generator).to(self.dtype) for size in self.sizes]
        return [*made, torch.tensor([0, 0])]

    def __repr__(self) -> str:
        return f"\n{self.source}\n# sizes {self.sizes}, {self.dtype}, seed {self.seed}"


Draw = tuple[int, int, int, int, int]


def _build(
    sizes: tuple[tuple[int, ...], ...], dtype: torch.dtype, draws: Sequence[Draw]
) -> Program:
    """Keep the lines that torch accepts and whose values stay small."""
    names: Names = {"torch": torch, "F": F}
    plain = Program("", sizes, dtype, 0).arguments()
    given = [f"x{number}" for number in range(len(sizes))]
    names.update(zip([*given, "rows"], plain, strict=True))
    names.update({name: names[name].float() for name in given})
    known, lines = list(given), []
    for number, (family, which, first, second, axis) in enumerate(draws):
        templates = FAMILIES[family % len(FAMILIES)]
        a, b = known[first % len(known)], known[second % len(known)]
        rank = max(names[a].dim(), 1)
        made = [f"t{number}", f"u{number}"]
        text = templates[which % len(templates)].format(
            a=a, b=b, d=axis % rank, c=made[0], e=made[1]
        )
        if templates is not SEVERAL and templates is not IN_PLACE:
            text = f"{made[0]} = {text}"
        if _accepted(text, names):
            lines.append(text)
            known += [n for n in made if n in names and names[n].is_floating_point()]
    results = ", ".join(dict.fromkeys([*known[len(given) :][-3:], known[-1]]))
    body = "".join(f"    {line}\n" for line in [*lines, f"return ({results},)"])
    return Program(f"def function({', '.join([*given, 'rows'])}):\n{body}", sizes, dtype, 0)


def _accepted(line: str, names: Names) -> bool:
    trial = dict(names)
    try:
        exec(line, trial)
    except (RuntimeError, IndexError, ValueError):
        return False
    made = [v for n, v in trial.items() if isinstance(v, torch.Tensor) and n != "rows"]
    floats = [v for v in made if v.is_floating_point()]
    if any(v.numel() > 20000 or v.dim() > 4 for v in made):
        return False
    if any(v.numel() and not float(v.abs().max()) <= LARGEST for v in floats):
        return False
    names.update(trial)
    return True


_sizes = st.lists(st.sampled_from(EXTENTS), min_size=1, max_size=3).map(tuple)


@st.composite
def programs(draw: Any) -> Program:
    """Programs of at most eight operations on two or three tensors."""
    first = draw(_sizes.filter(lambda size: torch.Size(size).numel() <= 8192))
    width = draw(st.sampled_from(EXTENTS))
    sizes = [first, (width, first[-1])]
    if draw(st.booleans()):
        sizes.append((first[-1],))
    dtype = draw(st.sampled_from([torch.float32, torch.float16, torch.bfloat16]))
    small = st.integers(0, 60)
    draws = draw(st.lists(st.tuples(small, small, small, small, small), min_size=2, max_size=8))
    return _build(tuple(sizes), dtype, draws)


class Shaken(TorchDispatchMode):
    """Moves every floating-point result by up to a rounding of a type, as any device may."""

    def __init__(self, eps: float, seed: int) -> None:
        super().__init__()
        self.eps = eps
        self.random = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if any(info.alias_info is not None for info in func._schema.returns):
            return made
        return tree_map_only(torch.Tensor, self._moved, made)

    def _moved(self, value: torch.Tensor) -> torch.Tensor:
        if not value.is_floating_point() or not value.numel():
            return value
        shift = torch.rand(value.shape, generator=self.random, dtype=value.dtype) * 2 - 1
        return value * (1 + self.eps * shift)
