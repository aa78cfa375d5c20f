"""One row of elements between memory and an arena.

``memory`` is one flat reserve seen through ``(u8, i8, u16, i16, f32, i32, i64)``.
"""

from __future__ import annotations

import numpy as np

from spyrelab.emulator.native import machine_code
from spyrelab.emulator.native_formats import h2f
from spyrelab.emulator.opcodes import Element
from spyrelab.emulator.tile_convert import decode_8, decode_16, encode_8, encode_16, encode_32
from spyrelab.emulator.vm_copy import copy_run

_F32, _F16, _F8E4M3, _F8E5M2 = map(int, (Element.F32, Element.F16, Element.F8E4M3, Element.F8E5M2))
_I1, _I8, _I16, _I32 = map(int, (Element.I1, Element.I8, Element.I16, Element.I32))


@machine_code()
def element_size(element):
    if element == 0 or element == 9:
        return 4
    if element <= 3 or element == 8:
        return 2
    return 8 if element == 10 else 1


@machine_code()
def read_run(element, memory, address, count, F, I, at):
    """Contiguous elements from memory into the arena."""
    u8, i8, u16, i16, f32, i32, i64 = memory
    if element == _F32:
        a = address >> 2
        copy_run(f32[a : a + count], F[at : at + count])
    elif element < _F8E4M3:
        a = address >> 1
        decode_16(element, u16[a : a + count], F[at : at + count])
    elif element <= _F8E5M2:
        decode_8(element, u8[address : address + count], F[at : at + count])
    else:
        out = I[at : at + count]
        if element == _I1:
            source = u8[address : address + count]
            for i in range(count):
                out[i] = source[i] != 0
        elif element == _I8:
            copy_run(i8[address : address + count], out)
        elif element == _I16:
            a = address >> 1
            copy_run(i16[a : a + count], out)
        elif element == _I32:
            a = address >> 2
            copy_run(i32[a : a + count], out)
        else:
            a = address >> 3
            copy_run(i64[a : a + count], out)


@machine_code()
def write_run(element, memory, address, count, F, I, at):
    """Contiguous elements from the arena into memory."""
    u8, i8, u16, i16, f32, i32, i64 = memory
    if element == _F32:
        a = address >> 2
        encode_32(F[at : at + count], f32[a : a + count])
    elif element < _F8E4M3:
        a = address >> 1
        encode_16(element, F[at : at + count], u16[a : a + count])
    elif element <= _F8E5M2:
        encode_8(element, F[at : at + count], u8[address : address + count])
    else:
        source = I[at : at + count]
        if element == _I1:
            out = u8[address : address + count]
            for i in range(count):
                out[i] = np.uint8(source[i] & 1)
        elif element == _I8:
            target = i8[address : address + count]
            for i in range(count):
                target[i] = np.int8(source[i])
        elif element == _I16:
            a = address >> 1
            short = i16[a : a + count]
            for i in range(count):
                short[i] = np.int16(source[i])
        elif element == _I32:
            a = address >> 2
            word = i32[a : a + count]
            for i in range(count):
                word[i] = np.int32(source[i])
        else:
            a = address >> 3
            copy_run(source, i64[a : a + count])


@machine_code()
def move_run(store, element, memory, address, step, count, F, I, at, tile_step):
    """``count`` elements, ``step`` bytes apart in memory and ``tile_step`` apart in the tile."""
    one = np.int64(1)  # a literal would compile the callees a second time
    if step == element_size(element) and tile_step == 1:
        if store:
            write_run(element, memory, address, count, F, I, at)
        else:
            read_run(element, memory, address, count, F, I, at)
    elif not store and element == _F16 and tile_step == 1:
        _read_f16_strided(memory[2], address >> 1, step >> 1, count, F[at : at + count])
    else:
        for i in range(count):
            if store:
                write_run(element, memory, address + i * step, one, F, I, at + i * tile_step)
            else:
                read_run(element, memory, address + i * step, one, F, I, at + i * tile_step)


@machine_code()
def _read_f16_strided(u16, first, step, count, out):
    for i in range(count):
        out[i] = h2f(u16[first + i * step])
