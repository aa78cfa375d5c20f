"""A program launched again with its state kept gives what a fresh launch gives."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import spyrelab
from spyrelab import emulator, kernels
from spyrelab.emulator.errors import ArgumentError
from spyrelab.emulator.quick_launch import QuickLaunch
from spyrelab.emulator.sanitizer.findings import SanitizerError
from spyrelab.ktir import Builder
from spyrelab.ktir.types import F16, F32
from spyrelab.machine import DeviceMemory

ELEMENTS = 200


def filled(memory: DeviceMemory, values: np.ndarray) -> int:
    address = memory.allocate(values.nbytes)
    memory.bytes[address : address + values.nbytes] = values.view(np.uint8)
    memory.mark_written(address, values.nbytes)
    return address


def read(memory: DeviceMemory, address: int, count: int = ELEMENTS) -> np.ndarray:
    return memory.bytes[address : address + 2 * count].view(np.float16).copy()


@pytest.mark.parametrize("cores", [1, 2, 32])
def test_every_launch_gives_the_same_as_a_fresh_one(cores: int) -> None:
    program = emulator.lower(kernels.pointwise("x * y + x", (ELEMENTS,), cores=cores))
    generator = np.random.default_rng(cores)
    with DeviceMemory(1 << 22) as memory:
        launch = QuickLaunch(program, memory)
        for _ in range(6):
            x, y = (generator.standard_normal(ELEMENTS).astype(np.float16) for _ in "xy")
            addresses = [filled(memory, x), filled(memory, y), filled(memory, 0 * x)]
            launch(addresses)
            found = read(memory, addresses[2])
            names = [argument.name for argument in program.arguments]
            program.launch(dict(zip(names, addresses, strict=True)), memory)
            assert (found == read(memory, addresses[2])).all()


def scaled() -> emulator.Program:
    b = Builder("scaled", grid=(1,))
    x_at, out_at = b.pointers("x", "out")
    factor = b.argument("factor", F32)
    x, out = (b.view(at, sizes=(64,), dtype=F16) for at in (x_at, out_at))
    values = b.load(x[0], shape=(64,)).to(F32)
    b.store((values * b.splat(factor, (64,))).to(F16), out[0])
    return emulator.lower(b.build())


def test_numbers_change_from_launch_to_launch() -> None:
    with DeviceMemory(1 << 20) as memory:
        ones = np.ones(64, np.float16)
        x, out = filled(memory, ones), filled(memory, 0 * ones)
        launch = QuickLaunch(scaled(), memory)
        for factor in (2.0, 0.5, -3.0, 1e-3, 2.0):
            launch([x, out, factor])
            assert (read(memory, out, 64) == np.float16(factor)).all()


def test_an_address_between_elements_is_refused_each_time() -> None:
    with DeviceMemory(1 << 20) as memory:
        ones = np.ones(64, np.float16)
        x, out = filled(memory, ones), filled(memory, 0 * ones)
        launch = QuickLaunch(scaled(), memory)
        for _ in range(5):
            with pytest.raises(ArgumentError, match="multiple"):
                launch([x + 1, out, 1.0])
            launch([x, out, 1.0])


def test_the_sanitizer_sees_every_launch() -> None:
    with DeviceMemory(1 << 20) as memory:
        ones = np.ones(64, np.float16)
        x, out = filled(memory, ones), filled(memory, 0 * ones)
        launch = QuickLaunch(scaled(), memory)
        for _ in range(4):
            launch([x, out, 1.0])
        with spyrelab.sanitize(), pytest.raises(SanitizerError):
            launch([x, out + 2 * 64, 1.0])


def test_threads_may_launch_at_once() -> None:
    program = emulator.lower(kernels.pointwise("x + x", (ELEMENTS,), cores=2))
    failures: list[object] = []
    with DeviceMemory(1 << 22) as memory:
        launch = QuickLaunch(program, memory)

        def work(number: int) -> None:
            x = np.full(ELEMENTS, number, np.float16)
            source, target = filled(memory, x), filled(memory, 0 * x)
            for _ in range(200):
                memory.bytes[target : target + 2 * ELEMENTS] = 0
                launch([source, target])
                if not (read(memory, target) == 2 * x).all():
                    failures.append(number)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []
