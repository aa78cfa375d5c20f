"""Configurations of large models: public dimensions by name, or a ``config.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spyrelab.models.errors import UnknownModelError
from spyrelab.models.library import transformers

__all__ = ["PRESETS", "Preset", "load_config"]


@dataclass(frozen=True)
class Preset:
    """The dimensions of a published model.

    Attributes
    ----------
    model_type : str
        What transformers calls its architecture.
    fields : dict
        Entries of its ``config.json``.
    source : str
        Where they were published.
    """

    model_type: str
    fields: dict[str, Any]
    source: str


PRESETS = {
    "granite-3.3-8b": Preset(
        "granite",
        {
            "vocab_size": 49159,
            "hidden_size": 4096,
            "intermediate_size": 12800,
            "num_hidden_layers": 40,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "max_position_embeddings": 131072,
            "rms_norm_eps": 1e-5,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e7},
            "tie_word_embeddings": True,
            "attention_multiplier": 0.0078125,
            "embedding_multiplier": 12.0,
            "residual_multiplier": 0.22,
            "logits_scaling": 16.0,
        },
        "config.json of ibm-granite/granite-3.3-8b-instruct on Hugging Face (8.17e9 parameters)",
    ),
    "llama-3.1-8b": Preset(
        "llama",
        {
            "vocab_size": 128256,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "max_position_embeddings": 131072,
            "rms_norm_eps": 1e-5,
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 500000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192,
            },
            "tie_word_embeddings": False,
        },
        "The Llama 3 Herd of Models, arXiv 2407.21783, table 3, and config.json of"
        " meta-llama/Llama-3.1-8B on Hugging Face (8.03e9 parameters)",
    ),
}
"""Presets by name."""


_COUNTS = (
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
)


def load_config(name: str | Path) -> Any:
    """The configuration (of transformers) of a preset, or of a ``config.json`` or its folder.

    Raises
    ------
    UnknownModelError
        There is no such preset or file, or the file describes no model that transformers knows.
    MissingTransformersError
    """
    preset = PRESETS.get(str(name))
    if preset is not None:
        return _config(preset.model_type, dict(preset.fields), str(name))
    path = Path(name)
    path = path / "config.json" if path.is_dir() else path
    if not path.is_file():
        raise UnknownModelError(
            f"{name!s} is neither a preset ({', '.join(PRESETS)}) nor a config.json"
        )
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnknownModelError(f"{path} is not JSON: {error}") from error
    if not isinstance(fields, dict) or "model_type" not in fields:
        raise UnknownModelError(f"{path} names no model_type: it is no configuration of a model")
    return _config(str(fields.pop("model_type")), fields, str(path))


def _config(model_type: str, fields: dict[str, Any], name: str) -> Any:
    known = transformers().CONFIG_MAPPING
    if model_type not in known:
        raise UnknownModelError(f"{name}: transformers has no model_type {model_type!r}")
    try:
        config = known[model_type].from_dict(fields)
    except Exception as error:  # each configuration checks its fields in its own way
        raise UnknownModelError(f"{name}: {' '.join(str(error).split())}") from error
    # Models of several parts keep the language model's dimensions in a part of their own.
    config = config.get_text_config(decoder=True)
    _check(config, name)
    return config


def _check(config: Any, name: str) -> None:
    """Raise UnknownModelError for dimensions that transformers takes and no model has."""
    for field in _COUNTS:
        value = getattr(config, field, None)
        if isinstance(value, int) and value < 1:
            raise UnknownModelError(f"{name}: {field} is {value}; it must be at least 1")
    heads = getattr(config, "num_attention_heads", None)
    shared = getattr(config, "num_key_value_heads", None)
    if isinstance(heads, int) and isinstance(shared, int) and heads % shared:
        raise UnknownModelError(
            f"{name}: {heads} attention heads cannot share {shared} heads of keys and values"
        )
