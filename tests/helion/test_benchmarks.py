"""Helion's benchmarks and its helpers for tests, on the card."""

from __future__ import annotations

import unittest

import pytest
import torch

import spyrelab
from spyrelab.helion import examples
from spyrelab.triton.benchmarking import predict

testing = pytest.importorskip("helion._testing")


@pytest.fixture(scope="module")
def x():
    return torch.randn(64, 128, generator=torch.Generator().manual_seed(1)).to("spyre")


def test_benchmarks_predict_and_run_nothing(x):
    from helion.autotuner import benchmarking

    def call():
        return examples.softmax(x)

    wanted = predict(call)
    with spyrelab.record() as seen:
        assert benchmarking.do_bench(call) == testing.do_bench(call, warmup=1, rep=1) == wanted
        assert benchmarking.do_bench(call, quantiles=[0.5, 0.2, 0.8]) == [wanted] * 3
        assert benchmarking.do_bench(call, quantiles=[0.5]) == wanted
        assert benchmarking.do_bench(call, return_mode="all") == [wanted]
        assert benchmarking.interleaved_bench([call, call], repeat=9) == [wanted] * 2
        assert benchmarking.compute_repeat(call) == 1
    assert wanted > 0 and not seen.kernels


def test_examples_are_compared_and_timed(x, capsys):
    assert testing.DEVICE.type == "spyre"

    def reference(x):
        return torch.softmax(x, -1)

    times = testing.run_example(examples.softmax, reference, (x,))
    assert times["helion"] == predict(lambda: examples.softmax(x))
    assert times["torch"] == pytest.approx(predict(lambda: reference(x)))
    with pytest.raises(AssertionError, match="not close"):
        testing.run_example(examples.softmax, lambda x: x, (x,))


def test_helpers_take_the_card_for_what_it_is(x):
    code, found = testing.code_and_output(
        examples.softmax, (x,), block_sizes=[8], indexing="tensor_descriptor"
    )
    assert "make_tensor_descriptor" in code
    torch.testing.assert_close(found.cpu(), x.cpu().softmax(-1))

    class Case(unittest.TestCase):
        @testing.skipUnlessTensorDescriptor("needs descriptors")
        def test_it(self):
            """Runs on the card."""

    result = unittest.TestResult()
    Case("test_it").run(result)
    assert result.testsRun == 1 and not result.skipped
