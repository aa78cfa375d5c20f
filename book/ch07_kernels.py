# %% [markdown]
# # 7. Kernels that were written for GPUs
#
# *What happens to a pointer on a machine whose memory is sticks? And what does attention over a
# paged cache cost here, in Triton and in Helion?*
#
# Chapter 6 compiled operations that PyTorch has. A server for language models spends its time in
# one that PyTorch has not: attention over a cache that is cut into pages. People write it as a
# *kernel*: in Triton, a program for one tile with loads and stores through pointers, or in Helion,
# a loop over tiles whose sizes a tuner chooses. Both are Python, and both were made with GPUs in
# mind. In this chapter they run on our card, as they are, and we redo a comparison that was
# published for GPUs.
#
# It is the last step of our transformer block: first its softmax, its products and its norm as
# kernels, then its attention as a server needs it, over keys that lie in pages.

# %%
import torch

import spyrelab

# %% [markdown]
# ## Does it run?
#
# The first kernel of every Triton course:

# %%
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(out + at, total, mask=inside)


torch.manual_seed(0)
x, y = (torch.randn(100_000).half().to("spyre") for _ in range(2))
out = torch.empty_like(x)
with spyrelab.record() as seen:
    add[(triton.cdiv(len(x), 1024),)](x, y, out, len(x), 1024)
print("equal to x + y:", torch.equal(out, x + y))
print(f"{seen.kernels[0].name}: {seen.seconds * 1e6:.2f} us on the card")

# %% [markdown]
# No GPU, and no interpreter: Triton's own front end has turned the function into its first
# intermediate language, TTIR, and a backend that was found by an *entry point* of our package took
# it from there. A few lines of TTIR, the KTIR that they became, and what the backend says about
# each access to memory:

# %%
import re
import textwrap

from spyrelab.errors import SpyreLabError

explained = spyrelab.explain(add, x, y, out, len(x), 1024, grid=(98,))


def lines_of(text, *words, most=99):
    """Lines in which one of the words occurs, without their places in the source."""
    found = []
    for line in text.splitlines():
        line = re.sub(r"\s*loc\(.*", "", line).strip()
        if any(word in line for word in words):
            found.append(line if len(line) < 97 else line[:93] + " ...")
    return "\n".join(found[:most])


print(lines_of(explained.stages["ttir"], "get_program_id", "make_range", "addptr", "tt.load"))
print()
print(lines_of(explained.stages["ktir"], "scf.for", "%least", "%x_view", "%x_tile", "%x_values"))
print()
for line in explained.stages["access"].splitlines():
    print(re.sub(r"^\S*:(\d+):\d+:", r"line \1:", line))

# %% [markdown]
# **What to notice.** In TTIR a load has a *tensor of 1,024 pointers*, and a mask of as many bits.
# The card has no use for 1,024 addresses: it moves *boxes*, the access tiles of chapter 1. So the
# backend has *undone* the arithmetic. `program_id * BLOCK + arange` is an affine function of an
# index that runs from 0 to 1,023, with coefficient 1. So this is a box, which begins at `x` plus
# the offset of the program; and `at < n` is where the box ends, a *size* of the memory view, and
# no mask at all.
#
# The loop is ours, too. The kernel was launched with 98 programs, and there are 32 cores: core *c*
# takes programs *c*, *c* + 32, *c* + 64 and so on.
#
# ## How large should a block be?
#
# On a GPU: 1,024, says the tutorial. Here we ask the card. In a *dry* run a launch is predicted,
# and nothing is computed:

# %%
from spyrelab.viz.picture import describe, new_axes, show

blocks = [2**power for power in range(6, 15)]
micros = []
for block in blocks:
    with spyrelab.triton.dry() as dry:
        add[(triton.cdiv(len(x), block),)](x, y, out, len(x), block)
    micros.append(dry.seconds * 1e6)

axes = new_axes(7.0, 2.6)
axes.plot(blocks, micros, marker="o", color="#0072b2")
axes.set_xscale("log", base=2)
axes.set_xticks(blocks, [f"{block:,}" for block in blocks])
axes.set_ylim(bottom=0)
axes.set_xlabel("elements of a block (BLOCK)")
axes.set_ylabel("predicted time (µs)")
words = ", ".join(f"{b} {t:.1f}" for b, t in zip(blocks, micros, strict=True))
show(describe(axes, f"Time of the vector addition by the size of its blocks, in µs: {words}."))

# %% [markdown]
# **What to notice.** Small blocks cost instructions: every program has its own loads, and nobody
# else runs while a core waits for them. Large ones leave cores without work: 100,000 elements are
# only 7 blocks of 16,384. Between the two is the plain answer of this card, *one program for each
# core, as large as its share*.
#
# **Exercise 1** (`vector_add` in [exercises/ch07_kernels.py](../exercises/ch07_kernels.py), about 6
# lines). Port a loop.

# %% tags=["exercise"]
spyrelab.check("ch07.1")

# %% [markdown]
# ## What if the mask is missing?
#
# A GPU then reads what lies behind the tensor, and often nobody notices. The sanitizer of chapter 1
# works for any launch, and names the line of the Triton source:


# %%
@triton.jit
def double_rows(x, out, columns, BLOCK: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at))


def without_numbers(text):
    """A report without addresses, and without places that are not in the Triton source."""
    text = re.sub(r'(ktdp\.\w+)[^(]*\("[^"]*\.py":(\d+):\d+\)', r"\1 (line \2)", text)
    return re.sub(r" \(0x\w+\)", "", re.sub(r"\d{5,}", "...", text))


rows = torch.randn(8, 100).to("spyre")
try:
    with spyrelab.sanitize():
        double_rows[(8,)](rows, torch.empty_like(rows), 100, 128)
except SpyreLabError as error:
    for finding in str(error).splitlines():
        print(textwrap.fill(without_numbers(finding), 95), end="\n\n")

# %% [markdown]
# Line 4 of the cell is the `tl.store`. Each row of the result is 28 elements too long, so that two
# cores write the same place, and the last row is read beyond its end. With `mask=at < columns` for
# both accesses the reports are gone.
#
# **Exercise 2** (`row_softmax`, about 10 lines). Mend a softmax that forgot its masks. There is a
# second trap in it: what does a masked load read? (What exercises hand out is in
# [exercises/given_ch07.py](../exercises/given_ch07.py). Launch it and your own as above, under
# `spyrelab.sanitize()` for what is wrong and in `spyrelab.triton.dry()` for what it costs.)

# %% tags=["exercise"]
spyrelab.check("ch07.2")

# %% [markdown]
# ## What does a pointer become?
#
# Undoing arithmetic works as long as it is affine. Four ways to copy 64 Ki elements, which differ
# in how the address is made:


# %%
@triton.jit
def by_box(x, out, table, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))


@triton.jit
def by_descriptor(x, out, table, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [tl.num_programs(0) * BLOCK], [1], [BLOCK])
    target = tl.make_tensor_descriptor(out, [tl.num_programs(0) * BLOCK], [1], [BLOCK])
    target.store([tl.program_id(0) * BLOCK], source.load([tl.program_id(0) * BLOCK]))


@triton.jit
def by_table(x, out, table, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    page = tl.load(table + at // 64)
    tl.store(out + at, tl.load(x + page * 64 + at % 64))


@triton.jit
def by_puzzle(x, out, table, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at * at % 65521))


source = torch.randn(65536).half().to("spyre")
target = torch.empty_like(source)
table = torch.randperm(1024).to(torch.int32).to("spyre")
for kernel in (by_box, by_descriptor, by_table, by_puzzle):
    arguments = source, target, table, 2048
    notes = spyrelab.explain(kernel, *arguments, grid=(32,), stage="access")
    kind = re.search(r"load of x: (\w+)", str(notes))[1]
    with spyrelab.triton.dry() as dry:
        kernel[(32,)](*arguments)
    print(f"{kernel.__name__:14}{kind:11}{dry.seconds * 1e6:8.1f} us", end="")
    print(f"{dry.launches[0].estimate.port_bytes:12,.0f} B")
print()
for line in str(notes).splitlines()[1:4]:
    print(textwrap.fill(line.strip(), 95))

# %% [markdown]
# **What to notice.** A pointer that is a box costs what a descriptor costs. A *table* of pages is
# recognised as well: the card has an instruction for a tile whose rows are looked up (chapter 1's
# indirect access), and a page of 64 elements is one stick. What cannot be undone still works,
# element by element, and is charged for it: each element brings the whole stick that it lies in.
# `explain(..., stage="access")` says which access that is, and what to write instead.
#
# **Exercise 3** (`by_descriptor`, about 9 lines). Turn pointers into descriptors, and lose the
# masks.

# %% tags=["exercise"]
spyrelab.check("ch07.3")

# %% [markdown]
# ## Three kernels, two languages
#
# Softmax, matrix product and RMS norm, in [Triton](../spyrelab/triton/examples.py) and in
# [Helion](../spyrelab/helion/examples.py). The softmax in Triton, as one writes it for this card:

# %%
import ast
import inspect
import itertools

from spyrelab.helion import examples as in_helion
from spyrelab.triton import examples as in_triton


def code_of(kernel, first="def "):
    """The block of a kernel's source that begins with a line, without the docstring."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kernel.fn)))
    lines = inspect.getsource(kernel.fn).splitlines()
    for node in (tree.body[0].body[0],) if ast.get_docstring(tree.body[0]) else ():
        del lines[node.lineno - 1 : node.end_lineno]
    start = next(n for n, line in enumerate(lines) if line.strip().startswith(first))
    indent = re.match(" *", lines[start])[0]
    block = itertools.takewhile(lambda line: line.startswith(indent), lines[start:])
    return textwrap.dedent("\n".join(block))


print(code_of(in_triton.softmax_kernel))

# %% [markdown]
# Everything is there: which rows a program takes, where a row ends, how many go at a time. The
# Helion kernel says what is computed, and about the rest only that there are tiles of rows:

# %%
import logging

import helion
import helion.language as hl

logging.getLogger("helion").setLevel(logging.ERROR)


@helion.kernel(autotune_effort="none")
def softmax(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        values = x[tile, :].to(torch.float32)
        powers = torch.exp(values - torch.amax(values, dim=1, keepdim=True))
        out[tile, :] = (powers / torch.sum(powers, dim=1, keepdim=True)).to(x.dtype)
    return out


matrix = torch.randn(1024, 512).half().to("spyre")
code = softmax.bind((matrix,)).to_triton_code(helion.Config(block_sizes=[4]))
body = code[code.index("def _helion") : code.index("def softmax")]
for line in body.strip().splitlines():
    if "# src" not in line:
        print(line if len(line) < 97 else line[:93] + " ...")

# %% [markdown]
# **What to notice.** What was printed is what Helion *generated*: it is a compiler from PyTorch to
# Triton. Operations on tiles became Triton's operations, the loop over tiles became the grid. How
# many rows a tile has, and whether memory is reached by pointers or by descriptors, is in the
# `Config`. For the card this is one more Triton kernel.
#
# The products, one below the other:

# %%
print(code_of(in_triton.matmul_kernel, "across"))
print()
print(code_of(in_helion.matmul, "for tile_m"))

# %% [markdown]
# What do the two languages cost here?

# %%
import contextlib
import io

weight = torch.rand(512).half().to("spyre")
wide = torch.randn(512, 1024).half().to("spyre")
for name, arguments in (("softmax", (matrix,)), ("rms_norm", (matrix, weight)),
                        ("matmul", (matrix, wide))):  # fmt: skip
    results, texts = [], []
    for language in (in_triton, in_helion):
        # Helion says on stderr which configuration it takes where none was searched.
        with spyrelab.record() as seen, contextlib.redirect_stderr(io.StringIO()):
            results.append(getattr(language, name)(*arguments))
        kernel = seen.kernels[-1]
        texts.append(f"{kernel.seconds * 1e6:6.1f} us {kernel.estimate.port_bytes / 1e6:6.2f} MB")
    difference = (results[0] - results[1]).abs().max().item()
    print(f"{name:9} Triton {texts[0]}   Helion {texts[1]}   they differ by {difference:.1e}")

# %% [markdown]
# **What to notice.** For rows it makes little difference. The product does, in both: tiles of 64 x
# 64 in Triton, of 16 x 64 in Helion (its default), read every operand again and again. Which tiles
# are good ones? We try all of them, for the Triton kernel:

# %%
import math

from triton.runtime.errors import OutOfResources

sizes = (16, 32, 64, 128, 256, 512)
product = torch.empty(1024, 1024, dtype=torch.float16, device="spyre")
grid_of = {}
for bm in sizes:
    for bn in sizes:
        grid = (min(32, (1024 // bm) * (1024 // bn)),)
        try:
            with spyrelab.triton.dry() as dry:
                in_triton.matmul_kernel[grid](matrix, wide, product, 1024, 1024, 512, bm, bn, 256)
            grid_of[bm, bn] = dry.seconds * 1e6
        except OutOfResources:
            grid_of[bm, bn] = float("nan")

shown = [[grid_of[bm, bn] for bn in sizes] for bm in sizes]
best = min(value for value in grid_of.values() if value == value)
axes = new_axes(5.2, 3.6)
axes.imshow([[-math.log(value / best) for value in row] for row in shown], cmap="cividis")
for i, row in enumerate(shown):
    for j, value in enumerate(row):
        text = f"{value:,.0f}" if value == value else "no room"
        hue = "white" if value > 12 * best else "black"
        axes.text(j, i, text, ha="center", va="center", fontsize=8, color=hue)
axes.set_xticks(range(len(sizes)), [str(size) for size in sizes])
axes.set_yticks(range(len(sizes)), [str(size) for size in sizes])
axes.grid(visible=False)
axes.set_xlabel("columns of a tile (BN)")
axes.set_ylabel("rows of a tile (BM)")
words = "; ".join(
    f"{bm} rows: " + ", ".join(f"{value:.0f}" for value in row)
    for bm, row in zip(sizes, shown, strict=True)
)
show(
    describe(
        axes,
        "Predicted µs of a product of 1024 x 512 and 512 x 1024 by rows and columns of a tile, "
        f"columns {', '.join(map(str, sizes))}. {words}.",
    )
)
print(f"best {best:.1f} us, worst {max(v for v in grid_of.values() if v == v):,.0f} us")

# %% [markdown]
# **What to notice.** A factor of two hundred. Narrow tiles are worst: 16 columns are 32 bytes of a
# row, a quarter of a stick, and the port moves sticks. Large tiles are too few for 32 cores, and
# the largest has no room. The best lie where there is *one tile for each core*: then a core's
# share is a product of its own, each operand is read once for all who need it, and the matrix unit
# streams (chapter 2). The strange column, 32, belongs to the same family: there are 32 tiles in a
# row, so that each core has a whole column of them, which is one product again, however it is cut.
#
# One thing is missing for attention. The softmax above has a whole row in its tile. What if rows
# are longer than any tile, and the largest value comes last? Chapter 1 had the trick: a running
# maximum.
#
# **Exercise 4** (`online_logsumexp`, about 13 lines). Rows of any length, in one pass.
#
# **Exercise 5** (`blocks`, about 8 lines). Choose the tiles of a product, for any shape.

# %% tags=["exercise"]
spyrelab.check("ch07.4")
spyrelab.check("ch07.5")

# %% [markdown]
# ## What is a paged cache?
#
# A language model that generates keeps the keys and values of all tokens so far. A server cannot
# give every sequence room for the longest answer. So it does what operating systems do: memory is
# cut into *pages* of some tokens, and each sequence has a table of the pages that it owns, wherever
# they lie. The cache is `[pages, tokens of a page, KV heads, head size]`; a *KV head* is a head of
# keys and values, and several query heads share it. A *prefill* computes attention for all tokens
# of a prompt, a *decode* for one new token of each sequence, and a *mixed* batch has both. This is
# a batch of decodes:

# %%
from spyrelab.attention import Scenario, bound_seconds, distinct_bytes

scenario = Scenario.of(4, 512, decode_share=1.0, pattern=(0.1, 0.4, 0.5, 1.0))
host = scenario.build()
batch = host.to("spyre")
print("new tokens:", scenario.query_lens, " contexts:", scenario.kv_lens)
print(f"{scenario.heads} heads, {scenario.kv_heads} KV heads; cache", tuple(host.key_cache.shape))

axes = new_axes(8.4, 1.5)
hues = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
owner = {}
for sequence, length in enumerate(scenario.kv_lens):
    for page in host.block_table[sequence, : -(-length // scenario.page)].tolist():
        owner[page] = sequence
pages = host.key_cache.shape[0]
for sequence, hue in (*enumerate(hues), (None, "#dddddd")):
    mine = [page for page in range(pages) if owner.get(page) == sequence]
    name = "free" if sequence is None else f"sequence {sequence}"
    axes.bar(mine, 1, 0.9, color=hue, label=f"{name}: {len(mine)}")
    for page in mine:
        text = "" if sequence is None else sequence
        ink = "white" if sequence == 0 else "black"
        axes.text(page, 0.5, text, ha="center", va="center", fontsize=7, color=ink)
axes.set_xlim(-1, pages)
axes.set_yticks([])
axes.grid(visible=False)
axes.set_xlabel("number of the page in the cache")
axes.legend(ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
counts = [sum(o == s for o in owner.values()) for s in range(4)]
show(
    describe(
        axes,
        f"A cache of {pages} pages. Four sequences own {counts} of them, in random order; "
        f"{pages - len(owner)} belong to nobody.",
    )
)

# %% [markdown]
# What has to be computed, for one sequence and in PyTorch: gather its pages, and go on as in a
# textbook. Our reference for the tests does the same:

# %%
from spyrelab.attention import reference


def attend_one(batch, sequence):
    """New tokens of a sequence against its cache: [tokens, heads, head size]."""
    first, last = batch.query_start[sequence : sequence + 2].tolist()
    length = int(batch.kv_lens[sequence])
    mine = batch.block_table[sequence, : -(-length // batch.page)].long()
    keys, values = (
        cache[mine].flatten(0, 1)[:length].float().repeat_interleave(batch.group, 1)
        for cache in (batch.key_cache, batch.value_cache)
    )
    scores = torch.einsum("qhd,khd->hqk", batch.query[first:last].float(), keys) * batch.scale
    position = length - (last - first) + torch.arange(last - first)
    later = torch.arange(length) > position[:, None]
    weights = torch.softmax(scores.masked_fill(later, -float("inf")), -1)
    return torch.einsum("hqk,khd->qhd", weights, values)


expected = reference.paged_attention(host).float()
plain = torch.cat([attend_one(host, sequence) for sequence in range(4)])
print("largest difference to the reference:", f"{(plain - expected).abs().max():.0e}")

# %% [markdown]
# Attention of one new token reads all keys and values of its sequence, once, and does two
# multiplications with each: it is bound by memory (chapter 2). So there is a *bandwidth bound*: the
# distinct bytes, at the rate at which the card's memory can be read.
#
# We have six kernels, three in each language. How does each of them get its keys? Here are the
# lines, as they stand in [pointer.py](../spyrelab/attention/triton_kernels/pointer.py),
# [spyre.py](../spyrelab/attention/triton_kernels/spyre.py) and
# [first.py](../spyrelab/attention/helion_kernels/first.py):

# %%
from spyrelab.attention.helion_kernels.first import first_kernel
from spyrelab.attention.triton_kernels import pointer, spyre

steps = ("key_at =", "page =", "cell =", "cell +=", "k = tl.load")
for title, kernel, words in (
    ("a pointer for each token", pointer.pointer_kernel, steps),
    ("a descriptor of pages", spyre.load_tile, ("pages.load",)),
    ("an indexing expression", first_kernel, ("tile_p in", "blocks =", "k = ")),
):
    print(f"{title}:")
    print(textwrap.indent(lines_of(code_of(kernel), *words), "    "))

# %% [markdown]
# The rest of the Helion kernel is the loop that exercise 4 asks for, with two products in it. This
# is all of it, for one block of queries:

# %%
print(code_of(first_kernel, "for tile_p"))

# %% [markdown]
# * **triton-pointer** is how one writes it for a GPU: a program for each block of queries and KV
#   head, which looks up the page of *every token* of a tile.
# * **triton-segmented** cuts a context into segments, for more programs, and combines them.
# * **triton-spyre** knows the card: as many programs as cores, each with a list of work that the
#   host has made; a page is a box behind a descriptor, of several KV heads at a time.
# * **helion-first** says it in PyTorch's words, a program for each sequence and KV head;
#   **helion-blocks** adds blocks of queries to the grid; **helion-split** cuts contexts, with a
#   barrier across the grid.

# %%
from spyrelab.attention.implementations import implementation

NAMES = ("triton-pointer", "triton-segmented", "triton-spyre",
         "helion-first", "helion-blocks", "helion-split")  # fmt: skip
bound = bound_seconds(host)
print(f"at least {distinct_bytes(host) / 1e6:.2f} MB, {bound * 1e6:.1f} us")
runs = {}
for name in NAMES:
    made = implementation(name)
    with spyrelab.record() as seen:
        result = made.load()(batch)
    error = (result.cpu().float() - expected).abs().max().item()
    moved = sum(kernel.estimate.port_bytes for kernel in seen.kernels)
    runs[name] = seen
    print(f"{name:17} {made.source_lines():3} lines {moved / 1e6:6.2f} MB", end="")
    print(f" {seen.seconds * 1e6:6.1f} us, {bound / seen.seconds:4.0%} of the bound", end="")
    print(f", off by {error:.0e}")

# %% [markdown]
# All compute the same. Most move little more than they must, and yet differ in time; those that cut
# contexts write partial results and read them again, which so few and short sequences do not
# repay. Where does the time go? Two of them side by side:

# %%
from spyrelab.viz.timeline import draw_timeline

SEEN = {
    "triton-pointer": "each core loads, computes and stores twice, and waits in between",
    "triton-spyre": "one load runs nearly to the end, products go on beside it, a store comes last",
}
for name, words in SEEN.items():
    estimate = runs[name].kernels[0].estimate
    print(f"{name}: {estimate.seconds * 1e6:.1f} us, bound by its {estimate.bottleneck}")
    show(
        describe(
            draw_timeline(estimate, new_axes(9, 2.4), cores=2),
            f"Timeline of two cores in {name}, {estimate.seconds * 1e6:.0f} µs, bound by its "
            f"{estimate.bottleneck}: {words}.",
        )
    )

# %% [markdown]
# **What to notice.** Both are bound by the port. Above, a core has two programs, one after the
# other: it loads, computes, stores, and begins anew. A page is looked up for each token, so that a
# load is made of single rows of one KV head, 256 bytes each: short runs, for which the port is slow
# (chapter 2). And sequences differ in length: a core with short ones waits for its turn at the
# port, and at the end for the others. Below, whole pages are loaded, all KV heads that lie side by
# side; loads run ahead of products without a gap; and the host has dealt out pages, so that all
# cores end together.
#
# **Exercise 6** (`page_sum`, about 11 lines). Write the loop over pages.
#
# **Exercise 7** (`grouped_scores`, about 12 lines). Several query heads share a KV head: read its
# keys once.

# %% tags=["exercise"]
spyrelab.check("ch07.6")
spyrelab.check("ch07.7")

# %% [markdown]
# ## What can a tuner find?
#
# A Helion kernel says what is computed. Block sizes, order of loops, pointers or descriptors and
# persistent programs are left to a search. On a GPU that search runs every candidate many times;
# here it asks for *predicted* time, launches nothing, and finds the same winner every time. Here
# are the best four of ten configurations of our softmax:

# %%
with spyrelab.record() as seen:
    found = spyrelab.helion.tune(softmax, (matrix,), budget=10, progress=False)
print(f"{len(found.trials)} configurations, {len(seen.kernels)} launches; the best:")
for trial in sorted(found.trials, key=lambda trial: trial.milliseconds)[:4]:
    config = trial.config
    print(f"{trial.milliseconds * 1e3:7.1f} us  rows {config['block_sizes'][0]:3}", end="")
    print(f"  {config['pid_type']:23} reduction loop {config['reduction_loops'][0]}")

# %% [markdown]
# An attention kernel has more to choose, and a hundred configurations take about a minute. The
# history of such a search is kept in a file, and read here: `helion-blocks`, on prompts of a few
# hundred tokens.

# %%
from spyrelab.helion import Tuning

history = Tuning.read("data/ch07_tuning.jsonl")
times = [trial.milliseconds * 1e3 for trial in history.trials]
runnable = [(n, t) for n, t in enumerate(times) if t < float("inf")]
best_so_far = [min(times[: n + 1]) for n in range(len(times))]
axes = new_axes(7.6, 3.0)
axes.scatter(*zip(*runnable, strict=True), s=14, color="#8c8c8c", label="tried")
skipped = [n for n, t in enumerate(times) if t == float("inf")]
axes.scatter(skipped, [1.15 * max(t for _, t in runnable)] * len(skipped), s=14, marker="x",
             color="#d55e00", label="cannot run")  # fmt: skip
axes.step(range(len(times)), best_so_far, where="post", color="#0072b2", label="best so far")
axes.set_yscale("log")
ticks = [t for t in (200, 300, 500, 1000, 2000, 4000) if min(times) / 1.3 < t < times[0] * 2]
axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
axes.set_yticks([], minor=True)
axes.set_xlabel("configurations")
axes.set_ylabel("predicted time (µs)")
axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
show(
    describe(
        axes,
        f"{len(times)} configurations in the order in which they were tried: the first takes "
        f"{times[0]:.0f} µs, the best {min(times):.0f} µs, {len(skipped)} cannot run.",
    )
)
print(f"{len(times)} tried, {len(skipped)} cannot run; default {times[0]:,.0f} us, ", end="")
print(f"best {min(times):,.0f} us: {times[0] / min(times):.1f} times faster")
reasons = [trial.reason for trial in history.trials if trial.is_skipped]
needs = [re.search(r"needs ([\d,]+) bytes", reason) for reason in reasons]
print(f"{sum(need is not None for need in needs)} of those need more scratchpad than there is")

# %% [markdown]
# What did it change? We put the default beside the winner, and show only what differs:

# %%
default, winner = history.trials[0].config, history.config
for name in winner:
    if default.get(name) != winner[name]:
        print(f"{name:24}{default.get(name)!s:34.34} -> {winner[name]!s:.60}")

# %% [markdown]
# Not all of this matters. `num_warps` means nothing to the card, and many settings cost nothing
# either way: a search leaves behind whatever it last tried. What counts are those for which every
# other value is slower.
#
# **Exercise 8** (`decisive`, about 9 lines). Read why the winner wins.

# %% tags=["exercise"]
spyrelab.check("ch07.8")

# %% [markdown]
# The timing model answers the same question: the winner, with one setting at a time as it was, on
# the tensors of the scenario that was searched.

# %%
from spyrelab.attention.helion_kernels import blocks
from spyrelab.attention.scenarios import BUCKETS, Bucket

prompts = BUCKETS[Bucket.PREFILL_SHORT].build().to("spyre")


def predicted(config, attend=blocks.attend):
    """The estimate of a configuration on these prompts, or None if there is no room for it."""
    try:
        with spyrelab.triton.dry() as dry:
            attend(prompts, config=config)
    except OutOfResources:
        return None
    return dry.launches[0].estimate


def told(estimate):
    if estimate is None:
        return "no room".rjust(21)
    return f"{estimate.seconds * 1e6:8.1f} us {estimate.port_bytes / 1e6:6.1f} MB"


changes = {"the winner": {}}
for name in ("indexing", "loop_orders"):
    if default.get(name) != winner[name]:
        changes[f"with {name} of the default"] = {name: default[name]}
meanings = ("queries in a block", "pages in a step")
for number, (before, after) in enumerate(
    zip(default["block_sizes"], winner["block_sizes"], strict=True)
):
    if before != after:
        sizes = list(winner["block_sizes"])
        sizes[number] = before
        changes[f"with {before} {meanings[number]}, not {after}"] = {"block_sizes": sizes}
variants = {label: predicted({**winner, **change}) for label, change in changes.items()}
for label, estimate in variants.items():
    print(f"{told(estimate)}  {label}")

# %% [markdown]
# **What to notice.** The number of queries in a block and of pages in a step are one decision:
# their product is the size of the scores, which have to stay in the scratchpad beside keys and
# values. A `TILE` that is written into a kernel is decided once, for all lengths; a tuner decides
# it again for each kind of batch. The kernel *triton-pointer* can be tuned as well, in just these
# two numbers.
#
# The *order of loops* it cannot change, since that is in its source. The grid has three axes:
# sequences, KV heads, blocks of queries. Which of them goes first decides who is a neighbour of
# whom. Here are two orders, with the winner's other settings: what Helion generates (`pid_0` is
# what changes from one program to the next), what the first cores do, and what it costs.

# %%
sizes = winner["block_sizes"]
axes_of = {
    "sequence": range(prompts.sequences),
    "KV head": range(prompts.kv_heads),
    "block": range(-(-prompts.max_query_len // sizes[0])),
}
bound_kernel = blocks.blocks_kernel.bind(blocks.arguments(prompts, prompts.empty_output()))
ordered = {}
for label, order in (("sequences first", [0, 1, 2]), ("KV heads first", [1, 2, 0])):
    config = {**winner, "loop_orders": [order], "l2_groupings": [1], "pid_type": "flat"}
    ordered[label] = predicted(config)
    print(f"{label}:{told(ordered[label])}")
    generated = bound_kernel.to_triton_code(helion.Config(**config))
    print(textwrap.indent(lines_of(generated, "= pid_"), "    "))
    names = [list(axes_of)[axis] for axis in reversed(order)]
    work = itertools.product(*(axes_of[name] for name in names))
    for core, numbers in zip(range(3), work, strict=False):
        mine = dict(zip(names, numbers, strict=True))
        print(f"    core {core}: " + ", ".join(f"{name} {mine[name]}" for name in axes_of))

# %%
SEEN = {
    "sequences first": "core 0 computes once, at the beginning, and core 3 to the end",
    "KV heads first": "all four load, compute and store in step",
}
for label, estimate in ordered.items():
    show(
        describe(
            draw_timeline(estimate, new_axes(9, 3.6), cores=4),
            f"Timeline of four cores, {label}: {estimate.seconds * 1e6:.0f} µs and "
            f"{estimate.port_bytes / 1e6:.1f} MB through the port; {SEEN[label]}.",
        )
    )

# %% [markdown]
# **What to notice.** With sequences first, the four cores have four sequences. Core 0 has the
# shortest, is done after one block, and from then on its programs only read how long the sequence
# is, and leave. Core 3 has the longest, and the launch lasts as long as that. Neighbours have
# nothing in common: what one loads, no other wants. With KV heads first, a sequence's 8 heads are
# 8 neighbours, and the next 8 cores have its next block of queries, which needs *the same pages*:
# cores that ask for the same bytes at the same time are answered by one read (chapter 2). So fewer
# bytes go through the port, and the cores are busy alike.
#
# A GPU has a cache for that, and the order of programs matters less. Our Spyre-aware kernel,
# *triton-spyre*, was written with this in mind (`SHARE` is the number of cores that take the same
# pages). The GPU-style one, *triton-pointer*, has blocks of queries first, and nothing can change
# that. On the same prompts, all three tuned by search:

# %%
from spyrelab.attention.tuned import fitted

for name in ("triton-pointer", "triton-spyre"):
    searched = fitted(name, Bucket.PREFILL_SHORT, prompts)
    print(f"{told(predicted(searched, implementation(name).load()))}  {name}")
print(f"{told(variants['the winner'])}  helion-blocks")

# %% [markdown]
# ## Which language wins?
#
# The talk on Helion's paged attention compared the two on GPUs: a Helion kernel, and a Triton
# kernel with the same idea, which is our GPU-style one. `spyrelab bench ch07` does it here, for
# decodes, prompts and mixed batches, with hand-tuned heuristics and with configurations that a
# search found on six kinds of batches and that are used on all others. It takes most of an hour;
# what it wrote is in [data/ch07_sweep.json](data/ch07_sweep.json). There are two questions: how do
# the languages compare with one idea, and how does the best of one compare with the best of the
# other?

# %%
import json
from pathlib import Path
from statistics import median

rows = json.loads(Path("data/ch07_sweep.json").read_text(encoding="utf-8"))["rows"]
by_case = {}
for row in rows:
    by_case.setdefault(row["case"], {})[row["impl"]] = row
CLASSES = ("decode", "prefill", "mixed")
GPU_STYLE, TRITON, HELION = NAMES[:1], NAMES[:3], NAMES[3:]


def parameters(case):
    return next(iter(by_case[case].values()))["extra"]["parameters"]


def fastest(case, names, tuned=True):
    """The fastest of some kernels on a case, or None where none of them was run."""
    names = [f"{name}-tuned" if tuned else name for name in names]
    found = [by_case[case][name] for name in names if name in by_case[case]]
    return min(found, key=lambda row: row["device_us"], default=None)


def ratios(kind, names, tuned=True, over=HELION):
    """By case: time of the fastest of some kernels over that of the fastest of others."""
    pairs = {
        case: (fastest(case, names, tuned), fastest(case, over, tuned))
        for case in by_case
        if parameters(case)["class"] == kind
    }
    return {case: a["device_us"] / b["device_us"] for case, (a, b) in pairs.items() if a and b}


print("Triton's time over Helion's (the best of our three); above 1 Helion is faster")
print("                                            cases  median   high    low  Helion ahead")
for names, side in ((GPU_STYLE, "GPU-style Triton"), (TRITON, "best Triton")):
    for kind in CLASSES:
        for tuned, how in ((False, "hand-tuned"), (True, "tuned by search")):
            values = list(ratios(kind, names, tuned).values())
            if values:
                print(f"{side:17} {kind:8} {how:16} {len(values):5}", end="")
                print(f"{median(values):8.2f}{max(values):7.2f}{min(values):7.2f}", end="")
                print(f"{sum(value > 1 for value in values):10}")

# %% [markdown]
# The published figures are from *Portable Paged Attention in Helion* (PyTorch blog, 3 February
# 2026): Helion as a percentage of Triton, in a micro-benchmark of single kernels. In the same
# way, by batch and length; large marks are medians, small ones single cases. (With hand-tuned
# heuristics the GPU-style kernel is left out of the largest cases: its tiles are so small and so
# many that even to predict them takes too long.)

# %%
PUBLISHED = {  # lowest and highest percentage
    "H100": {"decode": (132, 153), "prefill": (29, 137)},
    "MI300X": {"decode": (58, 107), "prefill": (13, 75)},
}
MARKS = {"decode": ("#0072b2", "o"), "prefill": ("#e69f00", "s"), "mixed": ("#009e73", "^")}


def draw_percent(names, side, published):
    axes = new_axes(9.0, 3.2)
    columns = sorted({(parameters(c)["batch"], parameters(c)["max_len"]) for c in by_case})
    words = []
    for shift, kind in zip((-0.22, 0, 0.22), CLASSES, strict=True):
        hue, mark = MARKS[kind]
        points = {}
        for case, ratio in ratios(kind, names).items():
            sizes = parameters(case)
            points.setdefault((sizes["batch"], sizes["max_len"]), []).append(100 * ratio)
        for column, values in points.items():
            x = columns.index(column) + shift
            axes.scatter([x] * len(values), values, s=9, color=hue, alpha=0.6)
            label = None if column != min(points) else kind
            axes.scatter([x], [median(values)], s=46, color=hue, marker=mark, label=label)
            words.append(f"{kind} {column[0]} of {column[1]} {median(values):.0f} %")
        for number, figures in enumerate(published.values()):
            if kind in figures:
                x = len(columns) + 0.3 + 1.3 * number + shift
                axes.vlines(x, *figures[kind], color=hue, linewidth=5, alpha=0.5)
    axes.axhline(100, color="#4d4d4d", linewidth=1)
    if published:
        axes.axvline(len(columns) - 0.35, color="#8c8c8c", linewidth=1, linestyle=":")
    places = [*range(len(columns)), *(len(columns) + 0.3 + 1.3 * n for n in range(len(published)))]
    names_of = [f"{batch} x\n{length:,}" for batch, length in columns]
    axes.set_xticks(places, [*names_of, *(f"{card}\npublished" for card in published)])
    axes.grid(axis="x", visible=False)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("sequences x longest context (tokens)")
    axes.set_ylabel(f"Helion in % of\n{side}")
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
    spans = "; ".join(
        f"{card} {kind} {low} to {high} %"
        for card, figures in published.items()
        for kind, (low, high) in figures.items()
    )
    return describe(
        axes,
        f"Best Helion kernel in percent of {side}, both tuned by search, medians by sequences and "
        f"longest context: {', '.join(words)}." + (f" Published: {spans}." if spans else ""),
    )


show(draw_percent(GPU_STYLE, "GPU-style Triton", PUBLISHED))

# %% [markdown]
# The bars on the right are the published ranges. The other comparison, with a Triton kernel that
# was written for the machine, has no published counterpart that we know of:

# %%
show(draw_percent(TRITON, "the best Triton", {}))

# %% [markdown]
# And what is the best that each reaches, as a share of the bandwidth bound? (For prompts the bound
# is far away for all, since they have products to compute.) Which of Helion's three kernels is it?

# %%
print("class     share of the bound, median:      Helion's fastest, in how many cases")
print("         Spyre-aware GPU-style    Helion")
for kind in CLASSES:
    cases = [case for case in by_case if parameters(case)["class"] == kind]
    shares = [
        [best["extra"]["bound_share"] for case in cases if (best := fastest(case, names))]
        for names in (NAMES[2:3], GPU_STYLE, HELION)
    ]
    if all(shares):
        first, *others = (f"{median(values):.0%}" for values in shares)
        text = f"{first:>11}" + "".join(f"{other:>10}" for other in others)
        winners = [fastest(case, HELION)["impl"].removesuffix("-tuned") for case in cases]
        counts = {name: winners.count(name) for name in HELION if name in winners}
        print(f"{kind:9}{text}     " + ", ".join(f"{n} {c}" for n, c in counts.items()))
decodes = by_case["decode-b16-s2048-p16-uniform"]
name = min(decodes, key=lambda name: decodes[name]["device_us"])
share = decodes[name]["extra"]["bound_share"]
print(f"16 sequences of 2,048 tokens, decode: {name} reaches {share:.0%} of the bandwidth bound")
for kind in CLASSES:
    values = list(ratios(kind, GPU_STYLE, over=NAMES[2:3]).values())
    if values:
        print(f"{kind:8} Spyre-aware Triton is {median(values):.2f} times as fast as GPU-style")

# %% [markdown]
# **What to notice.**
#
# * With one idea in both languages (the first picture), who is ahead depends on the batch, as it
#   does on GPUs. The kernels load the same rows; what differs is the order of programs, the sizes
#   of tiles, and what a search found on another batch of the same kind.
# * Against a kernel that was *written* for the card (the second picture), Helion is behind. What
#   that kernel does is no setting of our Helion kernels: several KV heads in one load; work that
#   the host deals out by length; and for mixed batches a launch of its own for those with one new
#   token, which otherwise are padded to a block of queries. A tuner changes settings, not
#   algorithms. Somebody could write that kernel in Helion, too, and it would be longer than ours.
# * Cutting contexts (*helion-split*) is for GPUs with more cores than there are sequences. Here a
#   barrier allows 32 programs, and what they exchange goes through memory.
# * A configuration is searched on one batch of a kind, and used on others: the spread of the small
#   marks is partly that.
# * Everything here is *predicted*. Both languages go through the same model of the card, so their
#   ratio is safer than either time; but nobody has measured these kernels on a card. The published
#   figures are measured, on machines that have caches and thousands of threads to hide a wait.
#
# ## Can I take it home?
#
# The real stack takes KTIR. `spyrelab ktir --from-triton FILE:KERNEL` prints it, and lists the
# operations that no other tool knows. What Helion generates is a Triton kernel in a file, and goes
# the same way. Here are the softmax of Triton, that of Helion, and the copy that gathers:

# %%
import tempfile

from spyrelab import cli

folder = Path(tempfile.mkdtemp())
(folder / "generated.py").write_text(code)
imports = "import triton\nimport triton.language as tl\n\n\n"
(folder / "puzzle.py").write_text(imports + inspect.getsource(by_puzzle.fn))
for path, kernel, signature in (
    (
        in_triton.__file__,
        "softmax_kernel",
        "x=*fp16,out=*fp16,rows=i32,columns=i32,ROWS=4,COLUMNS=512",
    ),
    (folder / "generated.py", "_helion_softmax", "x=*fp16,out=*fp16,_RDIM_SIZE_1=512"),
    (folder / "puzzle.py", "by_puzzle", "x=*fp16,out=*fp16,table=*i32,BLOCK=2048"),
):
    printed, remarks = io.StringIO(), io.StringIO()
    given = ["ktir", "--from-triton", f"{path}:{kernel}", "--signature", signature]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(remarks):
        cli.main(given)
    again = spyrelab.ktir.parse(printed.getvalue())
    assert spyrelab.ktir.dumps(again) == printed.getvalue()
    print(f"{kernel}: {len(printed.getvalue().splitlines())} lines of KTIR")
    said = remarks.getvalue().replace(f"{folder}/", "") or "every operation is portable"
    print(textwrap.indent("\n".join(said.splitlines()[:3]), "    "))

# %% [markdown]
# ## What it does not do
#
# * **Only what TTIR says is kept.** Inline assembly, TMA-only features and fp64 are refused, with
#   the line, when the kernel is compiled.
# * **Programs do not run at the same time**, beyond one for each core: a kernel with a barrier
#   across its grid needs at most 32, and a spin-wait of another kind is refused.
# * **Warps mean nothing.** `num_warps` and its kind are accepted and change nothing.
# * **Predictions know page tables**, since they see the numbers at launch, but they price an
#   indirect tile as long runs where its rows are next to each other.
#
# ## What you learned
#
# * A backend for Triton is a compiler stage, a driver and a launcher, found by an entry point;
#   TTIR is where it begins.
# * Pointers that are affine become boxes, masks that are bounds become sizes, tables of pages
#   become indirect tiles. Everything else is gathered, and reported.
# * A good kernel for this card has at most 32 programs and large boxes, and loads whole pages.
# * Predicted time makes tuning cheap and repeatable. A tuner changes settings, not algorithms.
# * Our block: its attention for four sequences with one new token each takes 93 µs in GPU-style
#   Triton, 72 µs in Helion and 42 µs in Spyre-aware Triton; the bandwidth bound is 27 µs.
#
# Numbers to remember:
#
# | number | what |
# |---|---|
# | 32 | programs at once; more come in turns |
# | 128 B | what an element that is gathered brings with it |
# | 4 | cores that one read of a page serves, if the order of loops puts KV heads first |
# | 0 | launches that a search needs |
#
# Your grade: `spyrelab grade ch07`. `spyrelab bench ch07 --quick` runs five batches on all kernels.
#
# **Read next.** Tillet, Kung and Cox,
# [Triton](https://doi.org/10.1145/3315508.3329973), and the documents of
# [Helion](https://helionlang.com): the two languages. Kwon and others,
# [PagedAttention](https://doi.org/10.1145/3600006.3613165): why the cache has pages.
#
# ## The next question
#
# Our block has come all the way: written by hand, timed, run, laid out, tiled, compiled, and
# served. But one kernel is not a server. Sequences come and go, prompts are cut into pieces, and a
# model is larger than a card. **What does a server do between two launches?** That question is
# open: the book ends here for now.
