"""What of ours decides whether a graph compiled before may be used again."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from torch._inductor import codecache

__all__ = ["install", "sources"]

_OURS = ("inductor", "tiling", "opspec", "layout", "device", "kernels", "machine")


@cache
def sources() -> str:
    """A hash of everything that generated code is made from."""
    digest = hashlib.sha256()
    root = Path(__file__).parent.parent
    for name in _OURS:
        for path in sorted((root / name).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def install() -> None:
    """Add device layouts, our settings and our own version to the key of every graph."""
    details: Any = codecache.FxGraphHashDetails
    plain = details.__init__

    def init(self: Any, gm: Any, *args: Any, **kwargs: Any) -> None:
        plain(self, gm, *args, **kwargs)
        from spyrelab.inductor.graphs import current, touches_device
        from spyrelab.inductor.hinting import hint_of

        if touches_device(gm):
            self.spyre_sources = sources()
            self.spyre_layouts = repr(current().layouts)
            self.spyre_hints = repr([hint_of(node) for node in gm.graph.nodes])

    details.__init__ = init
