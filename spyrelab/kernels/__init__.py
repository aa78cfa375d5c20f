"""KTIR builders of the kernels that benches and front ends share, each beside its meaning.

>>> module = matmul(1, 64, 8192, 2048, split=(1, 1, 32, 1))
>>> kernel = CATALOGUE["softmax"]
>>> arguments = kernel.arguments(rows=4096, cols=1024)

Tensors are row-major unless ``layouts=`` says how an argument lies on the device: in sticks along
its last dimension. What is computed is the same, and so are the bytes asked for.

>>> sticks = {"x": SpyreTensorLayout.default((4096, 1024), "f16")}
>>> module = kernel.build(rows=4096, cols=1024, layouts=sticks)
>>> arguments = kernel.arguments(rows=4096, cols=1024, layouts=sticks)
"""

from collections.abc import Mapping

from spyrelab.kernels.arrays import KernelError, from_memory, to_memory
from spyrelab.kernels.gather import GATHER, gather
from spyrelab.kernels.kernel import Kernel
from spyrelab.kernels.layouts import Layouts
from spyrelab.kernels.matmul import MATMUL, matmul
from spyrelab.kernels.norms import LAYER_NORM, RMS_NORM, layer_norm, rms_norm
from spyrelab.kernels.paged_attention import PAGED_ATTENTION, paged_attention
from spyrelab.kernels.pointwise import POINTWISE, pointwise
from spyrelab.kernels.rotary import ROTARY, rotary
from spyrelab.kernels.row_reduce import ROW_REDUCE, row_reduce
from spyrelab.kernels.softmax import SOFTMAX, softmax
from spyrelab.kernels.transpose import TRANSPOSE, transpose
from spyrelab.kernels.vector_add import VECTOR_ADD, vector_add

__all__ = [
    "CATALOGUE",
    "Kernel",
    "KernelError",
    "Layouts",
    "from_memory",
    "gather",
    "layer_norm",
    "matmul",
    "paged_attention",
    "pointwise",
    "rms_norm",
    "rotary",
    "row_reduce",
    "softmax",
    "to_memory",
    "transpose",
    "vector_add",
]

CATALOGUE: Mapping[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        VECTOR_ADD,
        POINTWISE,
        SOFTMAX,
        LAYER_NORM,
        RMS_NORM,
        ROTARY,
        MATMUL,
        GATHER,
        TRANSPOSE,
        ROW_REDUCE,
        PAGED_ATTENTION,
    )
}
"""Every kernel of this package, by name."""
