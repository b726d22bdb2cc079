"""Random tree ensembles of ai.onnx.ml: attributes in both forms, and a model as scikit-learn's converters write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx_models import model, node

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def named_nodes(
    seed: int,
    kind: str,
    targets: Sequence[int],
    *,
    trees: int = 5,
    depth: int = 4,
    features: int = 3,
    modes: Sequence[str] = MODES[:1],
    least: float = -1.0,
    missing: bool = False,
) -> dict[str, Any]:
    """Attributes of TreeEnsembleRegressor (`kind` "target") or TreeEnsembleClassifier ("class") whose leaves have
    weights, from `least` to 1, of all `targets`."""
    rng = np.random.default_rng(seed)
    nodes: dict[str, list[Any]] = {
        f"nodes_{n}": []
        for n in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "hitrates")
    }
    flags: list[int] = []
    leaves: dict[str, list[Any]] = {f"{kind}_{n}": [] for n in ("treeids", "nodeids", "ids", "weights")}

    def add(tree: int, level: int) -> int:
        row = len(nodes["nodes_treeids"])
        number = nodes["nodes_treeids"].count(tree) * 2  # numbers need not follow each other
        branch = level < depth and (not level or rng.random() < 0.8)
        mode = str(rng.choice(modes)) if branch else "LEAF"
        value = float(np.float32(np.round(rng.normal(), 1)))
        flags.append(int(rng.integers(2)))
        for name, item in (
            ("treeids", tree),
            ("nodeids", number),
            ("featureids", int(rng.integers(features)) if branch else 0),
            ("values", value if branch else 0.0),
            ("modes", mode),
            ("truenodeids", 0),
            ("falsenodeids", 0),
            ("hitrates", 1.0),
        ):
            nodes[f"nodes_{name}"].append(item)
        if branch:
            nodes["nodes_truenodeids"][row] = add(tree, level + 1)
            nodes["nodes_falsenodeids"][row] = add(tree, level + 1)
        else:
            for target in targets:
                weight = float(np.float32(rng.uniform(least, 1)))
                for name, item in (("treeids", tree), ("nodeids", number), ("ids", target), ("weights", weight)):
                    leaves[f"{kind}_{name}"].append(item)
        return number

    for tree in range(trees):
        add(tree, 0)
    return nodes | leaves | ({"nodes_missing_value_tracks_true": flags} if missing else {})


def numbered_nodes(
    seed: int, targets: int, *, nodes: int = 15, features: int = 3, sets: bool = False
) -> dict[str, Any]:
    """Attributes of TreeEnsemble: two trees of `nodes` branches together, each followed by later branches or leaves;
    with `sets` some test membership."""
    rng = np.random.default_rng(seed)
    leaves: list[int] = []
    waiting = list(range(2, nodes))
    columns: dict[str, list[int]] = {n: [] for n in ("truenodeids", "trueleafs", "falsenodeids", "falseleafs")}
    for i in range(nodes):
        for side in ("true", "false"):
            goes_on = bool(waiting) and waiting[0] > i and (side == "true" or rng.random() < 0.6)
            columns[f"{side}leafs"].append(int(not goes_on))
            columns[f"{side}nodeids"].append(waiting.pop(0) if goes_on else len(leaves))
            if not goes_on:
                leaves.append(int(rng.integers(targets)))
    modes = rng.integers(0, 6, nodes).astype(np.uint8)
    attributes: dict[str, Any] = {f"nodes_{n}": v for n, v in columns.items()}
    if sets:
        modes[::3] = 6
        members = [[*rng.integers(1, 6, 2), np.nan] for _ in range(int((modes == 6).sum()))]
        attributes["membership_values"] = np.asarray(np.concatenate(members), np.float32)
    return attributes | {
        "tree_roots": [0, 1],
        "n_targets": targets,
        "nodes_modes": modes,
        "nodes_featureids": rng.integers(0, features, nodes).tolist(),
        "nodes_splits": np.asarray(np.round(rng.normal(size=nodes), 1), np.float32),
        "leaf_targetids": leaves,
        "leaf_weights": np.asarray(rng.uniform(-1, 1, len(leaves)), np.float32),
    }


def ml_model(nodes: list[onnx.NodeProto], outputs: list[str], **weights: np.ndarray) -> onnx.ModelProto:
    """A model of x [rows, 3], whose output `label`, if there is one, is strings."""
    made = model(nodes, {"x": ["rows", 3]}, outputs, weights, imports=[helper.make_opsetid("ai.onnx.ml", 3)])
    for value in made.graph.output:
        if value.name == "label":
            value.CopyFrom(helper.make_tensor_value_info("label", onnx.TensorProto.STRING, ["rows"]))
    return made


def forest(**labels: Any) -> onnx.NodeProto:
    """A classifier of three classes."""
    attributes = named_nodes(21, "class", [0, 1, 2]) | labels
    return node("TreeEnsembleClassifier", ["x"], ["chosen", "scores"], domain="ai.onnx.ml", **attributes)


def forest_of_strings(names: Sequence[str]) -> onnx.ModelProto:
    """A model that gives labels, by way of Identity, and scores as maps, by way of ZipMap."""
    zip_map = node("ZipMap", ["scores"], ["zipped"], domain="ai.onnx.ml", classlabels_strings=names)
    identity = node("Identity", ["chosen"], ["label"])
    made = ml_model([forest(classlabels_strings=names), identity, zip_map], ["label", "zipped"])
    value = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    kind = helper.make_sequence_type_proto(helper.make_map_type_proto(onnx.TensorProto.STRING, value))
    made.graph.output[1].CopyFrom(helper.make_value_info("zipped", kind))
    return made
