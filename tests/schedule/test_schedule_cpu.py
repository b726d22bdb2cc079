"""The schedules that rules choose compute what NumPy does: random operators of awkward sizes, for narrow and wide
vectors. Outputs hold NaN before, so that what is left out shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from kernel_checks import NARROW, WIDE, check_model, stages_of
from onnx_models import Array, model, node, random
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Alloc, For, LoopKind, Outline
from webnn_compile.ir.rewrite import walk
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import WASM_PLAIN, WASM_RELAXED, Target

WIDEST = Target("widest", lanes=16, registers=31, fused=True)
FEW_REGISTERS = Target("few", lanes=4, registers=6, fused=False)
TARGETS = (NARROW, WIDE, FEW_REGISTERS, WIDEST)
WORK = 60_000


def check(proto: onnx.ModelProto, seed: int, **options: Any) -> None:
    """On one target after the other, by the seed."""
    check_model(proto, [TARGETS[seed % len(TARGETS)]], work=WORK, **options)


def convolution(generator: np.random.Generator, rank: int) -> tuple[list[int], Array, dict[str, Any]]:
    """Input shape, weights, attributes."""
    group = int(generator.choice([1, 1, 1, 2, 3]))
    cin, cout = (group * int(generator.integers(1, 6)) for _ in range(2))
    if generator.random() < 0.2:
        group = cin
        cout = cin * int(generator.integers(1, 3))
    kernel = generator.integers(1, 4, rank)
    dilations, strides = generator.integers(1, 3, rank), generator.integers(1, 4, rank)
    pads = generator.integers(0, 3, 2 * rank)
    reach = (kernel - 1) * dilations + 1
    extents = np.maximum(generator.integers(2, 7, rank), reach - pads[:rank] - pads[rank:])
    attributes = {
        "group": group,
        "dilations": dilations.tolist(),
        "strides": strides.tolist(),
        "pads": pads.tolist(),
    }
    return [1, cin, *map(int, extents)], random((cout, cin // group, *kernel)), attributes


@pytest.mark.parametrize("seed", range(16))
def test_convolution(seed: int) -> None:
    generator = np.random.default_rng(seed)
    shape, weights, attributes = convolution(generator, 2)
    proto = model([node("Conv", ["x", "w"], ["y"], **attributes)], {"x": shape}, ["y"], {"w": weights})
    check(proto, seed, opt_level=2 - (seed % 4 == 3))


@pytest.mark.parametrize("seed", range(6))
def test_convolution_of_one_dimension(seed: int) -> None:
    generator = np.random.default_rng(100 + seed)
    shape, weights, attributes = convolution(generator, 1)
    proto = model([node("Conv", ["x", "w"], ["y"], **attributes)], {"x": shape}, ["y"], {"w": weights})
    check(proto, seed)


@pytest.mark.parametrize("seed", range(8))
def test_two_convolutions_with_bias_activation_and_residual(seed: int) -> None:
    """The tensor between has a border, odd channels that are rounded up, and another reader."""
    generator = np.random.default_rng(200 + seed)
    channels = int(generator.integers(1, 10))
    weights = {"w": random((channels, 3, 1, 1)), "b": random((channels,)), "v": random((channels, channels, 3, 3))}
    nodes = [
        node("Conv", ["x", "w", "b"], ["a"]),
        node("Relu", ["a"], ["r"]),
        node("Conv", ["r", "v", "b"], ["c"], pads=[1, 1, 1, 1]),
        node("Add", ["c", "r"], ["s"]),
        node("Relu", ["s"], ["y"]),
    ]
    check(model(nodes, {"x": [1, 3, 3, int(generator.integers(1, 4))]}, ["y"], weights), seed)


@pytest.mark.parametrize(("channels", "group"), [(6, 3), (6, 2), (9, 3), (10, 5)])
def test_groups_of_rounded_channels(channels: int, group: int) -> None:
    """Rounding up adds a group that is none: it reads no weights beyond the last."""
    weights = {
        "u": random((channels, 3, 1, 1)),
        "v": random((channels, channels // group, 3, 3)),
        "w": random((2, channels, 1, 1)),
    }
    nodes = [
        node("Conv", ["x", "u"], ["a"]),
        node("Conv", ["a", "v"], ["b"], group=group, pads=[1] * 4),
        node("Conv", ["b", "w"], ["y"]),
    ]
    proto = model(nodes, {"x": [1, 3, 2, 3]}, ["y"], weights)
    check_model(proto, TARGETS, work=WORK)


@pytest.mark.parametrize("seed", range(8))
def test_pooling(seed: int) -> None:
    generator = np.random.default_rng(300 + seed)
    kernel = generator.integers(1, 4, 2)
    pads = [int(generator.integers(0, k)) for k in (*kernel, *kernel)]
    shape = [1, int(generator.integers(1, 10)), *map(int, generator.integers(4, 8, 2))]
    strides = generator.integers(1, 3, 2).tolist()
    op = ("MaxPool", "AveragePool")[seed % 2]
    attributes = {"kernel_shape": kernel.tolist(), "strides": strides, "pads": pads}
    check(model([node(op, ["x"], ["y"], **attributes)], {"x": shape}, ["y"]), seed)


@pytest.mark.parametrize("window", [(3, 3), (5, 5), (2, 9)])
@pytest.mark.parametrize("target", TARGETS)
def test_overlapping_windows(window: tuple[int, int], target: Target) -> None:
    """Neighbours stand in one tile. A loop runs over the rows of a window, unless a guard has to be decided."""
    pads = [window[0] // 2, window[1] // 2] * 2
    nodes = [
        node("Conv", ["x", "w"], ["a"], group=4, pads=pads),
        node("MaxPool", ["a"], ["y"], kernel_shape=list(window), pads=pads),
    ]
    proto = model(nodes, {"x": [1, 4, 5, 9]}, ["y"], {"w": random((4, 1, *window))})
    check_model(proto, [target], work=200_000)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean", "ReduceL2"])
@pytest.mark.parametrize(("shape", "axes"), [([3, 37], [1]), ([37, 3], [0]), ([2, 5, 19], [1]), ([2, 5, 19], [1, 2])])
def test_reduction(op: str, shape: list[int], axes: list[int]) -> None:
    """Along contiguous and along strided axes."""
    proto = model([node(op, ["x", "axes"], ["y"])], {"x": shape}, ["y"], {"axes": np.asarray(axes)}, opset=18)
    check(proto, len(op) + len(shape))


@pytest.mark.parametrize("seed", range(8))
def test_matrix_product(seed: int) -> None:
    """Either operand constant, transposed, or neither."""
    generator = np.random.default_rng(400 + seed)
    rows, depth, columns = (int(n) for n in generator.integers(1, 20, 3))
    left, right = [rows, depth], [depth, columns]
    turn_left, turn_right = (bool(b) for b in generator.integers(0, 2, 2))
    nodes = [node("Gemm", ["a", "b"], ["y"], transA=int(turn_left), transB=int(turn_right))]
    shapes = {"a": left[::-1] if turn_left else left, "b": right[::-1] if turn_right else right}
    constant = ("a", "b", None)[int(generator.integers(0, 3))]
    weights = {n: random(s) for n, s in shapes.items() if n == constant}
    inputs = {n: s for n, s in shapes.items() if n != constant}
    check(model(nodes, inputs, ["y"], weights), seed)


@pytest.mark.parametrize("seed", range(10))
def test_pointwise_with_broadcasting(seed: int) -> None:
    generator = np.random.default_rng(500 + seed)
    shape = [int(n) for n in generator.integers(1, 9, 4)]
    other = [n if generator.random() < 0.6 else 1 for n in shape][int(generator.integers(0, 4)) :]
    nodes = [node("Sub", ["x", "z"], ["a"]), node("Mul", ["a", "x"], ["b"]), node("Relu", ["b"], ["y"])]
    check(model(nodes, {"x": shape, "z": other}, ["y"]), seed)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_concat(seed: int, axis: int) -> None:
    generator = np.random.default_rng(600 + seed)
    shape = [2, 3, 5]
    inputs = {}
    for name in "xyz":
        shape[axis] = int(generator.integers(1, 8))
        inputs[name] = list(shape)
    nodes = [node("Concat", list(inputs), ["c"], axis=axis), node("Relu", ["c"], ["out"])]
    check(model(nodes, inputs, ["out"]), seed)


@pytest.mark.parametrize("seed", range(6))
def test_movement_before_a_convolution(seed: int) -> None:
    """Pads, slices, resizes and concatenations whose result has rounded channels and a border."""
    channels = 3 + seed % 8
    weights = {"w": random((2, channels, 3, 3)), "v": random((2, 2 * channels, 1, 1))}
    before, op = ["x"], "Pad"
    attributes: dict[str, Any] = {}
    match seed % 3:
        case 0:
            weights["p"] = np.asarray([0, 0, 1, 0, 0, 0, 0, 2])
            before = ["x", "p"]
        case 1:
            op, before, attributes = "Concat", ["x", "x"], {"axis": 1}
        case 2:
            op, before, attributes = "Resize", ["x", "", "scales"], {"mode": "nearest"}
            weights["scales"] = np.asarray([1, 1, 2, 2], np.float32)
    kernel = "v" if op == "Concat" else "w"
    pads = [0] * 4 if op == "Concat" else [1] * 4
    used = {n: a for n, a in weights.items() if n in before or n == kernel}
    nodes = [node(op, before, ["m"], **attributes), node("Conv", ["m", kernel], ["y"], pads=pads)]
    check(model(nodes, {"x": [1, channels, 3, 4]}, ["y"], used), seed)


def kinds(proto: onnx.ModelProto, target: Target) -> list[set[LoopKind]]:
    """The kinds of loop in each scheduled kernel."""
    lowered = lower_model(run_graph_passes(import_model(proto)))
    return [
        {n.kind for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, For)}
        for _, stages in stages_of(lowered, target)
    ]


def test_long_rows_are_vectors() -> None:
    (found,) = kinds(model([node("Relu", ["x"], ["y"])], {"x": [3, 50]}, ["y"]), NARROW)
    assert LoopKind.VECTOR in found


def test_a_contraction_has_vector_columns_in_a_function_of_its_own() -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [7, 5]}, ["y"], {"w": random((5, 11))})
    lowered = lower_model(run_graph_passes(import_model(proto)))
    ((_, stages),) = stages_of(lowered, NARROW)
    body = dict(stages)["schedule_cpu"].body
    assert any(isinstance(n, Outline) for n in walk(body))
    lanes = {n.var.extent for n in walk(body) if isinstance(n, For) and n.kind is LoopKind.VECTOR}
    assert lanes == {4}


@pytest.mark.parametrize(("depth", "panels"), [(16, 6), (40, 1)])
def test_short_products_have_all_panels_in_one_function(depth: int, panels: int) -> None:
    """Where a call would take a while of what the tile takes."""
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [900, depth]}, ["y"], {"w": random((depth, 48))})
    check_model(proto, [NARROW], work=10**7)
    lowered = lower_model(run_graph_passes(import_model(proto)))
    ((_, stages),) = stages_of(lowered, NARROW)
    function = next(n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, Outline))
    around = function.body.var.extent if isinstance(function.body, For) else 1
    assert around == panels


@pytest.mark.parametrize(("depth", "together"), [(16, [4]), (10, [2]), (9, [3]), (11, [])])
def test_steps_of_the_reduction_are_one_iteration_in_order(depth: int, together: list[int]) -> None:
    """As many as divide it, up to the target's; each kernel is compared with NumPy after every stage."""
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [7, depth]}, ["y"], {"w": random((depth, 11))})
    check_model(proto, [NARROW], work=10**6)
    lowered = lower_model(run_graph_passes(import_model(proto)))
    ((_, stages),) = stages_of(lowered, NARROW)
    loops = [n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, For)]
    assert sorted({n.var.extent for n in loops if n.kind is LoopKind.IN_ORDER}) == together


@pytest.mark.parametrize(("height", "width"), [(7, 7), (6, 6), (4, 13)])
def test_lines_of_a_narrow_image_share_tiles(height: int, width: int) -> None:
    """Tiles are full but for the last of a band, whatever the width; the results are NumPy's."""
    weights = random((8, 3, 3, 3))
    shape = [1, 3, height, width]
    proto = model([node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])], {"x": shape}, ["y"], {"w": weights})
    check_model(proto, [NARROW], work=10**6)
    lowered = lower_model(run_graph_passes(import_model(proto)))
    _, stages = next(s for s in stages_of(lowered, NARROW) if s[0].reduce is not None)
    tiles = [n for n in walk(stages[1][1].body) if isinstance(n, For) and n.kind is LoopKind.UNROLL and n.parallel]
    rows = [n.var.extent for n in tiles if any(isinstance(x, Outline) for x in walk(n.body))]
    row_by_row = height * -(-width // NARROW.tile_rows(2))
    assert 0 < sum(rows) < row_by_row


def test_tiles_fit_the_registers() -> None:
    for target in TARGETS:
        for vectors in (1, 2, 3):
            rows = target.tile_rows(vectors)
            assert rows >= 1
            if rows > 1:
                assert rows * vectors + vectors + (1 if target.fused else 2) <= target.registers


def test_rounded_channels_are_computed_in_vectors() -> None:
    """Five channels lie as eight: no scalar tail."""
    weights = {"w": random((5, 4, 1, 1)), "v": random((4, 5, 3, 3))}
    nodes = [node("Conv", ["x", "w"], ["a"]), node("Relu", ["a"], ["r"]), node("Conv", ["r", "v"], ["y"])]
    lowered = lower_model(run_graph_passes(import_model(model(nodes, {"x": [1, 4, 6, 6]}, ["y"], weights))))
    first = next(k for k in lowered.kernels if k.name == "conv_relu")
    assert [n.var.extent for n in walk(first.body) if isinstance(n, For)][:3] == [6, 6, 8]


def test_the_rows_of_overlapping_windows_stay_a_loop() -> None:
    """So that what is loaded for a row fits the registers: eight neighbours, whose channels go into one function."""
    weights = {"w": random((8, 1, 3, 3))}
    proto = model([node("Conv", ["x", "w"], ["y"], group=8, pads=[1, 1, 1, 1])], {"x": [1, 8, 9, 16]}, ["y"], weights)
    lowered = lower_model(run_graph_passes(import_model(proto)))
    _, stages = next(s for s in stages_of(lowered, NARROW) if s[0].reduce is not None)
    function = next(n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, Outline))
    loops = [n for n in walk(function) if isinstance(n, For)]
    assert loops[0].var.extent == 2  # vectors of channels
    rows = [n for n in loops if not n.parallel and n.kind is LoopKind.SERIAL]
    columns = [n for n in loops if not n.parallel and n.kind is LoopKind.UNROLL]
    assert [n.var.extent for n in rows] == [n.var.extent for n in columns] == [3]
    assert {n.var.extent for n in loops if n.parallel and n.kind is LoopKind.UNROLL} == {8}


@pytest.mark.parametrize(("channels", "together"), [(3, 6), (2, 8)])
def test_copies_of_single_elements_are_unrolled(channels: int, together: int) -> None:
    """A picture's planes that become pixels: too few channels for a vector."""
    weights = {"w": random((4, channels, 3, 3))}
    proto = model([node("Conv", ["x", "w"], ["y"])], {"x": [1, channels, 5, 40]}, ["y"], weights)
    check_model(proto, [NARROW], work=10**6)
    lowered = lower_model(run_graph_passes(import_model(proto)))
    stages = stages_of(lowered, NARROW)[0][1]
    loops = [n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, For) and n.kind is LoopKind.UNROLL]
    assert np.prod([n.var.extent for n in loops]) == together


@pytest.mark.parametrize("shape", [[33, 18], [8, 8], [3, 21, 16]])
def test_transpositions_go_in_squares(shape: list[int]) -> None:
    axes = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    proto = model([node("Transpose", ["x"], ["y"], perm=axes)], {"x": shape}, ["y"])
    check_model(proto, [NARROW, WIDE], work=10**6)
    lowered = lower_model(run_graph_passes(import_model(proto)))
    stages = stages_of(lowered, NARROW)[0][1]
    loops = [n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, For)]
    written_out = {n.var.extent for n in loops if n.kind is LoopKind.UNROLL}
    assert max(written_out) == min(16, shape[-2])
    assert max(n.var.extent for n in loops if n.kind is LoopKind.SERIAL) <= max(3, min(16, shape[-1]))


def test_a_transposition_with_a_short_side_has_no_squares() -> None:
    proto = model([node("Transpose", ["x"], ["y"], perm=[1, 0])], {"x": [7, 40]}, ["y"])
    check_model(proto, [NARROW], work=10**6)
    stages = stages_of(lower_model(run_graph_passes(import_model(proto))), NARROW)[0][1]
    loops = [n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, For)]
    assert {n.var.extent for n in loops if n.kind is LoopKind.UNROLL} == {7}


@pytest.mark.parametrize("columns", [9, 20])
@pytest.mark.parametrize("width", range(1, 5))
def test_both_variants_for_wasm_read_the_same_weights(width: int, columns: int) -> None:
    """They have registers for tiles of other sizes; images are narrow, so that their lines may share tiles."""
    for lines in (1, 2, 3, 4):
        conv = node("Conv", ["x", "w"], ["y"], strides=[2, 2], pads=[0, 0, 0, 1])
        x, w = [1, 4, 2 * lines, 2 * width], {"w": random((columns, 4, 1, 1))}
        lowered = lower_model(import_model(model([conv], {"x": x}, ["y"], w)))
        relaxed, plain = (compile_for_cpu(lowered, t).weights for t in (WASM_RELAXED, WASM_PLAIN))
        assert relaxed == plain, lines


@pytest.mark.parametrize("columns", [1024, 1029])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_long_columns_are_added_a_line_of_memory_at_a_time(target: Target, columns: int) -> None:
    """Where their elements are so far apart that lines share sets of a cache: several vectors together."""
    proto = model([node("ReduceSum", ["x"], ["y"], keepdims=0, axes=[0])], {"x": [65, columns]}, ["y"], opset=11)
    check_model(proto, [target], work=10**7)
    ((_, stages),) = stages_of(lower_model(run_graph_passes(import_model(proto))), target)
    unrolled = [
        n.var.extent
        for n in walk(dict(stages)["schedule_cpu"].body)
        if isinstance(n, For) and n.kind is LoopKind.UNROLL
    ]
    assert (4 in unrolled) == (columns == 1024)


@pytest.mark.parametrize("columns", [4, 8, 12, 20])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_few_columns_that_are_far_apart(target: Target, columns: int) -> None:
    """Fewer than vectors have lanes, too: rows of a long matrix of which the last columns are summed."""
    nodes = [
        node("Slice", ["x", "from", "to", "axis"], ["s"]),
        node("ReduceSum", ["s"], ["y"], keepdims=0, axes=[0]),
    ]
    constants = {"from": np.asarray([1024 - columns]), "to": np.asarray([1024]), "axis": np.asarray([1])}
    check_model(model(nodes, {"x": [65, 1024]}, ["y"], constants, opset=11), [target], work=10**7)


@pytest.mark.parametrize("width", [4, 7, 30])
@pytest.mark.parametrize("channels", [2, 3])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_pictures_are_quantised_in_vectors_of_pixels(target: Target, channels: int, width: int) -> None:
    """Where their few channels are innermost in memory, for a convolution."""
    weights = {"w": random((5, channels, 3, 3)), "shift": random((1, channels, 1, 1))}
    nodes = [
        node("Mul", ["x", "shift"], ["m"]),
        node("Sigmoid", ["m"], ["n"]),
        node("Conv", ["n", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    proto = model(nodes, {"x": [1, channels, 5, width]}, ["y"], weights)
    check_model(proto, [target], work=WORK)
    lowered = lower_model(run_graph_passes(import_model(proto)))
    (_, stages), *_ = stages_of(lowered, target)
    rows = [n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, Alloc) and n.buffer.name == "rows"]
    assert {r.buffer.shape for r in rows} == {(channels, n) for n in (16, 8, 4) if n <= min(target.lanes, width)}


@pytest.mark.parametrize("count", [100, 1000, 2083])
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceSum"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_a_reduction_of_a_whole_tensor_has_several_vectors_of_partial_results(
    target: Target, op: str, count: int
) -> None:
    """Where each has many updates: one waits for the one before."""
    proto = model([node(op, ["x"], ["y"], keepdims=0)], {"x": [count]}, ["y"])
    check_model(proto, [target], work=WORK)
    stages = stages_of(lower_model(run_graph_passes(import_model(proto))), target)[0][1]
    (part,) = [n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, Alloc) and n.buffer.name == "part"]
    assert part.buffer.size == target.lanes * (4 if count >= 32 * target.lanes else 1)


@pytest.mark.parametrize("rows", [1, 2, 7, 131])
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceSum"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_rows_are_reduced_in_pairs_by_functions_of_several(target: Target, op: str, rows: int) -> None:
    proto = model([node(op, ["x"], ["y"], axes=[1], keepdims=0)], {"x": [rows, 67]}, ["y"], opset=11)
    check_model(proto, [target], work=WORK)
    stages = stages_of(lower_model(run_graph_passes(import_model(proto))), target)[0][1]
    body = dict(stages)["schedule_cpu"].body
    parts = {n.buffer.shape[:-1] for n in walk(body) if isinstance(n, Alloc) and n.buffer.name == "part"}
    assert parts == {1: {()}, 2: {(2,)}, 7: {(2,), (1,)}, 131: {(2,), (1,)}}[rows]
    regions = [n for n in walk(body) if isinstance(n, Outline)]
    assert any(isinstance(r.body, For) for r in regions) == (rows == 131)


@pytest.mark.parametrize("rows", [40, 131])
@pytest.mark.parametrize("columns", [20, 70, 130])
@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_one_row_by_a_computed_matrix_reads_whole_rows_of_it(target: Target, columns: int, rows: int) -> None:
    """Where that is larger than what the first level keeps, and its lines longer than a tile."""
    proto = model([node("MatMul", ["x", "w"], ["y"])], {"x": [3, 1, rows], "w": [3, rows, columns]}, ["y"])
    check_model(proto, [target], work=WORK)
    stages = stages_of(lower_model(run_graph_passes(import_model(proto))), target)[0][1]
    sums = [n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, Alloc) and n.buffer.name == "sums"]
    large = 4 * rows * columns > target.costs.operand_in_first_level
    assert [s.buffer.shape for s in sums] == ([(columns,)] if large and columns > 10 * target.lanes else [])


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_a_tensor_that_was_reshaped_is_read_in_vectors(target: Target) -> None:
    """Heads of an attention that become channels again, and are quantised: the range of all, and each element."""
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[0, 2, 1, 3]),
        node("Reshape", ["t", "shape"], ["r"]),
        node("DynamicQuantizeLinear", ["r"], ["y", "s", "z"]),
    ]
    proto = model(nodes, {"x": [1, 3, 9, 32]}, {"y": onnx.TensorProto.UINT8}, {"shape": np.array([1, 9, 96])})
    check_model(proto, [target], work=WORK)
    lowered = lower_model(run_graph_passes(import_model(proto)))
    for group, stages in stages_of(lowered, target):
        if any(t.name == "x" for t in group.reads):
            loops = [n for n in walk(dict(stages)["schedule_cpu"].body) if isinstance(n, For)]
            assert any(n.kind is LoopKind.VECTOR for n in loops)
