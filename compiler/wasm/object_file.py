"""Parses a relocatable WebAssembly object as LLVM writes it: functions, data and symbols, with their relocations.

Source: the WebAssembly tool conventions' object file linking, version 2; LLVM's list of relocations, WasmRelocs.def.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, IntFlag
from typing import TypeVar

from ..errors import InternalError
from . import binary
from .binary import Reader

WHAT = "wasm object"
T = TypeVar("T")

_LINKING_VERSION = 2
_SEGMENT_THREAD_LOCAL = 2


class Subsection(IntEnum):
    """The parts of the linking section that matter here."""

    SEGMENT_INFO = 5
    INIT_FUNCTIONS = 6
    SYMBOL_TABLE = 8


class RelocationKind(IntEnum):
    """Kind of the value that a relocation writes: an index or an address, and how it is encoded."""

    FUNCTION_INDEX_LEB = 0
    TABLE_INDEX_SLEB = 1
    TABLE_INDEX_I32 = 2
    MEMORY_ADDR_LEB = 3
    MEMORY_ADDR_SLEB = 4
    MEMORY_ADDR_I32 = 5
    TYPE_INDEX_LEB = 6
    GLOBAL_INDEX_LEB = 7
    FUNCTION_OFFSET_I32 = 8
    SECTION_OFFSET_I32 = 9
    TAG_INDEX_LEB = 10
    MEMORY_ADDR_REL_SLEB = 11
    TABLE_INDEX_REL_SLEB = 12
    GLOBAL_INDEX_I32 = 13
    MEMORY_ADDR_LEB64 = 14
    MEMORY_ADDR_SLEB64 = 15
    MEMORY_ADDR_I64 = 16
    MEMORY_ADDR_REL_SLEB64 = 17
    TABLE_INDEX_SLEB64 = 18
    TABLE_INDEX_I64 = 19
    TABLE_NUMBER_LEB = 20
    MEMORY_ADDR_TLS_SLEB = 21
    FUNCTION_OFFSET_I64 = 22
    MEMORY_ADDR_LOCREL_I32 = 23
    TABLE_INDEX_REL_SLEB64 = 24
    MEMORY_ADDR_TLS_SLEB64 = 25
    FUNCTION_INDEX_I32 = 26


_WITH_ADDEND = frozenset(
    kind for kind in RelocationKind if kind.name.startswith(("MEMORY_ADDR", "FUNCTION_OFFSET", "SECTION_OFFSET"))
)


@dataclass(frozen=True, slots=True)
class Relocation:
    """A place to fill in.

    `offset` is in its function's body or its segment; `target` is a symbol's number, or a type's for TYPE_INDEX.
    """

    kind: RelocationKind
    offset: int
    target: int
    addend: int


class SymbolKind(IntEnum):
    FUNCTION = 0
    DATA = 1
    GLOBAL = 2
    SECTION = 3
    TAG = 4
    TABLE = 5


_RELOCATION_KINDS = {int(kind): kind for kind in RelocationKind}
_SYMBOL_KINDS = {int(kind): kind for kind in SymbolKind}


class SymbolFlag(IntFlag):
    WEAK = 0x1
    UNDEFINED = 0x10
    EXPLICIT_NAME = 0x40
    THREAD_LOCAL = 0x100


@dataclass(frozen=True, slots=True)
class Symbol:
    """`index` is in the function or global index space, or a segment's number, with `offset` in that segment."""

    kind: SymbolKind
    flags: int
    name: str
    index: int = 0
    offset: int = 0

    @property
    def undefined(self) -> bool:
        return bool(self.flags & SymbolFlag.UNDEFINED)


@dataclass(frozen=True, slots=True)
class FunctionImport:
    """A function imported from the host; `type` is an index into the types."""

    module: str
    field: str
    type: int


@dataclass(frozen=True, slots=True)
class Function:
    """`body` is the locals and the code, without its length."""

    type: int
    body: bytes
    relocations: tuple[Relocation, ...] = ()


@dataclass(frozen=True, slots=True)
class GlobalImport:
    """A global imported from the host; `type` is value type and mutability, as encoded."""

    field: str
    type: bytes


@dataclass(frozen=True, slots=True)
class Global:
    """A wasm global; `type` is value type and mutability, `initial` a constant expression, both as encoded."""

    type: bytes
    initial: bytes


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of static data; `alignment` in bytes."""

    name: str
    alignment: int
    data: bytes
    relocations: tuple[Relocation, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """Imports come first in the index spaces of functions and of globals; `has_table`: it calls function pointers."""

    types: tuple[bytes, ...]
    functions: tuple[FunctionImport | Function, ...]
    globals: tuple[GlobalImport | Global, ...]
    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...]
    has_table: bool


def parse_object(data: bytes) -> ObjectFile:
    """Parses what `emit_object` made; InternalError where `data` is truncated or no such object."""
    plain: dict[int, bytes] = {}
    custom: dict[str, bytes] = {}
    order: list[int] = []
    for section in binary.sections(data, WHAT):
        order.append(section.number)
        if section.number == binary.CUSTOM:
            custom[section.title] = section.body
        else:
            plain[section.number] = section.body
    if "linking" not in custom:
        raise InternalError(f"{WHAT}: it has no linking section; it is a finished module or not LLVM's")

    function_imports, global_imports, tables = _imports(plain.get(binary.IMPORT))
    types = _vector(plain.get(binary.TYPE), _type)
    signatures = _vector(plain.get(binary.FUNCTION), Reader.uleb)
    bodies, body_starts = _located(plain.get(binary.CODE), _sized)
    if len(signatures) != len(bodies):
        raise InternalError(f"{WHAT}: {len(signatures)} functions are declared, {len(bodies)} have code")
    contents, content_starts = _located(plain.get(binary.DATA), _segment_data)
    if tables > 1 or binary.TABLE in plain:
        raise InternalError(f"{WHAT}: it has tables other than that of the function pointers, which are not linked")
    infos, symbols = _linking(custom["linking"])
    if len(infos) != len(contents):
        raise InternalError(f"{WHAT}: {len(infos)} data segments are described, {len(contents)} are there")

    code, static = _relocations(custom, order, {binary.CODE: body_starts, binary.DATA: content_starts})
    functions = [Function(t, b, r) for t, b, r in zip(signatures, bodies, code, strict=True)]
    segments = [replace(i, data=d, relocations=r) for i, d, r in zip(infos, contents, static, strict=True)]
    return ObjectFile(
        types,
        (*function_imports, *functions),
        (*global_imports, *_vector(plain.get(binary.GLOBAL), _global)),
        tuple(segments),
        symbols,
        has_table=tables > 0,
    )


def _vector(body: bytes | None, item: Callable[[Reader], T]) -> tuple[T, ...]:
    if body is None:
        return ()
    reader = Reader(body, WHAT)
    return tuple(item(reader) for _ in range(reader.uleb()))


def _located(body: bytes | None, item: Callable[[Reader], bytes]) -> tuple[tuple[bytes, ...], tuple[int, ...]]:
    """The items' contents, and the offsets of these in the section; each content is the end of its item."""
    starts: list[int] = []

    def read(reader: Reader) -> bytes:
        content = item(reader)
        starts.append(reader.position - len(content))
        return content

    return _vector(body, read), tuple(starts)


def _sized(reader: Reader) -> bytes:
    return reader.take(reader.uleb())


def _segment_data(reader: Reader) -> bytes:
    if reader.uleb() != 0:
        raise reader.fail("a data segment that is not active in memory 0")
    reader.i32_const()
    return _sized(reader)


def _type(reader: Reader) -> bytes:
    start = reader.position
    if reader.byte() != 0x60:
        raise reader.fail("a type that is not a function's")
    for _ in range(2):
        reader.take(reader.uleb())
    return reader.data[start : reader.position]


def _global(reader: Reader) -> Global:
    kind = reader.take(2)
    start = reader.position
    match reader.byte():
        case 0x41 | 0x42:
            reader.sleb()
        case 0x43:
            reader.take(4)
        case 0x44:
            reader.take(8)
        case _:
            raise reader.fail("a global with an initialiser that is no number")
    if reader.byte() != binary.OP_END:
        raise reader.fail("a global with an initialiser that is no number")
    return Global(kind, reader.data[start : reader.position])


def _imports(body: bytes | None) -> tuple[list[FunctionImport], list[GlobalImport], int]:
    """Functions, globals, and the number of tables; the memory is known to be there."""
    tables = 0
    functions: list[FunctionImport] = []
    variables: list[GlobalImport] = []

    def read(reader: Reader) -> None:
        nonlocal tables
        module, field, kind = reader.name(), reader.name(), reader.byte()
        match kind:
            case binary.EXTERN_FUNCTION:
                functions.append(FunctionImport(module, field, reader.uleb()))
            case binary.EXTERN_TABLE:
                reader.byte()
                reader.limits()
                tables += 1
            case binary.EXTERN_MEMORY:
                reader.limits()
            case binary.EXTERN_GLOBAL:
                variables.append(GlobalImport(field, reader.take(2)))
            case _:
                raise reader.fail(f"import {field!r} of unknown kind {kind}")

    _vector(body, read)
    return functions, variables, tables


def _linking(body: bytes) -> tuple[tuple[Segment, ...], tuple[Symbol, ...]]:
    """The segments, still without data, and the symbol table."""
    segments: tuple[Segment, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    reader = Reader(body, WHAT)
    if (version := reader.uleb()) != _LINKING_VERSION:
        raise reader.fail(f"linking section of version {version}, {_LINKING_VERSION} expected,")
    while not reader.at_end:
        number = reader.byte()
        content = _sized(reader)
        match number:
            case Subsection.SEGMENT_INFO:
                segments = _vector(content, _segment_info)
            case Subsection.SYMBOL_TABLE:
                symbols = _vector(content, _symbol)
            case Subsection.INIT_FUNCTIONS if content[:1] != b"\0":
                raise InternalError(f"{WHAT}: it has static constructors, which are not linked")
    return segments, symbols


def _segment_info(reader: Reader) -> Segment:
    name, exponent, flags = reader.name(), reader.uleb(), reader.uleb()
    if exponent > 16:
        raise reader.fail(f"segment {name!r} aligned to 2**{exponent} bytes")
    if flags & _SEGMENT_THREAD_LOCAL:
        raise InternalError(f"{WHAT}: segment {name!r} is thread-local, which is not linked")
    return Segment(name, 1 << exponent, b"")


def _symbol(reader: Reader) -> Symbol:
    kind = _SYMBOL_KINDS.get(number := reader.byte())
    flags = reader.uleb()
    undefined = flags & SymbolFlag.UNDEFINED
    match kind:
        case SymbolKind.FUNCTION | SymbolKind.GLOBAL | SymbolKind.TAG | SymbolKind.TABLE:
            index = reader.uleb()
            # An undefined symbol goes by its import's field name unless it says otherwise.
            named = not undefined or flags & SymbolFlag.EXPLICIT_NAME
            return Symbol(kind, flags, reader.name() if named else "", index)
        case SymbolKind.DATA:
            name = reader.name()
            if undefined:
                return Symbol(kind, flags, name)
            index, offset = reader.uleb(), reader.uleb()
            reader.uleb()
            return Symbol(kind, flags, name, index, offset)
        case SymbolKind.SECTION:
            return Symbol(kind, flags, "", reader.uleb())
        case None:
            raise reader.fail(f"a symbol of unknown kind {number}")


def _relocations(
    custom: dict[str, bytes], order: Sequence[int], starts: dict[int, tuple[int, ...]]
) -> tuple[list[tuple[Relocation, ...]], list[tuple[Relocation, ...]]]:
    """The relocations of each function body and of each segment, offsets made relative to its start."""
    relocations: dict[int, list[list[Relocation]]] = {number: [[] for _ in places] for number, places in starts.items()}
    for title, body in custom.items():
        if not title.startswith("reloc."):
            continue
        reader = Reader(body, WHAT)
        position = reader.uleb()
        number = order[position] if position < len(order) else -1
        if number == binary.CUSTOM:
            continue  # of debug information, which is dropped
        if number not in starts:
            raise reader.fail(f"{title!r} relocates section {position}, which is neither code nor data,")
        for _ in range(reader.uleb()):
            relocation = _relocation(reader)
            owner = bisect_right(starts[number], relocation.offset) - 1
            if owner < 0:
                raise reader.fail(f"{relocation.kind.name} outside all of the section's items")
            inside = replace(relocation, offset=relocation.offset - starts[number][owner])
            relocations[number][owner].append(inside)
    code, static = ([tuple(r) for r in relocations[number]] for number in (binary.CODE, binary.DATA))
    return code, static


def _relocation(reader: Reader) -> Relocation:
    kind = _RELOCATION_KINDS.get(number := reader.byte())
    if kind is None:
        raise reader.fail(f"relocation of unknown kind {number}")
    offset, target = reader.uleb(), reader.uleb()
    return Relocation(kind, offset, target, reader.sleb() if kind in _WITH_ADDEND else 0)
