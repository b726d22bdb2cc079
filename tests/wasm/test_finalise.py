"""The built-in linker by itself: what it drops, where it puts data, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from wasm.linking import object_of
from webnn_compile.errors import InternalError
from webnn_compile.wasm import binary
from webnn_compile.wasm import finalise as finalise_module
from webnn_compile.wasm.emit import emit_object
from webnn_compile.wasm.finalise import finalise
from webnn_compile.wasm.object_file import Function, RelocationKind, parse_object
from webnn_compile.wasm.triple import HEADER


def emit(ir: str) -> bytes:
    return emit_object(HEADER + ir, relaxed=False)


def sections_of(module: bytes) -> dict[int, bytes]:
    return {s.number: s.body for s in binary.sections(module, "test")}


def test_only_what_the_exports_reach_is_kept() -> None:
    obj = object_of("calls")
    sections = sections_of(finalise(obj, ["sum_of_squares"]).module)
    assert sections[binary.FUNCTION][0] == 2  # itself and square
    assert binary.GLOBAL not in sections  # no stack pointer without arrays on the stack
    everything = finalise(obj, ["sum_of_squares", "on_stack", "unused"]).module
    assert sections_of(everything)[binary.FUNCTION][0] == 6
    assert b"never" not in finalise(object_of("imports"), ["talk"]).module
    assert b"never" in finalise(object_of("imports"), ["talk", "unused"]).module


def test_data_that_starts_as_zeros_takes_no_bytes() -> None:
    obj = emit(
        "@big = internal global [1000000 x i32] zeroinitializer\n"
        "@small = internal constant i32 5\n"
        "define i32 @read(i32 %i) {\n"
        "  %p = getelementptr inbounds nuw i32, ptr @big, i32 %i\n"
        "  %v = load volatile i32, ptr %p\n"
        "  %w = load volatile i32, ptr @small\n"
        "  %r = add i32 %v, %w\n"
        "  ret i32 %r\n}\n"
    )
    linked = finalise(obj, ["read"])
    assert len(linked.module) < 200
    assert 65536 + 4_000_004 <= linked.heap_base <= 65536 + 4_000_004 + 128


def test_far_pieces_of_data_stay_apart_and_near_ones_are_joined() -> None:
    obj = emit(
        "@a = internal constant [2 x i32] [i32 1, i32 2], align 4\n"
        "@b = internal constant [2 x i32] [i32 3, i32 4], align 4\n"
        "@c = internal constant [2 x i32] [i32 5, i32 6], align 256\n"
        "define i32 @sum() {\n"
        "  %a = load volatile i32, ptr @a\n  %b = load volatile i32, ptr @b\n  %c = load volatile i32, ptr @c\n"
        "  %ab = add i32 %a, %b\n  %abc = add i32 %ab, %c\n  ret i32 %abc\n}\n"
    )
    linked = finalise(obj, ["sum"])
    words = [w.to_bytes(4, "little") for w in (1, 2, 3, 4, 5, 6)]
    near = b"\0" + binary.i32_const(65536) + b"\x10" + b"".join(words[:4])
    far = b"\0" + binary.i32_const(65536 + 256) + b"\x08" + b"".join(words[4:])
    assert sections_of(linked.module)[binary.DATA] == binary.vector([near, far])
    assert linked.heap_base == 65536 + 256 + 64


def test_missing_export_is_named() -> None:
    with pytest.raises(InternalError, match="function 'nobody' is to be exported, but it defines none"):
        finalise(object_of("calls"), ["nobody"])
    with pytest.raises(InternalError, match="function 'ask' is to be exported"):
        finalise(object_of("imports"), ["ask"])


def test_undefined_data_is_named() -> None:
    obj = emit(
        "@elsewhere = external global i32\ndefine i32 @f() {\n  %v = load i32, ptr @elsewhere\n  ret i32 %v\n}\n"
    )
    with pytest.raises(InternalError, match="undefined data 'elsewhere'"):
        finalise(obj, ["f"])


def test_weak_function_that_may_be_absent_is_refused() -> None:
    obj = emit("declare extern_weak void @maybe()\ndefine void @f() {\n  call void @maybe()\n  ret void\n}\n")
    with pytest.raises(InternalError, match="FUNCTION_INDEX_LEB"):
        finalise(obj, ["f"])


def test_thread_local_data_is_refused() -> None:
    ir = "@own = thread_local global i32 5\ndefine i32 @f() {\n  %v = load i32, ptr @own\n  ret i32 %v\n}\n"
    obj = emit_object(HEADER + ir, relaxed=False, threads=True)
    with pytest.raises(InternalError, match="thread-local"):
        finalise(obj, ["f"])


def test_static_constructors_are_refused() -> None:
    obj = emit(
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] "
        "[{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]\n"
        "define void @f() {\n  ret void\n}\n"
    )
    with pytest.raises(InternalError, match="static constructors"):
        finalise(obj, ["f"])


@pytest.mark.parametrize(
    "kind", [RelocationKind.TAG_INDEX_LEB, RelocationKind.MEMORY_ADDR_LEB64, RelocationKind.MEMORY_ADDR_TLS_SLEB]
)
def test_relocation_that_is_not_supported_is_named(kind: RelocationKind, monkeypatch: pytest.MonkeyPatch) -> None:
    obj = parse_object(object_of("calls"))
    functions = tuple(
        replace(f, relocations=tuple(replace(r, kind=kind) for r in f.relocations)) if isinstance(f, Function) else f
        for f in obj.functions
    )
    monkeypatch.setattr(finalise_module, "parse_object", lambda data: replace(obj, functions=functions))
    with pytest.raises(InternalError, match=f"relocation {kind.name} of .* is not supported"):
        finalise(b"", ["sum_of_squares"])


def test_more_static_data_than_memory_is_refused() -> None:
    with pytest.raises(InternalError, match="more than 1 pages"):
        finalise(object_of("static_data"), ["lookup"], max_pages=1)


def test_stack_size_is_rounded_up_to_its_alignment() -> None:
    assert finalise(object_of("calls"), ["on_stack"], stack_bytes=100).heap_base == 128
    stack_top = binary.i32_const(112)
    assert stack_top in sections_of(finalise(object_of("calls"), ["on_stack"], stack_bytes=100).module)[binary.GLOBAL]
