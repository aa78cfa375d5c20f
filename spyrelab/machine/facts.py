"""The hardware numbers with their origins, read from ``spyre.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files
from typing import Any

__all__ = ["FACTS", "Confidence", "Fact", "FactTable", "load_facts"]

Confidence = str
"""A: independent measurements agree. B: one good source. C: indirect, or sources disagree.
D: unverified."""


@dataclass(frozen=True)
class Fact:
    """One number (or short text) about the card, and how far to trust it.

    Attributes
    ----------
    name : str
        The key; a field of ``Machine`` where one has the same name.
    value : bool, int, float, str or mapping
        In ``unit``.
    unit : str
        Empty for pure numbers.
    source : str
        Document, or measurement ids such as ``CS-008``.
    confidence : str
        ``A`` to ``D``.
    note : str
        What it means where the name does not say, and what other sources claim.
    section : str
        The part of the card it belongs to.
    """

    name: str
    value: Any
    unit: str
    source: str
    confidence: Confidence
    note: str = ""
    section: str = ""

    def with_value(self, value: Any) -> Fact:
        """Return this fact with a changed value, and a source that says so."""
        return replace(self, value=value, source="set by Machine.replace", confidence="-", note="")


class FactTable(Mapping[str, Fact]):
    """Facts by name, in the order of the file; shows itself as a table in a notebook."""

    def __init__(self, facts: Mapping[str, Fact]) -> None:
        self._facts = dict(facts)

    def __getitem__(self, name: str) -> Fact:
        return self._facts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __repr__(self) -> str:
        return f"FactTable({len(self)} facts)"

    def _repr_html_(self) -> str:
        columns = ("section", "name", "value", "unit", "confidence", "source")
        head = "".join(f"<th>{column}</th>" for column in columns)
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{escape(str(getattr(fact, name)))}</td>" for name in columns)
            + "</tr>"
            for fact in self.values()
        )
        return f"<table><tr>{head}</tr>{rows}</table>"


def load_facts(text: str) -> FactTable:
    """Read facts from TOML text: ``[section.name]`` tables with value, unit, source, confidence."""
    facts: dict[str, Fact] = {}
    for section, entries in tomllib.loads(text).items():
        for name, entry in entries.items():
            facts[name] = Fact(name=name, section=section, **entry)
    return FactTable(facts)


FACTS = load_facts(files(__package__).joinpath("spyre.toml").read_text(encoding="utf-8"))
"""Every number of the shipped card."""
