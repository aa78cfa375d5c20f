"""A small model's predicted times: parts, sums and shares."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spyrelab.inductor import runs
from spyrelab.inductor.in_parallel import plan_ahead
from spyrelab.inductor.planning import planned
from spyrelab.machine import SPYRE
from spyrelab.models import ModelTooLargeError
from spyrelab.models.layers import trace_layers
from spyrelab.models.prediction import Prediction, predict, recorded_part
from spyrelab.models.presets import load_config
from tests.models.small import small_config


@pytest.fixture(scope="module")
def config(tmp_path_factory: Any) -> Any:
    return load_config(small_config(tmp_path_factory.mktemp("small")))


@pytest.fixture(scope="module")
def found(config: Any) -> Prediction:
    return predict(config, batch=2, prompt=16, tokens=4, planner="per-op")


def test_equal_layers_are_one_part(found: Prediction) -> None:
    for parts in (found.prefill, found.decode):
        assert [(part.name, part.count) for part in parts] == [
            ("embedding", 1), ("layer 0", 2), ("head", 1),
        ]  # fmt: skip
        assert all(part.seconds > 0 for part in parts)


def test_times_are_sums_of_kernels(found: Prediction) -> None:
    whole = sum(p.count * sum(k.seconds for k in p.kernels) for p in found.prefill)
    assert found.prefill_seconds == pytest.approx(whole)
    assert 0 < found.token_seconds <= found.prefill_seconds
    for phase in ("prefill", "decode"):
        shares = [share for _, share in found.shares(phase)]
        assert sum(shares) == pytest.approx(1) and shares == sorted(shares, reverse=True)


def test_every_weight_of_a_layer_crosses_the_port(found: Prediction) -> None:
    weights = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128)
    for parts in (found.prefill, found.decode):
        assert parts[1].port_bytes >= weights


def test_what_was_asked_and_plain_values(found: Prediction) -> None:
    assert (found.batch, found.prompt, found.tokens) == (2, 16, 4)
    again = json.loads(json.dumps(found.to_dict()))
    assert again["prefill_ms"] == pytest.approx(found.prefill_seconds * 1e3)
    assert len(again["parts"]) == 6
    # Frequencies of the rotary embedding are buffers.
    assert 0 <= found.weight_bytes - 2 * found.parameters < 1024


def test_a_model_that_is_too_large_is_refused(config: Any) -> None:
    with pytest.raises(ModelTooLargeError):
        predict(config, batch=1 << 22, prompt=512, tokens=4)


def test_planning_in_processes_changes_nothing(config: Any, monkeypatch: Any) -> None:
    traced = trace_layers(config, 2, 24, 4)
    graphs = [recorded_part(part) for part in traced.parts]
    made = {}
    for processes in (1, 3):
        known: dict[Any, Any] = {}
        monkeypatch.setattr(runs, "_known", known)
        seen: list[tuple[int, int]] = []
        plan_ahead(graphs, "joint", processes, lambda *at: seen.append(at))  # noqa: B023
        assert seen == [(n, len(known)) for n in range(len(known) + 1)] and len(known) > 3
        made[processes] = {key: repr(plan) for key, (plan, _) in known.items()}

        monkeypatch.setattr(runs.Problem, "solve", lambda problem: pytest.fail("planned again"))
        for graph in graphs:
            planned(graph, "joint")
        monkeypatch.undo()
    assert made[1] == made[3]


def test_reading_the_weights(found: Prediction) -> None:
    seconds = found.weight_bytes / SPYRE.ddr_read_bytes_per_second
    assert found.reading_seconds == seconds and found.to_dict()["reading_ms"] == seconds * 1e3
