"""Every name of Helion that we rely on beyond its documented language.

Helion promises nothing about these. Where a release moves one, this page says which.
"""

from __future__ import annotations

import importlib
import operator
from importlib.metadata import PackageNotFoundError, version

from spyrelab.helion.errors import HelionVersionError

__all__ = ["check"]

SERIES = "1.5."

_NEEDED = {
    "helion.runtime:default_launcher": "tensors without elements",
    "helion.runtime:get_num_sm": "how many programs a persistent kernel has",
    "helion._compat:_min_dot_size": "smallest blocks of a product",
    "helion._compat:_supports_tensor_descriptor": "offers descriptors to the tuner",
    "helion._compat:device_num_sm": "how many programs run at once",
    "helion._compat:get_device_name": "names the card in caches and logs",
    "helion._compat:num_compute_units": "how many programs run at once",
    "helion._compiler.inductor_lowering:GraphLowering": "kernels in torch.compile",
    "helion._compiler.backend_registry:list_backends": "backend='spyre'",
    "helion._compiler.backend_registry:register_compiler_backend": "backend='spyre'",
    "helion._compiler.compile_environment:CompileEnvironment.current": "blocks of whole sticks",
    "helion._compiler.compile_environment:BlockSizeInfo.dim_matches": "blocks of whole sticks",
    "helion._compiler.triton.backend:TritonBackend": "backend='spyre'",
    "helion._compiler.triton.backend:TritonBackend.adjust_block_size_constraints": (
        "blocks of whole sticks"
    ),
    "helion.autotuner:search_algorithms": "tuning",
    "helion.autotuner.base_search:BaseSearch": "tuning on predicted time",
    "helion.autotuner.benchmarking:compute_repeat": "predicted time in benchmarks",
    "helion.autotuner.benchmarking:do_bench": "predicted time in benchmarks",
    "helion.autotuner.benchmarking:interleaved_bench": "predicted time in benchmarks",
    "helion.autotuner.config_spec:ConfigSpec.normalize": "takes configurations of GPUs",
    "helion.autotuner.effort_profile:get_effort_profile": "sizes of searches",
    "helion.autotuner.base_search:PopulationBasedSearch.rebenchmark": "tuning on predicted time",
    "helion.autotuner.benchmark_provider:BenchmarkProvider": "tuning on predicted time",
    "helion.autotuner.benchmark_provider:BenchmarkResult": "tuning on predicted time",
    "helion.autotuner.local_cache:LocalAutotuneCache._generate_key": "keeps configurations",
    "helion.autotuner.local_cache:extract_device": "keeps tuned configurations",
    "helion.autotuner.local_cache:get_device_name": "keeps tuned configurations",
    "helion.runtime.settings:Settings": "gives tuners a fixed seed",
}
"""Module and name: what it is needed for."""


def check() -> None:
    """Raise HelionVersionError where this Helion is not one that we were written for."""
    try:
        found = version("helion")
    except PackageNotFoundError:
        raise HelionVersionError(
            f"Helion is not installed: pip install 'helion=={SERIES}*' (Linux only)"
        ) from None
    if not found.startswith(SERIES):
        raise HelionVersionError(
            f"helion {found} is installed; spyrelab was written for {SERIES}*:"
            f" pip install 'helion=={SERIES}*'"
        )
    missing = [f"{name} ({purpose})" for name, purpose in _NEEDED.items() if not _exists(name)]
    if missing:
        raise HelionVersionError(
            f"helion {found} lacks {', '.join(missing)}; install another helion {SERIES}*, or"
            " mend spyrelab/helion/internals.py"
        )


def _exists(name: str) -> bool:
    module, _, attribute = name.partition(":")
    try:
        operator.attrgetter(attribute)(importlib.import_module(module))
    except (ImportError, AttributeError):
        return False
    return True
