"""GroupQueryAttention as onnxruntime-genai's models have it: lengths are computed from the mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, onnxruntime_results, random

HEADS, SHARED, SIZE, ROWS = 4, 2, 16, 24
GROWING = {"attention_mask": ("batch", "past+length")}
BUFFER = 9


def attention(dtype: str = "float", extra: str = "") -> onnx.ModelProto:
    cache = f"{dtype}[batch, {SHARED}, past, {SIZE}]"
    after = f"{dtype}[batch, {SHARED}, after, {SIZE}]"
    proto = onnx.parser.parse_model(
        f"""
        <ir_version: 10, opset_import: ["": 17, "com.microsoft": 1]>
        decoder (int64[batch, total] attention_mask, {dtype}[batch, length, {(HEADS + 2 * SHARED) * SIZE}] x,
                 {cache} past_key_0, {cache} past_value_0)
             => ({dtype}[batch, length, {HEADS * SIZE}] y, {after} present_key_0, {after} present_value_0)
        <int64[1] axis = {{1}}, int64 second = {{1}}, int64[1, 1] one = {{1}}>
        {{
          count = ReduceSum (attention_mask, axis)
          last = Sub (count, one)
          seqlens_k = Cast <to = 6> (last)
          shape = Shape (attention_mask)
          keys = Gather (shape, second)
          total_sequence_length = Cast <to = 6> (keys)
          y, present_key_0, present_value_0 = com.microsoft.GroupQueryAttention
              <num_heads = {HEADS}, kv_num_heads = {SHARED}, do_rotary = 1 {extra}>
              (x, , , past_key_0, past_value_0, seqlens_k, total_sequence_length, cos, sin)
        }}"""
    )
    angles = np.arange(ROWS)[:, None] / 10 ** (np.arange(SIZE // 2) / 2)
    for name, table in (("cos", np.cos(angles)), ("sin", np.sin(angles))):
        array = table.astype(np.float16 if dtype == "float16" else np.float32)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return proto


def feeds_of(length: int, past: int, *, room: int = 0, batch: int = 1, dtype: Any = np.float32) -> dict[str, Array]:
    """In a buffer with `room` the rows behind the past are zeros. Of several sequences each is one shorter than the
    one before it, and padded at its end."""
    mask = (np.arange(past + length) < past + length - np.arange(batch)[:, None]).astype(np.int64)
    in_use = np.arange(room or past)[:, None] < mask.sum(1)[:, None, None, None] - length
    caches = [(random((batch, SHARED, room or past, SIZE), i) * in_use).astype(dtype) for i in (1, 2)]
    x = random((batch, length, (HEADS + 2 * SHARED) * SIZE)).astype(dtype)
    names = ("attention_mask", "x", "past_key_0", "past_value_0")
    return dict(zip(names, (mask, x, *caches), strict=True))


def compiled(proto: onnx.ModelProto, target: str, dims: Mapping[str, Any], **more: Any) -> Any:
    need_driver(target)
    return webnn_compile.compile(proto, target=target, dims=dims, **{"states": ()} | more)


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu"])
def test_a_cache_that_grows(target: str) -> None:
    proto = attention(extra=", local_window_size = 5")
    model = compiled(proto, target, {"batch": 1, "length": (1, 7), "past": (0, 12)}, shapes=GROWING)
    for length, past in ((1, 0), (5, 0), (3, 4), (7, 12), (1, 9)):
        feeds = feeds_of(length, past)
        assert_close(model.run(feeds), onnxruntime_results(proto, feeds))


def test_sizes_that_follow() -> None:
    """The model builder of onnxruntime-genai has names for the length of the mask and for the size of a head."""
    proto = attention()
    for port in proto.graph.input:
        if port.name.startswith("past"):
            port.type.tensor_type.shape.dim[3].dim_param = "kv_cache_dim"
    model = compiled(proto, "native", {"batch": (1, 2), "length": (1, 4), "past": (0, 5)})
    for length, past in ((4, 0), (2, 5)):
        feeds = feeds_of(length, past)
        assert_close(model.run(feeds), onnxruntime_results(proto, feeds))
    with pytest.raises(webnn_compile.UnsupportedError, match=r"sequence_length is total, where length \+ past is"):
        compiled(proto, "native", {"batch": 1, "length": (1, 4), "past": (0, 5), "total": (1, 9), "kv_cache_dim": SIZE})


@pytest.mark.parametrize("target", ["native", "webgl"])
def test_sequences_of_several_lengths(target: str) -> None:
    proto = attention()
    model = compiled(proto, target, {"batch": (1, 3), "length": (1, 4), "past": (0, 12)}, shapes=GROWING)
    for batch, past in ((1, 0), (3, 7), (2, 12)):
        feeds = feeds_of(1, past, batch=batch)
        assert_close(model.run(feeds), onnxruntime_results(proto, feeds))


@pytest.mark.parametrize("target", ["native", "wasm", "webgpu"])
def test_a_buffer(target: str) -> None:
    proto = attention()
    dims = {"batch": (1, 2), "length": (1, 4), "past": BUFFER, "total": (1, BUFFER)}
    model = compiled(proto, target, dims)
    for length, past, batch in ((1, 0, 1), (4, 0, 1), (3, 2, 1), (1, 8, 1), (1, 6, 2)):
        feeds = feeds_of(length, past, room=BUFFER, batch=batch)
        assert_close(model.run(feeds), onnxruntime_results(proto, feeds))


@pytest.mark.parametrize("past", ["grows", "buffer"])
def test_of_halves(past: str) -> None:
    proto = attention("float16")
    room = BUFFER if past == "buffer" else 0
    dims = {"batch": 1, "length": (1, 4), "past": room or (0, 5), **({"total": (1, room)} if room else {})}
    model = compiled(proto, "native", dims, **({} if room else {"shapes": GROWING}))
    for length, before in ((4, 0), (2, 5)):
        feeds = feeds_of(length, before, room=room, dtype=np.float16)
        results, want = model.run(feeds), onnxruntime_results(proto, feeds)
        assert {a.dtype for a in results.values()} == {np.dtype(np.float16)}
        assert_close(results, want, 2e-3)


@pytest.mark.parametrize("target", ["native", "wasm"])
def test_a_cache_that_outlives_runs(target: str) -> None:
    """Prompt and tokens, as one run of all of them."""
    proto = attention()
    model = compiled(
        proto, target, {"batch": 1, "length": (1, 7), "past": (0, 12)}, shapes=GROWING, states=None, given=()
    )
    whole = feeds_of(7, 0)
    want = onnxruntime_results(proto, whole)["y"]
    steps = [model.run({"x": whole["x"][:, i:j]})["y"] for i, j in ((0, 4), (4, 5), (5, 7))]
    assert_close({"y": np.concatenate(steps, 1)}, {"y": want})
    assert model.position == 7


def test_a_buffer_that_outlives_runs() -> None:
    proto = attention()
    dims = {"batch": 1, "length": (1, 7), "past": BUFFER, "total": (1, BUFFER)}
    model = compiled(proto, "native", dims, states=None)
    whole = feeds_of(7, 0, room=BUFFER)
    want = onnxruntime_results(proto, whole)["y"]
    steps = [
        model.run({"x": whole["x"][:, i:j], "attention_mask": np.ones((1, j), np.int64)})["y"]
        for i, j in ((0, 4), (4, 5), (5, 7))
    ]
    assert_close({"y": np.concatenate(steps, 1)}, {"y": want})


@pytest.mark.parametrize(("target", "room"), [("native", 5), ("native", 3), ("webgpu", 5)])
def test_a_cache_that_forgets_what_no_query_will_see(target: str, room: int) -> None:
    """Tokens in steps of all lengths, as one run of all of them over a cache that forgets nothing."""
    dims = {"batch": 1, "length": (1, 7), "past": room, "total": (1, ROWS)}
    states = None if target == "native" else ()
    model = compiled(attention(extra=", local_window_size = 3, sliding_window_cache = 1"), target, dims, states=states)
    whole = feeds_of(20, 0)
    want = onnxruntime_results(attention(extra=", local_window_size = 3"), whole)["y"]
    caches = {name: np.zeros((1, SHARED, room, SIZE), np.float32) for name in ("past_key_0", "past_value_0")}
    steps = []
    for i, j in ((0, 4), (4, 5), (5, 12), (12, 13), (13, 14), (14, 20)):
        feeds = {"x": whole["x"][:, i:j], "attention_mask": np.ones((1, j), np.int64)}
        results = model.run(feeds if states is None else feeds | caches)
        caches = {name: results.get(name.replace("past", "present")) for name in caches}
        steps.append(results["y"])
    assert_close({"y": np.concatenate(steps, 1)}, {"y": want})


def test_angles_that_a_run_chooses() -> None:
    """Models whose angles go by the length of a text have a table for short ones and one for long ones."""
    proto = attention()
    chosen = onnx.parser.parse_graph(
        f"""choice () => ()
        {{
          is_long = Greater (keys, most)
          cos_now, sin_now = If (is_long) <
              then_branch = long () => (float[{ROWS}, {SIZE // 2}] cos_long, float[{ROWS}, {SIZE // 2}] sin_long)
              {{ cos_long = Identity (cos) sin_long = Identity (sin) }},
              else_branch = short () => (float[6, {SIZE // 2}] cos_short, float[6, {SIZE // 2}] sin_short)
              {{ cos_short = Identity (sin_few) sin_short = Identity (cos_few) }}>
        }}"""
    )
    node = proto.graph.node.pop()
    proto.graph.node.extend([*chosen.node, node])
    proto.graph.node[-1].input[7:9] = ["cos_now", "sin_now"]
    for name in ("cos", "sin"):
        table = next(onnx.numpy_helper.to_array(t) for t in proto.graph.initializer if t.name == name)
        proto.graph.initializer.append(onnx.numpy_helper.from_array(table[:6], f"{name}_few"))
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(6), "most"))
    model = compiled(proto, "native", {"batch": 1, "length": (1, 4), "past": (0, 12)}, shapes=GROWING)
    for length, past in ((4, 0), (1, 5), (1, 6), (4, 12)):
        feeds = feeds_of(length, past)
        assert_close(model.run(feeds), onnxruntime_results(proto, feeds))


def test_a_buffer_that_is_too_short() -> None:
    dims = {"batch": 1, "length": (1, 4), "past": BUFFER, "total": (1, BUFFER + 1)}
    with pytest.raises(
        webnn_compile.UnsupportedError, match=r"total_sequence_length may be 10, and its cache holds 9; give .* --dim"
    ):
        compiled(attention(), "native", dims)


def test_a_total_that_a_run_decides() -> None:
    """An input of the model: where it is more than the buffer holds, the run ends with an error."""
    proto = attention()
    for node in list(proto.graph.node):
        if node.op_type in ("Shape", "Gather") or node.output[0] == "total_sequence_length":
            proto.graph.node.remove(node)
    proto.graph.input.append(onnx.helper.make_tensor_value_info("total_sequence_length", onnx.TensorProto.INT32, [1]))
    dims = {"batch": 1, "length": (1, 4), "past": BUFFER, "total": (1, 16)}
    model = compiled(proto, "native", dims)
    feeds = feeds_of(3, 2, room=BUFFER) | {"total_sequence_length": np.asarray([5], np.int32)}
    assert_close(model.run(feeds), onnxruntime_results(proto, feeds))
    with pytest.raises(webnn_compile.InputError, match="total_sequence_length is more than its cache holds, 9"):
        model.run(feeds | {"total_sequence_length": np.asarray([BUFFER + 1], np.int32)})


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (', k_quant_type = "PER_TENSOR"', "its cache is quantised; export the model with a cache of floats"),
        (
            ", sliding_window_cache = 1, local_window_size = 4",
            "its cache holds 3 tokens, where .* requires a number of at least local_window_size=4; give .*=4",
        ),
        (", sliding_window_cache = 1, local_window_size = 2, qk_output = 1", "scores of positions that its cache"),
        (", qk_output = 3", "attribute qk_output=3 is none of 0 to 2"),
    ],
)
def test_refused(attributes: str, message: str) -> None:
    with pytest.raises(webnn_compile.UnsupportedError, match=message):
        compiled(attention(extra=attributes), "native", {"batch": 1, "length": 2, "past": 3}, shapes=GROWING)


def test_heads_that_do_not_fit() -> None:
    proto = attention()
    proto.graph.node[-1].attribute[0].i = 5
    with pytest.raises(webnn_compile.UnsupportedError, match="num_heads=5 and kv_num_heads=2 do not fit"):
        compiled(proto, "native", {"batch": 1, "length": 2, "past": 3}, shapes=GROWING)
