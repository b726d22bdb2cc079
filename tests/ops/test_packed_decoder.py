"""A decoder of com.microsoft's operators, as onnxruntime-genai has it, of any batch, length and past."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, onnxruntime_results, random

HEADS, SIZE, WORDS, PLACES = 2, 3, 11, 16
HIDDEN = HEADS * SIZE
SHAPES = {"mask": ("batch", "past+length")}
DIMS = {"batch": (1, 3), "length": (1, 8), "past": (0, 8)}


def decoder() -> onnx.ModelProto:
    proto = onnx.parser.parse_model(
        f"""
        <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]>
        decoder (int32[batch, length] ids, int32[batch, length] places, int32[batch, total] mask,
                 float[2, batch, {HEADS}, past, {SIZE}] old)
             => (float[batch, length, {HIDDEN}] y, float[2, batch, {HEADS}, total, {SIZE}] new)
        {{
          x, count, sum = com.microsoft.EmbedLayerNormalization <epsilon = 1e-5>
                          (ids, , words, positions, , scale, shift, , places)
          seen, new = com.microsoft.Attention <num_heads = {HEADS}, unidirectional = 1, mask_filter_value = -3e38>
                      (x, packed, bias, mask, old)
          y = com.microsoft.SkipLayerNormalization <epsilon = 1e-5> (seen, sum, scale, shift, shift)
        }}"""
    )
    shapes = {
        "words": (WORDS, HIDDEN),
        "positions": (PLACES, HIDDEN),
        "scale": (HIDDEN,),
        "shift": (HIDDEN,),
        "packed": (HIDDEN, 3 * HIDDEN),
        "bias": (3 * HIDDEN,),
    }
    weights = [onnx.numpy_helper.from_array(random(s, i), n) for i, (n, s) in enumerate(shapes.items())]
    proto.graph.initializer.extend(weights)
    return proto


def feeds_of(batch: int, length: int, past: int) -> dict[str, Array]:
    """The sequences are padded at their left, by as many as their number."""
    mask = (np.arange(past + length) >= np.arange(batch)[:, None]).astype(np.int32)
    generator = np.random.default_rng(batch)
    return {
        "ids": generator.integers(0, WORDS, (batch, length), np.int32),
        "places": np.maximum(np.cumsum(mask, 1, np.int32) - 1, 0)[:, past:].copy(),
        "mask": mask,
        "old": random((2, batch, HEADS, past, SIZE)),
    }


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu"])
def test_of_any_sizes(target: str) -> None:
    need_driver(target)
    proto = decoder()
    compiled = webnn_compile.compile(proto, target=target, shapes=SHAPES, dims=DIMS)
    for sizes in ((1, 1, 0), (1, 5, 0), (2, 3, 4), (3, 1, 7), (3, 8, 8)):
        feeds = feeds_of(*sizes)
        assert_close(compiled.run(feeds), onnxruntime_results(proto, feeds))


def test_a_mask_of_another_size_is_refused_with_the_flag_that_helps() -> None:
    with pytest.raises(
        webnn_compile.UnsupportedError,
        match=r"its mask has shape \[batch, total\], where \[batch, length \+ past\] is expected; leave out --dim t",
    ):
        webnn_compile.compile(decoder(), target="native", dims=DIMS | {"total": (1, 16)})
    webnn_compile.compile(decoder(), target="native", dims=DIMS)


def test_more_positions_than_rows_are_refused() -> None:
    proto = decoder()
    proto.graph.node[0].input[8] = ""
    del proto.graph.input[1]
    with pytest.raises(
        webnn_compile.UnsupportedError, match=r"positions' reads elements 0 to 16 .* shape is \[16, 6\]"
    ):
        webnn_compile.compile(proto, target="native", shapes=SHAPES, dims=DIMS | {"length": (1, PLACES + 1)})
