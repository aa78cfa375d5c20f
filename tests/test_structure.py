"""The shape of the tree: file sizes, imports that point down, nothing that leaks."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "spyrelab"
SOURCES = sorted(PACKAGE.rglob("*.py"))

LAYERS = [
    ["errors", "arrival"],
    ["machine", "ktir"],
    ["emulator"],
    ["timing"],
    ["viz"],
    ["layout"],
    ["kernels"],
    ["opspec"],
    ["tiling"],
    ["device"],
    ["inductor"],
    ["triton"],
    ["helion"],
    ["attention"],
    ["models"],
    ["bench", "grade"],
    ["book"],
    ["commands"],
    ["cli"],
    ["__main__"],
]
"""Lowest first: a package imports from its own line's earlier lines, and from itself."""

UPWARD: set[tuple[str, str]] = {
    # A row of a measurement file names a kernel, and its prediction needs that kernel's program.
    ("spyrelab.timing.validation", "spyrelab.kernels"),
}
"""(module, imported module) pairs that may point up, each with its reason beside it."""

RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path) for path in SOURCES}


def targets(node: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """Yield the spyrelab modules that one import statement names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "spyrelab")
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = module.split(".")
            kept = parts[: len(parts) - node.level + is_package]
            base = ".".join([*kept, *([node.module] if node.module else [])])
        if base.split(".")[0] == "spyrelab":
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in MODULES else base


def all_imports(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: set[str] = set()
    for node in ast.walk(tree):
        found.update(targets(node, module_name(path), path.name == "__init__.py"))
    return found


def imports_at_start(path: Path) -> set[str]:
    """Return what loading the module loads: not in functions, not for the type checker alone."""
    found: set[str] = set()
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        found.update(targets(node, module_name(path), path.name == "__init__.py"))
        skip = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        skip = skip or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        pending.extend([] if skip else ast.iter_child_nodes(node))
    return found


def layer(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_every_subpackage_has_its_layer() -> None:
    here = {layer(module_name(path)) for path in SOURCES} - {""}
    assert here <= set(RANK), f"give {here - set(RANK)} a line in LAYERS"


def test_files_are_small() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {str(path.relative_to(ROOT)): n for path, n in lines.items() if n > 400} == {}
    short = sum(count < 150 for count in lines.values())
    assert short * 2 >= len(lines), f"only {short} of {len(lines)} files are under 150 lines"


def test_no_drawers_for_odds_and_ends() -> None:
    banned = {"util", "utils", "helper", "helpers", "common", "misc"}
    assert [path.name for path in SOURCES if banned & set(module_name(path).split("."))] == []


@pytest.mark.parametrize("path", SOURCES, ids=module_name)
def test_imports_point_down(path: Path) -> None:
    module = module_name(path)
    upward = []
    for target in sorted(all_imports(path)):
        mine, theirs = layer(module), layer(target)
        # spyrelab/__init__ stands below everything: its subpackages load when they are used.
        if theirs == "" or mine == theirs or (module, target) in UPWARD:
            continue
        if mine == "" or RANK[theirs] >= RANK[mine]:
            upward.append(target)
    assert upward == [], f"{module} may not import {upward}"


def test_no_circular_imports() -> None:
    graph = {module_name(path): imports_at_start(path) for path in SOURCES}
    state: dict[str, str] = {}

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert state.get(module) != "open", " -> ".join([*trail, module])
        if module in graph and module not in state:
            state[module] = "open"
            for target in sorted(graph[module]):
                visit(target, (*trail, module))
            state[module] = "done"

    for module in sorted(graph):
        visit(module, ())


def test_no_star_imports() -> None:
    starred = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("spyrelab", "tests", "exercises", "solutions", "book")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert starred == []


SOLUTION_IMPORT = re.compile(
    r"^\s*(?:from\s+solutions\b|import\s+solutions\b)|import_module\(.solu", re.M
)


def test_the_book_and_the_exercises_never_import_solutions() -> None:
    guilty = []
    for folder in ("book", "exercises"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix == ".py" and SOLUTION_IMPORT.search(path.read_text(encoding="utf-8")):
                guilty.append(path.name)
            if path.suffix == ".ipynb" and ".ipynb_checkpoints" not in path.parts:
                cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
                if any(SOLUTION_IMPORT.search("".join(cell["source"])) for cell in cells):
                    guilty.append(path.name)
    assert guilty == []


def project_files() -> list[Path]:
    """Return tracked files and those that would be added; without git, the files of each folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        folders = ("spyrelab", "tests", "exercises", "solutions", "book", ".ci")
        return [path for name in folders for path in (ROOT / name).rglob("*") if path.is_file()]
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_a_place_on_one_machine() -> None:
    roots = "|".join(("work", "root", "tmp", "home", "opt", "Users"))
    pattern = re.compile(rb"(?<![\w.>~*)/-])/(?:" + roots.encode() + rb")/[\w.-]+")
    guilty = {}
    for path in project_files():
        if path.suffix not in {".png", ".npz", ".pyc"}:
            found = pattern.findall(path.read_bytes())
            if found:
                guilty[str(path.relative_to(ROOT))] = found[:3]
    assert guilty == {}
