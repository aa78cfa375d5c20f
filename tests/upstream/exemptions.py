"""What the ledger does not ask of the device, and where its tolerance is wider: with reasons."""

from __future__ import annotations

NEEDS_CUDA = frozenset(
    {
        "jiterator_2inputs_2outputs",
        "jiterator_4inputs_with_extra_args",
        "jiterator_binary",
        "jiterator_binary_return_by_ref",
        "jiterator_unary",
    }
)
"""Operators that compile CUDA source."""

NEEDS_SPARSE = frozenset(
    {
        ("sparse.mm.reduce", "float16"),
        ("sparse.mm.reduce", "float32"),
        ("sparse.sampled_addmm", "float16"),
        ("sparse.sampled_addmm", "float32"),
        ("to_sparse", "float16"),
        ("to_sparse", "float32"),
        ("torch.ops.aten._safe_softmax.sparse", "float32"),
    }
)
"""Operators whose operands or results are sparse tensors."""

UNINITIALISED = frozenset(
    {
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
    }
)
"""Results hold whatever memory held: only shape and type are compared."""

HOST_OPERANDS = frozenset({"tensor_split"})
"""Operators whose whole-number operands have to lie on the host, on CUDA too."""

SORTS = frozenset({"argsort", "msort", "sort"})
"""Operators whose order of equal elements is anybody's: ours keeps it, so the CPU has to."""

DEFAULT = {"float16": (2e-3, 1e-3), "float32": (1.3e-5, 1e-5)}
"""Relative and absolute tolerance: two units in the last place of a half, and what torch's own
tests allow for float32."""

WIDER: dict[tuple[str, str], tuple[float, float, str]] = {
    ("cov", "float32"): (
        2e-4, 1e-4,
        "correction 2 divides by a difference of nearly equal sums of weights: both sides cancel",
    ),
    **{
        (f"{name}_n_{order}", "float32"): (
            5e-5, 1e-5,
            "near its poles the CPU takes the sine of pi x without reducing x first and is less"
            " exact than the device",
        )
        for name in ("polygamma.polygamma", "special.polygamma.special_polygamma")
        for order in range(5)
    },
    ("nn.functional.conv_transpose3d", "float32"): (
        3e-5, 1e-4,
        "sums of a hundred products in another order: CPU and device are equally far from float64",
    ),
    ("_upsample_bilinear2d_aa", "float32"): (
        1.3e-5, 3e-5,
        "the CPU rounds positions before it takes weights from them, the device's come from"
        " float64",
    ),
    ("nn.functional.scaled_dot_product_attention", "float32"): (
        1.3e-5, 3e-5, "two products and a softmax, which the CPU fuses and sums in another order",
    ),
    ("nn.functional.multi_head_attention_forward", "float32"): (
        6e-5, 6e-5,
        "scores of several hundred stand in an exponent, so their last bits change the weights by"
        " 5e-5; the absolute tolerance is a share of the largest element",
    ),
    ("special.hermite_polynomial_he", "float32"): (
        1e-4, 1e-4, "the recurrence cancels near a zero, on the CPU as on the device",
    ),
}  # fmt: skip
"""(operator, dtype): relative, absolute, and the reason."""

SCALED = frozenset({"nn.functional.multi_head_attention_forward"})
"""Operators whose absolute tolerance is a share of a result's largest element."""

WIDER_BACKWARD: dict[tuple[str, str], tuple[float, float, str]] = {
    ("logcumsumexp", "float32"): (
        4e-3, 4e-3,
        "the gradient takes logarithms of differences of exponentials: CPU and device are both"
        " some 0.002 away from float64",
    ),
    ("nn.functional.scaled_dot_product_attention", "float16"): (
        8e-3, 2.5e-2,
        "as in any fused kernel, what is taken from the gradient of the weights comes from the"
        " result, which has been rounded to halves by then; operands here are up to 9 in size",
    ),
}  # fmt: skip
"""The same for gradients."""

REASONS: dict[str, str] = {}
"""Why a case of the ledger is an expected failure, by its text."""


def tolerance_of(name: str, dtype: str, backward: bool) -> tuple[float, float]:
    """Relative and absolute tolerance of a case; gradients pass through several roundings."""
    if backward and (name, dtype) in WIDER_BACKWARD:
        return WIDER_BACKWARD[name, dtype][:2]
    relative, absolute = WIDER.get((name, dtype), (*DEFAULT[dtype], ""))[:2]
    return (4 * relative, 4 * absolute) if backward else (relative, absolute)
