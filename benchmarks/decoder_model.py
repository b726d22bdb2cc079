"""A decoder with caches of keys and values, of random weights, in the form that exporters of PyTorch give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

PAST, PRESENT = "past_key_values", "present"


@dataclass(frozen=True, slots=True)
class DecoderSize:
    """`layers` of `heads`, each of `size` channels, over `words` tokens and at most `positions`; the names of the sizes
    of a batch, of what is cached and of what is new."""

    layers: int = 6
    heads: int = 6
    size: int = 64
    words: int = 5000
    positions: int = 2048
    names: tuple[str, str, str] = ("batch_size", "past_sequence_length", "sequence_length")

    @property
    def width(self) -> int:
        return self.heads * self.size


def decoder_model(of: DecoderSize, seed: int = 0) -> onnx.ModelProto:
    """Inputs `input_ids`, `position_ids` and `attention_mask`, past_key_values.N.key and .value; outputs `logits`,
    present.N.key and .value."""
    generator, width = np.random.default_rng(seed), of.width
    weights: list[onnx.TensorProto] = []
    nodes: list[onnx.NodeProto] = []

    def number(name: str, value: Any) -> str:
        weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def matrix(name: str, *shape: int, scale: float | None = None) -> str:
        scale = shape[0] ** -0.5 if scale is None else scale
        return number(name, (generator.standard_normal(shape) * scale).astype(np.float32))

    def node(op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def info(name: str, dtype: int, *shape: int | str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, dtype, shape)

    def product(x: str, name: str, *shape: int) -> str:
        return node("MatMul", [x, matrix(f"w.{name}", *shape)], f"m.{name}")

    def normalised(x: str, name: str) -> str:
        scale = number(f"{name}.scale", (1 + 0.1 * generator.standard_normal(width)).astype(np.float32))
        return node("LayerNormalization", [x, scale, matrix(f"{name}.bias", width, scale=0.1)], name, axis=-1)

    batch, past_rows, new_rows = of.names
    ids, rows = (batch, new_rows), f"{past_rows} + {new_rows}"
    inputs = [
        info("input_ids", T.INT64, *ids),
        info("position_ids", T.INT64, *ids),
        info("attention_mask", T.INT64, batch, rows),
    ]
    outputs = [info("logits", T.FLOAT, *ids, of.words)]
    heads, whole = number("heads", [0, 0, of.heads, of.size]), number("whole", [0, 0, width])
    tokens = node("Gather", [matrix("words", of.words, width, scale=1.0), "input_ids"], "tokens")
    placed = node("Gather", [matrix("places", of.positions, width, scale=0.3), "position_ids"], "placed")
    x = node("Add", [tokens, placed], "x")
    # A key counts where its place is none of those behind, and its mask is 1.
    node("Shape", ["attention_mask"], "shape")
    node("Gather", ["shape", number("one", np.int64(1))], "length")
    places = node("Range", [number("zero", np.int64(0)), "length", "one"], "all")
    behind = node("Unsqueeze", ["position_ids", number("axes", [1, 3])], "behind")
    mask = node("Cast", [node("Unsqueeze", ["attention_mask", number("others", [1, 2])], "mask")], "m", to=T.BOOL)
    counts = node("And", [node("LessOrEqual", [places, behind], "due"), mask], "counts")
    scale, never = number("scale", np.float32(of.size**-0.5)), number("never", np.float32(-1e9))
    for i in range(of.layers):
        y = normalised(x, f"before{i}")
        q, k, v = (
            node("Transpose", [node("Reshape", [product(y, f"{r}{i}", width, width), heads], f"h{r}{i}")], f"{r}{i}",
                 perm=[0, 2, 1, 3])
            for r in "qkv"
        )  # fmt: skip
        for role, new in (("key", k), ("value", v)):
            past, present = f"{PAST}.{i}.{role}", f"{PRESENT}.{i}.{role}"
            node("Concat", [past, new], present, axis=2)
            inputs.append(info(past, T.FLOAT, batch, of.heads, past_rows, of.size))
            outputs.append(info(present, T.FLOAT, batch, of.heads, rows, of.size))
        keys = node("Transpose", [f"{PRESENT}.{i}.key"], f"keys{i}", perm=[0, 1, 3, 2])
        scores = node("Mul", [node("MatMul", [q, keys], f"products{i}"), scale], f"scores{i}")
        shares = node("Softmax", [node("Where", [counts, scores, never], f"masked{i}")], f"shares{i}", axis=-1)
        mixed = node("MatMul", [shares, f"{PRESENT}.{i}.value"], f"mixed{i}")
        mixed = node("Reshape", [node("Transpose", [mixed], f"moved{i}", perm=[0, 2, 1, 3]), whole], f"rows{i}")
        x = node("Add", [x, product(mixed, f"o{i}", width, width)], f"x{i}")
        hidden = node("Relu", [product(normalised(x, f"middle{i}"), f"up{i}", width, 4 * width)], f"hidden{i}")
        x = node("Add", [x, product(hidden, f"down{i}", 4 * width, width)], f"y{i}")
    node("MatMul", [normalised(x, "last"), matrix("head", width, of.words, scale=0.2)], "logits")
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
