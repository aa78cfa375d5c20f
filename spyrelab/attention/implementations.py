"""The kernels by name, and how long their source is; neither Triton nor Helion is loaded."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import torch

from spyrelab.attention.batch import PagedBatch
from spyrelab.attention.errors import AttentionError

__all__ = ["IMPLEMENTATIONS", "Attend", "Implementation", "implementation"]


_PACKAGE = "spyrelab.attention"
_SHARED = "triton_kernels.online"


class Attend(Protocol):
    """A launch of attention; ``config`` is of the kernel's own kind, by default the heuristic's."""

    def __call__(
        self, batch: PagedBatch, out: torch.Tensor | None = None, config: Any = None
    ) -> torch.Tensor: ...


@dataclass(frozen=True)
class Implementation:
    """A way to compute paged attention.

    Attributes
    ----------
    name : str
    language : str
        ``triton`` or ``helion``: the package that it needs.
    module : str
        Where ``attend`` is, below this package.
    source : str
        Module that holds its kernels.
    """

    name: str
    language: str
    module: str
    source: str

    def load(self) -> Attend:
        """Import the kernel and what it is written in."""
        found: Attend = import_module(f"{_PACKAGE}.{self.module}").attend
        return found

    def source_lines(self) -> int:
        """Lines of its device functions, without comments, docstrings and blank lines.

        What they import from the kernels' own package counts, too.
        """
        tree = ast.parse(_path(self.source).read_text(encoding="utf-8"))
        kernels = _kernels(tree)
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == f"{_PACKAGE}.{_SHARED}":
                names = {alias.name for alias in node.names}
                shared = _kernels(ast.parse(_path(_SHARED).read_text(encoding="utf-8")))
                kernels += [kernel for kernel in shared if kernel.name in names]
        return sum(len(_code(kernel).splitlines()) for kernel in kernels)


def _triton(name: str, module: str, kernels: str | None = None) -> Implementation:
    source = f"triton_kernels.{kernels or module}"
    return Implementation(f"triton-{name}", "triton", f"triton_kernels.{module}", source)


def _helion(name: str) -> Implementation:
    module = f"helion_kernels.{name}"
    return Implementation(f"helion-{name}", "helion", module, module)


IMPLEMENTATIONS = (
    _triton("pointer", "pointer"),
    _triton("segmented", "segmented"),
    _triton("spyre", "spyre_launch", "spyre"),
    _helion("first"),
    _helion("blocks"),
    _helion("split"),
)


def implementation(name: str) -> Implementation:
    """The implementation called ``name``.

    Raises
    ------
    AttentionError
        There is none.
    """
    for found in IMPLEMENTATIONS:
        if found.name == name:
            return found
    raise AttentionError(f"'{name}' is none of {', '.join(i.name for i in IMPLEMENTATIONS)}")


def _path(module: str) -> Path:
    return Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py")


def _kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions that ``jit`` or ``kernel`` decorates."""
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_kernel(node)]


def _is_kernel(node: ast.FunctionDef) -> bool:
    words = {word for d in node.decorator_list for word in ast.unparse(d).split("(")[0].split(".")}
    return bool(words & {"jit", "kernel"})


def _code(node: ast.FunctionDef) -> str:
    """The function as Python would print it: one statement a line, whatever its format."""
    if ast.get_docstring(node) is not None:
        node.body = node.body[1:]
    return "\n".join(line for line in ast.unparse(node).splitlines() if line.strip())
