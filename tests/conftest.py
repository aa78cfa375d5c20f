"""What every test shares: one thread per process and reproducible random examples."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Before any test imports numpy, which reads these once: several workers share the cores.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("dev", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def pytest_report_header(config: pytest.Config) -> str:
    """Say how random examples are chosen, so that a failure can be repeated."""
    seed = config.getoption("hypothesis_seed", None)
    how = "derandomized (the seed is each test's own name)" if settings().derandomize else "random"
    return f"spyrelab: hypothesis examples {how}, --hypothesis-seed={seed}"
