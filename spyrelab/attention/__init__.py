"""Paged attention, the core of a serving engine, in Triton and in Helion.

``reference`` says what it computes, ``scenarios`` on which batches, ``bound`` how few bytes could
do.  The kernels live in ``triton_kernels`` and ``helion_kernels``, which load Triton and Helion
when they are imported; ``implementations`` names them all without loading either.

>>> from spyrelab.attention import Scenario, reference
>>> batch = Scenario(query_lens=(1, 3), kv_lens=(5, 3), heads=4, kv_heads=2, head_dim=64).build()
>>> reference.paged_attention(batch).shape
torch.Size([4, 4, 64])
"""

from spyrelab.attention import reference
from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.bound import bound_seconds, distinct_bytes
from spyrelab.attention.errors import AttentionError
from spyrelab.attention.scenarios import BUCKETS, Bucket, Scenario, bucket_of, scenarios

__all__ = [
    "BUCKETS",
    "AttentionError",
    "Bucket",
    "PagedBatch",
    "Scenario",
    "bound_seconds",
    "bucket_of",
    "distinct_bytes",
    "reference",
    "scenarios",
]
