"""``spyrelab trace``: the predicted timeline of a program as Trace Event JSON."""

from __future__ import annotations

import argparse
from typing import Any

from spyrelab.commands.output import print_json, print_line, require_place
from spyrelab.commands.programs import add_program_arguments, load_program

__all__ = ["register", "run"]


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "trace",
        help="write the predicted timeline of a program for ui.perfetto.dev",
        description="Write the predicted timeline of a KTIR file, a kernel, or a case of"
        " 'spyrelab bench --list' as Trace Event JSON:"
        " a process per core, a thread per engine, memory bandwidth and scratchpad as counters.",
    )
    add_program_arguments(parser)
    parser.add_argument("-o", "--output", required=True, metavar="T.json", help="where to write")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Estimate and write."""
    from spyrelab.timing import estimate

    require_place(args.output)
    module, launch = load_program(args)
    made = estimate(
        module,
        launch,
        args.function,
        lx_backend_fraction=args.lx_backend_fraction,
        cores=args.cores,
    )
    made.to_perfetto(args.output)
    if args.json:
        print_json({"schema": 1, "output": args.output, **made.to_dict()})
        return 0
    print_line(f"wrote {args.output}: {made!r}")
    return 0
