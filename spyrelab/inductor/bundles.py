"""Writing a run of native operations into the generated code."""

from __future__ import annotations

from typing import Any

from spyrelab.device.eager.recording import NeedsValues
from spyrelab.inductor import config
from spyrelab.inductor.calls import Call
from spyrelab.inductor.internals import V
from spyrelab.inductor.literals import call_of, evaluated, results_of, size_symbols, spell
from spyrelab.inductor.nativeness import hint
from spyrelab.inductor.planning import planned
from spyrelab.inductor.reach import noting, reach_of
from spyrelab.inductor.recorded import Recorded, recorded

__all__ = ["write_bundle"]


def write_bundle(run: Any) -> None:
    """Define the bundle of a run, and call it."""
    calls = [call_of(kernel) for kernel in run.kernels]
    inputs, outputs = _inputs(run), _outputs(run)
    symbols = sorted(size_symbols(calls), key=str)
    inner = set(run.get_buffer_names()) - set(outputs)
    V.graph.removed_buffers.update(inner)
    wrapper = V.graph.wrapper_code
    name = f"bundle_{wrapper.next_kernel_suffix()}"
    text = _text(inputs, outputs, calls, symbols, _foreseen(run, calls, inputs, outputs, symbols))
    wrapper.define_kernel(name, text, "\n".join(f"# {call.op}" for call in calls))
    sizes = f"sizes=({''.join(f'{symbol}, ' for symbol in symbols)})" if symbols else ""
    arguments = ", ".join([*inputs, *([sizes] if sizes else [])])
    targets = ", ".join(outputs)
    wrapper.writeline(f"{targets}{' = ' if outputs else ''}{name}({arguments})")


def _foreseen(
    run: Any, calls: list[Call], inputs: list[str], outputs: list[str], symbols: Any
) -> Recorded | None:
    # Sizes that are symbols are planned for at each launch; whether hints reach is known now.
    if symbols and not any(call.hint for call in calls):
        return None
    given = {name: run.survey.given[name] for name in inputs}
    try:
        found = recorded([evaluated(call, hint) for call in calls], given, outputs)
    except NeedsValues:
        return None
    with noting(reach_of(V.graph)):
        made = planned(found, config.planner)
    return None if symbols else made


def _text(
    inputs: list[str], outputs: list[str], calls: list[Call], symbols: Any, foreseen: Any
) -> str:
    names = "".join(f" {symbol}," for symbol in symbols)
    lines = ["spyre.Bundle(", f"    {tuple(inputs)!r},", f"    {tuple(outputs)!r},"]
    lines += [f"    lambda{names.rstrip(',')}: ("]
    lines += [f"        {spell(call)}," for call in calls]
    lines += ["    ),"]
    if foreseen is not None:
        lines += [f"    {line}" for line in f"{foreseen!r},".splitlines()]
    return "\n".join([*lines, ")"])


def _inputs(run: Any) -> list[str]:
    made = set(run.get_buffer_names())
    names = [node.get_name() for kernel in run.kernels for node in kernel.inputs]
    return [name for name in dict.fromkeys(names) if name not in made]


def _outputs(run: Any) -> list[str]:
    """Results that somebody outside of the run reads."""
    inside = {node.get_name() for node in run.snodes}
    wanted = set(V.graph.get_output_names())
    found = []
    for kernel in run.kernels:
        for result in results_of(kernel):
            if result is None:
                continue
            name = result.get_name()
            users = run.scheduler.name_to_buf[name].users
            if name in wanted or any(user.node.get_name() not in inside for user in users):
                found.append(name)
    return found
