"""Results as a table for readers: what is shown, under which headings, with which remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from spyrelab.bench.attention_summary import summarise
from spyrelab.bench.results import Results, Row, geometric_mean

__all__ = ["Table", "format_bytes", "format_seconds", "html_table", "make_table"]


@dataclass(frozen=True)
class Table:
    """What a reader sees: a line that explains it, columns, rows, remarks.

    ``right`` names the columns of numbers.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    right: list[str]
    remarks: list[str]

    def _repr_html_(self) -> str:
        remarks = "".join(f"<p>{escape(remark)}</p>" for remark in self.remarks)
        shown = html_table(self.columns, self.rows, self.right)
        return f"<p>{escape(self.title)}</p>{shown}{remarks}"


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()
) -> str:
    """A table as HTML; ``right`` names the columns of numbers, of class ``n``."""
    kinds = [" class=n" if name in right else "" for name in columns]

    def line(cells: Sequence[object], tag: str) -> str:
        pairs = zip(cells, kinds, strict=True)
        return "".join(f"<{tag}{kind}>{escape(str(cell))}</{tag}>" for cell, kind in pairs)

    body = "".join(f"<tr>{line(cells, 'td')}</tr>\n" for cells in rows)
    return f"<div class=wide><table><tr>{line(columns, 'th')}</tr>\n{body}</table></div>"


def make_table(results: Results) -> Table:
    """A row per implementation; reduced cases show under the case that they stand in for."""
    shown = _shown(results.rows)
    baselines = {row.baseline for row in results.rows if row.baseline}
    baseline = "baseline" if len(baselines) > 1 else next(iter(baselines), None)
    columns = _columns(baseline, results.rows)
    present = [
        (name, cell) for name, cell, always in columns if always or any(cell(row) for row in shown)
    ]
    rows = [[cell(row) for _, cell in present] for row in shown]
    last = None
    for row, cells in zip(shown, rows, strict=True):
        name = _parent(row)
        cells[0], last = ("" if name == last else name), name
    names = [name for name, _ in present]
    right = [name for name in names if name not in ("case", "impl", "result")]
    return Table(_title(results, baseline), names, rows, right, _remarks(results))


def format_seconds(seconds: float) -> str:
    """Three digits and a unit: ``4.12 us``, ``11.7 ms``."""
    for size, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= size:
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1e6)} us"


def format_bytes(count: int) -> str:
    """Decimal units: ``512 B``, ``25.2 MB``."""
    for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= size:
            return f"{_digits(count / size)} {unit}"
    return f"{count} B"


def _digits(value: float) -> str:
    places = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{places}f}"


def _times(ratio: float | None) -> str:
    if not ratio:
        return ""
    return f"{_digits(ratio)}x" if ratio >= 0.1 else f"{ratio:.1g}x"


Column = tuple[str, Callable[[Row], str], bool]


def _columns(baseline: str | None, rows: Sequence[Row]) -> list[Column]:
    speedups = _reduced_speedups(rows)
    only_predicted = _only_predicted(rows)

    def over_reference(row: Row) -> str:
        own = row.extra.get("speedup_over_reference", speedups.get((row.case, row.impl)))
        return _times(own) if row.impl != row.baseline else ""

    return [
        ("case", _parent, True),
        ("impl", _implementation, True),
        (
            "result" if only_predicted else "host time",
            lambda row: _seconds(row) if row.correct and not only_predicted else row.status,
            True,
        ),
        (f"vs {baseline}", lambda row: _times(row.host_ratio), False),
        ("vs reference", over_reference, False),
        ("cycles", lambda row: "" if row.cycles is None else f"{row.cycles:,}", False),
        ("device us", lambda row: "" if row.device_us is None else f"{row.device_us:.4g}", False),
        (f"device vs {baseline}", lambda row: _times(row.device_ratio), False),
        (
            "utilization",
            lambda row: "" if row.utilization is None else f"{row.utilization:.0%}",
            False,
        ),
        ("bandwidth", _bandwidth, False),
        ("by fallback", _fallback_share, False),
        ("of bound", lambda row: _share(row, "bound_share"), False),
        ("DDR traffic", lambda row: format_bytes(row.ddr_bytes) if row.ddr_bytes else "", False),
        ("LX peak", lambda row: format_bytes(row.lx_peak) if row.lx_peak else "", False),
        ("lines", lambda row: str(row.extra.get("source_lines", "")), False),
        ("tried", lambda row: str(row.extra.get("tried", "")), False),
        ("tuning", _tuning, False),
    ]


def _only_predicted(rows: Sequence[Row]) -> bool:
    """Whether nothing was timed on the host, but something on the card."""
    return not any(row.host_s for row in rows) and any(row.device_us for row in rows)


def _bandwidth(row: Row) -> str:
    count = row.extra.get("parameters", {}).get("bytes")
    return f"{format_bytes(round(count / row.host_s))}/s" if count and row.host_s else ""


def _fallback_share(row: Row) -> str:
    return _share(row, "fallback_share")


def _share(row: Row, name: str) -> str:
    share = row.extra.get(name)
    return "" if share is None else f"{share:.0%}"


def _tuning(row: Row) -> str:
    spent = row.extra.get("tuning_s")
    return "" if spent is None else format_seconds(spent)


def _seconds(row: Row) -> str:
    return format_seconds(row.host_s) if row.host_s else ""


def _parent(row: Row) -> str:
    return str(row.extra.get("reduced_from", row.case))


def _implementation(row: Row) -> str:
    return f"{row.impl} ({row.extra['shape']})" if "reduced_from" in row.extra else row.impl


def _shown(rows: Sequence[Row]) -> list[Row]:
    """All but what was run in a reduced shape only to be compared with the reference."""
    full = {(row.case, row.impl) for row in rows if "reduced_from" not in row.extra}
    return [
        row
        for row in rows
        if not row.correct
        or "reduced_from" not in row.extra
        or (row.extra["reduced_from"], row.impl) not in full
    ]


def _reduced_speedups(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    return {
        (row.extra["reduced_from"], row.impl): row.extra["speedup_over_reference"]
        for row in rows
        if "reduced_from" in row.extra and "speedup_over_reference" in row.extra
    }


def _title(results: Results, baseline: str | None) -> str:
    if _only_predicted(results.rows):
        than = f"; 'vs {baseline}' above 1x is faster than it" if baseline else ""
        return f"Predicted time on the card, every kernel run and checked first{than}."
    threads = results.environment.get("threads", 1)
    repeats = min(
        (row.extra["repeats"] for row in results.rows if "repeats" in row.extra), default=0
    )
    plural = "thread" if threads == 1 else "threads"
    names = {
        "torch": "float32 PyTorch",
        "cpu": "PyTorch on the CPU",
        "baseline": "a chapter's first implementation",
    }
    name = names.get(baseline or "", baseline)
    than = f"; 'vs {baseline}' above 1x is faster than {name}" if baseline else ""
    return (
        f"Host time of one launch on {threads} CPU {plural}, best of {repeats} interleaved repeats,"
        f" every result checked first{than}."
    )


def _is_unsteady(row: Row) -> bool:
    middle = row.extra.get("median_s")
    return bool(row.host_s and middle and middle > 2 * row.host_s)


def _remarks(results: Results) -> list[str]:
    rows, remarks = results.rows, []
    speedups = [
        row.extra["speedup_over_reference"]
        for row in rows
        if row.impl == "vm" and "speedup_over_reference" in row.extra
    ]
    if speedups:
        remarks.append(
            f"vm against the reference interpreter, same tiles: {_times(geometric_mean(speedups))}"
            f" in geometric mean over {len(speedups)} cases"
            f" ({_times(min(speedups))} to {_times(max(speedups))})."
        )
    unsteady = [f"{r.case} {r.impl}" for r in rows if _is_unsteady(r)]
    if unsteady:
        remarks.append(
            "Unsteady, because the machine was busy or threads waited for each other: half of the "
            f"repeats took more than twice the best one. Do not trust: {', '.join(unsteady)}."
        )
    if any("reduced_from" in row.extra for row in rows):
        remarks.append(
            "A shape in brackets is smaller, with the same tiles, because the reference is slow;"
            " 'vs' then compares on that shape."
        )
    if any(row.cycles is not None for row in rows):
        remarks.append(
            "Cycles, device time and utilization (of the busiest unit) are predicted; how far off"
            " such predictions are, 'spyrelab validate' shows."
        )
    remarks += _rankings(rows)
    remarks += _fallbacks(rows)
    remarks += _compiled(rows)
    remarks += summarise(rows)
    if left_out := results.environment.get("left_out"):
        remarks.append(
            f"{left_out} cases that others sum up are left out; without --quick they are rows too."
        )
    wrong = [f"{row.case} {row.impl}" for row in rows if not row.correct]
    if wrong:
        remarks.append(f"Not correct, so not timed: {', '.join(wrong)}.")
    remarks += [f"{r.case} {r.impl}: {r.extra['error']}" for r in rows if "error" in r.extra]
    untimed = {row.case: row.extra["not_timed"] for row in rows if "not_timed" in row.extra}
    remarks += [f"{case} has no predicted time: {reason}" for case, reason in untimed.items()]
    return remarks


def _fallbacks(rows: Sequence[Row]) -> list[str]:
    """Which operations of an eager call ran on the CPU."""
    counted = [row for row in rows if row.correct and "fallbacks" in row.extra]
    remarks = []
    for row in counted:
        if left := row.extra["fallbacks"]:
            names = ", ".join(f"{name} {count}" for name, count in left.items())
            remarks.append(
                f"{row.case}: of {row.extra['operations']} operations fell back: {names}."
            )
    if counted:
        remarks.append(
            "Host time of an eager call on the card is the emulator's, dispatch included; device"
            " us is the emulated clock's."
        )
    return remarks


def _compiled(rows: Sequence[Row]) -> list[str]:
    """What compiling modules is worth on the card."""
    by_case = {
        (row.case, row.impl): row.device_us for row in rows if "bytes_over_least" in row.extra
    }
    remarks = []
    for impl, what in (("laid-out", "eager, weights laid out"), ("compiled", "compiled")):
        ratios = [
            base / found
            for (case, name), base in by_case.items()
            if name == "as-loaded" and base and (found := by_case.get((case, impl)))
        ]
        if ratios:
            remarks.append(
                f"Device time of eager over {what}: {_times(geometric_mean(ratios))} in"
                f" geometric mean over {len(ratios)} modules"
                f" ({_times(min(ratios))} to {_times(max(ratios))})."
            )
    return remarks


def _rankings(rows: Sequence[Row]) -> list[str]:
    """How well a model orders the splits of a shape."""
    ranked = [row for row in rows if "regret" in row.extra]
    remarks = []
    for row in ranked:
        rank = row.extra["spearman"]
        remarks.append(
            f"{row.case}, {row.impl}: over {row.extra['splits']} measured splits rank correlation"
            f" {'none (all alike)' if rank is None else f'{rank:.3f}'}, regret of its choice"
            f" {row.extra['regret']:.3f}, median |log ratio| {row.extra['median_log_error']:.3f}."
        )
    if ranked:
        remarks.append("Host time of a prediction is that of one estimate; nothing is launched.")
    return remarks
