"""Sizes of attention's masks and biases that follow from those of queries and caches, as an Add's do."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from onnx_models import Array, assert_close, from_text, onnxruntime_results, random
from webnn_compile.errors import UnsupportedError

GROUPED = """
    (float[B, S, 32] q, float[B, 2, P, 16] pk, float[B, 2, P, 16] pv, int32[C] ends, int32 total, float[B, 1, S, T] m)
      => (y, nk, nv) {
        y, nk, nv = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 2>
          (q, q, q, pk, pv, ends, total, "", "", "", m)
      }"""
ATTENTION = """
    (float[B, S, 32] q, float[B, 2, P, 16] pk, float[B, 2, P, 16] pv, float[S, T] m) => (y, nk, nv) {
        y, nk, nv = Attention <q_num_heads = 2, kv_num_heads = 2> (q, q, q, m, pk, pv)
      }"""
MULTI_HEAD = """
    (float[B, S, 32] q, float[B, 2, P, 16] pk, float[B, 2, P, 16] pv, KIND m) => (y, nk, nv) {
        y, nk, nv = com.microsoft.MultiHeadAttention <num_heads = 2> (q, q, q, "", INPUTS, pk, pv)
      }"""
KEYS = MULTI_HEAD.replace("KIND", "int32[B, T]").replace("INPUTS", 'm, ""')
KEYS_OF_QUERIES = MULTI_HEAD.replace("KIND", "int32[B, S, T]").replace("INPUTS", 'm, ""')
BIAS = MULTI_HEAD.replace("KIND", "float[B, 2, S, T]").replace("INPUTS", '"", m')
MODELS = {
    "GroupQueryAttention's bias": GROUPED,
    "Attention's mask": ATTENTION,
    "MultiHeadAttention's mask of keys": KEYS,
    "MultiHeadAttention's mask of queries and keys": KEYS_OF_QUERIES,
    "MultiHeadAttention's bias": BIAS,
}
DIMS = {"B": (1, 2), "S": (1, 4), "P": (0, 6)}


def parsed(text: str) -> onnx.ModelProto:
    made = from_text(text, 23)
    made.opset_import.append(onnx.helper.make_opsetid("com.microsoft", 1))
    return made


def feeds_of(proto: onnx.ModelProto, batch: int, length: int, past: int) -> dict[str, Array]:
    sizes = {"B": batch, "C": batch, "S": length, "P": past, "T": past + length}
    feeds = {}
    for i, value in enumerate(proto.graph.input):
        shape = tuple(sizes.get(d.dim_param, d.dim_value) for d in value.type.tensor_type.shape.dim)
        is_float = value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
        feeds[value.name] = random(shape, i) if is_float else (random(shape, i) > -0.5).astype(np.int32)
    if "total" in feeds:
        feeds |= {"total": np.asarray(past + length, np.int32), "ends": np.full(batch, past + length - 1, np.int32)}
    return feeds


@pytest.mark.parametrize("name", MODELS)
def test_the_size_follows_where_it_is_open(name: str) -> None:
    proto = parsed(MODELS[name])
    compiled = webnn_compile.compile(proto, dims=DIMS)
    for sizes in ((1, 1, 0), (1, 3, 5), (2, 1, 6)):
        feeds = feeds_of(proto, *sizes)
        assert_close(compiled.run(feeds), onnxruntime_results(proto, feeds))


@pytest.mark.parametrize("name", MODELS)
def test_where_it_is_given_the_message_says_how_it_follows(name: str) -> None:
    with pytest.raises(UnsupportedError, match=r"; leave out --dim T, which follows as P \+ S"):
        webnn_compile.compile(parsed(MODELS[name].replace("[C]", "[B]")), dims=DIMS | {"T": (1, 10)})


def test_the_lengths_of_sequences_follow_the_batch() -> None:
    proto = parsed(GROUPED)
    assert "ends int32[B]" in str(webnn_compile.compile(proto, dims=DIMS))
    with pytest.raises(UnsupportedError, match=r"seqlens_k has shape \[C\].* give both one name"):
        webnn_compile.compile(proto, shapes={"m": ("B", 1, "S", "P+S")}, dims=DIMS | {"C": (1, 2)})


@pytest.mark.parametrize("name", MODELS)
def test_a_size_that_never_fits_is_refused(name: str) -> None:
    text = MODELS[name].replace("T]", "11]").replace("int32[C]", "int32[B]")
    with pytest.raises(UnsupportedError, match=r"11.*(the model is invalid|check the shapes given to the model)"):
        webnn_compile.compile(parsed(text), dims=DIMS)
