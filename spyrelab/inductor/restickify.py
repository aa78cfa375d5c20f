"""Copies of operands that a program cannot use where they lie, as steps of their own.

Eager hides them inside the operation. As steps they can be planned: their result may stay on the
cores, and one copy serves every reader.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from spyrelab.inductor.recorded import Step, Storage, View
from spyrelab.inductor.specs import problem_of
from spyrelab.layout import contiguous_strides
from spyrelab.opspec import Unsuitable
from spyrelab.opspec.spec import OpSpec

__all__ = ["Restickify"]

_MOST = 4
"""Operands of one operation that are worth moving."""


@dataclass
class Restickify:
    """Adds copies in front of, and behind, the steps that need them.

    Attributes
    ----------
    storages : dict
        All allocations; those of the copies are added.
    """

    storages: dict[str, Storage]
    spec_of: Callable[[Step, dict[str, Storage]], OpSpec | None]
    _copies: dict[View, View] = field(default_factory=dict)

    def around(self, step: Step) -> list[tuple[Step, OpSpec | None]]:
        """The step with its copies, and the spec of each; without, where no copy helps."""
        before: list[Step] = []
        behind: list[Step] = []
        new = step
        known = dict(self._copies)
        for _ in range(_MOST):
            spec = self.spec_of(new, self.storages)
            problem = problem_of(spec)
            if problem is None:
                steps = [*before, new, *behind]
                return [(part, self.spec_of(part, self.storages)) for part in steps]
            position = problem.position if isinstance(problem, Unsuitable) else -1
            if spec is None or position < 0:
                break
            moved = self._moved(new, position)
            if moved is None:
                break
            new, copy, is_input = moved
            if copy is not None:
                spec = self.spec_of(copy, self.storages)
                if spec is None or problem_of(spec) is not None:
                    break
                (before if is_input else behind).append(copy)
        self._copies = known
        return [(step, None)]

    def wrote(self, step: Step) -> None:
        """Forget copies of what a step has changed."""
        names = {view.name for view in step.outputs}
        self._copies = {v: c for v, c in self._copies.items() if v.name not in names}

    def _moved(self, step: Step, position: int) -> tuple[Step, Step | None, bool] | None:
        """The step with one operand in the default layout, and the copy that this takes."""
        count = len(step.inputs)
        is_input = position < count
        view = step.inputs[position] if is_input else step.outputs[position - count]
        if not isinstance(view, View):
            return None
        known = self._copies.get(view) if is_input else None
        new = known or self._fresh(view)
        if is_input:
            inputs = tuple(new if at == position else v for at, v in enumerate(step.inputs))
            self._copies[view] = new
            copy = None if known else Step("copy", (view,), (new,))
            return replace(step, inputs=inputs), copy, True
        outputs = tuple(new if at == position - count else v for at, v in enumerate(step.outputs))
        return replace(step, outputs=outputs), Step("copy", (new,), (view,)), False

    def _fresh(self, view: View) -> View:
        stride = contiguous_strides(view.size)
        name = f"{view.name}_copy{len(self.storages)}"
        self.storages[name] = Storage(view.size, stride, view.dtype)
        return View(name, view.size, stride, 0, view.dtype)
