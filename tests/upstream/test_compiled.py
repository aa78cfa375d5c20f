"""Operators of torch's own list under torch.compile: each computes what it computes eagerly.

A share of them changes every day. SPYRELAB_COMPILED=all runs everything, SPYRELAB_COMPILED=<number>
another day's share.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_map_only

SHARES = 20
ASKED = os.environ.get("SPYRELAB_COMPILED", "")
DAY = int(ASKED) if ASKED.isdigit() else datetime.datetime.now(datetime.UTC).date().toordinal()
SHARE = "all" if ASKED == "all" else f"{DAY % SHARES} of {SHARES}"
SAMPLES = 2

NOBODYS = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty")
"""Operators whose result is whatever lies in memory."""


def _operators() -> Iterator[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    chosen = op_db if ASKED == "all" else op_db[DAY % SHARES :: SHARES]
    return (op for op in chosen if _is_ours(op))


def _is_ours(op: Any) -> bool:
    return torch.float32 in op.dtypes and not op.name.startswith(NOBODYS)


def _on_device(value: Any) -> Any:
    return tree_map_only(torch.Tensor, lambda tensor: tensor.to("spyre"), value)


def _is_random(op: Any) -> bool:
    words = ("rand", "bernoulli", "multinomial", "normal", "dropout", "cauchy", "exponential",
             "geometric", "uniform", "rrelu")  # fmt: skip
    return any(word in op.name for word in words)


def _differences(op: Any) -> Iterator[str]:
    """What is wrong with the first samples that eager execution takes."""
    for sample in list(op.sample_inputs("cpu", torch.float32, requires_grad=False))[:SAMPLES]:
        given = (sample.input, *sample.args), sample.kwargs
        args, kwargs = _on_device(given)
        try:
            wanted = op(*args, **kwargs)
        except (NotImplementedError, RuntimeError):
            continue  # what eager execution refuses is the ledger's affair
        torch._dynamo.reset()
        compiled = torch.compile(lambda args, kwargs: op(*args, **kwargs))
        try:
            found = compiled(*_on_device(given))
            if not _is_random(op):
                torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
        except Exception as error:
            yield f"{op.full_name}: {type(error).__name__} {str(error)[:200]}"


@pytest.mark.parametrize("share", [SHARE])
def test_operators_compile(share: str) -> None:
    operators = list(_operators())
    assert len(operators) > 20, share
    assert [problem for op in operators for problem in _differences(op)] == []
