"""Emission: features, order of the code, errors, and LLVM options that stay where they were."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest
from wasm.linking import PROGRAMS, object_of
from webnn_compile.codegen.llvm_function import render_kernel
from webnn_compile.codegen.llvm_module import LlvmModule
from webnn_compile.cpu.compile_for_cpu import LOWERING_PASSES, RELAXED_PASSES, KernelPass, lower_kernel
from webnn_compile.dtypes import F32
from webnn_compile.errors import InternalError
from webnn_compile.ir.nodes import Binary, Buffer, For, Kernel, Load, LoopKind, Store, Var
from webnn_compile.wasm.emit import BASE_FEATURES, emit_assembly, emit_object
from webnn_compile.wasm.triple import HEADER, TRIPLE


def tile_program(rows: int) -> str:
    """A loop like a matrix product's: `rows` x 2 vectors of sums, enough of them that the order of the code matters."""
    names = [f"{row}.{column}" for row in range(rows) for column in range(2)]
    body = [f"  %b{j} = load <4 x float>, ptr %q{j or ''}, align 16" for j in range(2)]
    for row in range(rows):
        body += [
            f"  %p{row} = getelementptr inbounds nuw i8, ptr %p, i32 {256 * row}",
            f"  %e{row} = load float, ptr %p{row}, align 4",
            f"  %i{row} = insertelement <4 x float> poison, float %e{row}, i32 0",
            f"  %a{row} = shufflevector <4 x float> %i{row}, <4 x float> poison, <4 x i32> zeroinitializer",
        ]
        for column in range(2):
            body += [
                f"  %m{row}.{column} = fmul contract <4 x float> %a{row}, %b{column}",
                f"  %n{row}.{column} = fadd contract <4 x float> %m{row}.{column}, %c{row}.{column}",
            ]
    return "\n".join(
        [
            "define void @tile(ptr noalias %x, ptr noalias %y, ptr noalias %z, i32 %n) {",
            "entry:",
            "  br label %loop",
            "loop:",
            "  %p = phi ptr [ %x, %entry ], [ %p.next, %loop ]",
            "  %q = phi ptr [ %y, %entry ], [ %q.next, %loop ]",
            "  %k = phi i32 [ %n, %entry ], [ %k.next, %loop ]",
            *(f"  %c{n} = phi <4 x float> [ zeroinitializer, %entry ], [ %n{n}, %loop ]" for n in names),
            "  %q1 = getelementptr inbounds nuw i8, ptr %q, i32 16",
            *body,
            "  %p.next = getelementptr inbounds nuw i8, ptr %p, i32 4",
            "  %q.next = getelementptr inbounds nuw i8, ptr %q, i32 32",
            "  %k.next = add i32 %k, -1",
            "  %more = icmp ne i32 %k.next, 0",
            "  br i1 %more, label %loop, label %exit",
            "exit:",
            *(f"  %z{n} = getelementptr inbounds nuw i8, ptr %z, i32 {16 * i}" for i, n in enumerate(names)),
            *(f"  store <4 x float> %n{n}, ptr %z{n}, align 16" for n in names),
            "  ret void",
            "}",
        ]
    )


TILE = tile_program(6)


def plain_assembly(ir: str, triple: str, features: str) -> str:
    """LLVM's output with the options as they are in this process."""
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu="generic", features=features, opt=3)
    return str(machine.emit_assembly(llvm.parse_assembly(ir, llvm.create_context())))


def test_options_of_llvm_are_put_back() -> None:
    object_of("simd")  # LLVM is initialised from here on
    wasm = ",".join(BASE_FEATURES)
    host = llvm.get_process_triple()

    def both() -> tuple[str, str]:
        return plain_assembly(HEADER + TILE, TRIPLE, wasm), plain_assembly(TILE, host, "")

    before = both()
    # This program can tell: each of the two options changes the code made from it.
    for option, restored in (("-disable-lsr", "-disable-lsr=false"), ("-pre-RA-sched=source", "-pre-RA-sched=default")):
        llvm.set_option("", option)
        assert both() != before
        llvm.set_option("", restored)
        assert both() == before
    emit_object(HEADER + TILE, relaxed=False)
    assert both() == before
    with pytest.raises(InternalError):
        emit_object("nonsense", relaxed=False)
    assert both() == before


def test_relaxed_and_plain_differ_in_the_fused_instruction() -> None:
    madd = bytes.fromhex("fd8502")  # f32x4.relaxed_madd
    assert madd in object_of("simd", relaxed=True)
    assert madd not in object_of("simd")


def test_equal_input_gives_equal_bytes() -> None:
    ir = HEADER + (PROGRAMS / "static_data.ll").read_text()
    assert emit_object(ir, relaxed=True) == emit_object(ir, relaxed=True)


def test_only_what_asks_for_it_is_inlined() -> None:
    ir = """
define internal i32 @always(i32 %x) alwaysinline {
  %r = mul i32 %x, 12345
  ret i32 %r
}
define internal i32 @outlined(i32 %x) {
  %r = mul i32 %x, 54321
  ret i32 %r
}
define i32 @f(i32 %x) {
  %a = call i32 @always(i32 %x)
  %b = call i32 @outlined(i32 %a)
  ret i32 %b
}
"""
    obj = emit_object(HEADER + ir, relaxed=False)
    assert b"outlined" in obj
    assert b"always" not in obj


@pytest.mark.parametrize(
    ("ir", "message"),
    [
        ("define i32 @f() { ret i32 %x }", "use of undefined value"),
        ("define i32 @f(i32 %x) {\nentry:\n  %y = phi i32 [ 0, %entry ]\n  ret i32 %y\n}", "LLVM refuses"),
    ],
)
def test_ir_that_llvm_refuses_is_an_internal_error(ir: str, message: str) -> None:
    with pytest.raises(InternalError, match=f"(?s)wasm: LLVM refuses the generated code: .*{message}|{message}"):
        emit_object(HEADER + ir, relaxed=False)


@pytest.mark.parametrize("op", ["max", "min"])
def test_extremes_keep_nan_with_relaxed_simd(op: str) -> None:
    """The relaxed instructions give their second operand where one is NaN (on x86): a, then."""
    i = Var("i", 4)
    a, b, y = (Buffer(name, (4,), F32) for name in "aby")
    store = Store(y, (i,), Binary(op, Load(a, (i,)), Load(b, (i,))))
    kernel = Kernel("extreme", (a, b, y), For(i, store, LoopKind.VECTOR))

    def code(passes: tuple[KernelPass, ...], relaxed: bool) -> list[str]:
        module = LlvmModule()
        render_kernel(lower_kernel(kernel, passes), module)
        text = emit_assembly(HEADER + module.text("").replace("define internal", "define"), relaxed=relaxed)
        return [line.strip() for line in text.splitlines() if line.startswith("\t")]

    def order(lines: list[str], instruction: str) -> list[str]:
        """The parameters whose addresses are taken before the instruction."""
        return [s.split()[1] for s in lines[: lines.index(instruction)] if s.startswith("local.get")][-2:]

    assert order(code(LOWERING_PASSES, False), f"f32x4.p{op}") == ["0", "1"]
    assert order(code(RELAXED_PASSES, True), f"f32x4.relaxed_{op}") == ["1", "0"]
