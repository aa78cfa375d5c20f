"""The table of ten blocks in chapter 5 is what the planners say.

``python tests/book/test_block_plans.py`` writes it again.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from spyrelab.bench.tiling import ceiling
from spyrelab.tiling import plan
from spyrelab.tiling.blocks import BLOCKS, block

ROOT = Path(__file__).parents[2]
FILE = ROOT / "book" / "data" / "block_plans.toml"
HIDDEN = 1024
ROWS = (512, 16)
CHECKED = [("norm_linear", 512), ("scores", 512), ("linear_residual_norm", 16)]
"""Blocks that are quick to plan."""


def row_of(name: str, rows: int) -> dict[str, Any]:
    """A line of the table."""
    made = block(name, rows, HIDDEN)
    alone, joint = (plan(made.ops, planner) for planner in ("per-op", "joint"))
    return {
        "block": name,
        "rows": rows,
        "per_op_us": round(alone.seconds * 1e6, 2),
        "joint_us": round(joint.seconds * 1e6, 2),
        "ceiling_us": round(ceiling(made) * 1e6, 2),
        "per_op_launches": len(alone.bundles),
        "joint_launches": len(joint.bundles),
        "stay": len(joint.resident),
    }


def text_of(lines: list[dict[str, Any]]) -> str:
    """The file."""
    parts = ["# Made by: python tests/book/test_block_plans.py\n"]
    for line in lines:
        items = (f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v}" for k, v in line.items())
        parts.append("\n[[plans]]\n" + "\n".join(items) + "\n")
    return "".join(parts)


@pytest.mark.parametrize(("name", "rows"), CHECKED)
def test_the_table_is_what_the_planners_say(name: str, rows: int) -> None:
    lines = tomllib.loads(FILE.read_text(encoding="utf-8"))["plans"]
    found = next(line for line in lines if (line["block"], line["rows"]) == (name, rows))
    assert found == row_of(name, rows), "run: python tests/book/test_block_plans.py"


def test_all_blocks_are_there() -> None:
    lines = tomllib.loads(FILE.read_text(encoding="utf-8"))["plans"]
    assert [(line["block"], line["rows"]) for line in lines] == [
        (name, rows) for rows in ROWS for name in BLOCKS
    ]
    assert all(line["joint_us"] <= line["per_op_us"] for line in lines)


if __name__ == "__main__":
    table = [row_of(name, rows) for rows in ROWS for name in BLOCKS]
    FILE.write_text(text_of(table), encoding="utf-8")
