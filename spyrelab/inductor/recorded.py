"""What a run of calls launches: each program's operation on views of named storages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from spyrelab.device.allocations import entry_of
from spyrelab.device.eager.recording import NeedsValues, Request, phantom, record
from spyrelab.device.forms import Form, form_of, form_with_layout, linear_form
from spyrelab.inductor.calls import Call
from spyrelab.layout import SpyreTensorLayout
from spyrelab.tiling import Plan

__all__ = ["Given", "Part", "Recorded", "Step", "Storage", "View", "record_one", "recorded"]


@dataclass(frozen=True)
class Storage:
    """An allocation; ``layout`` where it is not the default one, ``linear`` where it has none."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    layout: SpyreTensorLayout | None = None
    linear: bool = False

    @property
    def form(self) -> Form:
        """How it lies in device memory."""
        if self.linear:
            return linear_form(self.size, self.stride, self.dtype)
        if self.layout is None:
            return form_of(self.size, self.stride, self.dtype)
        return form_with_layout(self.size, self.dtype, self.layout)

    def __repr__(self) -> str:
        layout = "" if self.layout is None else f", {self.layout!r}"
        layout += ", linear=True" if self.linear else ""
        return f"Storage({self.size}, {self.stride}, {self.dtype}{layout})"


def storage_of(form: Form) -> Storage:
    """What generated code says of an allocation."""
    default = form_of(form.size, form.stride, form.dtype)
    layout = None if default is form or default.layout == form.layout else form.layout
    linear = form.layout is None and default.layout is not None
    return Storage(form.size, form.stride, form.dtype, layout, linear)


@dataclass(frozen=True)
class View:
    """A strided view of a named storage; ``offset`` counts from its beginning."""

    name: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype

    def __repr__(self) -> str:
        return f'View("{self.name}", {self.size}, {self.stride}, {self.offset}, {self.dtype})'


@dataclass(frozen=True)
class Step:
    """An operation as `spyrelab.opspec.compile` takes it."""

    op: str
    inputs: tuple[View | float, ...]
    outputs: tuple[View, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    hint: Mapping[str, Any] | None = None

    def __repr__(self) -> str:
        parts = [f'"{self.op}"', repr(self.inputs), repr(self.outputs), repr(self.attributes)]
        parts += [f"hint={dict(self.hint)!r}"] if self.hint else []
        return f"Step({', '.join(parts)})"


Part = Step | Plan


@dataclass(frozen=True)
class Recorded:
    """A run of calls as launches.

    Attributes
    ----------
    inputs : tuple of View
        What was given, in order.
    storages : dict
        Every allocation by name: inputs, results, and what lives only inside.
    parts : tuple of Step and Plan
        What is launched, in order.
    results : tuple of View
        What is wanted afterwards, in the order asked for.
    natives : tuple of str
        Operations of ATen, for the ledger.
    """

    inputs: tuple[View, ...]
    storages: Mapping[str, Storage]
    parts: tuple[Part, ...]
    results: tuple[View, ...]
    natives: tuple[str, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is launched by itself."""
        return tuple(part for part in self.parts if isinstance(part, Step))

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What is planned together."""
        return tuple(part for part in self.parts if isinstance(part, Plan))

    def fits(self, given: Sequence[Given]) -> bool:
        """Whether these inputs are like those that it was recorded with."""
        return all(
            (view.size, view.stride, view.offset, view.dtype)
            == (seen.size, seen.stride, seen.offset, seen.dtype)
            and self.storages[view.name] == storage_of(seen.form)
            for view, seen in zip(self.inputs, given, strict=True)
        )

    def __repr__(self) -> str:
        text = "".join(f"{part!r},\n" for part in self.parts)
        parts = "".join(f"        {line}\n" for line in text.splitlines())
        storages = "".join(f"        {n!r}: {s!r},\n" for n, s in self.storages.items())
        return (
            f"Recorded(\n    {self.inputs!r},\n    {{\n{storages}    }},\n    (\n{parts}    ),\n"
            f"    {self.results!r},\n    {self.natives!r},\n)"
        )


@dataclass(frozen=True)
class Given:
    """An input: the allocation that it lies in, and where in that."""

    form: Form
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: torch.dtype

    @staticmethod
    def of(tensor: torch.Tensor) -> Given:
        """What is given with a tensor of the device."""
        offset: Any = tensor.storage_offset()
        form = entry_of(tensor).form
        return Given(form, tuple(tensor.shape), tensor.stride(), offset, tensor.dtype)

    def phantom(self) -> torch.Tensor:
        """A tensor that looks like it."""
        whole = phantom(self.form)
        if self.dtype != self.form.dtype:
            whole = whole.view(self.dtype)
        if self.form.size == self.size and self.form.stride == self.stride and not self.offset:
            return whole
        return torch.as_strided(whole, self.size, self.stride, self.offset)


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Outside of tracing, autocasting and differentiating, whatever the caller is doing."""
    with (
        _disable_current_modes(),
        torch._C._DisablePythonDispatcher(),
        torch._C._DisableAutocast(),
        torch.no_grad(),
    ):
        yield


def recorded(calls: Sequence[Call], inputs: Mapping[str, Given], wanted: Sequence[str]) -> Recorded:
    """Record a run of calls.

    Raises
    ------
    NeedsValues
        It cannot be done without the elements of a tensor, or not on the device.
    """
    with _alone(), record() as recorder:
        tensors = {name: given.phantom() for name, given in inputs.items()}
        names = _Names()
        for name, tensor in tensors.items():
            names.give(name, tensor)
        given = tuple(names.view(tensor) for tensor in tensors.values())
        hints: list[Any] = []
        for call in calls:
            call.run(tensors)
            hints += [call.hint] * (len(recorder.requests) - len(hints))
            for result in call.results:
                if result is not None:
                    names.give(result.name, tensors[result.name])
        steps = tuple(
            _step(request, hint, names)
            for request, hint in zip(recorder.requests, hints, strict=True)
        )
        results = tuple(names.view(tensors[name]) for name in wanted)
    touched = [v for s in steps for v in (*s.inputs, *s.outputs) if isinstance(v, View)]
    used = {view.name for view in (*given, *touched, *results)}
    storages = {name: form for name, form in names.storages.items() if name in used}
    return Recorded(given, storages, steps, results, tuple(recorder.natives))


def record_one(call: Call, inputs: Mapping[str, Given]) -> dict[str, Given]:
    """What a call makes, by name.

    Raises
    ------
    NeedsValues
        It cannot be done without the elements of a tensor, or not on the device.
    """
    with _alone(), record():
        tensors = {name: given.phantom() for name, given in inputs.items()}
        call.run(tensors)
        made = [r.name for r in call.results if r is not None]
        if any(tensors[name].is_conj() or tensors[name].is_neg() for name in made):
            raise NeedsValues("a view that is conjugated or negated when read")
        return {name: Given.of(tensors[name]) for name in made}


class _Names:
    """Names of storages: of the first tensor in each, else numbered."""

    def __init__(self) -> None:
        self.storages: dict[str, Storage] = {}
        self._known: dict[int, tuple[Any, str]] = {}

    def give(self, name: str, tensor: torch.Tensor) -> None:
        """Name the storage of a tensor, unless it has a name."""
        if tensor.device.type == "spyre":
            entry = entry_of(tensor)
            if id(entry) not in self._known:
                self._known[id(entry)] = entry, name
                self.storages[name] = storage_of(entry.form)

    def view(self, tensor: torch.Tensor) -> View:
        """A tensor by the name of its storage."""
        entry = entry_of(tensor)
        if id(entry) not in self._known:
            self.give(f"tmp{len(self._known)}", tensor)
        offset: Any = tensor.storage_offset()
        name = self._known[id(entry)][1]
        return View(name, tuple(tensor.shape), tensor.stride(), offset, tensor.dtype)


def _step(request: Request, hint: Any, names: _Names) -> Step:
    inputs = tuple(
        names.view(value) if isinstance(value, torch.Tensor) else value for value in request.inputs
    )
    outputs = tuple(names.view(tensor) for tensor in request.outputs)
    return Step(request.op, inputs, outputs, dict(request.attributes), hint)
