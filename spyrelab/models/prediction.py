"""Time of a large language model on the card, from its dimensions alone.

The parts of the model are traced without memory, recorded as operations of the card, planned, and
priced; a layer that occurs forty times is planned once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from spyrelab.device.clock import Launch, estimate_of
from spyrelab.device.eager.launch import operand_in
from spyrelab.device.eager.recording import CHECK
from spyrelab.device.forms import Form, form_of, form_with_layout
from spyrelab.inductor.calls import Call, Of
from spyrelab.inductor.in_parallel import plan_ahead
from spyrelab.inductor.planning import planned
from spyrelab.inductor.recorded import Given, Recorded, Step, View, recorded
from spyrelab.layout import SpyreTensorLayout
from spyrelab.machine import SPYRE
from spyrelab.models.layers import Argument, Part, Phase, Role, trace_layers
from spyrelab.opspec import compile
from spyrelab.tiling import Plan

__all__ = ["Kernel", "PartTime", "Prediction", "predict", "recorded_part"]

_TURNS = ("aten.t.default", "aten.transpose.int", "aten.permute.default")


@dataclass(frozen=True)
class Kernel:
    """One launch.

    Attributes
    ----------
    name : str
        Its operations, or the first of them and how many more.
    seconds : float
    port_bytes : int
        Bytes across the memory port.
    """

    name: str
    seconds: float
    port_bytes: int


@dataclass(frozen=True)
class PartTime:
    """A part of the model, and how often it runs in its phase."""

    name: str
    count: int
    kernels: tuple[Kernel, ...]
    planned: int
    alone: int

    @property
    def seconds(self) -> float:
        """Of one run."""
        return sum(kernel.seconds for kernel in self.kernels)

    @property
    def port_bytes(self) -> int:
        """Of one run."""
        return sum(kernel.port_bytes for kernel in self.kernels)


@dataclass(frozen=True)
class Prediction:
    """What the card would need.

    Attributes
    ----------
    prefill, decode : tuple of PartTime
        For the whole prompt, and for one token behind a full cache.
    weight_bytes, cache_bytes, parameters : int
        Of the model.
    batch, prompt, tokens : int
        What was asked.
    """

    prefill: tuple[PartTime, ...]
    decode: tuple[PartTime, ...]
    weight_bytes: int
    cache_bytes: int
    parameters: int
    batch: int
    prompt: int
    tokens: int

    @property
    def prefill_seconds(self) -> float:
        """To the first token."""
        return _total(self.prefill)

    @property
    def token_seconds(self) -> float:
        """From one token to the next."""
        return _total(self.decode)

    @property
    def reading_seconds(self) -> float:
        """To read every weight once at the sustained rate of the card's memory.

        No token can be much faster; only of an embedding table of its own is little read.
        """
        return self.weight_bytes / SPYRE.ddr_read_bytes_per_second

    def shares(self, phase: str) -> list[tuple[str, float]]:
        """Share of each kind of kernel in a phase's time, largest first."""
        parts: tuple[PartTime, ...] = getattr(self, phase)
        seconds: Counter[str] = Counter()
        for part in parts:
            for kernel in part.kernels:
                seconds[kernel.name] += kernel.seconds * part.count  # type: ignore[assignment]
        whole = sum(seconds.values())
        return [(name, value / whole) for name, value in seconds.most_common()]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "batch": self.batch,
            "prompt": self.prompt,
            "tokens": self.tokens,
            "parameters": self.parameters,
            "weight_bytes": self.weight_bytes,
            "cache_bytes": self.cache_bytes,
            "prefill_ms": self.prefill_seconds * 1e3,
            "token_ms": self.token_seconds * 1e3,
            "reading_ms": self.reading_seconds * 1e3,
            "parts": [
                {
                    "phase": phase,
                    "name": part.name,
                    "count": part.count,
                    "us": part.seconds * 1e6,
                    "port_bytes": part.port_bytes,
                    "kernels": [[k.name, k.seconds * 1e6] for k in part.kernels],
                }
                for phase in ("prefill", "decode")
                for part in getattr(self, phase)
            ],
        }


def _total(parts: tuple[PartTime, ...]) -> float:
    return sum(part.seconds * part.count for part in parts)


def predict(
    config: Any,
    batch: int = 1,
    prompt: int = 128,
    tokens: int = 128,
    planner: str = "joint",
    told: Callable[[int, int], None] = lambda done, total: None,
) -> Prediction:
    """Predict prefill and per-token time of a causal language model in float16.

    Parameters
    ----------
    config : PreTrainedConfig
        As `spyrelab.models.presets.load_config` gives it.
    batch, prompt, tokens : int
        Sequences, tokens of each that are known, tokens to generate.
    planner : str
        As `spyrelab.tiling.plan` takes it.
    told : callable
        Called with the number of planned runs of operations and that of all, as planning goes on.

    Raises
    ------
    ModelTooLargeError
        Weights and cache do not fit into device memory.
    """
    traced = trace_layers(config, batch, prompt, tokens)
    recorded = {part: recorded_part(part) for part in traced.parts}
    plan_ahead(list(recorded.values()), planner, told=told)
    times = {
        phase: tuple(_time_of(part, recorded[part], planner) for part in traced.of(phase))
        for phase in Phase
    }
    return Prediction(
        times[Phase.PREFILL],
        times[Phase.DECODE],
        traced.weight_bytes,
        traced.cache_bytes,
        traced.parameters,
        batch,
        prompt,
        tokens,
    )


def _time_of(part: Part, recorded: Recorded, planner: str) -> PartTime:
    found = planned(recorded, planner)
    kernels = list(_kernels(found))
    settled = sum(len(b.specs) for plan in found.plans for b in plan.bundles)
    return PartTime(part.name, part.count, tuple(kernels), settled, len(found.steps))


def recorded_part(part: Part) -> Recorded:
    """What a part launches, none of it planned."""
    places = [node for node in part.graph.graph.nodes if node.op == "placeholder"]
    given = {
        node.name: _given(argument, _is_only_turned(node, argument))
        for node, argument in zip(places, part.arguments, strict=True)
    }
    calls, results = _calls(part.graph)
    return recorded(calls, given, results)


def _given(argument: Argument, turned: bool) -> Given:
    value = argument.value
    size, stride = tuple(value.shape), value.stride()
    form: Form = form_of(size, stride, value.dtype)
    if turned:
        layout = SpyreTensorLayout.default(size, value.dtype, (1, 0))
        form = form_with_layout(size, value.dtype, layout)
    return Given(form, size, stride, 0, value.dtype)


def _is_only_turned(node: torch.fx.Node, argument: Argument) -> bool:
    """Whether a weight is only read transposed: a compiled model lays it out for that."""
    if argument.role is not Role.WEIGHT or argument.value.dim() != 2 or not node.users:
        return False
    return all(str(user.target) in _TURNS for user in node.users)


def _calls(graph: torch.fx.GraphModule) -> tuple[list[Call], list[str]]:
    """A graph of ATen operations as calls, and the names of its results."""
    known: dict[torch.fx.Node, Any] = {}
    calls: list[Call] = []
    for node in graph.graph.nodes:
        if node.op == "placeholder":
            known[node] = _of(node.name, node.meta["val"])
        elif node.op == "output":
            leaves = torch.utils._pytree.tree_leaves(node.args)
            return calls, [known[leaf].name for leaf in leaves if isinstance(leaf, torch.fx.Node)]
        elif "getitem" in str(node.target):
            known[node] = known[node.args[0]][node.args[1]]
        else:
            args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: known[n])
            made = node.meta["val"]
            several = isinstance(made, tuple | list)
            values = made if several else [made]
            names = [f"{node.name}_{n}" if several else node.name for n in range(len(values))]
            results = tuple(_of(name, value) for name, value in zip(names, values, strict=True))
            known[node] = results if several else results[0]
            calls.append(Call(str(node.target), args, kwargs, results))
    return calls, []


def _of(name: str, value: Any) -> Of | None:
    if not isinstance(value, torch.Tensor):
        return None
    return Of(name, tuple(value.shape), value.stride())


def _kernels(found: Recorded) -> Iterator[Kernel]:
    for entry in found.parts:
        if isinstance(entry, Plan):
            for bundle in entry.bundles:
                names = [spec.op for spec in bundle.specs]
                yield Kernel(_label(names), bundle.seconds, bundle.port_bytes)
        elif entry.op != CHECK:  # what the host looks at takes no time of the card
            yield from _step_kernels(entry, found.storages)


def _label(names: list[str]) -> str:
    return " + ".join(names) if len(names) < 5 else f"{names[0]} + {len(names) - 1} more"


def _step_kernels(step: Step, storages: Mapping[str, Any]) -> Iterator[Kernel]:
    """Launches of a step that no plan holds; each compiled as eager does it."""

    def operand(view: View) -> Any:
        form = storages[view.name].form
        return operand_in(form, view.dtype, view.size, view.stride, view.offset)[0]

    inputs = [
        operand(value) if isinstance(value, View) else _type_of(value) for value in step.inputs
    ]
    compiled = compile(step.op, inputs, [operand(v) for v in step.outputs], **step.attributes)
    for launch in compiled.steps:
        made = estimate_of(Launch(launch.program, None, step.op))
        yield Kernel(step.op, made.seconds, round(made.port_bytes))


def _type_of(value: float) -> str:
    return "f32" if isinstance(value, float) else "i64"
