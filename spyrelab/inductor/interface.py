"""What Dynamo and Inductor ask about a device."""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device

from spyrelab.device.module import get_device_properties

__all__ = ["SpyreInterface", "install"]


class SpyreInterface(DeviceInterface):
    """The one card."""

    device: Any = torch.device
    # Dynamo only captures subclasses of these two.
    Event: Any = torch.Event
    Stream: Any = torch.Stream

    class Worker(DeviceInterface.Worker):
        """What compile workers may ask."""

        @staticmethod
        def set_device(device: int) -> None:
            """Select the one card."""

        @staticmethod
        def current_device() -> int:
            """Its index."""
            return 0

        @staticmethod
        def get_device_properties(device: Any = None) -> Any:
            """Name, memory, cores, scratchpad and clock of the card."""
            return get_device_properties()

    @staticmethod
    def current_device() -> int:
        """The index of the card."""
        return 0

    @staticmethod
    def set_device(device: Any) -> None:
        """Select the one card."""

    @staticmethod
    def exchange_device(device: int) -> int:
        """Select the one card, and name the one before."""
        return 0

    @staticmethod
    def maybe_exchange_device(device: int) -> int:
        """Select the one card, and name the one before."""
        return 0

    @staticmethod
    def device_count() -> int:
        """How many cards there are."""
        return 1

    @staticmethod
    def is_available() -> bool:
        """Whether there is a card."""
        return True

    @staticmethod
    def current_stream(device: Any = None) -> Any:
        """The default stream."""
        return torch.Stream(device="spyre")

    @staticmethod
    def set_stream(stream: Any) -> None:
        """Select a stream: all share one queue."""

    @staticmethod
    def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
        """Select a stream: all share one queue."""

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        """The queue that all streams share."""
        return 0

    @staticmethod
    def synchronize(device: Any = None) -> None:
        """Wait for the card: a launch returns when it is done."""

    @staticmethod
    def get_compute_capability(device: Any = None) -> str:
        """The card's generation."""
        return "spyre"

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        """Whether programs know bfloat16."""
        return True

    @staticmethod
    def memory_allocated(device: Any = None) -> int:
        """Bytes that live tensors take."""
        spyre: Any = torch.spyre  # type: ignore[attr-defined]
        return int(spyre.memory_allocated())


def install() -> None:
    """Make the interface known."""
    register_interface_for_device("spyre", SpyreInterface)
