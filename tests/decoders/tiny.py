"""A tiny decoder with caches, as exporters write them, and runs of it by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray

POSITIONS = 64
WORDS = 37
MOST_NEW = 5
DIMS = {"batch": 1, "past": (0, POSITIONS - MOST_NEW), "seq": (1, MOST_NEW)}
"""Sizes for which a run beyond the caches' room is one beyond the table of positions, too."""


class _Builder:
    """Nodes and constants of a graph, each node named by its only output."""

    def __init__(self, seed: int) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._generator = np.random.default_rng(seed)

    def weight(self, name: str, *shape: int, scale: float = 0.3) -> str:
        return self.constant(name, (self._generator.standard_normal(shape) * scale).astype(np.float32))

    def constant(self, name: str, value: object) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op: str, output: str, *inputs: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output


def tiny_decoder(layers: int = 2, heads: int = 2, width: int = 8, seed: int = 0) -> onnx.ModelProto:
    """`input_ids`, `position_ids` and `attention_mask`, int64, with caches past_key_values.N.key and .value, float32
    [batch, heads, past, width], to `logits`, float32 [batch, seq, WORDS], and the caches with rows of this run."""
    b = _Builder(seed)
    wide = heads * width
    b.weight("words", WORDS, wide, scale=1.0)
    b.weight("places", POSITIONS, wide, scale=0.5)
    x = b.add("Add", "x0", b.add("Gather", "e", "words", "input_ids"), b.add("Gather", "p", "places", "position_ids"))
    b.constant("apart", np.array([0, 0, heads, width]))
    b.constant("together", np.array([0, 0, wide]))
    b.constant("scale", np.float32(width**-0.5))
    b.constant("minus", np.float32(-1e9))
    visible = _visible(b)
    inputs = [("input_ids", TensorProto.INT64, ["batch", "seq"]), ("position_ids", TensorProto.INT64, ["batch", "seq"])]
    inputs.append(("attention_mask", TensorProto.INT64, ["batch", "past + seq"]))
    outputs = [("logits", TensorProto.FLOAT, ["batch", "seq", WORDS])]
    for i in range(layers):
        for part in ("key", "value"):
            inputs.append((f"past_key_values.{i}.{part}", TensorProto.FLOAT, ["batch", heads, "past", width]))
            outputs.append((f"present.{i}.{part}", TensorProto.FLOAT, ["batch", heads, "past + seq", width]))
        x = _layer(b, i, x, visible, wide)
    b.add("MatMul", "logits", x, b.weight("head", wide, WORDS))
    graph = helper.make_graph(
        b.nodes,
        "tiny_decoder",
        [helper.make_tensor_value_info(*spec) for spec in inputs],
        [helper.make_tensor_value_info(*spec) for spec in outputs],
        b.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _visible(b: _Builder) -> str:
    """Which rows of the cache a new one sees: [batch, 1, seq, past + seq]."""
    b.constant("zero", np.int64(0))
    b.constant("one", np.int64(1))
    length = b.add("Gather", "length", b.add("Shape", "mask_shape", "attention_mask"), "one")
    rows = b.add("Range", "rows", "zero", length, "one")
    own = b.add("Unsqueeze", "own", "position_ids", b.constant("axes_of_positions", np.array([1, 3])))
    given = b.add("Unsqueeze", "given", "attention_mask", b.constant("axes_of_mask", np.array([1, 2])))
    seen = b.add("Cast", "seen", given, to=TensorProto.BOOL)
    return b.add("And", "visible", b.add("LessOrEqual", "earlier", rows, own), seen)


def _layer(b: _Builder, i: int, x: str, visible: str, wide: int) -> str:
    def name(part: str) -> str:
        return f"layer{i}.{part}"

    parts = {}
    for part in ("query", "key", "value"):
        product = b.add("MatMul", name(f"{part}_product"), x, b.weight(name(f"{part}_weight"), wide, wide))
        apart = b.add("Reshape", name(f"{part}_apart"), product, "apart")
        parts[part] = b.add("Transpose", name(part), apart, perm=[0, 2, 1, 3])
    keys, values = (
        b.add("Concat", f"present.{i}.{p}", f"past_key_values.{i}.{p}", parts[p], axis=2) for p in ("key", "value")
    )
    turned = b.add("Transpose", name("turned"), keys, perm=[0, 1, 3, 2])
    scores = b.add("Mul", name("scores"), b.add("MatMul", name("products"), parts["query"], turned), "scale")
    shares = b.add("Softmax", name("shares"), b.add("Where", name("masked"), visible, scores, "minus"), axis=-1)
    mixed = b.add("Transpose", name("mixed"), b.add("MatMul", name("mix"), shares, values), perm=[0, 2, 1, 3])
    joined = b.add("Reshape", name("joined"), mixed, "together")
    x = b.add("Add", name("attended"), x, b.add("MatMul", name("out"), joined, b.weight(name("o"), wide, wide)))
    bent = b.add("Relu", name("bent"), b.add("MatMul", name("up"), x, b.weight(name("u"), wide, 4 * wide)))
    return b.add("Add", name("x"), x, b.add("MatMul", name("down"), bent, b.weight(name("d"), 4 * wide, wide)))


@dataclass
class Passed:
    """onnxruntime, which is passed the caches that the run before gave."""

    session: onnxruntime.InferenceSession
    caches: dict[str, Array]

    @staticmethod
    def of(model: onnx.ModelProto) -> Passed:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        pasts = [i for i in session.get_inputs() if i.name.startswith("past")]
        return Passed(session, {i.name: np.zeros((1, i.shape[1], 0, i.shape[3]), np.float32) for i in pasts})

    def run(self, ids: Sequence[int]) -> Array:
        """The logits [seq, WORDS] of these words behind those of the runs before."""
        at = next(iter(self.caches.values())).shape[2]
        feeds = {
            "input_ids": np.array([ids], np.int64),
            "position_ids": np.arange(at, at + len(ids))[None],
            "attention_mask": np.ones((1, at + len(ids)), np.int64),
        }
        names = [o.name for o in self.session.get_outputs()]
        results = dict(zip(names, self.session.run(names, {**feeds, **self.caches}), strict=True))
        self.caches = {name: results[name.replace("past_key_values", "present")] for name in self.caches}
        return np.asarray(results["logits"][0])


def sentences(count: int, words: int, seed: int = 0) -> list[list[list[int]]]:
    """For each of `count` sessions runs of one to MOST_NEW words, `words` together."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        runs: list[list[int]] = []
        while (left := words - sum(map(len, runs))) > 0:
            new = min(int(generator.integers(1, MOST_NEW + 1)), left)
            runs.append([int(n) for n in generator.integers(0, WORDS, new)])
        found.append(runs)
    return found
