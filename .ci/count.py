"""Fail if fewer tests ran in an area than ``.ci/executed.toml`` demands: nothing vanishes silently.

Usage: python .ci/count.py junit.xml [--update]
"""

from __future__ import annotations

import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

FLOOR = Path(__file__).with_name("executed.toml")


def count_executed(report: str) -> Counter[str]:
    """Return how many tests ran, skips left out, by folder of ``tests`` (or file at its top)."""
    executed: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            executed[case.get("classname", "").split(".")[1]] += 1
    return executed


def main(arguments: list[str]) -> int:
    """Compare, or with ``--update`` write the floor: nine tenths of what ran."""
    executed = count_executed(arguments[0])
    if "--update" in arguments:
        lines = [f"{area} = {count * 9 // 10}\n" for area, count in sorted(executed.items())]
        FLOOR.write_text("".join(lines), encoding="utf-8")
        return 0
    floor = tomllib.loads(FLOOR.read_text(encoding="utf-8"))
    fewer = {area: least for area, least in floor.items() if executed[area] < least}
    for area, least in fewer.items():
        print(f"{area}: {executed[area]} tests ran, at least {least} are expected")
    print(f"{executed.total()} tests ran in {len(executed)} areas")
    return 1 if fewer or not executed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
