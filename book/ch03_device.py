# %% [markdown]
# # 3. A device: how an out-of-tree accelerator joins PyTorch
#
# *What does it take to make PyTorch believe that the card exists?*
#
# Chapters 1 and 2 wrote kernels by hand. People who train models write `x @ w`, and want to write
# `x.to("spyre")` before it and nothing else. PyTorch has a place for that: **PrivateUse1**, a
# device type without a name, kept free for hardware that PyTorch does not know. The door is the
# same for every accelerator, and most of what is behind it is written down nowhere. So we build a
# small device step by step, and compare each step with the library's.
#
# Usually this is C++: some thousand lines, a compiler, a build for each release of torch. Here all
# of it is Python. What Python cannot do stands at the end.
#
# By then our transformer block is whole for the first time: two of them, as `torch.nn` has them,
# run and train on the card in *eager* mode, one operation after the other.

# %%
import torch

import spyrelab

# %% [markdown]
# ## What is a device, at least?
#
# A name. `import spyrelab` has renamed PrivateUse1, installed the module `torch.spyre`, and told
# torch that the device exists. No kernel has been entered yet: the library waits with that for the
# first tensor, which lets us play with an empty device for a while.

# %%
from inspect import getsource

from spyrelab.device import backend

print(getsource(backend._register))
print(torch.device("spyre"), torch.accelerator.current_accelerator(), torch.spyre.device_count())

# %% [markdown]
# One door means one guest: a process has *one* PrivateUse1 backend, and the name is final.

# %%
try:
    torch.utils.rename_privateuse1_backend("other")
except RuntimeError as error:
    print(error)

# %% [markdown]
# (torch finds the package by itself, by the way: a package that declares an *entry point* in the
# group `torch.backends` is loaded by `import torch`. And none of the functions used here is a
# promise. The private names that we depend on are in one file, `spyrelab/device/internals.py`,
# which checks them when it is imported and says which one has moved.)
#
# ## Whose memory is it?
#
# A tensor is a size, strides and an offset over a **storage**, and a storage is a pointer with
# somebody who frees it. How can Python make a storage of memory that is not torch's? By DLPack, the
# format in which array libraries hand memory to each other: a C struct with a pointer, a shape and
# a function to call at the end, the **deleter**. One of its device types is *external*, and torch
# takes that for PrivateUse1. Here are 48 bytes of our own, disguised as a tensor of 3 x 4 floats:

# %%
import ctypes


class Slot(ctypes.Structure):
    """DLManagedTensor, and one word for us at its end."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("dimensions", ctypes.c_int32),
        ("type", ctypes.c_uint8 * 4),
        ("size", ctypes.c_void_p),
        ("stride", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("dead", ctypes.c_int64),
    )


EXTERNAL, FLOAT32 = 12, (2, 32, 1, 0)
memory = (ctypes.c_float * 12)(*range(12))
size, stride = (ctypes.c_int64 * 2)(3, 4), (ctypes.c_int64 * 2)(4, 1)
slots = []
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = (
    ctypes.py_object,
    (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
)


def foreign(deleter):
    """A tensor over our memory. Whoever gets the deleter called is told which slot it was."""
    where = [ctypes.addressof(part) for part in (memory, size, stride)]
    slots.append(Slot(where[0], (EXTERNAL, 0), 2, FLOAT32, where[1], where[2], 0, None, deleter, 0))
    return torch._C._from_dlpack(capsule(ctypes.addressof(slots[-1]), b"dltensor", None))


t = foreign(deleter=None)
print(t.device, t.shape, t.stride(), t.untyped_storage().nbytes(), "bytes")
print("our memory:", t.data_ptr() == ctypes.addressof(memory))

# %% [markdown]
# A tensor on device `spyre`, and its bytes are ours. It can do nothing, and says so:

# %%
try:
    t.t()
except NotImplementedError as error:
    print(str(error).split(". ")[0])

# %% [markdown]
# ## Who answers?
#
# `t.t()` was not looked up in a class. Every operation of torch goes through the **dispatcher**: a
# table of operations and *keys*. A tensor carries a set of keys, and the kernels of the keys are
# called one after the other, each of which may hand on to the next.

# %%
from spyrelab.device.drawing import draw_dispatch
from spyrelab.viz.picture import show

print(torch._C._dispatch_keys(t))
show(draw_dispatch())

# %% [markdown]
# **What to notice.** Two of the keys are torch's own, and work for any device: that is why autograd
# will cost us nothing. And there are three ways to end: with a kernel of ours; with a kernel of
# torch that is made of other operations, which start again from the left; or with whatever is
# entered for *all* operations, the fallback. What is not caught by any of these is the error above.
# (The picture is simpler than torch in one thing: most composite kernels are entered for the key
# Autograd as well, and branch off there. So autograd sees the parts, and derives those.)
#
# ## What is a view?
#
# `t.t()` wanted `aten::as_strided`: another tensor over the *same* storage. Nothing is computed and
# no memory is read, so the kernel for the CPU would do. We may simply ask for it, by the key under
# which it is entered:

# %%
as_strided = torch.library.get_kernel("aten::as_strided", "CPU").call_boxed
CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

second_row = as_strided(CPU, t, (4,), (1,), 4)
print(second_row.device, second_row.shape, "offset", second_row.storage_offset())
print("same storage:", second_row.untyped_storage().data_ptr() == t.untyped_storage().data_ptr())

# %% [markdown]
# That is all there is to views: the library enters seven such kernels (`spyrelab/device/views.py`),
# and `transpose`, `slice`, `expand`, `split`, `detach` and thirty others follow from them.
#
# ## When is memory free again?
#
# When its last view is gone, and torch tells us by calling the deleter. Ours was empty so far. Let
# us write one, in Python, that does nothing at all; and let an operation fail at a moment when it
# is the only owner of a tensor. We ask for 50 elements of 12:

# %%
from contextlib import redirect_stderr
from io import StringIO

import numba

python_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda slot: None)


@numba.cfunc("void(CPointer(int64))")
def mark_dead(slot):
    slot[8] = 1


def ask_too_much(deleter):
    try:
        as_strided(CPU, foreign(deleter), (50,), (1,), 0)
    except Exception as error:
        print(f"{type(error).__name__}: {str(error)[:92]}")


with redirect_stderr(StringIO()):
    ask_too_much(ctypes.cast(python_deleter, ctypes.c_void_p).value)
ask_too_much(mark_dead.address)

# %% [markdown]
# **What to notice.** The first message says nothing. The true error was on its way up when C++
# dropped the tensor, and dropped it through *Python*, which cannot run with an exception pending
# and throws it away. At the end of the process it is worse: Python is gone, torch still frees
# tensors, and the process dies. **A deleter must not be Python.** The second one is compiled: one
# instruction that sets a word in the tensor's own slot, without lock, interpreter or memory. The
# allocator looks for such words when it is next asked for memory:

# %%
alive = foreign(mark_dead.address)
slot = slots[-1]
row = as_strided(CPU, alive, (4,), (1,), 4)
for step in ("tensor and view", "view only", "none"):
    print(f"{step:16} dead: {slot.dead}")
    if step == "tensor and view":
        del alive
    else:
        row = None

# %% [markdown]
# (In the library a slot is 256 bytes in pages that are never given back, and at the exit of the
# process all deleters are replaced by a harmless function of the C library. See
# `spyrelab/device/memory.py`.)
#
# ## From here on: the real one
#
# So much for the miniature. The next cell makes a tensor, and so loads all kernels.

# %%
del t, second_row, row
x = torch.arange(300).reshape(3, 100).to(torch.float16).to("spyre")
view = x[1:, 60:]
numbers = torch.arange(100, device="spyre")
print(x.device_tensor_layout())

# %% [markdown]
# ## Where do the bytes of a tensor lie?
#
# In the emulated DDR, in sticks. `draw_memory` shows which byte belongs to what:

# %%
from spyrelab.device.drawing import draw_memory

show(draw_memory({"x [3, 100] f16": x, "x[1:, 60:]": view, "numbers [100] i64": numbers}))

# %% [markdown]
# **What to notice.** Six sticks for `x`: first the columns 0 to 63 of all three rows, then what is
# left of them, and grey padding. Of the view (dark), rows 1 and 2, four columns are in two sticks
# and the other 36 in two more. Integers lie as on the host, one after the other. Under each name is
# the address of its first byte in device memory. torch knows nothing of this: for torch `x` has
# strides (100, 1), and a storage of 600 bytes. How can both be true?
#
# **The layout belongs to the allocation.** Not to the tensor: an attribute in Python would be gone
# with the first view.

# %%
from spyrelab.device.allocations import entry_of

x.note = "mine"
print("attribute on a view:", getattr(view, "note", "none"), "- entry the same:", end=" ")
print(entry_of(view) is entry_of(x))

# %% [markdown]
# A registry maps the first address of a storage to its layout, and every view finds it: back from
# `data_ptr()` by the offset. From there each element has its place: offset and strides give its
# number in the order of the host, the number gives row and column, and these give stick and lane.
# Chapter 4 is about the art of choosing layouts. Here it is enough to follow one.
#
# **Exercise 1** (`address_of` in [exercises/ch03_device.py](../exercises/ch03_device.py), about 7
# lines). From a view to the address of an element.

# %% tags=["exercise"]
spyrelab.check("ch03.1")

# %% [markdown]
# ## What has to be written?
#
# There are more than three thousand operations, overloads counted. Which of them are ours to
# write? Ask the table: for each one, is there a kernel for our key, or a recipe of torch's? The
# recipes are of two kinds: those of the first also serve autograd, so nobody has to write a
# derivative; those of the second, the *explicit* ones, only compute.

# %%
has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
keys = ("PrivateUse1", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
print(f"{'':26}{'ours':>8}{'composite':>12}{'composite,':>12}")
print(f"{'':46}{'explicit':>12}")
for name in ("empty.memory_format", "_copy_from", "as_strided", "zeros", "linear", "softmax.int",
             "add.Tensor", "_softmax", "mm", "nonzero"):  # fmt: skip
    marks = ["yes" if has_kernel(f"aten::{name}", key) else "-" for key in keys]
    print(f"aten::{name:20}{marks[0]:>8}{marks[1]:>12}{marks[2]:>12}")

# %% [markdown]
# **What to notice.** `linear` and `softmax` are recipes of torch and arrive at our door as `mm` or
# `_softmax`; `zeros` is `empty` and `zero_`. At the very bottom there are only a few that nobody
# can do for us: to make a tensor (`empty`, `empty_strided`), to copy (`_copy_from`), to read one
# number (`_local_scalar_dense`), to resize, and the views. `.to()`, `.cpu()`, `clone()`, printing,
# `deepcopy` and saving need nothing else. And `nonzero`, which lists where
# something is true, has no kernel of ours: how long the list is depends on the data, and programs
# for the card have sizes. And yet:

# %%
torch.spyre.reset_op_counts()
print(torch.nonzero(x > 297).tolist())
print({name: tuple(count.values()) for name, count in torch.spyre.op_counts().items()})

# %% [markdown]
# ## What if there is no kernel?
#
# Then the **boxed fallback** is called: one function, entered for all operations at once, that gets
# the operation as an object and its arguments in a box. The smallest possible one:


# %%
def smallest_fallback(op, *args):
    result = op(*(a.cpu() if isinstance(a, torch.Tensor) else a for a in args))
    return result.to("spyre")


print(smallest_fallback(torch.ops.aten.nonzero.default, x > 297).tolist())

# %% [markdown]
# That is right for `nonzero`, and wrong for `sinc_`, which has to change its argument; for `cat`,
# whose tensors hide in a list; for every `out=`. The operation knows all that about itself,
# in its **schema**:

# %%
for op in (torch.ops.aten.sinc_.default, torch.ops.aten.sort.values):
    print(op._schema)
    for argument in op._schema.arguments:
        if argument.alias_info is not None and argument.alias_info.is_write:
            print("    writes", argument.name)

# %% [markdown]
# **Exercise 2** (`fallback`, about 20 lines). A boxed fallback that carries every effect back.

# %% tags=["exercise"]
spyrelab.check("ch03.2")

# %% [markdown]
# A fallback makes a device complete on its first day, and it is a trap: everything works, nothing
# is accelerated, and no one notices. So ours is **counted**, and can be forbidden:

# %%
with torch.spyre.fallback("error"):
    try:
        torch.nonzero(x > 297)
    except NotImplementedError as error:
        print(error)

# %% [markdown]
# ## What is a native kernel?
#
# One that ends in a program for the card. Programs are made by `spyrelab.opspec`: it takes the name
# of an operation and what is known of its operands (type, size, and where in memory each element
# lies) and gives KTIR, as we wrote it by hand in chapter 1. `run` asks for the program, and
# launches it with the addresses of the tensors. A kernel is then a few lines. We enter ours under a
# name of our own, `book::swish`; for `aten::silu` it would be the same.

# %%
from spyrelab.device.eager.launch import run


def swish(x):
    out = torch.empty_like(x)
    run("silu", [x], [out])
    return out


book = torch.library.Library("book", "DEF")
book.define("swish(Tensor x) -> Tensor")
book.impl("swish", swish, "PrivateUse1")

torch.spyre.reset_op_counts()
with spyrelab.record() as recorded:
    y = torch.ops.book.swish(x / 100)
kernel = recorded.kernels[-1]
print(kernel.op, f"{kernel.seconds * 1e6:.2f} us on the card; counted:", torch.spyre.op_counts())
print(torch.allclose(y.cpu(), torch.nn.functional.silu((x / 100).cpu()), rtol=1e-3))

# %% [markdown]
# And here are the lines of the program that touch memory, or compute what is hard:

# %%
from spyrelab.device.eager.launch import operand_of
from spyrelab.opspec import compile as compile_operation

operand, _ = operand_of(x)
step = compile_operation("silu", [operand], [operand]).steps[0]
text = spyrelab.ktir.dumps(spyrelab.ktir.Module((step.program.function,)))
for line in text.splitlines():
    if any(word in line for word in ("_view = ", "ktdp.load", "math.", "ktdp.store")):
        print(line.strip().removesuffix(" {"))

# %% [markdown]
# **What to notice.** The program knows about sticks, and the tensor does not. Two pieces: 192
# elements in a run, which are the three full sticks, and then three rows of 36. Padding is neither
# read nor written. Programs are kept by structure: the address of a tensor is an argument of the
# launch, so the next slice of the same shape finds its program ready.
#
# **Exercise 3** (`swiglu`, about 7 lines). A native kernel in two launches, for operands that
# broadcast.

# %% tags=["exercise"]
spyrelab.check("ch03.3")

# %% [markdown]
# What separates such a function from a kernel that can be released is its contract. `add`, `add_`
# and `add(out=...)` are three doors to one kernel, and whoever gives an `out` is owed its size, its
# type and its identity.
#
# **Exercise 4** (`multiply_into`, about 8 lines). The contract of `out=`.

# %% tags=["exercise"]
spyrelab.check("ch03.4")

# %% [markdown]
# ## What is free?
#
# Whatever lies on the way before our key. **Autograd** is torch's kernel for the key Autograd: it
# notes which operation ran and calls it. Backward, it calls other operations, which go through the
# same dispatcher:

# %%
torch.spyre.reset_op_counts()
w = torch.full((100, 2), 0.01, dtype=torch.float16, device="spyre", requires_grad=True)
loss = torch.tanh(x @ w).square().mean()
loss.backward()
print(type(loss.grad_fn).__name__, w.grad.device, tuple(w.grad.shape))
print({name: tuple(count.values()) for name, count in torch.spyre.op_counts().items()})

# %% [markdown]
# (Not for operations of our own: `torch.ops.book.swish` has no derivative that torch could know.
# `torch.library.register_autograd` tells it one.)
#
# **Autocast** is the first key of all. Its kernels are ours, and they are short: cast the operands,
# and call the operation again with the key left out.

# %%
with torch.autocast("spyre", dtype=torch.bfloat16):
    a = torch.ones(4, 64, device="spyre")
    print("product:", (a @ a.t()).dtype, "  softmax:", (a @ a.t()).softmax(-1).dtype)

# %% [markdown]
# **Random numbers** are a question of whose they are. A device has a generator, `manual_seed` seeds
# it, and operations that are not told otherwise draw from it. Ours draws on the host and carries
# the numbers over: slow, but the same numbers as on the CPU, for any layout.

# %%
torch.manual_seed(7)
on_card = torch.randn(3, device="spyre")
torch.manual_seed(7)
print(on_card.tolist() == torch.randn(3).tolist())

# %% [markdown]
# **Exercise 5** (`dropout`, about 7 lines). Reproducible noise, and nobody else's generator
# touched.

# %% tags=["exercise"]
spyrelab.check("ch03.5")

# %% [markdown]
# **Saving** writes bytes in the order of the host, so a file knows nothing of sticks and can be
# loaded anywhere. Two tensors over one storage stay two tensors over one storage.

# %%
from io import BytesIO

file = BytesIO()
torch.save({"x": x, "view": view}, file)
for place in (None, "cpu"):
    file.seek(0)
    loaded = torch.load(file, map_location=place)
    same = loaded["x"].untyped_storage().data_ptr() == loaded["view"].untyped_storage().data_ptr()
    print(loaded["x"].device, "shared:", same, "equal:", torch.equal(loaded["x"].cpu(), x.cpu()))

# %% [markdown]
# ## Does it train?
#
# The proof of a device is a model that does not know about it. A transformer of two layers, as
# `torch.nn` has it, learns to continue sequences: once on the CPU, once on the card.

# %%
from copy import deepcopy

from torch import nn


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(32, 64)
        self.position = nn.Parameter(torch.zeros(16, 64))
        layer = nn.TransformerEncoderLayer(
            64, 4, 128, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 32)

    def forward(self, tokens):
        return self.head(self.layers(self.embed(tokens) + self.position))


def train(model, optimizer, steps):
    device = model.position.device
    tokens = (torch.arange(17) + torch.arange(4)[:, None]).to(device)
    losses = []
    for _ in range(steps):
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


torch.manual_seed(0)
on_host = Tiny()
on_card = deepcopy(on_host).to("spyre")
optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-3) for model in (on_host, on_card)]
expected = train(on_host, optimizers[0], 20)
torch.spyre.reset_op_counts()
losses = train(on_card, optimizers[1], 20)
counts = torch.spyre.op_counts()

apart = max(abs(a - b) / b for a, b in zip(losses, expected, strict=True))
for step in (0, 9, 19):
    print(f"step {step + 1:>2}   CPU {expected[step]:.4f}   card {losses[step]:.4f}")
print("apart by less than 1e-5 of the loss:", apart < 1e-5)

# %% [markdown]
# **What to notice.** The losses are not equal to the last bit: sums are added up in another order,
# in float32 here and there, and AdamW carries a difference on. A hundred-thousandth is what we
# allow for twenty steps (it is about fifty times less on our machine). A wrong kernel is rarely so
# kind.
#
# Who did the work?

# %%
from spyrelab.device.drawing import draw_shares

show(draw_shares(counts, title="20 steps of training: who ran what", most=18))

# %%
left = {name: count["fallback"] for name, count in counts.items() if count["fallback"]}
total = sum(sum(count.values()) for count in counts.values())
print(f"{total:,} operations, {sum(left.values())} on the CPU: {left or 'none'}")

# %% [markdown]
# **What to notice.** All that computes is native, forward, backward and in the optimizer. The
# optimizer alone is more than half of the *count*: eight small operations for each of 28
# parameters. Fewer and larger launches are what a
# compiler is for (chapter 6).
#
# Now save it, and go on where it was: on the card, and with the same file on the CPU.

# %%
file = BytesIO()
torch.save({"model": on_card.state_dict(), "optimizer": optimizers[1].state_dict()}, file)
for place in ("spyre", "cpu"):
    file.seek(0)
    state = torch.load(file, map_location=place)
    model = Tiny().to(place)
    model.load_state_dict(state["model"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    optimizer.load_state_dict(state["optimizer"])
    print(f"{place:6}", [f"{loss:.5f}" for loss in train(model, optimizer, 3)])

# %% [markdown]
# ## Why did it leave the device?
#
# `op_counts` says *what* fell back. *Why* is one of three reasons:
#
# | reason | example | what to do |
# |---|---|---|
# | the type: no float64, no complex numbers | `x.double().sum()` | stay in float32 |
# | the size of the result is data | `x[mask]`, `nonzero`, `unique` | multiply by the mask |
# | nobody wrote it | `svd`, `fft` | write it, or live with it |
#
# Here is a module that is right, and leaves the device all the time:

# %%
pooling = spyrelab.grade.given("ch03").MaskedMean(64).to("spyre")
sequence = torch.ones(4, 16, 64, device="spyre")
keep = torch.arange(16, device="spyre").expand(4, 16) < 9
torch.spyre.reset_op_counts()
pooling(sequence, keep).sum().backward()
show(draw_shares(torch.spyre.op_counts(), title="MaskedMean, forward and backward"))

# %% [markdown]
# **Exercise 6** (`masked_mean`, about 4 lines). Keep it there.

# %% tags=["exercise"]
spyrelab.check("ch03.6")

# %% [markdown]
# ## When did it run?
#
# How long your computer takes for a launch says nothing about the card. Each launch is noted, and
# when somebody asks, the timing model of chapter 2 says how long the card would have needed. That
# is the **emulated clock**. `record` collects what runs inside:

# %%
from spyrelab.viz.picture import describe, new_axes

tokens = torch.arange(16, device="spyre").expand(4, 16)
with torch.no_grad(), spyrelab.record() as recorded:
    on_card(tokens)

axes = recorded.timeline.plot(new_axes(9, 4.2))
names = ", ".join(dict.fromkeys(kernel.op for kernel in recorded.kernels))
show(
    describe(
        axes,
        f"Timeline of one forward pass: {len(recorded.kernels)} launches one after the other, in"
        f" lanes by operation: {names}. No two overlap; attention, once a layer, is the longest.",
    )
)

# %%
by_op = {}
for kernel in recorded.kernels:
    by_op[kernel.op] = by_op.get(kernel.op, 0) + kernel.seconds
for op, seconds in sorted(by_op.items(), key=lambda item: -item[1])[:4]:
    print(f"{op:12}{seconds * 1e6:6.1f} us, {seconds / recorded.seconds:4.0%}")

# %% [markdown]
# **What to notice.** The same staircase twice: two layers. One launch after the other. The longest
# is `attention`: two products and the softmax between them are *fused* into one launch. (Any other
# wide bar is two or more launches of one operation in a row.) Each launch needs about 1 µs to begin
# at all, before it has read a byte: on tensors as small as these, that alone is two fifths of the
# time. (Device time does not include what the *host* needs for a launch, which is more still.)
#
# **Events** are marks on the same clock, and carry the names that everybody knows from CUDA:

# %%
begin, end = (torch.spyre.Event(enable_timing=True) for _ in range(2))
begin.record()
with torch.no_grad():
    on_card(tokens)
end.record()
milliseconds = begin.elapsed_time(end)
print(f"{milliseconds * 1e3:.1f} us; as recorded: {recorded.seconds * 1e6:.1f} us")

# %% [markdown]
# And `torch.profiler` shows the launches beside the work of the host, in one trace to be opened in
# Perfetto:

# %%
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["KINETO_LOG_LEVEL"] = "99"  # it would write past Python to standard error
with TemporaryDirectory() as folder:
    with torch.profiler.profile() as profiled, torch.no_grad():
        on_card(tokens)
    profiled.export_chrome_trace(f"{folder}/trace.json")
    events = json.loads(Path(f"{folder}/trace.json").read_text())["traceEvents"]
launches = [event for event in events if event.get("cat") == "kernel"]
first = launches[0]
print(len(launches), "launches;", first["name"], "is bound by its", first["args"]["bound by"])

# %% [markdown]
# **Exercise 7** (`device_us`, about 8 lines). Measure a function on the card, as one should: more
# than once, and not the first time.

# %% tags=["exercise"]
spyrelab.check("ch03.7")

# %% [markdown]
# ## What can Python not give?
#
# Some doors are locked on the C++ side: the hooks that torch lets Python fill in are three, and the
# rest is fixed. What cannot work has to fail clearly, and before anything is half done.

# %%
attempts = {
    "a second card": lambda: torch.empty(2, device="spyre:1"),
    "a generator of the device": lambda: torch.Generator("spyre"),
    "a storage that grows": lambda: x.untyped_storage().resize_(1 << 20),
    "pinned by the factory": lambda: torch.empty(2, pin_memory=True),
    "a NumPy array of it": lambda: x.numpy(),
    "half here, half there": lambda: x + torch.ones(100),
}
for what, attempt in attempts.items():
    try:
        attempt()
        print(f"{what}: works")
    except Exception as error:
        print(f"{what}: {type(error).__name__}\n    {str(error).splitlines()[0][:94]}")

# %% [markdown]
# **What to notice.** The first four are limits of Python; the last two are the rules of every
# device. For each of the four there is a way round: one process for each card;
# `torch.spyre.manual_seed`, or a generator of the CPU; `x.resize_()`, which takes a new storage;
# `tensor.pin_memory()`. A small shim in C++ could open all four and make a call cheaper (we have
# built none, so by how much is not measured), at the price of a compiler on each reader's machine.
#
# One difference gives no error: an *integer* divided by zero is a ZeroDivisionError on the
# CPU. A program for the card has no way to raise one, so here the result is 0.
#
# ## How complete is it?
#
# Our own tests cannot tell. Inside the torch wheel there is a database of operators with sample
# inputs, `op_db`, with which its authors test CPU and CUDA. We run all of it, and keep an **op
# ledger**: which operation, in which type, passed on the card, passed by the fallback, or did not.

# %%
import tomllib

ledger = tomllib.loads(Path("data/ledger_totals.toml").read_text())
print(f"{'':10}{'native':>8}{'fallback':>10}{'fails as known':>16}{'passes':>14}")
for kind, count in ledger.items():
    native, fallback, xfail = (count.get(name, 0) for name in ("native", "fallback", "xfail"))
    total = native + fallback + xfail
    print(f"{kind:10}{native:>8}{fallback:>10}{xfail:>16}{native + fallback:>7} of {total}")
if not ledger:
    print("the ledger has not been written yet")

# %% [markdown]
# *op*: an operation in one type, float16 or float32, with all its samples. *module*: a layer of
# `torch.nn`. *opcheck* asks whether an operation does what its schema says, and *gradcheck*
# compares derivatives with differences. *fallback* means that at least one sample left the device.
#
# **What to notice.** A device with a good fallback passes nearly all of this on its first day. So
# the number that counts is not the last column; it is the first.
#
# ## What does it cost?
#
# Ask your own computer: the next cell is the only one whose output is not ours.

# %% tags=["volatile"]
from time import perf_counter

a = torch.ones(64, 64)
for name, function in {"view": lambda t: t.view(4096), "add": lambda t: t + t}.items():
    for device in ("cpu", "spyre"):
        t = a.to(device)
        best = 1.0
        for _ in range(5):
            start = perf_counter()
            for _ in range(200):
                function(t)
            best = min(best, (perf_counter() - start) / 200)
        print(f"{name:5} on {device:6}{best * 1e6:6.1f} us")

# %% [markdown]
# A kernel in Python costs a few to some tens of times what a call to C++ does. For an emulator that
# is nothing. A card that is done in 2 µs would wait for it all the time, which is a reason to
# compile (chapter 6). `spyrelab bench ch03` measures more of this, beside the CPU in the same run.
#
# ## What you learned
#
# * A device is a name, a storage, the views, a copy, and a fallback. With these everything *works*;
#   kernels make it *worth* it.
# * Memory of any kind becomes a storage by DLPack. The deleter must not be Python.
# * The layout belongs to the allocation, and views find it by its address.
# * The schema of an operation says what it writes. A fallback that forgets it is silently wrong.
# * Count what leaves the device. A test that passes by fallback says nothing about the card.
# * Our block: two of them, with embedding and head, take 38 launches and 88 µs forward, on tensors
#   so small that two fifths of it is the start of launches. In 20 steps of training 6,936
#   operations ran on the card and none on the CPU.
#
# Numbers to remember:
#
# | number | what |
# |---|---|
# | 1 | PrivateUse1 backend in a process |
# | 12 | DLPack's device type for foreign memory |
# | 7 | kernels of views, and all of torch's views follow |
# | 8 | small operations that AdamW does for each parameter |
# | 3,000 | operations, overloads counted |
#
# Your grade: `spyrelab grade ch03`.
#
# **Read next.** PyTorch's own pages on [out-of-tree
# backends](https://docs.pytorch.org/tutorials/advanced/privateuseone.html), with the same hooks
# from C++, and on [the dispatcher](https://docs.pytorch.org/tutorials/advanced/dispatcher.html).
#
# ## The next question
#
# In the picture of memory, `x` took six sticks for 600 bytes. Its transpose is a view: free, and
# useless to a machine that reads whole sticks along a row. **How should a tensor lie, who decides,
# and what does it cost to change one's mind?** That is chapter 4: layouts.
