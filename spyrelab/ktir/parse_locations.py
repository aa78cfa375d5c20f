"""Reading ``loc(..)``.

Printers put location aliases behind the module, so a location that names one is kept
aside and settled at the end of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from spyrelab.ktir.ir import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    UnknownLocation,
)
from spyrelab.ktir.parse_attributes import AttributeParser

MAX_PARTS = 10_000
"""Parts of one location: aliases that name aliases could stand for any number."""


@dataclass(frozen=True)
class _Reference:
    """A location alias that is not settled yet."""

    name: str
    at: int


@dataclass(frozen=True)
class _Written:
    """A compound location whose parts may hold references."""

    kind: str
    parts: tuple[_Raw, ...]
    name: str = ""


_Raw = Location | _Reference | _Written
_Sized = tuple[Location, int]


class Located(Protocol):
    """Anything that has a location: operations, functions, values."""

    location: Location | None


class LocationParser(AttributeParser):
    """Adds locations to the token stream."""

    def __init__(self, text: str) -> None:
        self._pending: list[tuple[Located, _Raw]] = []
        self._locations: dict[str, _Raw] = {}
        self._settled: dict[str, _Sized] = {}
        super().__init__(text)

    def optional_location(self, target: Located | None) -> None:
        """``loc(..)`` if there is one, for ``target``."""
        if self.token != "loc":
            return
        raw = self._location()
        if target is not None:
            self._pending.append((target, raw))

    def location_alias(self, name: str) -> None:
        """The right side of ``#name = loc(..)``."""
        if name in self._locations:
            self.fail(f"{name} is defined twice")
        self._locations[name] = self._location()

    def settle_locations(self) -> None:
        """Replace every alias by its location; call once at the end of the text."""
        for target, raw in self._pending:
            target.location, _ = self._settle(raw, 0)

    def _location(self) -> _Raw:
        self.expect("loc")
        self.expect("(")
        raw = self._inner()
        self.expect(")")
        return raw

    def _inner(self) -> _Raw:
        self.enter()
        raw = self._any_location()
        self.leave()
        return raw

    def _any_location(self) -> _Raw:
        if self.kind == "hash":
            reference = _Reference(self.token, self.start)
            self.advance()
            return reference
        if self.kind == "string":
            return self._string_location()
        match self.token:
            case "unknown":
                self.advance()
                return UnknownLocation()
            case "callsite":
                self.advance()
                self.expect("(")
                callee = self._inner()
                self.expect("at")
                caller = self._inner()
                self.expect(")")
                return _Written("callsite", (callee, caller))
            case "fused":
                return self._fused()
            case "loc":
                return self._location()
        raise self.error(
            f"expected a location, found {self.found()}", 'write loc("file":line:column)'
        )

    def _string_location(self) -> _Raw:
        text = self.string()
        if self.accept(":"):
            line = self.integer("a line number")
            self.expect(":")
            return FileLocation(text, line, self.integer("a column number"))
        if self.accept("("):
            child = self._inner()
            self.expect(")")
            return _Written("name", (child,), text)
        return NameLocation(text)

    def _fused(self) -> _Raw:
        self.advance()
        if self.token == "<":
            self._skip_brackets()
        self.expect("[")
        parts: list[_Raw] = []
        while self.token != "]":
            parts.append(self._inner())
            if not self.accept(","):
                break
        self.expect("]")
        return _Written("fused", tuple(parts))

    def _settle(self, raw: _Raw, depth: int) -> _Sized:
        if isinstance(raw, _Reference):
            return self._resolve(raw, depth)
        if not isinstance(raw, _Written):
            return raw, 1
        settled = [self._settle(part, depth + 1) for part in raw.parts]
        size = 1 + sum(part_size for _, part_size in settled)
        if size > MAX_PARTS:
            self.fail(f"a location has more than {MAX_PARTS} parts")
        parts = tuple(part for part, _ in settled)
        if raw.kind == "name":
            return NameLocation(raw.name, parts[0]), size
        if raw.kind == "callsite":
            return CallSiteLocation(parts[0], parts[1]), size
        return FusedLocation(parts), size

    def _resolve(self, reference: _Reference, depth: int) -> _Sized:
        name = reference.name
        if name not in self._settled:
            if name not in self._locations:
                self.fail(
                    f"location {name} is not defined", "define it below the module", reference.at
                )
            if depth > 100:
                self.fail(f"location {name} refers to itself", at=reference.at)
            self._settled[name] = self._settle(self._locations[name], depth + 1)
        return self._settled[name]
