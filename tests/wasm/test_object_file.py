"""Parsing LLVM's objects, whole and damaged."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wasm.linking import object_of
from webnn_compile.errors import InternalError
from webnn_compile.wasm.finalise import finalise
from webnn_compile.wasm.object_file import Function, FunctionImport, GlobalImport, RelocationKind, parse_object


def test_functions_data_and_symbols_are_found() -> None:
    obj = parse_object(object_of("function_pointers"))
    assert [f.field for f in obj.functions if isinstance(f, FunctionImport)] == ["host_add"]
    assert sum(isinstance(f, Function) for f in obj.functions) == 6
    assert obj.has_table
    (segment,) = obj.segments
    assert segment.name == ".rodata.operations"
    assert [(r.kind, r.offset) for r in segment.relocations] == [
        (RelocationKind.TABLE_INDEX_I32, offset) for offset in (0, 8, 12)
    ]
    assert {"apply", "quarter"} <= {s.name for s in obj.symbols if not s.undefined}


def test_stack_pointer_is_an_imported_global() -> None:
    obj = parse_object(object_of("calls"))
    assert obj.globals == (GlobalImport("__stack_pointer", b"\x7f\x01"),)
    assert not obj.has_table


def test_every_truncation_is_an_internal_error() -> None:
    whole = object_of("static_data")
    for length in range(0, len(whole), 7):
        with pytest.raises(InternalError, match=r"^wasm object: "):
            finalise(whole[:length], ["lookup"])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_damaged_object_is_linked_or_an_internal_error(data: st.DataObject) -> None:
    damaged = bytearray(object_of("function_pointers"))
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InternalError):
        finalise(bytes(damaged), ["apply"])


def test_finished_module_is_no_object() -> None:
    module = finalise(object_of("calls"), ["on_stack"]).module
    with pytest.raises(InternalError, match="it has no linking section"):
        parse_object(module)
