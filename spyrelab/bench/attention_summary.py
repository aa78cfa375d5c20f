"""What the rows about paged attention say together: who is faster, where, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from spyrelab.bench.attention import TUNED
from spyrelab.bench.results import Row

__all__ = ["PUBLISHED", "Ratios", "ratios", "summarise"]

GPU_STYLE, SPYRE_AWARE = "triton-pointer", "triton-spyre"
CLASSES = ("decode", "prefill", "mixed")
TARGET = "decode-b16-s2048-p16-uniform"
"""The case on which the best decode kernel is held against the bandwidth bound."""

SOURCE = "the blog 'Portable Paged Attention in Helion', 3 February 2026"
PUBLISHED = {
    "decode": "H100 1.32x to 1.53x, MI300X 0.58x to 1.07x",
    "prefill": "H100 0.29x to 1.37x, MI300X 0.13x to 0.75x",
    "mixed": "none",
}
"""Time of IBM's GPU-style Triton kernel over time of Helion's, in a micro-benchmark."""

Times = dict[str, dict[str, float]]
"""Microseconds by case and implementation."""


@dataclass(frozen=True)
class Ratios:
    """Triton time over Helion time by case; above 1 Helion is faster."""

    by_case: dict[str, float]

    @property
    def middle(self) -> float:
        return median(self.by_case.values())

    @property
    def best(self) -> str:
        """The case where Helion does best."""
        return max(self.by_case, key=lambda case: self.by_case[case])

    @property
    def worst(self) -> str:
        return min(self.by_case, key=lambda case: self.by_case[case])

    @property
    def lost(self) -> list[str]:
        """Where Helion is slower by more than a percent."""
        return [case for case, ratio in self.by_case.items() if ratio < 0.99]


def ratios(
    rows: Iterable[Row], kind: str, tuned: bool, against: str | None = None
) -> Ratios | None:
    """Best Helion kernel against the best Triton kernel, or against one; None without a pair."""
    found = {}
    for case, times in _times(rows, kind).items():
        triton = _of(times, tuned, lambda name: name == against if against else "triton" in name)
        helion = _of(times, tuned, lambda name: "helion" in name)
        if triton and helion:
            found[case] = min(triton.values()) / min(helion.values())
    return Ratios(found) if found else None


def _times(rows: Iterable[Row], kind: str) -> Times:
    found: Times = {}
    for row in rows:
        if row.correct and row.device_us and row.extra["parameters"].get("class") == kind:
            found.setdefault(row.case, {})[row.impl] = row.device_us
    return found


def _of(times: dict[str, float], tuned: bool, wanted: Callable[[str], bool]) -> dict[str, float]:
    """Times of hand-tuned kernels, or of tuned ones, by the kernel's name."""
    names = {name: name.removesuffix(TUNED) for name in times if name.endswith(TUNED) == tuned}
    return {kernel: times[name] for name, kernel in names.items() if wanted(kernel)}


def summarise(rows: Sequence[Row]) -> list[str]:
    """Sentences for below the table; none without rows about attention."""
    mine = [row for row in rows if "bound_share" in row.extra]
    said = []
    for kind in CLASSES:
        lines = [*_class_lines(mine, kind)]
        if lines:
            said += [*lines, f"  Published for GPUs, {kind}: {PUBLISHED[kind]} ({SOURCE})."]
    return [*said, *_bound_line(mine), *_aware_lines(mine)]


def _class_lines(rows: Sequence[Row], kind: str) -> Iterable[str]:
    for tuned in (False, True):
        for against, name in ((None, "the best Triton"), (GPU_STYLE, "GPU-style Triton")):
            found = ratios(rows, kind, tuned, against)
            if found:
                how = "tuned by search" if tuned else "hand-tuned"
                yield f"{kind}, {how}: {name} over the best Helion {_spread(found)}."
                if against is None and found.lost:
                    yield f"  {_losses(found)}"


def _spread(found: Ratios) -> str:
    cases = len(found.by_case)
    if cases == 1:
        return f"{found.middle:.2f}x on one case"
    return (
        f"{found.middle:.2f}x in the median of {cases} cases, best"
        f" {found.by_case[found.best]:.2f}x ({found.best}), worst"
        f" {found.by_case[found.worst]:.2f}x ({found.worst})"
    )


def _losses(found: Ratios) -> str:
    most = sorted(found.lost, key=lambda case: found.by_case[case])[:4]
    named = ", ".join(f"{case} {found.by_case[case]:.2f}x" for case in most)
    return f"Helion is slower on {len(found.lost)} of {len(found.by_case)}: {named}" + (
        ", ..." if len(found.lost) > len(most) else "."
    )


def _bound_line(rows: Sequence[Row]) -> Iterable[str]:
    held = [row for row in rows if row.case == TARGET and row.correct]
    if held:
        best = max(held, key=lambda row: row.extra["bound_share"])
        yield (
            f"Batch 16, context 2048, decode: {best.impl} is best, at"
            f" {best.extra['bound_share']:.0%} of the bandwidth bound (target 80%)."
        )


def _aware_lines(rows: Sequence[Row]) -> Iterable[str]:
    for kind in CLASSES:
        for tuned in (False, True):
            pairs = (_of(t, tuned, lambda n: True) for t in _times(rows, kind).values())
            found = [
                p[GPU_STYLE] / p[SPYRE_AWARE] for p in pairs if {GPU_STYLE, SPYRE_AWARE} <= {*p}
            ]
            if found:
                how = "tuned by search" if tuned else "hand-tuned"
                yield (
                    f"GPU-style Triton over Spyre-aware Triton, {kind}, {how}: {median(found):.2f}x"
                    f" in the median ({min(found):.2f}x to {max(found):.2f}x; target 2x)."
                )
