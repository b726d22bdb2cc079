"""A decoder with caches, small and of random weights, as exporters of PyTorch name its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

WORDS, HEADS, SIZE, POSITIONS, LAYERS = 37, 2, 8, 96, 2

Array = np.ndarray


def small_decoder(seed: int = 0) -> onnx.ModelProto:
    """Inputs `input_ids`, `position_ids` and `attention_mask`, past_key_values.N.key and .value; outputs `logits`,
    present.N.key and .value."""
    generator, width = np.random.default_rng(seed), HEADS * SIZE
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def number(name: str, value: Any) -> str:
        weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def matrix(name: str, *shape: int, scale: float = 0.3) -> str:
        return number(name, (generator.standard_normal(shape) * scale).astype(np.float32))

    def node(op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def info(name: str, dtype: int, *shape: int | str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, dtype, shape)

    def product(x: str, name: str, *shape: int) -> str:
        return node("MatMul", [x, matrix(f"w.{name}", *shape)], f"m.{name}")

    ids = ("batch_size", "sequence_length")
    inputs = [
        info("input_ids", T.INT64, *ids),
        info("position_ids", T.INT64, *ids),
        info("attention_mask", T.INT64, "batch_size", "past_sequence_length + sequence_length"),
    ]
    outputs = [info("logits", T.FLOAT, *ids, WORDS)]
    heads, whole = number("heads", [0, 0, HEADS, SIZE]), number("whole", [0, 0, width])
    tokens = node("Gather", [matrix("words", WORDS, width, scale=1.0), "input_ids"], "tokens")
    x = node("Add", [tokens, node("Gather", [matrix("places", POSITIONS, width), "position_ids"], "placed")], "x")
    # A key counts where its place is none of those behind, and its mask is 1.
    node("Shape", ["attention_mask"], "shape")
    node("Gather", ["shape", number("one", np.int64(1))], "length")
    places = node("Range", [number("zero", np.int64(0)), "length", "one"], "all")
    behind = node("Unsqueeze", ["position_ids", number("axes", [1, 3])], "behind")
    mask = node("Unsqueeze", ["attention_mask", number("others", [1, 2])], "mask")
    counts = node("And", [node("LessOrEqual", [places, behind], "due"), node("Cast", [mask], "m", to=T.BOOL)], "counts")
    scale, never = number("scale", np.float32(SIZE**-0.5)), number("never", np.float32(-1e9))
    for i in range(LAYERS):
        q, k, v = (
            node(
                "Transpose",
                [
                    node(
                        "Reshape",
                        [node("MatMul", [x, matrix(f"w{r}{i}", width, width)], f"m{r}{i}"), heads],
                        f"h{r}{i}",
                    )
                ],
                f"{r}{i}",
                perm=[0, 2, 1, 3],
            )
            for r in "qkv"
        )
        for role, new in (("key", k), ("value", v)):
            past, present = f"past_key_values.{i}.{role}", f"present.{i}.{role}"
            node("Concat", [past, new], present, axis=2)
            inputs.append(info(past, T.FLOAT, "batch_size", HEADS, "past_sequence_length", SIZE))
            outputs.append(info(present, T.FLOAT, "batch_size", HEADS, "past_sequence_length + sequence_length", SIZE))
        keys = node("Transpose", [f"present.{i}.key"], f"keys{i}", perm=[0, 1, 3, 2])
        scores = node("Mul", [node("MatMul", [q, keys], f"products{i}"), scale], f"scores{i}")
        shares = node("Softmax", [node("Where", [counts, scores, never], f"masked{i}")], f"shares{i}", axis=-1)
        mixed = node("MatMul", [shares, f"present.{i}.value"], f"mixed{i}")
        rows = node("Reshape", [node("Transpose", [mixed], f"moved{i}", perm=[0, 2, 1, 3]), whole], f"rows{i}")
        x = node("Add", [x, product(rows, f"o{i}", width, width)], f"x{i}")
        hidden = node("Relu", [product(x, f"up{i}", width, 4 * width)], f"r{i}")
        x = node("Add", [x, product(hidden, f"down{i}", 4 * width, width)], f"y{i}")
    node("MatMul", [x, matrix("head", width, WORDS)], "logits")
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Reference:
    """onnxruntime, through which the cache is passed."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        self._names = [o.name for o in self._session.get_outputs()]
        self.position = 0
        self._past = {
            i.name: np.zeros((1, HEADS, 0, SIZE), np.float32)
            for i in self._session.get_inputs()
            if i.name.startswith("past")
        }

    def logits(self, ids: Sequence[int]) -> Array:
        """The logits behind the last of `ids`, float32 [WORDS]."""
        end = self.position + len(ids)
        given = {
            "input_ids": np.array([ids]),
            "position_ids": np.arange(self.position, end)[None],
            "attention_mask": np.ones((1, end), np.int64),
        }
        results = dict(zip(self._names, self._session.run(None, {**given, **self._past}), strict=True))
        self._past = {n: results[n.replace("past_key_values", "present")] for n in self._past}
        self.position = end
        return np.asarray(results["logits"])[0, -1]
