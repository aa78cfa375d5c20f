"""What Helion asks about a device, answered for the card; others are asked as ever."""

from __future__ import annotations

import functools
import hashlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spyrelab.machine import SPYRE

__all__ = ["card_name", "is_card", "patch_devices"]


def is_card(device: Any = None) -> bool:
    """Whether a device is the card; without one, whether Triton compiles for it."""
    if device is not None and not isinstance(device, int):
        return bool(device.type == "spyre")
    from triton.runtime import driver

    return bool(driver.active.get_current_target().backend == "spyre")


def card_name() -> str:
    """The card, with a fingerprint of every number and of all code that predictions depend on."""
    from spyrelab.triton.fingerprint import fingerprint

    return f"spyre {fingerprint()} {_timing()}"


@functools.cache
def _timing() -> str:
    import spyrelab.timing

    made = hashlib.sha256()
    for path in sorted(Path(spyrelab.timing.__file__).parent.rglob("*.py")):
        made.update(path.read_bytes())
    return made.hexdigest()[:16]


def patch_devices() -> None:
    """Answer for the card in the places where Helion asks."""
    _answer("helion.runtime", "get_num_sm", _cores)
    _answer("helion._compat", "device_num_sm", lambda device=None: SPYRE.cores)
    _answer("helion._compat", "num_compute_units", lambda: SPYRE.cores)
    _answer("helion._compat", "get_device_name", lambda device=None: card_name())
    _answer("helion._compat", "_supports_tensor_descriptor", lambda: True)
    _answer("helion._compat", "_min_dot_size", lambda device, left, right: (1, 16, 16))
    # Imported by name there before we came.
    for module in ("helion.autotuner.base_search", "helion.autotuner.local_cache"):
        _answer(module, "get_device_name", lambda device=None: card_name())


def _cores(device: Any, *, reserved_sms: int = 0) -> int:
    return max(SPYRE.cores - max(reserved_sms, 0), 1)


def _answer(module: str, name: str, ours: Callable[..., Any]) -> None:
    """Put a function beside one of Helion's, for when it is asked about the card."""
    home = importlib.import_module(module)
    plain = getattr(home, name, None)
    if plain is None or hasattr(plain, "_spyrelab"):
        return

    @functools.wraps(plain)
    def answer(*args: Any, **kwargs: Any) -> Any:
        device = args[0] if args else kwargs.get("device")
        return (ours if is_card(device) else plain)(*args, **kwargs)

    answer._spyrelab = True  # type: ignore[attr-defined]
    setattr(home, name, answer)
