"""torch's own checks of a kernel: does it do to its operands what the schema says, and does it
give what torch's fake tensors promise (type, shape, strides, device)?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

DEVICE = "spyre"
Arguments = tuple[Any, ...]


def _normal(*size: int) -> torch.Tensor:
    return torch.randn(size).to(DEVICE)


def _whole(*values: int) -> torch.Tensor:
    return torch.tensor(values).to(DEVICE)


OPCHECKED: dict[str, Callable[[], Arguments]] = {
    "add.Tensor": lambda: (_normal(4, 6), _normal(6)),
    "add_.Tensor": lambda: (_normal(4, 6), _normal(6)),
    "mul.Tensor": lambda: (_normal(4, 6).t(), _normal(6, 4)),
    "div.Tensor_mode": lambda: (_normal(4), _normal(4)),
    "exp.default": lambda: (_normal(3, 130),),
    "gelu.default": lambda: (_normal(4, 6),),
    "lgamma.default": lambda: (_normal(4, 6),),
    "where.self": lambda: (_normal(4) > 0, _normal(4), _normal(4)),
    "clamp.default": lambda: (_normal(4, 6), -1, 1),
    "mm.default": lambda: (_normal(4, 6), _normal(6, 5)),
    "bmm.default": lambda: (_normal(2, 4, 6), _normal(2, 6, 5)),
    "addmm.default": lambda: (_normal(5), _normal(4, 6), _normal(6, 5)),
    "sum.dim_IntList": lambda: (_normal(4, 6), [1], True),
    "mean.dim": lambda: (_normal(4, 6), [0]),
    "var.correction": lambda: (_normal(4, 6), [1]),
    "amax.default": lambda: (_normal(4, 6), [1]),
    "argmax.default": lambda: (_normal(4, 6), 1),
    "any.dim": lambda: (_normal(4, 6) > 1, 1),
    "_softmax.default": lambda: (_normal(4, 6), -1, False),
    "_log_softmax_backward_data.default": lambda: (
        _normal(4, 6), _normal(4, 6), -1, torch.float32,
    ),
    "cumsum.default": lambda: (_normal(4, 6), 1),
    "sort.default": lambda: (_normal(4, 6),),
    "topk.default": lambda: (_normal(4, 6), 3),
    "native_layer_norm.default": lambda: (_normal(4, 6), [6], _normal(6), _normal(6), 1e-5),
    "embedding.default": lambda: (_normal(10, 6), _whole(1, 5, 5)),
    "index_select.default": lambda: (_normal(4, 6), 0, _whole(3, 1)),
    "gather.default": lambda: (_normal(4), 0, _whole(3, 1)),
    "index.Tensor": lambda: (_normal(4, 6), [_whole(3, 1)]),
    "index_put_.default": lambda: (_normal(4, 6), [_whole(3, 1)], _normal(2, 6)),
    "scatter_.src": lambda: (_normal(4), 0, _whole(3, 1), _normal(2)),
    "cat.default": lambda: ([_normal(4, 6), _normal(2, 6)],),
    "flip.default": lambda: (_normal(4, 6), [0]),
    "tril.default": lambda: (_normal(4, 6), 1),
    "max_pool2d_with_indices.default": lambda: (_normal(1, 2, 6, 6), [2, 2]),
    "avg_pool2d.default": lambda: (_normal(1, 2, 6, 6), [2, 2]),
    "upsample_bilinear2d.default": lambda: (_normal(1, 2, 4, 4), [6, 6], False),
    "reflection_pad2d.default": lambda: (_normal(1, 2, 4, 4), [1, 1, 1, 1]),
    "view.default": lambda: (_normal(4, 6), [24]),
    "as_strided.default": lambda: (_normal(4, 6), [2, 3], [6, 2], 1),
    "fill_.Scalar": lambda: (_normal(4, 6), 2.0),
}  # fmt: skip
"""Overloads of ATen, and operands for each."""
_NAMED = {"div.Tensor_mode": {"rounding_mode": "floor"}, "var.correction": {"correction": 1}}


def run_opcheck(name: str) -> None:
    """Both checks of one overload; raises what is wrong."""
    packet, _, which = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), which)
    torch.manual_seed(0)
    torch.library.opcheck(
        op, OPCHECKED[name](), _NAMED.get(name, {}), test_utils=("test_schema", "test_faketensor")
    )
