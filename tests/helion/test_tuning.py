"""Tuning asks for predicted time, runs nothing, and keeps what it learned."""

from __future__ import annotations

import json
import math

import helion
import pytest
import torch

import spyrelab
from spyrelab.helion import Trial, Tuning, TuningError, provider, tune
from spyrelab.helion.examples import matmul, softmax
from spyrelab.helion.search_space import MEANINGLESS
from tests.helion.kernels import bmm, centre_columns


@pytest.fixture(scope="module")
def operands():
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randn(256, 256, generator=generator).half() for _ in range(2))
    return a.to("spyre"), b.to("spyre")


def sizes(kernel, args):
    """Blocks that a tuner starts from: smallest and largest."""
    spec = kernel.bind(args).config_spec
    return [
        (fragment.low, fragment.high)
        for fragment in (item._fragment(spec) for item in spec.block_sizes)
    ]


def test_a_search_finds_the_fastest_and_runs_nothing(operands):
    with spyrelab.record() as seen:
        found = tune(matmul, operands, budget=15, search="RandomSearch")
    assert not seen.kernels and len(found.trials) == 15
    assert found.milliseconds == min(t.milliseconds for t in found.trials) == found.best_so_far[-1]
    with spyrelab.record() as seen:
        product = matmul(*operands)  # as tuned
    assert [launch.op for launch in seen.kernels] == ["_helion_matmul"]
    assert seen.seconds * 1e3 == pytest.approx(found.milliseconds, rel=1e-9)
    a, b = (x.cpu().float() for x in operands)
    torch.testing.assert_close(product.cpu().float(), a @ b, atol=5e-2, rtol=2e-3)


def test_equal_seeds_find_the_same_and_leave_chance_alone(operands):
    import random

    random.seed(9)
    state = random.getstate()
    first = tune(softmax, operands[:1], budget=12, seed=3)  # past the 10 that chance proposes
    assert random.getstate() == state
    again = tune(softmax, operands[:1], budget=12, seed=3)
    other = tune(softmax, operands[:1], budget=3, seed=4)
    assert [t.config for t in first.trials] == [t.config for t in again.trials]
    assert (first.config, first.milliseconds) == (again.config, again.milliseconds)
    assert [t.config for t in first.trials[:3]] != [t.config for t in other.trials]


def test_helions_own_search_uses_predictions(operands):
    kernel = helion.kernel(configs=[helion.Config(block_sizes=[m, 64, 64]) for m in (16, 256)])(
        matmul.fn
    )
    with spyrelab.record() as seen:
        chosen = kernel.autotune(operands, force=False)
    assert not seen.kernels
    times = [
        tune(matmul, operands, configs=[{"block_sizes": [m, 64, 64]}]).milliseconds
        for m in (16, 256)
    ]
    assert chosen["block_sizes"] == [(16, 256)[times.index(min(times))], 64, 64]


def test_tiles_that_do_not_fit_are_skipped_with_the_reason(operands):
    huge = torch.zeros(2048, 2048, device="spyre", dtype=torch.float16)
    sides = [1024, 64]
    found = tune(matmul, (huge, huge), configs=[{"block_sizes": [n, n, 64]} for n in sides])
    (skipped,) = found.skipped
    assert skipped.config["block_sizes"] == [1024, 1024, 64]
    assert "scratchpad" in skipped.reason and "2,097,152" in skipped.reason
    assert ".py:" in skipped.reason and "/" not in skipped.reason  # no place on one machine
    assert found.config["block_sizes"] == [64, 64, 64] and "1 skipped" in repr(found)
    with pytest.raises(TuningError, match=r"none of 1 configurations.*scratchpad"):
        tune(matmul, (huge, huge), configs=[{"block_sizes": [1024, 1024, 64]}])


def test_searched_blocks_end_in_whole_sticks(operands):
    rows, columns, inner = sizes(matmul, operands)
    assert rows[0] < 64 and columns == (64, columns[1]) and inner == (64, inner[1])
    small = torch.zeros(2, 64, 40, device="spyre"), torch.zeros(2, 40, 24, device="spyre")
    assert [low for low, _ in sizes(bmm, small)][2] == 32
    assert sizes(softmax, operands[:1])[0][0] == 1  # rows of whole sticks
    by_hand = tune(matmul, operands, configs=[{"block_sizes": [16, 16, 16]}])
    assert by_hand.config["block_sizes"] == [16, 16, 16]


def test_searches_leave_alone_what_means_nothing(operands):
    found = tune(matmul, operands, budget=12, search="RandomSearch", seed=2)
    tried = {json.dumps([t.config.get(name) for name in MEANINGLESS]) for t in found.trials}
    assert len(tried) == 1
    addresses = {word for t in found.trials for word in t.config["indexing"]}
    assert addresses == {"pointer", "tensor_descriptor"}


def test_barriers_keep_one_program_for_each_core():
    x = torch.zeros(128, 128, device="spyre")
    found = tune(centre_columns, (x,), budget=5, search="RandomSearch")
    assert {t.config["pid_type"] for t in found.trials} == {"persistent_blocked"}
    assert {t.config["num_sm_multiplier"] for t in found.trials} == {1}
    assert not [t for t in found.skipped if "at once" in t.reason]


def test_an_interrupted_search_goes_on(operands, tmp_path, monkeypatch):
    whole = tune(softmax, operands[:1], budget=11, seed=1)
    path = tmp_path / "new" / "trials.jsonl"
    calls = []
    predict = provider.predict

    def interrupted(call):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return predict(call)

    monkeypatch.setattr(provider, "predict", interrupted)
    with pytest.raises(KeyboardInterrupt) as raised:
        tune(softmax, operands[:1], budget=11, seed=1, history=path)
    assert "5 trials are kept" in raised.value.__notes__[0]
    assert len(Tuning.read(path).trials) == 5
    with path.open("a") as file:
        file.write('{"config": {"block')  # what a power cut leaves
    found = tune(softmax, operands[:1], budget=11, seed=1, history=path)
    assert len(calls) == 6 + 11 - 5
    assert found.config == whole.config and found.milliseconds == whole.milliseconds
    assert [t.config for t in found.trials] == [t.config for t in whole.trials]
    tune(softmax, operands[:1], budget=11, seed=1, history=path)
    assert len(calls) == 6 + 11 - 5
    assert len(tune(softmax, operands[:1], budget=3, seed=1, history=path).trials) == 3
    assert Tuning.read(path).milliseconds == whole.milliseconds


def test_histories_that_do_not_fit_are_refused(operands, tmp_path):
    path = tmp_path / "trials.jsonl"
    one = [{"block_sizes": [4]}]
    tune(softmax, operands[:1], configs=one, history=path)
    with pytest.raises(TuningError, match=r"holds a search for softmax .*, not for softmax"):
        tune(softmax, (torch.zeros(3, 64, device="spyre"),), configs=one, history=path)
    with pytest.raises(TuningError, match="not for matmul"):
        tune(matmul, operands, configs=[{"block_sizes": [64, 64, 64]}], history=path)
    good = path.read_text()
    for damage, said in (
        (good.replace("{", "[", 2), "line 1 is damaged"),
        (good + "half\n", "line 3 is damaged"),
        (good + '{"config": {}}\n', "line 3 is no trial"),
        ("{}\n" + good, "names no subject"),
    ):
        path.write_text(damage)
        with pytest.raises(TuningError, match=said):
            tune(softmax, operands[:1], configs=one, history=path)
        assert path.read_text() == damage
    path.write_bytes(b"\x80\xff\n")
    with pytest.raises(TuningError, match="cannot be read"):
        tune(softmax, operands[:1], configs=one, history=path)
    with pytest.raises(TuningError, match="cannot be written to"):
        tune(softmax, operands[:1], configs=one, history=tmp_path)
    with pytest.raises(TuningError, match="cannot be read"):
        Tuning.read(tmp_path / "absent.jsonl")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"budget": 0}, "at least one"),
        ({"budget": True}, "at least one"),
        ({"seed": "x"}, "seed='x'"),
        ({"search": "RandomSerch"}, "did you mean RandomSearch"),
        ({"search": "LLMGuidedSearch"}, "none that runs here"),
        ({"configs": []}, "nothing to try"),
        ({"configs": [3]}, "a helion.Config or a dict"),
        ({"configs": [{"block_sizes": [64]}]}, "expected 3 block sizes"),
        ({"configs": [{"block_sizes": [16, 64, 64], "nonsense": 1}]}, "Invalid config keys"),
    ],
)
def test_what_makes_no_sense_is_refused(operands, wrong, said):
    with pytest.raises(TuningError, match=said):
        tune(matmul, operands, **wrong)


def test_what_cannot_be_tuned_is_refused(operands):
    a, b = operands
    with pytest.raises(TuningError, match="argument 1 of matmul is on 'cpu'"):
        tune(matmul, (a, b.cpu()))
    with pytest.raises(TuningError, match="no Helion kernel"):
        tune(matmul.fn, (a, b))
    with pytest.raises(TuningError, match="does not take these arguments"):
        tune(matmul, (a,))


def test_the_bar_shows_the_best(operands, capsys):
    configs = [{"block_sizes": [n]} for n in (1, 4)]
    tune(softmax, operands[:1], configs=configs, progress=True)
    assert "tuning softmax: best" in capsys.readouterr().err
    tune(softmax, operands[:1], configs=configs)
    assert not capsys.readouterr().err


def test_a_plot_of_a_search():
    trials = (Trial({"n": 1}, 3.0), Trial({"n": 2}, math.inf, "too large"), Trial({"n": 4}, 2.0))
    found = Tuning.of("square", trials)
    assert found.best_so_far == [3.0, 3.0, 2.0] and found.config == {"n": 4}
    ax = found.plot()
    assert ax.get_title(loc="left") == "square: 2 run, 1 skipped"
    assert len(ax.collections[0].get_offsets()) == 2
