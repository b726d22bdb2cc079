"""Classes with the highest scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..dtypes import I32, ONNX_NUMBERS
from ..graph.ir import Array, Graph, Node, Value
from ..graph.tail import Tail
from .fitted import FLOATS, OfOneOutput, as_floats, extents, find_output
from .formats import Answer, Classify
from .labels import Labels

_SCORES = ("Softmax", "Sigmoid", "HardSigmoid", "com.microsoft.QLinearSoftmax", "com.microsoft.QLinearSigmoid")
_MOVES = (
    *("Cast", "DequantizeLinear", "Dropout", "Flatten", "Identity", "QuantizeLinear", "Reshape", "Squeeze"),
    *("Transpose", "Unsqueeze"),
)


@dataclass(frozen=True, slots=True)
class Classes(OfOneOutput):
    """The `top` of so many `classes`; `logits` become scores by Softmax."""

    classes: int
    top: int
    logits: bool
    labels: Labels | None

    kind = "classify"
    many = False
    tokenizer = None

    def add(self, tail: Tail) -> dict[str, Value]:
        name = self.output.name
        x = tail.reshaped(f"{name}.classes", as_floats(tail, self.output), self.classes)
        if self.logits:
            x = tail.node("Softmax", f"{name}.softmax", x, axis=0)
        k = tail.constant(f"{name}.top", [self.top], np.int64)
        scores, wide = tail.nodes("TopK", (f"{name}.scores", f"{name}.indices"), x, k, axis=0)
        return {"scores": scores, "index": tail.node("Cast", f"{name}.index", wide, to=ONNX_NUMBERS[I32])}

    def read(self, parts: Mapping[str, Array], shapes: object) -> list[dict[str, object]]:
        both = zip(parts["scores"], parts["index"], strict=True)
        return [{"label": self.label(int(i)), "score": float(score), "index": int(i)} for score, i in both]

    def label(self, index: int) -> str:
        return str(index) if self.labels is None else self.labels.names[index]

    def describe(self) -> str:
        of = "the Softmax of" if self.logits else "scores"
        return f"{self.top} of {self.classes} classes, by {of} {self.output.name}"


def fit_classes(graph: Graph, answer: Answer, form: Classify, labels: Labels | None) -> Classes:
    """Raises InputError where no output has an element for each class, or more than one."""
    expected = "an output of float32[1, classes]"
    output = find_output(graph, answer, lambda v: count_of(v) > 1, expected)
    count = count_of(output)
    if labels is not None:
        labels.check(count, output.name)
    logits = form.scores == "logits" or (form.scores == "found" and not are_scores(graph, output))
    return Classes(output, count, min(form.top, count), logits, labels)


def count_of(value: Value) -> int:
    """How many classes an output has: its only extent above 1; 0 for another output."""
    sizes = [n for n in extents(value) if n != 1]
    return sizes[0] if len(sizes) == 1 and value.dtype in FLOATS else 0


def are_scores(graph: Graph, value: Value) -> bool:
    """Whether the graph computes `value` by Softmax or Sigmoid, or by their parts."""
    producers = graph.producers()
    node: Node | None = producers.get(value)
    while node is not None and node.op in _MOVES and node.inputs[0] is not None:
        node = producers.get(node.inputs[0])
    if node is None or node.op in _SCORES:
        return node is not None
    above = node.inputs[0] if node.op == "Div" else None
    powers = None if above is None else producers.get(above)
    return powers is not None and powers.op == "Exp"
