# %% [markdown]
# # 4. Dataflow layouts
#
# *How should a tensor lie, who decides, and what does it cost to change one's mind?*
#
# In PyTorch a tensor is a piece of memory, and two rows of numbers that say how to walk through it:
# size and stride. Element $[i, j]$ lies at $i \cdot s_0 + j \cdot s_1$. A transpose swaps two
# numbers, a slice changes one, and no element moves.
#
# Our card reads memory in sticks of 64 halves, and its matrix unit takes them in as they come: the
# lanes of a stick are the lanes of the hardware. So *what shares a stick* is the first thing that a
# dataflow accelerator wants to know of a tensor, and the one thing that size and stride do not say.
# "64 neighbours, then a jump, then 64 more" is no stride. This chapter is about the description
# that replaces it, about the views that survive it, and about the price of those that do not.

# %%
import numpy as np

import spyrelab

# %% [markdown]
# ## What does a tensor look like on the card?
#
# Of our transformer block we take the stream that passes through it, and then its weights. At first
# the stream is one short sentence: 6 words of 100 channels each.

# %%
import torch

sentence = torch.arange(600.0).reshape(6, 100).half()
x = sentence.to("spyre")
print("PyTorch says:", tuple(x.shape), "stride", x.stride())
layout = x.device_tensor_layout()
layout

# %% [markdown]
# PyTorch still believes in size and stride. Below, the memory has *three* dimensions: 2 x 6 x 64.
# Here is every stick of it, in the order of memory, coloured by the row that its elements are from:

# %%
from spyrelab.layout import SpyreTensorLayout, element_offsets, pack, unpack
from spyrelab.layout.drawing import draw_sticks, draw_turn
from spyrelab.viz.picture import describe, new_axes, show

show(draw_sticks(layout, (6, 100)))

# %% [markdown]
# **What to notice.**
#
# * Each stick holds neighbours of *one* row. 100 channels are one stick and a bit, so every row has
#   two.
# * A row is not in one piece. First come the first sticks of all rows, then the second ones: that
#   is the order in which a matrix unit that works on 64 channels at a time wants them.
# * The bit is padded to a whole stick. 168 of 768 elements are nothing, and nobody may read them as
#   data.
#
# ## How does one write that down?
#
# With two rows of numbers again. `device_size` says what the memory is: 2 sticks, 6 rows, 64 lanes,
# row-major, and nothing else is possible. `stride_map` says what *one step* along each of these
# means on the host: 64 elements on, 100 elements on (the next row), 1 element on. Between them
# stands one identity:
#
# $$\text{host offset} = \text{device coordinates} \cdot \text{stride\_map}$$

# %%
for coordinates in ((0, 0, 0), (0, 4, 3), (1, 4, 3), (1, 5, 35)):
    offset = np.dot(coordinates, layout.stride_map)
    print(f"{coordinates!s:12} -> host offset {offset:>3} = row {offset // 100}, channel ", end="")
    print(offset % 100)

# %% [markdown]
# (1, 4, 36) is padding: its dot product would be 500, and element 500 is in row 5, at (0, 5, 0). So
# the identity holds for the elements of the tensor, and padding lies outside of it.
#
# Now let it grow: 2 sentences. And since an order must be chosen, one can choose another.

# %%
batch = (2, 6, 100)
for order in ((0, 1, 2), (1, 0, 2), (0, 2, 1)):
    chosen = SpyreTensorLayout.default(batch, "f16", order)
    size, strides = list(chosen.device_size), list(chosen.stride_map)
    print(f"dim_order {order}: {size!s:15} {strides!s:17}{chosen.nbytes:>6} bytes for 2,400")

# %% [markdown]
# **What to notice.** `dim_order` is read from its ends. Its *last* dimension is the one that sticks
# run along. Its *first* stands right before the lanes, so that its rows follow each other in memory
# (here: the two sentences, word by word). The others are outermost. And the choice costs room: with
# sticks along the 6 words, 58 of 64 lanes are padding.

# %%
show(draw_sticks(SpyreTensorLayout.default(batch), batch, dimension=1))

# %% [markdown]
# **What to notice.** Four sticks for each word, and colour says which word. The first two are
# channels 0 to 63, of sentence 0 and of sentence 1; the other two are what is left of both.
#
# **Exercise 1** (`default_layout` in [exercises/ch04_layouts.py](../exercises/ch04_layouts.py),
# about 7 lines). `device_size` and `stride_map` of any tensor.

# %% tags=["exercise"]
spyrelab.check("ch04.1")

# %% [markdown]
# ## How does a tensor get there and back?
#
# `x.to("spyre")` *packs*, and `x.cpu()` *unpacks*. Both walk over the host's elements and ask where
# each of them lies. To see that nothing else is ever looked at, poison what lies in between:

# %%
array = sentence.numpy()
memory = pack(array, layout)
places = element_offsets(layout, array.shape, (100, 1))
padding = np.ones(memory.size, bool)
padding[places.ravel()] = False
memory[padding] = np.nan

print(f"{padding.sum()} elements poisoned, first ten places of row 1: {places[1, :10]}")
print("came back whole:", np.array_equal(unpack(memory, layout, array.shape), array))

# %% [markdown]
# How does one find the place of host element 467? The identity gives an offset *for* coordinates.
# It can be read backwards: the largest host stride is 100, so 467 is 4 steps along the rows, and 67
# remain; the next is 64, so that is 1 step along the sticks; 3 remain, and are lanes. Coordinates
# (1, 4, 3), as above.
#
# **Exercise 2** (`unpack`, about 10 lines). Do it for a whole tensor, in any layout, without
# looking at padding.

# %% tags=["exercise"]
spyrelab.check("ch04.2")

# %% [markdown]
# ## What is in a lane?
#
# A stick is 128 bytes, whatever is in it. The element type decides how many lanes that is:

# %%
for dtype in ("f8E4M3FN", "f16", "bf16", "df16", "f32"):
    one = SpyreTensorLayout.default((6, 100), dtype)
    size = list(one.device_size)
    print(f"{dtype:9}{one.elements_per_stick:>4} lanes   {size!s:12}{one.nbytes:>6} bytes")

# %% [markdown]
# One of these is at home on this card only: `df16`, with 1 bit of sign, **6 of exponent and 9 of
# fraction**. IEEE half has 5 and 10. One bit more of exponent makes room for $2^{32}$ instead of
# 65,504 (think of a softmax that has not subtracted its maximum), one bit less of fraction makes
# neighbours twice as far apart. A layout can ask for it, and the copy converts:

# %%
numbers = torch.tensor([[1.0, 1.001, 3.1416, 2050.0, 65504.0]]).half()
plain = SpyreTensorLayout.default(numbers.shape)
narrow = SpyreTensorLayout(plain.device_size, plain.stride_map, "df16")
print("f16 :", numbers[0].tolist())
print("df16:", numbers.to("spyre", device_layout=narrow).cpu()[0].tolist())

# %% [markdown]
# **What to notice.** Where f16 can take steps of 1/1024, 1-6-9 takes steps of 1/512, and a number
# half way between two goes to the larger one. The last number, the largest of f16, became 65,536,
# for which 1-6-9 has plenty of room; it was lost on the way *back*.
#
# **Exercise 3** (`to_df16`, about 7 lines). Convert bit patterns yourself. The largest numbers of
# f16 are not the problem; the smallest are.

# %% tags=["exercise"]
spyrelab.check("ch04.3")

# %% [markdown]
# ## Which views are free?
#
# A view is a promise: the same memory, looked at differently. On the host every view is free,
# because any walk that can be written as strides is as good as another. On the card a program walks
# in device coordinates. So the question is whether these can be *written down* as expressions of
# the view's indices. The block has grown to its real size now: 4 sentences of 512 words of 512
# channels.

# %%
from spyrelab.layout import access, contiguous_strides
from spyrelab.opspec.spec import OpSpec, tensor_arg

big = torch.zeros(4, 512, 512, dtype=torch.float16)
stream = SpyreTensorLayout.default(big.shape)
views = {
    "x": (big, "btc"),
    "x[:, 64:128]": (big[:, 64:128], "btc"),
    "x[:, ::2]": (big[:, ::2], "btc"),
    "x.transpose(1, 2)": (big.transpose(1, 2), "bct"),
    "x[..., 64:192]": (big[..., 64:192], "btc"),
    "8 heads of 64": (big.view(4, 512, 8, 64).transpose(1, 2), "bhtc"),
    "16 heads of 32": (big.view(4, 512, 16, 32).transpose(1, 2), "bhtc"),
    "x[..., ::2]": (big[..., ::2], "btc"),
    "x[..., 10:200]": (big[..., 10:200], "btc"),
    "x[..., ::3]": (big[..., ::3], "btc"),
}
print("stream:", list(stream.device_size), "\n")
for name, (view, symbols) in views.items():
    found = access(stream, tuple(view.shape), view.stride(), view.storage_offset())
    text = "none: gather the elements first"
    if found:
        written = tensor_arg(name, stream, found, symbols).coordinates
        text = ", ".join(map(str, written))
    print(f"{name:18} {text}")

# %% [markdown]
# **What to notice.** Rows can be cut and skipped at will, and dimensions can change places: a
# transpose or a split into heads is another way to *name* the same coordinates. `//` and `%` turn
# up where an index runs along sticks: `c//64` says which, `c%64` says the lane.
#
# What cannot be written down is a walk that does not fall into step with the sticks. `10:200` has
# 54 elements in its first stick and 64 in the next; with a step of 3, sticks have 22 or 21, from a
# different lane each time. Programs for such views need a table with the place of every element, or
# read more than they use. What does that cost on the card, for a sentence of 512 words and 1,024
# channels? `spyrelab.record()` says what ran, and how long it is predicted to take:

# %%
torch.manual_seed(0)
x = torch.randn(512, 1024).half().to("spyre")


def time_of(function):
    """Predicted microseconds of everything that runs on the card, and its kernels."""
    with spyrelab.record() as record:
        function()
    return record.seconds * 1e6, record.kernels


for name, view in {
    "x[:, :896]": x[:, :896],
    "x[:, 64:960]": x[:, 64:960],
    "x[:, 10:906]": x[:, 10:906],
    "x[::2]": x[::2],
    "x[:, ::2]": x[:, ::2],
    "x[:, ::3]": x[:, ::3],
}.items():
    microseconds, _ = time_of(lambda view=view: view + 1)
    print(f"{name:13} + 1: {microseconds:6.0f} us for {view.numel():>7,} elements")

# %% [markdown]
# **What to notice.** The first two are the same work. The third is the same work, too, from lane 10
# on, and takes more than six times as long: every stick of the result is made of two. Every second
# *row* takes about twice as long as so many neighbours would, as it is read stick by stick and not
# in runs: still cheap. Every second *element* is dear, although the walk can be written down: each
# is fetched on its own. Being able to follow a view is one thing, and moving whole sticks is
# another.
#
# **Exercise 4** (`needs_gather`, 4 to 10 lines). Say for any slice of the columns whether it can be
# followed.

# %% tags=["exercise"]
spyrelab.check("ch04.4")

# %% [markdown]
# ## What does a transpose cost?
#
# On the host: two numbers change places. On the card, at first: nothing, either.

# %%
x_t = x.T
print("kernels:", len(time_of(lambda: x.T)[1]), "  same layout:", end=" ")
print(x_t.device_tensor_layout() == x.device_tensor_layout())
show(draw_turn((6, 100)))

# %% [markdown]
# **What to notice.** From left to right: our sentence; its transpose as a view, where the memory is
# the same and what we call a row is not; and what it takes to have *rows* in sticks again. In the
# middle every stick holds one element of each of 64 rows. On the right each of the 100 rows has its
# own stick, and it is six elements long: the last picture is 91 % padding.
#
# Now multiply. The PT takes the left operand in sticks along $k$, the dimension that is summed, and
# the right operand in sticks along $n$.

# %%
w = torch.randn(1024, 1024).half().to("spyre")
v = torch.randn(512, 1024).half().to("spyre")
for name, product in {
    "x @ w": lambda: x @ w,
    "x.T @ v": lambda: x.T @ v,
    "x @ w.T": lambda: x @ w.T,
}.items():
    microseconds, kernels = time_of(product)
    parts = ", ".join(f"{kernel.name} {kernel.seconds * 1e6:.0f}" for kernel in kernels)
    print(f"{name:8} {microseconds:4.0f} us: {parts}")

# %% [markdown]
# **What to notice.** A copy that no line of the program asks for, before the product, because the
# sticks run along the wrong dimension. This is a **restickify**. For `x @ w.T` it takes longer than
# the product itself. And `x @ w.T` is what every `torch.nn.Linear` does, at every step. (Each
# number is rounded on its own, so that a sum may be one off.)
#
# The cure is to lay the weight out the way it will be read. Its sticks should run along the rows of
# `w.T`, which are the columns of `w`: `dim_order` [1, 0].

# %%
turned = SpyreTensorLayout.default(w.shape, "f16", [1, 0])
w_once = w.cpu().to("spyre", device_layout=turned)
print(f"x @ w_once.T: {time_of(lambda: x @ w_once.T)[0]:.0f} us", end="   same result: ")
print(torch.equal((x @ w_once.T).cpu(), (x @ w.T).cpu()))

# %% [markdown]
# The host packed it once, at load time, for nothing. A compiler knows which tensors it may treat
# like that: the constants.
#
# ## What does each operation ask for?
#
# There are few rules, and they all speak of what is in a stick:
#
# | operation | its operands | its result |
# |---|---|---|
# | pointwise | sticks along one dimension, the same for all | the same |
# | matmul | left: sticks along $k$; right: along $n$ | along $n$ |
# | reduction across sticks | any | as the operand |
# | reduction along sticks | any; in a sum, padding counts as zero | **sparse** |
# | view | memory stays as it is | what follows from it |
#
# Sparse? Sum each row of our sentence, and the sum appears in the stick of its row. It has no
# neighbours there, and to get some it would have to move. The other 63 lanes belong to a
# *synthetic* dimension that no host stride corresponds to, so its entry in the `stride_map` is -1.

# %%
sums = SpyreTensorLayout.sparse((6,))
print(list(sums.device_size), list(sums.stride_map))
show(draw_sticks(sums, (6,)))

# %% [markdown]
# That looks like waste, and often is none: whoever divides each row by its sum wants exactly this,
# a scalar per row beside the sticks of that row. But a vector to be multiplied by a matrix has to
# be dense, and somebody has to gather it. (The eager `sum` does so itself, since it cannot know who
# comes next.)
#
# Here are the rules at work on three tensors of our block. A `Graph` has sizes and operations and
# no numbers; `propagate` walks through it and asks for every operation in which layouts it can be
# done. Without permission to restickify, some cannot:

# %%
import textwrap

from spyrelab.layout import LayoutConflictError
from spyrelab.layout.graph import Graph
from spyrelab.layout.propagation import propagate

graph = Graph()
words = graph.input("words", (512, 512))
mixed = graph.matmul(graph.input("weight", (512, 512)), graph.input("signal", (512, 512)))
graph.pointwise("add", words, graph.transpose(mixed))
try:
    propagate(graph, restickify=False)
except LayoutConflictError as error:
    print(textwrap.fill(str(error), 96))

# %% [markdown]
# **What to notice.** An error about layouts names the operation and *both* layouts; there is no
# other way to understand it. (Code finds them in its attributes `operation`, `layout` and
# `wanted`.) This is the compiler's view, where a restickify is a node in a graph.
# Eager kernels, which see one operation at a time, do not raise: they copy, as we saw, or read an
# operand the wrong way round where that is bearable.
#
# What an operation is, once all this is settled, fits in a few lines. An **OpSpec** has an
# iteration space (each symbol with its range, and how many cores share it), and says for each
# operand where, in device coordinates, the element for given values of these symbols lies. Here is
# `x.T @ v` with its left operand as it lies:

# %%
layouts = {
    name: SpyreTensorLayout.default(size)
    for name, size in {"x": (512, 1024), "v": (512, 1024), "out": (1024, 1024)}.items()
}
left = access(layouts["x"], (1024, 512), (1, 1024))
right, out = (
    access(layouts[n], s, contiguous_strides(s))
    for n, s in {"v": (512, 1024), "out": (1024, 1024)}.items()
)
print(
    OpSpec(
        "matmul",
        {"m": (1024, 32), "n": (1024, 1), "k": (512, 1)},
        (
            tensor_arg("x", layouts["x"], left, "mk"),
            tensor_arg("v", layouts["v"], right, "kn"),
            tensor_arg("out", layouts["out"], out, "mn", is_input=False),
        ),
    )
)

# %% [markdown]
# The last coordinate of each operand is its lane. `v` and `out` have `n%64` there: good. `x` has
# `m%64`, and the rule asks for `k%64`. That one letter is the copy of 25 µs.
#
# **Exercise 5** (`choose_orders`, about 4 lines). Lay two tensors out so that a product and a sum
# find what they want.

# %% tags=["exercise"]
spyrelab.check("ch04.5")

# %% [markdown]
# ## What does a restickify cost?
#
# `restickify` builds the program that moves a tensor from one layout to another. It is a kernel
# like any other, so we can run it, count it, and ask for its time.

# %%
from spyrelab.layout.restickify import restickify
from spyrelab.timing import estimate

size = (512, 1024)
rows = SpyreTensorLayout.default(size)
values = np.random.default_rng(0).standard_normal(size).astype(np.float16)
targets = {
    "rows (a copy)": rows,
    "columns": SpyreTensorLayout.default(size, "f16", [1, 0]),
    "linear": SpyreTensorLayout.linear(size),
    "1-6-9": SpyreTensorLayout(rows.device_size, rows.stride_map, "df16"),
    "sparse": SpyreTensorLayout.sparse(size),
}
print("from rows to    bytes moved   sticks read  written   predicted")
for name, target in targets.items():
    program = restickify(size, rows, target)
    room = np.zeros(target.numel, np.uint16 if name == "1-6-9" else np.float16)
    run = spyrelab.emulator.run(program, {"source": pack(values, rows), "target": room})
    if target.dtype == "f16":
        assert np.array_equal(unpack(run.outputs["target"], target, size), values)
    counted = run.counters
    read, written = counted.sticks_read.sum(), counted.sticks_written.sum()
    print(f"{name:15}{counted.ddr_bytes:>12,}{read:>14,}{written:>9,}", end="")
    print(f"{estimate(program).seconds * 1e6:>9,.0f} us")

# %% [markdown]
# **What to notice.** The *bytes* that programs ask for are the same in every line: two for each
# element, in and out. Only sticks and time tell the lines apart.
#
# * From rows to columns takes as long as a plain copy. A block of 64 sticks comes into LX, is
#   turned there for next to nothing, and leaves as 64 other sticks. What it costs is the trip, at
#   the 100 GB/s that chapter 2 found for any stream. (The eager copy in front of the product, which
#   serves any view, took 25 µs.)
# * It takes some care to get there. Rows and linear memory have the same sticks in another order: a
#   row's sticks are neighbours in one and far apart in the other. Tiles one stick wide would write
#   runs of one stick, and chapter 2 has a toll for those: more than twice the time.
# * To spread a matrix out *sparsely* writes 64 sticks for one. Nobody does that to a matrix; for a
#   vector it is nothing. It is the layout of small things.
#
# **Exercise 6** (`turn`, about 11 lines). Write the kernel that turns sticks, and touch each stick
# once.

# %% tags=["exercise"]
spyrelab.check("ch04.6")

# %% [markdown]
# ## What if somebody else reads the memory?
#
# Servers of language models keep keys and values in one large piece of memory and *reinterpret* it:
# as pages, as bytes, as another type. They compute addresses themselves, with strides. For them
# there is the linear layout, which is the host's own order, with no sticks:

# %%
pages = torch.zeros(4, 16, 64, dtype=torch.float16)
linear = pages.to("spyre", device_layout=SpyreTensorLayout.linear(pages.shape))
print(linear.device_tensor_layout())
print("as integers:", tuple(linear.view(torch.int32).shape))
try:
    pages.to("spyre").view(torch.int32)
except RuntimeError as error:
    print("\n", error)

# %% [markdown]
# A tiled tensor refuses, since its neighbours are not neighbours. Integers, and all that is no
# float, are linear from the start: nobody multiplies them by matrices. To go from one to the other
# is a restickify like any other, and one has to ask for it:

# %%
tiled = SpyreTensorLayout.default(pages.shape)
microseconds, kernels = time_of(lambda: linear.to("spyre", device_layout=tiled))
print(f"linear to tiled: {microseconds:.1f} us in {len(kernels)} kernel")

# %% [markdown]
# A layout may also have more room than its tensor needs: `tiled.padded([16, 1, 8, 64])` keeps
# places for four more pages, and changes nothing else.
#
# ## Where should one restickify?
#
# In a graph there is a choice. If an addition has one operand in rows and one in columns, either
# can be turned; or the *result* is wanted in columns anyhow; or the whole stream could change over
# for a while. Our block, once more: a residual stream of words x channels. A branch mixes words by
# a product from the left (`weight @ signal`, channels first), and comes back transposed. There are
# several branches.

# %%
from spyrelab.layout.graph_drawing import draw_placement
from spyrelab.layout.placement import place, place_greedily


def block(branches, n=512):
    graph = Graph()
    stream = graph.input("stream", (n, n))
    for number in range(branches):
        weight, signal = (graph.input(f"{name}{number}", (n, n)) for name in ("w", "h"))
        stream = graph.pointwise("add", stream, graph.transpose(graph.matmul(weight, signal)))
    graph.output(stream, SpyreTensorLayout.default((n, n)))
    return graph


greedy = place_greedily(block(3))
show(draw_placement(greedy, converted=False, title="before: broken lines do not fit"))

# %% [markdown]
# The greedy way is to walk through the graph and do for each operation what is cheapest there and
# then: turn what comes from the branch.

# %%
show(draw_placement(greedy, title=f"greedy: {greedy.seconds * 1e6:.0f} µs to restickify"))

# %% [markdown]
# Seen from above it is better to turn the *stream*: once on its way in, and once on its way out.

# %%
exact = place(block(3))
show(draw_placement(exact, title=f"exact: {exact.seconds * 1e6:.0f} µs to restickify"))

# %% [markdown]
# **What to notice.** No operation has become cheaper, and the first addition looks *worse*: greedy
# could have had it for the same price, and no debt at the end. What pays is that all later branches
# find the stream as they need it. So the gain grows with their number:

# %%
for branches in (1, 2, 3, 6, 12):
    graph = block(branches)
    first, best = place_greedily(graph), place(graph)
    print(f"{branches:>2} branches: greedy {first.seconds * 1e6:4.0f} us", end="")
    print(f"   exact {best.seconds * 1e6:4.0f} us   ratio {first.seconds / best.seconds:.1f}")

# %% [markdown]
# How is the best found? Each tensor has a few layouts to choose from, and each choice has a price
# that depends on its neighbours. In a chain, it is enough to remember, for each layout of the last
# tensor, the cheapest way to get there: dynamic programming. In a graph one removes tensor after
# tensor and keeps a table of what the neighbours would have to pay. Where a graph is too entangled
# for that, an integer program takes over. The price is always the *predicted time of the program
# that would run*: not bytes, which are the same for every program above.
#
# How often does it matter? Here are graphs as they come up in models:

# %%
from spyrelab.layout.graph_examples import GRAPHS

results = {name: (place_greedily(build()), place(build())) for name, build in GRAPHS.items()}
costly = {n: r for n, r in results.items() if r[0].seconds > 1.05 * r[1].seconds}
free = sum(r[1].seconds == 0 for r in results.values())
print(f"{len(results)} graphs: {free} need nothing, greedy is as good for", end="")
print(f" {len(results) - free - len(costly)}, and not for {len(costly)}")

axes = new_axes(7.5, 2.9)
for shift, label, colour, which in ((-0.2, "greedy", "#8c8c8c", 0), (0.2, "exact", "#0072b2", 1)):
    values = [pair[which].seconds * 1e6 for pair in costly.values()]
    bars = axes.barh(np.arange(len(costly)) + shift, values, 0.38, color=colour, label=label)
    axes.bar_label(bars, fmt=" %.0f", fontsize=8)
axes.set_yticks(range(len(costly)), [name.replace("_", " ") for name in costly])
axes.invert_yaxis()
axes.set_xlabel("predicted time of all conversions (µs)")
axes.grid(axis="y", visible=False)
axes.legend(loc="lower right")
show(
    describe(
        axes,
        "Bars of the predicted time of all conversions, greedy and exact, for the graphs where "
        + "they differ: "
        + "; ".join(
            f"{name.replace('_', ' ')} {a.seconds * 1e6:.0f} and {b.seconds * 1e6:.0f} µs"
            for name, (a, b) in costly.items()
        )
        + ".",
    )
)

# %% [markdown]
# **What to notice.** Most graphs are easy: models are written by people who put channels last.
# Where they are not, the same conversion is paid for again and again, because no single operation
# is responsible for it.
#
# **Exercise 7** (`cheapest_layouts`, about 9 lines). Place restickifies along a stream, hundreds of
# additions long.

# %% tags=["exercise"]
spyrelab.check("ch04.7")

# %% [markdown]
# ## What you learned
#
# * Size and stride describe a walk; a dataflow accelerator also has to know what shares a stick.
#   `device_size` and `stride_map` say it, with one identity.
# * Padding lies outside the identity, so whoever walks over the host's elements never meets it.
# * A view is free if device coordinates can be written in its indices. Cutting a stick is not.
# * A transpose costs nothing until somebody cares. Then it costs a trip of the whole tensor through
#   the port, unless it could have been laid out right from the start.
# * To restickify is a placement problem: the cheapest for one operation need not be the cheapest
#   for the graph.
# * Our block: a linear layer of 1,024 x 1,024 takes 82 µs for 512 words as PyTorch keeps its
#   weight, and 34 µs with the weight laid out. Its stream takes 33 µs to restickify greedily, with
#   three branches, and 22 µs at best.
#
# Numbers to remember:
#
# | number | what |
# |---|---|
# | 64 | halves in a stick; 32 floats, 128 bytes of fp8 |
# | 49 and 34 µs | to restickify 2 MB of weights in front of a product, and the product |
# | 40 times | what every second element costs, against every second row |
# | 1-6-9 | sign, exponent, fraction of the card's own 16 bits |
# | 3 times | exact against greedy, with six branches |
#
# What this chapter cannot tell you: nobody has published the time of a restickify on the real card.
# What we print follows from the model of chapter 2, where runs of sticks were measured on batched
# products only. The ranking of layouts is safer than the microseconds.
#
# Your grade: `spyrelab grade ch04`. `spyrelab bench ch04 --quick` measures transfers, products and
# placements, each checked first.
#
# **Read next.** The documents of [torch-spyre](https://github.com/torch-spyre/torch-spyre) on
# tensors and layouts: the real stack's view of this chapter.
#
# ## The next question
#
# Every operation in this chapter read its operands from DDR and wrote its result back, and then the
# next one fetched it from there. A restickify in front of a product moves a megabyte out and in
# again, although it was in the scratchpad a moment ago. **What can stay on the cores, how much of
# it, and for how long?** That is chapter 5: scratchpad tiling.
