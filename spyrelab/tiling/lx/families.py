"""Generated planning problems: seven families of programs, seeded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from spyrelab.tiling.lx.lifetimes import Step, lifetimes
from spyrelab.tiling.lx.problem import STICK, Buffer, Problem
from spyrelab.tiling.lx.working_set import fullest, least_at

__all__ = ["FAMILIES", "generated"]


class _Program:
    """A program being written: its steps, and the bytes of its tensors."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.steps: list[Step] = []
        self.nbytes: dict[str, int] = {}

    def tensor(self, sticks: float) -> str:
        name = f"t{len(self.nbytes)}"
        self.nbytes[name] = max(1, round(sticks)) * STICK
        return name

    def step(self, reads: list[str], sticks: float, in_place: bool = False) -> str:
        made = self.tensor(sticks)
        self.steps.append(Step(f"op{len(self.steps)}", tuple(reads), (made,), in_place))
        return made

    def sticks(self, name: str) -> int:
        return self.nbytes[name] // STICK

    def skewed(self) -> float:
        """A size between 8 and 2000 sticks, small ones more often."""
        return 8 * 250 ** self.random.random()


def _chain(p: _Program) -> None:
    """One operation after another, with skips; half of them elementwise."""
    made = [p.step([p.tensor(p.skewed())], p.skewed())]
    for _ in range(p.random.randint(12, 28)):
        reads = [made[-1], *p.random.sample(made, k=min(len(made), p.random.random() < 0.4))]
        in_place = p.random.random() < 0.5
        made.append(p.step(reads, p.sticks(made[-1]) if in_place else p.skewed(), in_place))


def _diamond(p: _Program) -> None:
    """Forks whose branches meet again."""
    top = p.step([p.tensor(p.skewed())], p.skewed())
    for _ in range(p.random.randint(3, 6)):
        ends = []
        for _ in range(p.random.randint(2, 4)):
            end = top
            for _ in range(p.random.randint(1, 2)):
                end = p.step([end], p.skewed(), p.random.random() < 0.4)
            ends.append(end)
        top = p.step(ends, p.sticks(ends[0]), True)


def _attention(p: _Program) -> None:
    """Heads one after another: scores, softmax in stages, values; a sum at the end."""
    rows, width = p.random.choice([32, 64, 128]), p.random.choice([1, 2])
    keys = p.random.choice([2, 4, 8])
    x = p.tensor(rows * width * p.random.choice([2, 4]))
    done = []
    for _ in range(p.random.randint(2, 4)):
        sizes = (rows * width, keys * 64 * width, keys * 64 * width)
        q, k, v = (p.step([x, p.tensor(p.skewed())], size) for size in sizes)
        scores = p.step([q, k], rows * keys)
        top = p.step([scores], rows)
        powers = p.step([p.step([scores, top], rows * keys, True)], rows * keys, True)
        total = p.step([powers], rows)
        done.append(p.step([p.step([powers, total], rows * keys, True), v], rows * width))
    p.step([p.step(done, rows * width * len(done)), x], p.sticks(x), True)


def _mlp(p: _Program) -> None:
    """Layers of a norm, gated products and a residual, in tiles that share their weights."""
    rows = p.random.choice([8, 16, 32])
    hidden, inner = p.random.randint(2, 16), p.random.randint(4, 40)
    weights = [p.tensor(n) for n in (hidden * 20, inner * 20, inner * 20)]
    for _ in range(p.random.randint(2, 4)):
        x = p.tensor(rows * hidden)
        norm = p.step([x, p.step([x], rows), weights[0]], rows * hidden, True)
        gate = p.step([p.step([norm, weights[1]], rows * inner)], rows * inner, True)
        both = p.step([gate, p.step([norm, weights[2]], rows * inner)], rows * inner, True)
        p.step([x, p.step([both, p.tensor(p.skewed())], rows * hidden)], rows * hidden, True)


def _random(p: _Program, most: int = 30) -> None:
    """Any operation reads any earlier result; sizes from 8 to 2000 sticks."""
    made = [p.tensor(p.skewed()) for _ in range(3)]
    for _ in range(p.random.randint(12, most)):
        recent = made[-8:]
        reads = p.random.sample(recent, k=p.random.randint(1, min(3, len(recent))))
        in_place = p.random.random() < 0.3
        made.append(p.step(reads, p.sticks(reads[0]) if in_place else p.skewed(), in_place))


def _shared(p: _Program) -> None:
    """A few inputs that many operations read: which to clone, and for how long?"""
    inputs = [p.tensor(p.skewed()) for _ in range(p.random.randint(3, 6))]
    last = p.step([inputs[0]], p.skewed())
    for _ in range(p.random.randint(10, 18)):
        reads = p.random.sample(inputs, k=p.random.randint(1, 2))
        last = p.step([last, *reads], p.skewed(), p.random.random() < 0.3)


FAMILIES: dict[str, tuple[Callable[[_Program], None], tuple[float, float]]] = {
    "chain": (_chain, (0.4, 0.9)),
    "diamond": (_diamond, (0.4, 0.9)),
    "attention": (_attention, (0.4, 0.9)),
    "mlp": (_mlp, (0.4, 0.9)),
    "random": (_random, (0.4, 0.9)),
    "tight": (_random, (0.15, 0.4)),
    "shared": (_shared, (0.3, 0.8)),
}
"""How a program of each family is written, and its scratchpad as a share of what it needs."""


def generated(each: int = 30, seed: int = 0) -> Iterator[tuple[str, Problem]]:
    """Family and problem, `each` of every family; the same seed gives the same problems."""
    for family, (write, share) in FAMILIES.items():
        for number in range(each):
            random = Random(f"{seed} {family} {number}")
            program = _Program(random)
            write(program)
            buffers = lifetimes(program.steps, program.nbytes)
            names = tuple(step.name for step in program.steps)
            capacity = int(_peak(buffers) * random.uniform(*share)) // STICK * STICK
            yield family, Problem(buffers, capacity, names, f"{family} {number}")


def _peak(buffers: tuple[Buffer, ...]) -> int:
    everything = Problem(buffers, 0)
    return least_at(everything, fullest(everything))
