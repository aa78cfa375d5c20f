"""The table of planted faults, and the right programs that look like them."""

from __future__ import annotations

import numpy as np

from spyrelab.emulator import Kind
from tests.emulator.sanitizer_programs import (
    OWN_LX,
    Planted,
    add,
    indirect,
    load,
    on,
    ones,
    over,
    program,
    repeat,
    rows,
    send,
    store,
)
from tests.emulator.short_programs import view

STORE = "ktdp.store"
X, Y = over("v", "x", 1024), over("w", "y", 1024)
LX = over("s", "c0", 1024, OWN_LX)
LX_0, LX_1 = (over(f"s{c}", "c0", 1024, f"ct_local, ct_id = {c}") for c in (0, 1))
XY = {"x": rows(16), "y": rows(16)}
FIRST = "%first = arith.muli %core, %c2 : index\n"
IDS = view("n", "k", 4, "i64")
BASE = "%p = arith.addi %x, %c128 : index\n"
SQUARE = (
    "%m = ktdp.construct_memory_view %x, sizes: [16, 64], strides: [65, 1] {coordinate_set = "
    "affine_set<(r, c) : (r >= 0, -r + 15 >= 0, c >= 0, -c + 63 >= 0)>, memory_space = "
    "#ktdp.memory_space<global>} : memref<16x64xf16>\n"
    "%mt = ktdp.construct_access_tile %m[%c0, %c0] {access_tile_set = affine_set<(r, c) : "
    "(r >= 0, -r + 15 >= 0, c >= 0, -c + 63 >= 0)>} : memref<16x64xf16> -> "
    "!ktdp.access_tile<16x64xindex>\n"
    "%l = ktdp.load %mt : !ktdp.access_tile<16x64xindex> -> tensor<16x64xf16>\n"
)
PAIR = (
    over("left", "x", 64)
    + "%r = ktdp.construct_memory_view %y, sizes: [64], strides: [1] {coordinate_set = "
    "affine_set<(d) : (d - 64 >= 0, -d + 127 >= 0)>, memory_space = "
    "#ktdp.memory_space<global>} : memref<64xf16>\n"
    "%both = ktdp.construct_distributed_memory_view (%left, %r : memref<64xf16>, "
    "memref<64xf16>) : memref<128xf16>\n"
)
COLUMN = (
    "%m = ktdp.construct_memory_view %x, sizes: [16, 8], strides: [64, 1] {coordinate_set = "
    "affine_set<(r, c) : (r >= 0, -r + 15 >= 0, c >= 0, -c + 7 >= 0)>, memory_space = "
    "#ktdp.memory_space<global>} : memref<16x8xf16>\n"
    "%mt = ktdp.construct_access_tile %m[%c0, %core] {access_tile_set = affine_set<(r, c) : "
    "(r >= 0, -r + 15 >= 0, c >= 0, -c + 1 >= 0)>} : memref<16x8xf16> -> "
    "!ktdp.access_tile<16x2xindex>\n"
    "%two = arith.constant dense<2.0> : tensor<16x2xf16>\n"
    "ktdp.store %two, %mt : tensor<16x2xf16>, !ktdp.access_tile<16x2xindex>\n"
)
BYTES = (
    view("b", "x", 65, "i8")
    + "%at = arith.muli %core, %c32 : index\n"
    + "%bt = ktdp.construct_access_tile %b[%at] {access_tile_set = affine_set<(d) : "
    "(d >= 0, -d + 32 >= 0)>} : memref<65xi8> -> !ktdp.access_tile<33xindex>\n"
    "%ib = arith.constant dense<1> : tensor<33xi8>\n"
    "ktdp.store %ib, %bt : tensor<33xi8>, !ktdp.access_tile<33xindex>\n"
)
# Core 0 puts a row into its scratchpad, then core 1 is told so.
LOCAL = LX_0 + ones() + on(0, store("one", "s0", "%c0", 1024))
NEXT = "%next = arith.addi %row, %c64 : index\n"

FAULTS = [
    Planted("tail of a load", program(X, load("a", "v", "%row", 1024), cores=16, args="x"),
            Kind.OUT_OF_BOUNDS, args={"x": rows(16)[:1000]}, core=15),
    Planted("tail of a store", program(Y, ones(), store("one", "w", "%row", 1024), cores=16,
            args="y"), Kind.OUT_OF_BOUNDS, STORE, {"y": rows(16)[:990]}, core=15),
    Planted("wrong stride", program(SQUARE, cores=1, args="x"), Kind.OUT_OF_BOUNDS,
            args={"x": rows(16)}),
    Planted("wrong base", program(BASE, over("v", "p", 64), load("a", "v", "%c0", 64), cores=1,
            args="x"), Kind.OUT_OF_BOUNDS, args={"x": rows(1)}),
    Planted("negative index", program("%n = arith.constant -32 : index\n"
            "%p = arith.addi %x, %n : index\n", over("v", "p", 64), load("a", "v", "%c0", 64),
            cores=1, args="x"), Kind.OUT_OF_BOUNDS, args={"x": rows(1)}),
    Planted("literal address", program(over("v", "c128", 64), load("a", "v", "%c0", 64), cores=1,
            args="x"), Kind.OUT_OF_BOUNDS, args={"x": rows(1)}),
    Planted("scratchpad overrun", program("%at = arith.addi %x, %c0 : index\n",
            over("s", "at", 64, OWN_LX), load("a", "s", "%c0", 64), args="x"),
            Kind.OUT_OF_BOUNDS, args={"x": (1 << 20) - 32}, kinds=(Kind.UNWRITTEN,)),
    Planted("page id too large", program(FIRST, X, IDS, indirect("load", "v", 1024, "n", 2, "a"),
            args="x k"), Kind.INDEX, args={"x": rows(16), "k": np.array([3, 1, 2048, 0])},
            core=1),
    Planted("page id negative", program(FIRST, X, IDS, ones(count=2),
            indirect("store", "v", 1024, "n", 2), args="x k"), Kind.INDEX, STORE,
            {"x": rows(16), "k": np.array([3, -1, 2, 0])}),
    Planted("page outside its array", program(FIRST, over("v", "x", 4096), IDS,
            indirect("load", "v", 4096, "n", 2, "a"), args="x k"), Kind.WRONG_ALLOCATION,
            args={"x": rows(16), "k": np.array([3, 1, 1028, 0])}, core=1, allocation="k"),
    Planted("load runs into the next array", program(X, load("a", "v", "%row", 1024)),
            Kind.WRONG_ALLOCATION, args={"x": rows(1), "y": rows(4)}, core=1, allocation="y"),
    Planted("store runs into the next array", program(X, ones(), store("one", "v", "%row", 1024)),
            Kind.WRONG_ALLOCATION, STORE, {"x": rows(1), "y": rows(4)}, 1, allocation="y"),
    Planted("second partition too short", program(PAIR, load("a", "both", "%c0", 128, 128),
            cores=1), Kind.OUT_OF_BOUNDS, args={"x": rows(1), "y": rows(1)[:40]}),
    Planted("memory nobody wrote", program(X, load("a", "v", "%row", 1024), args="x"),
            Kind.UNWRITTEN, args={"x": rows(16)}, unwritten=("x",), allocation="x"),
    Planted("memory half written", program(X, load("a", "v", "%row", 1024), args="x"),
            Kind.UNWRITTEN, args={"x": rows(16)}, unwritten=("x",), written=192, core=1),
    Planted("load before the store", program(X, load("a", "v", "%row", 1024),
            store("a", "v", "%row", 1024), args="x"), Kind.UNWRITTEN, args={"x": rows(16)},
            unwritten=("x",)),
    Planted("index table nobody wrote", program(FIRST, X, IDS,
            indirect("load", "v", 1024, "n", 2, "a"), args="x k"), Kind.UNWRITTEN,
            args={"x": rows(16), "k": np.zeros(4, np.int64)}, unwritten=("k",), allocation="k"),
    Planted("scratchpad nobody wrote", program(LX, load("a", "s", "%c0", 1024), args="x"),
            Kind.UNWRITTEN, args={"x": rows(1)}, allocation="the scratchpad of core 0"),
    Planted("scratchpad half written", program(LX, ones("half", 32),
            store("half", "s", "%c0", 1024, 32), load("a", "s", "%c0", 1024), args="x"),
            Kind.UNWRITTEN, args={"x": rows(1)}),
    Planted("stale scratchpad of another core", program(LX, ones(),
            on(0, store("one", "s", "%c0", 1024)), load("a", "s", "%c0", 1024), args="x"),
            Kind.UNWRITTEN, args={"x": rows(1)}, core=1, allocation="the scratchpad of core 1"),
    Planted("all cores write one row", program(Y, ones(), store("one", "w", "%c0", 1024),
            cores=4), Kind.WRITE_WRITE, STORE, XY, other=1, allocation="y"),
    Planted("rows overlap", program("%at = arith.muli %core, %c32 : index\n", Y, ones(),
            store("one", "w", "%at", 1024), cores=8), Kind.WRITE_WRITE, STORE, XY, other=1),
    Planted("columns overlap", program(COLUMN, cores=4, args="x"), Kind.WRITE_WRITE, STORE,
            {"x": rows(16)}, other=1),
    Planted("bytes overlap", program(BYTES, args="x"), Kind.WRITE_WRITE, STORE,
            {"x": np.zeros(65, np.int8)}, other=1),
    Planted("shared accumulator", program(Y, ones(), load("a", "w", "%c0", 1024),
            add("b", "a", "one"), store("b", "w", "%c0", 1024)), Kind.READ_WRITE, STORE, XY,
            other=1, kinds=(Kind.WRITE_WRITE,)),
    Planted("missing collective", program(Y, ones(), on(0, store("one", "w", "%c0", 1024)),
            on(1, load("a", "w", "%c0", 1024))), Kind.READ_WRITE, STORE, XY, other=1),
    Planted("overwritten while read", program(X, ones(), on(0, load("a", "v", "%c0", 1024)),
            on(1, store("one", "v", "%c0", 1024))), Kind.READ_WRITE, args=XY, other=1),
    Planted("shift in place", program(NEXT, X, load("a", "v", "%next", 1024),
            store("a", "v", "%row", 1024), cores=8), Kind.READ_WRITE, args=XY, other=1),
    Planted("race in a loop", program(Y, ones(), repeat("%r = arith.addi %core, %i : index\n",
            "%at = arith.muli %r, %c64 : index\n", store("one", "w", "%at", 1024))),
            Kind.WRITE_WRITE, STORE, XY, other=1),
    Planted("scatter to one row from two cores", program(FIRST, Y, IDS, ones(count=2),
            indirect("store", "w", 1024, "n", 2), args="y k"), Kind.WRITE_WRITE, STORE,
            {"y": rows(16), "k": np.array([3, 1, 3, 0])}, other=1),
    Planted("store after publishing", program(Y, ones(), send(0, 1),
            on(0, store("one", "w", "%c0", 1024)), on(1, load("a", "w", "%c0", 1024))),
            Kind.READ_WRITE, STORE, XY, other=1),
    Planted("consumed from the wrong core", program(Y, ones(),
            on(2, store("one", "w", "%c0", 1024)), send(1, 0), on(0, load("a", "w", "%c0", 1024)),
            cores=3), Kind.READ_WRITE, args=XY, other=2),
    Planted("only the first round is ordered", program(Y, ones(),
            on(0, store("one", "w", "%c0", 1024)), send(0, 1),
            on(1, load("a", "w", "%c0", 1024)), on(0, store("one", "w", "%c0", 1024))),
            Kind.READ_WRITE, STORE, XY, other=1),
    Planted("next iteration overwrites", program(Y, ones(), repeat(
            on(0, store("one", "w", "%c0", 1024)), send(0, 1),
            on(1, load("a", "w", "%c0", 1024)))), Kind.READ_WRITE, STORE, XY, other=1),
    Planted("remote scratchpad without order", program(LOCAL, on(1, load("a", "s0", "%c0", 1024)),
            args="x"), Kind.READ_WRITE, STORE, {"x": rows(1)}, other=1,
            allocation="the scratchpad of core 0"),
    Planted("remote scratchpad too early", program(LX_1, ones(),
            on(0, load("a", "s1", "%c0", 1024)), on(1, store("one", "s1", "%c0", 1024)),
            args="x"), Kind.UNWRITTEN, args={"x": rows(1)}, kinds=(Kind.READ_WRITE,),
            allocation="the scratchpad of core 1"),
    Planted("two cores into one scratchpad", program(LX_1, ones(),
            store("one", "s1", "%c0", 1024), args="x"), Kind.WRITE_WRITE, STORE, {"x": rows(1)},
            other=1, allocation="the scratchpad of core 1"),
]  # fmt: skip

CLEAN = {
    "own rows": (program(X, Y, load("a", "v", "%row", 1024), store("a", "w", "%row", 1024),
                 cores=16), XY),
    "shared input": (program(X, Y, load("a", "v", "%c0", 1024), store("a", "w", "%row", 1024),
                     cores=16), XY),
    "masked tail": (program(over("v", "x", 1000), Y, load("a", "v", "%row", 1000),
                    store("a", "w", "%row", 1024), cores=16), XY),
    "consumed before read": (program(Y, ones(), on(0, store("one", "w", "%c0", 1024)), send(0, 1),
                             on(1, load("a", "w", "%c0", 1024))), XY),
    "ordered over a third core": (program(Y, ones(), on(0, store("one", "w", "%c0", 1024)),
                                  send(0, 1), send(1, 2, result="g2"),
                                  on(2, store("one", "w", "%c0", 1024)), cores=3), XY),
    "there and back in a loop": (program(Y, ones(), repeat(on(0, store("one", "w", "%c0", 1024)),
                                 send(0, 1), on(1, load("a", "w", "%c0", 1024)),
                                 send(1, 0, result="ack"), times=3)), XY),
    "remote scratchpad in order": (program(LOCAL, send(0, 1), on(1, load("a", "s0", "%c0", 1024)),
                                   args="x"), {"x": rows(1)}),
    "own scratchpads": (program(LX, ones(), store("one", "s", "%c0", 1024),
                        load("a", "s", "%c0", 1024), args="x"), {"x": rows(1)}),
    "scatter apart": (program(FIRST, Y, IDS, ones(count=2),
                      indirect("store", "w", 1024, "n", 2), args="y k"),
                      {"y": rows(16), "k": np.array([3, 1, 2, 0])}),
    "one core twice": (program(Y, ones(), store("one", "w", "%c0", 1024),
                       load("a", "w", "%c0", 1024), cores=1), XY),
}  # fmt: skip
