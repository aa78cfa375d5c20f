"""Configuration files that no model can be made of, each refused in one line that says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spyrelab.models.errors import UnknownModelError
from spyrelab.models.fakes import build_fake
from spyrelab.models.presets import load_config

SMALL = {
    "model_type": "llama",
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}


def config(place: Path, **fields: Any) -> Any:
    file = place / "config.json"
    file.write_text(json.dumps({**SMALL, **fields}))
    return load_config(file)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"num_hidden_layers": 0}, "num_hidden_layers is 0; it must be at least 1"),
        ({"vocab_size": 0}, "vocab_size is 0"),
        ({"num_key_value_heads": 3}, "4 attention heads cannot share 3 heads"),
        ({"hidden_size": "abc"}, "hidden_size.*int"),
    ],
)
def test_dimensions_that_no_model_has(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(UnknownModelError, match=said) as caught:
        config(tmp_path, **fields)
    assert "\n" not in str(caught.value)


def test_what_transformers_cannot_build(tmp_path: Path) -> None:
    with pytest.raises(UnknownModelError, match=r"cannot build a llama model.*nope"):
        build_fake(config(tmp_path, hidden_act="nope"))


def test_encoders_predict_no_tokens(tmp_path: Path) -> None:
    bert = {"model_type": "bert", "num_key_value_heads": None}
    with pytest.raises(UnknownModelError, match="bert is an encoder"):
        build_fake(config(tmp_path, **bert))
    assert build_fake(config(tmp_path, **bert, is_decoder=True)).model is not None
