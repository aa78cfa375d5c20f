"""The reference interpreter: the definition of every operation, in plain NumPy.

Slow and readable: each operation is one short function in the table `REFERENCE`.  Cores are
Python generators that take turns; a core pauses only where it waits for another.  An access
outside every live allocation raises.
"""

from spyrelab.emulator.reference import (  # noqa: F401  (importing a module fills the table)
    collectives,
    contractions,
    control,
    elementwise,
    reductions,
    scalars,
    single_elements,
    spyrelab,
    structured,
    tensors,
    tiles,
    transfers,
    views,
)
from spyrelab.emulator.reference.registry import REFERENCE
from spyrelab.emulator.reference.schedule import execute

__all__ = ["REFERENCE", "execute"]
