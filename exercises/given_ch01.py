"""Programs that the exercises of chapter 1 hand out: read them, do not edit them."""

from __future__ import annotations

from spyrelab.ktir import F16, F32, Builder, Module


def softmax_in_three_passes(rows: int, cols: int) -> Module:
    """Softmax the way a first draft does it: every pass goes through main memory.

    Arguments of the kernel: x and out ``[rows, cols]`` of f16, powers ``[rows, cols]`` of f32,
    a scratch array in main memory.
    """
    height = 4
    share = -(-rows // (32 * height)) * height
    b = Builder("softmax_in_three_passes", grid=(32,))
    x_at, powers_at, out_at = b.pointers("x", "powers", "out")
    x = b.view(x_at, sizes=(rows, cols), dtype=F16)
    powers = b.view(powers_at, sizes=(rows, cols), dtype=F32)
    out = b.view(out_at, sizes=(rows, cols), dtype=F16)
    begin = b.compute_tile_id() * share
    with b.loop(begin, b.minimum(begin + share, rows), height, names="row") as row:
        # Pass 1: the largest value of each row.
        top = b.reduce("max", b.load(x[row, 0], shape=(height, cols)).to(F32), 1)
        # Pass 2: the powers, kept for later.
        again = b.load(x[row, 0], shape=(height, cols)).to(F32)
        b.store(b.exp(again - b.broadcast(top, (height, cols), 1)), powers[row, 0])
        # Pass 3: divide by their sum.
        kept = b.load(powers[row, 0], shape=(height, cols))
        total = b.broadcast(b.reduce("add", kept, 1), (height, cols), 1)
        b.store((kept / total).to(F16), out[row, 0])
    return b.build()


def tanh_by_rows(rows: int, cols: int, height: int) -> Module:
    """``out = tanh(x)`` in f32, ``height`` rows at a time, on 32 cores.

    Arguments of the kernel: x and out ``[rows, cols]`` of f16.
    """
    share = -(-rows // (32 * height)) * height
    b = Builder("tanh_by_rows", grid=(32,))
    x, out = (b.view(p, sizes=(rows, cols), dtype=F16) for p in b.pointers("x", "out"))
    begin = b.compute_tile_id() * share
    with b.loop(begin, b.minimum(begin + share, rows), height, names="row") as row:
        narrow = b.load(x[row, 0], shape=(height, cols))
        wide = narrow.to(F32)
        b.store(b.tanh(wide).to(F16), out[row, 0])
    return b.build()


BROKEN_CENTRE = """\
// y = x - (the largest value of the row), for a 60 x 100 matrix, one row per step.
// Core t takes rows t, t + 32, ...  Three lines are wrong.

#matrix = affine_set<(r, c) : (r >= 0, -r + 59 >= 0, c >= 0, -c + 99 >= 0)>
#line   = affine_set<(r, c) : (r >= 0, -r >= 0, c >= 0, -c + 99 >= 0)>
#rc     = affine_map<(r, c) -> (r, c)>

module {
  func.func @centre(%x: index, %y: index) attributes {grid = [32]} {
    %core = ktdp.get_compute_tile_id : index
    %zero = arith.constant 0 : index
    %rows = arith.constant 60 : index
    %step = arith.constant 16 : index

    %from = ktdp.construct_memory_view %x, sizes: [60, 100], strides: [96, 1] {
      coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>
    } : memref<60x100xf16>
    %to = ktdp.construct_memory_view %y, sizes: [60, 100], strides: [100, 1] {
      coordinate_set = #matrix, memory_space = #ktdp.memory_space<global>
    } : memref<60x100xf16>

    scf.for %row = %core to %rows step %step {
      %source = ktdp.construct_access_tile %from[%row, %zero] {
        access_tile_set = #line, access_tile_order = #rc
      } : memref<60x100xf16> -> !ktdp.access_tile<1x100xindex>
      %value = ktdp.load %source : !ktdp.access_tile<1x100xindex> -> tensor<1x100xf16>

      %least = arith.constant dense<0.000000e+00> : tensor<1xf16>
      %top = linalg.reduce { arith.maximumf } ins(%value : tensor<1x100xf16>)
        outs(%least : tensor<1xf16>) dimensions = [1]
      %room = tensor.empty() : tensor<1x100xf16>
      %wide = linalg.broadcast ins(%top : tensor<1xf16>)
        outs(%room : tensor<1x100xf16>) dimensions = [1]
      %centred = arith.subf %value, %wide : tensor<1x100xf16>

      %target = ktdp.construct_access_tile %to[%row, %zero] {
        access_tile_set = #line, access_tile_order = #rc
      } : memref<60x100xf16> -> !ktdp.access_tile<1x100xindex>
      ktdp.store %centred, %target : tensor<1x100xf16>, !ktdp.access_tile<1x100xindex>
    }
    return
  }
}
"""
