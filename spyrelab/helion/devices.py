"""What Helion asks about a device, answered for the card; others are asked as ever."""

from __future__ import annotations

import functools
import hashlib
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spyrelab.machine import SPYRE

__all__ = ["answer", "card_name", "is_card", "patch_devices"]


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
    answer("helion.runtime", "get_num_sm", _cores)
    answer("helion._compat", "device_num_sm", lambda device=None: SPYRE.cores)
    answer("helion._compat", "num_compute_units", lambda: SPYRE.cores)
    answer("helion._compat", "get_device_name", lambda device=None: card_name())
    answer("helion._compat", "_supports_tensor_descriptor", lambda: True)
    answer("helion._compat", "_min_dot_size", lambda device, left, right: (1, 16, 16))
    # Imported by name there before we came.
    for module in ("helion.autotuner.base_search", "helion.autotuner.local_cache"):
        answer(module, "get_device_name", lambda device=None: card_name())
    _skip_empty_launches()


def _cores(device: Any, *, reserved_sms: int = 0) -> int:
    return max(SPYRE.cores - max(reserved_sms, 0), 1)


def _first(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[0] if args else kwargs.get("device")


def answer(
    module: str,
    name: str,
    ours: Callable[..., Any],
    device_of: Callable[[tuple[Any, ...], dict[str, Any]], Any] = _first,
) -> None:
    """Put a function beside one of Helion's, for when it is asked about the card.

    Parameters
    ----------
    device_of
        Which device a call is about, from its arguments; None for the one that Triton compiles for.
    """
    home = importlib.import_module(module)
    plain = getattr(home, name, None)
    if plain is None or hasattr(plain, "_spyrelab"):
        return

    @functools.wraps(plain)
    def answered(*args: Any, **kwargs: Any) -> Any:
        return (ours if is_card(device_of(args, kwargs)) else plain)(*args, **kwargs)

    answered._spyrelab = True  # type: ignore[attr-defined]
    setattr(home, name, answered)


def _skip_empty_launches() -> None:
    """A kernel on tensors without elements has no programs: there is nothing to launch."""
    import helion.runtime

    plain: Any = helion.runtime.default_launcher
    if hasattr(plain, "_spyrelab"):
        return

    @functools.wraps(plain)
    def launch(kernel: Any, grid: tuple[int, ...], *args: Any, **kwargs: Any) -> Any:
        return None if 0 in grid and is_card() else plain(kernel, grid, *args, **kwargs)

    launch._spyrelab = True  # type: ignore[attr-defined]
    helion.runtime.default_launcher = launch
