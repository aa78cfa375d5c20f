"""``torch.spyre``: what ``torch.cuda`` offers, for the card."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any, Self

import torch

from spyrelab.device import counts, policy, random, statistics, stream
from spyrelab.device.cards import check_device
from spyrelab.machine import SPYRE

__all__ = ["DeviceProperties", "build"]


@dataclass(frozen=True)
class DeviceProperties:
    """What the card is.

    Attributes
    ----------
    multi_processor_count : int
        Cores.
    """

    name: str
    total_memory: int
    multi_processor_count: int
    lx_bytes: int
    clock_hz: float


def is_available() -> bool:
    """Whether there is a card: the emulated one always is."""
    return True


def is_initialized() -> bool:
    """Whether the device is ready for use."""
    return True


def init() -> None:
    """Get the device ready: nothing is left to do."""


def device_count() -> int:
    """Number of cards: one."""
    return 1


def current_device() -> int:
    """Number of the current card: 0."""
    return 0


def set_device(device: Any) -> None:
    """Choose the current card; there is one.

    Raises
    ------
    torch.AcceleratorError
        A number other than 0.
    """
    _index(device)


def _index(device: Any) -> int:
    if device is None:
        return 0
    chosen = torch.device("spyre", device) if isinstance(device, int) else torch.device(device)
    if chosen.type != "spyre":
        raise ValueError(f"Expected a spyre device, but got: {device}")
    check_device(chosen)
    return 0


def exchange_device(device: int) -> int:
    """Choose the current card and return the one before; negative numbers choose nothing."""
    if device >= 0:
        set_device(device)
    return 0


class device:  # noqa: N801  # as torch.cuda.device
    """Choose the current card for a while."""

    def __init__(self, device: Any) -> None:
        self.idx = _index(device)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return


class device_of(device):  # noqa: N801  # as torch.cuda.device_of
    """Choose the card of a tensor for a while."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.device.type == "spyre" else None)


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Name, memory, cores, scratchpad and clock of the card."""
    _index(device)
    total = statistics.mem_get_info()[1]
    return DeviceProperties(get_device_name(), total, SPYRE.cores, SPYRE.lx_bytes, SPYRE.clock_hz)


def get_device_name(device: Any = None) -> str:
    """Name of the card."""
    _index(device)
    return "Spyre (emulated)"


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """What device programs can compute with."""
    _index(device)
    types = [torch.float16, torch.bfloat16, torch.float32, torch.float8_e4m3fn, torch.float8_e5m2]
    integers = [torch.bool, torch.int8, torch.int16, torch.int32, torch.int64]
    return {"supported_dtypes": types + integers}


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Types that autocast may choose."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 works."""
    return True


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def build() -> ModuleType:
    """The module that torch installs as ``torch.spyre``."""
    made = ModuleType("torch.spyre", __doc__)
    own = (
        is_available, is_initialized, init, device_count, current_device, set_device,
        exchange_device, device, device_of, get_device_properties, get_device_name,
        get_device_capability, get_amp_supported_dtype, is_bf16_supported, DeviceProperties,
    )  # fmt: skip
    for thing in own:
        setattr(made, thing.__name__, thing)
    for source in (statistics, stream, random):
        for name in source.__all__:
            if not name.isupper() and name != "borrowed_default":
                setattr(made, name, getattr(source, name))
    made.op_counts, made.reset_op_counts = counts.op_counts, counts.reset_op_counts  # type: ignore[attr-defined]
    made.fallback_reasons = counts.fallback_reasons  # type: ignore[attr-defined]
    made.fallback = policy.fallback  # type: ignore[attr-defined]
    made.default_generators = (random.GENERATOR,)  # type: ignore[attr-defined]
    # Checkpointing saves random states only of a device that says so.
    made._initialized = True  # type: ignore[attr-defined]
    made._lazy_init = made._lazy_call = _nothing  # type: ignore[attr-defined]
    made._is_in_bad_fork = lambda: False  # type: ignore[attr-defined]
    made._is_compiled = is_available  # type: ignore[attr-defined]
    made._exchange_device = made._maybe_exchange_device = exchange_device  # type: ignore[attr-defined]
    return made
