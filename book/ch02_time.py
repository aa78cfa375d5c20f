# %% [markdown]
# # 2. Time
#
# *When does a kernel wait, for what, and how would we know without a card?*
#
# Chapter 1 counted. Counts are exact, but nobody waits for bytes: people wait for microseconds.
# Between the two lies everything that can happen *at the same time*, or has to wait for something
# else.
#
# On a GPU one would measure, because caches and schedulers decide at run time. Here the program
# says everything before it starts, so **time is a property of the program**. It can be worked out
# from the text, the way a railway timetable is worked out: every unit is a track, every operation
# a train, and no track holds two trains.
#
# A timetable is only as good as the speeds that it assumes. So this chapter has a second half: 371
# published times of kernels on the *real* card, and how far off we are, row by row.
#
# Of our transformer block we time the softmax of chapter 1, and then its products, in which it
# spends most of its time.

# %%
import numpy as np

import spyrelab

# %% [markdown]
# ## Was our first guess right?
#
# Chapter 1 ended with one division: softmax moves 16.8 MB, the card streams about 103 GB/s, so it
# takes about 163 µs. `estimate` makes the whole timetable. It executes nothing.

# %%
from spyrelab.timing import estimate

softmax = estimate(spyrelab.kernels.softmax(4096, 1024))
print(softmax.explain())

# %% [markdown]
# **What to notice.** The guess was good, and now we know why: the **port**, through which all
# cores reach DDR, is busy nearly all the time, and the vector unit works meanwhile. The **bound**
# of a kernel is the unit that is busy for the largest share of its time. At 99 % that unit sets
# the time: to make this kernel faster you have to give *it* less to do, and faster exponentials
# would change nothing. The smaller the share, the less it explains: below some 60 % the units
# mostly wait for each other, and then it helps to let them work at the same time.
#
# ## What works at the same time?
#
# A core is several units that can all be busy at once:
#
# | unit | does | what matters |
# |---|---|---|
# | DDR load | brings tiles into LX | one port for all cores |
# | PT | multiplies matrices | 1,024 multiply-adds a cycle, 8 rows at a time |
# | SFP | everything else | we assume a stick a cycle, and far less for exponentials |
# | DDR store | takes results away | the same port, and half as fast |
# | rings | pass tiles and sums to other cores | the busiest segment |
#
# Here is a kernel that keeps four of them busy, a product of our block with the exponential of its
# softmax in front. Every core keeps the weights in LX and walks over its 512 rows, `height` at a
# time: load, exponential, product, store.

# %%
from spyrelab.ktir import F16, Builder


def layer(height, rows=32 * 512, depth=1024, width=256):
    """out = exp(x) @ w"""
    b = Builder("layer", grid=(32,))
    x_at, w_at, out_at = b.pointers("x", "w", "out")
    x = b.view(x_at, sizes=(rows, depth), dtype=F16)
    w = b.view(w_at, sizes=(depth, width), dtype=F16)
    out = b.view(out_at, sizes=(rows, width), dtype=F16)
    first = b.compute_tile_id() * (rows // 32)
    weights = b.load(w[0, 0], shape=(depth, width))
    with b.loop(0, rows // 32, height, names="row") as row:
        tile = b.load(x[first + row, 0], shape=(height, depth))
        b.store(b.matmul(b.exp(tile), weights).to(F16), out[first + row, 0])
    return b.build()


# %%
from spyrelab.viz.picture import describe, new_axes, show
from spyrelab.viz.timeline import draw_timeline

sips = estimate(layer(height=64))
show(
    describe(
        draw_timeline(sips, new_axes(9, 2.2), cores=1),
        "Timeline of core 0 with eight tiles of 64 rows. Four lanes: DDR load, DDR store, PT and "
        "SFP. After the first load all four lanes are in use: while one tile is multiplied, the "
        "next is loaded. Loads and stores alternate.",
    )
)

# %% [markdown]
# **What to notice.** Read it downwards, at any moment. While the PT multiplies one tile, the next
# one is already on its way: that is **double buffering**, two buffers, one to fill and one to work
# on. (The first bar is a long one: the weights and two tiles. The hairlines of the SFP make f16 of
# a product's sums.) Loads and stores share the port to DDR and wait for each other there; a bar
# includes its wait. And the two lanes that do the *arithmetic* are idle more than half of the time:

# %%
for unit in ("port", "pt", "sfp"):
    print(f"{sips.describe(unit):12} busy {sips.busy(unit):4.0%}")

# %% [markdown]
# **Exercise 1** (`bound_of` in [exercises/ch02_time.py](../exercises/ch02_time.py), about 8
# lines). Read a timeline: which unit bounds it, and how much of the time is it busy?

# %% tags=["exercise"]
spyrelab.check("ch02.1")

# %% [markdown]
# ## What is the best that any program could do?
#
# Before we ask how long a program takes, ask how long it *must* take. The **roofline** is the
# classic answer: so many operations for each byte, and nothing can be faster than the memory allows
# (the slope) or than the matrix unit (the flat part). Take a matrix product, the kernel that
# matters most, of 512 x 4,096 x 4,096 (rows, columns, depth). The cores have to share it somehow,
# and that is called its **split**: `m4 n8` cuts the rows into 4 parts and the columns into 8, one
# block of the result for each of 32 cores; `m4 n4 k2` cuts the depth as well.

# %%
from spyrelab.timing import roofline
from spyrelab.viz.roofline import draw_roofline


def product(b=1, m=1, n=1, k=1):
    return spyrelab.kernels.matmul(1, 512, 4096, 4096, split=(b, m, n, k))


splits = {"m4 n8": {"m": 4, "n": 8}, "m4 n4 k2": {"m": 4, "n": 4, "k": 2}, "m32": {"m": 32}}
bound = roofline(product(m=4, n=8))
axes = draw_roofline(bound, ax=new_axes(7, 4))
for (name, split), marker in zip(splits.items(), "osD", strict=True):
    rate = bound.flops / estimate(product(**split)).seconds / 1e12
    axes.plot(
        bound.intensity, rate, marker, color="#d55e00", label=f"{name}, predicted: {rate:.0f}"
    )
for name, microseconds in (("m4 n8", 317.36), ("m4 n4 k2", 547.71), ("m32", 802.74)):
    rate = bound.flops / microseconds / 1e6
    axes.plot(bound.intensity, rate, "_", ms=26, mew=2, color="black", zorder=1)
    axes.text(500, rate, f"{name}, measured: {rate:.0f}", va="center", fontsize=8)
axes.text(800, 76, f"peak of the PT: {bound.peak_flops / 1e12:.0f} TFLOP/s", fontsize=8)
axes.text(75, 36, f"reads from DDR: {bound.bandwidth / 1e9:.0f} GB/s", fontsize=8)
axes.set_xlim(64, 4096)
axes.set_ylim(6, 100)
axes.legend(loc="lower left", fontsize=8, frameon=False)
show(
    describe(
        axes,
        "Roofline: TFLOP/s against operations per byte, a slope and a flat part at 72 TFLOP/s. "
        "The product stands near the ridge, under a ceiling of 65. Split m4 n8 reaches about 50, "
        "m4 n4 k2 about 30 and m32 about 20 TFLOP/s; dashes across the points show what was "
        "measured: 54, 31 and 21.",
    )
)

# %% [markdown]
# **What to notice.** One product, one roof, three times: 317, 548 and 803 µs were *measured on the
# real card* (rows GS-072, GS-071, GS-069 of the file that we open below). The roofline knows
# operations and bytes, and the three have the same of both. So it is a *bound* and not a
# prediction, and everything between the roof and the points is the rest of this chapter.
#
# A roof needs a rate. Ours is 159 GB/s, the slope of a line through six products of few rows (M =
# 64 in the same file): time against bytes, whatever else went on. The timetable has a port of 168
# GB/s, as you will see. It was fitted to all rows at once, and it keeps separate books on what such
# a slope still has in it, above all the waiting of units for each other.
#
# **Exercise 2** (`roofline_us`, about 3 lines). The least time of any product, with a pencil.

# %% tags=["exercise"]
spyrelab.check("ch02.2")

# %% [markdown]
# ## One road, two directions
#
# All that crosses between DDR and 32 scratchpads crosses one port. What are its rates?

# %%
from spyrelab.timing import CONSTANTS

shared = CONSTANTS.ddr_bytes_per_second
print(f"reads that serve many cores: {shared / 1e9:4.0f} GB/s")
print(f"reads that serve one core:   {shared / (1 + CONSTANTS.unicast_overhead) / 1e9:4.0f} GB/s")
print(f"writes:                      {CONSTANTS.ddr_write_bytes_per_second / 1e9:4.0f} GB/s")

# %% [markdown]
# A kernel that reads as much as it writes gets the harmonic mean of the last two, somewhat over 100
# GB/s: that is what chapter 1 divided by. It was measured to be the same from 2 to 32 MB, so size
# does not help. What helps is to *read less often*, and to read **for many**.
#
# **Exercise 3** (`predict_speedup`, about 3 lines). A kernel reads its matrix several times.
# Predict what reading it once would gain, before you ask the model. (The last two rates are in
# [exercises/given_ch02.py](../exercises/given_ch02.py): `from given_ch02 import READ_RATE`.)

# %% tags=["exercise"]
spyrelab.check("ch02.3")

# %% [markdown]
# ## Who wants the same bytes?
#
# Two cores that want *different* bytes wait for each other at the port. Two that want the *same*
# can be served by one reading, sent to both: **multicast**. In a product the split decides who
# wants what. With `m4 n8`, a block of the right operand is wanted by 4 cores, which form a
# *cohort*, and a block of the left one by 8.
#
# This is the place to bring in the card. [A file beside this book](data/spyre_measurements.csv) has
# 371 published times, each with the source that it was read from. The first question to a
# measurement is *what did the clock see?* Here there are three kinds: the kernel alone
# (`profiled`), the kernel and its launch (`kernel_wall`, some 38 µs more), and the whole call on
# the host (`host_wall`, some 3 **ms** more). They are never mixed.

# %%
from spyrelab.timing.measurements import read_measurements
from spyrelab.timing.validation import predict

measurements = read_measurements("data/spyre_measurements.csv")
predictions = {p.row.id: p for p in predict(measurements)}
clocks = [row.kind for row in measurements]
for kind in dict.fromkeys(clocks):
    print(f"{kind:12}{clocks.count(kind):>4} rows")

# %% [markdown]
# Six ways to cut our product, from the experiment called GS:

# %%
cuts = {(1, 32): "GS-062", (2, 16): "GS-065", (4, 8): "GS-072"}
cuts |= {(8, 4): "GS-075", (16, 2): "GS-058", (32, 1): "GS-069"}
pairs = [predictions[name] for name in cuts.values()]

axes = new_axes(8, 3.2)
for shift, label, colour, values in (
    (-0.2, "measured", "#8c8c8c", [p.row.measured_us for p in pairs]),
    (0.2, "predicted", "#d55e00", [p.predicted_us for p in pairs]),
):
    bars = axes.bar(np.arange(len(cuts)) + shift, values, 0.38, color=colour, label=label)
    axes.bar_label(bars, fmt="%.0f", fontsize=8)
axes.set_xticks(range(len(cuts)), [f"m{m} n{n}" for m, n in cuts])
axes.set_xlabel("split of 512 x 4,096 x 4,096 over 32 cores")
axes.set_ylabel("time (µs)")
axes.grid(axis="x", visible=False)
axes.legend(frameon=False)
show(
    describe(
        axes,
        "Measured and predicted time of six splits of the product 512 by 4096 by 4096. Both are "
        "least at m4 n8, and rise to twice as much at m1 n32 and two and a half times at m32 n1.",
    )
)

# %% [markdown]
# **What to notice.** The same product, the same card: 317 µs or 803 µs, only by who does what. And
# the bytes? Ask the timetables.

# %%
for m, n in cuts:
    t = estimate(product(m=m, n=n))
    asked = t.counts["ddr_read"].sum() / 1e6
    print(f"m{m:<2} n{n:<2}  asked {asked:6,.0f} MB", end="")
    print(f"   crossed {t.port_bytes / 1e6:3.0f} MB   bound: {t.describe(t.bottleneck)}")

# %% [markdown]
# Bytes that cores *ask for* and bytes that *cross the port* are different things. Multicast makes
# them different, and neither alone predicts the time. What slows down the two ends?
#
# * **m32 n1.** Every core needs all of B, 33.6 MB. It crosses the port once, for everybody. But
#   each core has to *take it in*, and one core takes in only some 40 GB/s. Everyone listens to one
#   speaker, and nobody can listen faster.
# * **m1 n32.** A core has all 512 rows. Sums of so many rows do not stay in the matrix unit, so its
#   part of B is read twice. (No line of the program asks for that. The back end of the compiler
#   streams a core's share in tiles of its own.)
#
# In between, a few listeners to each of a few speakers, the port and the PT are busy *both*: that
# is what a good split looks like. `explain()` says all this in words.

# %%
print(estimate(product(m=32)).explain())

# %% [markdown]
# ## What does it cost to share a sum?
#
# A product can also be cut along its depth, `k`. Then several cores hold a *part of the same sum*,
# and the parts have to be added up. For that the card has the partial-sum rings. The model has
# three sentences about them:
#
# 1. With a split of `k` every pass of the PT sends its sums on and takes some in, instead of
#    keeping them in the array. That costs the PT about half its speed (`m4 n4 k2` above).
# 2. At the end the sums travel down the chain of partners once.
# 3. Partners far apart share segments of the ring with other chains. With 16 pairs that are 16
#    cores apart, all chains cross the same segments, and wait for each other at every step of
#    depth.
#
# The third is the surprising one. The experiment KF measured it: the same product, `n16 k2`, the
# same bytes, only the *numbering* of the cores differs.

# %%
pairs = {1024: (14, 13), 2048: (16, 15), 3072: (18, 17), 4096: (20, 19), 6144: (22, 21)}
pairs |= {8192: (24, 23)}
axes = new_axes(7, 3.6)
for which, (name, line) in enumerate((("adjacent", "-"), ("16 apart", "--"))):
    chosen = [predictions[f"KF-0{both[which]:02}"] for both in pairs.values()]
    for label, colour, values in (
        ("measured", "#8c8c8c", [p.row.measured_us for p in chosen]),
        ("predicted", "#d55e00", [p.predicted_us for p in chosen]),
    ):
        marker = "o" if label == "measured" else "x"
        axes.plot(list(pairs), values, line, marker=marker, color=colour, label=f"{label}, {name}")
axes.set_xscale("log", base=2)
axes.set_xticks(list(pairs), [f"{n:,}" for n in pairs], fontsize=8)
axes.set_xlabel("n, columns of 128 x n x 4,096 split n16 k2")
axes.set_ylabel("time with launch (µs)")
axes.set_ylim(0, 1400)
axes.legend(frameon=False)
show(
    describe(
        axes,
        "Measured and predicted time against n, for partners that are adjacent and 16 apart. Up to "
        "n = 2048 both arrangements take the same time. From 3072 on, partners 16 apart take "
        "nearly twice as long, measured and predicted alike. One measured point, adjacent at n = "
        "6144, lies far above its prediction.",
    )
)

# %% [markdown]
# **What to notice.** Up to 2,048 columns the two are alike: the sums of a core (64 KB) do not leave
# it between steps. Beyond, a mere renumbering of cores nearly doubles the time. And look at the one
# grey point that will not lie on any line, adjacent at 6,144. We do not know why. A model that
# *did* pass through it would have been bent until it fits.
#
# ## Which split should I take?
#
# To choose, one need not be right about the time; only about the order. That is the use that a
# compiler has for a model.

# %%
from spyrelab.timing import best_split
from spyrelab.viz.splits import draw_splits

picture = draw_splits(1, 512, 4096, 4096, new_axes(6.5, 5))
show(
    describe(
        picture,
        "Heat map of the predicted time of 512 by 4096 by 4096 over parts of m and parts of n; the "
        "cores that remain cut k. A valley of about 350 microseconds at m4 n8 and m8 n4; the "
        "corner without parts of m and n, k32, takes nearly four times as long.",
    )
)
print(best_split(1, 512, 4096, 4096))

# %% [markdown]
# **What to notice.** Each cell has its time, and into how many parts the remaining cores cut the
# depth. There is a valley at m4 n8 and m8 n4. To the left and below it the depth is cut, and the PT
# feeds the ring; at the two ends of the diagonal, the PT waits for loads. The valley is where the
# card was fastest, too. (Here a product is priced by formula, not laid out in steps; so a cell may
# differ from its bar above by a microsecond.)
#
# How many rows are enough for a core? It keeps 128 rows of sums at a time, or 256 if its columns
# are at most 128, and reads its part of B again for every such block of rows.
#
# **Exercise 4** (`choose_split`, 3 to 10 lines). Choose well for any product, without asking the
# model.

# %% tags=["exercise"]
spyrelab.check("ch02.4")

# %% [markdown]
# ## Who else lives in the scratchpad?
#
# Chapter 1 mentioned that the planners leave 20 % of LX to the back end of the compiler. That is
# where loads in flight and sums in progress live. The experiment LX changed nothing but that share,
# from 0.2 to 0.8:


# %%
def split_of(row):
    """A split as text, only what is cut: m4n8."""
    parts = zip("bmnk", row.split or (1, 1, 1, 1), strict=True)
    return "".join(f"{axis}{part}" for axis, part in parts if part > 1)


print("                     share 0.2          share 0.8")
print("                 measured model     measured model")
for low, high in ((1, 2), (3, 4), (5, 6), (7, 8)):
    small, large = (predictions[f"LX-00{n}"] for n in (low, high))
    b, m, n, k = small.row.extents
    print(f"{f'{b}x{m}x{n}x{k}':15}", end="")
    for p in (small, large):
        print(f"{p.row.measured_us:>8,.0f}{p.predicted_us:>8,.0f} us", end="")
    print(f"   {split_of(small.row)}")

# %% [markdown]
# **What to notice.** On the card the first three become two to nearly four times as fast: with more
# room, sums need not go to DDR and back, and more loads can be on their way at once. The last is a
# good split, and does not care: a bad split and a small share are the same mistake seen twice. The
# model agrees about the first three, within a quarter. About the last it is wrong: it expects to
# gain a fifth, and the card gains nothing.
#
# ## What if nothing overlaps?
#
# Our `layer` loaded ahead, and no line of it asked for that. The compiler's back end does it by
# itself, when
#
# * there *is* a next tile, so that the loads stand in a loop, and
# * its share of LX has room for one more.
#
# So a tile that is too greedy loses it. Let each core swallow all its 512 rows in one gulp:

# %%
gulp = estimate(layer(height=512))
show(
    describe(
        draw_timeline(gulp, new_axes(9, 2.2), cores=1),
        "Timeline of core 0 with one tile of 512 rows. The lanes never overlap: one long load, "
        "then one long exponential, then the product, then the store, like a staircase.",
    )
)

# %% [markdown]
# A staircase. The same bytes and the same operations as in the first picture of this chapter, and
# now the units wait for each other. So there is no bound worth the name:

# %%
print(gulp.explain().splitlines()[1])

# %% [markdown]
# (This gulp fills the scratchpad to its last byte. A larger one would still get a time here, and
# `explain()` would say that the program does not fit.) What about the other extreme?

# %%
for height in (2, 4, 8, 16, 64, 128, 256, 512):
    t = estimate(layer(height))
    engines = "".join(f"{unit:>6} {t.busy(unit):4.0%}" for unit in ("port", "pt", "sfp"))
    print(f"{height:>4} rows {t.seconds * 1e6:7.0f} us   busy:{engines}")

# %% [markdown]
# **What to notice.** The best is in the middle. Large tiles leave nothing to overlap. Tiny ones pay
# twice: each turn of a counted loop costs the card about 0.7 µs, and the PT takes 8 rows at a time,
# so 2 rows cost as much as 8. Traffic was a number to make small. Time is a balance.
#
# **Exercise 5** (`overlapped`, about 11 lines). A kernel works in one gulp. Make its units
# overlap. Mind the last tile of a core: if the height does not divide the core's share of the rows,
# it reaches into the rows of the next core, and two cores store the same place.

# %% tags=["exercise"]
spyrelab.check("ch02.5")

# %% [markdown]
# ## How long is a run?
#
# A road has toll gates. Each request to DDR costs something whatever its length, so short runs of
# neighbouring sticks waste the port. Copy a matrix of 4,096 x 1,024, always the same bytes, in
# tiles that are a few sticks wide or many:


# %%
def copy(sticks):
    b = Builder("copy", grid=(32,))
    x, out = (b.view(p, sizes=(4096, 1024), dtype=F16) for p in b.pointers("x", "out"))
    first = b.compute_tile_id() * 128
    with b.loop(0, 1024, 64 * sticks, names="column") as column:
        b.store(b.load(x[first, column], shape=(128, 64 * sticks)), out[first, column])
    return b.build()


for sticks in (1, 2, 4, 8, 16):
    t = estimate(copy(sticks))
    rate = t.port_bytes / t.seconds / 1e9
    print(f"runs of {sticks:>2} sticks: {t.seconds * 1e6:4.0f} us, {rate:4.0f} GB/s")

# %% [markdown]
# **What to notice.** A run of one stick takes the port as long as one of three or four. Up to there
# the port pays for what it does not get; beyond, the rate is flat. So cut a matrix across its rows
# rather than along them, and if you must cut along, leave several sticks.
#
# (How firm is this? The price of a short run was fitted on batched products, where a split of the
# batch makes runs short. Nobody has published a plain copy like this one.)
#
# **Exercise 6** (`column_sums`, about 17 lines). Give every core columns of its own, and runs are
# short. Sum them another way.

# %% tags=["exercise"]
spyrelab.check("ch02.6")

# %% [markdown]
# ## How right are we?
#
# Now all rows at once. The constants of the model (rates, prices, one exponent) were fitted to
# these measurements, so agreeing with them proves little. The honest question is about shapes that
# the fit has *not* seen: leave one shape out, fit again, predict it; then the next. This is what
# `python -m spyrelab.timing.fit FILE.csv` prints:

# %%
from spyrelab.timing import fit

_ = fit.main(["data/spyre_measurements.csv", "--dry-run"])

# %% [markdown]
# The number is the median of $|\ln(\text{predicted} / \text{measured})|$: 0.1 is an error of about
# 10 %. (Left out of the fit: rows in host time, and profiled rows rounded to a microsecond.) Next
# to it belongs what a simpler model would have said, on every row:

# %%
from spyrelab.timing.validation import summarize

report = summarize(list(predictions.values()))
baseline = summarize(predict(measurements, model="roofline"))
for kind, (count, error) in report.errors.items():
    print(f"{kind:12}{count:>4} rows   timetable {error:.3f}", end="")
    print(f"   roofline {baseline.errors[kind][1]:.3f}")

# %%
from spyrelab.viz.validation import draw_scatter

show(
    describe(
        draw_scatter(list(predictions.values()), new_axes(6, 5.6)),
        "Predicted against measured time, both axes logarithmic, 20 microseconds to 100 "
        "milliseconds, a colour and a marker for each clock. Most points lie in a band of 20 "
        "percent round the diagonal; where they leave it, they mostly lie below it: the card is "
        "slower than predicted. Two rows of 1 microsecond are named and not drawn.",
    )
)

# %% [markdown]
# **What to notice.** The times come from several *pods*: containers of a cluster, each with a card.
# The same kernel differs by 3 to 7 % from pod to pod, so no error below that means anything. A
# roofline is off by a factor of two as often as not. Leaving a shape out costs little,
# so the fit has not merely memorised. But mind what this does *not* show: the mechanisms
# themselves, and a few thresholds in them, were chosen by people who had seen all the rows. Only
# measurements that nobody here has looked at can test that. (The triangles are drawn, but prove
# little: 3 ms of launch drown whatever the kernel does.)
#
# A compiler asks something else: is the split that the model would *choose* a good one on the
# card? Its measured time over the best measured time is called the **regret**.

# %%
print("shape, share of LX             splits   rank   regret")
for group in report.full_groups("profiled"):
    print(f"{group.name:32}{group.count:>4}{group.spearman:>8.2f}{group.regret:>8.2f}")

# %% [markdown]
# A regret of 1.00 means that the choice *is* the best split that was measured; 1.16, that it takes
# 16 % longer. The rank correlation says whether the whole order is right. It is weakest where few
# splits were measured, and for batched products: what is trustworthy for a matmul is, for a bmm, a
# good guess.
#
# ## What does the model not know?
#
# Here are the rows that it gets most wrong:

# %%
known = [p for p in predictions.values() if p.log_ratio is not None]
for p in sorted(known, key=lambda p: -abs(p.log_ratio))[:12]:
    row = p.row
    size = "x".join(map(str, row.extents))
    ratio = p.predicted_us / row.measured_us
    print(f"{row.id}  {row.op:15} {size:17} {split_of(row):6}", end="")
    print(f"{row.measured_us:>9,.0f} us measured, predicted {ratio:4.2f} times that")

# %% [markdown]
# Some of these we can name, and leave out with open eyes:
#
# * **BW rows needed a second look.** In f16 elements they would move 217 GB/s, more than the
#   nameplate of the memory. Their source calls 2,048 x 2,048 "4 MB in, 4 MB out", so their columns
#   count bytes, and so we read them: then sums and scalings agree on one rate from 2 MB up. The
#   1 MB row (BW-001) stays a third slower than we say.
# * **Very large products** (M = 2,048; the f32 sums of a core outgrow LX) are up to twice as slow
#   as we say. Something spills that we do not model.
# * **GS-106.** 64 rows take 6.3 ms, while 512 rows of the same weights, split in the same way, took
#   2.4 ms (GS-031). Cause unknown.
# * **A swing by the number of sticks.** With n32 and 6, 7, 12 or 14 sticks for each core the card
#   reads at some 70 GB/s instead of 120. Cause unknown, measured for one M only. Not in the model.
# * **One row, two pods, a factor of two**: 512 x 1,024 x 4,096 split m4 n8 took 89 µs twice and 174
#   µs once.
# * **Four published times of up to 3 s** were hangs of the device. They are not in the file.
# * **No one has published** the speed of the SFP alone, of the scratchpad, of FP8 or of integers.
#   What `estimate` says there rests on hearsay and arithmetic, and not on a measurement.
#
# And it is blind to two things on purpose. *Data*: only trip counts and addresses may depend on it,
# and they are taken from the launch arguments. (Then its counts are the emulator's, to the byte.
# Where a program leaves them open, `t.inexact` says why.) And *faults*: two cores that write the
# same place, with nothing to order them, get a time like everybody else, although their result
# depends on who comes first.
#
# **Exercise 7** (`repair_race`, about 3 lines). Such a program, to be found and repaired.

# %% tags=["exercise"]
spyrelab.check("ch02.7")

# %% [markdown]
# ## What does an answer cost?
#
# A compiler asks thousands of times, so the timetable must be quick. It never unrolls a loop: after
# a few turns every clock moves on by the same amount each turn, and the rest is one multiplication.

# %%
for trips in (10, 100, 1000, 10_000):
    t = estimate(layer(height=16, rows=32 * 16 * trips))
    print(f"{trips:>6} turns: {t.seconds * 1e3:8.3f} ms in {len(t.schedule.segments)} segments")

# %% tags=["volatile"]
from time import perf_counter

for trips in (100, 10_000):
    module = layer(height=16, rows=32 * 16 * trips)
    start = perf_counter()
    estimate(module)
    print(f"{trips:>6} turns: estimated in {(perf_counter() - start) * 1e3:.0f} ms")

# %% [markdown]
# **What to notice.** A hundred times the work, the same number of segments, the same few
# milliseconds of yours (those depend on your computer). That makes it cheap to ask "what if?", of a
# program *and of a card*. Would a card with twice the memory bandwidth be twice as fast?

# %%
from spyrelab.machine import SPYRE

wide = SPYRE.replace(
    ddr_read_bytes_per_second=2 * SPYRE.ddr_read_bytes_per_second,
    ddr_write_bytes_per_second=2 * SPYRE.ddr_write_bytes_per_second,
)
questions = {
    "softmax": spyrelab.kernels.softmax(4096, 1024),
    "product m4 n8": product(m=4, n=8),
    "product m32": product(m=32),
}
for name, program in questions.items():
    now, then = estimate(program), estimate(program, machine=wide)
    print(f"{name:15}{now.seconds / then.seconds:5.2f} times as fast", end="")
    print(f"   bound now: {now.describe(now.bottleneck)}, then: {then.describe(then.bottleneck)}")

# %% [markdown]
# Only what was bound by the port gains, and only until the next unit becomes the bound.
#
# ## What you learned
#
# * A kernel is as slow as its busiest unit, *if* the others can work meanwhile. Overlap needs a
#   next tile, and room for it.
# * Bytes asked for, bytes that cross the port, and bytes that one core takes in are three different
#   bounds. The split decides which one you meet.
# * A roofline bounds; it does not choose. A model that ranks splits well is worth more than one
#   that is exact on average.
# * Trust a prediction as far as its error on shapes that it has not seen, and print that error.
# * Our block: its softmax takes 160 µs, bound by the port. One of its products takes 317 µs on the
#   card if it is split well (336 µs predicted), and 803 µs if not.
#
# Numbers to remember:
#
# | number | what |
# |---|---|
# | 100 GB/s | a stream that reads and writes, from 2 to 32 MB |
# | 40 GB/s | what one core takes in, however many listen |
# | 1 ns | one step of a core's PT: 1,024 multiply-adds |
# | 0.7 µs | one turn of a counted loop |
# | 4 sticks | runs shorter than this waste the port |
# | 317 or 803 µs | the same product, split m4 n8 or m32 |
# | 2 times | partners of a sum, adjacent or 16 apart |
# | 3 ms | a launch, seen from the host |
#
# Beyond this chapter: `t.to_perfetto("t.json")` writes a timeline for
# [Perfetto](https://ui.perfetto.dev) with every core; `spyrelab estimate`, `spyrelab trace` and
# `spyrelab validate` do on the command line what we did here. Your grade: `spyrelab grade ch02`.
#
# **Read next.** Williams, Waterman and Patterson,
# [Roofline](https://doi.org/10.1145/1498765.1498785); and Jouppi and others,
# [In-datacenter performance analysis of a tensor processing
# unit](https://doi.org/10.1145/3079856.3080246), which applies it to a machine such as this one.
#
# ## The next question
#
# We can write kernels, count them and time them, one kernel at a time. Nobody trains a model that
# way. People write `x @ w` and expect a *device* to know what to do. **What does it take to make
# PyTorch believe that the card exists?** That is chapter 3.
