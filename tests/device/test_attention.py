"""scaled_dot_product_attention on the card: one operation, as torch defines it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attend

FORWARD = "aten::_scaled_dot_product_fused_attention_overrideable"
BACKWARD = f"{FORWARD}_backward"


def randoms(*sizes: tuple[int, ...]) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(size) for size in sizes]


def check(
    compute: Callable[..., torch.Tensor], hosts: list[torch.Tensor], tolerance: float = 2e-5
) -> None:
    """Results and gradients are those of the CPU, to a few roundings of f32 sums."""
    wide = [h.clone().requires_grad_(h.is_floating_point()) for h in hosts]
    cards = [h.to("spyre").requires_grad_(h.is_floating_point()) for h in hosts]
    with sdpa_kernel(SDPBackend.MATH):
        wanted = compute(*wide)
    with torch.spyre.fallback("error"):
        found = compute(*cards)
        torch.testing.assert_close(found.cpu(), wanted, rtol=tolerance, atol=tolerance)
        seed = torch.randn(wanted.shape)
        wanted.backward(seed)
        found.backward(seed.to("spyre"))
    for card, host in zip(cards, wide, strict=True):
        if host.grad is not None:
            assert card.grad is not None
            pair = card.grad.cpu(), host.grad
            torch.testing.assert_close(*pair, rtol=4 * tolerance, atol=4 * tolerance)


def natives() -> dict[str, int]:
    return {name: count["native"] for name, count in torch.spyre.op_counts().items()}


GROUPED = ((2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6))


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}], ids=str)
def test_grouped_heads(options: dict[str, Any]) -> None:
    check(lambda q, k, v: attend(q, k, v, enable_gqa=True, **options), randoms(*GROUPED))
    assert natives()[FORWARD] == natives()[BACKWARD] == 1
    assert "aten::bmm" not in natives()


@pytest.mark.parametrize(
    "size", [(5, 7), (1, 7), (2, 1, 5, 7), (2, 4, 5, 7), (1, 1, 1, 7), (4, 1, 1)]
)
def test_masks_that_are_added_have_gradients(size: tuple[int, ...]) -> None:
    q, k, v, mask = randoms(*GROUPED, size)
    check(lambda q, k, v, m: attend(q, k, v, m, enable_gqa=True), [q, k, v, mask])
    assert natives()[BACKWARD] == 1


def test_masks_of_truths_may_hide_every_key() -> None:
    mask = torch.rand(5, 7, generator=torch.Generator().manual_seed(0)) > 0.4
    mask[2] = False
    check(lambda q, k, v, m: attend(q, k, v, m, enable_gqa=True), [*randoms(*GROUPED), mask])


def test_an_expanded_mask() -> None:
    mask = torch.randn(2, 1, 1, 7)
    card = [t.to("spyre") for t in (*randoms(*GROUPED), mask)]
    wide = card[3].expand(2, 4, 5, 7)
    found = attend(*card[:3], wide, enable_gqa=True)
    wanted = attend(*randoms(*GROUPED), mask.expand(2, 4, 5, 7), enable_gqa=True)
    torch.testing.assert_close(found.cpu(), wanted, rtol=2e-5, atol=2e-5)


def test_three_axes() -> None:
    sizes = ((3, 5, 8), (3, 7, 8), (3, 7, 8))
    check(attend, randoms(*sizes))
    check(attend, [*randoms(*sizes), torch.randn(3, 5, 7)])
    assert natives()[FORWARD] == 2


@pytest.mark.parametrize("sizes", [((5, 8), (7, 8), (7, 8)), ((1, 2, 3, 5, 8), (1, 2, 3, 7, 8))])
def test_other_ranks_are_decomposed(sizes: tuple[tuple[int, ...], ...]) -> None:
    q, k = randoms(*sizes[:2])
    check(lambda q, k: attend(q, k, k), [q, k])
    assert FORWARD not in natives()


def test_heads_of_a_projection_keep_their_place() -> None:
    """The result lies as the queries do, so that the heads join without a copy."""
    q, k, v = (t.to("spyre").transpose(1, 2) for t in randoms(*[(2, 5, 4, 64)] * 3))
    torch.spyre.reset_op_counts()
    found = attend(q, k, v)
    assert found.stride() == q.stride()
    assert set(natives()) <= {FORWARD, "aten::empty.memory_format"}
    wanted = attend(q.cpu(), k.cpu(), v.cpu())
    torch.testing.assert_close(found.cpu(), wanted, rtol=2e-5, atol=2e-5)


def test_half_precision() -> None:
    hosts = [t.half() for t in randoms((1, 2, 65, 64), (1, 2, 129, 64), (1, 2, 129, 64))]
    found = attend(*(t.to("spyre") for t in hosts)).cpu()
    wanted = attend(*(t.float() for t in hosts))
    # Two roundings of f16: of the weights and of the result.
    torch.testing.assert_close(found.float(), wanted, rtol=2e-3, atol=2e-3)


def test_the_other_results() -> None:
    q, k, v = (t.to("spyre") for t in randoms((2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 8)))
    op = torch.ops.aten._scaled_dot_product_fused_attention_overrideable
    out, lse, first, second, m, n, seed, offset, debug = op(q, k, v)
    scores = q.cpu() @ k.cpu().mT / 8**0.5
    torch.testing.assert_close(lse.cpu(), scores.logsumexp(-1), rtol=1e-5, atol=1e-5)
    assert (m, n, first, second, debug) == (5, 7, None, None, None)
    assert out.shape == (2, 4, 5, 8)
    assert seed.dtype == offset.dtype == torch.int64


def test_the_choice_of_a_backend() -> None:
    q = torch.randn(1, 2, 5, 8).to("spyre")
    choose = torch._fused_sdp_choice
    assert choose(q, q, q) == SDPBackend.OVERRIDEABLE.value
    assert choose(q, q, q, dropout_p=0.5) == SDPBackend.MATH.value
    with sdpa_kernel(SDPBackend.MATH):
        torch.spyre.reset_op_counts()
        attend(q, q, q)
        assert FORWARD not in natives()
    with sdpa_kernel(SDPBackend.OVERRIDEABLE):
        attend(q, q, q)
        assert natives()[FORWARD] == 1
        with pytest.raises(RuntimeError, match="No available kernel"):
            attend(q, q, q, dropout_p=0.5)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION), pytest.raises(RuntimeError, match="No available"):
        attend(q, q, q)


def test_dropout_is_decomposed() -> None:
    q = torch.randn(1, 2, 5, 8).to("spyre")
    assert attend(q, q, q, dropout_p=0.5).shape == q.shape
    assert FORWARD not in natives()


@pytest.mark.parametrize("sizes", [((0, 2, 5, 8), (0, 2, 7, 8)), ((1, 2, 0, 8), (1, 2, 7, 8))])
def test_nothing(sizes: tuple[tuple[int, ...], ...]) -> None:
    q, k = (torch.randn(size).to("spyre") for size in sizes)
    assert attend(q, k, k).shape == q.shape


def test_mistakes_are_those_of_torch() -> None:
    q = torch.randn(1, 2, 5, 8).to("spyre")
    with pytest.raises(RuntimeError, match="same dtype"):
        attend(q, q.half(), q)
    with pytest.raises(RuntimeError, match="same device"):
        attend(q, q.cpu(), q)
    with pytest.raises(RuntimeError, match="should not be set when is_causal"):
        attend(q, q, q, torch.ones(5, 5).to("spyre"), is_causal=True)
    with pytest.raises(RuntimeError):
        attend(q, q[:, :, :, :4], q)
    with pytest.raises(RuntimeError):
        attend(torch.randn(1, 4, 5, 8).to("spyre"), q, q)


def test_without_autograd() -> None:
    q = torch.randn(1, 2, 5, 8).to("spyre")
    with torch.inference_mode():
        attend(q, q, q)
    with torch.no_grad():
        attend(q, q, q)
    assert natives()[FORWARD] == 2


def test_autocast() -> None:
    q = torch.randn(1, 2, 5, 8).to("spyre")
    with torch.autocast("spyre", torch.float16):
        assert attend(q, q, q).dtype == torch.float16
    assert natives()[FORWARD] == 1


def test_multihead_attention() -> None:
    torch.manual_seed(0)
    host = torch.nn.MultiheadAttention(16, 2, batch_first=True)
    card = torch.nn.MultiheadAttention(16, 2, batch_first=True)
    card.load_state_dict(host.state_dict())
    card.to("spyre")
    x = torch.randn(2, 5, 16)
    padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
    for options in ({}, {"key_padding_mask": padding}):
        wanted = host(x, x, x, need_weights=False, **options)[0]
        moved = {name: value.to("spyre") for name, value in options.items()}
        found = card(*[x.to("spyre")] * 3, need_weights=False, **moved)[0]
        torch.testing.assert_close(found.cpu(), wanted, rtol=2e-5, atol=2e-5)
    found.sum().backward()
    wanted.sum().backward()
    for mine, other in zip(card.parameters(), host.parameters(), strict=True):
        assert mine.grad is not None
        torch.testing.assert_close(mine.grad.cpu(), other.grad, rtol=1e-4, atol=1e-4)
    assert natives()[FORWARD] == 2


@pytest.mark.parametrize("wants_gradient", [False, True])
def test_a_compiled_function_keeps_it_whole(wants_gradient: bool) -> None:
    seen: list[str] = []

    def note(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        seen.extend(str(node.target) for node in graph.graph.nodes)
        return graph.forward

    from torch._dynamo.backends.common import aot_autograd

    tensors = [t.to("spyre").requires_grad_(wants_gradient) for t in randoms(*GROUPED)]

    def compute(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return attend(q, k, v, is_causal=True, enable_gqa=True) * 2

    torch._dynamo.reset()
    found = torch.compile(compute, backend=aot_autograd(fw_compiler=note, bw_compiler=note))(
        *tensors
    )
    wanted = compute(*tensors)
    assert torch.equal(found.cpu(), wanted.cpu())
    assert any("fused_attention_overrideable.default" in name for name in seen)
    assert not any("softmax" in name for name in seen)
    if wants_gradient:
        found.sum().backward()
        assert any("overrideable_backward" in name for name in seen)


def test_shapes_without_memory() -> None:
    from torch._subclasses import FakeTensorMode

    torch.randn(1).to("spyre")
    with FakeTensorMode():
        q, k, v = (torch.empty(size, device="spyre", requires_grad=True) for size in GROUPED)
        found = attend(q, k, v, enable_gqa=True)
        assert found.shape == (2, 4, 5, 6)
        assert found.device.type == "spyre"
        found.sum().backward()
        assert k.grad is not None
        assert k.grad.shape == k.shape
