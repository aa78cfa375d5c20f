"""Run a kernel of the catalogue and compare it with its specification."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spyrelab import emulator
from spyrelab.kernels import CATALOGUE
from spyrelab.kernels.division import LX_BYTES

Check = Callable[..., Any]

# Results are computed in f32 and rounded once; two units in the last place leave room for a
# different order of f32 sums. df16 rounds with nine bits, bf16 with seven.
TOLERANCE = {"f16": 2**-10, "df16": 2**-8, "bf16": 2**-7, "f32": 2e-6}


@pytest.fixture(params=["reference", "vm"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def check(engine: str) -> Check:
    """``check(name, **parameters)``: build, verify, run, compare; gives the run."""

    def run(name: str, *, scale: float = 1.0, inputs: dict | None = None, **parameters: Any) -> Any:
        kernel = CATALOGUE[name]
        module = kernel.build(**parameters)
        module.verify()
        arguments = kernel.arguments(**parameters)
        arguments.update(inputs or {})
        done = emulator.run(module, arguments, engine=engine)
        expected = kernel.expected(arguments, **parameters)
        tolerance = TOLERANCE[parameters.get("dtype", "f16")] * scale
        np.testing.assert_allclose(
            kernel.result(done.outputs, **parameters), expected, rtol=tolerance, atol=tolerance
        )
        assert max(np.atleast_1d(done.counters.lx_peak)) <= LX_BYTES
        return done

    return run
