# %% [markdown]
# # 7. Kernels that were written for GPUs
#
# *What happens to a pointer on a machine whose memory is sticks? And what does attention over a
# paged cache cost here, in Triton and in Helion?*
#
# Chapter 6 ended with operations that PyTorch has. Where an engine for language models spends its
# time, there is none: people write *kernels*, in Triton, a program for one tile with loads and
# stores through pointers, or in Helion, a loop over tiles whose sizes a tuner chooses. Both are
# Python, and both were made with GPUs in mind. In this chapter they run on our card, as they are;
# we look at what became of them, and we redo a comparison that was published for GPUs.

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
# it from there. A few lines of TTIR, and the KTIR that they became:

# %%
import re

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

# %% [markdown]
# **What to notice.** In TTIR a load has a *tensor of 1,024 pointers*, and as many yes-or-noes. The
# card cannot do anything with 1,024 addresses: it moves boxes (chapter 1). So the backend has
# *undone* the arithmetic. `program_id * BLOCK + arange` is an affine function of an index that runs
# from 0 to 1,023, with coefficient 1. So this is a box, which begins at `x` plus the offset of the
# program; and `at < n` is where the box ends, a *size* of the memory view, and no mask at all.
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


def short(error):
    """An error without the folder of the notebook's cell."""
    return re.sub(r'"[^"]*[/\\][^"/\\]*\.py":(\d+):\d+', r"line \1", str(error))


rows = torch.randn(8, 100).to("spyre")
try:
    with spyrelab.sanitize():
        double_rows[(8,)](rows, torch.empty_like(rows), 100, 128)
except SpyreLabError as error:
    print(re.sub(r"0x\w+|\d{5,}", "...", short(error)).splitlines()[0][:150])

# %% [markdown]
# Two cores write the same place, since each row of the result is 28 elements too long.
#
# **Exercise 2** (`row_softmax`, about 10 lines). Mend a softmax that forgot its masks. There is a
# second trap in it: what does a masked load read?

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
print("\n".join(line.strip() for line in str(notes).splitlines()[2:3]))

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
# [Helion](../spyrelab/helion/examples.py). In Helion a softmax is this:

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
# **What to notice.** Helion is a compiler from PyTorch to Triton: operations on tiles became
# Triton's operations, the loop over tiles became the grid. Which tile, and whether through
# pointers or descriptors, is in the `Config`. For the card this is one more Triton kernel.
#
# What do the two languages cost here?

# %%
from spyrelab.helion import examples as in_helion
from spyrelab.triton import examples as in_triton

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
# **What to notice.** For rows it makes no difference. The product does, in both: tiles of 64 x 64
# in Triton, of 16 x 64 in Helion, Helion's default, read every operand again and again. Which
# tiles are good ones? We try all of them, for the Triton kernel:

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
# streams (chapter 2).
#
# **Exercise 4** (`online_logsumexp`, about 13 lines). A row that does not fit a tile, in one pass.
#
# **Exercise 5** (`blocks`, about 8 lines). Choose the tiles of a product, for any shape.

# %% tags=["exercise"]
spyrelab.check("ch07.4")
spyrelab.check("ch07.5")

# %% [markdown]
# ## What is a paged cache?
#
# A language model that generates keeps the keys and values of all tokens so far. An engine that
# serves many people cannot give everybody room for the longest answer. So it does what operating
# systems do: memory is cut into *pages* of some tokens, and each sequence has a table of the pages
# that it owns, wherever they lie. The cache is `[pages, tokens of a page, KV heads, head size]`.

# %%
from spyrelab.attention import Scenario, bound_seconds, distinct_bytes, reference

scenario = Scenario.of(4, 512, decode_share=1.0, pattern=(0.1, 0.4, 0.5, 1.0))
host = scenario.build()
batch = host.to("spyre")
print("new tokens:", scenario.query_lens, " contexts:", scenario.kv_lens)
print(f"{scenario.heads} heads, {scenario.kv_heads} KV heads; cache", tuple(host.key_cache.shape))

axes = new_axes(8.4, 1.7, frame=False)
axes.set_aspect("auto")
hues = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
owner = {}
for sequence, length in enumerate(scenario.kv_lens):
    for page in host.block_table[sequence, : -(-length // scenario.page)].tolist():
        owner[page] = sequence
pages = host.key_cache.shape[0]
for page in range(pages):
    hue = hues[owner[page]] if page in owner else "#dddddd"
    axes.bar(page, 1, 0.9, color=hue)
axes.set_xlim(-1, pages)
axes.set_yticks([])
axes.set_xlabel("pages of the cache, by the sequence that owns them; grey: nobody's")
counts = [sum(o == s for o in owner.values()) for s in range(4)]
show(
    describe(
        axes,
        f"A cache of {pages} pages. Four sequences own {counts} of them, in random order; "
        f"{pages - len(owner)} belong to nobody.",
    )
)

# %% [markdown]
# Attention of one new token reads all keys and values of its sequence, once, and does two
# multiplications with each: it is bound by memory (chapter 2). So there is a *bound*: the distinct
# bytes, at the rate at which the card's memory can be read. The closer a kernel comes to it, the
# better. Six kernels, three in each language, all of ours:

# %%
from spyrelab.attention.implementations import implementation

NAMES = ("triton-pointer", "triton-segmented", "triton-spyre",
         "helion-first", "helion-blocks", "helion-split")  # fmt: skip
expected = reference.paged_attention(host).float()
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
# * **triton-pointer** is how one writes it for a GPU: a program for each block of queries and KV
#   head, which looks up the page of *every token* of a tile.
# * **triton-segmented** cuts a context into segments, for more programs, and combines them.
# * **triton-spyre** knows the card: as many programs as cores, each with a list of work that the
#   host has made; a page is a box behind a descriptor, of several KV heads at a time.
# * **helion-first** says it in PyTorch's words; **helion-blocks** adds blocks of queries to the
#   grid; **helion-split** cuts contexts, with a barrier across the grid.
#
# They move nearly the same bytes, and yet differ in time. Where does it go?

# %%
from spyrelab.viz.timeline import draw_timeline

for name in ("triton-pointer", "triton-spyre"):
    estimate = runs[name].kernels[0].estimate
    print(f"{name}: {estimate.seconds * 1e6:.1f} us, bound by its {estimate.bottleneck}")
    show(
        describe(
            draw_timeline(estimate, new_axes(9, 2.4), cores=2),
            f"Timeline of two cores in {name}, {estimate.seconds * 1e6:.0f} µs, bound by its "
            f"{estimate.bottleneck}.",
        )
    )

# %% [markdown]
# **What to notice.** Both are bound by the port, and yet one takes more than twice as long.
# Looking up a page for each token makes every load a tile of single rows of one KV head, 256 bytes
# each: short runs, for which the memory port is slow. The Spyre-aware kernel loads whole pages,
# all KV heads that lie side by side. And its cores get equal shares of the work: above, core 0 has
# nothing to do for half of the time, as its sequence is short; below, the host has dealt out
# pages.
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
# here it asks for *predicted* time, launches nothing, and finds the same winner every time. Ten
# configurations of our softmax:

# %%
found = spyrelab.helion.tune(softmax, (matrix,), budget=10, progress=False)
for trial in sorted(found.trials, key=lambda trial: trial.milliseconds)[:4]:
    config = trial.config
    print(f"{trial.milliseconds * 1e3:7.1f} us  rows {config['block_sizes'][0]:3}", end="")
    print(f"  {config['pid_type']:23} reduction loop {config['reduction_loops'][0]}")

# %% [markdown]
# An attention kernel has more to choose, and a hundred configurations take some half a minute. The
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
# We ask the card instead: the winner, with one setting at a time as it was. The tensors are those
# of the scenario that was searched.

# %%
from spyrelab.attention.helion_kernels.blocks import attend
from spyrelab.attention.scenarios import BUCKETS, Bucket

prompts = BUCKETS[Bucket.PREFILL_SHORT].build().to("spyre")
changes = {"the winner": {}}
for name in ("indexing", "pid_type", "loop_orders", "range_unroll_factors"):
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
for label, change in changes.items():
    try:
        with spyrelab.triton.dry() as dry:
            attend(prompts, config={**winner, **change})
        text = f"{dry.seconds * 1e6:8.1f} us"
    except OutOfResources:
        text = "no room"
    print(f"{text:>11}  {label}")

# %% [markdown]
# **What to notice.** The number of queries in a block and of pages in a step are one decision:
# their product is the size of the scores, which have to stay in the scratchpad beside keys and
# values. Somebody who writes `TILE` into a kernel by hand decides it once, for all lengths. The
# tuner decides it again for each kind of batch.
#
# ## Which language wins?
#
# The talk on Helion's paged attention compared the two on GPUs: Triton's time over Helion's, by
# batch and length. `spyrelab bench ch07` does it here, for decodes, prompts and mixed batches,
# with hand-tuned heuristics and with configurations that a search found on six kinds of batches
# and that are used on all others. It takes most of an hour; what it wrote is in
# [data/ch07_sweep.json](data/ch07_sweep.json).

# %%
import json
from pathlib import Path
from statistics import median

rows = json.loads(Path("data/ch07_sweep.json").read_text(encoding="utf-8"))["rows"]
by_case = {}
for row in rows:
    by_case.setdefault(row["case"], {})[row["impl"]] = row


def best_of(case, language, tuned):
    found = [r["device_us"] for name, r in by_case[case].items()
             if name.startswith(language) and name.endswith("-tuned") == tuned]  # fmt: skip
    return min(found) if found else None


ratios = {}
for case, found in by_case.items():
    kind = next(iter(found.values()))["extra"]["parameters"]["class"]
    for tuned in (False, True):
        triton_us, helion_us = (best_of(case, name, tuned) for name in ("triton", "helion"))
        if triton_us and helion_us:
            ratios.setdefault((kind, tuned), {})[case] = triton_us / helion_us
print("best Triton time over best Helion time; above 1 Helion is faster")
for (kind, tuned), values in sorted(ratios.items()):
    how = "tuned by search" if tuned else "hand-tuned"
    print(f"{kind:8} {how:16} median {median(values.values()):.2f}", end="")
    print(f"   best {max(values.values()):.2f}   worst {min(values.values()):.2f}", end="")
    print(f"   Helion wins {sum(v > 1 for v in values.values())} of {len(values)}")
print("published for GPUs: decode  H100 1.32 to 1.53, MI300X 0.58 to 1.07")
print("                    prefill H100 0.29 to 1.37, MI300X 0.13 to 0.75")

# %% [markdown]
# The published figures are from *Portable Paged Attention in Helion* (PyTorch blog, 3 February
# 2026). As in the talk, Helion as a percentage of Triton, by batch and length:

# %%
axes = new_axes(8.0, 3.2)
marks = {"decode": ("#0072b2", "o"), "prefill": ("#e69f00", "s"), "mixed": ("#009e73", "^")}
words = []
for kind, (hue, mark) in marks.items():
    points = {}
    for case, ratio in ratios.get((kind, True), {}).items():
        sizes = next(iter(by_case[case].values()))["extra"]["parameters"]
        points.setdefault(sizes["max_len"], []).append(100 * ratio)
    lengths = sorted(points)
    middle = [median(points[length]) for length in lengths]
    axes.plot(lengths, middle, color=hue, marker=mark, label=kind)
    for length in lengths:
        axes.scatter([length] * len(points[length]), points[length], s=8, color=hue, alpha=0.5)
    words.append(f"{kind}: " + ", ".join(f"{n} tokens {v:.0f} %" for n, v in
                                         zip(lengths, middle, strict=True)))  # fmt: skip
axes.axhline(100, color="#4d4d4d", linewidth=1)
axes.set_xscale("log", base=2)
axes.set_xticks([128, 512, 2048], ["128", "512", "2,048"])
axes.set_ylim(bottom=0)
axes.set_xlabel("longest context (tokens)")
axes.set_ylabel("Helion in % of Triton")
axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=8)
show(describe(axes, "Best Triton time over best Helion time in percent, both tuned by search, "
              "median and single cases. " + "; ".join(words) + "."))  # fmt: skip

# %% [markdown]
# And against the *same* idea in Triton, the kernel that was written for a GPU, which is what a team
# that ports its kernels would start from:

# %%
for kind in marks:
    for name, label in (("helion", "best Helion"), ("triton-spyre", "Spyre-aware Triton")):
        values = []
        for case in ratios.get((kind, True), {}):
            ours = best_of(case, name, True)
            theirs = by_case[case].get("triton-pointer-tuned", {}).get("device_us")
            if ours and theirs:
                values.append(theirs / ours)
        if values:
            print(f"{kind:8} GPU-style Triton over {label:19} median {median(values):.2f}")
decodes = by_case["decode-b16-s2048-p16-uniform"]
name = min(decodes, key=lambda name: decodes[name]["device_us"])
share = decodes[name]["extra"]["bound_share"]
print(f"16 sequences of 2,048 tokens, decode: {name} reaches {share:.0%} of the bandwidth bound")

# %% [markdown]
# **What to notice.**
#
# * Helion is at its best against a kernel that was written for another machine, and behind one
#   that was written for this one. What the Spyre-aware kernel does, *several KV heads in one
#   load*, is no setting in our Helion kernels: their source says one KV head for each program, and
#   a tuner changes settings, not algorithms.
# * It says so in half the lines. That is the trade that the talk is about.
# * On GPUs, too, Helion wins some and loses some; prompts more often than decodes.
# * Everything here is *predicted*. Both languages go through the same model of the card, so their
#   ratio is safer than either time; but nobody has measured these kernels on a card.
#
# ## Can I take it home?
#
# The real stack takes KTIR. `spyrelab ktir --from-triton FILE:KERNEL` and `--from-helion
# FILE:KERNEL` print it, and say which operations, if any, are only ours. Here, from inside:

# %%
text = spyrelab.explain(by_descriptor, source, target, table, 2048, grid=(32,)).stages["ktir"]
print(lines_of(text, "func.func", "construct_memory_view", "ktdp.load", "ktdp.store"))
again = spyrelab.ktir.parse(text)
print("operations that are only ours:", "spyrelab." in lines_of(text, "spyrelab.gather") or "none")

# %% [markdown]
# ## What it does not do
#
# * **Only what TTIR says is kept.** Inline assembly, TMA-only features and fp64 are refused, with
#   the line, when the kernel is compiled.
# * **Programs do not run at the same time**, beyond one for each core: a kernel with a barrier
#   across its grid needs at most 32, and a spin-wait of another kind is refused.
# * **Warps mean nothing.** `num_warps` and its kind are accepted and change nothing.
# * **Predictions know page tables**, since they see the numbers at launch, but charge an indirect
#   tile as long runs where rows are next to each other.
#
# ## What you learned
#
# * A backend for Triton is a compiler stage, a driver and a launcher, found by an entry point;
#   TTIR is where it begins.
# * Pointers that are affine become boxes, masks that are bounds become sizes, tables of pages
#   become indirect tiles. Everything else is gathered, and told.
# * A kernel for this card has at most 32 programs, large boxes, and loads whole pages.
# * Predicted time makes tuning cheap and repeatable. A tuner changes settings, not algorithms.
#
# | number | what |
# |---|---|
# | 32 | programs at once; more come in turns |
# | 128 B | what an element that is gathered brings with it |
# | 2 times | Spyre-aware over GPU-style Triton, decoding |
# | 0 | launches that a search needs |
#
# Your grade: `spyrelab grade ch07`. `spyrelab bench ch07 --quick` runs five batches on all kernels.
#
# ## The next question
#
# One kernel is not a server. Sequences come and go, prompts are cut into pieces, and a model is
# larger than a card. **What does an engine do between two launches?**
