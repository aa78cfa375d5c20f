"""Plausible wrong answers to ch01.7.  Docstrings: the status, and how the first hint begins."""

from spyrelab.ktir import F16, I32, Builder

TASK = "ch01.7"


def build(tokens, pages, width, *, needed=None, cores=32, pick=None, wasteful=False):
    needed = needed or -(-tokens // 16)
    b = Builder("gather_tokens", grid=(cores,))
    store_at, table_at, out_at = b.pointers("store", "table", "out")
    store = b.view(store_at, sizes=(pages, 16, width), dtype=F16)
    table = b.view(table_at, sizes=(-(-tokens // 16),), dtype=I32)
    out = b.view(out_at, sizes=(tokens, width), dtype=F16)
    with b.loop(b.compute_tile_id(), needed, cores, names="page") as page:
        place = pick or (lambda table, page, t, c: (table[page], t, c))
        rows = b.gather(store, (16, width), lambda t, c: place(table, page, t, c))
        if wasteful:
            rows = rows + b.load(store[0, 0, 0], shape=(1, 16, width)).item(0, 0, 0) * 0.0
        b.store(rows, out[page * 16, 0])
    return b.build()


def ignores_the_table(tokens, pages, width):
    """wrong: Step p of the loop handles tokens"""
    return build(tokens, pages, width, pick=lambda table, page, t, c: (page, t, c))


def always_the_first_entry(tokens, pages, width):
    """wrong: Step p of the loop handles tokens"""
    return build(tokens, pages, width, pick=lambda table, page, t, c: (table[0], t, c))


def first_token_of_every_page(tokens, pages, width):
    """wrong: Step p of the loop handles tokens"""
    return build(tokens, pages, width, pick=lambda table, page, t, c: (table[page], t * 0, c))


def drops_the_last_page(tokens, pages, width):
    """wrong: The last page is only partly used"""
    return build(tokens, pages, width, needed=tokens // 16)


def hard_coded_store(tokens, pages, width):
    """wrong: The last page is only partly used"""
    return build(tokens, pages, 64)


def reads_another_page_too(tokens, pages, width):
    """over budget: Read only the pages that the table names"""
    return build(tokens, pages, width, wasteful=True)


def one_core_does_it_all(tokens, pages, width):
    """over budget: Is every core at work?"""
    return build(tokens, pages, width, cores=1)
