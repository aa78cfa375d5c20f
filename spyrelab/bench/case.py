"""What is measured: a case is a kernel at one shape, a chapter is a list of cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spyrelab.kernels import Kernel

if TYPE_CHECKING:
    import torch

__all__ = ["Case", "Chapter", "TorchProgram", "no_torch"]

TorchProgram = Callable[[Mapping[str, "torch.Tensor"], Mapping[str, Any]], Callable[[], object]]
"""Takes float32 tensors by argument name and the parameters; gives a call that fills ``out``."""


@dataclass(frozen=True)
class Case:
    """A kernel at one shape, with the same computation in native PyTorch.

    Attributes
    ----------
    kernel : Kernel
        Builder, specification and argument generator.
    shape : str
        Sizes as they appear in the case's name.
    parameters : mapping
        What `kernel` takes.
    torch_program : callable
        Makes the call that computes the same with PyTorch, into preallocated tensors.
    tolerance, reason : float, str
        Largest error accepted, relative to the value and to the root mean square of all
        values, and why.
    reduced : Case, optional
        The same tiles on less data, for the reference interpreter.
    slow : bool
        The reference runs `reduced` always, not only in a quick bench.
    label : str, optional
        First part of the name where it is not the kernel's.
    implementations : tuple of str, optional
        Those of the chapter that can run this case; default all.
    detail : bool
        Left out of a quick bench, unless asked for by name: another case sums it up.
    """

    kernel: Kernel
    shape: str
    parameters: Mapping[str, Any]
    torch_program: TorchProgram
    tolerance: float
    reason: str
    reduced: Case | None = None
    slow: bool = False
    label: str | None = None
    implementations: tuple[str, ...] | None = None
    detail: bool = False

    @property
    def name(self) -> str:
        """Such as ``softmax-4096x1024``."""
        return f"{self.label or self.kernel.name}-{self.shape}"


@dataclass(frozen=True)
class Chapter:
    """The cases of one chapter and the implementations that run them, baseline first."""

    name: str
    title: str
    cases: tuple[Case, ...]
    implementations: tuple[str, ...]


def no_torch(_: Mapping[str, torch.Tensor], __: Mapping[str, Any]) -> Callable[[], object]:
    """The `TorchProgram` of a case whose implementations are compared with each other alone."""
    raise NotImplementedError("this case has no PyTorch baseline")
