"""The machine as data: values, sources, variants."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import pytest

from spyrelab.machine import FACTS, SPYRE, Machine, MachineError, UnknownFieldError
from spyrelab.machine.facts import load_facts

FIELDS = [field.name for field in dataclasses.fields(Machine)]


def test_the_shipped_card() -> None:
    assert (SPYRE.cores, SPYRE.corelets_per_core, SPYRE.stick_bytes) == (32, 2, 128)
    assert SPYRE.lx_bytes == 2 << 20
    assert SPYRE.lx_front_end_bytes == int((2 << 20) * 0.8) == 1_677_721
    assert SPYRE.ddr_bytes == 128 << 30
    assert SPYRE.span_bytes == 256 << 20
    assert SPYRE.bundle_tensors == 6


def test_peak_follows_from_cells_and_clock() -> None:
    cells = SPYRE.pt_rows * SPYRE.pt_columns * SPYRE.pt_simd * SPYRE.corelets_per_core
    assert SPYRE.macs_per_cycle["f16"] == cells == 1024
    assert SPYRE.peak_flops("f16") == pytest.approx(72.1e12, rel=1e-3)
    assert SPYRE.peak_flops("f8E4M3FN") == 2 * SPYRE.peak_flops("f16")


def test_derived_rates() -> None:
    assert SPYRE.data_ring_bytes_per_second == pytest.approx(166.4e9)
    assert SPYRE.partial_ring_bytes_per_second == pytest.approx(35.2e9)
    assert SPYRE.lx_port_bytes_per_second == pytest.approx(140.8e9)
    assert SPYRE.lx_back_end_fraction == pytest.approx(0.2)
    assert SPYRE.stick_elements(2) == 64


@pytest.mark.parametrize("name", list(FACTS))
def test_every_number_says_where_it_comes_from(name: str) -> None:
    fact = FACTS[name]
    assert fact.source.strip()
    assert fact.confidence in {"A", "B", "C", "D"}
    assert fact.section
    assert isinstance(fact.unit, str)


def test_every_field_is_a_fact_with_documentation() -> None:
    assert set(FIELDS) <= set(FACTS)
    assert Machine.__doc__ is not None
    assert [name for name in FIELDS if name not in Machine.__doc__] == []


def test_dl16_limits_follow_from_the_layout() -> None:
    assert FACTS["df16_largest"].value == 2**32 * (1 + 510 / 512)
    assert FACTS["df16_smallest"].value == 2**-31 * (1 + 1 / 512)


def test_a_variant_changes_only_what_it_says() -> None:
    wide = SPYRE.replace(cores=64, macs_per_cycle=SPYRE.macs_per_cycle | {"f16": 2048})
    assert wide.peak_flops("f16") == 4 * SPYRE.peak_flops("f16")
    assert repr(SPYRE) == "SPYRE"
    assert repr(wide).startswith("SPYRE.replace(cores=64, macs_per_cycle=")
    assert wide.facts["cores"].source == "set by Machine.replace"
    assert wide.facts["lx_bytes"] == SPYRE.facts["lx_bytes"]
    assert SPYRE.replace(clock_hz=2_000_000_000).clock_hz == 2e9


def test_equal_machines_are_equal_keys() -> None:
    twin = SPYRE.replace(cores=16).replace(cores=32)
    assert twin == SPYRE and hash(twin) == hash(SPYRE) and twin.fingerprint == SPYRE.fingerprint
    assert SPYRE.replace(cores=16) != SPYRE
    assert SPYRE.replace(cores=16).fingerprint != SPYRE.fingerprint
    assert pickle.loads(pickle.dumps(SPYRE)) == SPYRE
    with pytest.raises(dataclasses.FrozenInstanceError):
        SPYRE.cores = 3  # type: ignore[misc]


def test_the_fingerprint_is_the_same_in_every_process() -> None:
    code = "from spyrelab.machine import SPYRE; print(SPYRE.fingerprint, hash(SPYRE))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == [SPYRE.fingerprint, str(hash(SPYRE))]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("cors", "cores"), ("lx_byte", "lx_bytes"), ("ddr_read", "ddr_read_bytes_per_second")],
)
def test_an_unknown_field_names_close_ones(name: str, expected: str) -> None:
    with pytest.raises(UnknownFieldError, match=expected):
        SPYRE.replace(**{name: 1})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("cores", 0, "positive"),
        ("cores", 2.5, "whole number"),
        ("cores", True, "must be a number"),
        ("cores", 10**9, "1 to 4096"),
        ("cores", "32", "must be a number"),
        ("clock_hz", -1.0, "positive"),
        ("clock_hz", float("nan"), "must be a number"),
        ("ddr_read_bytes_per_second", float("inf"), "must be a number"),
        ("lx_front_end_fraction", 1.5, "cannot exceed 1"),
        ("lx_bytes", 1000, "multiple of stick_bytes"),
        ("ddr_bytes", 1000, "multiple of stick_bytes"),
        ("stick_bytes", 96, "power of two"),
        ("fp8_k_split", 1, "True or False"),
        ("macs_per_cycle", {}, "map element types"),
        ("macs_per_cycle", {"f16": 0}, "positive"),
    ],
)
def test_numbers_that_no_machine_can_have(name: str, value: object, reason: str) -> None:
    with pytest.raises(MachineError, match=reason) as caught:
        SPYRE.replace(**{name: value})
    assert name in str(caught.value)


def test_an_unknown_element_type_names_the_known_ones() -> None:
    with pytest.raises(MachineError, match=r"'f64'.*f16"):
        SPYRE.peak_flops("f64")


def test_tables_show_themselves_in_a_notebook() -> None:
    assert "clock_hz" in SPYRE._repr_html_()
    assert (
        "&lt;"
        in load_facts(
            '[a.b]\nvalue = "<i>"\nunit = ""\nsource = "s"\nconfidence = "A"'
        )._repr_html_()
    )
