"""Decoders in few bits, as quantisers make them: token by token the logits and caches of onnxruntime, which is fed the
same."""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import webnn_compile
from drivers import need_driver
from onnx import helper, numpy_helper
from onnx_models import Array, onnxruntime_results, random
from onnxruntime import quantization

HEADS, SIZE, WORDS, STEPS = 2, 16, 40, 20
HIDDEN = HEADS * SIZE
DIMS = {"length": 1, "past": (0, STEPS)}
KINDS = ("dynamic", "4 bits", "4 bits in float32")

STEP = 0.03
"""The most that one quantum, rounded otherwise, may change, of the largest magnitude."""

MOST = 0.2
"""Share of tokens where one is: noise in float32 decides what lies between two quanta."""


def floats() -> onnx.ModelProto:
    shape = f"0, -1, {HEADS}, {SIZE}"
    proto = onnx.parser.parse_model(
        f"""
        <ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
        decoder (int64[1, length] ids, float[1, {HEADS}, past, {SIZE}] old_k, float[1, {HEADS}, past, {SIZE}] old_v)
             => (float[1, length, {WORDS}] logits, float[1, {HEADS}, total, {SIZE}] new_k,
                 float[1, {HEADS}, total, {SIZE}] new_v)
             <int64[4] shape = {{{shape}}}, int64[3] flat = {{0, 0, {HIDDEN}}}, float root = {{{SIZE**-0.5}}}>
        {{
          x = Gather (words, ids)
          h = LayerNormalization (x, one, zero)
          q = MatMul (h, wq)    qs = Reshape (q, shape)    qt = Transpose <perm = [0, 2, 1, 3]> (qs)
          k = MatMul (h, wk)    ks = Reshape (k, shape)    kt = Transpose <perm = [0, 2, 1, 3]> (ks)
          v = MatMul (h, wv)    vs = Reshape (v, shape)    vt = Transpose <perm = [0, 2, 1, 3]> (vs)
          new_k = Concat <axis = 2> (old_k, kt)
          new_v = Concat <axis = 2> (old_v, vt)
          keys = Transpose <perm = [0, 1, 3, 2]> (new_k)
          products = MatMul (qt, keys)
          scores = Mul (products, root)
          shares = Softmax (scores)
          mixed = MatMul (shares, new_v)
          back = Transpose <perm = [0, 2, 1, 3]> (mixed)
          joined = Reshape (back, flat)
          out = MatMul (joined, wo)
          y = Add (x, out)
          g = LayerNormalization (y, one, zero)
          up = MatMul (g, w1)
          active = Relu (up)
          down = MatMul (active, w2)
          z = Add (y, down)
          last = LayerNormalization (z, one, zero)
          logits = MatMul (last, head)
        }}"""
    )
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("wq", "wk", "wv", "wo"), (HIDDEN, HIDDEN))
    shapes |= {
        "words": (WORDS, HIDDEN),
        "w1": (HIDDEN, 3 * HIDDEN),
        "w2": (3 * HIDDEN, HIDDEN),
        "head": (HIDDEN, WORDS),
    }
    weights = {n: random(s, i) / s[0] ** 0.5 for i, (n, s) in enumerate(shapes.items())}
    weights |= {"words": random(shapes["words"], 20), "one": np.ones(HIDDEN), "zero": random((HIDDEN,), 21) * 0.1}
    proto.graph.initializer.extend(numpy_helper.from_array(a.astype(np.float32), n) for n, a in weights.items())
    return proto


@functools.cache
def quantised(kind: str) -> onnx.ModelProto:
    logging.disable(logging.WARNING)  # that the model was not preprocessed
    try:
        if kind != "dynamic":
            return in_blocks(0 if kind.endswith("float32") else 4)
        with TemporaryDirectory() as folder:
            source, target = Path(folder, "float.onnx"), Path(folder, "quantised.onnx")
            onnx.save(floats(), source)
            # In 7 bits: without VNNI onnxruntime's own sums of two products saturate.
            quantization.quantize_dynamic(source, target, reduce_range=True, weight_type=quantization.QuantType.QInt8)
            return onnx.load(target)
    finally:
        logging.disable(logging.NOTSET)


def in_blocks(level: int, size: int = 16) -> onnx.ModelProto:
    """The products by constants as MatMulNBits of this accuracy_level."""
    proto = floats()
    weights = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    for i, n in enumerate(proto.graph.node):
        if n.op_type != "MatMul" or n.input[1] not in weights:
            continue
        depth, columns = weights[n.input[1]].shape
        blocks = weights[n.input[1]].T.reshape(columns, depth // size, size)
        low, high = blocks.min(2), blocks.max(2)
        scale = (high - low) / 15
        zero = np.rint(-low / scale)
        quanta = np.rint(blocks / scale[..., None] + zero[..., None]).clip(0, 15).astype(np.uint8)
        packed = [q[..., 0::2] | q[..., 1::2] << 4 for q in (quanta, zero.astype(np.uint8))]
        operands = {"quanta": packed[0], "scales": scale.reshape(-1), "zeros": packed[1].reshape(-1)}
        names = [f"{n.input[1]}_{what}" for what in operands]
        proto.graph.initializer.extend(map(numpy_helper.from_array, operands.values(), names))
        attributes = {"K": depth, "N": columns, "bits": 4, "block_size": size, "accuracy_level": level}
        product = helper.make_node("MatMulNBits", [n.input[0], *names], n.output, domain="com.microsoft", **attributes)
        proto.graph.node[i].CopyFrom(product)
    return proto


@pytest.mark.parametrize(("kind", "operator"), [*zip(KINDS, ("MatMulInteger", *["MatMulNBits"] * 2), strict=True)])
def test_a_decoder_is_of_its_kind(kind: str, operator: str) -> None:
    assert sum(n.op_type == operator for n in quantised(kind).graph.node) == 7


@pytest.mark.parametrize(
    ("kind", "target", "steps"),
    [
        *((kind, target, STEPS) for kind in KINDS for target in ("native", "wasm", "wasm-relaxed")),
        *(("4 bits", target, 3) for target in ("c", "webgl", "webgpu", "opencl")),
    ],
)
def test_tokens(kind: str, target: str, steps: int) -> None:
    need_driver(target)
    proto = quantised(kind)
    compiled = webnn_compile.compile(proto, target, dims=DIMS)
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    empty = np.zeros((1, HEADS, 0, SIZE), np.float32)
    token, old = 3, (empty, empty)
    rounded = 0
    for _ in range(steps):
        feeds: dict[str, Array] = {"ids": np.array([[token]], np.int64), "old_k": old[0], "old_v": old[1]}
        want, got = dict(zip(names, session.run(None, feeds), strict=True)), compiled.run(feeds)
        errors = [np.abs(got[n] - want[n]).max() / np.abs(want[n]).max() for n in want]
        assert max(errors) < STEP
        token, old = int(want["logits"].argmax()), (want["new_k"], want["new_v"])
        if max(errors) > 1e-5:
            rounded += 1
        else:
            assert int(got["logits"].argmax()) == token
    assert rounded <= MOST * steps


def test_many_tokens_at_once() -> None:
    """One model, for the first tokens and for those that follow one by one, multiplies in eight bits in both."""
    proto = quantised("4 bits")
    compiled = webnn_compile.compile(proto, "native", dims={"length": (1, 8), "past": (0, STEPS)})
    old = np.zeros((1, HEADS, 0, SIZE), np.float32)
    for length in (8, 1, 3):
        ids = np.arange(length, dtype=np.int64)[np.newaxis] * 7 % WORDS
        feeds = {"ids": ids, "old_k": old, "old_v": old}
        want = onnxruntime_results(proto, feeds)
        got = compiled.run(feeds)
        for name, expected in want.items():
            np.testing.assert_allclose(got[name], expected, atol=STEP * np.abs(expected).max())
        old = want["new_k"]
