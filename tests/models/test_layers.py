"""Large models in parts: what is traced is what the model computes, and nothing is allocated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from spyrelab.errors import UsageError
from spyrelab.machine import SPYRE
from spyrelab.models import ModelTooLargeError, UnknownModelError, build
from spyrelab.models.fakes import build_fake, check_room, weight_bytes
from spyrelab.models.layers import Part, Phase, Role, Traced, trace_layers
from spyrelab.models.library import transformers
from spyrelab.models.presets import PRESETS, load_config

PARAMETERS = {"granite-3.3-8b": 8.17e9, "llama-3.1-8b": 8.03e9}
"""As published, rounded."""


@pytest.fixture(params=PRESETS)
def preset(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_presets_have_the_published_number_of_parameters(preset: str) -> None:
    before = torch.spyre.memory_allocated()
    traced = trace_layers(load_config(preset), prompt=16, tokens=8)
    assert traced.parameters == pytest.approx(PARAMETERS[preset], rel=1e-3)
    assert traced.weight_bytes == pytest.approx(2 * traced.parameters, rel=1e-4)
    assert torch.spyre.memory_allocated() - before < 4096
    assert PRESETS[preset].source


def test_equal_layers_are_traced_once(preset: str) -> None:
    config = load_config(preset)
    traced = trace_layers(config, batch=2, prompt=16, tokens=8)
    for phase in Phase:
        embedding, layer, head = traced.of(phase)
        assert [part.name for part in (embedding, layer, head)] == ["embedding", "layer 0", "head"]
        assert layer.count == config.num_hidden_layers and embedding.count == 1
        keys = next(a for a in layer.arguments if a.name == "cache.0.keys")
        assert keys.value.shape == (2, 8, 24, 128) and keys.role is Role.CACHE
        assert _output(head).shape == (2, 1, config.vocab_size)
        for part in (embedding, layer, head):
            assert all(a.value.device.type == "spyre" for a in part.arguments)
    assert traced.cache_bytes == pytest.approx(
        config.num_hidden_layers * 2 * 2 * 8 * 24 * 128 * 2, rel=1e-2
    )


def _output(part: Part) -> torch.Tensor:
    (node,) = part.graph.graph.find_nodes(op="output")
    value: torch.Tensor = node.args[0].meta["val"]
    return value


def test_a_model_that_does_not_fit_is_refused() -> None:
    config = load_config("llama-3.1-8b")
    config.num_hidden_layers = 400
    with pytest.raises(ModelTooLargeError, match=r"weights take .* GiB .* the card has 128\.0 GiB"):
        trace_layers(config, prompt=16, tokens=8)


def test_a_cache_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ModelTooLargeError, match="cache of keys and values"):
        trace_layers(load_config("granite-3.3-8b"), batch=512, prompt=4000, tokens=96)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"batch": 0}, "batch is 0"),
        ({"tokens": -1}, "tokens is -1"),
        ({"prompt": 131072}, "the model takes 131072"),
    ],
)
def test_impossible_numbers_of_tokens_are_refused(how: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        trace_layers(load_config("granite-3.3-8b"), **how)


def test_a_model_without_attention_is_refused() -> None:
    with pytest.raises(UnknownModelError, match="no cache of keys and values"):
        trace_layers(build("mamba").model.config)


def test_room_is_what_the_card_has() -> None:
    fake = build_fake(build("llama").model.config)
    assert check_room(fake.model) == weight_bytes(fake.model)
    with pytest.raises(ModelTooLargeError):
        check_room(fake.model, SPYRE.ddr_bytes)


# ---- the parts put together ---------------------------------------------------------------------


def _run(part: Part, layer: int, weights: dict[str, torch.Tensor], values: Any) -> Any:
    """Run a part on real tensors of the card; written cache entries go to ``values``."""
    prefix = _prefix(weights) if part.layers else ""
    given = []
    for argument in part.arguments:
        if argument.role is Role.WEIGHT:
            given.append(weights[f"{prefix}{layer}.{argument.name}" if prefix else argument.name])
        else:
            own = f"cache.{part.layers[0] if part.layers else 0}."
            name = argument.name
            if name.startswith(own):
                name = f"cache.{layer if part.layers else 0}." + name.removeprefix(own)
            given.append(values[name])
    return part.graph(*given)


def _prefix(weights: dict[str, torch.Tensor]) -> str:
    name = next(name for name in weights if ".layers.0." in name)
    return name.partition("0.")[0]


def _cache(config: Any, batch: int, length: int) -> dict[str, torch.Tensor]:
    cache = transformers().StaticCache(config=config, max_cache_len=length)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    cache.early_initialization(
        batch, config.num_key_value_heads, width, torch.float32, torch.device("spyre")
    )
    return {
        f"cache.{number}.{name}": value
        for number, part in enumerate(cache.layers)
        for name, value in vars(part).items()
        if isinstance(value, torch.Tensor)
    }


@pytest.mark.parametrize("name", ["llama", "granite", "qwen3", "gemma2", "gemma3", "mixtral"])
def test_parts_put_together_compute_what_the_model_computes(name: str) -> None:
    sample = build(name)
    model: Any = sample.model
    index = sample.inputs["input_ids"][:, :6]
    with torch.no_grad():
        expected = model(index).logits
    index = index.to("spyre")
    model.to("spyre")
    traced = trace_layers(model.config, batch=2, prompt=5, tokens=1, dtype=torch.float32)
    weights = dict([*model.named_parameters(remove_duplicate=False), *model.named_buffers()])
    values = _cache(model.config, 2, 6)
    parts = {(part.phase, part.name): part for part in traced.parts}
    with torch.no_grad():
        for phase, tokens, at in (
            (Phase.PREFILL, index[:, :5], 4),
            (Phase.DECODE, index[:, 5:], 5),
        ):
            values["input_ids"] = tokens
            embedding = parts[phase, "embedding"]
            results = _run(embedding, 0, weights, values)
            values |= zip(embedding.results, results, strict=True)
            _through_layers(traced, phase, weights, values)
            logits = _run(parts[phase, "head"], 0, weights, values)
            torch.testing.assert_close(logits[:, 0].cpu(), expected[:, at], rtol=1e-4, atol=1e-5)


def _through_layers(traced: Traced, phase: Phase, weights: Any, values: Any) -> None:
    layers = [part for part in traced.of(phase) if part.layers]
    for number in range(sum(part.count for part in layers)):
        (part,) = (part for part in layers if number in part.layers)
        values["hidden_states"] = _run(part, number, weights, values)


def test_a_configuration_can_be_a_file_or_its_folder(tmp_path: Path) -> None:
    config = build("qwen3").model.config
    config.save_pretrained(tmp_path)
    for place in (tmp_path, tmp_path / "config.json"):
        assert load_config(place).hidden_size == config.hidden_size


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "names no model_type"),
        ('{"hidden_size": 8}', "names no model_type"),
        ('{"model_type": "nobody"}', "has no model_type 'nobody'"),
    ],
)
def test_bad_configurations_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(UnknownModelError, match=message):
        load_config(path)


def test_an_unknown_preset_is_answered_with_those_there_are() -> None:
    with pytest.raises(UnknownModelError, match=r"granite-3\.3-8b, llama-3\.1-8b"):
        load_config("granite-4")


def test_a_model_without_a_language_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "vit"}))
    with pytest.raises(UnknownModelError, match="no causal language model"):
        build_fake(load_config(tmp_path))
