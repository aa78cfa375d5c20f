"""``spyrelab ktir``: check, print and run a KTIR file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spyrelab.commands.output import print_json, print_line, print_table
from spyrelab.errors import UsageError

if TYPE_CHECKING:
    from spyrelab.emulator import Program, Run
    from spyrelab.ktir import Function, Module

__all__ = ["register", "run"]


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "ktir",
        help="check, print and run a KTIR file",
        description="Check a KTIR file against every rule of the language, print it in canonical"
        " form, or run a function of it on the emulated card and show what it moved, computed"
        " and kept in the scratchpads.",
        epilog="Inputs and outputs are npz files: a key per argument (a number for a scalar),"
        " 'mem_ADDRESS' for memory at a literal element address. What is not given is random;"
        " its shape is what the function's memory views reach.",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="a KTIR text, - for standard input")
    parser.add_argument(
        "--from-triton",
        metavar="FILE:KERNEL",
        help="compile a Triton kernel instead and print its KTIR; what other KTIR tools do not"
        " know is listed on standard error",
    )
    parser.add_argument(
        "--from-helion",
        metavar="FILE:KERNEL",
        help="the same for a Helion kernel, compiled for the shapes in --signature; how it would"
        " be launched is said on standard error",
    )
    parser.add_argument(
        "--signature",
        metavar="LIST",
        help="arguments of the kernel, NAME=ITEM between commas. Triton: types and values, as in"
        " 'x=*fp16,n=i32,BLOCK=64'. Helion: shapes and values, as in"
        " 'x=fp16[64,128],rows=i32(0,3,8),eps=1e-6'",
    )
    parser.add_argument(
        "--config",
        metavar="JSON",
        help="of the Helion kernel: what differs from its own or the default one, as in"
        " '{\"block_sizes\": [64]}'; a file, or a history of spyrelab.helion.tune",
    )
    parser.add_argument("--function", metavar="NAME", help="default the first public one")
    parser.add_argument("--print", action="store_true", help="print the canonical text")
    parser.add_argument("--run", action="store_true", dest="execute", help="run the function")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    running = parser.add_argument_group("running")
    running.add_argument("--engine", choices=("vm", "reference", "null"), default="vm")
    running.add_argument("--input", metavar="FILE.npz", help="arrays to run on")
    running.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="value of a scalar argument; may be repeated",
    )
    running.add_argument("--save", metavar="FILE.npz", help="write every array after the run")
    running.add_argument("--seed", type=int, default=0, help="of random inputs; default 0")
    running.add_argument("--cores", type=int, metavar="N", help="for a function without a grid")
    running.add_argument("--threads", type=int, metavar="N", help="host threads")
    running.add_argument("--sanitize", action="store_true", help="check every single access")
    running.add_argument("--exact", action="store_true", help="sum matrix products in order")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check the file, then do what was asked for."""
    given = [name for name in ("input", "save", "sanitize", "exact", "set") if getattr(args, name)]
    if given and not args.execute:
        raise UsageError(f"--{given[0]} is for running: add --run")
    if args.save and Path(args.save).suffix != ".npz":
        raise UsageError(f"--save {args.save}: the name of the file has to end in .npz")
    places = [place for place in (args.file, args.from_triton, args.from_helion) if place]
    if len(places) != 1:
        raise UsageError(
            "give a KTIR file, --from-triton FILE:KERNEL or --from-helion FILE:KERNEL, one of them"
        )
    if args.signature is not None and args.file:
        raise UsageError("--signature is for --from-triton and --from-helion")
    if args.config is not None and not args.from_helion:
        raise UsageError("--config is for --from-helion")
    document: dict[str, Any] = {"schema": 1, "file": places[0]}
    module = _read(args.file) if args.file else _from_kernel(args, document)
    if args.print:
        from spyrelab.ktir import dumps

        document["text"] = dumps(module)
        if not args.json:
            sys.stdout.write(document["text"])
    if args.execute:
        document["run"] = _execute(args, module)
    elif args.json or not args.print:
        document |= _check(args, module)
    if args.json:
        print_json(document)
    return 0


def _from_kernel(args: argparse.Namespace, document: dict[str, Any]) -> Module:
    """The KTIR of a kernel; it is printed unless something else is asked for."""
    from spyrelab.commands import ktir_helion, ktir_triton

    made: Any
    if args.from_helion:
        kind: Any = ktir_helion
        made = ktir_helion.translated(args.from_helion, args.signature, args.config)
        module = made.translation.module
        # A run is the launch that Helion would make, where --set does not say otherwise.
        args.set = [*(f"{name}={value}" for name, value in made.numbers.items()), *args.set]
    else:
        kind, made = ktir_triton, ktir_triton.translated(args.from_triton, args.signature)
        module = made.module
    module.verify()
    if args.json:
        document |= kind.describe(made)
    else:
        kind.report(made)
    args.print |= not args.execute
    return module


def _read(name: str) -> Module:
    from spyrelab.ktir import KtirError, parse

    data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        module = parse(data.decode("utf-8-sig"))
        module.verify()
    except UnicodeDecodeError as error:
        reason = f"{error.reason} at byte {error.start}"
        raise UsageError(f"{name}: not a UTF-8 text file: {reason}") from None
    except KtirError as error:
        raise _in_file(name, error) from None
    return module


def _in_file(name: str, error: Any) -> Exception:
    """The same error, with the name of the file before the place."""
    from spyrelab.ktir import KtirError

    class InFileError(KtirError):
        def __str__(self) -> str:
            text = super().__str__()
            return f"{name}:{text}" if self.line is not None else f"{name}: {text}"

    details = (error.message, error.line, error.column, error.source_line, error.hint, error.caret)
    return InFileError(*details)


def _check(args: argparse.Namespace, module: Module) -> dict[str, Any]:
    """Say what is in the file; lowering shows the scratchpad use of each function."""
    from spyrelab.emulator import UnsupportedError, lower

    chosen = [f for f in module.functions if args.function in (None, f.name)]
    if not chosen:
        names = ", ".join(f"@{function.name}" for function in module.functions)
        raise UsageError(f"no function @{args.function}; the file has {names or 'none'}")
    described = []
    for function in chosen:
        try:
            program: Program | None = lower(module, function.name, cores=args.cores)
            problem = None
        except UnsupportedError as error:
            program, problem = None, str(error)
        described.append(_describe(function, program, problem))
    if not args.json:
        for item in described:
            arguments = ", ".join(f"%{a['name']}: {a['type']}" for a in item["arguments"])
            print_line(f"@{item['name']}({arguments})", "bold")
            print_line(f"  {item['operations']} operations on a grid of {item['grid']}")
            if item["lx_peak"] is None:
                print_line(f"  not for the vm: {problem}")
            else:
                print_line(
                    f"  LX peak: {item['lx_peak']:,} bytes of {item['lx_capacity']:,} a core"
                )
            for buffer in item["lx_alive"]:
                print_line(f"    {buffer}")
        print_line(f"{args.file}: correct", "green")
    return {"functions": described}


def _describe(function: Function, program: Program | None, problem: str | None) -> dict[str, Any]:
    from spyrelab.ktir import walk

    item: dict[str, Any] = {
        "name": function.name,
        "arguments": [{"name": v.name, "type": str(v.type)} for v in function.arguments],
        "grid": list(program.grid if program else function.grid),
        "operations": sum(1 for _ in walk(function.body.operations)),
        "lx_peak": None,
        "lx_capacity": None,
        "lx_alive": [],
        "problem": problem,
    }
    if program:
        item["lx_peak"] = int(program.lx_peaks.max(initial=0))
        item["lx_capacity"] = program.machine.lx_bytes
        item["lx_alive"] = [str(b) for b in sorted(program.lx.alive, key=lambda b: -b.bytes)]
    return item


def _execute(args: argparse.Namespace, module: Module) -> dict[str, Any]:
    from spyrelab import emulator
    from spyrelab.commands.ktir_data import numbers, read_inputs, save_outputs, summarize
    from spyrelab.commands.ktir_inputs import random_inputs

    program = emulator.lower(module, args.function, cores=args.cores)
    given, memory = read_inputs(args.input, program) if args.input else ({}, {})
    given |= numbers(args.set, program)
    values, places, made = random_inputs(program, given, memory, args.seed)
    done = emulator.run(
        module,
        values,
        args.function,
        places,
        args.engine,
        sanitize=args.sanitize,
        exact=args.exact,
        cores=args.cores,
        threads=args.threads,
    )
    if args.save:
        save_outputs(args.save, done.outputs)
    outputs = summarize(done.outputs, {**values, **places})
    if not args.json:
        _show(args, done, outputs, made)
    return {
        "function": program.function.name,
        "engine": args.engine,
        "random": made,
        "seed": args.seed,
        "outputs": outputs,
        "counters": {"totals": done.counters.totals, "cores": done.counters.to_dict()},
    }


def _show(
    args: argparse.Namespace, done: Run, outputs: list[dict[str, Any]], made: list[str]
) -> None:
    program = done.program
    grid = " x ".join(map(str, program.grid))
    print_line(f"@{program.function.name} ran on {grid} cores, engine {args.engine}", "bold")
    if made:
        print_line(f"random (seed {args.seed}): {', '.join(made)}")
    if outputs:
        print_line()
        columns = ("array", "type", "shape", "changed", "least", "most", "begins with")
        rows = [
            [
                str(item[name])
                for name in ("name", "dtype", "shape", "changed", "least", "most", "begins")
            ]
            for item in outputs
        ]
        print_table(columns, rows, right=("changed", "least", "most"))
    print_line(f"\n{done.counters!r}")
    peak, capacity = done.counters.totals["lx_peak"], program.machine.lx_bytes
    print_line(f"LX peak: {peak:,} bytes of {capacity:,} a core ({peak / capacity:.0%})")
    if args.save:
        print_line(f"written: {args.save}")
