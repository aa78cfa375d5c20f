"""Results as text, as JSON in the shape that autograders share, and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import Any

from spyrelab.grade.outcome import Status, TaskResult


def totals(results: Sequence[TaskResult]) -> tuple[int, int]:
    """Score and greatest possible score."""
    return sum(r.score for r in results), sum(r.max_score for r in results)


def shown_hints(result: TaskResult, hints: int = 1) -> list[str]:
    """The first ``hints`` hints of a task, with a word about those that are left.

    A task that was not started shows none unless asked for more than one.
    """
    if result.status is Status.NOT_STARTED and hints < 2:
        return []
    shown = [f"hint: {text}" for text in result.hints[:hints]]
    left = len(result.hints) - len(shown)
    if shown and left > 0:
        shown.append(f"({left} more: --hint {len(result.hints)})")
    return shown


def describe(result: TaskResult, hints: int = 1) -> str:
    """One task: a line, and below it what went wrong and what may help."""
    head = (
        f"{result.name}  {result.subject:<16} {result.status:<12} "
        f"{result.score:>2}/{result.max_score}"
    )
    details = [*result.output.splitlines(), *shown_hints(result, hints)]
    return "\n".join([head, *(f"    {line}" for line in details)])


def summary(results: Sequence[TaskResult]) -> str:
    """The last line."""
    score, most = totals(results)
    done = sum(result.status is Status.PASSED for result in results)
    return f"score {score}/{most}, {done} of {len(results)} tasks passed"


def as_json(results: Sequence[TaskResult], hints: int = 1) -> dict[str, Any]:
    """``{"score", "max_score", "tests": [{name, score, max_score, status, output}]}``."""
    score, most = totals(results)
    tests = [
        {
            "name": f"{result.name} {result.subject}",
            "score": result.score,
            "max_score": result.max_score,
            "status": str(result.status),
            "output": "\n".join([*result.output.splitlines(), *shown_hints(result, hints)]),
        }
        for result in results
    ]
    return {"score": score, "max_score": most, "tests": tests}


def as_junit(results: Sequence[TaskResult], name: str) -> str:
    """JUnit XML with one case per test: crashes are errors, tasks not started are skipped."""
    tests = [test for result in results for test in result.tests]
    suite = ElementTree.Element("testsuite", name=name, tests=str(len(tests)))
    tags = {Status.NOT_STARTED: "skipped", Status.CRASHED: "error", Status.TIMED_OUT: "error"}
    counts = {"skipped": 0, "error": 0, "failure": 0}
    for result in tests:
        place = f"{result.test.task}.{result.test.subject}"
        case = ElementTree.SubElement(suite, "testcase", classname=place, name=result.test.name)
        if result.status is not Status.PASSED:
            tag = tags.get(result.status, "failure")
            counts[tag] += 1
            element = ElementTree.SubElement(case, tag, message=str(result.status))
            element.text = _printable(result.output)
    suite.set("skipped", str(counts["skipped"]))
    suite.set("errors", str(counts["error"]))
    suite.set("failures", str(counts["failure"]))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)
