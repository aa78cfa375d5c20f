"""Plausible wrong answers to ch01.5.  Docstrings: the status, and how the first hint begins."""

from spyrelab.ktir import F16, F32, Builder

TASK = "ch01.5"


def build(rows, cols, *, cores=32, share=None, wide=F32, shifted=True, loads=1, columns=None):
    share = share or -(-rows // cores)
    columns = columns or cols
    b = Builder("softmax", grid=(cores,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    begin = b.compute_tile_id() * share
    with b.loop(begin, b.minimum(begin + share, rows), names="row") as row:

        def load():
            return b.load(x[row, 0], shape=(1, columns)).to(wide)

        def spread(column):
            return b.broadcast(column, (1, columns), 1)

        values = load()
        top = b.reduce("max", values, 1)
        again = load() if loads > 1 else values
        powers = b.exp(again - spread(top) if shifted else again)
        b.store((powers / spread(b.reduce("add", powers, 1))).to(F16), out[row, 0])
    return b.build()


def computed_in_f16(rows, cols):
    """wrong: Try one row per step"""
    return build(rows, cols, wide=F16)


def no_maximum(rows, cols):
    """wrong: exp overflows for large values"""
    return build(rows, cols, shifted=False)


def drops_the_last_rows(rows, cols):
    """wrong: Some rows belong to no core"""
    return build(rows, cols, share=max(1, rows // 32))


def width_off_by_one(rows, cols):
    """wrong: Try one row per step"""
    return build(rows, cols, columns=cols - 1)


def width_in_whole_sticks(rows, cols):
    """wrong: Some rows belong to no core"""
    return build(rows, cols, columns=max(64, cols // 64 * 64))


def reads_x_twice(rows, cols):
    """over budget: The least traffic is every element"""
    return build(rows, cols, loads=2)


def hard_coded_shape(rows, cols):
    """wrong: Try one row per step"""
    return build(64, 128)


def one_core_does_it_all(rows, cols):
    """over budget: Is every core at work?"""
    return build(rows, cols, cores=1)


def normalises_the_wrong_axis(rows, cols):
    """wrong: Try one row per step"""
    b = Builder("softmax", grid=(32,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    share = -(-rows // 32)
    place = b.compute_tile_id() * share
    values = b.load(x[place, 0], shape=(share, cols)).to(F32)
    powers = b.exp(values)
    total = b.broadcast(b.reduce("add", powers, 0), (share, cols), 0)
    b.store((powers / total).to(F16), out[place, 0])
    return b.build()
