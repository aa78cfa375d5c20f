"""The configuration of a language model that is predicted in a moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIELDS: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1 << 20,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}


def small_config(folder: Path, **changes: Any) -> Path:
    """Write ``config.json``; its path."""
    path = folder / "config.json"
    path.write_text(json.dumps({**FIELDS, **changes}), encoding="utf-8")
    return path
