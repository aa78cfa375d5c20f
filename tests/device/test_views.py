"""Views alias their base, in both directions, whatever its layout."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transpose": lambda x: x.transpose(0, 2),
    "permute": lambda x: x.permute(1, 2, 0),
    "select": lambda x: x[2],
    "select stick": lambda x: x[..., 65],
    "slice": lambda x: x[1:4],
    "slice sticks": lambda x: x[..., 64:128],
    "slice inside a stick": lambda x: x[..., 3:90],
    "step": lambda x: x[:, ::2, ::3],
    "view": lambda x: x.view(5 * 7, 130),
    "flatten": lambda x: x.flatten(),
    "split the last": lambda x: x.view(5, 7, 10, 13),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "diagonal": lambda x: x.diagonal(0, 0, 1),
    "unfold": lambda x: x.unfold(2, 10, 10),
    "chunk": lambda x: x.chunk(3, 2)[1],
    "narrow": lambda x: x.narrow(2, 60, 10),
    "reshape": lambda x: x.reshape(7, 5, 130),
    "as_strided": lambda x: x.as_strided((4, 9), (200, 3), 17),
    "detach": lambda x: x.detach(),
    "movedim": lambda x: x.movedim(2, 0)[::5],
}
DTYPES = [torch.float32, torch.float16, torch.int64]


@pytest.fixture(params=DTYPES, ids=str)
def base(request: pytest.FixtureRequest) -> torch.Tensor:
    return torch.arange(5 * 7 * 130).reshape(5, 7, 130).to(request.param)


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_reads_its_base(name: str, base: torch.Tensor) -> None:
    x = base.to("spyre")
    view, want = VIEWS[name](x), VIEWS[name](base)
    assert view.shape == want.shape
    assert view.stride() == want.stride()
    assert view.storage_offset() == want.storage_offset()
    assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert view.cpu().equal(want)


@pytest.mark.parametrize("name", VIEWS)
def test_writing_a_view_writes_its_base_and_nothing_else(name: str, base: torch.Tensor) -> None:
    x, y = base.to("spyre"), base.clone()
    values = -torch.ones(VIEWS[name](y).shape, dtype=base.dtype)
    VIEWS[name](x).copy_(values)
    VIEWS[name](y).copy_(values)
    assert x.cpu().equal(y)
    VIEWS[name](x).fill_(3)
    VIEWS[name](y).fill_(3)
    assert x.cpu().equal(y)


@pytest.mark.parametrize("name", VIEWS)
def test_computing_in_place_on_a_view(name: str, base: torch.Tensor) -> None:
    x, y = base.to("spyre"), base.clone()
    VIEWS[name](x).add_(1)
    VIEWS[name](y).add_(1)
    assert x.cpu().equal(y)


def test_views_know_their_base() -> None:
    x = torch.zeros(4, 6, device="spyre", requires_grad=True)
    view = x.view(24)[3:]
    assert view._is_view()
    assert view._base is x
    assert "Slice" in type(view.grad_fn).__name__


def test_a_view_to_another_item_size_is_refused_on_tiled_memory() -> None:
    x = torch.zeros(4, 64, device="spyre", dtype=torch.float16)
    with pytest.raises(RuntimeError, match="tiled"):
        x.view(torch.int32)
    with pytest.raises(RuntimeError, match="tiled"):
        torch.empty(0, dtype=torch.uint8, device="spyre").set_(x.untyped_storage())


def test_a_view_to_another_item_size_of_linear_memory() -> None:
    x = torch.arange(12, dtype=torch.int64)
    assert x.to("spyre").view(torch.int32).cpu().equal(x.view(torch.int32))
    assert x.to("spyre").view(torch.uint8)[3:9].cpu().equal(x.view(torch.uint8)[3:9])


def test_a_view_to_another_type_of_the_same_size() -> None:
    x = torch.randn(3, 70)
    assert x.to("spyre").view(torch.int32).cpu().equal(x.view(torch.int32))
    h = x.half()
    assert (
        h.to("spyre")
        .t()
        .view(torch.bfloat16)
        .view(torch.int16)
        .cpu()
        .equal(h.t().view(torch.bfloat16).view(torch.int16))
    )


def test_complex_views_share_memory() -> None:
    x = torch.randn(3, 5, dtype=torch.complex64)
    y = x.to("spyre")
    torch.view_as_real(y)[..., 1] = 0
    assert y.cpu().equal(torch.complex(x.real, torch.zeros(3, 5)))
    pairs = torch.randn(4, 2)
    z = pairs.to("spyre")
    torch.view_as_complex(z).mul_(2)
    assert z.cpu().equal(pairs * 2)


@pytest.mark.parametrize("how", ["conj", "conj transposed", "imag of conj", "resolved"])
def test_conjugated_and_negated_views(how: str) -> None:
    run = {
        "conj": lambda x: x.conj(),
        "conj transposed": lambda x: x.conj().t(),
        "imag of conj": lambda x: x.conj().imag,
        "resolved": lambda x: x.conj().clone() + x.conj().imag.resolve_neg(),
    }[how]
    x = torch.randn(3, 4, dtype=torch.complex64)
    assert run(x.to("spyre")).cpu().equal(run(x))


def test_copying_into_a_conjugated_view() -> None:
    x, new = torch.randn(3, 4, dtype=torch.complex64), torch.randn(3, 4, dtype=torch.complex64)
    y = x.to("spyre")
    y.conj().copy_(new)
    x.conj().copy_(new)
    assert y.cpu().equal(x)


def test_a_view_beyond_the_storage_is_refused_though_padding_lies_there() -> None:
    x = torch.zeros(3, 5, device="spyre", dtype=torch.float16)
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.as_strided((16,), (1,))


def test_expanded_and_overlapping_views() -> None:
    x = torch.randn(1, 70)
    y = x.to("spyre")
    assert y.expand(3, 70).cpu().equal(x.expand(3, 70))
    assert y.as_strided((4, 9), (2, 3)).cpu().equal(x.as_strided((4, 9), (2, 3)))
    with pytest.raises(RuntimeError, match="single memory location"):
        y.expand(3, 70).add_(1)


@pytest.mark.parametrize("size", [(3, 4), (0, 4), (20,), (6, 8)])
def test_resize(size: tuple[int, ...]) -> None:
    x, y = torch.arange(20.0).reshape(4, 5), torch.arange(20.0).reshape(4, 5).to("spyre")
    x.resize_(size)
    y.resize_(size)
    assert y.shape == x.shape
    kept = min(20, x.numel())
    assert y.cpu().flatten()[:kept].equal(x.flatten()[:kept])
