"""``spyrelab validate``: predictions against published measurements of the card."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyrelab.commands.output import print_line, print_table, require_place
from spyrelab.errors import UsageError

if TYPE_CHECKING:
    from spyrelab.timing.validation import Prediction, Report

__all__ = ["register", "run"]


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "validate",
        help="predict every row of a measurement file and show how far off the model is",
        description="Predict every row of a file of card measurements. Prints the median absolute"
        " log ratio per kind of clock (0.10 is about 10 %), and per shape the rank correlation"
        " over its splits and the regret: the measured time of the split predicted best over"
        " the best measured time. Rows that are not predicted are listed with the reason;"
        " if no row is, the exit code is 1.",
    )
    parser.add_argument("file", help="measurements (CSV)")
    parser.add_argument("--json", metavar="OUT", help="write every row and the summary ('-': here)")
    parser.add_argument(
        "--model", choices=("schedule", "roofline"), default="schedule", help="what predicts"
    )
    parser.add_argument(
        "--leave-one-shape-out",
        action="store_true",
        help="predict each shape with constants fitted without it",
    )
    parser.add_argument("--plot", metavar="F.png", help="draw predicted against measured")
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Predict, print, and write what was asked for."""
    from spyrelab.bench.plot import require_picture
    from spyrelab.timing.measurements import read_measurements
    from spyrelab.timing.plausible import require_microseconds
    from spyrelab.timing.validation import predict, summarize

    if args.model == "roofline" and args.leave_one_shape_out:
        raise UsageError("the roofline has no fitted constants to leave a shape out of")
    if args.json and args.json != "-":
        require_place(args.json)
    if args.plot:
        require_place(args.plot)
        require_picture(args.plot)
    rows = read_measurements(args.file)
    require_microseconds(rows)
    predictions = predict(rows, args.model, args.leave_one_shape_out)
    report = summarize(predictions)
    if args.json != "-":
        _print(report, predictions, args)
    if args.json:
        _write(args.json, _document(report, predictions, args))
    if not report.errors:
        print(f"spyrelab: {args.file}: no row can be predicted", file=sys.stderr)
        return 1
    if args.plot:
        from spyrelab.viz.validation import save_scatter

        save_scatter(predictions, args.plot, args.model)
    return 0


def _print(report: Report, predictions: Sequence[Prediction], args: argparse.Namespace) -> None:
    how = ", each shape by constants fitted without it" if args.leave_one_shape_out else ""
    print_line(f"{args.file}: {_rows(len(predictions))}, model {args.model}{how}", "bold")
    if report.errors:
        _print_errors(report, predictions, args)
    print_line(f"\nnot predicted: {_rows(len(report.missing))}")
    for prediction in report.missing:
        print_line(f"  {prediction.row.id}: {prediction.reason}")


def _print_errors(
    report: Report, predictions: Sequence[Prediction], args: argparse.Namespace
) -> None:
    if args.rows:
        print_table(
            ("id", "kind", "measured us", "predicted us", "ln ratio"),
            [_cells(p) for p in predictions if p.predicted_us is not None],
            right=("measured us", "predicted us", "ln ratio"),
        )
    print_table(
        ("clock", "rows", "median |ln ratio|"),
        [(kind, str(n), f"{error:.3f}") for kind, (n, error) in report.errors.items()],
        right=("rows", "median |ln ratio|"),
    )
    print_line()
    print_table(
        ("clock", "shape", "splits", "median |ln ratio|", "rank", "regret"),
        [
            (
                g.kind,
                g.name,
                str(g.count),
                f"{g.median_error:.3f}",
                _two(g.spearman),
                _two(g.regret),
            )
            for g in report.groups
        ],
        right=("splits", "median |ln ratio|", "rank", "regret"),
    )
    regrets = report.regrets()
    if regrets:
        print_line(
            f"\nprofiled shapes with 5 splits or more ({len(regrets)}): median rank correlation"
            f" {_two(report.median_spearman())}, regret median {_middle(regrets):.3f},"
            f" worst {regrets[-1]:.3f}"
        )


def _cells(prediction: Prediction) -> tuple[str, ...]:
    row = prediction.row
    return (
        row.id,
        row.kind,
        f"{row.measured_us:,.1f}",
        f"{prediction.predicted_us:,.1f}",
        f"{prediction.log_ratio:+.3f}",
    )


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _two(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _middle(values: Sequence[float]) -> float:
    from statistics import median

    return median(values)


def _document(
    report: Report, predictions: Sequence[Prediction], args: argparse.Namespace
) -> dict[str, Any]:
    def plain(value: float) -> float | None:
        return None if math.isnan(value) else value

    return {
        "schema": 1,
        "file": str(args.file),
        "model": args.model,
        "leave_one_shape_out": bool(args.leave_one_shape_out),
        "errors": {
            kind: {"rows": n, "median_abs_log_ratio": error}
            for kind, (n, error) in report.errors.items()
        },
        "predicted": len(predictions) - len(report.missing),
        "not_predicted": len(report.missing),
        "median_spearman": plain(report.median_spearman()),
        "groups": [
            {
                "kind": g.kind,
                "shape": g.name,
                "splits": g.count,
                "median_abs_log_ratio": g.median_error,
                "spearman": plain(g.spearman),
                "regret": g.regret,
            }
            for g in report.groups
        ],
        "rows": [p.to_dict() for p in predictions],
    }


def _write(target: str, document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    if target == "-":
        print(text, end="")
        return
    Path(target).write_text(text, encoding="utf-8")
