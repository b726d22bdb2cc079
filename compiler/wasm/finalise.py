"""The built-in linker: one relocatable object becomes a finished module.

Memory holds, from address 0: the stack (so that an overflow traps), initialised data, data that starts as zeros, and
from `heap_base` on whatever the module's owner puts there. Functions and data that no export reaches are left out, and
every relocated number is written in as few bytes as it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import inf

from ..errors import InternalError
from ..program.plan_memory import align
from . import binary
from .binary import name, section, sleb, uleb, vector
from .object_file import (
    WHAT,
    Function,
    FunctionImport,
    GlobalImport,
    ObjectFile,
    Relocation,
    Segment,
    SymbolFlag,
    SymbolKind,
    parse_object,
)
from .object_file import RelocationKind as R

STACK_POINTER = "__stack_pointer"
HEAP_BASE = "__heap_base"
_STACK_ALIGNMENT = 16
# Pieces of data nearer than this become one segment: a segment of their own would cost more bytes than the zeros.
_SEGMENT_OVERHEAD = 8
_MUTABLE_I32 = bytes([binary.I32, 1])

_TO_DATA = frozenset({R.MEMORY_ADDR_LEB, R.MEMORY_ADDR_SLEB, R.MEMORY_ADDR_I32})
_TO_TABLE = frozenset({R.TABLE_INDEX_SLEB, R.TABLE_INDEX_I32})
_SLEB = frozenset({R.TABLE_INDEX_SLEB, R.MEMORY_ADDR_SLEB})
_I32 = frozenset({R.TABLE_INDEX_I32, R.MEMORY_ADDR_I32})
_LEB_BYTES = 5  # of a relocatable LEB128, padded


@dataclass(frozen=True, slots=True)
class Linked:
    """A finished module, and the first address that it leaves to its owner. `shared_at` is the byte to change where its
    memory is to be shared after all."""

    module: bytes
    heap_base: int
    shared_at: int | None = None


def finalise(
    object_bytes: bytes,
    exports: Sequence[str],
    *,
    stack_bytes: int = 65536,
    shared: bool = False,
    max_pages: int = 16384,
) -> Linked:
    """Links one object; its memory is imported as `env.memory`.

    Undefined functions become imports. The memory given must be fresh (zeros) and have at least the pages that the
    import requires; a shared one at most `max_pages`. With `shared`, each worker makes an instance of its own and so
    writes the initialised data once more: it must be constant. `__stack_pointer` is then exported for the worker to
    set. InternalError for an export that is not there, undefined data, or what no generated code needs.
    """
    obj = parse_object(object_bytes)
    if shared and not any(isinstance(g, GlobalImport) for g in obj.globals):
        obj = replace(obj, globals=(*obj.globals, GlobalImport(STACK_POINTER, _MUTABLE_I32)))
    exported = {export: _function_named(obj, export) for export in exports}
    reached = _reach(obj, exported.values(), keep_stack_pointer=shared)
    if shared:
        _check_constant(obj.segments[s] for s in reached[_Space.SEGMENT])
    layout = _lay_out(obj, reached, stack_bytes)
    if layout.heap_base > max_pages * binary.PAGE_BYTES:
        raise InternalError(f"wasm: stack and static data take {layout.heap_base} bytes, more than {max_pages} pages")
    return Linked(_module(obj, exported, layout, stack_bytes, max_pages if shared else None), layout.heap_base)


class _Space(Enum):
    """The index spaces in which the object and the module number their items differently."""

    TYPE = "type"
    FUNCTION = "function"
    GLOBAL = "global"
    SEGMENT = "segment"
    TABLE = "table"  # entries: functions whose address is taken


_Item = tuple[_Space, int]


def _function_named(obj: ObjectFile, export: str) -> int:
    for symbol in obj.symbols:
        if symbol.kind == SymbolKind.FUNCTION and symbol.name == export and not symbol.undefined:
            return symbol.index
    raise InternalError(f"{WHAT}: function {export!r} is to be exported, but it defines none of that name")


def _targets(obj: ObjectFile, relocation: Relocation) -> tuple[_Item, ...]:
    """Targets of a relocation; nothing for the table itself and for an address that the linker defines."""
    kind = relocation.kind
    if kind == R.TYPE_INDEX_LEB:
        return ((_Space.TYPE, relocation.target),)
    if kind == R.TABLE_NUMBER_LEB:
        return ()
    if relocation.target >= len(obj.symbols):
        raise InternalError(f"{WHAT}: {kind.name} refers to symbol {relocation.target} of {len(obj.symbols)}")
    symbol = obj.symbols[relocation.target]
    missing_weak = symbol.undefined and symbol.flags & SymbolFlag.WEAK
    if kind in _TO_DATA:
        if not symbol.undefined:
            return ((_Space.SEGMENT, symbol.index),)
        if symbol.name == HEAP_BASE:
            return ()
        raise InternalError(f"{WHAT}: undefined data {symbol.name!r}")
    if kind == R.FUNCTION_INDEX_LEB and not missing_weak:
        return ((_Space.FUNCTION, symbol.index),)
    if kind in _TO_TABLE and not missing_weak:
        return (_Space.FUNCTION, symbol.index), (_Space.TABLE, symbol.index)
    if kind == R.GLOBAL_INDEX_LEB:
        return ((_Space.GLOBAL, symbol.index),)
    raise InternalError(f"{WHAT}: relocation {kind.name} of {symbol.name or symbol.kind.name!r} is not supported")


def _reach(obj: ObjectFile, roots: Iterable[int], *, keep_stack_pointer: bool) -> dict[_Space, list[int]]:
    """All that the functions `roots` need, directly or not, ascending."""
    todo: list[_Item] = [(_Space.FUNCTION, root) for root in roots]
    if keep_stack_pointer:
        todo += [(_Space.GLOBAL, i) for i, g in enumerate(obj.globals) if isinstance(g, GlobalImport)]
    sizes = {
        _Space.TYPE: len(obj.types),
        _Space.FUNCTION: len(obj.functions),
        _Space.GLOBAL: len(obj.globals),
        _Space.SEGMENT: len(obj.segments),
        _Space.TABLE: len(obj.functions),
    }
    seen: set[_Item] = set()
    while todo:
        item = todo.pop()
        if item in seen:
            continue
        seen.add(item)
        if item[1] >= sizes[item[0]]:
            raise InternalError(f"{WHAT}: it refers to {item[0].value} {item[1]} of {sizes[item[0]]}")
        relocations: tuple[Relocation, ...] = ()
        match item:
            case _Space.FUNCTION, index:
                function = obj.functions[index]
                todo.append((_Space.TYPE, function.type))
                if isinstance(function, Function):
                    relocations = function.relocations
            case _Space.SEGMENT, index:
                relocations = obj.segments[index].relocations
        for relocation in relocations:
            todo.extend(_targets(obj, relocation))
    return {space: sorted(index for s, index in seen if s == space) for space in _Space}


def _check_constant(segments: Iterable[Segment]) -> None:
    for segment in segments:
        if segment.name.startswith(".data.") and not segment.name.startswith(".data.rel.ro") and not _is_zero(segment):
            raise InternalError(
                f"{WHAT}: {segment.name!r} is variable and initialised; with threads each new worker would reset it: "
                "make it constant, or let it start as zero"
            )


def _is_zero(segment: Segment) -> bool:
    return not segment.relocations and segment.data.count(0) == len(segment.data)


@dataclass(frozen=True, slots=True)
class _Layout:
    """For each space, the object's index of each item kept -> the module's index (of a segment: its address)."""

    place: dict[_Space, dict[int, int]]
    heap_base: int


def _lay_out(obj: ObjectFile, reached: dict[_Space, list[int]], stack_bytes: int) -> _Layout:
    # By their length, for functions of like length are often alike, and a compressor sees 32 kB. Imports come first.
    kept = sorted(reached[_Space.FUNCTION], key=lambda f: -_length(obj.functions[f]))
    reached = {**reached, _Space.FUNCTION: kept}
    # Entry 0 of the table stays empty: a call of a null pointer traps.
    place = {
        space: {index: number for number, index in enumerate(kept, start=1 if space is _Space.TABLE else 0)}
        for space, kept in reached.items()
    }
    address = _round_up(stack_bytes, _STACK_ALIGNMENT)
    for index in sorted(reached[_Space.SEGMENT], key=lambda s: (_is_zero(obj.segments[s]), s)):
        address = _round_up(address, obj.segments[index].alignment)
        place[_Space.SEGMENT][index] = address
        address += len(obj.segments[index].data)
    return _Layout(place, align(address))


def _length(function: Function | FunctionImport) -> float:
    return len(function.body) if isinstance(function, Function) else inf


def _round_up(address: int, alignment: int) -> int:
    return (address + alignment - 1) // alignment * alignment


def _module(
    obj: ObjectFile, exported: dict[str, int], layout: _Layout, stack_bytes: int, shared_pages: int | None
) -> bytes:
    place = layout.place
    functions = [obj.functions[f] for f in place[_Space.FUNCTION]]
    variables = [obj.globals[g] for g in place[_Space.GLOBAL]]
    defined = [f for f in functions if isinstance(f, Function)]
    type_number = place[_Space.TYPE]

    imports = [
        name(f.module) + name(f.field) + bytes([binary.EXTERN_FUNCTION]) + uleb(type_number[f.type])
        for f in functions
        if isinstance(f, FunctionImport)
    ]
    imports.append(binary.memory_import("env", "memory", layout.heap_base, shared_pages))

    stack_top = binary.i32_const(_round_up(stack_bytes, _STACK_ALIGNMENT))
    exports = [name(e) + bytes([binary.EXTERN_FUNCTION]) + uleb(place[_Space.FUNCTION][f]) for e, f in exported.items()]
    if shared_pages is not None:
        number = next(n for n, g in enumerate(variables) if isinstance(g, GlobalImport))
        exports.append(name(STACK_POINTER) + bytes([binary.EXTERN_GLOBAL]) + uleb(number))

    entries = place[_Space.TABLE]
    table = bytes([binary.FUNCREF, 0]) + uleb(len(entries) + 1)
    elements = b"\0" + binary.i32_const(1) + vector(uleb(place[_Space.FUNCTION][f]) for f in entries)

    vectors: list[tuple[int, list[bytes]]] = [
        (binary.TYPE, [obj.types[t] for t in type_number]),
        (binary.IMPORT, imports),
        (binary.FUNCTION, [uleb(type_number[f.type]) for f in defined]),
        (binary.TABLE, [table] if obj.has_table or entries else []),
        (binary.GLOBAL, [g.type + (stack_top if isinstance(g, GlobalImport) else g.initial) for g in variables]),
        (binary.EXPORT, exports),
        (binary.ELEMENT, [elements] if entries else []),
        (binary.CODE, [_sized(_relocate(obj, layout, f.body, f.relocations)) for f in defined]),
        (binary.DATA, [b"\0" + binary.i32_const(at) + _sized(data) for at, data in _initial_data(obj, layout)]),
    ]
    return binary.MAGIC + b"".join(section(number, vector(items)) for number, items in vectors if items)


def _sized(data: bytes) -> bytes:
    return uleb(len(data)) + data


def _initial_data(obj: ObjectFile, layout: _Layout) -> list[tuple[int, bytes]]:
    """Data that is not zero in the fresh memory, by address, neighbours joined."""
    pieces: list[tuple[int, bytearray]] = []
    for index, address in sorted(layout.place[_Space.SEGMENT].items(), key=lambda item: item[1]):
        segment = obj.segments[index]
        if _is_zero(segment):
            continue
        data = _relocate(obj, layout, segment.data, segment.relocations)
        gap = address - (pieces[-1][0] + len(pieces[-1][1])) if pieces else _SEGMENT_OVERHEAD
        if gap < _SEGMENT_OVERHEAD:
            pieces[-1][1].extend(bytes(gap) + data)
        else:
            pieces.append((address, bytearray(data)))
    return [(address, bytes(data)) for address, data in pieces]


def _relocate(obj: ObjectFile, layout: _Layout, data: bytes, relocations: Iterable[Relocation]) -> bytes:
    """`data` with every relocated number filled in; code gets shorter by this, static data keeps its length."""
    out, done = bytearray(), 0
    for relocation in sorted(relocations, key=lambda r: r.offset):
        value = _value(obj, layout, relocation)
        end = relocation.offset + (4 if relocation.kind in _I32 else _LEB_BYTES)
        if relocation.offset < done or end > len(data):
            raise InternalError(
                f"{WHAT}: {relocation.kind.name} at {relocation.offset} overlaps its neighbour or its end"
            )
        out += data[done : relocation.offset]
        if relocation.kind in _I32:
            out += value.to_bytes(4, "little")
        else:
            out += sleb(binary.signed(value)) if relocation.kind in _SLEB else uleb(value)
        done = end
    return bytes(out + data[done:])


def _value(obj: ObjectFile, layout: _Layout, relocation: Relocation) -> int:
    """The number to fill in, 0 <= value < 2**32."""
    match relocation.kind:
        case R.TYPE_INDEX_LEB:
            return layout.place[_Space.TYPE][relocation.target]
        case R.TABLE_NUMBER_LEB:
            return 0
    symbol = obj.symbols[relocation.target]
    if relocation.kind in _TO_DATA:
        # The only data left undefined here is __heap_base.
        base = layout.heap_base if symbol.undefined else layout.place[_Space.SEGMENT][symbol.index] + symbol.offset
        return base + relocation.addend & 0xFFFFFFFF
    space = {R.FUNCTION_INDEX_LEB: _Space.FUNCTION, R.GLOBAL_INDEX_LEB: _Space.GLOBAL}.get(
        relocation.kind, _Space.TABLE
    )
    return layout.place[space][symbol.index]
