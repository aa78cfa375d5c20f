"""``spyrelab info``: the versions at work, device memory, and the card's numbers with sources."""

from __future__ import annotations

import argparse
import difflib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from spyrelab import __version__
from spyrelab.commands.output import print_json, print_line, print_table
from spyrelab.errors import SpyreLabError, UsageError

if TYPE_CHECKING:
    from spyrelab.machine import Fact

__all__ = ["register", "run"]

CONFIDENCE = (
    "A agrees across independent measurements, B one good source, C indirect or disputed,"
    " D unverified"
)
PACKAGES = ("torch", "numpy", "numba", "scipy")


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser = subparsers.add_parser(
        "info",
        help="show versions, device memory and every hardware number with its source",
        description="Show the versions at work, the reserve of device memory, and the numbers of"
        f" the card with unit, source and confidence ({CONFIDENCE}).",
    )
    parser.add_argument("name", nargs="*", help="only these numbers, or sections, with their notes")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print what was asked for."""
    facts = _select(args.name)
    if args.json:
        document = {"schema": 1, "environment": _environment(), "memory": _memory()}
        print_json({**document, "derived": _derived(), "machine": _describe(facts)})
        return 0
    if not args.name:
        _print_environment()
    _print_facts(facts)
    if args.name:
        _print_notes(facts)
    else:
        print_line(f"\nconf.: {CONFIDENCE}.\n'spyrelab info NAME' adds the notes.")
    return 0


def _select(names: list[str]) -> dict[str, Fact]:
    from spyrelab.machine import FACTS

    sections = {fact.section for fact in FACTS.values()}
    known = [*sections, *FACTS]
    for name in names:
        if name not in known:
            close = [item for item in known if name in item]
            close = (close or difflib.get_close_matches(name, known, cutoff=0.5))[:4]
            hint = f"did you mean {', '.join(close)}?" if close else "'spyrelab info' lists them"
            raise UsageError(f"no hardware number or section is called {name!r}; {hint}")
    return {
        name: fact
        for name, fact in FACTS.items()
        if not names or name in names or fact.section in names
    }


def _environment() -> dict[str, Any]:
    packages: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "spyrelab": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": cpus,
        **packages,
    }


def _memory() -> dict[str, Any]:
    """Try the reserve, since whether the system grants it is what a reader wants to know."""
    from spyrelab.machine import DeviceMemory

    try:
        with DeviceMemory() as memory:
            granted = {"ddr_bytes": memory.ddr_bytes, "lx_bytes": memory.size - memory.ddr_bytes}
            return {"granted": True, **granted, "problem": None}
    except SpyreLabError as error:
        return {"granted": False, "ddr_bytes": None, "lx_bytes": None, "problem": str(error)}


def _derived() -> dict[str, Any]:
    from spyrelab.machine import SPYRE

    return {
        "peak_flops": {dtype: SPYRE.peak_flops(dtype) for dtype in SPYRE.macs_per_cycle},
        "lx_front_end_bytes": SPYRE.lx_front_end_bytes,
        "lx_port_bytes_per_second": SPYRE.lx_port_bytes_per_second,
        "data_ring_bytes_per_second": SPYRE.data_ring_bytes_per_second,
        "partial_ring_bytes_per_second": SPYRE.partial_ring_bytes_per_second,
    }


def _describe(facts: dict[str, Fact]) -> dict[str, Any]:
    keys = ("section", "value", "unit", "source", "confidence", "note")
    return {name: {key: getattr(fact, key) for key in keys} for name, fact in facts.items()}


def _print_environment() -> None:
    from spyrelab.machine import SPYRE
    from spyrelab.machine.units import format_quantity

    here = _environment()
    shown = [f"{name} {here[name] or 'not installed'}" for name in ("python", *PACKAGES)]
    print_line(f"SpyreLab {here['spyrelab']}", "bold")
    print_line(f"{', '.join(shown)}; {here['cpus']} CPUs, {here['system']}")
    memory = _memory()
    if memory["granted"]:
        ddr, lx = (format_quantity(memory[key], "bytes") for key in ("ddr_bytes", "lx_bytes"))
        print_line(f"device memory: {ddr} of address space reserved, and {lx} of scratchpads")
    else:
        print_line(f"device memory: {memory['problem']}", "red")
    print_line(
        f"f16 peak {format_quantity(SPYRE.peak_flops('f16'), 'FLOP/s')};"
        f" {SPYRE.lx_front_end_bytes:,} bytes of each scratchpad are for planners\n"
    )


def _print_facts(facts: dict[str, Fact]) -> None:
    from spyrelab.machine.units import format_quantity

    rows = [
        (fact.section, name, format_quantity(fact.value, fact.unit), fact.confidence, fact.source)
        for name, fact in facts.items()
    ]
    print_table(("section", "name", "value", "conf.", "source"), rows, wrap=("value", "source"))


def _print_notes(facts: dict[str, Fact]) -> None:
    for name, fact in facts.items():
        if fact.note:
            print_line(f"\n{name}: {fact.note}")
