# %% [markdown]
# # 6. An Inductor backend
#
# *How does a model that somebody wrote for PyTorch become a few programs for this card, without
# a line of it changing?*
#
# Chapter 5 planned lists of operations that we wrote down. Nobody writes such lists. People write
# `nn.Module`s, and say `torch.compile(model)`. Between the two stands PyTorch's own compiler. It
# has three parts: **Dynamo** turns Python bytecode into a graph; **AOTAutograd** adds the backward
# pass and leaves only *ATen* operations, those of PyTorch's dispatcher; **Inductor** turns that
# graph into code. It was built for other machines, and is open to ours at a number of places: some
# of them meant for this, some not. This chapter goes through them in the order in which a model
# meets them. We stop at every stage and look, and at the end we ask what it was worth.

# %%
import torch

import spyrelab

# %% [markdown]
# ## What does one line change?
#
# Our model is the second half of our transformer block: a norm, a wide layer, and back into the
# stream.

# %%
from torch import nn


class Block(nn.Module):
    def __init__(self, hidden=512, wide=2048):
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.up, self.down = nn.Linear(hidden, wide), nn.Linear(wide, hidden)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


torch.manual_seed(0)
block = Block().half().requires_grad_(False)
x = torch.randn(64, 512).half()
expected = block.float()(x.float())
block, x = block.half().to("spyre"), x.to("spyre")

with spyrelab.record() as eager:
    block(x)
compiled = torch.compile(block)
compiled(x)
with spyrelab.record() as planned:
    result = compiled(x)
print(f"eager   : {len(eager.kernels)} launches, {eager.seconds * 1e6:.0f} us on the card")
print(f"compiled: {len(planned.kernels)} launches, {planned.seconds * 1e6:.0f} us on the card")
print("largest error against float32 on the CPU:", end=" ")
print(f"{(result.cpu().float() - expected).abs().max():.4f}")

# %% [markdown]
# Both times are the emulated clock's, without what the host does. Here they are as timelines. The
# hue says what a launch is for:

# %%
from spyrelab.viz.picture import describe, new_axes, show

HUES = {
    "copy": "#d55e00",
    "addmm": "#0072b2",
    "gelu": "#e69f00",
    "layer_norm": "#009e73",
    "add": "#cc79a7",
    "bundle": "#56b4e9",
}


def draw_timelines(**recordings):
    axes = new_axes(8.0, 0.9 + 0.55 * len(recordings))
    words, seen = [], set()
    for lane, (name, recording) in enumerate(recordings.items()):
        for kernel in recording.kernels:
            span = [(kernel.start * 1e6, kernel.seconds * 1e6)]
            label = None if kernel.name in seen else kernel.name.replace("_", " ")
            hue = HUES.get(kernel.name, "#8c8c8c")
            axes.broken_barh(span, (lane - 0.35, 0.7), color=hue, label=label, edgecolor="white")
            seen.add(kernel.name)
        parts = ", ".join(f"{k.name} {k.seconds * 1e6:.0f}" for k in recording.kernels)
        words.append(f"{name} takes {recording.seconds * 1e6:.0f} µs: {parts}")
    axes.set_yticks(range(len(recordings)), [name.replace("_", " ") for name in recordings])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlim(left=0)
    axes.set_xlabel("predicted time on the card (µs)")
    axes.legend(ncols=6, loc="lower center", bbox_to_anchor=(0.45, 1.0), fontsize=8)
    return describe(axes, "Launches one after another. " + "; ".join(words) + ".")


show(draw_timelines(eager=eager, compiled=planned))

# %% [markdown]
# **What to notice.** The two long bars in eager mode compute nothing: they are the *restickifies*
# of chapter 4, one in front of each product, since `nn.Linear` keeps its weight the other way
# round. They are gone. Of what remains, gelu has no launch of its own any more. We shall find out
# where both went.
#
# ## Who calls whom?
#
# Nobody told PyTorch about us; it was imported first. Let us watch. Python can report every call of
# a function. We have picked one function in each of our modules that has a part in this, and keep
# the order in which they are first entered:

# %%
import sys
import warnings

from spyrelab.inductor.observing import observed

STAGES = {
    "context compile_fx": "Dynamo's graph arrives",
    "weights lay_out_weights": "weights are laid out for products",
    "lowerings lower": "each operation becomes one node",
    "wrapper create": "the module that is written begins",
    "grouping __call__": "runs of native nodes are made",
    "nativeness _record": "each node is tried without running it",
    "scheduling codegen_node": "a run is to be written",
    "bundles write_bundle": "its inputs and results are found",
    "planning planned": "it is recorded, to be planned",
    "passes run_all": "passes go over what was recorded",
    "restickify around": "copies become steps of their own",
    "runs plan_once": "splits, loops and places (chapter 5), if not yet known",
    "runtime __init__": "the module is loaded: a bundle is made",
    "guards tensor_match": "Dynamo asks what the code relies on",
    "launching __call__": "and called: it launches its programs",
}


def order_of_calls(function):
    wanted, seen = {name.split()[1] for name in STAGES}, []

    def note(frame, event, _):
        if event != "call" or frame.f_code.co_name not in wanted:
            return
        module = frame.f_globals.get("__name__", "")
        name = f"{module.rpartition('.')[2]} {frame.f_code.co_name}"
        ours = module.startswith(("spyrelab.inductor", "spyrelab.til"))
        if ours and name in STAGES and name not in seen:
            seen.append(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return seen


def compile_afresh():
    torch.compiler.reset()
    with torch._inductor.config.patch(force_disable_caches=True):
        torch.compile(block)(x)


warnings.filterwarnings("ignore", message="dynamo_pgo")  # no caches, no remembered sizes
with observed() as seen:  # plans are made here, and known below: to watch that would take long
    compile_afresh()
calls = order_of_calls(compile_afresh)
for name in calls:
    module, function = name.split()
    print(f"{module:12}{function:18}{STAGES[name]}")

# %% [markdown]
# That is the order in which it happens. (Dynamo comes first, and nearly last it asks for
# **guards**, the conditions under which the code is right.) As a picture, with PyTorch's own parts
# in grey:

# %%
PIPELINE = (
    ("Dynamo", "bytecode to a graph,\nguards", "guards: device layout\nof every tensor"),
    (
        "AOTAutograd",
        "backward, no mutation,\nATen operations",
        "weights laid out;\nno decompositions",
    ),
    ("GraphLowering", "ATen to Inductor's IR", "one opaque node\nfor each operation"),
    ("Scheduler", "order, fusion", "no fusion; runs of\nnative nodes"),
    ("Scheduling", "code of a node", "record, restickify,\nplan (chapter 5)"),
    ("Wrapper", "a Python module", "OpSpecs as literals,\none call a run"),
    ("the module", "called for each input", "lower once, launch"),
)

axes = new_axes(9.4, 1.9, frame=False)
axes.set_aspect("auto")
for column, (name, theirs, ours) in enumerate(PIPELINE):
    for row, (text, colour) in enumerate(((theirs, "#e5e5e5"), (ours, "#f3d3e3"))):
        box = {"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": "none"}
        axes.text(column, 1 - row, text, ha="center", va="center", fontsize=6.8, bbox=box)
    axes.text(column, 1.9, name, ha="center", va="center", fontsize=8.5, weight="bold")
axes.annotate("", (len(PIPELINE) - 0.5, 1.58), (-0.5, 1.58), arrowprops={"arrowstyle": "->"})
axes.text(-0.62, 1, "PyTorch", ha="right", va="center", fontsize=9)
axes.text(-0.62, 0, "ours", ha="right", va="center", fontsize=9)
axes.set_xlim(-1.15, len(PIPELINE) - 0.4)
axes.set_ylim(-0.5, 2.1)
show(
    describe(
        axes,
        "The stages of torch.compile from left to right, what PyTorch does in each and what we do: "
        + "; ".join(
            f"{name}: {theirs}, ours: {ours}".replace("\n", " ") for name, theirs, ours in PIPELINE
        )
        + ".",
    )
)

# %% [markdown]
# **What to notice.** Not all places are alike. A *device interface*, a *scheduling* and a *wrapper*
# class are registered: PyTorch asks for them. The pass that makes runs is a setting,
# `_post_fusion_custom_pass`. But that every operation becomes one node, that layouts are in guards
# and in cache keys: there is no door for this, so we wrap functions of PyTorch, and every wrapper
# first asks whether a tensor of the card occurs in the graph. Which names we rely on is written
# down in one place, and checked when they are first used:

# %%
from spyrelab.inductor import internals

needed = internals._NEEDED
print(f"Private names of torch {torch.__version__.partition('+')[0]}, such as")
for name in ("compile_fx:compile_fx", "graph:GraphLowering.call_function"):
    print("  " + next(f"{path}: {why}" for path, why in needed.items() if path.endswith(name)))

# %% [markdown]
# ## What is the graph?
#
# `spyrelab.explain` compiles a function afresh and keeps every stage. The first is the graph of
# ATen operations that Dynamo and AOTAutograd made:


# %%
def without_places(text):
    """Without the lines that say in which file something was written."""
    return "\n".join(line for line in text.splitlines() if "# File:" not in line)


explained = spyrelab.explain(block, x)
print(without_places(explained.stages["fx"]))

# %% [markdown]
# `nn.Linear` has become a transpose, which is a view, and `addmm`. `nn.LayerNorm` has become
# `native_layer_norm`, and stays that: an Inductor for GPUs would now take it apart into some ten
# elementwise operations and two sums, and turn each into a *loop*, because it wants to fuse loops.
# We want the opposite. Our programs are made for whole operations, and know how a row is summed on
# 32 cores. So there are no decompositions and no loops: one operation, one node. What it asks of
# the card is *recorded*: the eager kernel of chapter 3 is called, on a tensor with no memory behind
# it, and whatever it would have launched is noted down.

# %%
import re

for line in explained.stages["requests"].splitlines():
    found = re.match(r'\s+Step\("(\w+)"', line)
    sizes = re.findall(r'View\("(\w+)", (\([^)]*\))', line)
    if found:
        print(f"{found[1]:11}", "  ".join(f"{name} {size}" for name, size in sizes))

# %% [markdown]
# **What to notice.** There is no second table of operations for the compiler: what runs natively in
# eager mode compiles, forward and backward, and computes the same. It also means that a pass can be
# written where graphs are easiest to read, on ATen operations.
#
# **Exercise 1** (`remove_copies` in [exercises/ch06_inductor.py](../exercises/ch06_inductor.py),
# about 9 lines). A pass: remove the copies that nobody needs, and only these.

# %% tags=["exercise"]
spyrelab.check("ch06.1")

# %% [markdown]
# ## Which nodes may share a bundle?
#
# A run of native nodes becomes one call in the generated code, `bundle_0` and so on. (A plan may
# cut it into several launches, which are the bundles of chapter 5.) What ends a run? An operation
# that the card cannot do. Here is one, between others:

# %%
import logging

logging.getLogger("spyrelab.inductor").setLevel(logging.ERROR)  # it names the line, and its cost


def whiten(x):
    covariance = (x.T @ x).float() + torch.eye(64, device="spyre")
    inverse = torch.linalg.inv(covariance)
    scaled = torch.softmax(x * 0.5, -1)
    return (scaled @ inverse.half()).relu()


samples = torch.randn(32, 64).half().to("spyre")
for line in str(spyrelab.explain(whiten, samples, stage="requests")).splitlines():
    print(re.sub(r'^(  Step\("\w+").*', r"\1 ...)", line))

# %% [markdown]
# **What to notice.** `inv` runs on the CPU, as it would in eager mode: counted, and reported with
# the line that it comes from and what it moves. The softmax is *written* behind `inv` and does not
# need it, so it is in the first bundle. That is a choice that somebody has to make.
#
# **Exercise 2** (`share`, about 14 lines). Make it: as few bundles as possible.

# %% tags=["exercise"]
spyrelab.check("ch06.2")

# %% [markdown]
# ## What happens between recording and planning?
#
# *Passes*, each a small module of its own. A function with something to do for some of them, and
# what they did, in order:


# %%
def scores(q, k):
    half = (q @ k.T) * torch.full((256,), 0.5, device="spyre", dtype=torch.float16)
    again = torch.full((256,), 0.5, device="spyre", dtype=torch.float16)
    return half + again, nn.functional.layer_norm(q, (128,)) @ k.T


queries, keys = (torch.randn(n, 128).half().to("spyre") for n in (32, 256))
print(spyrelab.explain(scores, queries, keys, stage="passes"))

# %% [markdown]
# **What to notice.** The two constants are one, made first. The copy that turns `k` is a step like
# any other, and serves both products. Only then comes fusion: runs that can be planned together. Of
# the others, `dead` drops what nobody reads, `checks` takes checks of inputs by the host out of the
# middle of a run, `duplicates` keeps one of several equal operations on equal operands, and
# `padding`, which a stack for the real card needs, has nothing to do here: layouts give a row whole
# sticks.
#
# ## What was decided?
#
# A run has been recorded, its operations have become OpSpecs, and `tiling.plan` has settled them.
# For our block:

# %%
print(explained.stages["plan"])

# %% [markdown]
# **What to notice.** One run of five operations is three programs. In the middle one, `addmm`,
# `gelu` and `addmm` agree on how the 64 rows and the 2,048 wide channels are shared: `64/4` and
# `2048/8` make 32 cores. So `buf5` and `buf7`, the two large intermediates, never leave the
# scratchpads. The second product sums over these channels and wants whole rows: the eight cores
# that hold parts of the same rows give them to each other (`all_gather`, chapter 5).
#
# The norm and the residual stayed alone. The planner also prices them in the same program, with the
# splits that the products want, and has found that dearer than writing 64 KiB and reading it again.
#
# Who wants it otherwise writes `with spyrelab.hint(work_div={"M": 32}):` round some lines of the
# function. The plan keeps to that, even if it takes longer; a wish that cannot be kept is an error,
# which says what can.
#
# What a plan costs in bytes can be read off it. Whatever has no `lx_address` goes through the
# port:

# %%
from math import prod


def draw_plan(plan):
    rows = [spec for bundle in plan.bundles for spec in bundle.specs]
    axes = new_axes(8.0, 0.9 + 0.5 * len(rows))
    words = []
    for number, spec in enumerate(rows):
        start = 0.0
        for arg in spec.args:
            size = 2 * prod(arg.device_size) / 1024
            stays = arg.lx_address is not None
            hue = "#009e73" if stays else ("#8c8c8c" if arg.is_input else "#4d4d4d")
            axes.barh(number, size, 0.7, left=start, color=hue, edgecolor="white")
            if size > 200:
                axes.text(start + size / 2, number, arg.name, ha="center", va="center",
                          color="white", fontsize=8)  # fmt: skip
            start += size
            words.append(f"{spec.op} {arg.name} {size:.0f} KiB {'stays' if stays else 'moves'}")
    axes.set_yticks(range(len(rows)), [spec.op.replace("_", " ") for spec in rows])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("operands (KiB); green: in the scratchpads, light grey: read, dark: written")
    return describe(axes, "Operands of each operation of a plan: " + ", ".join(words) + ".")


((_, after),) = seen.bundles  # what was observed above, before planning and after
(plan,) = after.plans
show(draw_plan(plan))
operands = [arg for bundle in plan.bundles for spec in bundle.specs for arg in spec.args]
moved = sum(2 * prod(arg.device_size) for arg in operands if arg.lx_address is None)
kept = sum(2 * prod(arg.device_size) for arg in operands if arg.lx_address is not None)
weights = sum(2 * p.numel() for p in block.parameters())
print(f"through the port: {plan.port_bytes:,} B; read off: {moved:,}; never moved: {kept:,}")
print(f"weights alone: {weights:,}")

# %% [markdown]
# **What to notice.** Grey is nearly all weights. When those are most of what moves, there is little
# left for a plan to win; when there are more rows, green grows and weights do not.
#
# **Exercise 3** (`traffic`, about 5 lines). Read a plan, and say what it moves.

# %% tags=["exercise"]
spyrelab.check("ch06.3")

# %% [markdown]
# ## Where did the long bars go?
#
# The two restickifies of eager mode were 62 % of its time, and in the plan they do not occur. Not
# because somebody planned well: because the *weights* have changed. Before a graph is compiled, its
# linear layers are looked at. If nothing else reads the weight, and no gradient is wanted, its
# elements change places, once:

# %%
linear = nn.Linear(128, 256, bias=False).half().to("spyre").requires_grad_(False)
row = torch.randn(32, 128).half().to("spyre")


def compiled_steps(function, *args):
    """Names of the programs' operations, in order."""
    text = str(spyrelab.explain(function, *args, stage="plan"))
    return re.findall(r"^  (\w+)\(", text, re.M)


print("before:", linear.weight.device_tensor_layout().device_size, linear.weight.stride())
steps = compiled_steps(linear, row)
print("after :", linear.weight.device_tensor_layout().device_size, linear.weight.stride(), steps)

# %% [markdown]
# **What to notice.** Size and stride are as before, so nobody else can tell; layouts belong to
# allocations (chapter 4). Eager mode is faster from then on, too. For anything that is not a
# parameter of a linear layer the compiler puts a *copy* in front of the product, as a step of its
# own, so that the plan may keep its result on the cores:

# %%
keys = torch.randn(256, 128).half().to("spyre")
print(compiled_steps(lambda q, k: q @ k.T, row, keys))

# %% [markdown]
# If the keys were a cache that we lay out ourselves, they could lie right from the start.
#
# **Exercise 4** (`orders`, about 20 lines). A pass that says how operands of products should lie.

# %% tags=["exercise"]
spyrelab.check("ch06.4")

# %% [markdown]
# ## What does the generated module say?
#
# Inductor writes Python. Here is ours, without the lines that spell the plan, which are the OpSpecs
# that `explain(stage="opspec")` prints:

# %%
code = explained.stages["code"]
head, _, rest = code[code.index("bundle_0 = ") :].partition("    Recorded(")
call = rest[rest.index("def call(args):") : rest.index("def get_args")]
for line in [*head.splitlines(), "    Recorded(...),", ")", "", *call.splitlines()]:
    if "assert_size" not in line and "del arg" not in line:
        print(line if len(line) < 96 else line[:92] + " ...")

# %% [markdown]
# A bundle is said twice. First as *calls of ATen* on named views, which is what it means. Then as
# what was recorded and planned for these sizes. At its first launch the bundle compares its inputs
# with the second part, size, stride, offset and layout; if they fit, the plan is lowered to
# programs as it stands, and if not, the calls are recorded and planned again. So the module is
# right even where a forecast was wrong.
#
# Below it are KTIR and programs, one for each bundle of the plan. (All stages on one page, to leaf
# through: `spyrelab.explain(block, x, html="block.html")`.)

# %%
print(explained.stages["program"].partition("\n")[0])
lines = explained.stages["ktir"].splitlines()
print(f"{len(lines)} lines of KTIR; the second program begins")
start = [number for number, line in enumerate(lines) if "func.func" in line][1]
print("\n".join(line[:94] for line in lines[start : start + 6]))

# %% [markdown]
# ## How does an operation get in?
#
# By being an eager kernel. Quantization-aware training rounds weights to a few levels, and the card
# has no kernel for that:


# %%
def quantized(x):
    return torch.fake_quantize_per_tensor_affine(x.float().relu(), 0.125, 0, -8, 7) * 2


def others(function, *args):
    text = str(spyrelab.explain(function, *args, stage="requests"))
    return re.findall(r"not native: ([\w.]+)", text) or "nothing"


print("left to the CPU:", others(quantized, row))

# %% [markdown]
# **Exercise 5** (`fake_quantize`, about 3 lines). Add it. The grader enters your function into
# PyTorch's dispatcher, and compiles a model.

# %% tags=["exercise"]
spyrelab.check("ch06.5")

# %% [markdown]
# The other way is to do without. A fallback costs a trip to the host and back, and it cuts a run in
# two. Often the same thing can be said in operations that the card has.

# %%
print("left to the CPU:", others(lambda x: torch.fft.rfft(x.float()).abs().square(), row))

# %% [markdown]
# **Exercise 6** (`power_spectrum`, about 6 lines). Make this one vanish.

# %% tags=["exercise"]
spyrelab.check("ch06.6")

# %% [markdown]
# ## When is something compiled again?
#
# Compiled code is right under conditions, and Dynamo keeps them as *guards*. A size can be left
# open, and then it is a symbol in the generated module, and each size that comes is planned at its
# first launch:

# %%
from torch._dynamo.testing import CompileCounterWithBackend


def compilations(function, *inputs):
    """How often a function is compiled for some inputs, and how many runs are planned."""
    torch.compiler.reset()
    backend = CompileCounterWithBackend("inductor")
    made = torch.compile(function, backend=backend)
    afresh = torch._inductor.config.patch(force_disable_caches=True)
    with observed() as seen, afresh:
        for given in inputs:
            made(given)
    return f"compiled {backend.frame_count} times, planned {len(seen.bundles)} times"


def sized(rows):
    made = torch.randn(rows, 512).half().to("spyre")
    torch._dynamo.mark_dynamic(made, 0)
    return made


print("rows 5, 32, 33, 5 :", compilations(nn.GELU(), *map(sized, (5, 32, 33, 5))))

# %% [markdown]
# The device layout of every tensor is guarded too. PyTorch knows nothing of it, and code for one
# layout would read another as garbage:

# %%
from spyrelab.layout import SpyreTensorLayout

turned = SpyreTensorLayout.default((64, 512), "f16", [1, 0])
other = x.cpu().to("spyre", device_layout=turned)
print("two layouts       :", compilations(lambda x: torch.softmax(x, -1), x, other, x, other))

# %% [markdown]
# A *graph break* is where Dynamo cannot follow, such as a `print`. What is before and behind it are
# two graphs, and whatever passes between them goes through device memory:

# %%


def chatty(x):
    y = torch.softmax(x, -1)
    torch._dynamo.graph_break()
    return y * 2


print("with a graph break:", compilations(chatty, x))

# %% [markdown]
# And a number in Python is a part of the program. `Annealed`, in
# [exercises/given_ch06.py](../exercises/given_ch06.py), is a module that gets surer with every
# call, by counting them in a number:

# %%
annealed = spyrelab.grade.given("ch06").Annealed(64).to("spyre").requires_grad_(False)
scores = torch.randn(8, 64).to("spyre")
print("Annealed, 4 calls :", compilations(annealed, *[scores] * 4))

# %% [markdown]
# **Exercise 7** (`annealed`, about 8 lines). The same module, compiled once.

# %% tags=["exercise"]
spyrelab.check("ch06.7")

# %% [markdown]
# What was compiled is kept on disk, under a key that has the graph in it, all settings, the layouts
# of the inputs, and a hash of our own sources. Here is a model with an empty cache, and again after
# `torch.compiler.reset()`, which forgets what the process has compiled:

# %%
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache

model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64)).half()
model = model.to("spyre").requires_grad_(False)
ones = torch.ones(4, 64, dtype=torch.float16, device="spyre")
with fresh_cache():
    for _ in range(2):
        torch.compiler.reset()
        counters.clear()
        with observed() as seen:
            torch.compile(model)(ones)
        hits = counters["inductor"]["fxgraph_cache_hit"]
        print(f"graphs from the cache: {hits}, runs planned: {len(seen.bundles)}")

# %% [markdown]
# **What to notice.** The second time nothing is planned: the plan is in the generated code, spelled
# out as literals. That is what the long `repr` of a plan is for.
#
# ## What was it worth?
#
# Modules of hidden size 1,024, as people write them, on 16 rows: eager, eager again with the
# weights as the compiler laid them out, and compiled. The dotted line is what no program can beat:
# weights, inputs and outputs once through the port.

# %%
import numpy as np

from spyrelab.bench.compiled_modules import made_module
from spyrelab.bench.inductor import ceiling_seconds
from spyrelab.device.allocations import entry_of

NAMES = ("norm_linear", "residual_norm", "classifier", "highway")
measured, least = {}, {}
for name in NAMES:
    module, given = made_module(name, 16)
    module, given = module.half().to("spyre").requires_grad_(False), given.half().to("spyre")
    torch.compiler.reset()
    fast = torch.compile(module)
    with spyrelab.record() as first:
        output = module(given)
    fast(given)
    with spyrelab.record() as second, torch.no_grad():
        module(given)
    with spyrelab.record() as third, torch.no_grad():
        fast(given)
    measured[name] = first, second, third
    tensors = [*module.parameters(), given, output]
    least[name] = sum(entry_of(tensor).form.device_bytes for tensor in tensors)

axes = new_axes(8.0, 3.4)
modes = (("eager", "#8c8c8c"), ("eager, weights laid out", "#56b4e9"), ("compiled", "#cc79a7"))
for number, (label, hue) in enumerate(modes):
    values = [measured[name][number].seconds * 1e6 for name in NAMES]
    places = np.arange(len(NAMES)) + 0.27 * (number - 1)
    bars = axes.barh(places, values, 0.25, color=hue, label=label)
    axes.bar_label(bars, fmt=" %.0f", fontsize=8)
for place, name in enumerate(NAMES):
    bound = ceiling_seconds(least[name], 0) * 1e6
    label = None if place else "bytes once"
    axes.vlines(bound, place - 0.42, place + 0.42, color="black", linestyle=":", label=label)
axes.set_yticks(range(len(NAMES)), [name.replace("_", " ") for name in NAMES])
axes.invert_yaxis()
axes.grid(axis="y", visible=False)
axes.set_xlabel("predicted time on the card (µs)")
axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.45, 1.0), fontsize=8)
show(
    describe(
        axes,
        "Predicted time of modules in eager mode, with weights laid out, and compiled: "
        + "; ".join(
            f"{name.replace('_', ' ')} "
            + ", ".join(f"{recording.seconds * 1e6:.0f}" for recording in measured[name])
            + f" µs, at least {ceiling_seconds(least[name], 0) * 1e6:.0f}"
            for name in NAMES
        )
        + ".",
    )
)
print("                 bytes through the port, over the least   launches")
for name in NAMES:
    runs = measured[name]
    bytes_of = [sum(k.estimate.port_bytes for k in run.kernels) / least[name] for run in runs]
    print(f"{name:17}" + "".join(f"{value:10.2f}" for value in bytes_of), end="          ")
    print("  ".join(f"{len(run.kernels):2}" for run in runs))

# %% [markdown]
# **What to notice.**
#
# * In the table as in the figure: eager, with weights laid out, compiled. Most of the gain is the
#   *layout of weights*. It needs no plan, only somebody who sees the whole graph before the first
#   call, and may move what does not change.
# * The rest is bytes that do not move, and launches that do not happen. At 16 rows weights are
#   nearly everything, so compiled modules come close to the line. At 512 rows, which
#   `spyrelab bench ch06` runs, intermediates are larger than weights, and plans matter more.
# * Ratios of predicted times are safer than the times: both come from one model of the card.
#
# ## What it does not do
#
# * **It does not fuse across what it takes as whole.** Attention is one program of its own, kept
#   whole on purpose, and so is a convolution; neither shares the scratchpad with its neighbours.
# * **It does not undo a decomposition that happens before it.** `nn.RMSNorm` comes as eight
#   operations, some of them in float32, since PyTorch takes it apart in every mode.
# * **It takes eager's word.** What eager rounds, compiled code rounds: every operation's result is
#   f16, and sums that several cores share may be in another order.
# * **It lays out the weights of linear layers**, where no gradient is wanted. In training they are
#   copied at each call.
# * **It stands on private names.** Another version of PyTorch will move some; the check above then
#   says which, before anything is compiled.
#
# ## What you learned
#
# * A backend out of the tree is a few registered classes, one pass, and some wrapped functions.
# * One node an operation, recorded by calling eager's own kernels on tensors without memory: no
#   second table of operations.
# * Runs of native nodes are planned; what ends a run is a fallback, and what ends a launch is a
#   price.
# * Guards and cache keys have to know whatever the code relies on: also device layouts.
# * Our block: its second half, for 64 rows, takes 132 µs in 7 launches in eager mode, of which two
#   restickifies take 82, and 36 µs in 3 launches compiled.
#
# Numbers to remember:
#
# | number | what |
# |---|---|
# | 7 to 3 | launches of our block, eager and compiled |
# | 3.7 times | as fast on the card, of which most is the layout of two weights |
# | 1 | graph for any number of rows; one plan for each number that comes |
# | 0 | runs planned when the graph comes from the cache |
#
# Your grade: `spyrelab grade ch06`. `spyrelab bench ch06 --quick` runs modules at 512 rows, each
# checked against float32 on the CPU first; without `--quick` it is ten modules at two sizes.
#
# **Read next.** Ansel and others, [PyTorch 2](https://doi.org/10.1145/3620665.3640366): Dynamo and
# Inductor, by the people who built them.
#
# ## The next question
#
# Everything so far was operations that PyTorch has. But people also write *kernels*: in Triton, a
# program for one tile, with loads and stores through pointers. **What happens to a pointer on a
# machine whose memory is sticks?** That is chapter 7.
