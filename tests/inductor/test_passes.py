"""Each pass alone on recorded steps, and all of them on what torch records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from spyrelab.inductor import config, runs
from spyrelab.inductor.passes import ORDER, run_all
from spyrelab.inductor.passes.checks import Checks
from spyrelab.inductor.passes.constants import Constants
from spyrelab.inductor.passes.dead import Dead
from spyrelab.inductor.passes.duplicates import Duplicates
from spyrelab.inductor.passes.fusion import Fusion
from spyrelab.inductor.passes.layouts import Layouts
from spyrelab.inductor.passes.padding import Padding
from spyrelab.inductor.recorded import Recorded, Step, Storage, View
from spyrelab.inductor.specs import alone_in, spec_of_step
from tests.inductor.compare import assert_close, device

SIZE, STRIDE = (4, 64), (64, 1)


def view(name: str) -> View:
    return View(name, SIZE, STRIDE, 0, torch.float16)


def step(op: str, *names: Any, out: str = "") -> Step:
    inputs = tuple(view(n) if isinstance(n, str) else n for n in names)
    return Step(op, inputs, (view(out),) if out else ())


def program(*steps: Step, results: Sequence[str] = ("r",)) -> Recorded:
    names = {v.name for s in steps for v in (*s.inputs, *s.outputs) if isinstance(v, View)}
    storages = {n: Storage(SIZE, STRIDE, torch.float16) for n in sorted({*names, "x"})}
    return Recorded((view("x"),), storages, steps, tuple(map(view, results)), ("aten.op",))


def ops(found: Recorded) -> list[str]:
    return [f"{s.op} {s.outputs[0].name}" if s.outputs else s.op for s in found.steps]


def test_dead_steps_go_with_those_that_only_they_read() -> None:
    given = program(
        step("abs", "x", out="a"),
        step("neg", "a", out="b"),
        step("exp", "x", out="r"),
        step("neg", "r", out="x"),
    )
    found, changed = (made := Dead().run(given)).recorded, made.changed
    assert ops(found) == ["exp r", "neg x"]
    assert changed == ("abs dropped: nobody reads a", "neg dropped: nobody reads b")
    assert set(found.storages) == {"x", "r"}
    assert Dead().run(found).changed == () and Dead().run(found).recorded is found


def test_checks_of_inputs_come_first_and_others_stay() -> None:
    given = program(
        step("abs", "x", out="a"), step("check_range", "a"), step("check_range", "x"),
        step("exp", "a", out="r"),
    )  # fmt: skip
    found = Checks().run(given)
    assert ops(found.recorded) == ["check_range", "abs a", "check_range", "exp r"]
    assert found.recorded.steps[0].inputs == (view("x"),)
    assert found.changed == ("1 check of indices before everything else",)
    written = program(step("abs", "x", out="x"), step("check_range", "x"), results=())
    assert Checks().run(written).recorded is written


def test_constants_come_first_and_once() -> None:
    given = program(
        step("abs", "x", out="a"), step("fill", 0.0, out="z"), step("add", "a", "z", out="b"),
        step("fill", 0.0, out="y"), step("fill", -0.0, out="w"), step("add", "b", "y", out="c"),
        step("add", "c", "w", out="r"),
    )  # fmt: skip
    found = Constants().run(given)
    assert ops(found.recorded) == ["fill z", "fill w", "abs a", "add b", "add c", "add r"]
    assert found.recorded.steps[4].inputs == (view("b"), view("z"))
    assert "fill: y is z" in found.changed and "w is made first" in found.changed
    assert Constants().run(found.recorded).changed == ()


def test_a_constant_that_is_written_later_is_nobody_elses() -> None:
    given = program(
        step("fill", 0.0, out="z"), step("fill", 0.0, out="y"), step("add", "y", "x", out="y"),
        step("add", "y", "z", out="r"),
    )  # fmt: skip
    assert Constants().run(given).recorded is given
    late = program(step("add", "z", "x", out="r"), step("fill", 0.0, out="z"), results=("r", "z"))
    assert Constants().run(late).recorded is late
    kept = program(step("fill", 0.0, out="r"), step("fill", 0.0, out="s"), results=("r", "s"))
    assert Constants().run(kept).recorded is kept


def test_equal_steps_are_done_once() -> None:
    given = program(
        step("abs", "x", out="a"), step("abs", "x", out="b"), step("exp", "a", out="c"),
        step("exp", "b", out="d"), step("add", "c", "d", out="r"),
    )  # fmt: skip
    found = Duplicates().run(given)
    assert ops(found.recorded) == ["abs a", "exp c", "add r"]
    assert found.recorded.steps[-1].inputs == (view("c"), view("c"))
    assert found.changed == ("abs: b is a", "exp: d is c")


def test_steps_on_what_was_written_in_between_are_not_equal() -> None:
    given = program(
        step("abs", "x", out="a"), step("neg", "x", out="x"), step("abs", "x", out="b"),
        step("add", "a", "b", out="r"),
    )  # fmt: skip
    assert Duplicates().run(given).recorded is given


def test_numbers_that_are_equal_but_not_the_same() -> None:
    given = program(
        step("mul", "x", 1, out="a"), step("mul", "x", 1.0, out="b"),
        step("mul", "x", True, out="c"), step("add", "a", "b", out="d"),
        step("add", "c", "d", out="r"),
    )  # fmt: skip
    assert Duplicates().run(given).recorded is given


def test_layouts_add_copies_that_can_be_planned() -> None:
    weight, x = View("w", (64, 64), (1, 64), 0, torch.float16), view("x")
    given = Recorded(
        (x, View("w", (64, 64), (64, 1), 0, torch.float16)),
        {n: Storage(s, (64, 1), torch.float16) for n, s in
         (("x", SIZE), ("w", (64, 64)), ("r", SIZE), ("q", SIZE))},
        (Step("matmul", (x, weight), (view("q"),)), Step("matmul", (view("q"), weight),
         (view("r"),))),
        (view("r"),), (),
    )  # fmt: skip
    found = Layouts().run(given)
    names = [s.op for s in found.recorded.steps]
    assert names == ["copy", "matmul", "matmul"]
    assert len(found.changed) == 1
    alone = alone_in(found.recorded)
    assert all(spec_of_step(s, found.recorded.storages, alone) for s in found.recorded.steps)


def test_padding_changes_nothing_and_counts_lanes() -> None:
    given = program(step("abs", "x", out="r"))
    assert Padding().run(given).recorded is given
    assert Padding().lanes(given) == {"x": 0, "r": 0}


def test_fusion_makes_plans() -> None:
    given = program(step("abs", "x", out="a"), step("exp", "a", out="r"))
    found = Fusion().run(given, "joint")
    (plan,) = found.recorded.plans
    assert found.recorded.steps == () and plan.live_out == {"r"}
    assert found.changed == ("one launch of 2: abs, exp",)


def test_equal_runs_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs._known.clear()
    first = run_all(program(step("abs", "x", out="a"), step("exp", "a", out="r")), "joint")[0]

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("planned twice")

    monkeypatch.setattr(runs, "plan", refuse)
    other = program(step("abs", "x", out="t"), step("exp", "t", out="u"), results=("u",))
    second = run_all(other, "joint")[0]
    assert second.plans[0].live_out == {"u"} and first.plans[0].live_out == {"r"}
    text = repr(first.plans[0])
    for old, new in (('"a"', '"t"'), ('"r"', '"u"'), ("'r'", "'u'")):
        text = text.replace(old, new)
    assert repr(second.plans[0]) == text


def test_other_results_make_another_plan() -> None:
    steps = step("abs", "x", out="a"), step("exp", "a", out="r")
    run_all(program(*steps), "joint")
    found = run_all(program(*steps, results=("a", "r")), "joint")[0]
    assert found.plans[0].live_out == {"a", "r"}


def test_names_tell_passes_apart() -> None:
    names = [each.name for each in ORDER]
    assert len(set(names)) == len(names) and names[-1] == "fusion"


def constants(x: Any) -> Any:
    return x + torch.zeros_like(x) + x.relu(), x.exp() * torch.full_like(x, 2) + x.exp()


def test_what_torch_records_computes_the_same_after_all_passes() -> None:
    x = device(5, 33)
    with config.patch(planner="joint"):
        assert_close(torch.compile(constants)(x), constants(x))
