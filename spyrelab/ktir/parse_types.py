"""Reading types and memory spaces."""

from __future__ import annotations

import re

from spyrelab.ktir.affine import AffineSet
from spyrelab.ktir.errors import did_you_mean
from spyrelab.ktir.lexer import MAX_DEPTH
from spyrelab.ktir.parse_affine import AffineParser
from spyrelab.ktir.types import (
    GLOBAL,
    SCALARS,
    AccessTileType,
    Dimension,
    MemorySpace,
    MemRefType,
    RuntimeArgType,
    ScalarType,
    TensorType,
    TileFutureType,
    Type,
)

MAX_RANK = 32
_CACHE_SIZE = 4096
_cache: dict[str, Type] = {}
_DIMENSIONS = re.compile(r"\s*(?:(?:\?|\d+)\s*x\s*)*+", re.ASCII).match
_DIMENSION = re.compile(r"\?|\d+", re.ASCII).findall
_SPELLINGS = SCALARS | {"fp16": SCALARS["f16"], "fp32": SCALARS["f32"]}
_UNSUPPORTED = {
    "f64": "the card has no 64-bit floats: use f32",
    "vector": "tiles are tensors: use tensor<..>",
}
_STRUCTURED = ("tensor", "memref", "!ktdp.access_tile", "!ktdp.tile_future", "!ktdp.runtime_arg")


class TypeParser(AffineParser):
    """Adds types to the token stream, and the aliases that types may use."""

    def __init__(self, text: str) -> None:
        self.aliases: dict[str, object] = {}
        super().__init__(text)

    def type(self) -> Type:
        """Any type; also ``<4x8xindex>`` and ``<(T), groups = ..>`` with the name left out."""
        if self.kind == "type":
            known = _cache.get(self.token)
            if known is not None:
                self.advance()
                return known
            return self._remember()
        if self.kind == "word":
            scalar = _SPELLINGS.get(self.token)
            if scalar is not None:
                self.advance()
                return scalar
        self.enter()
        result = self._structured()
        self.leave()
        return result

    def _remember(self) -> Type:
        key = self.token
        self.split()
        result = self._structured()
        if len(_cache) >= _CACHE_SIZE:
            _cache.clear()
        _cache[key] = result
        return result

    def types(self) -> list[Type]:
        """``T, T, ..``."""
        found = [self.type()]
        while self.accept(","):
            found.append(self.type())
        return found

    def result_types(self) -> list[Type]:
        """``T`` or ``(T, ..)`` or ``()``."""
        if not self.accept("("):
            return [self.type()]
        found = [] if self.token == ")" else self.types()
        self.expect(")")
        return found

    def _structured(self) -> Type:
        match self.token:
            case "tensor":
                self.advance()
                return self._tensor()
            case "memref":
                self.advance()
                return self._memref()
            case "!ktdp.access_tile":
                self.advance()
                return self._access_tile()
            case "!ktdp.tile_future":
                self.advance()
                return self._tile_future()
            case "!ktdp.runtime_arg":
                self.advance()
                return self._runtime_arg()
            case "<":
                return self._without_name()
        alias = self.aliases.get(self.token)
        if isinstance(alias, Type):
            self.advance()
            return alias
        return self._scalar()

    def _scalar(self) -> ScalarType:
        scalar = _SPELLINGS.get(self.token)
        if scalar is not None:
            self.advance()
            return scalar
        if self.token == "-":
            self.fail("an extent must not be negative", "use ? for an extent known at run time")
        if self.kind in ("word", "bang"):
            hint = _UNSUPPORTED.get(self.token)
            hint = hint or did_you_mean(self.token, (*_SPELLINGS, *_STRUCTURED))
            self.fail(f"unknown type {self.found()}", hint)
        raise self.error(f"expected a type, found {self.found()}")

    def _shape(self) -> tuple[Dimension, ...]:
        """``<4x?x`` with the bracket as current token; goes on behind the last ``x``."""
        if self.token != "<":
            self.fail(f"expected '<', found {self.found()}")
        match = _DIMENSIONS(self.text, self.stop)
        digits = _DIMENSION(match[0]) if match else []
        if len(digits) > MAX_RANK:
            self.fail(f"more than {MAX_RANK} dimensions")
        if any(len(text) > 15 for text in digits):
            self.fail("this extent is too large", "an extent has at most 15 digits")
        self.resume(match.end() if match else self.stop)
        return tuple(None if text == "?" else int(text) for text in digits)

    def _tensor(self) -> TensorType:
        shape = self._shape()
        element = self._scalar()
        if self.accept(","):
            self._skip_encoding()
        self.expect(">")
        return TensorType(shape, element)

    def _skip_encoding(self) -> None:
        if self.kind not in ("hash", "string"):
            self.fail("this tensor encoding is not understood", "leave the encoding out")
        self.advance()
        if self.token == "<":
            self._skip_brackets()

    def _skip_brackets(self) -> str:
        """Characters of ``<...>``, brackets included, whatever stands between them."""
        begin, depth = self.start, 0
        while True:
            if self.kind == "end":
                self.fail("this '<' is never closed", at=begin)
            depth += (self.token == "<") - (self.token == ">")
            if depth > MAX_DEPTH:
                self.fail(f"nested more than {MAX_DEPTH} levels deep")
            if depth == 0:
                break
            self.advance()
        end = self.stop
        self.advance()
        return self.text[begin:end]

    def _memref(self) -> MemRefType:
        shape = self._shape()
        element = self._scalar()
        space = None
        while self.accept(","):
            if self.accept("strided"):
                self._skip_brackets()
            else:
                space = self.memory_space()
        self.expect(">")
        return MemRefType(shape, element, space)

    def _access_tile(self) -> AccessTileType:
        shape = self._shape()
        self.expect("index", "access tiles hold coordinates: end the shape in 'xindex'")
        self.expect(">")
        return AccessTileType(shape)

    def _without_name(self) -> Type:
        begin = self.start
        self.advance()
        future = self.token in ("(", "!ktdp.access_tile") or self.kind == "type"
        if self.token in _SPELLINGS:
            self.advance()
            future = self.token == ","
        self.resume(begin)
        return self._tile_future() if future else self._access_tile()

    def _tile_future(self) -> TileFutureType:
        self.expect("<")
        partials = tuple(self.result_types()) if self.token == "(" else (self.type(),)
        self.expect(",")
        self.expect("groups")
        self.expect("=")
        groups = self.affine_set()
        self.expect(">")
        return TileFutureType(partials, groups)

    def _runtime_arg(self) -> RuntimeArgType:
        self.expect("<")
        element = self._scalar()
        promises: dict[str, int] = {}
        while self.accept(","):
            if self.token not in ("granularity", "upperbound") or self.token in promises:
                self.fail(f"expected granularity or upperbound, found {self.found()}")
            key = self.token
            self.advance()
            self.expect("=")
            promises[key] = self.integer()
        self.expect(">")
        return RuntimeArgType(element, promises.get("granularity"), promises.get("upperbound"))

    def alias(self) -> object:
        """What ``#name`` stands for."""
        if self.token not in self.aliases:
            self.fail(
                f"{self.token} is not defined above",
                did_you_mean(self.token, self.aliases)
                or f"define it at the top: {self.token} = affine_set<..>",
            )
        found = self.aliases[self.token]
        self.advance()
        return found

    def affine_set(self) -> AffineSet:
        """``affine_set<..>`` or an alias of one."""
        at = self.start
        found = self.alias() if self.kind == "hash" else self.affine()
        if not isinstance(found, AffineSet):
            self.fail("expected an affine set here", "write affine_set<(d0) : (..)>", at=at)
        return found

    def memory_space(self) -> MemorySpace:
        """``#ktdp.memory_space<..>``, or the RFC's ``#ktdp.spyre_memory_space<..>``."""
        if self.token == "#ktdp.memory_space":
            local, number = "ct_local", "ct_id"
            known: tuple[str, ...] = ("global", local)
        elif self.token == "#ktdp.spyre_memory_space":
            local, number = "LX", "core"
            known = ("HBM", local, "unspecified")
        else:
            found = self.alias() if self.kind == "hash" and "." not in self.token else None
            if isinstance(found, MemorySpace):
                return found
            self.fail(
                f"expected a memory space, found {self.found()}",
                "write #ktdp.memory_space<global> or #ktdp.memory_space<ct_local>",
            )
        self.advance()
        self.expect("<")
        if self.token not in known:
            self.fail(
                f"unknown memory space {self.found()}",
                did_you_mean(self.token, known) or f"known are {', '.join(known)}",
            )
        core_local = self.token == local
        self.advance()
        core = None
        if core_local and self.accept(","):
            self.expect(number)
            self.expect("=")
            core = self.integer("a core number")
            if core < 0:
                self.fail("a core number must not be negative")
        self.expect(">")
        return MemorySpace(True, core) if core_local else GLOBAL
