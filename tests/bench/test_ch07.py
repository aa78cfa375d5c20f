"""The bench of chapter 7: its plan, kernels that are run before they are timed, its sums."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spyrelab.attention import BUCKETS, AttentionError, Bucket, Scenario
from spyrelab.attention.effort import key_visits, tile_visits
from spyrelab.attention.heuristics import PointerConfig, SpyreConfigs
from spyrelab.attention.tune import candidates, history_of, takes
from spyrelab.attention.tuned import config_from, fitted, winner, winners
from spyrelab.bench import attention
from spyrelab.bench.attention import ATTENTION, SMALL, checked_on, scenario_of
from spyrelab.bench.attention_plot import draw_attention, percentages
from spyrelab.bench.attention_summary import TARGET, ratios, summarise
from spyrelab.bench.harness import plan, run_job
from spyrelab.bench.registry import all_chapters
from spyrelab.bench.results import Results, Row
from spyrelab.bench.resume import Kept
from spyrelab.bench.table import make_table
from spyrelab.errors import UsageError
from spyrelab.helion.history import key_of
from spyrelab.helion.log import read

CHAPTER = all_chapters()["ch07"]
SMALLEST = "decode-b1-s128-p16-uniform"


def row(case: str, impl: str, device_us: float, **parameters: object) -> Row:
    kind, batch, length = case.split("-")[:3]
    sizes = {"class": kind, "batch": int(batch[1:]), "max_len": int(length[1:]), **parameters}
    extra = {"parameters": sizes, "bound_share": round(50 / device_us, 6)}
    return Row("ch07", case, impl, True, device_us=device_us, extra=extra)


ROWS = [
    row("decode-b1-s128", "triton-pointer", 200.0),
    row("decode-b1-s128", "triton-spyre", 80.0),
    row("decode-b1-s128", "helion-first", 100.0),
    row("decode-b1-s128", "helion-blocks", 160.0),
    row("decode-b4-s128", "triton-pointer", 300.0),
    row("decode-b4-s128", "triton-spyre", 100.0),
    row("decode-b4-s128", "helion-first", 50.0),
    row("decode-b4-s128", "helion-first-tuned", 1.0),
]


# -- the plan ------------------------------------------------------------------------------------


def test_each_class_has_cases_of_every_size() -> None:
    sizes = {(c.parameters["class"], c.parameters["batch"]) for c in CHAPTER.cases}
    assert {kind for kind, _ in sizes} == {"decode", "prefill", "mixed"}
    assert {batch for kind, batch in sizes if kind == "decode"} == {1, 4, 16}
    assert TARGET in {case.name for case in CHAPTER.cases}
    assert len({case.name for case in CHAPTER.cases}) == len(CHAPTER.cases)


def test_a_case_is_the_scenario_that_it_is_named_after() -> None:
    for case in CHAPTER.cases:
        scenario, kind = scenario_of(case.parameters), case.parameters["class"]
        assert len(scenario.kv_lens) == case.parameters["batch"]
        assert max(scenario.kv_lens) == case.parameters["max_len"]
        share = {"decode": 1.0, "prefill": 0.0}.get(kind)
        assert share is None or scenario.decode_share == share
        assert kind != "mixed" or 0 < scenario.decode_share < 1


def test_a_quick_plan_has_every_class_and_every_kernel() -> None:
    jobs = plan([CHAPTER], CHAPTER.implementations, (), quick=True)
    assert {job.case.parameters["class"] for job in jobs} == {"decode", "prefill", "mixed"}
    assert {name for job in jobs for name in job.implementations} == set(ATTENTION)
    assert len(jobs) < 8


def test_kernels_that_split_contexts_are_for_decodes() -> None:
    for case in CHAPTER.cases:
        names = case.implementations or ()
        splits = any(name.startswith(("triton-segmented", "helion-split")) for name in names)
        assert splits == (case.parameters["class"] == "decode")


def test_large_batches_are_checked_on_small_ones_of_their_kind() -> None:
    large = Scenario.of(16, 2048, 0.0, page=64)
    small = checked_on(large, "prefill")
    assert (small.query_lens, small.kv_lens) == SMALL["prefill"] and small.page == 64
    decode = Scenario.of(16, 2048, 1.0)
    assert checked_on(decode, "decode") == decode


def test_work_is_counted() -> None:
    scenario = Scenario(query_lens=(3, 1), kv_lens=(5, 9), heads=4, kv_heads=2)
    assert key_visits(scenario) == 4 * (3 + 4 + 5 + 9)
    # Blocks of two queries see 4 and 5 keys, the single one 9: tiles of four.
    assert tile_visits(scenario, PointerConfig(2, 4)) == 2 * (1 + 2 + 3)


# -- what searches have found --------------------------------------------------------------------


def test_every_kernel_was_tuned_for_its_buckets() -> None:
    names = {name.removesuffix("-tuned") for name in ATTENTION}
    wanted = {(name, bucket) for name in names for bucket in Bucket if takes(name, bucket)}
    assert wanted <= set(winners())
    for found in winners().values():
        assert found.tried > found.skipped >= 0 and found.microseconds > 0


def test_triton_winners_are_on_their_grids() -> None:
    bucket = Bucket.DECODE_SHORT
    batch = BUCKETS[bucket].build()
    for name in ("triton-pointer", "triton-segmented"):
        found = config_from(name, winner(name, bucket).config)
        assert found in list(candidates(name, batch))


def test_the_trials_of_each_winner_are_kept() -> None:
    for (name, bucket), found in winners().items():
        _, trials = read(history_of(name, bucket))
        ran = {round(t.milliseconds * 1e3, 6) for t in trials if not t.is_skipped}
        assert len({key_of(t.config) for t in trials}) == found.tried
        assert min(ran) == found.microseconds


def test_a_winner_keeps_its_tokens_where_pages_are_larger() -> None:
    scenario = Scenario.of(4, 512, 1.0, page=64)
    batch = scenario.build()
    found = fitted("helion-first", Bucket.DECODE_SHORT, batch)
    tuned = winner("helion-first", Bucket.DECODE_SHORT).config
    assert found["block_sizes"][1] == max(1, tuned["block_sizes"][1] // 4)
    assert found["block_sizes"][0] == 1
    spyre = fitted("triton-spyre", Bucket.DECODE_SHORT, batch)
    before = config_from("triton-spyre", winner("triton-spyre", Bucket.DECODE_SHORT).config)
    assert isinstance(spyre, SpyreConfigs)
    assert spyre.decode.step * 64 == before.decode.step * 16


def test_nobody_tuned_is_an_error_with_the_command() -> None:
    with pytest.raises(AttentionError, match="tune --kernel triton-segmented"):
        winner("triton-segmented", Bucket.PREFILL_LONG)


# -- sums ----------------------------------------------------------------------------------------


def test_the_best_kernels_are_compared() -> None:
    found = ratios(ROWS, "decode", tuned=False)
    assert found is not None
    assert found.by_case == {"decode-b1-s128": 0.8, "decode-b4-s128": 2.0}
    assert (found.middle, found.best, found.lost) == (1.4, "decode-b4-s128", ["decode-b1-s128"])
    against = ratios(ROWS, "decode", tuned=False, against="triton-pointer")
    assert against is not None and against.by_case["decode-b1-s128"] == 2.0
    assert ratios(ROWS, "decode", tuned=True) is None
    assert ratios(ROWS, "prefill", tuned=False) is None


def test_wrong_rows_do_not_count() -> None:
    wrong = Row("ch07", "decode-b4-s128", "helion-first", False, extra=ROWS[0].extra)
    found = ratios([*ROWS[4:6], wrong], "decode", tuned=False)
    assert found is None


def test_the_summary_says_where_helion_loses_and_what_was_published() -> None:
    said = "\n".join(summarise([*ROWS, row(TARGET, "triton-spyre", 62.5)]))
    assert (
        "decode, hand-tuned: the best Triton over the best Helion 1.40x in the median of 2" in said
    )
    assert "Helion is slower on 1 of 2: decode-b1-s128 0.80x." in said
    assert "H100 1.32x to 1.53x" in said and "3 February 2026" in said
    assert "triton-spyre is best, at 80% of the bandwidth bound (target 80%)" in said
    assert "decode, hand-tuned: 2.75x in the median (2.50x to 3.00x; target 2x)" in said
    assert not summarise([Row("ch01", "softmax", "vm", True)])


def test_a_picture_shows_percentages_by_batch_and_length(tmp_path: Path) -> None:
    points = percentages(ROWS, "decode", False, None)
    assert points == {1: {128: pytest.approx(80.0)}, 4: {128: pytest.approx(200.0)}}
    draw_attention(ROWS, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


# -- rows ----------------------------------------------------------------------------------------


@pytest.fixture
def predicted() -> list[Row]:
    pytest.importorskip("triton", reason="Triton is not installed")
    pytest.importorskip("helion", reason="Helion is not installed")
    names = ("triton-spyre", "triton-spyre-tuned", "helion-blocks-tuned")
    (job,) = plan([CHAPTER], names, [SMALLEST], quick=True)
    return run_job(job, 1, "triton-spyre")


def test_rows_are_checked_and_predicted(predicted: list[Row]) -> None:
    hand, tuned, helion = predicted
    assert all(r.correct and r.cycles and r.lx_peak and r.ddr_bytes for r in predicted)
    assert all(0 < r.extra["bound_share"] <= 1 and r.host_s is None for r in predicted)
    assert hand.device_us >= tuned.device_us or tuned.device_us < 1.1 * hand.device_us
    assert helion.extra["source_lines"] < hand.extra["source_lines"]
    assert helion.extra["checked"] == "this batch" and "tried" not in hand.extra
    table = make_table(Results({"threads": 1}, predicted))
    assert {"result", "of bound", "lines", "tried", "tuning"} <= set(table.columns)
    assert table.title.startswith("Predicted time on the card")
    json.dumps(Results({}, predicted).to_json())


def test_a_wrong_kernel_shows_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    (job,) = plan([CHAPTER], ("triton-spyre",), [SMALLEST], quick=True)
    right = attention._expected(checked_on(scenario_of(job.case.parameters), "decode"))
    off = right.copy()
    off.flat[-1] += 0.5
    monkeypatch.setattr(attention, "_expected", lambda scenario: off)
    (found,) = run_job(job, 1, "triton-spyre")
    assert (found.status, found.device_us, found.cycles) == ("WRONG", None, None)


# -- going on after an interruption --------------------------------------------------------------

ENVIRONMENT = {"machine": "m", "spyrelab": "1", "threads": 1}


def test_finished_cases_are_kept(tmp_path: Path) -> None:
    (job,) = plan([CHAPTER], ("triton-spyre", "helion-first"), [SMALLEST], quick=True)
    rows = [row(SMALLEST, name, 10.0) for name in job.implementations]
    file = tmp_path / "rows.json"
    half = Results(ENVIRONMENT, rows[:1])
    Kept(file, half).write()
    assert Kept(file, Results(ENVIRONMENT)).rows_of(job) is None
    Kept(file, Results(ENVIRONMENT, rows)).write()
    assert Kept(file, Results(ENVIRONMENT)).rows_of(job) == rows


def test_rows_of_another_machine_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    Kept(file, Results(ENVIRONMENT, ROWS)).write()
    with pytest.raises(UsageError, match="measured with machine m, not n"):
        Kept(file, Results({**ENVIRONMENT, "machine": "n"}))
