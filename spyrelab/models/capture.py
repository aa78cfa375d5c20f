"""What a model hands to each of its layers, and models whose layers are left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from spyrelab.models.errors import UnknownModelError

__all__ = ["HIDDEN", "Call", "captured", "layers_of", "replaced_layers"]

HIDDEN = "hidden_states"
"""What a layer changes."""

Stub = Callable[[int, "Call"], torch.Tensor]


@dataclass(frozen=True, eq=False)
class Call:
    """One layer and its arguments."""

    layer: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def hidden(self) -> torch.Tensor:
        """The hidden states that the layer is given."""
        found: torch.Tensor = self.args[0] if self.args else self.kwargs[HIDDEN]
        return found

    def arguments(self) -> list[tuple[str, torch.Tensor]]:
        """Names and tensors of all tensors among the arguments; each tensor once."""
        found: dict[int, tuple[str, torch.Tensor]] = {}
        named = {**dict(zip(_parameters(self.layer), self.args, strict=False)), **self.kwargs}
        for path, value in pytree.tree_flatten_with_path(named)[0]:
            if isinstance(value, torch.Tensor) and id(value) not in found:
                found[id(value)] = _label(path), value
        return list(found.values())

    def tensors(self) -> list[torch.Tensor]:
        """Those tensors."""
        return [tensor for _, tensor in self.arguments()]

    def given(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other tensors in place of `tensors`, in the same order."""
        own = {id(mine): other for mine, other in zip(self.tensors(), tensors, strict=True)}
        leaves, spec = pytree.tree_flatten((self.args, self.kwargs))
        changed = pytree.tree_unflatten([own.get(id(leaf), leaf) for leaf in leaves], spec)
        return changed[0], changed[1]

    def settings(self) -> tuple[str, ...]:
        """What the other arguments are, as far as they are plain values."""
        leaves = pytree.tree_leaves((self.args, self.kwargs))
        return tuple(repr(v) for v in leaves if isinstance(v, bool | int | float | str | None))


def _parameters(layer: torch.nn.Module) -> list[str]:
    return list(inspect.signature(type(layer).forward).parameters)[1:]


def _label(path: Any) -> str:
    """``position_embeddings.0`` for the place of an argument."""
    return ".".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path)


def layers_of(model: torch.nn.Module) -> torch.nn.ModuleList:
    """The layers of a language model.

    Raises
    ------
    UnknownModelError
        It has no list of as many modules as its configuration says.
    """
    count = model.config.num_hidden_layers  # type: ignore[union-attr]
    for module in model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == count:
            return module
    raise UnknownModelError(f"{type(model).__name__} has no list of {count} layers")


def captured(model: torch.nn.Module, run: Callable[[], Any]) -> list[Call]:
    """The calls of all layers during ``run``, in order."""
    found: list[Call] = []

    def note(layer: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        found.append(Call(layer, args, kwargs))

    with ExitStack() as hooks:
        for layer in layers_of(model):
            hook = layer.register_forward_pre_hook(note, with_kwargs=True)
            hooks.callback(hook.remove)
        run()
    return found


@contextmanager
def replaced_layers(model: torch.nn.Module, stub: Stub) -> Iterator[None]:
    """Let every layer return ``stub(number, call)`` instead of computing."""
    with ExitStack() as undo:
        for number, layer in enumerate(layers_of(model)):
            layer.forward = _stubbed(number, layer, stub)
            undo.callback(layer.__dict__.pop, "forward")
        yield


def _stubbed(number: int, layer: torch.nn.Module, stub: Stub) -> Callable[..., Any]:
    def forward(*args: Any, **kwargs: Any) -> torch.Tensor:
        return stub(number, Call(layer, args, kwargs))

    return forward
