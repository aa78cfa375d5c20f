"""Three kernels in Helion: softmax, matrix product, RMS norm.

The same three stand in `spyrelab.triton.examples`. Here the loops say what is computed; how large
the tiles are, in which order they come and how memory is addressed is for the tuner to choose.
"""

from __future__ import annotations

import helion
import helion.language as hl
import torch

__all__ = ["matmul", "rms_norm", "softmax"]


@helion.kernel(autotune_effort="none")
def softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of ``x [rows, columns]``, a tile of rows at a time."""
    rows, _ = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(rows):
        values = x[tile, :].to(torch.float32)
        grown = torch.exp(values - torch.amax(values, dim=1, keepdim=True))
        out[tile, :] = (grown / torch.sum(grown, dim=1, keepdim=True)).to(x.dtype)
    return out


@helion.kernel(autotune_effort="none")
def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``a [m, k] @ b [k, n]``, added up in float32."""
    m, k = a.size()
    inner, n = b.size()
    assert k == inner, f"a has {k} columns but b has {inner} rows"
    out = torch.empty([m, n], dtype=a.dtype, device=a.device)
    for tile_m, tile_n in hl.tile([m, n]):
        total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            total = torch.addmm(total, a[tile_m, tile_k], b[tile_k, tile_n])
        out[tile_m, tile_n] = total.to(a.dtype)
    return out


@helion.kernel(autotune_effort="none")
def rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float = 1e-6) -> torch.Tensor:
    """Rows of ``x [rows, columns]`` by their root mean square, times ``weight [columns]``."""
    rows, columns = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(rows):
        values = x[tile, :].to(torch.float32)
        mean = torch.sum(values * values, dim=1) / columns
        scaled = values * torch.rsqrt(mean + epsilon)[:, None]
        out[tile, :] = (scaled * weight[:].to(torch.float32)).to(x.dtype)
    return out
