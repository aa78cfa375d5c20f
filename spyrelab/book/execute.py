"""Run a notebook from top to bottom in a process of its own."""

from __future__ import annotations

import copy
import os
import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from spyrelab.book.chapters import BookError
from spyrelab.book.notebook import Notebook

__all__ = ["Execution", "execute"]

CELL_SECONDS = 300
"""After this many seconds a cell counts as hung."""


@dataclass(frozen=True)
class Execution:
    """A notebook with the outputs of a run, and what the run took.

    Attributes
    ----------
    seconds : float
        CPU seconds of the notebook's process and its children: on a busy machine a budget in
        wall-clock time would fail for no fault of the chapter.
    """

    notebook: Notebook
    seconds: float


def execute(notebook: Notebook, folder: Path) -> Execution:
    """Run all cells in ``folder`` with this interpreter, one thread to each library.

    The tile VM is compiled beforehand, if it has to be: that is not the chapter's time.

    Raises
    ------
    BookError
        A cell fails; the message has its number, first line and error.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    _compile_emulator()
    fresh = copy.deepcopy(notebook)
    client: Any = NotebookClient(
        fresh,
        kernel_manager_class=_kernel_manager_class(),
        timeout=CELL_SECONDS,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    before = _children_seconds()
    try:
        # Kernels that an earlier run left compiled name the places of its cells, not of these.
        with TemporaryDirectory() as caches:
            places = {name: str(Path(caches) / name) for name in _CACHES}
            client.execute(env={**_environment(), **places})
    except CellExecutionError as error:
        raise BookError(f"{_failed_cell(fresh)}: {error.ename}: {error.evalue}") from None
    except (CellTimeoutError, DeadKernelError) as error:
        raise BookError(f"{_failed_cell(fresh)}: {str(error).splitlines()[0]}") from None
    for cell in fresh.cells:
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    return Execution(fresh, _children_seconds() - before)


def _joined(outputs: list[Any]) -> list[Any]:
    """Outputs with neighbours of one stream as one: how often it was flushed is chance.

    nbclient's own way also joins what stands before a picture with what stands behind it.
    """
    made: list[Any] = []
    for output in outputs:
        last = made[-1] if made else {}
        if output["output_type"] == "stream" and output["name"] == last.get("name"):
            last["text"] += output["text"]
        else:
            made.append(output)
    return made


_CACHES = ("TRITON_CACHE_DIR", "HELION_CACHE_DIR")


def _kernel_manager_class() -> Any:
    """Kernels of this interpreter, whatever kernels are registered on the machine."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class OwnInterpreter(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            # Below errors there are only remarks on sockets that never leave the machine.
            quiet = "--IPKernelApp.log_level=ERROR"
            launch = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", quiet]
            return KernelSpec(argv=launch, display_name="Python 3", language="python")

    return OwnInterpreter


def _environment() -> dict[str, str]:
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "NO_COLOR": "1"}
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    # Also where spyrelab is imported from by its place on sys.path, as in a test run.
    path = os.pathsep.join(dict.fromkeys([str(Path(__file__).parents[2]), *_inherited_path()]))
    return {**os.environ, **quiet, **dict.fromkeys(threads, "1"), "PYTHONPATH": path}


def _inherited_path() -> list[str]:
    return [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


def _compile_emulator() -> None:
    from spyrelab import emulator, ktir

    emulator.run(ktir.parse("module { func.func @warm() { return } }"), {})


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _failed_cell(notebook: Notebook) -> str:
    """The last cell that ran: nbclient stops at the first failure."""
    ran = [(n, c) for n, c in enumerate(notebook.cells, 1) if c.get("execution_count")]
    if not ran:
        return "before the first cell"
    number, cell = ran[-1]
    return f"cell {number} ({next(iter(cell.source.splitlines()), '')})"
