"""From a module to KTIR text, in the current spelling."""

from __future__ import annotations

from spyrelab.ktir.dialects import FORMS
from spyrelab.ktir.ir import Module
from spyrelab.ktir.writer import Writer


def dumps(module: Module) -> str:
    """Text of a module; `spyrelab.ktir.parse` reads it back to an equal module.

    Affine maps and sets become aliases at the top.  Names of values are kept, with a
    number added where two would meet in one scope.
    """
    writer = Writer(FORMS)
    name = "" if module.name is None else f" @{module.name}"
    attributes = ""
    if module.attributes:
        attributes = f" attributes {writer.attribute(module.attributes)}"
    functions = [writer.function(function) for function in module.functions]
    aliases = "".join(f"{name} = {value}\n" for value, name in writer.sorted_aliases())
    gap = "\n" if aliases else ""
    body = "\n\n".join(functions)
    return f"{aliases}{gap}module{name}{attributes} {{\n{body}\n}}\n"
