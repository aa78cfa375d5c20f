"""Programs for tensor operations: from what is asked for to KTIR, whatever the operands' layout."""

from spyrelab.opspec.compile import Compiled, Role, Slot, Step, compile, default_layout
from spyrelab.opspec.errors import OpSpecError, Unsuitable, Unsupported
from spyrelab.opspec.operand import DTYPES, Input, Operand, element_type, stick_elements
from spyrelab.opspec.registry import builder_of, family, operation_names
from spyrelab.opspec.views import Placed, Scattered, Shifted, flipped, place

__all__ = [
    "DTYPES",
    "Compiled",
    "Input",
    "OpSpecError",
    "Operand",
    "Placed",
    "Role",
    "Scattered",
    "Shifted",
    "Slot",
    "Step",
    "Unsuitable",
    "Unsupported",
    "builder_of",
    "compile",
    "default_layout",
    "element_type",
    "family",
    "flipped",
    "operation_names",
    "place",
    "stick_elements",
]
