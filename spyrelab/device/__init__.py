"""The torch device 'spyre', in pure Python on torch's PrivateUse1 key.

Importing this package registers the device; torch does it by itself where SpyreLab is installed.
"""

from importlib import import_module

__all__ = ["autoload"]


def autoload() -> None:
    """Register the device; the entry point ``torch.backends`` that torch calls when imported."""
    import_module("spyrelab.device.backend")
    # By name: the compiler stands above the device, and torch knows one entry point only.
    import_module("spyrelab.inductor")
    import_module("spyrelab.arrival").watch({"helion": "spyrelab.helion.installation"})


autoload()
