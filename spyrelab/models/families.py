"""Small models of thirteen families, with random weights and inputs, for the CPU or the card.

Every model is the one of the package transformers, shrunk: what it computes, and in which order,
is what the large one does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from spyrelab.models.errors import UnknownModelError
from spyrelab.models.library import transformers

__all__ = ["FAMILIES", "Dimensions", "Family", "Sample", "build", "dimensions", "family_named"]

Inputs = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Dimensions:
    """Sizes of a small model and of what it is fed.

    Attributes
    ----------
    hidden, heads, kv_heads, mlp : int
        Width, attention heads, key-value heads (a divisor of ``heads``), width of the MLP.
    layers, vocabulary : int
    batch, length : int
        Sequences and tokens in each; the last sequence is padded where a family takes a mask.
    image : int
        Height and width of images.
    """

    hidden: int = 64
    heads: int = 4
    kv_heads: int = 2
    mlp: int = 128
    layers: int = 2
    vocabulary: int = 256
    batch: int = 2
    length: int = 16
    image: int = 32


def dimensions(seed: int = 0) -> Dimensions:
    """Random sizes; those of seed 0 are the defaults of `Dimensions`."""
    if seed == 0:
        return Dimensions()
    draw = random.Random(seed)
    heads = draw.choice((2, 4))
    return Dimensions(
        hidden=draw.choice((64, 96, 128)),
        heads=heads,
        kv_heads=draw.choice([n for n in (1, 2, 4) if heads % n == 0]),
        mlp=draw.choice((96, 128, 192)),
        batch=draw.choice((1, 2, 3)),
        length=draw.randint(9, 24),
        image=draw.choice((32, 48)),
    )


@dataclass(frozen=True, eq=False)
class Sample:
    """A model on the CPU in float32, in evaluation mode, and inputs for it."""

    model: torch.nn.Module
    inputs: Inputs


@dataclass(frozen=True)
class Family:
    """A kind of model.

    Attributes
    ----------
    name : str
    title : str
        What its authors call it.
    make : callable
        The model and its inputs for given dimensions.
    """

    name: str
    title: str
    make: Callable[[Dimensions], tuple[torch.nn.Module, Inputs]]


def family_named(name: str) -> Family:
    """The family of that name; raises UnknownModelError."""
    if name not in FAMILIES:
        raise UnknownModelError(f"no model family {name!r}; there are: {', '.join(FAMILIES)}")
    return FAMILIES[name]


def build(name: str, seed: int = 0, sizes: Dimensions | None = None) -> Sample:
    """A small model of a family with random weights; equal seeds give equal models.

    Parameters
    ----------
    seed : int
        Of sizes (unless given), weights and inputs.

    Raises
    ------
    UnknownModelError, MissingTransformersError
    """
    family = family_named(name)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model, inputs = family.make(sizes or dimensions(seed))
        _scatter(model)
    if hasattr(model.config, "use_cache"):
        model.config.use_cache = False
    return Sample(model.eval(), inputs)


def _scatter(model: torch.nn.Module) -> None:
    """Move biases and the gains of norms off 0 and 1, so that leaving one out is noticed."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.02)


# ---- configurations ----------------------------------------------------------------------------


def _tokens(of: Dimensions, count: int = 0) -> torch.Tensor:
    return torch.randint(3, of.vocabulary, (of.batch, count or of.length))


def _padded(of: Dimensions) -> Inputs:
    """Tokens, and a mask that leaves a third of the last sequence out: on the left, as when
    generating."""
    mask = torch.ones(of.batch, of.length, dtype=torch.int64)
    mask[-1, : of.length // 3] = 0
    return {"input_ids": _tokens(of), "attention_mask": mask}


_SPECIAL: dict[str, int] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def _encoder(of: Dimensions) -> dict[str, Any]:
    return {
        "hidden_size": of.hidden,
        "intermediate_size": of.mlp,
        "num_hidden_layers": of.layers,
        "num_attention_heads": of.heads,
    }


def _text(of: Dimensions) -> dict[str, Any]:
    return {"vocab_size": of.vocabulary, "max_position_embeddings": 64, **_encoder(of), **_SPECIAL}


def _decoder(of: Dimensions) -> dict[str, Any]:
    return {**_text(of), "num_key_value_heads": of.kv_heads}


def _made(model: str, config: Any, **how: Any) -> torch.nn.Module:
    kind = getattr(transformers(), model)
    if kind._supports_sdpa:  # Gemma 2 caps its scores, which sdpa cannot
        how["attn_implementation"] = "sdpa"
    made: torch.nn.Module = kind._from_config(config, **how)
    return made


def _plain_decoder(stem: str, **more: Any) -> Callable[[Dimensions], tuple[Any, Inputs]]:
    def make(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
        config = getattr(transformers(), f"{stem}Config")(**_decoder(of), **more)
        return _made(f"{stem}ForCausalLM", config), _padded(of)

    return make


def _gemma3(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
    config = transformers().Gemma3TextConfig(
        **_decoder(of),
        head_dim=of.hidden // of.heads,
        sliding_window=8,
        layer_types=["sliding_attention", "full_attention"],
    )
    return _made("Gemma3ForCausalLM", config), _padded(of)


def _gpt2(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
    config = transformers().GPT2Config(
        vocab_size=of.vocabulary,
        n_positions=64,
        n_embd=of.hidden,
        n_inner=of.mlp,
        n_layer=of.layers,
        n_head=of.heads,
        bos_token_id=1,
        eos_token_id=2,
    )
    return _made("GPT2LMHeadModel", config), _padded(of)


def _mixtral(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
    config = transformers().MixtralConfig(
        **_decoder(of), num_local_experts=4, num_experts_per_tok=2
    )
    # The other implementations look at the routing on the host.
    return _made("MixtralForCausalLM", config, experts_implementation="batched_mm"), _padded(of)


def _bert(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
    config = transformers().BertConfig(**_text(of))
    segments = torch.randint(0, 2, (of.batch, of.length))
    return _made("BertModel", config), {**_padded(of), "token_type_ids": segments}


def _modernbert(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
    config = transformers().ModernBertConfig(
        **_text(of), local_attention=8, cls_token_id=1, sep_token_id=2
    )
    return _made("ModernBertModel", config), _padded(of)


def _images(of: Dimensions) -> Inputs:
    return {"pixel_values": torch.randn(of.batch, 3, of.image, of.image)}


def _vit(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
    config = transformers().ViTConfig(**_encoder(of), image_size=of.image, patch_size=8)
    return _made("ViTForImageClassification", config), _images(of)


def _resnet(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
    config = transformers().ResNetConfig(
        embedding_size=of.hidden // 4,
        hidden_sizes=[of.hidden // 2, of.hidden],
        depths=[1, 1],
        layer_type="bottleneck",
    )
    model = transformers().ResNetForImageClassification(config)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0.0, 0.1)  # type: ignore[union-attr]
            module.running_var.uniform_(0.5, 1.5)  # type: ignore[union-attr]
    return model, _images(of)


def _whisper(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
    config = transformers().WhisperConfig(
        vocab_size=of.vocabulary,
        d_model=of.hidden,
        encoder_layers=of.layers,
        decoder_layers=of.layers,
        encoder_attention_heads=of.heads,
        decoder_attention_heads=of.heads,
        encoder_ffn_dim=of.mlp,
        decoder_ffn_dim=of.mlp,
        num_mel_bins=16,
        max_source_positions=of.length,
        max_target_positions=32,
        decoder_start_token_id=1,
        **_SPECIAL,
    )
    sound = torch.randn(of.batch, 16, 2 * of.length)
    inputs = {"input_features": sound, "decoder_input_ids": _tokens(of, of.length // 2)}
    return _made("WhisperForConditionalGeneration", config), inputs


def _mamba(of: Dimensions) -> tuple[torch.nn.Module, Inputs]:
    config = transformers().MambaConfig(
        vocab_size=of.vocabulary,
        hidden_size=of.hidden,
        num_hidden_layers=of.layers,
        state_size=8,
        **_SPECIAL,
    )
    return transformers().MambaForCausalLM(config), {"input_ids": _tokens(of)}


_LIST = (
    Family("llama", "Llama", _plain_decoder("Llama")),
    Family(
        "granite",
        "Granite",
        _plain_decoder(
            "Granite",
            embedding_multiplier=12.0,
            attention_multiplier=0.0625,
            residual_multiplier=0.22,
            logits_scaling=16.0,
        ),
    ),
    Family("qwen3", "Qwen3", _plain_decoder("Qwen3", head_dim=32)),
    Family("gemma2", "Gemma 2", _plain_decoder("Gemma2", head_dim=32, sliding_window=8)),
    Family("gemma3", "Gemma 3", _gemma3),
    Family("gpt2", "GPT-2", _gpt2),
    Family("mixtral", "Mixtral", _mixtral),
    Family("bert", "BERT", _bert),
    Family("modernbert", "ModernBERT", _modernbert),
    Family("vit", "ViT", _vit),
    Family("resnet", "ResNet", _resnet),
    Family("whisper", "Whisper", _whisper),
    Family("mamba", "Mamba", _mamba),
)
FAMILIES = {family.name: family for family in _LIST}
"""Every family, by name."""
