"""The container of counts."""

from __future__ import annotations

import json

import numpy as np

from spyrelab.emulator.counters import UNITS, Column, Counters


def filled() -> Counters:
    counters = Counters.zeros(3)
    counters.matrix[:, Column.DDR_READ] = [10, 30, 20]
    counters.matrix[:, Column.LX_PEAK] = [100, 50, 70]
    counters.ops["pt"][1] = 7
    return counters


def test_columns_are_views_of_one_matrix() -> None:
    counters = filled()
    counters.ddr_write[2] += 5
    assert counters.matrix[2, Column.DDR_WRITE] == 5
    assert counters.matrix.dtype == np.int64
    assert counters.matrix.shape == (3, len(Column))


def test_totals_add_bytes_and_take_the_largest_peak() -> None:
    totals = filled().totals
    assert totals["ddr_read"] == 60
    assert totals["lx_peak"] == 100
    assert totals["ops_pt"] == 7
    assert filled().ddr_bytes == 60
    assert filled().lx_bytes == 0


def test_equality_compares_every_number() -> None:
    other = filled()
    assert filled() == other
    other.ring[0] = 1
    assert filled() != other
    assert filled() != Counters.zeros(3)


def test_dictionary_is_json() -> None:
    plain = json.loads(json.dumps(filled().to_dict()))
    assert plain["ddr_read"] == [10, 30, 20]
    assert plain["ops"]["pt"] == [0, 7, 0]
    assert set(plain["ops"]) == set(UNITS)


def test_tables_show_totals_and_the_busiest_core() -> None:
    text, html = repr(filled()), filled()._repr_html_()
    assert "ddr_read" in text
    assert "core 1: 30" in text
    assert "ring" not in text
    assert "<td>core 0: 100</td>" in html
