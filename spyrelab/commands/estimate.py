"""``spyrelab estimate``: the predicted time of a program, and why."""

from __future__ import annotations

import argparse
from typing import Any

from spyrelab.commands.estimate_model import is_model, run_model
from spyrelab.commands.output import print_json, print_line, print_table, require_place
from spyrelab.commands.programs import add_program_arguments, load_program

__all__ = ["register", "run"]


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "estimate",
        help="predict the time of a program without running it",
        description="Predict the time of a KTIR file or of a kernel (spyrelab estimate matmul b=1"
        " m=512 n=4096 k=4096 split=1,4,8,1), and say what bounds it; or that of a language model"
        " (spyrelab estimate granite-3.3-8b --prompt 512), by a preset's name or its config.json."
        " Nothing is executed.",
    )
    add_program_arguments(parser)
    model = parser.add_argument_group("language models")
    model.add_argument("--batch", type=int, default=1, help="sequences (default 1)")
    model.add_argument("--prompt", type=int, default=128, help="tokens known of each (128)")
    model.add_argument("--tokens", type=int, default=128, help="tokens to generate (128)")
    model.add_argument(
        "--planner", choices=("joint", "per-op", "none"), default="joint", help="default joint"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--plot", metavar="F.png", help="draw the timeline")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Estimate and print."""
    if is_model(args.program):
        return run_model(args)
    from spyrelab.timing import estimate, roofline
    from spyrelab.timing.result import UNITS

    if args.plot:
        from spyrelab.bench.plot import require_picture

        require_place(args.plot)
        require_picture(args.plot)
    module, launch = load_program(args)
    made = estimate(
        module,
        launch,
        args.function,
        lx_backend_fraction=args.lx_backend_fraction,
        cores=args.cores,
    )
    if args.plot:
        import matplotlib as mpl

        mpl.use("Agg")
        made.plot().figure.savefig(args.plot)
    if args.json:
        print_json({"schema": 1, **made.to_dict()})
        return 0
    print_line(repr(made), "bold")
    print_table(
        ("unit", "busy"),
        [
            (made.describe(unit), f"{made.busy(unit):.0%}")
            for unit in UNITS
            if made.busy(unit) >= 0.005
        ],
        right=("busy",),
    )
    print_line()
    print_line(made.explain())
    if args.cores is None:
        bound = roofline(module, launch, args.function)
        print_line(f"Roofline: {bound.seconds * 1e6:,.1f} us, bound by {bound.bound}.")
    return 0
