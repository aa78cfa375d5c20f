"""Every operation of the language: how it is read, written and checked.

One module per dialect holds a table with one `Form` per operation; rules that need more
than a few lines stand in ``*_rules`` modules beside it.
"""

from spyrelab.ktir.dialects import (
    arith,
    collectives,
    func,
    ktdp,
    linalg,
    math,
    memref,
    scf,
    scf_parallel,
    spyrelab,
    spyreop,
    tensor,
)

FORMS = {
    name: form
    for dialect in (
        *(ktdp, collectives, arith, math, linalg, tensor),
        *(scf, scf_parallel, func, memref, spyreop, spyrelab),
    )
    for name, form in dialect.FORMS.items()
}
"""Every operation by its full name."""
