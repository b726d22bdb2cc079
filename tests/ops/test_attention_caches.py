"""ONNX's Attention with caches, of sizes that vary: those that grow, and those that TensorScatter writes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, onnxruntime_results, random

HEADS, SHARED, SIZE, ROOM = 4, 2, 5, 9
QUERIES, KEYS = HEADS * SIZE, SHARED * SIZE


def growing() -> onnx.ModelProto:
    cache, after = (f"float[batch, {SHARED}, {n}, {SIZE}]" for n in ("past", "after"))
    return onnx.parser.parse_model(
        f"""
        <ir_version: 10, opset_import: ["": 23]>
        decoder (float[batch, length, {QUERIES}] q, float[batch, length, {KEYS}] k, float[batch, length, {KEYS}] v,
                 {cache} past_key_0, {cache} past_value_0)
             => (float[batch, length, {QUERIES}] y, {after} present_key_0, {after} present_value_0)
        {{
          y, present_key_0, present_value_0 = Attention
              <q_num_heads = {HEADS}, kv_num_heads = {SHARED}, is_causal = 1, softcap = 2.0>
              (q, k, v, , past_key_0, past_value_0)
        }}"""
    )


def scattered() -> onnx.ModelProto:
    cache = f"float[batch, {SHARED}, room, {SIZE}]"
    return onnx.parser.parse_model(
        f"""
        <ir_version: 12, opset_import: ["": 24]>
        decoder (float[batch, {HEADS}, length, {SIZE}] q, float[batch, {SHARED}, length, {SIZE}] k, int64[batch] start,
                 int64[batch] keys, {cache} past_key_0, {cache} past_value_0)
             => (float[batch, {HEADS}, length, {SIZE}] y, {cache} present_key_0, {cache} present_value_0)
        {{
          present_key_0 = TensorScatter (past_key_0, k, start)
          present_value_0 = TensorScatter (past_value_0, k, start)
          y = Attention <is_causal = 1> (q, present_key_0, present_value_0, , , , keys)
        }}"""
    )


def growing_feeds(batch: int, length: int, past: int) -> dict[str, Array]:
    shapes = {"q": (batch, length, QUERIES), "k": (batch, length, KEYS), "v": (batch, length, KEYS)}
    cache = (batch, SHARED, past, SIZE)
    shapes |= {"past_key_0": cache, "past_value_0": cache}
    return {name: random(shape, i) for i, (name, shape) in enumerate(shapes.items())}


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu"])
def test_a_cache_that_grows(target: str) -> None:
    need_driver(target)
    proto = growing()
    dims = {"batch": (1, 2), "length": (1, 6), "past": (0, 8)}
    model = webnn_compile.compile(proto, target=target, dims=dims, states=())
    for sizes in ((1, 1, 0), (2, 5, 3), (1, 6, 8)):
        feeds = growing_feeds(*sizes)
        assert_close(model.run(feeds), onnxruntime_results(proto, feeds))


def test_a_cache_that_outlives_runs() -> None:
    proto = growing()
    model = webnn_compile.compile(proto, target="native", dims={"batch": 1, "length": (1, 6), "past": (0, 8)})
    whole = growing_feeds(1, 6, 0)
    want = onnxruntime_results(proto, whole)["y"]
    steps = [model.run({n: whole[n][:, i:j] for n in "qkv"})["y"] for i, j in ((0, 3), (3, 4), (4, 6))]
    assert_close({"y": np.concatenate(steps, 1)}, {"y": want})


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu"])
def test_a_cache_that_is_written_where_a_run_says(target: str) -> None:
    """Sequences of several lengths, in a cache of a fixed one."""
    need_driver(target)
    proto = scattered()
    dims = {"batch": (1, 2), "length": (1, 4), "room": ROOM}
    model = webnn_compile.compile(proto, target=target, dims=dims, states=())
    for start, length in (((0,), 4), ((3, 5), 1), ((2, 0), 3)):
        batch = len(start)
        feeds = {
            "q": random((batch, HEADS, length, SIZE)),
            "k": random((batch, SHARED, length, SIZE), 1),
            "start": np.asarray(start),
            "keys": np.asarray(start) + length,
            **{n: random((batch, SHARED, ROOM, SIZE), 2) for n in ("past_key_0", "past_value_0")},
        }
        assert_close(model.run(feeds), onnxruntime_results(proto, feeds))
