"""Scratchpad tiling: work division, coarse tiling and LX planning of a list of operations.

>>> made = plan(ops, planner="joint")
>>> print(made.explain())
>>> run(made, arrays).outputs
"""

from spyrelab.tiling.errors import TilingError
from spyrelab.tiling.execute import Outcome, run
from spyrelab.tiling.hints import Hint, hints_of
from spyrelab.tiling.loops import LoopSpec
from spyrelab.tiling.lower import Launch, lower_bundle
from spyrelab.tiling.planning import PLANNERS, Bundle, Plan, plan
from spyrelab.tiling.requests import Tensor, operands_of, spec_of
from spyrelab.tiling.signature import Role, Signature, signature_of

__all__ = [
    "PLANNERS",
    "Bundle",
    "Hint",
    "Launch",
    "LoopSpec",
    "Outcome",
    "Plan",
    "Role",
    "Signature",
    "Tensor",
    "TilingError",
    "hints_of",
    "lower_bundle",
    "operands_of",
    "plan",
    "run",
    "signature_of",
    "spec_of",
]
