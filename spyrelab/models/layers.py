"""A large language model in parts: its embedding, every distinct layer, its head, as FX graphs.

Layers of the same kind have the same graph, so a model of forty equal layers is three graphs for
the prompt and three for each further token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from spyrelab.errors import UsageError
from spyrelab.models.capture import HIDDEN, Call, captured, replaced_layers
from spyrelab.models.fakes import FakeModel, build_fake, check_room, fake_bytes
from spyrelab.models.state import CacheState, kind_of

__all__ = ["Argument", "Part", "Phase", "Role", "Traced", "trace_layers"]


class Phase(Enum):
    """Which tokens a part computes."""

    PREFILL = "prefill"
    DECODE = "decode"


class Role(Enum):
    """What an argument of a part is."""

    WEIGHT = "weight"
    CACHE = "cache"
    VALUE = "value"


@dataclass(frozen=True)
class Argument:
    """A placeholder of a part's graph, in order; ``value`` is its fake tensor."""

    name: str
    role: Role
    value: torch.Tensor


@dataclass(frozen=True, eq=False)
class Part:
    """A piece of the model.

    Attributes
    ----------
    name : str
        ``embedding`` (with positions and masks), ``layer 0`` (by the first of its kind) or
        ``head`` (the last norm too).
    phase : Phase
    layers : tuple of int
        The layers that this graph stands for; empty for embedding and head.
    graph : GraphModule
        ATen operations on fake tensors of the card. Written cache entries are copied into
        their placeholders at the end.
    arguments : tuple of Argument
        Their order. Layers name what they get from the embedding as its ``results`` do, and the
        cache of the first layer of their kind stands for that of each.
    results : tuple of str
        What the graph returns.
    """

    name: str
    phase: Phase
    layers: tuple[int, ...]
    graph: torch.fx.GraphModule
    arguments: tuple[Argument, ...]
    results: tuple[str, ...]

    @property
    def count(self) -> int:
        """How often it runs."""
        return max(1, len(self.layers))


@dataclass(frozen=True, eq=False)
class Traced:
    """All parts of a model.

    Attributes
    ----------
    parts : tuple of Part
        Of the prefill, then of one decoded token, in the order in which they run.
    weight_bytes, cache_bytes : int
        Device bytes of all weights, and of the cache of keys and values.
    parameters : int
        Number of weights, shared ones once.
    """

    parts: tuple[Part, ...]
    weight_bytes: int
    cache_bytes: int
    parameters: int

    def of(self, phase: Phase) -> tuple[Part, ...]:
        """The parts of one phase."""
        return tuple(part for part in self.parts if part.phase is phase)


def trace_layers(
    config: Any,
    batch: int = 1,
    prompt: int = 128,
    tokens: int = 128,
    dtype: torch.dtype = torch.float16,
) -> Traced:
    """Trace the parts of a causal language model on the card; nothing is computed.

    The cache of keys and values is static, ``prompt + tokens`` long; the head computes the
    logits of the last position only.

    Parameters
    ----------
    config : PreTrainedConfig
        As `presets.load_config` gives it.
    batch, prompt, tokens : int
        Sequences, tokens of each that are known, tokens to generate.

    Raises
    ------
    ModelTooLargeError
        Weights and cache do not fit into device memory.
    UsageError
        A number below 1, or more tokens than the model has positions for.
    UnknownModelError, MissingTransformersError
    """
    _check(config, batch, prompt, tokens)
    fake = build_fake(config, dtype)
    with fake.active():
        cache = fake.static_cache(batch, prompt + tokens)
        state = CacheState(cache)
        cache_bytes = sum(map(fake_bytes, state.tensors()))
        weight_bytes = check_room(fake.model, cache_bytes)
        parts: list[Part] = []
        for phase, count in ((Phase.PREFILL, prompt), (Phase.DECODE, 1)):
            index = torch.ones(batch, count, dtype=torch.int64)
            parts += _Tracer(fake, cache, phase, index).parts()
            fake.model(index, **_how(cache))  # so that the cache is as full as afterwards
    parameters = sum(parameter.numel() for parameter in fake.model.parameters())
    return Traced(tuple(parts), weight_bytes, cache_bytes, parameters)


def _check(config: Any, batch: int, prompt: int, tokens: int) -> None:
    for name, value in (("batch", batch), ("prompt", prompt), ("tokens", tokens)):
        if value < 1:
            raise UsageError(f"{name} is {value}; it must be at least 1")
    longest = getattr(config, "max_position_embeddings", None)
    if longest is not None and prompt + tokens > longest:
        raise UsageError(
            f"prompt and tokens are {prompt + tokens} together; the model takes {longest}"
        )


class _Tracer:
    """The parts of one phase."""

    def __init__(self, fake: FakeModel, cache: Any, phase: Phase, index: torch.Tensor) -> None:
        self.fake, self.cache, self.phase, self.index = fake, cache, phase, index
        with CacheState(cache).kept():
            self.calls = captured(fake.model, lambda: fake.model(index, **_how(cache)))
        self.names = _names(self.calls)

    def parts(self) -> list[Part]:
        """In order of running."""
        layers = self._layers()
        used = {argument.name for part in layers for argument in part.arguments}
        return [self._embedding(used), *layers, self._head()]

    def _embedding(self, used: set[str]) -> Part:
        names = list(dict.fromkeys(self.names.values()))
        model, state = self.fake.model, CacheState(self.cache)

        def run(weights: Sequence[Any], given: Sequence[Any]) -> list[Any]:
            found: list[Call] = []

            def note(layer: int, call: Call) -> torch.Tensor:
                found.append(call)
                return call.hidden

            with state.holding(given[:-1]), replaced_layers(model, note):
                _called(model, weights, (given[-1],), _how(self.cache))
            made = _distinct(tensor for call in found for tensor in call.tensors())
            return [tensor for name, tensor in zip(names, made, strict=True) if name in used]

        inputs = [*state.arguments(), ("input_ids", self.index)]
        results = tuple(name for name in names if name in used)
        return self._part("embedding", (), model, run, inputs, results)

    def _head(self) -> Part:
        model = self.fake.model
        last = len(self.calls) - 1

        def run(weights: Sequence[Any], given: Sequence[Any]) -> Any:
            def end(layer: int, call: Call) -> Any:
                return given[0] if layer == last else call.hidden

            with CacheState(self.cache).kept(), replaced_layers(model, end):
                return _called(model, weights, (self.index,), _how(self.cache)).logits

        inputs = [(HIDDEN, self.calls[0].hidden)]
        return self._part("head", (), model, run, inputs, ("logits",))

    def _layers(self) -> list[Part]:
        kinds: dict[Any, list[int]] = {}
        for number, call in enumerate(self.calls):
            kinds.setdefault(kind_of(call, self.cache, number), []).append(number)
        return [self._layer(numbers) for numbers in kinds.values()]

    def _layer(self, numbers: list[int]) -> Part:
        call = self.calls[numbers[0]]
        state = CacheState(self.cache, numbers[0])
        kept = len(state.tensors())

        def run(weights: Sequence[Any], given: Sequence[Any]) -> Any:
            with state.holding(given[:kept]):
                return _called(call.layer, weights, *call.given(given[kept:]))

        inputs = state.arguments() + [(self.names[id(t)], t) for t in call.tensors()]
        name = f"layer {numbers[0]}"
        return self._part(name, tuple(numbers), call.layer, run, inputs, (HIDDEN,))

    def _part(
        self,
        name: str,
        layers: tuple[int, ...],
        module: torch.nn.Module,
        run: Callable[[Sequence[Any], Sequence[Any]], Any],
        inputs: Sequence[tuple[str, torch.Tensor]],
        results: tuple[str, ...],
    ) -> Part:
        weights = [Argument(n, Role.WEIGHT, tensor) for n, tensor in _tensors_of(module)]
        given = [
            Argument(label, Role.CACHE if label.startswith("cache.") else Role.VALUE, tensor)
            for label, tensor in inputs
        ]
        arguments = [*weights, *given]

        def flat(*tensors: Any) -> Any:
            return run(tensors[: len(weights)], tensors[len(weights) :])

        plain = torch.func.functionalize(flat, remove="mutations")
        graph = make_fx(plain)(*(argument.value for argument in arguments))
        return Part(name, self.phase, layers, graph, _pruned(graph, arguments), results)


def _names(calls: Sequence[Call]) -> dict[int, str]:
    """A name for every tensor that layers get; hidden states have the same name everywhere."""
    names: dict[int, str] = {}
    for call in calls:
        for label, tensor in call.arguments():
            if tensor is call.hidden:
                names[id(tensor)] = HIDDEN
            elif id(tensor) not in names:
                again = sum(name.partition("#")[0] == label for name in names.values())
                names[id(tensor)] = f"{label}#{again}" if again else label
    return names


def _tensors_of(module: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    return [*module.named_parameters(), *module.named_buffers()]


def _called(
    module: torch.nn.Module, weights: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a module that has other weights (and buffers), in the order of `_tensors_of`."""
    names = [name for name, _ in _tensors_of(module)]
    own = dict(zip(names, weights, strict=True))
    return torch.func.functional_call(module, own, args, kwargs)


def _how(cache: Any) -> dict[str, Any]:
    return {"past_key_values": cache, "use_cache": True, "logits_to_keep": 1}


def _distinct(tensors: Any) -> list[Any]:
    """Tensors without repetitions, in order."""
    return list({id(tensor): tensor for tensor in tensors}.values())


def _pruned(graph: torch.fx.GraphModule, arguments: list[Argument]) -> tuple[Argument, ...]:
    """Remove what the result does not need; the arguments that are left."""
    graph.graph.eliminate_dead_code()
    kept = []
    for node, argument in zip(graph.graph.find_nodes(op="placeholder"), arguments, strict=True):
        if node.users:
            node.meta["val"] = argument.value
            kept.append(argument)
        else:
            graph.graph.erase_node(node)
    graph.recompile()
    return tuple(kept)
