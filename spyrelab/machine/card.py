"""``Machine``: the numbers that programs, planners and the timing model compute with."""

from __future__ import annotations

import dataclasses
import difflib
import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from spyrelab.machine.errors import MachineError, UnknownFieldError
from spyrelab.machine.facts import FACTS, FactTable

__all__ = ["SPYRE", "Machine", "Rates"]

MAX_CORES = 4096


class Rates(Mapping[str, int]):
    """A hashable mapping from element type to a rate; ``rates | {...}`` makes a variant."""

    __slots__ = ("_rates",)

    def __init__(self, rates: Mapping[str, int]) -> None:
        self._rates = dict(sorted(rates.items()))

    def __getitem__(self, dtype: str) -> int:
        return self._rates[dtype]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rates)

    def __len__(self) -> int:
        return len(self._rates)

    def __or__(self, changes: Mapping[str, int]) -> Rates:
        return Rates({**self._rates, **changes})

    def __hash__(self) -> int:
        return hash(tuple(self._rates.items()))

    def __repr__(self) -> str:
        return repr(self._rates)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One card, as numbers. Equal machines are equal cache keys; ``SPYRE`` is the shipped card.

    Attributes
    ----------
    cores, corelets_per_core : int
        Cores of the card; corelets of each core.
    pt_rows, pt_columns, pt_simd : int
        Shape of one corelet's matrix unit, and multiply-accumulates per cell and cycle in f16.
    macs_per_cycle : Rates
        Multiply-accumulates per cycle and core, by element type.
    clock_hz, interface_clock_hz : float
        Hz: cores, PT, SFP and LX; data ring and memory interface.
    pt_fill_passes : int
        Passes below which the matrix unit is not kept full.
    pt_fill_exponent : float
        Power of (passes / pt_fill_passes) that the rate falls by.
    sfp_elements_per_second : float
        Elements per second and core of the vector unit.
    loop_iteration_seconds : float
        Seconds that each further iteration of a counted loop costs.
    lx_bytes : int
        Bytes of one core's scratchpad.
    lx_front_end_fraction : float
        Share of the scratchpad that planners may use; the back-end compiler takes the rest.
    lx_port_bytes_per_cycle : int
        Bytes per cycle and core through the scratchpad's port.
    pt_register_bytes : int
        Bytes of one corelet's weight registers.
    stick_bytes, l3_burst_bytes, span_bytes : int
        Bytes: unit of layout; full-rate transfer; contiguous reach of a core in DDR.
    ddr_bytes : int
        Bytes of device memory.
    ddr_peak_bytes_per_second, ddr_read_bytes_per_second, ddr_write_bytes_per_second : float
        Bytes per second: nameplate, sustained reads alone, sustained writes alone.
    ddr_stream_bytes_per_second, ddr_multicast_bytes_per_second : float
        Bytes per second: reads and writes together; one operand to every core.
    ddr_ports, ddr_port_bytes_per_cycle, ddr_outstanding_loads : int
        Ports of the memory interface, their width, loads in flight per core.
    data_ring_nodes, data_ring_bytes_per_cycle : int
        Stops on the data ring; bytes per interface cycle and direction.
    partial_ring_count, partial_ring_nodes, partial_ring_bytes_per_cycle : int
        Rings that carry partial sums, their stops, bytes per core cycle of each.
    output_pressure_seconds_per_byte, weight_pressure_seconds_per_byte : float
        Seconds per byte of a core's output tile near LX size, and of its weights.
    hand_off_saving_seconds_per_byte, hand_off_setup_seconds : float
        Seconds saved per byte handed over on chip; seconds that the hand-off costs once.
    kernel_seconds, kernel_wall_seconds, host_launch_seconds : float
        Fixed seconds of a kernel: profiled, seen by a wall clock on the card, seen by the host.
    bundle_tensors : int
        DDR tensors that one bundle may touch.
    fp8_k_split : bool
        Whether an fp8 matmul may be split along K.

    Raises
    ------
    MachineError
        A value that no machine can have; the message names the field.
    """

    cores: int
    corelets_per_core: int
    pt_rows: int
    pt_columns: int
    pt_simd: int
    macs_per_cycle: Rates
    clock_hz: float
    interface_clock_hz: float
    pt_fill_passes: int
    pt_fill_exponent: float
    sfp_elements_per_second: float
    loop_iteration_seconds: float
    lx_bytes: int
    lx_front_end_fraction: float
    lx_port_bytes_per_cycle: int
    pt_register_bytes: int
    stick_bytes: int
    l3_burst_bytes: int
    span_bytes: int
    ddr_bytes: int
    ddr_peak_bytes_per_second: float
    ddr_read_bytes_per_second: float
    ddr_write_bytes_per_second: float
    ddr_stream_bytes_per_second: float
    ddr_multicast_bytes_per_second: float
    ddr_ports: int
    ddr_port_bytes_per_cycle: int
    ddr_outstanding_loads: int
    data_ring_nodes: int
    data_ring_bytes_per_cycle: int
    partial_ring_count: int
    partial_ring_nodes: int
    partial_ring_bytes_per_cycle: int
    output_pressure_seconds_per_byte: float
    weight_pressure_seconds_per_byte: float
    hand_off_saving_seconds_per_byte: float
    hand_off_setup_seconds: float
    kernel_seconds: float
    kernel_wall_seconds: float
    host_launch_seconds: float
    bundle_tensors: int
    fp8_k_split: bool

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            checked = _check(field.name, str(field.type), getattr(self, field.name))
            object.__setattr__(self, field.name, checked)
        self._check_together()

    def replace(self, **changes: Any) -> Machine:
        """Return a machine with some numbers changed.

        Examples
        --------
        >>> SPYRE.replace(cores=64, lx_bytes=4 << 20).cores
        64

        Raises
        ------
        UnknownFieldError
            A name that is no field; close matches are named.
        MachineError
            A value that no machine can have.
        """
        for name in changes:
            if name not in self.__dataclass_fields__:
                raise UnknownFieldError(_explain_unknown(name, list(self.__dataclass_fields__)))
        return dataclasses.replace(self, **changes)

    @property
    def facts(self) -> FactTable:
        """Every known number with its source; changed fields say that they were changed."""
        table = dict(FACTS)
        for name in self.__dataclass_fields__:
            value, shipped = getattr(self, name), FACTS[name]
            if value != _check(name, type(value).__name__, shipped.value):
                table[name] = shipped.with_value(value)
        return FactTable(table)

    @property
    def lx_front_end_bytes(self) -> int:
        """Scratchpad bytes per core that planners may use (``int`` as the public planner does)."""
        return int(self.lx_bytes * self.lx_front_end_fraction)

    @property
    def lx_back_end_fraction(self) -> float:
        """Share of the scratchpad left to the back-end compiler."""
        return 1.0 - self.lx_front_end_fraction

    @property
    def lx_port_bytes_per_second(self) -> float:
        """Bytes per second and core through the scratchpad's port."""
        return self.lx_port_bytes_per_cycle * self.clock_hz

    @property
    def data_ring_bytes_per_second(self) -> float:
        """Bytes per second of one data-ring link in one direction."""
        return self.data_ring_bytes_per_cycle * self.interface_clock_hz

    @property
    def partial_ring_bytes_per_second(self) -> float:
        """Bytes per second of one partial-sum ring."""
        return self.partial_ring_bytes_per_cycle * self.clock_hz

    def stick_elements(self, itemsize: int) -> int:
        """Return how many elements of ``itemsize`` bytes one stick holds."""
        return self.stick_bytes // itemsize

    def peak_flops(self, dtype: str) -> float:
        """Return operations per second of all cores, two per multiply-accumulate.

        Raises
        ------
        MachineError
            No rate is known for ``dtype``.
        """
        if dtype not in self.macs_per_cycle:
            known = ", ".join(self.macs_per_cycle)
            raise MachineError(f"no matrix rate is known for {dtype!r}; known types: {known}")
        return 2.0 * self.cores * self.macs_per_cycle[dtype] * self.clock_hz

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest of every field: the same in every process, for caches on disk."""
        values = [(name, getattr(self, name)) for name in sorted(self.__dataclass_fields__)]
        return hashlib.sha256(repr(values).encode()).hexdigest()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return int(self.fingerprint[:15], 16)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._changes().items())
        return "SPYRE" if not shown else f"SPYRE.replace({shown})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{name}</td><td>{getattr(self, name)}</td><td>{FACTS[name].unit}</td></tr>"
            for name in self.__dataclass_fields__
        )
        return f"<details><summary>{self!r}</summary><table>{rows}</table></details>"

    def _changes(self) -> dict[str, Any]:
        names = self.__dataclass_fields__
        return {name: getattr(self, name) for name in names if name in self._changed}

    @cached_property
    def _changed(self) -> frozenset[str]:
        return frozenset(name for name, fact in self.facts.items() if fact.confidence == "-")

    def _check_together(self) -> None:
        for name in ("lx_bytes", "ddr_bytes"):
            value = getattr(self, name)
            if value % self.stick_bytes:
                raise MachineError(
                    f"{name} must be a multiple of stick_bytes ({self.stick_bytes}), not {value}"
                )


def _check(name: str, kind: str, value: Any) -> Any:
    if kind == "bool":
        return _check_bool(name, value)
    if kind == "Rates":
        return _check_rates(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise MachineError(f"{name} must be a number, not {value!r}")
    if value <= 0:
        raise MachineError(f"{name} must be positive, not {value!r}")
    if name.endswith("_fraction") and value > 1:
        raise MachineError(f"{name} is a share and cannot exceed 1, not {value!r}")
    if kind == "float":
        return float(value)
    if value != int(value):
        raise MachineError(f"{name} must be a whole number, not {value!r}")
    if name == "cores" and value > MAX_CORES:
        raise MachineError(f"cores must be 1 to {MAX_CORES}, not {value!r}")
    if name == "stick_bytes" and (value < 8 or int(value) & (int(value) - 1)):
        raise MachineError(f"stick_bytes must be a power of two of at least 8, not {value!r}")
    return int(value)


def _check_bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise MachineError(f"{name} must be True or False, not {value!r}")
    return value


def _check_rates(name: str, value: Any) -> Rates:
    if not isinstance(value, Mapping) or not value:
        raise MachineError(f"{name} must map element types to rates, not {value!r}")
    return Rates({str(key): _check(f"{name}[{key!r}]", "int", rate) for key, rate in value.items()})


def _explain_unknown(name: str, fields: list[str]) -> str:
    close = [field for field in fields if name in field]
    close = (close or difflib.get_close_matches(name, fields, n=3, cutoff=0.5))[:3]
    hint = f"did you mean {', '.join(close)}?" if close else f"the fields are {', '.join(fields)}"
    return f"Machine has no field {name!r}; {hint}"


SPYRE = Machine(**{name: FACTS[name].value for name in Machine.__dataclass_fields__})
"""The shipped card."""
