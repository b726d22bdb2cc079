"""Integer contractions as sums over words: schedules and all lowering stages against NumPy, and which kernels take
them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from kernel_checks import NARROW, WIDE, check_model, stages_of
from onnx_models import integer_product, node, random_integers
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.printer import print_kernel
from webnn_compile.ir.scalar_ops import DOTS
from webnn_compile.passes.count_work import count_work
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED, layouts_for

WIDEST = replace(WIDE, name="widest", lanes=16, registers=21)
PAIRED = [*(replace(t, dots=("dot_pairs",)) for t in (NARROW, WIDE, WIDEST)), WASM_RELAXED, WASM_PLAIN]
QUADS = [
    replace(t, dots=("dot_pairs", op))
    for t in (NARROW, WIDEST)
    for op in DOTS
    if op.startswith(("vnni_", "neon_", "wasm_dot_")) and DOTS[op].group == 4
]
WORDED = [*PAIRED, *QUADS]


def texts(proto: onnx.ModelProto, target: Any) -> list[str]:
    """The scheduled kernels."""
    lowered = lower_model(run_graph_passes(import_model(proto)), policy=layouts_for(target))
    return [print_kernel(dict(stages)["schedule_cpu"]) for _, stages in stages_of(lowered, target)]


@pytest.mark.parametrize("seed", range(24))
def test_product_of_matrices(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows, depth, columns = (int(n) for n in generator.integers(1, 40, 3))
    dtype = [np.int8, np.uint8][seed % 2]
    w = random_integers(generator, (depth, columns), [np.int8, np.uint8][seed % 3 == 0])
    proto = integer_product("MatMulInteger", (rows, depth), w, (100, (0, 17)[seed % 5 == 0]), dtype)
    check_model(proto, [WORDED[seed % len(WORDED)]], work=60_000)


@pytest.mark.parametrize("seed", range(24))
def test_convolution(seed: int) -> None:
    generator = np.random.default_rng(100 + seed)
    group = (1, 1, 2)[seed % 3]
    depth, filters = (int(n) for n in generator.integers(1, 9, 2))
    kernel = (int(generator.integers(1, 4)), int(generator.integers(1, 4)))
    w = random_integers(generator, (filters * group, depth, *kernel), [np.int8, np.uint8][seed % 4 == 0])
    proto = integer_product(
        "ConvInteger",
        (1, depth * group, 5, int(generator.integers(4, 9))),
        w,
        (7, (0, 128)[seed % 4 == 0]),
        group=group,
        strides=[int(n) for n in generator.integers(1, 3, 2)],
        pads=[int(n) for n in generator.integers(0, 2, 4)],
    )
    check_model(proto, [WORDED[seed % len(WORDED)]], work=60_000)


@pytest.mark.parametrize("target", PAIRED, ids=lambda t: t.name)
@pytest.mark.parametrize(
    ("shape", "taps", "strides", "words"),
    [
        ((1, 3, 9, 12), (3, 3), (2, 2), 5),
        ((2, 3, 11, 13), (7, 7), (2, 2), 11),
        ((1, 3, 4, 13), (2, 4), (1, 4), 6),
        ((1, 3, 1, 14), (1, 3), (3, 2), 5),
    ],
)
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (1, 2, 3, 0), (0, 1, 0, 2)])
def test_rows_of_windows_of_few_channels_are_words(
    target: Any,
    shape: tuple[int, ...],
    taps: tuple[int, int],
    strides: tuple[int, int],
    words: int,
    pads: tuple[int, ...],
) -> None:
    """So many for each row, where channels by themselves would take more."""
    w = random_integers(np.random.default_rng(words), (6, shape[1], *taps), np.int8)
    padding = tuple(p * (taps[d % 2] > 1) for d, p in enumerate(pads))
    proto = integer_product("ConvInteger", shape, w, (3, 0), strides=strides, pads=padding)
    check_model(proto, [target], work=60_000)
    packed = re.compile(rf"w\.rows: \w+\[[^]]*\b{taps[0]}, {words}, \d+\] const of \[6, {taps[0]}, {3 * taps[1]}\]")
    assert any(map(packed.search, texts(proto, target)))


@pytest.mark.parametrize("target", PAIRED, ids=lambda t: t.name)
def test_pairs_are_multiplied_by_an_instruction(target: Any) -> None:
    generator = np.random.default_rng(1)
    w = random_integers(generator, (40, 32), np.int8)
    product = texts(integer_product("MatMulInteger", (12, 40), w, (3, 0)), target)
    assert f" {target.dots[0]} " in product[-1]
    assert "w: int16[" in product[-1]  # words of two int8
    w = random_integers(generator, (16, 8, 3, 3), np.int8)
    convolution = texts(integer_product("ConvInteger", (1, 8, 10, 10), w, (3, 0), pads=[1, 1, 1, 1]), target)
    assert f" {target.dots[0]} " in convolution[-1]


@pytest.mark.parametrize("target", QUADS, ids=lambda t: f"{t.name}-{t.dots[1]}")
def test_bytes_are_multiplied_in_fours_by_an_instruction(target: Any) -> None:
    """Also those of a padded convolution with a zero point, and of three channels."""
    generator = np.random.default_rng(1)
    w = random_integers(generator, (40, 32), np.int8) // 2
    product = texts(integer_product("MatMulInteger", (12, 40), w, (3, 0)), target)
    assert f" {target.dots[1]} " in product[-1]
    assert "w: int32[" in product[-1]  # words of four int8
    for channels in (8, 3):
        w = random_integers(generator, (16, channels, 3, 3), np.int8) // 2
        convolution = texts(integer_product("ConvInteger", (1, channels, 10, 10), w, (3, 0), pads=[1, 1, 1, 1]), target)
        assert any(f" {target.dots[1]} " in text for text in convolution)


def test_bytes_that_make_no_groups_of_four_are_multiplied_in_pairs() -> None:
    w = random_integers(np.random.default_rng(1), (38, 32), np.int8)
    assert " dot_pairs " in texts(integer_product("MatMulInteger", (12, 38), w, (3, 0)), QUADS[0])[-1]


@pytest.mark.parametrize("target", WORDED, ids=lambda t: f"{t.name}-{t.dots[-1]}")
def test_rows_of_an_odd_length_are_words(target: Any) -> None:
    """The last of them with an element that the weights multiply by zero."""
    w = random_integers(np.random.default_rng(1), (39, 32), np.int8)
    proto = integer_product("MatMulInteger", (5, 39), w, (3, 0))
    assert f" {target.dots[0]} " in texts(proto, target)[-1]
    check_model(proto, [target], work=60_000)


@pytest.mark.parametrize("target", WORDED, ids=lambda t: f"{t.name}-{t.dots[-1]}")
@pytest.mark.parametrize("depth", [13, 24])
def test_transposed_operands_are_stored_along_rows(target: Any, depth: int) -> None:
    """Quanta as they are, and less a zero point."""
    w = random_integers(np.random.default_rng(depth), (depth, 20), np.int8) // 2
    for zero in (0, 9):
        proto = integer_product("MatMulInteger", (depth, 7), w, (zero, 0))
        proto.graph.node[0].input[0] = "t"
        proto.graph.node.insert(0, node("Transpose", ["x"], ["t"], perm=(1, 0)))
        assert any(f" {op} " in texts(proto, target)[-1] for op in target.dots)
        check_model(proto, [target], work=60_000)


def test_without_the_instruction_elements_are_multiplied() -> None:
    w = random_integers(np.random.default_rng(2), (40, 32), np.int8)
    proto = integer_product("MatMulInteger", (12, 40), w, (3, 0))
    assert all("dot_pairs" not in text for text in texts(proto, NARROW))


def test_weights_that_less_their_zero_point_need_nine_bits_are_widened_at_load() -> None:
    """The model has them in 8 bits, and so does the file."""
    w = random_integers(np.random.default_rng(3), (300, 64), np.uint8)
    compiled = webnn_compile.compile(integer_product("MatMulInteger", (5, 300), w, (9, 40)), "native")
    assert isinstance(compiled, NativeModel)
    assert w.nbytes <= len(compiled.program.weights) < 1.1 * w.nbytes
    assert compiled.program.prepared >= 2 * w.nbytes
    x = random_integers(np.random.default_rng(4), (5, 300), np.uint8)
    want = (x.astype(np.int64) - 9) @ (w.astype(np.int64) - 40)
    np.testing.assert_array_equal(compiled.run({"x": x})["y"], want)


@pytest.mark.parametrize("target", ["native", "wasm", "wasm-relaxed"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_extremes(target: str, sign: int) -> None:
    """The largest sums of two products, of 2 * 255 * 255."""
    w = np.full((64, 48), 0 if sign < 0 else 255, np.uint8)
    proto = integer_product("MatMulInteger", (7, 64), w, (0, 255 if sign < 0 else 0))
    x = np.full((7, 64), 255, np.uint8)
    y = webnn_compile.compile(proto, target).run({"x": x})["y"]
    np.testing.assert_array_equal(y, np.full((7, 48), sign * 64 * 255 * 255))


def test_products_of_integers_count_as_work() -> None:
    w = random_integers(np.random.default_rng(5), (40, 32), np.int8)
    lowered = lower_model(run_graph_passes(import_model(integer_product("MatMulInteger", (12, 40), w, (0, 0)))))
    assert count_work(lowered.kernels[-1], lowered.kernels[-1]) == 2 * 12 * 40 * 32
