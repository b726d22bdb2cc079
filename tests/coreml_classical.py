"""Writes Core ML models that are no networks, and pipelines, with the importer's own message classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from coreml_models import ARRAYS, set_fields
from webnn_compile.frontends.coreml.schema import MESSAGES

Array = np.ndarray
Labels = Sequence[str] | Sequence[int]


def add_feature(features: Any, name: str, form: int | str) -> None:
    """A feature with so many elements, or of a type such as "double"."""
    type = features.add(name=name).type
    if isinstance(form, str):
        getattr(type, f"{form}Type").SetInParent()
    else:
        type.multiArrayType.shape.append(form)
        type.multiArrayType.dataType = ARRAYS["float64"]


def classical(
    kind: str,
    inputs: Mapping[str, int | str],
    outputs: Mapping[str, int | str],
    fields: dict[str, Any],
    labels: Labels = (),
) -> Any:
    """A model whose message has these fields. A classifier's outputs are a label and, second, scores."""
    model = MESSAGES["Model"](specificationVersion=4)
    describe(model, inputs, outputs, labels)
    message = getattr(model, kind)
    message.SetInParent()
    set_fields(message, fields)
    if labels:
        names = "stringClassLabels" if isinstance(labels[0], str) else "int64ClassLabels"
        getattr(message, names).vector.extend(labels)
    return model


def describe(
    model: Any, inputs: Mapping[str, int | str], outputs: Mapping[str, int | str], labels: Labels = ()
) -> None:
    description = model.description
    for name, form in inputs.items():
        add_feature(description.input, name, form)
    for name, form in outputs.items():
        add_feature(description.output, name, form)
    if labels:
        label, *scores = outputs
        description.predictedFeatureName = label
        description.predictedProbabilitiesName = scores[0] if scores else ""


def classifier(kind: str, width: int, fields: dict[str, Any], labels: Labels, scores: bool = True) -> bytes:
    """A classifier of the features `x`, with the outputs `label` and, with `scores`, `scores`."""
    outputs = {"label": "string" if isinstance(labels[0], str) else "int64"}
    if scores:
        outputs["scores"] = "dictionary"
    return bytes(classical(kind, {"x": width}, outputs, fields, labels).SerializeToString())


def transformer(kind: str, width: int, result: int | str, fields: dict[str, Any]) -> bytes:
    """A model with the input `x` and the output `y`."""
    return bytes(classical(kind, {"x": width}, {"y": result}, fields).SerializeToString())


def pipeline(
    parts: Sequence[Any],
    inputs: Mapping[str, int | str],
    outputs: Mapping[str, int | str],
    labels: Labels = (),
    kind: str = "pipeline",
) -> Any:
    model = MESSAGES["Model"](specificationVersion=4)
    describe(model, inputs, outputs, labels)
    message = getattr(model, kind)
    (message if kind == "pipeline" else message.pipeline).models.extend(parts)
    return model


MODES = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
"""Comparisons in the order of their numbers."""


def random_trees(
    rng: np.random.Generator, trees: int, features: int, dimensions: int, scale: float = 1.0
) -> list[dict[str, Any]]:
    """Nodes of trees of all comparisons, whose leaves have values of some dimensions."""
    nodes: list[dict[str, Any]] = []

    def add(tree: int, level: int) -> int:
        number = 3 * sum(n["treeId"] == tree for n in nodes) + 1
        node: dict[str, Any] = {"treeId": tree, "nodeId": number}
        nodes.append(node)
        if level < 4 and (not level or rng.random() < 0.8):
            node |= {
                "nodeBehavior": int(rng.integers(6)),
                "branchFeatureIndex": int(rng.integers(features)),
                "branchFeatureValue": float(rng.integers(-3, 4)) / 10,
                "missingValueTracksTrueChild": bool(rng.integers(2)),
            }
            node["trueChildNodeId"] = add(tree, level + 1)
            node["falseChildNodeId"] = add(tree, level + 1)
        else:
            places = rng.permutation(dimensions)[: int(rng.integers(1, dimensions + 1))]
            values = [{"evaluationIndex": int(k), "evaluationValue": float(rng.uniform(-scale, scale))} for k in places]
            node |= {"nodeBehavior": 6, "evaluationInfo": values}
        return number

    for tree in range(trees):
        add(tree, 0)
    return nodes


def sums_of_trees(nodes: Sequence[dict[str, Any]], base: Sequence[float], x: Array) -> Array:
    """Sums of the leaves that features `x` reach, compared as double."""
    by_number = {(n["treeId"], n["nodeId"]): n for n in nodes}
    total = np.array(base, float)
    for tree in sorted({n["treeId"] for n in nodes}):
        node = next(n for n in nodes if n["treeId"] == tree)
        while node["nodeBehavior"] != 6:
            value = float(x[node["branchFeatureIndex"]])
            holds = MODES[node["nodeBehavior"]](value, node["branchFeatureValue"])
            if np.isnan(value):
                holds = node["missingValueTracksTrueChild"] or node["nodeBehavior"] == 5
            node = by_number[tree, node["trueChildNodeId" if holds else "falseChildNodeId"]]
        for info in node["evaluationInfo"]:
            total[info["evaluationIndex"]] += info["evaluationValue"]
    return total
