"""Models: small ones of many families to run, large ones by their dimensions alone.

`families` builds small models of the package transformers with random weights, `report` runs them
on the card against the CPU. `presets` knows the dimensions of large models, `fakes` builds those
without any memory, and `layers` traces them part by part.

This package is imported without torch's help from transformers, which loads on first use.
"""

from __future__ import annotations

from spyrelab.models.errors import (
    MissingTransformersError,
    ModelTooLargeError,
    UnknownModelError,
)
from spyrelab.models.families import FAMILIES, build
from spyrelab.models.report import Report, report, report_all, table

__all__ = [
    "FAMILIES",
    "MissingTransformersError",
    "ModelTooLargeError",
    "Report",
    "UnknownModelError",
    "build",
    "report",
    "report_all",
    "table",
]
