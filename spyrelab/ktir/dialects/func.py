"""func: what ends a function."""

from __future__ import annotations

from spyrelab.ktir.check import Check
from spyrelab.ktir.dialects.form import Form, generic_flags, read_values, table, write_values
from spyrelab.ktir.ir import Operation


def _return_rule(check: Check, operation: Operation) -> None:
    check.same_list(
        operation,
        "returned values",
        [value.type for value in operation.operands],
        check.function.results,
        "the function's type is written behind its arguments",
    )


FORMS = table(
    [
        Form(
            "func.return",
            read_values,
            write_values,
            _return_rule,
            results=0,
            ends=("func.func",),
            generic=generic_flags,
        )
    ]
)
"""Every operation of the dialect, by name."""
