"""The whole of Helion's language on the card, against torch, at sizes that fit no block."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import torch

from spyrelab.triton.launcher import ScratchpadError
from tests.helion import features


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def whole(low, high, *shape, seed=0, dtype=torch.int64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def bounds(*lengths):
    return torch.tensor([0, *lengths]).cumsum(0)


def biased(bias):
    return lambda acc, tile: torch.relu(acc + bias[tile[1]])


def unpacked(packed):
    return torch.stack([(packed << 4) >> 4, packed >> 4], 1).reshape(-1, packed.size(1)).float()


def sums_of_runs(keys, x, count):
    return torch.zeros(count, x.size(1)).index_add_(0, keys, x)


def tile_facts(x):
    at = torch.arange(x.size(0))
    begin = at // 16 * 16
    end = torch.clamp(begin + 16, max=x.size(0))
    return torch.stack([at, begin, end, at // 16, torch.full_like(at, 16)], 1)


def tallies(x, at):
    sums = torch.zeros(10, dtype=torch.int32).index_add_(0, at, x)
    most = torch.full((10,), -100, dtype=torch.int32)
    return sums, most.scatter_reduce(0, at, x, "amax"), x


def gated_states(k, v, g, chunk):
    state, found = torch.zeros(k.size(1), k.size(2), v.size(2)), []
    for part in range(0, k.size(0), chunk):
        found.append(state)
        ks, vs, gs = (x[part : part + chunk].transpose(0, 1) for x in (k, v, g))
        vs = vs * torch.exp(gs[:, -1:] - gs)[..., None]
        state = state * gs[:, -1].exp()[:, None, None] + ks.transpose(1, 2) @ vs
    return torch.stack(found)


EXPERTS = whole(0, 4, 50, seed=4)


def experts():
    counts = torch.bincount(EXPERTS, minlength=4)
    rows = torch.argsort(EXPERTS, stable=True)
    weights = normal(4, 40, 36, seed=1)
    return normal(50, 40), weights, rows, bounds(*counts.tolist()), torch.empty(int(counts.max()))


def routed(x, w, *others):
    return torch.stack([row @ w[expert] for row, expert in zip(x, EXPERTS.tolist(), strict=True)])


CASES = {
    "broadcast_add": (
        [(normal(65, 130), normal(130)), (normal(3, 5, 63), normal(5, 1)), (normal(0, 5),) * 2],
        torch.add,
    ),
    "concatenate": (
        [(normal(65, 100), normal(65, 151)), (normal(1, 63), normal(1, 1))],
        lambda x, y: torch.cat([x, y], 1),
    ),
    "split_product": ([(normal(64, 500), normal(500, 65))], lambda x, y: x @ y + 1),
    "half_bytes": (
        [(normal(40, 64).bfloat16(), whole(-128, 128, 32, 33, dtype=torch.int8))],
        lambda x, packed: x.float() @ unpacked(packed),
    ),
    "grouped_product": (
        [(normal(97, 40), normal(40, 33), bounds(10, 0, 54, 33))],
        lambda x, y, offsets: x @ y,
    ),
    "routed": ([experts()], routed),
    "sums_of_runs": (
        [(whole(0, 10, 100).sort()[0], normal(100, 20), 10), (whole(0, 1, 1), normal(1, 65), 1)],
        sums_of_runs,
    ),
    "largest": ([(normal(9, 64), torch.arange(64))], lambda x, at: tuple(x.max(1))),
    "scans": (
        [(normal(9, 65) / 4 + 1,), (normal(1, 1),)],
        lambda x: (x.cumsum(1), x.flip(1).cumsum(1).flip(1), x.cumprod(1)),
    ),
    "ragged_sums": (
        [(normal(89), bounds(0, 5, 64, 3, 17))],
        lambda x, offsets: torch.stack([x[a:b].sum() for a, b in pairwise(offsets.tolist())]),
    ),
    "with_triton": ([(normal(9, 65), normal(9, 65, seed=1))], lambda x, y: x * 2 + y.abs() + y * 3),
    "butterfly": (
        [(normal(9, 65, 2),), (normal(1, 1, 2),)],
        lambda x: torch.stack([x[..., 0] - x[..., 1], x[..., 0] + x[..., 1]], -1),
    ),
    "tile_facts": ([(normal(65),), (normal(1),)], tile_facts),
    "tallies": ([(whole(-9, 9, 100, dtype=torch.int32), whole(0, 10, 100, seed=1))], tallies),
    "outer_powers": (
        [(normal(65), 3, "negative"), (normal(1), 1, "")],
        lambda x, n, mode: (x[:, None] * x + x[:, None] * sum(range(n))) * (-1 if mode else 1),
    ),
    "gated_states": (
        [(normal(64, 2, 16) / 2, normal(64, 2, 40, seed=1), -normal(64, 2).abs() / 8, 16)],
        gated_states,
    ),
}
"""Kernel: operands, and what torch makes of them."""


def each(change, values):
    return torch.utils._pytree.tree_map_only(torch.Tensor, change, values)


def compare(found, wanted):
    torch.testing.assert_close(each(lambda x: x.cpu(), found), wanted, atol=5e-4, rtol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_kernels_agree_with_torch(name):
    kernel, (operands, reference) = getattr(features, name), CASES[name]
    for given in operands:
        compare(kernel(*each(lambda x: x.to("spyre"), given)), reference(*given))


@pytest.mark.parametrize(
    "name", ["split_product", "grouped_product", "scans", "sums_of_runs", "gated_states", "routed"]
)
def test_in_configurations_by_chance(name):
    kernel, (operands, reference) = getattr(features, name), CASES[name]
    moved = each(lambda x: x.to("spyre"), operands[0])
    bound = kernel.bind(moved)
    space = bound.config_spec.create_config_generation()
    random.seed(name)
    agreed = 0
    for _ in range(4):
        config = space.unflatten(space.random_flat())
        try:
            found = bound.compile_config(config, allow_print=False)(*moved)
        except ScratchpadError:
            continue
        compare(found, reference(*operands[0]))
        agreed += 1
    assert agreed


def test_a_function_of_the_callers_brings_tensors_of_its_own():
    bias, other = (normal(70, seed=n) for n in (2, 3))
    for given in (bias, other):
        for x, y in ((normal(33, 40), normal(40, 70)), (normal(1, 65), normal(65, 70))):
            found = features.product_with(x.to("spyre"), y.to("spyre"), biased(given.to("spyre")))
            compare(found, torch.relu(x @ y + given))


def test_chance_depends_on_the_seed_alone():
    x = torch.ones(5000, device="spyre")
    kept, again, other = (features.drop_out(x, seed).cpu() for seed in (7, 7, 8))
    assert torch.equal(kept, again) and not torch.equal(kept, other)
    assert kept.mean() == pytest.approx(0.75, abs=0.02)  # three standard deviations
