"""The card against Triton's interpreter."""

from __future__ import annotations

import pytest
import torch

from spyrelab.attention.errors import AttentionError
from spyrelab.attention.interpreted import compare, main, ulps_apart


def test_units_are_those_of_the_row() -> None:
    expected = torch.tensor([[1.0, 0.001], [0.25, -0.5]], dtype=torch.float16)
    found = expected.clone()
    found[0, 1] += 2.0**-10
    found[1, 0] -= 2.0**-11
    assert ulps_apart(found, expected)[0].tolist() == pytest.approx([0, 1], abs=1e-3)
    assert ulps_apart(found, expected)[1].tolist() == [1, 0]


@pytest.mark.parametrize("kernel", ["triton-pointer", "triton-spyre"])
def test_a_kernel_agrees_with_the_interpreter(triton_device: str, kernel: str) -> None:
    found = compare(kernel, 16, 100)
    assert found is not None
    # Both multiply exact halves and add in f32; exponentials differ in the last place.
    assert found.ulps <= 2
    assert found.identical > 0.95
    assert found.close > 0.99
    # Issue 6 asks for 100 on the longest contexts; the shortest ones still show the direction.
    assert found.speedup > 10, str(found)


def test_the_interpreter_may_not_finish(triton_device: str) -> None:
    assert compare("triton-pointer", 16, 0.05) is None


def test_unknown_kernels_get_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AttentionError, match="none of triton-pointer"):
        compare("flash", 16, 1)
    assert main(["flash", "--seconds", "1"]) == 1
    assert capsys.readouterr().err.startswith("error: 'flash' is none of")
