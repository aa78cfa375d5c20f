"""Automatic mixed precision: which operations run in the lower precision, and which in float32.

The lists are those of torch.cuda's autocast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spyrelab.device.internals import ExcludeKeys, key_set
from spyrelab.device.library import EVERY, implement

__all__ = ["register"]

_KEY = "AutocastPrivateUse1"

LOWER = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
    "convolution",
    "prelu",
    "addmm",
    "addmv",
    "addr",
    "matmul",
    "einsum",
    "mm",
    "mv",
    "linalg_vecdot",
    "linear",
    "addbmm",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "linalg_multi_dot",
    "scaled_dot_product_attention",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
]

FLOAT32 = [
    "acos",
    "asin",
    "cosh",
    "erfinv",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "reciprocal",
    "rsqrt",
    "sinh",
    "tan",
    "pow.Tensor_Scalar",
    "pow.Tensor_Tensor",
    "pow.Scalar",
    "softplus",
    "layer_norm",
    "native_layer_norm",
    "group_norm",
    "cosine_similarity",
    "poisson_nll_loss",
    "cosine_embedding_loss",
    "nll_loss",
    "nll_loss2d",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "mse_loss",
    "margin_ranking_loss",
    "multilabel_margin_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "multi_margin_loss",
    "binary_cross_entropy_with_logits",
    "dist",
    "pdist",
    "cdist",
    "renorm",
    "logsumexp",
    "prod",
    "prod.dim_int",
    "softmax.int",
    "log_softmax.int",
    "cumprod",
    "cumsum",
    "linalg_vector_norm",
    "sum",
    "sum.dim_IntList",
]

WIDEST = [
    "addcdiv",
    "addcmul",
    "atan2",
    "bilinear",
    "cross",
    "dot",
    "grid_sampler",
    "index_put",
    "tensordot",
    "scatter_add",
    "cat",
    "stack",
]


def register() -> None:
    """Enter the autocast kernels; every other operation passes through."""
    EVERY.fallback(torch.library.fallthrough_kernel, _KEY)
    for name in LOWER:
        implement(name, _casting(name, lambda _: torch.get_autocast_dtype("spyre")), _KEY)
    for name in FLOAT32:
        implement(name, _casting(name, lambda _: torch.float32), _KEY)
    for name in WIDEST:
        implement(name, _casting(name, _widest), _KEY)
    implement("binary_cross_entropy", _refuse, _KEY)


def _casting(name: str, choose: Callable[[Any], torch.dtype]) -> Callable[..., Any]:
    packet, _, overload = name.partition(".")
    op = getattr(getattr(torch.ops.aten, packet), overload or "default")
    keys = key_set(_KEY)

    def run(*args: Any, **kwargs: Any) -> Any:
        dtype = choose((args, tuple(kwargs.values())))
        with ExcludeKeys(keys):
            cast = {key: _cast(value, dtype) for key, value in kwargs.items()}
            return op(*(_cast(value, dtype) for value in args), **cast)

    return run


def _takes_part(value: Any) -> bool:
    """Autocast leaves float64, integers and tensors of other devices alone."""
    return (
        isinstance(value, torch.Tensor)
        and value.device.type == "spyre"
        and value.is_floating_point()
        and value.dtype != torch.float64
    )


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if _takes_part(value):
        return value.to(dtype)
    if isinstance(value, list | tuple):
        return type(value)(_cast(item, dtype) for item in value)
    return value


def _widest(values: Any) -> torch.dtype:
    found = torch.get_autocast_dtype("spyre")
    for value in values:
        if isinstance(value, list | tuple):
            found = torch.promote_types(found, _widest(value))
        elif _takes_part(value):
            found = torch.promote_types(found, value.dtype)
    return found


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast."
        " Use torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss,"
        " which are safe to autocast."
    )
