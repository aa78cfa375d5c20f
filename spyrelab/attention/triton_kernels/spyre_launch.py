"""Launches of the Spyre-aware kernel: one for what decodes, one for what does not."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.errors import AttentionError
from spyrelab.attention.heuristics import SpyreConfig, SpyreConfigs, spyre_configs
from spyrelab.attention.plan import COLUMNS, make_plan
from spyrelab.attention.triton_kernels.spyre import combine_kernel, spyre_kernel

__all__ = ["attend"]


def attend(
    batch: PagedBatch, out: torch.Tensor | None = None, config: SpyreConfigs | None = None
) -> torch.Tensor:
    """Attention of a batch ``[tokens, H, D]``.

    Sequences with one new token are launched apart from the others: a block of queries that
    suits one wastes most of its rows on the other.

    Raises
    ------
    AttentionError
        A configuration does not fit the batch.
    """
    config = config or spyre_configs(batch)
    out = batch.empty_output() if out is None else out
    lens = batch.host_query_lens
    ones = [s for s, length in enumerate(lens) if length == 1]
    rest = [s for s, length in enumerate(lens) if length > 1]
    if ones:
        _launch(batch, out, config.decode, ones)
    if rest:
        _launch(batch, out, config.prefill, rest)
    return out


def _launch(
    batch: PagedBatch, out: torch.Tensor, config: SpyreConfig, sequences: Sequence[int]
) -> None:
    group = triton.next_power_of_2(batch.group)
    if batch.kv_heads % config.kv_heads or group % config.share or config.cores % config.share:
        raise AttentionError(
            f"{config} does not divide {batch.kv_heads} KV heads, groups of {group} and its cores"
        )
    plan = make_plan(batch, config, sequences)
    dim = batch.head_dim
    padded = triton.next_power_of_2(dim)
    device, float32 = batch.query.device, torch.float32
    split = plan.slots is not None
    target, logs = out, out
    if split:
        target = torch.empty((plan.partials, batch.heads, dim), dtype=float32, device=device)
        logs = torch.empty((plan.partials, batch.heads), dtype=float32, device=device)
    spyre_kernel[(plan.groups * config.share,)](
        target,
        logs,
        batch.query,
        batch.key_cache,
        batch.value_cache,
        batch.block_table,
        plan.units,
        plan.starts,
        batch.scale,
        batch.key_cache.shape[0],
        batch.block_table.stride(0),
        *batch.key_cache.stride()[:3],
        KVH=batch.kv_heads,
        G=batch.group,
        D=dim,
        D_PADDED=padded,
        PAGE=batch.page,
        BLOCK_Q=config.block_q,
        HEADS=config.kv_heads,
        SHARE=config.share,
        GROUP=group // config.share,
        PAGES=config.pages,
        TILES=config.tiles,
        WINDOW=batch.window or 0,
        SOFT_CAP=batch.soft_cap or 0.0,
        COLUMNS=COLUMNS,
        SPLIT=split,
    )
    if plan.slots is not None:
        rows = plan.slots.shape[0] - 1
        combine_kernel[(min(config.cores, rows * batch.kv_heads),)](
            out,
            target,
            logs,
            plan.slots,
            rows,
            KVH=batch.kv_heads,
            G=batch.group,
            G_PADDED=group,
            D=dim,
            D_PADDED=padded,
        )
