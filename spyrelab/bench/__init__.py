"""The harness behind ``spyrelab bench``: cases, checks, interleaved timing, results, comparison."""

from spyrelab.bench.case import Case, Chapter
from spyrelab.bench.compare import Change, compare
from spyrelab.bench.results import Results, Row, read_results

__all__ = ["Case", "Change", "Chapter", "Results", "Row", "compare", "read_results"]
