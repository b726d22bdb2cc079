"""Products of four bytes by instructions that add fewer: they mean the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kernel_checks import NARROW, run_kernel
from webnn_compile.dtypes import I32
from webnn_compile.ir.nodes import Binary, Buffer, Const, Expr, For, Kernel, Load, Store, Var
from webnn_compile.ir.rewrite import walk
from webnn_compile.ir.scalar_ops import DOTS, QUADS, SIGNED
from webnn_compile.ir.verify import verify_kernel
from webnn_compile.schedule.choose_quads import choose_quads
from webnn_compile.schedule.own_dots import own_dots
from webnn_compile.schedule.sign_quads import sign_quads
from webnn_compile.target import GENERIC, WASM_BYTES, WASM_PLAIN, WASM_RELAXED, Target

ARM = WASM_BYTES["signed"]
AVX = replace(NARROW, dots=("dot_pairs",), short_dots="avx_short_dots")
VNNI = replace(NARROW, dots=("dot_pairs", "vnni_dot_unsigned_quads"))
COUNT = 64


def sum_of_dots(terms: int, bits: int) -> Kernel:
    """Sums of dots of the low bits of the bytes of words, and another term."""
    i = Var("i", COUNT)
    a, b, y = Buffer("a", (COUNT,), I32), Buffer("b", (terms, COUNT), I32), Buffer("y", (COUNT,), I32)
    total: Expr = Load(a, (i,))
    word: Expr = Load(a, (i,))
    if bits < 8:
        word = word & ((1 << bits) - 1) * 0x01010101
    for t in range(terms):
        total = total + Binary(QUADS, word, Load(b, (Const(t), i)))
    return Kernel("k", (a, b, y), For(i, Store(y, (i,), total)))


@pytest.mark.parametrize(
    "target", [WASM_RELAXED, WASM_PLAIN, ARM, AVX, VNNI, GENERIC], ids=lambda t: f"{t.name}-{t.dots}"
)
@pytest.mark.parametrize(("terms", "bits"), [(1, 4), (8, 4), (9, 4), (3, 7), (2, 2)])
def test_sums(target: Target, terms: int, bits: int) -> None:
    kernel = sum_of_dots(terms, bits)
    chosen = replace(kernel, body=choose_quads(kernel.body, target))
    generator = np.random.default_rng(0)
    a = generator.integers(-(2**31), 2**31, COUNT).astype(np.int32)
    b = generator.integers(-(2**31), 2**31, (terms, COUNT)).astype(np.int32)
    # The largest products, too, which are to fit.
    a[:2], b[:, 0], b[:, 1] = -1, -0x7F7F7F80, 0x7F7F7F7F
    used = a.view(np.uint8).reshape(COUNT, 4).astype(np.int64) & ((1 << bits) - 1)
    want = a + np.einsum("ij,tij->i", used, b.view(np.int8).reshape(terms, COUNT, 4).astype(np.int64))
    for k in (kernel, chosen):
        np.testing.assert_array_equal(run_kernel(k, [a, b])[0], want.astype(np.int32))


def operations(target: Target, bits: int) -> list[str]:
    body = choose_quads(sum_of_dots(9, bits).body, target)
    return [n.op for n in walk(body) if isinstance(n, Binary)]


def test_instructions() -> None:
    relaxed = operations(WASM_RELAXED, 4)
    # Eight of nine fit 16 bits together.
    assert (relaxed.count("wasm_short_dots"), relaxed.count("add_shorts"), relaxed.count("wasm_dot_pairs")) == (9, 7, 2)
    # Operands of eight bits, which the relaxed instruction may take for negative numbers.
    assert "wasm_short_dots" not in operations(WASM_RELAXED, 8)
    assert operations(WASM_PLAIN, 4).count("wasm_dot_pairs") == 18
    assert operations(ARM, 4).count("wasm_dot_signed_quads") == 9
    assert operations(ARM, 8).count("wasm_dot_signed_quads") == 0
    assert operations(VNNI, 4).count("vnni_dot_unsigned_quads") == 9
    assert operations(GENERIC, 4).count("dot_pairs") == 18


@pytest.mark.parametrize(("bits", "dots"), [(4, 3), (7, 3), (8, 6)])
def test_both_operands_signed(bits: int, dots: int) -> None:
    """Where bytes may have 8 bits, the sum of the other operand's is another product."""
    kernel = sum_of_dots(3, bits)
    signed = replace(kernel, body=sign_quads(kernel.body))
    verify_kernel(signed, "sign_quads")
    made = [n.op for n in walk(signed.body) if isinstance(n, Binary)]
    assert (made.count(SIGNED), made.count(QUADS)) == (dots, 0)
    generator = np.random.default_rng(0)
    a = generator.integers(-(2**31), 2**31, COUNT).astype(np.int32)
    b = generator.integers(-(2**31), 2**31, (3, COUNT)).astype(np.int32)
    a[:3], b[:, 0], b[:, 1], b[:, 2] = (-1, -0x7F7F7F80, 0x7F7F7F7F), -0x7F7F7F80, 0x7F7F7F7F, -1
    np.testing.assert_array_equal(run_kernel(signed, [a, b])[0], run_kernel(kernel, [a, b])[0])


@pytest.mark.parametrize("target", [WASM_PLAIN, ARM, AVX, VNNI, GENERIC], ids=lambda t: f"{t.name}-{t.dots}")
@pytest.mark.parametrize("op", DOTS)
def test_instructions_of_others(target: Target, op: str) -> None:
    """Models that were lowered for another processor: as instructions of the target, or as none in particular."""
    i = Var("i", COUNT)
    a, b, y = (Buffer(name, (COUNT,), I32) for name in "aby")
    kernel = Kernel("k", (a, b, y), For(i, Store(y, (i,), Binary(op, Load(a, (i,)), Load(b, (i,))))))
    own = own_dots(kernel, target.dots)
    (used,) = [n.op for n in walk(own.body) if isinstance(n, Binary)]
    assert used in (*target.dots, "dot_pairs", QUADS, SIGNED)
    assert (own is kernel) == (used == op)
    generator = np.random.default_rng(0)
    words = [generator.integers(-(2**31), 2**31, COUNT).astype(np.int32) for _ in range(2)]
    np.testing.assert_array_equal(run_kernel(own, words)[0], run_kernel(kernel, words)[0])
