"""KTIR of a Helion kernel, for ``spyrelab ktir --from-helion``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from spyrelab.errors import UsageError

if TYPE_CHECKING:
    from spyrelab.helion.source import Translated

__all__ = ["describe", "report", "translated"]


def translated(place: str, signature: str | None, config: str | None) -> Translated:
    """Compile the kernel that ``FILE:KERNEL`` names; nothing is launched.

    Raises
    ------
    UsageError
        Helion is missing, there is no such kernel, or its arguments are not complete.
    HelionError, UnsupportedKernelError
        It does not compile for the card.
    """
    try:
        import helion
    except ImportError:
        raise UsageError("--from-helion needs Helion: pip install 'helion==1.5.*'") from None
    from spyrelab import triton
    from spyrelab.helion import install
    from spyrelab.helion.signatures import read_arguments
    from spyrelab.helion.source import read_config, translate_kernel
    from spyrelab.triton.files import find_in

    install()
    triton.install()
    kernel, names = find_in(place, helion.Kernel, "Helion")
    args = read_arguments(kernel, signature, names)
    return translate_kernel(kernel, args, None if config is None else read_config(config))


def report(made: Translated) -> None:
    """Say on standard error how it would be launched, and what only SpyreLab understands."""
    from spyrelab.commands import ktir_triton

    numbers = ", ".join(f"{name} = {value}" for name, value in made.numbers.items())
    print(f"launched with {numbers}", file=sys.stderr)
    print(f"compiled in {json.dumps(made.config)}", file=sys.stderr)
    ktir_triton.report(made.translation)


def describe(made: Translated) -> dict[str, Any]:
    """The same for ``--json``."""
    from spyrelab.commands import ktir_triton

    return {
        "launch": dict(made.numbers),
        "config": dict(made.config),
        **ktir_triton.describe(made.translation),
    }
