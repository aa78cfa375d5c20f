"""Large models on the card without any memory: shapes, types and strides, no numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from spyrelab.device.forms import form_of
from spyrelab.machine import SPYRE
from spyrelab.models.errors import ModelTooLargeError, UnknownModelError
from spyrelab.models.library import transformers

__all__ = ["FakeModel", "build_fake", "check_room", "fake_bytes", "weight_bytes"]


@dataclass(frozen=True, eq=False)
class FakeModel:
    """A language model of fake tensors on the card.

    Attributes
    ----------
    model : Module
        In evaluation mode.
    config : PreTrainedConfig
    mode : FakeTensorMode
        That its tensors belong to: use the model inside `active`.
    dtype : torch.dtype
    """

    model: Any
    config: Any
    mode: FakeTensorMode
    dtype: torch.dtype

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let tensors made inside be fake, on the card, without gradients."""
        with self.mode, torch.device("spyre"), torch.no_grad():
            yield

    def static_cache(self, batch: int, length: int) -> Any:
        """A cache of keys and values for ``length`` tokens, allocated at once.

        Raises
        ------
        UnknownModelError
            The model has no attention.
        """
        if getattr(self.config, "num_attention_heads", None) is None:
            raise UnknownModelError(f"{self.config.model_type} keeps no cache of keys and values")
        made = transformers().StaticCache(config=self.config, max_cache_len=length)
        heads = getattr(self.config, "num_key_value_heads", None)
        count = heads or self.config.num_attention_heads
        width = getattr(self.config, "head_dim", None)
        width = width or self.config.hidden_size // self.config.num_attention_heads
        made.early_initialization(batch, count, width, self.dtype, torch.device("spyre"))
        return made


def build_fake(config: Any, dtype: torch.dtype = torch.float16) -> FakeModel:
    """A causal language model of a configuration, of fake tensors on the card.

    Raises
    ------
    UnknownModelError
        transformers has no causal language model for it, or cannot build it.
    """
    library = transformers()
    if type(config) not in library.MODEL_FOR_CAUSAL_LM_MAPPING:
        raise UnknownModelError(f"{config.model_type} is no causal language model")
    masked = type(config) in library.MODEL_FOR_MASKED_LM_MAPPING
    if masked and getattr(config, "is_decoder", True) is False:
        raise UnknownModelError(
            f"{config.model_type} is an encoder, which has no tokens to predict one after another;"
            ' say "is_decoder": true if it is meant as a decoder'
        )
    how: dict[str, Any] = {}
    if hasattr(config, "num_local_experts") or hasattr(config, "num_experts"):
        how["experts_implementation"] = "batched_mm"
    mode = FakeTensorMode()
    with mode, torch.device("spyre"), torch.no_grad():
        try:
            model = library.AutoModelForCausalLM.from_config(config, dtype=dtype, **how)
        except Exception as error:  # whatever a field of the configuration leads to
            raise UnknownModelError(
                f"transformers cannot build a {config.model_type} model of this configuration:"
                f" {type(error).__name__}: {error}"
            ) from error
    return FakeModel(model.eval(), config, mode, dtype)


def fake_bytes(tensor: torch.Tensor) -> int:
    """Device bytes that a tensor would take in its default layout, padding included."""
    return form_of(tuple(tensor.shape), tensor.stride(), tensor.dtype).device_bytes


def weight_bytes(model: torch.nn.Module) -> int:
    """Device bytes of all weights and buffers; shared ones once."""
    return sum(map(fake_bytes, [*model.parameters(), *model.buffers()]))


def check_room(model: torch.nn.Module, cache: int = 0, total: int = SPYRE.ddr_bytes) -> int:
    """Device bytes of a model's weights, if these and ``cache`` bytes fit into memory.

    Raises
    ------
    ModelTooLargeError
        Says how much is needed, and how much there is.
    """
    weights = weight_bytes(model)
    if weights + cache > total:
        gib = 1 << 30
        raise ModelTooLargeError(
            f"the weights take {weights / gib:,.1f} GiB and the cache of keys and values"
            f" {cache / gib:,.1f} GiB; the card has {total / gib:,.1f} GiB: choose a smaller"
            " model, batch or number of tokens, or a shorter type"
        )
    return weights
