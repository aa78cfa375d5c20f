"""Predicted time of programs: a static schedule, nothing executed.

>>> t = estimate(module)
>>> t.seconds, t.bottleneck, t.busy("pt")
>>> print(t.explain())
"""

from spyrelab.timing.constants import CONSTANTS, Constants
from spyrelab.timing.contraction import Contraction
from spyrelab.timing.errors import MeasurementError, TimingError, UnknownValueError
from spyrelab.timing.estimate import estimate
from spyrelab.timing.result import Estimate
from spyrelab.timing.roofline import Roofline, roofline
from spyrelab.timing.splits import SplitChoice, best_split, split_times

__all__ = [
    "CONSTANTS",
    "Constants",
    "Contraction",
    "Estimate",
    "MeasurementError",
    "Roofline",
    "SplitChoice",
    "TimingError",
    "UnknownValueError",
    "best_split",
    "estimate",
    "roofline",
    "split_times",
]
