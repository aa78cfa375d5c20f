# %% [markdown]
# # 5. Scratchpad tiling
#
# *What can stay on the cores, how much of it, and for how long?*
#
# Every operation of chapters 3 and 4 read its operands from DDR and wrote its result back, and the
# next one fetched it again. All of that goes through one port, while 32 scratchpads of 2 MiB lie
# beside the cores, many times as fast. On most chips a cache would notice. Here nothing
# happens unless a compiler decides it: which core does what, what it keeps, at which address, and
# from when until when.
#
# We take these decisions one by one, first by hand and then all together. Of our transformer block
# we take the softmax, then a product with it, and in the end its whole attention core and its wide
# layer.

# %%
import numpy as np

import spyrelab

# %% [markdown]
# ## What does it mean to split an operation?
#
# Here is one operation, a product. An OpSpec says its *iteration space*: each symbol with its
# extent, and into how many parts cores share it. 0 means that nobody has decided.

# %%
from spyrelab.tiling import lower_bundle, plan, run
from spyrelab.tiling.blocks import Draft, block
from spyrelab.tiling.candidates import Split, with_split
from spyrelab.tiling.drawing import draw_boxes, draw_plans, draw_traffic
from spyrelab.timing import estimate
from spyrelab.viz.picture import describe, new_axes, show

draft = Draft()
x, w = draft.input("x", 512, 512), draft.input("w", 512, 1024)
draft.op("mm", x, w, size=(512, 1024))
(product,) = draft.ops
product

# %% [markdown]
# Let 32 cores share it: 4 parts of $M$ and 8 parts of $N$. A split is nothing but this, a number
# per symbol. Everything else follows: which box of the iteration space a core has, and which part
# of each operand it touches, because the coordinates of the operands are written in the same
# symbols.

# %%
show(draw_boxes(with_split(product, Split((4, 8, 1))), core=13))

# %% [markdown]
# **What to notice.** The numbers are those of cores. Core 13 makes one block of the result. For it,
# it needs a strip of `x`, like 7 others, and a strip of `w`, like 3 others. The card can send one
# read to all who want it (chapter 2), so that sharing costs little.
#
# A symbol that is *summed* can be split, too. Then several cores have a part of the same sums, and
# somebody has to add these up. Cores are counted so that those who share a sum, such as 12 to 15,
# are neighbours on the ring:

# %%
show(draw_boxes(with_split(product, Split((2, 4, 4))), core=13))

# %% [markdown]
# **Exercise 1** (`core_box` in [exercises/ch05_tiling.py](../exercises/ch05_tiling.py), about 8
# lines). Which box belongs to a core?

# %% tags=["exercise"]
spyrelab.check("ch05.1")

# %% [markdown]
# Which split is best? `lower_bundle` makes the program of a list of settled operations, and chapter
# 2 taught us to ask a program for its time. Here are the ways to share the product evenly among 32
# cores, in microseconds. (1,024 columns are 16 sticks, so that $N$ has at most 16 parts.)

# %%
print("parts of N:" + "".join(f"{2**n:>8}" for n in range(5)))
for m in (1, 2, 4, 8, 16, 32):
    line = ""
    for n in (1, 2, 4, 8, 16):
        if m * n > 32:
            continue
        program = lower_bundle([with_split(product, Split((m, n, 32 // (m * n))))])
        line += f"{estimate(program.module).seconds * 1e6:8.1f}"
    print(f"  {m:>2} of M   {line}")

# %% [markdown]
# What is left of the 32 cores shares $K$: all of them in the upper left corner, none at the end of
# a line (but the first), where $K$ is whole.
#
# **What to notice.** All of these use 32 cores, for the same products. The best is five times as
# fast as the worst, and lies in the middle of the diagonal where $K$ is whole: sums are not
# exchanged, and a core's block is about square, so that it needs least of `x` and `w` together.
#
# Some splits are no choice at all. A core addresses memory through a window: from the first byte
# of an operand that it touches to the last, a span of 256 MiB. A batch of keys and values easily
# has more. Then somebody has to cut a symbol of *large stride*, since to cut a small one does not
# bring the ends closer.
#
# **Exercise 2** (`choose_parts`, about 9 lines). As many cores as possible, within the span.

# %% tags=["exercise"]
spyrelab.check("ch05.2")

# %% [markdown]
# ## What does a list of operations move?
#
# Softmax, as a framework sees it that knows no softmax: the largest of each row, a difference, an
# exponential, a sum, a quotient. Five operations on an f16 matrix of $M \times N$, for now on one
# core.


# %%
def softmax(rows, cols, axis):
    draft = Draft()
    x = draft.input("x", rows, cols)
    # A statistic of rows stands alone in a stick (chapter 4), one of columns does not.
    statistic = {
        "size": (rows, 1) if axis == 1 else (1, cols),
        "sparse": axis == 1,
        "dims": (axis,),
        "keepdim": True,
    }
    top = draft.op("amax", x, **statistic)
    powers = draft.op("exp", draft.op("sub", x, top))
    draft.op("div", powers, draft.op("sum", powers, **statistic))
    return draft


for spec in softmax(512, 1024, axis=1).ops:
    read, written = (", ".join(a.name for a in args) for args in (spec.inputs, spec.outputs))
    print(f"{spec.op:5} reads {read:7} writes {written}")

# %% [markdown]
# Count on paper what goes through DDR. `amax` reads the matrix; `sub` reads and writes it; so does
# `exp`; `sum` reads; `div` reads and writes. That is $8 MN$. Each of the two statistics is written
# once and read once: $4N$ over dimension 0. Over dimension 1 there are $M$ of them, and each
# occupies a stick of 64: $4 \cdot 64 M = 256 M$.
#
# And the least? The matrix comes in once, and the result goes out once: $2MN$. Between these
# numbers lie three ideas, and `stages` tries them one after the other:
#
# 1. **LX planning.** Whatever fits stays in the scratchpad. An input that is read twice is copied
#    in first.
# 2. **In-place reuse.** An elementwise result takes the place of its operand, if that is not needed
#    any more.
# 3. **Coarse tiling.** A loop around *all* operations takes a few rows at a time, so that what is
#    alive becomes as small as one likes. As a spec: `LoopSpec(turns, operations, symbols)`.

# %%
from spyrelab.tiling.stages import stages

rng = np.random.default_rng(0)
traffic, staged = {}, {}
for rows, cols in ((512, 1024), (2048, 1024)):
    label = f"{rows} x {cols}: {rows * cols * 2 >> 20} MiB"
    x = rng.standard_normal((rows, cols)).astype(np.float16)
    staged[rows] = stages(softmax(rows, cols, axis=1).ops, along="d0")
    results = [run(stage.plan, {"x": x}) for stage in staged[rows]]
    assert all(np.array_equal(results[0].outputs["t4"], r.outputs["t4"]) for r in results)
    moved = [(r.total("ddr_read") + r.total("ddr_write")) // 2 for r in results]
    assert moved[0] == 8 * rows * cols + 256 * rows
    assert moved[-1] == 2 * rows * cols
    traffic[label] = {s.name: n / (rows * cols) for s, n in zip(staged[rows], moved, strict=True)}
show(draw_traffic(traffic, "elements through DDR / MN", least=2))

# %% [markdown]
# These are the counters of the emulator. The asserts say that the first stage and the last move
# what we counted on paper, to the last element, and that all stages compute the same bits. The
# dashed line is the least.
#
# **What to notice.** A matrix of 1 MiB fits once. Without reuse, one matrix can stay at a time: the
# input until it is subtracted from, and then the powers, while the differences go out and come
# back. With it, all of them share one place, and the work is done. A matrix of 4 MiB does not fit
# at all: planning and reuse save the statistics and nothing else. There the loop is what helps, and
# it takes 4 turns. So the loop is no refinement of the other two. It is what makes them work for
# any size.
#
# The same over the other dimension, and for two more lists. Attention here is its core, 4 heads of
# 128 queries and 256 keys, in 64 dimensions: per head $M = 128$, $T = 256$, $D = 64$.


# %%
def rms_norm(rows, cols):
    draft = Draft()
    x, w = draft.input("x", rows, cols), draft.input("w", cols)
    square = draft.op("square", x)
    mean = draft.op("mean", square, size=(rows, 1), sparse=True, dims=(1,), keepdim=True)
    scale = draft.op("rsqrt", draft.op("add", mean, 1e-6, sparse=True), sparse=True)
    draft.op("mul", draft.op("mul", x, scale), w)
    return draft


def attention(heads, rows, keys, depth):
    draft = Draft()
    q, k = draft.input("q", heads, rows, depth), draft.input("k", heads, depth, keys)
    v = draft.input("v", heads, keys, depth)
    scores = draft.op("mul", draft.op("bmm", q, k, size=(heads, rows, keys)), depth**-0.5)
    row = {"size": (heads, rows, 1), "sparse": True, "dims": (2,), "keepdim": True}
    powers = draft.op("exp", draft.op("sub", scores, draft.op("amax", scores, **row)))
    weights = draft.op("div", powers, draft.op("sum", powers, **row))
    draft.op("bmm", weights, v, size=(heads, rows, depth))
    return draft


cases = {
    "softmax, dim 0": (softmax(2048, 1024, axis=0), "d1"),
    "softmax, dim 1": (softmax(2048, 1024, axis=1), "d0"),
    "RMS norm": (rms_norm(2048, 1024), "d0"),
    "attention core": (attention(4, 128, 256, 64), ["B"] + ["d0"] * 6 + ["B"]),
}
print(f"{'elements through DDR':22}{'all through DDR':>18}{'coarse tiling':>15}{'turns':>7}")
for name, (made, along) in cases.items():
    first, *_, last = stages(made.ops, along)
    given = {n: rng.standard_normal(v.size).astype(np.float16) / 4 for n, v in made.inputs.items()}
    done = [run(stage.plan, given) for stage in (first, last)]
    before, after = ((d.total("ddr_read") + d.total("ddr_write")) // 2 for d in done)
    print(f"{name:22}{before:>18,}{after:>15,}{last.turns:>7}")

# %% [markdown]
# RMS norm over rows goes from $7MN + 384M + N$ to $2MN + N$, and the attention core, per head, from
# $12MT + 256M + 2MD + 2TD$ to $2MD + 2TD$: the scores of size $M \times T$ never leave the core.
# That is flash attention without one idea, the running maximum of chapter 1, which is for scores of
# which not even one row fits. All four heads fit at once here, so that one turn is enough.
#
# ## Who lies where, and from when to when?
#
# A tensor on a core has a *life*: from the operation that writes it to the last one that reads it.
# And it has addresses. So it is a rectangle, and a plan for a scratchpad is a packing of
# rectangles. This is one turn of the last stage:

# %%
from spyrelab.tiling.lx.drawing import draw_map

show(draw_map(staged[2048][-1].solution, title="softmax, one turn of four"))

# %% [markdown]
# The dashed line is what there is: 1.6 MiB, less 256 KiB for the tiles of the operation at work.
#
# **What to notice.** `x@0-1` is a copy of the input, for its reads by operations 0 and 1. Arrows
# are reuse in place: the copy becomes the difference, that becomes the power, and all of it lies in
# the same bytes. The two statistics take one place, as the first is dead before the second is born.
# The result needs no place at all: `div` writes it to DDR.
#
# Where does the address come from? The simplest rule that works is *first-fit*: take the buffers in
# some order, and give each the lowest address at which it meets nobody.
#
# **Exercise 3** (`first_fit`, about 11 lines). Write it.

# %% tags=["exercise"]
spyrelab.check("ch05.3")

# %% [markdown]
# The order matters. What the real stack does is greedy: in the order of the program, each result
# stays if there is room for it now. It never asks what comes later. Here is a program of which not
# everything fits, planned greedily, and planned by an integer program that proves that no one can
# avoid more traffic:

# %%
from spyrelab.tiling.lx import solve
from spyrelab.tiling.lx.families import generated

problems = [problem for family, problem in generated(6) if family == "chain"]
problem = max(
    problems, key=lambda p: solve(p, "exact").avoided / max(solve(p, "greedy").avoided, 1)
)
show(draw_map(solve(problem, "greedy"), title="greedy"))

# %%
show(draw_map(solve(problem, "exact"), title="exact"))

# %% [markdown]
# **What to notice.** Greedy keeps what comes first, and then has no room for what is worth more.
# The exact plan leaves one out on purpose, `t11`, and so has room for the five that come next. The
# table below says how much that matters on average, for several kinds of programs. `first-fit`
# takes the best of seven orders; `best-fit` does so, too, but puts a buffer into the tightest hole
# instead of the lowest; the default improves on that, and only `exact` can prove that it is best.

# %%
from statistics import mean

from spyrelab.tiling.lx import Method

some = list(generated(4))
best = {id(problem): solve(problem, "exact").avoided for _, problem in some}
print(f"{'traffic avoided, of the best':30}" + "".join(f"{m.value:>11}" for m in Method))
for family in dict.fromkeys(name for name, _ in some):
    mine = [problem for name, problem in some if name == family]
    ratios = [mean(solve(p, m).avoided / best[id(p)] for p in mine) for m in Method]
    print(f"{family:30}" + "".join(f"{ratio:11.3f}" for ratio in ratios))

# %% [markdown]
# ### A bug that is right the first time
#
# Lives are easy to get wrong. `lives` in [exercises/given_ch05.py](../exercises/given_ch05.py)
# finds them for RMS norm with a weight. The weight is fetched once, *before* the loop over rows.
# Look at the map that follows from it, and at the result, turn by turn:

# %%
from spyrelab.grade import given

ch05 = given("ch05")
x = rng.standard_normal((64, 512)).astype(np.float16)
weight = (1 + rng.standard_normal(512) / 8).astype(np.float16)
right = x / np.sqrt(np.mean(x.astype(np.float32) ** 2, 1, keepdims=True)) * weight

norm, solution = ch05.norm_plan(64, 512, turns=4, lives_of=ch05.lives)
(found,) = run(norm, {"given": x, "w": weight}).outputs.values()
worst = np.abs(found - right).max(1).reshape(4, 16).max(1)
for turn, error in enumerate(worst):
    print(f"turn {turn}: largest error {error:8.3f}")
show(draw_map(solution, title="where is the bug?"))

# %% [markdown]
# **What to notice.** Turn 0 is right. On the map nothing overlaps, and every check of a straight
# list of operations would pass. But the steps are done again, and the map goes round. What does
# the first `mul` find in the second turn, where `weight` was?
#
# **Exercise 4** (`lives`, about 10 lines). Find the bug.

# %% tags=["exercise"]
spyrelab.check("ch05.4")

# %% [markdown]
# The front end may plan 80 % of a scratchpad, 1.6 MiB; the rest belongs to the back end of the
# compiler. What is more than that has to be cut into turns, and each turn costs a little. So one
# wants as few as possible.
#
# **Exercise 5** (`tile_softmax`, about 7 lines). Choose turns and addresses for the five
# operations. What you answer is run, and its traffic counted.

# %% tags=["exercise"]
spyrelab.check("ch05.5")

# %% [markdown]
# ## When do two operations agree?
#
# With 32 cores there are 32 scratchpads, and no core sees another's. A tensor can stay only if each
# core finds *what it needs itself*: whoever makes it and whoever reads it have to cut it alike. But
# each operation has its own favourite. Take the product of a matrix, and a softmax of its rows:


# %%
def pair(product, softmax):
    """Microseconds of both in one launch."""
    program = ch05.pair_program(512, 1024, 1024, product, softmax)
    return estimate(program).seconds * 1e6


draft = Draft()
x, w = draft.input("x", 512, 1024), draft.input("w", 1024, 1024)
draft.op("softmax", draft.op("mm", x, w, size=(512, 1024)), dim=-1)
print("rows x columns   product   softmax   both, together")
for p, q in ((32, 1), (16, 2), (8, 4), (4, 8), (2, 16)):
    alone = [
        with_split(spec, Split(parts))
        for spec, parts in zip(draft.ops, ((p, q, 1), (p, q)), strict=True)
    ]
    first, second = (estimate(lower_bundle([s]).module).seconds * 1e6 for s in alone)
    print(f"{p:>7} x {q:<7}{first:>9.1f}{second:>10.1f}{pair((p, q, 1), (p, q)):>16.1f}")

# %% [markdown]
# **What to notice.** The softmax likes whole rows, 32 x 1, if only by a hair: then no core has to
# ask another for a maximum. The product likes blocks, and whole rows cost it more than half as much
# again. Each alone, at its best, takes 33.5 and 32.9 µs. If *both* take blocks, the matrix between
# them never leaves the cores, and the two take a quarter less than with separate favourites. Nobody
# who looks at one operation at a time finds that.
#
# **Exercise 6** (`agree`, about 7 lines). Choose both splits, for any size. You are graded by
# predicted time.

# %% tags=["exercise"]
spyrelab.check("ch05.6")

# %% [markdown]
# ## All together
#
# `plan` takes a list of operations and settles everything: splits, loops, what stays, addresses,
# and where one launch ends and the next begins. The operations of one launch are a *bundle*. There
# are two planners. `per-op` gives each
# operation its own best split, and lets a tensor stay where neighbours happen to agree, which is
# what the real compiler does today. `joint` searches all of it at once, and prices by predicted
# time. The plan of `per-op` is among its candidates, so that it never loses.
#
# A block of a model, a gate between the old and the new (a *highway*), 512 rows of 1,024:

# %%
highway = block("highway", 512, 1024)
plans = {planner: plan(highway.ops, planner) for planner in ("per-op", "joint")}
print(plans["per-op"].explain())
print()
print(plans["joint"].explain())

# %%
show(draw_plans(plans))

# %% [markdown]
# **What to notice.** Every dark stroke is a launch, and every arc a tensor that stays on the cores.
# The products take less because they neither fetch `x` nor write their results: a `copy` at the
# start brings `x` in once, for both products, `sub` and `add`. The elementwise operations are
# nothing but traffic, so they shrink to a fraction, all but `add`, which writes the result. And
# what `sigmoid` makes waits on the cores through a whole product, until `mul` wants it.
#
# The plan is a value, and runs on the emulator like anything else. Does it compute the same?

# %%
arrays = highway.arrays()
done = {planner: run(made, arrays) for planner, made in plans.items()}
(name,) = plans["joint"].live_out
one, two = (outcome.outputs[name].astype(np.float32) for outcome in done.values())
print(f"largest difference: {np.abs(one - two).max():.5f}")
for planner, outcome in done.items():
    print(f"{planner:7} wrote {outcome.total('ddr_write') / 1e6:5.2f} MB")

# %% [markdown]
# The wide layer of our block, an MLP, is harder. Its second product sums over what the first one's
# columns are, the 4,096 in the middle. If these are cut over cores, no core has a whole row.

# %%
mlp = block("mlp", 512, 1024)
plans = {planner: plan(mlp.ops, planner) for planner in ("per-op", "joint")}
show(draw_plans(plans))

# %% [markdown]
# **What to notice.** The tensor between the first product and `gelu` stays, and so does what `gelu`
# makes. The second product wants whole rows of it, so the eight cores that hold parts of the same
# rows give them to each other over the ring: that is the `all_gather`. It takes less than writing
# the tensor to DDR and reading it again, and the planner has priced both.
#
# In bytes, for both blocks and for a product with a softmax (`scores`): the splits of `per-op` with
# nothing that stays, that plan itself, the joint plan, and what has to move: inputs and outputs,
# once.

# %%
from dataclasses import replace

from spyrelab.tiling.loops import each, replaced


def through_memory(made):
    """Bytes through the port if every operation is a launch and everything lies in DDR."""
    bare = [
        replaced(spec, args=lambda arg: replace(arg, lx_address=None))
        for spec, _ in each(made.items)
    ]
    return sum(estimate(lower_bundle([spec]).module).port_bytes for spec in bare)


bars = {}
for block_of in (highway, mlp, block("scores", 512, 1024)):
    alone, joint = (plan(block_of.ops, planner) for planner in ("per-op", "joint"))
    bars[block_of.name] = {
        "all through DDR": through_memory(alone) / 1e6,
        "per-op plan": alone.port_bytes / 1e6,
        "joint plan": joint.port_bytes / 1e6,
        "least": block_of.least_bytes / 1e6,
    }
show(draw_traffic(bars, "MB through the port"))

# %% [markdown]
# **What to notice.** All three joint plans move exactly the least. Of the per-op plans only that of
# the highway keeps anything on the cores.
#
# With few rows the weights are nearly all that moves. Here is a gated MLP for 16 rows, as in a step
# that generates one token for each of 16 sequences:

# %%
print(plan(block("gated_mlp", 16, 1024).ops).explain())

# %% [markdown]
# **What to notice.** Read it from the end. The last product shares $K$: each core takes a *part of
# the sum*, and what it needs for that is just the columns that it has made itself, so an N-split
# feeds a K-split and nothing moves. Cores add up over the ring in the end. It also shares $N$, and
# cores that differ only in $N$ need the same columns: they do `silu` and `mul` alike (*cores
# alike*). To compute a small thing twice is cheaper than to send it. (*K first*, *N first*
# and *replicas first* say what changes slowest from core 0 to core 31. It is chosen so that each
# core finds the columns that it has made.)
#
# Here are ten blocks, hidden size 1,024, and what `spyrelab bench ch05` finds for them. The ceiling
# is a time that nobody can beat: inputs and outputs once through the port, or all products on all
# matrix units, whichever is longer.

# %%
import math
import tomllib
from pathlib import Path

folder = next(p for p in (Path.cwd(), *Path.cwd().parents) if (p / "book" / "data").is_dir())
rows = tomllib.loads((folder / "book" / "data" / "block_plans.toml").read_text())["plans"]
print(f"{'block':22}{'rows':>5}{'per-op':>9}{'joint':>8}{'ceiling':>9}   gain  launches  stay")
for row in rows:
    print(
        f"{row['block']:22}{row['rows']:>5}{row['per_op_us']:>9.1f}{row['joint_us']:>8.1f}"
        f"{row['ceiling_us']:>9.1f}{row['per_op_us'] / row['joint_us']:>7.2f}"
        f"{row['per_op_launches']:>6} ->{row['joint_launches']:>2}{row['stay']:>6}"
    )
gains = [row["per_op_us"] / row["joint_us"] for row in rows]
print(f"geometric mean of the gain: {math.prod(gains) ** (1 / len(gains)):.2f}")

# %%
large = [row for row in rows if row["rows"] == 512]
axes = new_axes(7.5, 3.6)
for shift, key, label, colour in (
    (-0.2, "per_op_us", "per-op", "#8c8c8c"),
    (0.2, "joint_us", "joint", "#0072b2"),
):
    values = [100 * row["ceiling_us"] / row[key] for row in large]
    places = np.arange(len(large)) + shift
    bars = axes.barh(places, values, 0.38, color=colour, label=label)
    axes.bar_label(bars, fmt=" %.0f", fontsize=8)
axes.set_yticks(range(len(large)), [row["block"].replace("_", " ") for row in large])
axes.invert_yaxis()
axes.set_xlim(0, 100)
axes.set_xlabel("speed, in % of what the ceiling allows (512 rows)")
axes.grid(axis="y", visible=False)
axes.legend(loc="lower right", frameon=False)
show(
    describe(
        axes,
        "Bars of the share of the ceiling's speed, per-op and joint: "
        + "; ".join(
            f"{row['block'].replace('_', ' ')} {row['ceiling_us'] / row['per_op_us']:.0%} and "
            f"{row['ceiling_us'] / row['joint_us']:.0%}"
            for row in large
        )
        + ".",
    )
)

# %% [markdown]
# **What to notice.** The gain is largest where much is elementwise or over rows, since that is
# nothing but traffic. (`convolution` is a product of patches with four such operations behind it.)
# It is smallest where products take most of the time. With 16 rows nearly all time is for the
# weights, which have to come in whatever one plans (attention has none). And attention over 512
# rows is far below its ceiling, since that counts no exponentials: four million of them, which keep
# the vector units busy.
#
# How does the search work? A chain of operations is a path: at each step a split, and a price that
# depends on the split before. If neighbours agree, a trip is saved, and a launch. If not, any split
# may follow any other. (`joint` keeps the cheapest few dozen beginnings, since a tensor may wait
# for a reader far ahead, as for `mul` above. For a plain chain one can do better: the best.)
#
# **Exercise 7** (`plan_chain`, about 10 lines). Beat the per-op plan, by as much as can be.

# %% tags=["exercise"]
spyrelab.check("ch05.7")

# %% [markdown]
# ## What it does not do
#
# * **It moves little between cores to make them agree.** The ring adds up partial sums, exchanges
#   statistics and gathers whole rows; it could also turn rows into columns. All else stays where it
#   is made, or goes through DDR.
# * **One loop round a bundle.** Loops are not nested, and a loop has the same turns for all.
# * **Beam search proves nothing.** For LX addresses we know what is best; for splits we know that
#   the plan is never worse than per-op, and how far it is from the ceiling.
# * **Its prices are the model's.** Predicted times of products come from published measurements
#   (chapter 2); those of bundles with data that stays have never been measured by anyone who
#   published it. Bytes are counted, and safer than microseconds.
#
# ## What you learned
#
# * A split is a number per symbol; all else follows from coordinates.
# * Through DDR, five operations of a softmax move $8MN$ and more. The least is $2MN$, and it takes
#   planning, reuse in place, and a loop round all of them to get there for any size.
# * A scratchpad is packed with rectangles of address and time. In a loop, the map goes round.
# * A tensor stays if both sides cut it alike. Splits that are best for one are not best for two.
# * Our block, at 512 rows: its wide layer takes 297 µs in 3 launches and 190 µs in one, its
#   attention core 827 and 470 µs.
#
# Numbers to remember:
#
# | number | what |
# |---|---|
# | 1.6 of 2 MiB | of a scratchpad, for the front end to plan |
# | 256 MiB | how far a core reaches over an operand |
# | $8MN + 256M \to 2MN$ | elements of a softmax over rows, through DDR and tiled |
# | $12MT \to 0$ | trips of the scores of an attention head |
#
# Your grade: `spyrelab grade ch05`. `spyrelab bench ch05 --quick` plans three of the blocks, runs
# both plans and checks them against PyTorch.
#
# **Read next.** Dao and others, [FlashAttention](https://arxiv.org/abs/2205.14135): the same count
# of bytes, for GPUs; and Ragan-Kelley and others,
# [Halide](https://doi.org/10.1145/2491956.2462176), which keeps what is computed apart from when
# and where.
#
# ## The next question
#
# All of this began with a list of OpSpecs that we wrote by hand. A model is a Python function.
# **How does a model that somebody wrote for PyTorch become a few programs for this card, without a
# line of it changing?** That is chapter 6: a backend for `torch.compile`.
