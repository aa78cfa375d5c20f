"""From Triton's IR to KTIR: `translate`."""

from spyrelab.triton.lowering import (
    addresses,
    atomics,
    barriers,
    comparisons,
    constants,
    control,
    descriptors,
    floats,
    functions,
    integers,
    memory,
    numeric_pointers,
    products,
    programs,
    reductions,
    reports,
    scaled_products,
    shapes,
    tables,
)
from spyrelab.triton.lowering.translate import translate

_MODULES = (
    addresses,
    atomics,
    barriers,
    comparisons,
    constants,
    control,
    descriptors,
    floats,
    functions,
    integers,
    memory,
    numeric_pointers,
    products,
    programs,
    reductions,
    reports,
    scaled_products,
    shapes,
    tables,
)
"""Each registers the operations that it lowers."""

__all__ = ["translate"]
