# %% [markdown]
# # 1. The machine
#
# *What does a dataflow accelerator make you say out loud that a GPU hides, and what does a kernel
# cost?*
#
# A GPU is a good host. You hand it a grid of blocks; it chooses where each one runs, a cache keeps
# what was used lately, and when a load is late it turns to another block. Most of what decides the
# speed of a kernel is decided for you, at run time, by hardware.
#
# A dataflow accelerator such as the IBM Spyre card has no such host. There is no cache, no
# scheduler and no second block to turn to. Everything is said in the program, before it starts:
#
# | question | on a GPU | on the card |
# |---|---|---|
# | who does this piece? | the block scheduler | the program: core `c` does piece `c` |
# | what stays close? | the cache decides | the program: what it loaded, until it is done |
# | does it fit? | into the cache always, more or less slowly | yes, or the program is rejected |
# | how are results shared? | in memory, with atomics | by name: these cores send, that one folds |
# | how long will it take? | measure it | it follows from the program (chapter 2) |
#
# (Shared memory is the exception on a GPU: you say what goes in, and too much is an error. On the
# card everything is like that.)
#
# That is more work. In return nothing is hidden: **you can count what a kernel costs before it
# runs**. By the end of this chapter you will have written kernels that run on 32 emulated cores,
# and predicted to the byte what they move.
#
# One example grows through the book: a **transformer block**. A stream of tokens passes through
# it; attention and a wide layer, each behind a norm, read the stream and add to it:
#
# ```python
# def block(stream):  # tokens x channels
#     # attention: products, a softmax, products
#     stream = stream + attention(norm(stream))
#     # the wide layer: a product to more channels, gelu, a product back
#     return stream + down(gelu(up(norm(stream))))
# ```
#
# | chapter | what happens to the block |
# |---|---|
# | 1 | its softmax, written by hand and counted in bytes |
# | 2 | its softmax and its products, timed |
# | 3 | two whole blocks, run and trained, one operation after the other |
# | 4 | its stream and its weights, laid out |
# | 5 | its attention and its wide layer, kept on the cores |
# | 6 | its wide layer, compiled from the PyTorch module |
# | 7 | its attention over a paged cache, as Triton and Helion kernels |
#
# This chapter takes four pieces of it: a sum of two vectors, the softmax over rows of scores, sums
# that cores share, and tokens that lie scattered in pages.
#
# Two imports are all we need.

# %%
import numpy as np

import spyrelab

# %% [markdown]
# ## What is on the card?

# %%
from spyrelab.machine import SPYRE
from spyrelab.viz.card import draw_card
from spyrelab.viz.picture import show

show(draw_card(SPYRE))

# %% [markdown]
# **What to notice.**
#
# * There are two kinds of memory. **DDR** is large, far away and shared. **LX**, the scratchpad, is
#   small and close, and each core has its own. Nothing moves between them by itself.
# * Two kinds of road. The **data ring** passes every core and DDR. The **partial-sum rings** pass
#   the cores only, and are for adding up what several cores have computed.
# * Two kinds of arithmetic. The **PT**, the matrix unit, multiplies matrices; the **SFP**, the
#   vector unit, does everything else. Each core has two *corelets* with one of each.
#
# Every number in the picture is data, with its source and how far to trust it (A: independent
# measurements agree, B: one good source, C: indirect, or sources disagree, D: unverified). Names
# such as CP-007 are rows of published measurements on the card. `spyrelab info` lists every number.

# %%
from spyrelab.machine.units import format_quantity

names = ("cores", "lx_bytes", "ddr_bytes", "stick_bytes", "ddr_read_bytes_per_second", "clock_hz")
for name in names:
    fact = SPYRE.facts[name]
    value = format_quantity(fact.value, fact.unit)
    print(f"{name:26}{value:>14}   {fact.confidence}   {fact.source.split(';')[0]}")

# %% [markdown]
# Which of these numbers should a kernel writer fear most? Divide what the card can compute in a
# second by what it can fetch in a second:

# %%
operations_per_byte = SPYRE.peak_flops("f16") / SPYRE.ddr_read_bytes_per_second
print(f"{operations_per_byte:.0f} operations in the time of one byte")

# %% [markdown]
# While one byte arrives from DDR, the card could do some 450 operations. An addition of two vectors
# does one operation for six bytes. So for most kernels the cost *is* the traffic, and the question
# of this chapter becomes: **how many bytes does a kernel move, and how few could it move?**
#
# ## What is a stick, and whose is it?
#
# DDR is not touched byte by byte. The unit of layout is the **stick**: 128 bytes, 64 elements of
# two bytes in f16, *halves* for short. A vector of 4,096 halves is 64 sticks. Shared out evenly,
# each of the 32 cores gets two:

# %%
from spyrelab.viz.sticks import draw_owners

element = np.arange(4096)
show(draw_owners(element // 128, title="4,096 elements of f16 on 32 cores"))

# %% [markdown]
# **What to notice.** The owner of an element is a matter of arithmetic: element 1,000 is in stick
# 1,000 // 64 = 15, and every core has two sticks, so it belongs to core 7. There is no table and
# nobody to ask: all 32 cores run the *same* program, each works out its own share from its own
# number, and they agree because the arithmetic is the same. This is called SPMD (single program,
# multiple data).
#
# **Exercise 1** (`owner_of` in [exercises/ch01_machine.py](../exercises/ch01_machine.py), about 4
# lines). Do it for any number of elements and any element size. Save the file and run the cell
# below; it grades what was last saved. `spyrelab.check("ch01.1", hint=2)` shows more hints.

# %% tags=["exercise"]
spyrelab.check("ch01.1")

# %% [markdown]
# ## What does a kernel look like?
#
# Our programs for the card are written in **KTIR**, a small public language in the MLIR family. Few
# people write it by hand (compilers do), but everything that runs in this book goes through it, so
# let us write one kernel in full. It doubles a vector.

# %%
double = """
module {
  func.func @double(%x: index, %y: index) attributes {grid = [32]} {
    %core  = ktdp.get_compute_tile_id : index
    %share = arith.constant 128 : index
    %first = arith.muli %core, %share : index

    %from = ktdp.construct_memory_view %x, sizes: [4096], strides: [1] {
      coordinate_set = affine_set<(i) : (i >= 0, -i + 4095 >= 0)>,
      memory_space = #ktdp.memory_space<global>
    } : memref<4096xf16>
    %to = ktdp.construct_memory_view %y, sizes: [4096], strides: [1] {
      coordinate_set = affine_set<(i) : (i >= 0, -i + 4095 >= 0)>,
      memory_space = #ktdp.memory_space<global>
    } : memref<4096xf16>

    %source = ktdp.construct_access_tile %from[%first] {
      access_tile_set = affine_set<(i) : (i >= 0, -i + 127 >= 0)>,
      access_tile_order = affine_map<(i) -> (i)>
    } : memref<4096xf16> -> !ktdp.access_tile<128xindex>
    %values = ktdp.load %source : !ktdp.access_tile<128xindex> -> tensor<128xf16>

    %doubled = arith.addf %values, %values : tensor<128xf16>

    %target = ktdp.construct_access_tile %to[%first] {
      access_tile_set = affine_set<(i) : (i >= 0, -i + 127 >= 0)>,
      access_tile_order = affine_map<(i) -> (i)>
    } : memref<4096xf16> -> !ktdp.access_tile<128xindex>
    ktdp.store %doubled, %target : tensor<128xf16>, !ktdp.access_tile<128xindex>
    return
  }
}
"""

# %% [markdown]
# It says five things, and so does every kernel:
#
# 1. **Who am I?** `grid = [32]` asks for 32 copies, and `get_compute_tile_id` tells each copy its
#    number: `%core` is 0 in one and 31 in another.
# 2. **What is out there?** `construct_memory_view`: from address `%x` on lie 4,096 halves, one
#    after the other. A view names memory. It moves nothing.
# 3. **Which part is mine?** `construct_access_tile`: the 128 elements that begin at `%first`. A
#    tile names a part of a view. It, too, moves nothing.
# 4. **Move it.** `ktdp.load` and `ktdp.store` are the only two lines that touch DDR. What is loaded
#    lies in LX, as a value of type `tensor<128xf16>`.
# 5. **Compute.** `arith.addf` adds tensors in LX.
#
# `affine_set<(i) : (i >= 0, -i + 4095 >= 0)>` is a way to write "0 to 4,095": every condition is an
# expression that must not be negative. Addresses count elements, not bytes.
#
# Now run it. `run` places the arrays in the emulated DDR, runs 32 emulated cores, and reads
# everything back. (The very first run on a computer takes a minute or two more: it compiles the
# emulator.)

# %%
module = spyrelab.ktir.parse(double)
x = np.linspace(-1, 1, 4096, dtype=np.float16)
run = spyrelab.emulator.run(module, {"x": x, "y": np.zeros_like(x)})

print("doubled:", np.array_equal(run.outputs["y"], x + x))
run.counters

# %% [markdown]
# **What to notice.** These are the **counters**, our first measure of cost. 4,096 elements of two
# bytes were read and as many written: 8,192 bytes each way, 64 sticks each way, 256 bytes and two
# sticks for a core. `ops_sfp` counts the additions, which the SFP does. `lx_peak` is not a sum: the
# largest number of bytes that any core had in its LX at once is 256, because the sum took the place
# of the value it was made from, which nobody needed any more.
#
# Counters do not depend on the speed of the emulator. They are facts about the program, exact, and
# the same on every computer. That is why they can be predicted, compared and graded.
#
# ## Who writes all that text?
#
# The `Builder` writes KTIR from Python: handles in, text out.

# %%
from spyrelab.ktir import F16, F32, I32, Builder

b = Builder("double", grid=(32,))
x_view, y_view = (b.view(p, sizes=(4096,), dtype=F16) for p in b.pointers("x", "y"))
first = b.compute_tile_id() * 128
values = b.load(x_view[first], shape=(128,))
b.store(values + values, y_view[first])

same = spyrelab.emulator.run(b.build(), {"x": x, "y": np.zeros_like(x)})
print("same counters as by hand:", same.counters == run.counters)

# %% [markdown]
# Same five things: who am I, what is out there, which part, move, compute. (`help(Builder)` lists
# all that it can write, and `spyrelab.ktir.dumps` shows the text that a module stands for. Try it
# on `module`.)
#
# With so short a notation we can be curious. Let every core write *its own number* into its share
# of a matrix, and let the machine tell us who owns what. Here are two ways to divide the same 8 x
# 1,024 matrix over 32 cores:


# %%
def paint(tile, place):
    """Every core fills its tile, which begins at place(core), with its own number."""
    b = Builder("paint", grid=(32,))
    (address,) = b.pointers("owners")
    owners = b.view(address, sizes=(8, 1024), dtype=F16)
    core = b.compute_tile_id()
    row, column = place(core)
    b.store(b.fill(tile, core.to(I32).to(F16)), owners[row, column])
    return spyrelab.emulator.run(b.build(), {"owners": np.full((8, 1024), -1, np.float16)})


by_quarters = paint((1, 256), lambda core: (core // 4, core % 4 * 256))
by_columns = paint((8, 32), lambda core: (0, core * 32))

show(draw_owners(by_quarters.outputs["owners"], title="a quarter of a row for each core"))
show(draw_owners(by_columns.outputs["owners"], title="32 columns for each core"))

# %%
for name, result in (("quarters", by_quarters), ("columns", by_columns)):
    counted = result.counters
    print(f"{name:10}{counted.ddr_write.sum():>8,} bytes{counted.sticks_written.sum():>6} sticks")

# %% [markdown]
# **What to notice.** Both write every element once: 16,384 bytes. But 32 columns are half a stick,
# so in the second picture every stick has two owners (framed), and each of them has to touch it:
# 256 sticks instead of 128. Elements decide what is *right*; sticks decide what it *costs*. A good
# division gives whole sticks to one core.
#
# What if the size is no multiple of anything? Then somebody's tile overhangs the end. The view says
# where memory ends, and the overhanging part is *masked*: loads give zero there, stores are
# dropped, and nothing is moved or counted. (A tile may overhang its view, but not be larger than
# the view.)

# %%
b = Builder("double", grid=(32,))
x_view, y_view = (b.view(p, sizes=(4000,), dtype=F16) for p in b.pointers("x", "y"))
first = b.compute_tile_id() * 128
values = b.load(x_view[first], shape=(128,))
b.store(values + values, y_view[first])

odd = spyrelab.emulator.run(b.build(), {"x": x[:4000], "y": np.zeros_like(x[:4000])})
print("bytes written by cores 30 and 31:", odd.counters.ddr_write[30:])
print("in total:", odd.counters.ddr_write.sum())

# %% [markdown]
# **Exercise 2** (`axpy`, about 9 lines). `out = alpha * x + y` for any number of elements, every
# element moved once, no stick shared, no core with more than its share.

# %% tags=["exercise"]
spyrelab.check("ch01.2")

# %% [markdown]
# ## What will it cost? Say so before you run it
#
# Take the softmax of our block. **Softmax** turns each row of a matrix of scores into
# probabilities:
#
# $$\mathrm{out}_{rc} = \frac{e^{x_{rc} - m_r}}{\sum_j e^{x_{rj} - m_r}},
# \qquad m_r = \max_j x_{rj}.$$
#
# A framework without a compiler runs one operation after the other, and each reads its input from
# DDR and writes its result back. Here is that habit on our card: maximum, subtract, exponential,
# sum, divide. Core $c$ takes rows $c, c + 32, c + 64, \ldots$; arithmetic is done in f32, and
# memory holds f16.
#
# Three new words: `loop` is Python's `range`, walked by each core on its own; `reduce` folds an
# axis away (here axis 1: a row becomes one number); `broadcast` puts that axis back, by repetition.


# %%
def softmax_op_by_op(rows, cols):
    b = Builder("softmax_op_by_op", grid=(32,))
    pointers = b.pointers("x", "centred", "powers", "out")
    x, centred, powers, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in pointers)

    def fetch(view):
        return b.load(view[row, 0], shape=(1, cols)).to(F32)

    def keep(tensor, view):
        b.store(tensor.to(F16), view[row, 0])

    def wide(column):
        return b.broadcast(column, (1, cols), 1)

    with b.loop(b.compute_tile_id(), rows, 32, names="row") as row:
        top = b.reduce("max", fetch(x), 1)
        keep(fetch(x) - wide(top), centred)
        keep(b.exp(fetch(centred)), powers)
        total = b.reduce("add", fetch(powers), 1)
        keep(fetch(powers) / wide(total), out)
    return b.build()


# %% [markdown]
# Count before you run: `fetch` stands there five times and `keep` three times, each for every
# element of the matrix, two bytes each. For 4,096 rows of 1,024 that is

# %%
rows, cols = 4096, 1024
print(f"predicted: {5 * 2 * rows * cols:,} bytes read, {3 * 2 * rows * cols:,} written")

rng = np.random.default_rng(0)
scores = rng.standard_normal((rows, cols)).astype(np.float16)
empty = np.zeros_like(scores)
arrays = {"x": scores, "centred": empty, "powers": empty, "out": empty}
op_by_op = spyrelab.emulator.run(softmax_op_by_op(rows, cols), arrays)

counted = op_by_op.counters
print(f"counted:   {counted.ddr_read.sum():,} bytes read, {counted.ddr_write.sum():,} written")

# %% [markdown]
# To the byte. A prediction like this needs neither the card nor the emulator; it needs the program
# and a pencil. (The engine `null` is that pencil: `run(..., engine="null")` walks through a program
# and counts, without computing a single element.)
#
# **Exercise 3** (`predict_traffic`, about 3 lines). `softmax_in_three_passes` in
# [exercises/given_ch01.py](../exercises/given_ch01.py) is another first draft. Read it and predict
# what it reads and writes. Mind the types.

# %% tags=["exercise"]
spyrelab.check("ch01.3")

# %% [markdown]
# ## What can go wrong, and who notices?
#
# Three kinds of mistake, three guards. The first guard is the **verifier**: a program that
# contradicts itself does not get past it. Let the tiles claim a size that their sets do not have:

# %%
try:
    spyrelab.ktir.parse(double.replace("tile<128xindex>", "tile<64xindex>")).verify()
except spyrelab.ktir.KtirError as error:
    print(error)

# %% [markdown]
# The second is the **sanitizer**. A view promises memory, and the promise may be false. An array
# that is shorter than the view on it is refused at once, but an address can be computed. Let `%to`
# begin one tile too late. With `sanitize=True` every access is held against the arrays that were
# really placed:

# %%
late = double.replace(
    "%to = ktdp.construct_memory_view %y",
    "%late = arith.addi %y, %share : index\n    %to = ktdp.construct_memory_view %late",
)
try:
    arrays = {"x": x, "y": np.zeros_like(x)}
    spyrelab.emulator.run(spyrelab.ktir.parse(late), arrays, sanitize=True)
except spyrelab.emulator.AccessError as error:
    print(error)

# %% [markdown]
# The third guard is **you**: a program that is well formed, stays inside its arrays, and computes
# something else than you meant, or computes the right thing twice. For the first, compare values
# with a few lines of NumPy, on inputs that are not all alike: positive, negative, large. For the
# second, compare the counters with your prediction.
#
# **Exercise 4** (`repair_centre`, about 4 lines). `BROKEN_CENTRE` in
# [exercises/given_ch01.py](../exercises/given_ch01.py) has three wrong lines. One gives wrong
# values always, one only for some data, and one gives right values and wastes traffic.

# %% tags=["exercise"]
spyrelab.check("ch01.4")

# %% [markdown]
# ## How few bytes can softmax move?
#
# Every input has to be read and every output written at least once: four bytes an element. No
# program can do with less, so this is the **lower bound**, and operation by operation moves four
# times as much.
#
# A first step down: a row need not be in one piece to know its maximum and sum. Walk along it once
# in pieces, and keep a running maximum and a running sum; whenever the maximum rises, scale the sum
# down to match. Then walk along it a second time and write the result. No intermediate array is
# left in DDR. (Remember this trick: in chapter 7 it carries paged attention.)


# %%
def softmax_in_two_passes(rows, cols, width=256):
    b = Builder("softmax_in_two_passes", grid=(32,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))

    def fetch(column):
        return b.load(x[row, column], shape=(1, width)).to(F32)

    def wide(value):
        return b.broadcast(value, (1, width), 1)

    with b.loop(b.compute_tile_id(), rows, 32, names="row") as row:
        nothing = (b.fill((1,), -np.inf), b.fill((1,), 0.0))
        walk = b.loop(0, cols, width, carry=nothing, names=("column", "top", "total"))
        with walk as (column, top, total):
            piece = fetch(column)
            higher = b.reduce("max", piece, 1, initial=top)
            scaled = total * b.exp(top - higher)
            walk.yield_(higher, b.reduce("add", b.exp(piece - wide(higher)), 1, initial=scaled))
        top, total = walk.results
        with b.loop(0, cols, width, names="column") as column:
            share = b.exp(fetch(column) - wide(top)) / wide(total)
            b.store(share.to(F16), out[row, column])
    return b.build()


# %% [markdown]
# The second step: 1,024 halves are 2 KiB, and a core has 2 MiB. Load a row *once*, keep it in LX,
# and do all five operations there. The library's `spyrelab.kernels.softmax` does that.

# %%
from spyrelab.viz.traffic import draw_traffic

arrays = {"x": scores, "out": empty}
two_passes = spyrelab.emulator.run(softmax_in_two_passes(rows, cols), arrays)
rows_in_lx = spyrelab.emulator.run(spyrelab.kernels.softmax(rows, cols), arrays)
versions = {
    "operation by operation": op_by_op,
    "two passes": two_passes,
    "rows kept in LX": rows_in_lx,
}
traffic = {name: version.counters for name, version in versions.items()}
show(draw_traffic(traffic, lower_bound=2 * 2 * rows * cols))

# %%
powers = np.exp(scores.astype(np.float64) - scores.max(axis=1, keepdims=True))
expected = powers / powers.sum(axis=1, keepdims=True)
last_place = np.spacing(expected.astype(np.float16))
for name, version in versions.items():
    error = (np.abs(version.outputs["out"] - expected) / last_place).max()
    peak = version.counters.lx_peak.max()
    print(f"{name:24}largest error {error:.1f} units   LX peak {peak:>9,} bytes")

# %% [markdown]
# **What to notice.** The last moves a quarter of the bytes of the first, and cannot be beaten. It
# pays in the last column: **traffic is bought with scratchpad**. The version of the library takes
# 16 rows at a time; the one in two passes needs two kilobytes, however long the rows are. (As
# written, 256 has to divide their length: a mask leaves zeros, and $e^0$ is not nothing.)
#
# Errors are in units of the last place of f16. Half a unit is what rounding the exact result would
# give, so the lower two are as right as f16 allows. The first is not: every trip through DDR
# rounded a row once more. Traffic costs digits, too.
#
# **Exercise 5** (`softmax`, about 15 lines). Write the version that reads once and writes once, for
# any number of rows and columns.

# %% tags=["exercise"]
spyrelab.check("ch01.5")

# %% [markdown]
# ## How do cores work together?
#
# So far no core needed another. But what if there is one long row, and all 32 cores should share
# it? Each can find the largest value of its own part. Then the 32 partial results have to meet, and
# on this card that, too, is said out loud: a group of cores **produces** partial results, and the
# results are **reduced** on their way to whoever **consumes** them.

# %%
from spyrelab.ktir.builder import TileGroups


def largest(n, everyone):
    b = Builder("largest", grid=(32,))
    x_at, out_at = b.pointers("x", "out")
    x = b.view(x_at, sizes=(1, n), dtype=F16)
    out = b.view(out_at, sizes=(1,), dtype=F32)
    core = b.compute_tile_id()
    mine = b.reduce("max", b.load(x[0, core * (n // 32)], shape=(1, n // 32)).to(F32), 1)
    group = TileGroups.adjacent(groups=1, size=32)
    top = b.produce_reduce(mine, group, combine="max", identity=-np.inf, everyone=everyone)
    with b.if_(core.equals(0)):
        b.store(top, out[0])
    return b.build()


text = spyrelab.ktir.dumps(largest(65536, everyone=False))
print(text[text.index("    %partials") : text.index("    %holds")].rstrip())

# %% [markdown]
# `inter_tile_produce` says which cores contribute (all 32), `inter_tile_reduce` which of them
# receive (core 0) and how two partial results become one (the larger). There are no locks and no
# atomics: who talks to whom is in the text, and so is what it costs. (`core.equals(0)` asks on the
# card, while the program runs; `==` would ask Python, while it is built.)

# %%
long_row = rng.standard_normal((1, 65536)).astype(np.float16)
for everyone in (False, True):
    result = spyrelab.emulator.run(
        largest(65536, everyone), {"x": long_row, "out": np.zeros(1, np.float32)}
    )
    ring, who = result.counters.ring, "every core" if everyone else "core 0 only"
    print(f"{who:12}receives: {ring.sum():>5,} bytes on the ring, {ring[0]} of them into core 0")
print("right:", result.outputs["out"][0] == long_row.max())

# %% [markdown]
# **What to notice.** 31 partial results of four bytes reach core 0: its own does not travel. If
# every core wants the answer, that happens 32 times. A hundred bytes on the ring stand for 131,072
# bytes that were read from DDR only once: partial results are small, which is why this division is
# a good one.
#
# **Exercise 6** (`row_sums`, about 12 lines). The sums of a few long rows, with all cores on every
# row.

# %% tags=["exercise"]
spyrelab.check("ch01.6")

# %% [markdown]
# ## What if the address is itself data?
#
# Some kernels do not know where to read until they have read something else. An embedding looks up
# row `ids[t]` for each token `t`; paged attention looks up in a table which page of its cache comes
# next. In KTIR a subscript of an access tile may be a place in another view:


# %%
def embed(tokens, vocabulary, width):
    b = Builder("embed", grid=(32,))
    weights_at, ids_at, out_at = b.pointers("weights", "ids", "out")
    weights = b.view(weights_at, sizes=(vocabulary, width), dtype=F16)
    ids = b.view(ids_at, sizes=(tokens,), dtype=I32)
    out = b.view(out_at, sizes=(tokens, width), dtype=F16)
    first = b.compute_tile_id() * (tokens // 32)
    found = b.gather(weights, (tokens // 32, width), lambda t, c: (ids[first + t], c))
    b.store(found, out[first, 0])
    return b.build()


tokens, vocabulary, width = 128, 5000, 256
weights = rng.standard_normal((vocabulary, width)).astype(np.float16)
ids = rng.integers(0, vocabulary, tokens).astype(np.int32)
result = spyrelab.emulator.run(
    embed(tokens, vocabulary, width),
    {"weights": weights, "ids": ids, "out": np.zeros((tokens, width), np.float16)},
)
print("right:", np.array_equal(result.outputs["out"], weights[ids]))
print(f"{result.counters.ddr_read.sum():,} bytes read, of {weights.nbytes:,} in the table")

# %% [markdown]
# **What to notice.** The rows that were asked for (128 x 512 bytes) and their numbers (128 x 4
# bytes) were read, and nothing else of a table forty times as large. The variable `t` picks a
# number from `ids`, that number picks a row, and `c` runs along it.
#
# **Exercise 7** (`gather_tokens`, about 11 lines). Gather tokens that lie in pages of 16, through a
# page table: the first thing that paged attention does.

# %% tags=["exercise"]
spyrelab.check("ch01.7")

# %% [markdown]
# ## What if it does not fit?
#
# We have kept things in LX as if there were always room. A cache would evict something and go on,
# slowly. A scratchpad evicts nothing by itself, so a program that needs more than 2 MiB on some
# core is not slow: it is rejected. Let a core take 512 rows at once:


# %%
def powers_of(rows, cols, height):
    b = Builder("powers", grid=(32,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    first = b.compute_tile_id() * height
    wide = b.load(x[first, 0], shape=(height, cols)).to(F32)
    b.store(b.exp(wide - 1.0).to(F16), out[first, 0])
    return b.build()


try:
    spyrelab.emulator.lower(powers_of(16384, 1024, height=512))
except spyrelab.emulator.LxOverflowError as error:
    print(error)

# %% [markdown]
# **What to notice.** Nothing ran: this was found when the program was *lowered*, from the text
# alone. The message names what is alive at the worst point. Converting the tile holds it twice, as
# 512 x 1,024 halves (1 MiB) and as floats (2 MiB). Two bytes an element looked safe; it is the
# four-byte copy that fills the scratchpad. Before and after that point less is alive, but the peak
# is what counts:

# %%
for height in (64, 128, 256):
    program = spyrelab.emulator.lower(powers_of(32 * height, 1024, height))
    print(f"{height:>4} rows: {program.lx.peak:>9,} of {SPYRE.lx_bytes:,} bytes")

# %% [markdown]
# Six bytes an element, and none for the difference, the exponential or the result. A result may
# take over the place of an operand of the same size that is not used again.
#
# (A program may use all of LX. The planners of chapter 5 work with 80 %: the rest belongs to the
# back end of the compiler.)
#
# **Exercise 8** (`tallest_tile`, about 5 lines). How many rows may a tile have, given so many
# bytes?

# %% tags=["exercise"]
spyrelab.check("ch01.8")

# %% [markdown]
# ## What did we just run?
#
# Not a card. What ran your kernels is a **virtual machine whose instructions work on tiles**. A
# program is *lowered* once: addresses become arithmetic, each operation on a tensor becomes one
# instruction, and what remains is a short table of integers.

# %%
from spyrelab.emulator.opcodes import Op

program = spyrelab.emulator.lower(module)
for number, instruction in enumerate(program.code):
    origin = program.source_of(number)
    name = program.operations[origin].name if origin >= 0 else "return"
    print(f"{number}  {Op(instruction[0]).name.lower():14} <- {name}")

# %% [markdown]
# **What to notice.** Some thirty lines of text became seven instructions. Access tiles have none:
# they name memory, and end as numbers inside the load and the store. One instruction,
# `binary_float`, adds 128 elements in one compiled loop, so the cost of deciding *what* to do is
# paid once a tile and not once an element. The machine itself is compiled the first time you use it
# and kept on disk; a new kernel compiles nothing.
#
# How do we know that it is right? There is a second engine, `reference`, written for reading: one
# short piece of NumPy for each operation. It is the *definition* of the language. With `exact=True`
# the fast engine has to agree with it in every bit, for every operation:

# %%
small = {"x": scores[:256], "out": empty[:256]}
kernel = spyrelab.kernels.softmax(256, cols)
fast = spyrelab.emulator.run(kernel, small, engine="vm", exact=True)
slow = spyrelab.emulator.run(kernel, small, engine="reference")

bits = [result.outputs["out"].view(np.uint16) for result in (fast, slow)]
print("equal bit for bit:", np.array_equal(*bits))
print("equal counters:   ", fast.counters == slow.counters)

# %% [markdown]
# How much faster is it? The next cell measures *your* computer, so its output is the only one in
# this chapter, your grades aside, that will differ from what is printed here. All costs above
# belong to the card; this one belongs to the emulator, and the two never mix.

# %% tags=["volatile"]
from time import perf_counter

for engine in ("reference", "vm"):
    seconds = []
    for _ in range(3):
        start = perf_counter()
        spyrelab.emulator.run(kernel, small, engine=engine)
        seconds.append(perf_counter() - start)
    print(f"{engine:10}{min(seconds) * 1e3:8.1f} ms")

# %% [markdown]
# ## What you learned
#
# * A dataflow accelerator makes you say who works on what, what stays close, whether it fits, and
#   who talks to whom. In return the cost of a kernel can be counted from its text.
# * A kernel is five things: who am I, what is out there (view), which part (access tile), move
#   (load, store), compute.
# * The first cost is bytes. Find the lower bound, count what you move, and ask where the difference
#   goes.
# * Scratchpad buys traffic, up to a hard limit.
# * Our block: its softmax over 4,096 x 1,024 scores moves 67.1 MB operation by operation, 25.2 MB
#   in two passes and 16.8 MB with rows kept in LX, which is the least.
#
# Numbers to remember:
#
# | number | what |
# |---|---|
# | 32 | cores, each with two corelets |
# | 2 MiB | scratchpad (LX) of a core; 64 MiB on the card |
# | 128 bytes | a stick: 64 halves, 32 floats |
# | 159 GB/s | sustained reads from DDR, of 205 on the nameplate |
# | 72 TFLOP/s | f16 peak at 1.1 GHz |
# | 450 | operations in the time of one byte from DDR |
#
# Your grade: `spyrelab grade ch01`. `spyrelab bench ch01 --quick` shows how long the emulator takes
# for kernels such as these, beside PyTorch on the same CPU.
#
# **Read next.** The [RFCs of torch-spyre](https://github.com/torch-spyre/rfcs), of which RFC 0682
# defines KTIR; and Milakov and Gimelshein, [Online normalizer calculation for
# softmax](https://arxiv.org/abs/1805.02867), for the running maximum.
#
# ## The next question
#
# We counted 16.8 MB for the best softmax. A first guess at its time is one division:

# %%
seconds = rows_in_lx.counters.ddr_bytes / SPYRE.ddr_stream_bytes_per_second
print(f"{seconds * 1e6:.0f} us, if nothing but the traffic took time")

# %% [markdown]
# But is it nothing but the traffic? Loads, arithmetic and stores could overlap, or wait for each
# other; 32 cores share one road to memory; a ring has a busiest link. **When does a kernel wait,
# for what, and how would we know without a card?** That is chapter 2: time.
