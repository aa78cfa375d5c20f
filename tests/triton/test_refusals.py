"""Bad input gets typed errors that say what, where and what to do."""

from __future__ import annotations

import pytest
import torch
import triton

from spyrelab.device.errors import DeviceError
from spyrelab.errors import SpyreLabError
from spyrelab.triton.binding import Leaf, flatten, number_of
from spyrelab.triton.errors import (
    ArgumentError,
    ArgumentTypeError,
    GridError,
    TritonVersionError,
    UnsupportedKernelError,
    WrongDeviceError,
)
from tests.triton import kernels


@pytest.fixture
def x():
    return torch.randn(64, device="spyre")


def compiled(x):
    return kernels.add[(1,)](x, x, torch.empty_like(x), 50, BLOCK=64)


@pytest.mark.parametrize("grid", [(0,), (4, 0), (-1,), (1 << 20, 1 << 20), (1.5,)])
def test_grids(x, grid):
    out = torch.zeros_like(x)
    with pytest.raises(GridError, match="kernel 'add' is launched on the grid"):
        kernels.add[grid](x, x, out, 50, BLOCK=64)
    assert out.cpu().count_nonzero() == 0


def test_tensors_on_another_device(x):
    with pytest.raises(WrongDeviceError, match=r"'y' is a tensor on 'cpu'.*y.to\('spyre'\)") as got:
        kernels.add[(1,)](x, x.cpu(), x, 50, BLOCK=64)
    assert isinstance(got.value, DeviceError)


def test_a_type_that_the_kernel_was_not_compiled_for(x):
    kernel = compiled(x)
    with pytest.raises(ArgumentTypeError, match=r"'x' is a tensor of torch.float16.*for fp32"):
        kernel[(1, 1, 1)](x.half(), x, x, 50, 64)
    with pytest.raises(ArgumentTypeError, match=r"'y' is 3, but .* \*fp32"):
        kernel[(1, 1, 1)](x, 3, x, 50, 64)
    with pytest.raises(ArgumentTypeError, match="'n' is 'many'; the kernel takes a whole number"):
        kernel[(1, 1, 1)](x, x, x, "many", 64)
    with pytest.raises(ArgumentError, match="'n' = 1099511627776 does not fit i32"):
        kernel[(1, 1, 1)](x, x, x, 1 << 40, 64)


def test_a_negated_view(x):
    with pytest.raises(ArgumentError, match="resolve_neg"):
        kernels.add[(1,)](torch._neg_view(x), x, x, 50, BLOCK=64)


def test_descriptors_that_pad_with_nan(x):
    from triton.tools.tensor_descriptor import TensorDescriptor

    whole = torch.randn(32, 32, device="spyre")
    source = TensorDescriptor(whole, [32, 32], [32, 1], [16, 32], padding="nan")
    with pytest.raises(ArgumentError, match="'source' is a descriptor that pads with nan"):
        kernels.double_rows[(2,)](source, TensorDescriptor.from_tensor(whole, [16, 32]), BLOCK=16)


def test_a_library_function_that_the_card_lacks(x):
    with pytest.raises(triton.CompilationError) as raised:
        kernels.toward_zero[(1,)](x)
    cause = raised.value.__cause__
    assert isinstance(cause, UnsupportedKernelError) and "use add_rn" in str(cause)
    assert "add_rz" in str(raised.value)  # with the line of the kernel


def test_unsigned_numbers_go_by_their_bits():
    leaf = Leaf("n", (0,), "u32")
    assert number_of(leaf, 0xFFFFFFFF) == -1 and number_of(leaf, 7) == 7
    with pytest.raises(ArgumentError, match="holds 0 to 4294967295"):
        number_of(leaf, -1)
    assert number_of(Leaf("f", (0,), "i1"), True) == 1


def test_signatures_are_expanded_as_triton_does():
    leaves = flatten({"x": "*fp32", "d": "tensordesc<fp16[16, 64]>", "B": "constexpr",
                      "pair": ("i32", "constexpr", ("fp32",))})  # fmt: skip
    names = [leaf.name for leaf in leaves]
    assert names == [
        *("x", "d", "d.shape.0", "d.shape.1", "d.stride.0", "d.stride.1"),
        *("pair.0", "pair.2.0"),
    ]
    assert leaves[-1].find((0, 0, 0, (4, None, (2.5,)))) == 2.5


def test_versions_that_were_never_tried(monkeypatch):
    from spyrelab.triton import internals

    internals.check()
    for version in ("3.7.0", "3.10.0", "4.0.0", "2.1"):
        monkeypatch.setattr(triton, "__version__", version)
        with pytest.raises(TritonVersionError, match=r"triton .* is installed.*3.7.1 to 3.9"):
            internals.check()
    for version in ("3.7.1", "3.8.2", "3.9.4", "3.9.0+git123"):
        monkeypatch.setattr(triton, "__version__", version)
        internals.check()


def test_a_name_that_moved(monkeypatch):
    from spyrelab.triton import internals

    needed = {"triton.runtime.jit.NoSuchThing": "kernels"}
    monkeypatch.setattr(internals, "_NEEDED", needed)
    with pytest.raises(TritonVersionError, match=r"lacks triton.runtime.jit.NoSuchThing \(kernels"):
        internals.check()


def test_a_module_that_prints_no_generic_form():
    from spyrelab.triton import internals

    class Stubborn:
        context = __import__("triton._C.libtriton", fromlist=["ir"]).ir.context()

        def set_attr(self, name, value):
            pass

        def __str__(self):
            return "module { tt.func @k() }"

    with pytest.raises(TritonVersionError, match="generic form"):
        internals.generic_text(Stubborn())


def test_a_binary_of_something_else():
    from spyrelab.triton.kernel import load

    with pytest.raises(SpyreLabError, match="clear Triton's cache"):
        load(b"\x7fELF")
