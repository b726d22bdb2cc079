"""MultiHeadAttention and DecoderMaskedMultiHeadAttention of sizes that vary, as onnxruntime's optimiser puts them into
decoders, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, onnxruntime_results, random

HEADS, SIZE, BUFFER = 2, 5, 9
HIDDEN = HEADS * SIZE
CACHE = f"[batch, {HEADS}, past, {SIZE}]"


def decoder(dtype: str = "float") -> onnx.ModelProto:
    """Attention to what came before, then to the keys and values of an encoder."""
    return onnx.parser.parse_model(
        f"""
        <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]>
        decoder ({dtype}[batch, length, {HIDDEN}] x, int32[batch, total] mask, {dtype}{CACHE} past_key_0,
                 {dtype}{CACHE} past_value_0, {dtype}[batch, {HEADS}, frames, {SIZE}] keys,
                 {dtype}[batch, {HEADS}, frames, {SIZE}] values)
             => ({dtype}[batch, length, {HIDDEN}] y, {dtype}[batch, {HEADS}, total, {SIZE}] present_key_0,
                 {dtype}[batch, {HEADS}, total, {SIZE}] present_value_0)
        {{
          own, present_key_0, present_value_0 = com.microsoft.MultiHeadAttention
              <num_heads = {HEADS}, unidirectional = 1, mask_filter_value = -3e4>
              (x, x, x, , mask, , past_key_0, past_value_0)
          y = com.microsoft.MultiHeadAttention <num_heads = {HEADS}> (own, keys, values)
        }}"""
    )


def feeds_of(batch: int, length: int, past: int, frames: int, dtype: Any = np.float32) -> dict[str, Array]:
    mask = (np.arange(past + length) >= np.arange(batch)[:, None]).astype(np.int32)
    caches = {"past_key_0": past, "past_value_0": past, "keys": frames, "values": frames}
    arrays = {name: random((batch, HEADS, n, SIZE), i).astype(dtype) for i, (name, n) in enumerate(caches.items())}
    return {"x": random((batch, length, HIDDEN)).astype(dtype), "mask": mask, **arrays}


DIMS = {"batch": (1, 3), "length": (1, 6), "past": (0, 8), "frames": (1, 12)}


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu"])
def test_of_any_sizes(target: str) -> None:
    need_driver(target)
    proto = decoder()
    model = webnn_compile.compile(proto, target=target, shapes={"mask": ("batch", "past+length")}, dims=DIMS, states=())
    for sizes in ((1, 1, 0, 1), (1, 5, 0, 12), (2, 3, 4, 7), (3, 1, 8, 5)):
        feeds = feeds_of(*sizes)
        assert_close(model.run(feeds), onnxruntime_results(proto, feeds))


def test_of_halves() -> None:
    proto = decoder("float16")
    shapes = {"mask": ("batch", "past+length")}
    model = webnn_compile.compile(proto, target="native", shapes=shapes, dims=DIMS, states=())
    feeds = feeds_of(2, 3, 4, 7, np.float16)
    assert_close(model.run(feeds), onnxruntime_results(proto, feeds), 2e-3)


def test_a_cache_that_outlives_runs() -> None:
    proto = decoder()
    shapes = {"mask": ("batch", "past+length")}
    model = webnn_compile.compile(proto, target="native", shapes=shapes, dims=DIMS | {"batch": 1})
    whole = feeds_of(1, 6, 0, 5)
    want = onnxruntime_results(proto, whole)["y"]
    encoded = {name: whole[name] for name in ("keys", "values")}
    steps = [
        model.run({"x": whole["x"][:, i:j], "mask": whole["mask"][:, :j], **encoded})["y"] for i, j in ((0, 4), (4, 6))
    ]
    assert_close({"y": np.concatenate(steps, 1)}, {"y": want})


def step(extra: str = "", inputs: str = "") -> onnx.ModelProto:
    """One token, written into a buffer where a run says."""
    return onnx.parser.parse_model(
        f"""
        <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]>
        step (float[batch, length, {HIDDEN}] x, int32[batch, total] mask, float{CACHE} key, float{CACHE} value,
              int32[1] used, int32[1] beams, int32[batch, 1, {BUFFER}] beam)
          => (float[batch, length, {HIDDEN}] y, float{CACHE} next_key, float{CACHE} next_value)
        {{
          y, next_key, next_value = com.microsoft.DecoderMaskedMultiHeadAttention
              <num_heads = {HEADS}, mask_filter_value = -3e4 {extra}> (x, x, x, mask, , key, value, used{inputs})
        }}"""
    )


STEP = ", past_present_share_buffer = 1"
SIZES = {"batch": (1, 2), "length": 1, "total": (1, BUFFER), "past": BUFFER}


def step_feeds(batch: int, used: int) -> dict[str, Array]:
    caches = [random((batch, HEADS, BUFFER, SIZE), i) for i in (1, 2)]
    mask = (np.arange(used + 1) >= np.arange(batch)[:, None]).astype(np.int32)
    spare = {"beams": np.ones(1, np.int32), "beam": np.zeros((batch, 1, BUFFER), np.int32)}
    return {"x": random((batch, 1, HIDDEN)), "mask": mask, "used": np.asarray([used], np.int32)} | {
        **dict(zip(("key", "value"), caches, strict=True)),
        **spare,
    }


@pytest.mark.parametrize("target", ["native", "webgpu"])
def test_a_buffer_that_is_written_where_a_run_says(target: str) -> None:
    need_driver(target)
    proto = step(STEP)
    model = webnn_compile.compile(proto, target=target, dims=SIZES)
    for batch, used in ((1, 0), (2, 5), (1, 8)):
        feeds = step_feeds(batch, used)
        assert_close(model.run(feeds), onnxruntime_results(proto, feeds))


def test_a_buffer_without_room() -> None:
    model = webnn_compile.compile(step(STEP), target="native", dims=SIZES)
    with pytest.raises(webnn_compile.InputError, match="past_sequence_length leaves no room in its buffer of 9"):
        model.run(step_feeds(1, 8) | {"used": np.asarray([BUFFER], np.int32)})


@pytest.mark.parametrize(
    ("extra", "inputs", "dims", "message"),
    [
        ("", "", {}, "a past that is no buffer with past_present_share_buffer=1"),
        (STEP, ", beams", {}, "it has beam_width, which is not known to be 1; take the decoder's own model"),
        (STEP, ", , beam", {}, "it has cache_indirection, the beams of a search"),
        (STEP, "", {"length": 2}, "its queries are 2 tokens, not one"),
        (STEP, "", {"total": (1, 12)}, "there may be 12 keys, and its buffer holds 9; bound their number by --dim"),
    ],
)
def test_refused(extra: str, inputs: str, dims: dict[str, Any], message: str) -> None:
    with pytest.raises(webnn_compile.UnsupportedError, match=message):
        webnn_compile.compile(step(extra, inputs), target="native", dims=SIZES | dims)


def test_columns_that_heads_do_not_divide() -> None:
    proto = step(STEP)
    proto.graph.node[0].attribute[0].i = 3
    with pytest.raises(webnn_compile.UnsupportedError, match="input 0 has 10 columns, and num_heads is 3"):
        webnn_compile.compile(proto, target="native", dims=SIZES)


def test_values_that_do_not_fit() -> None:
    proto = decoder()
    proto.graph.node[1].input[2] = "past_value_0"
    with pytest.raises(webnn_compile.UnsupportedError, match="queries, keys and values of 2 heads have shapes"):
        webnn_compile.compile(proto, target="native", shapes={"mask": ("batch", "past+length")}, dims=DIMS)
