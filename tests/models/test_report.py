"""Models on the card compute what the CPU computes, and never leave the card for it."""

from __future__ import annotations

import json

import pytest
import torch

from spyrelab.models import FAMILIES, UnknownModelError, build, report, table
from spyrelab.models.traffic import device_bytes


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_forward_matches_the_cpu_without_leaving_the_card(family: str, dtype: torch.dtype) -> None:
    with torch.spyre.fallback("error"):
        found = report(family, dtype)
    assert found.is_right, found
    assert found.fallbacks == () and found.native > 20


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_gradients_match_the_cpu_without_leaving_the_card(family: str, dtype: torch.dtype) -> None:
    with torch.spyre.fallback("error"):
        found = report(family, dtype, backward=True)
    assert found.is_right, found


@pytest.mark.parametrize("seed", [1, 2])
def test_other_sizes_match_too(family: str, seed: int) -> None:
    found = report(family, seed=seed, backward=True)
    assert found.is_right and found.fallbacks == (), found


def test_traffic_is_never_below_its_lower_bound(family: str) -> None:
    found = report(family)
    assert found.port_bytes >= found.least_bytes > 0
    assert found.seconds > found.least_bytes / 400e9


def test_equal_seeds_give_equal_models(family: str) -> None:
    first, second, other = build(family), build(family), build(family, seed=1)
    for mine, theirs in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert all(torch.equal(first.inputs[name], second.inputs[name]) for name in first.inputs)
    sizes = [p.numel() for p in first.model.parameters()]
    drawn = [next(made.model.parameters()).flatten()[0].item() for made in (first, other)]
    assert sizes != [p.numel() for p in other.model.parameters()] or drawn[0] != drawn[1]


def test_the_lower_bound_of_a_mixture_counts_routed_experts_and_looked_up_rows() -> None:
    sample = build("mixtral")
    sample.model.to("spyre")
    whole = sum(map(device_bytes, sample.model.parameters()))
    found = report("mixtral")
    rows = sample.inputs["input_ids"].unique().numel()
    table_bytes = device_bytes(sample.model.model.embed_tokens.weight)
    # Thirty-two tokens reach all four experts, so only the table is not read whole.
    results = found.least_bytes - whole + table_bytes - table_bytes * rows // 256
    tokens = sample.inputs["input_ids"].numel()
    logits = tokens * 256 * 4
    assert 0 < results - logits < 4096


def test_reports_can_be_read_and_stored() -> None:
    found = report("bert")
    assert json.loads(json.dumps(found.to_dict()))["dtype"] == "float32"
    assert "bert" in table([found]) and "least/KiB" in str(found)


def test_fallbacks_are_named_with_their_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from spyrelab.device.eager import normalisation
    from spyrelab.opspec import Unsupported

    def refuse(*args: object, **kwargs: object) -> None:
        raise Unsupported("a test wants it so")

    monkeypatch.setattr(normalisation, "run", refuse)
    found = report("bert")
    assert found.is_right
    (norm,) = found.fallbacks
    assert (norm.op, norm.count) == ("aten::native_layer_norm", 5)
    assert norm.reasons == ("a test wants it so",)
    assert f"on the CPU: {norm}" in str(found)


def test_an_unknown_family_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownModelError, match="llama, granite"):
        report("gpt5")


def test_every_family_of_the_course_is_there() -> None:
    assert list(FAMILIES) == [
        "llama", "granite", "qwen3", "gemma2", "gemma3", "gpt2", "mixtral", "bert", "modernbert",
        "vit", "resnet", "whisper", "mamba",
    ]  # fmt: skip
