"""Weights of few bits that products widen in registers: the memory of a device, and the results."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, model, node, random
from webnn_compile.execution.device_model import DeviceModel
from webnn_compile.program.device_program import DeviceProgram

DEVICES = ["cuda", "opencl", "webgl", "webgpu"]


def compiled_for(target: str, proto: onnx.ModelProto, **options: object) -> DeviceModel:
    need_driver(target)
    compiled = webnn_compile.compile(proto, target, **options)  # type: ignore[arg-type]
    assert isinstance(compiled, DeviceModel)
    return compiled


def constant_bytes(program: DeviceProgram) -> int:
    """Bytes of device memory for constants, uploaded and computed at load, in a run and before."""
    values = {c.value for c in program.constants} | {launch.arguments[-1] for launch in program.prepare}
    return sum(program.storages[s].bytes for s in {program.values[v].storage for v in values})


class Quantised:
    """Weights of `bits` in blocks, as MatMulNBits has them, and the matrix (depth, columns) that they stand for."""

    def __init__(self, depth: int, columns: int, bits: int, size: int, zeros: str) -> None:
        r, blocks = np.random.default_rng(depth), -(-depth // size)
        elements = r.integers(0, 1 << bits, (columns, blocks * size)).astype(np.uint8)
        self.depth, self.columns, self.bits, self.size = depth, columns, bits, size
        self.scales = r.uniform(0.01, 0.02, (columns, blocks)).astype(np.float32)
        points = np.full((columns, blocks), 1 << (bits - 1), np.float32)
        self.constants = {"w": _packed(elements, bits).reshape(columns, blocks, -1), "s": self.scales}
        if zeros == "packed":
            whole = r.integers(0, 1 << bits, (columns, blocks)).astype(np.uint8)
            points, self.constants["z"] = whole.astype(np.float32), _packed(whole, bits)
        if zeros == "float":
            points = self.constants["z"] = r.uniform(0, 1 << bits, (columns, blocks)).astype(np.float32)
        scaled = (elements - points.repeat(size, 1)) * self.scales.repeat(size, 1)
        self.matrix: Array = scaled[:, :depth].T

    @property
    def bytes(self) -> int:
        return sum(a.nbytes for a in self.constants.values())

    def product(self, *rows: int | str) -> onnx.ModelProto:
        attributes = {"K": self.depth, "N": self.columns, "bits": self.bits, "block_size": self.size}
        nodes = [node("MatMulNBits", ["x", *self.constants], ["y"], domain="com.microsoft", **attributes)]
        return model(
            nodes,
            {"x": [*rows, self.depth]},
            ["y"],
            self.constants,
            imports=[onnx.helper.make_opsetid("com.microsoft", 1)],
        )


def _packed(elements: Array, bits: int) -> Array:
    per_byte = 8 // bits
    padded = np.pad(elements, [(0, 0), (0, -elements.shape[1] % per_byte)])
    parts = padded.reshape(len(padded), -1, per_byte)
    packed: Array = np.bitwise_or.reduce([parts[..., i] << np.uint8(i * bits) for i in range(per_byte)])
    return packed


def check(compiled: DeviceModel, x: Array, matrix: Array, nbytes: int) -> None:
    """The product, and that constants take little more memory than `nbytes`."""
    np.testing.assert_allclose(compiled.run({"x": x})["y"], x @ matrix, rtol=1e-4, atol=1e-3)
    assert constant_bytes(compiled.program) <= nbytes * 1.1 + 1024


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize(
    ("depth", "columns", "bits", "size", "zeros"),
    [
        (256, 256, 4, 32, ""),
        (512, 128, 4, 128, "packed"),
        (333, 135, 4, 16, "packed"),
        (250, 130, 8, 16, ""),
        (256, 128, 8, 128, "packed"),
        (300, 200, 2, 32, "packed"),
        (256, 160, 4, 32, "float"),
    ],
)
def test_one_row(target: str, depth: int, columns: int, bits: int, size: int, zeros: str) -> None:
    w = Quantised(depth, columns, bits, size, zeros)
    compiled = compiled_for(target, w.product(1))
    check(compiled, random((1, depth)), w.matrix, w.bytes)


@pytest.mark.parametrize("target", DEVICES)
def test_several_rows(target: str) -> None:
    w = Quantised(512, 640, 4, 32, "packed")
    check(compiled_for(target, w.product(7, 9)), random((7, 9, 512)), w.matrix, w.bytes)


@pytest.mark.parametrize("target", DEVICES)
def test_rows_whose_number_varies(target: str) -> None:
    w = Quantised(512, 640, 4, 32, "")
    compiled = compiled_for(target, w.product("rows"), shapes={"x": ("rows", 512)}, dims={"rows": (1, 20)})
    check(compiled, random((1, 512)), w.matrix, w.bytes)
    check(compiled, random((17, 512)), w.matrix, w.bytes)


@pytest.mark.parametrize("rows", [64, 61])
def test_rows_of_a_result_are_widened_for_together(rows: int) -> None:
    """A texture that is read back has rows one by one: tiles of rows are copied to it, and a single row is not."""
    w = Quantised(512, 640, 4, 32, "packed")
    compiled = compiled_for("webgl", w.product(rows))
    check(compiled, random((rows, 512)), w.matrix, w.bytes)
    product, copy = compiled.program.launches
    assert "acc_0_3" in compiled.program.kernels[product.kernel].source
    assert copy.arguments[0] == product.arguments[-1]
    assert len(compiled_for("webgl", w.product(1)).program.launches) == 1


@pytest.mark.parametrize("target", DEVICES)
def test_many_rows_of_small_weights(target: str) -> None:
    """Each tile of rows widens them: here that takes longer than to read them widened."""
    w = Quantised(128, 128, 4, 32, "")
    compiled = compiled_for(target, w.product(256))
    np.testing.assert_allclose(
        compiled.run({"x": random((256, 128))})["y"], random((256, 128)) @ w.matrix, rtol=1e-4, atol=1e-3
    )
    assert [launch.ops for launch in compiled.program.prepare] == [("com.microsoft.MatMulNBits",)]


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("transposed", [0, 1])
def test_dequantised_bytes(target: str, transposed: int) -> None:
    """A scale for each column; two products read the matrix."""
    q, scale = np.random.default_rng(1).integers(-128, 128, (300, 140)).astype(np.int8), random((140,), 2)
    stored = np.ascontiguousarray(q.T) if transposed else q
    nodes = [
        node("DequantizeLinear", ["q", "s"], ["w"], axis=1 - transposed),
        node("Gemm", ["x", "w"], ["a"], transB=transposed),
        node("Gemm", ["a", "w"], ["b"], transB=1 - transposed),
        node("Gemm", ["b", "w"], ["y"], transB=transposed),
    ]
    compiled = compiled_for(target, model(nodes, {"x": [2, 300]}, ["y"], {"q": stored, "s": scale}))
    matrix, x = (q * scale).astype(np.float32), random((2, 300)) * 0.001
    np.testing.assert_allclose(compiled.run({"x": x})["y"], x @ matrix @ matrix.T @ matrix, rtol=2e-3, atol=2e-2)
    assert not any(launch.ops for launch in compiled.program.prepare)


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize(("kind", "zeros"), [("INT4", True), ("INT4", False), ("UINT4", True), ("UINT2", True)])
def test_dequantised_bits_in_blocks(target: str, kind: str, zeros: bool) -> None:
    """ONNX packs neighbours of a row, which are columns of the product; an odd number of rows and columns."""
    depth, columns, block, r = 301, 515, 16, np.random.default_rng(2)
    held = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, kind))
    bits = 2 if kind == "UINT2" else 4
    low = -8 if kind == "INT4" else 0
    q = r.integers(low, low + (1 << bits), (depth, columns))
    scale = r.uniform(0.01, 0.02, (-(-depth // block), columns)).astype(np.float32)
    points = r.integers(low, low + (1 << bits), scale.shape) if zeros else np.zeros(scale.shape, int)
    constants = {"q": q.astype(held), "s": scale} | ({"z": points.astype(held)} if zeros else {})
    nodes = [
        node("DequantizeLinear", [*constants], ["w"], axis=0, block_size=block),
        node("MatMul", ["x", "w"], ["y"]),
    ]
    matrix = ((q - points.repeat(block, 0)[:depth]) * scale.repeat(block, 0)[:depth]).astype(np.float32)
    compiled = compiled_for(target, model(nodes, {"x": [2, depth]}, ["y"], constants, 25 if bits == 2 else 21))
    check(compiled, random((2, depth)), matrix, q.size * bits // 8 + scale.size * 5)


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("rows", [1, 17])
def test_elements_of_a_codebook(target: str, rows: int) -> None:
    """Places in a table, whose rows are the columns of the product: the same bits as those of weights at load."""
    r, columns, depth, size = np.random.default_rng(4), 520, 640, 64
    q, largest = r.integers(0, 256, columns * depth // 2).astype(np.uint8), r.uniform(0.1, 1, columns * depth // size)
    attributes = {"K": depth, "N": columns, "block_size": size, "quant_type": 1}
    proto = model(
        [node("MatMulBnb4", ["x", "w", "s"], ["y"], domain="com.microsoft", **attributes)],
        {"x": [rows, depth]},
        ["y"],
        {"w": q, "s": largest.astype(np.float32)},
        imports=[onnx.helper.make_opsetid("com.microsoft", 1)],
    )
    x, compiled = random((rows, depth)), compiled_for(target, proto)
    want = webnn_compile.compile(proto, "native").run({"x": x})["y"]
    np.testing.assert_allclose(compiled.run({"x": x})["y"], want, rtol=1e-4, atol=1e-3)
    assert constant_bytes(compiled.program) <= (q.nbytes + largest.size * 4) * 1.1 + 1024


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("rows", [1, 17])
@pytest.mark.parametrize("transposed", [0, 1])
def test_a_codebook_of_quantised_weights(target: str, rows: int, transposed: int) -> None:
    """Gather of a table, and scales between two Reshapes, as the quantiser writes them: along columns or rows."""
    depth, columns = 640, 520
    w = random((columns, depth) if transposed else (depth, columns))
    float32 = model([node("Gemm", ["x", "w"], ["y"], transB=transposed)], {"x": [rows, depth]}, ["y"], {"w": w}, 21)
    proto = webnn_compile.quantize(float32, weights="nf4")
    assert "Gather" in {n.op_type for n in proto.graph.node}
    x, compiled = random((rows, depth)), compiled_for(target, proto)
    want = webnn_compile.compile(proto, "native").run({"x": x})["y"]
    np.testing.assert_allclose(compiled.run({"x": x})["y"], want, rtol=1e-4, atol=1e-3)
    assert constant_bytes(compiled.program) <= (w.size // 2 + w.size // 32 * 4) * 1.1 + 1024


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("kind", ["FLOAT", "INT8", "INT4"])
def test_a_table_is_looked_up_in_and_multiplied_by(target: str, kind: str) -> None:
    """One copy serves both, in few bits if the model has them."""
    r, nodes = np.random.default_rng(3), []
    w = r.integers(-8, 8, (700, 128)).astype(np.float32)
    constants = {"w": w}
    if kind != "FLOAT":
        held = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, kind))
        constants = {"q": w.astype(held), "s": random((700,), 2)}
        w, nodes = w * constants["s"][:, None], [node("DequantizeLinear", ["q", "s"], ["w"], axis=0)]
    nodes += [
        node("Gather", ["w", "i"], ["rows"]),
        node("Transpose", ["w"], ["t"], perm=[1, 0]),
        node("MatMul", ["rows", "t"], ["y"]),
    ]
    proto = model(nodes, {"i": [3]}, ["y"], constants, 21, dtype=onnx.TensorProto.INT32)
    compiled, i = compiled_for(target, proto), np.array([699, 0, 31], np.int32)
    np.testing.assert_allclose(compiled.run({"i": i})["y"], w[i] @ w.T, rtol=1e-4, atol=1e-2)
    assert not any(launch.ops for launch in compiled.program.prepare)
    bits = {"FLOAT": 32, "INT8": 8, "INT4": 4}[kind]
    assert constant_bytes(compiled.program) <= (w.size * bits // 8 + 700 * 4) * 1.15 + 1024


@pytest.mark.parametrize("target", DEVICES)
@pytest.mark.parametrize("flat", [False, True])
def test_a_table_of_another_shape_is_the_matrix_of_a_product(target: str, flat: bool) -> None:
    """An embedding in few bits has two dimensions where the product has three, or scales in a row."""
    w = Quantised(256, 700, 4, 32, "")
    packed, scales = w.constants["w"], w.constants["s"]
    constants = {
        "w": packed,
        "s": scales.reshape(-1) if flat else scales,
        "table": packed.reshape(700, -1),
        "t": scales,
    }
    attributes = {"bits": 4, "block_size": 32}
    nodes = [
        node("GatherBlockQuantized", ["table", "i", "t"], ["x"], domain="com.microsoft", **attributes),
        node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=256, N=700, **attributes),
    ]
    imports = [onnx.helper.make_opsetid("com.microsoft", 1)]
    proto = model(nodes, {"i": [3]}, ["y"], constants, imports=imports, dtype=onnx.TensorProto.INT32)
    compiled, i = compiled_for(target, proto), np.array([699, 0, 31], np.int32)
    np.testing.assert_allclose(compiled.run({"i": i})["y"], w.matrix.T[i] @ w.matrix, rtol=1e-4, atol=1e-2)
    assert constant_bytes(compiled.program) <= w.bytes * 1.1 + 1024
