"""Reads graphs of TensorFlow: folders of SavedModels, frozen graphs, and graph models of TensorFlow.js."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import json_format
from onnx import helper

from ...errors import InputError, UnsupportedError
from ..beside_model import model_folders
from ..open_file import read_model_file
from ..signatures import chosen_signature, signatures_by_use
from .read_checkpoint import DAMAGES, Checkpoint
from .read_graph import Function, Node, Ref, read_function, read_nodes, read_ref
from .read_tensor import onnx_type, read_tensor, shape_of
from .restore import restored_from
from .schema import CLASSES
from .structure_conditions import structure_conditions
from .structure_loops import Nodes, structure_loops

Array = np.ndarray

SAVED_MODEL = "saved_model.pb"
_SERVING = "serving_default"
_MAIN = ""
"""The name of the main graph among functions."""


@dataclass(frozen=True, slots=True)
class Port:
    """An input or an output: the result `ref` of the main graph; `dtype` is a DataType, of an output 0 where the file
    does not say it. Of `shape` None is what is free."""

    name: str
    ref: Ref
    dtype: int = 0
    shape: tuple[int | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """`variables` are names in the checkpoint by those of the nodes of variables, `weights` the values of constants
    that the graph itself lacks (TensorFlow.js). `signatures` are the names of all, the one that is taken first."""

    name: str
    producer: str
    main: Function
    functions: Mapping[str, Function]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    checkpoint: Checkpoint
    variables: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, Array] = field(default_factory=dict)
    description: str = ""
    signatures: tuple[str, ...] = ()

    def constant(self, node: Node) -> Array:
        """The elements of a constant, where TensorFlow.js keeps them: int64 is stored as int32. Raises UnsupportedError
        for text, and types that are not supported."""
        stored = self.weights.get(node.name)
        if stored is None:
            return read_tensor(node.attributes["value"].tensor)
        if stored.dtype == object:
            raise UnsupportedError("text")
        own = onnx_type(node.attributes["dtype"].type) if "dtype" in node.attributes else 0
        return stored.astype(helper.tensor_dtype_to_np_dtype(own), copy=False) if own else stored

    def key_of(self, node: Node) -> str:
        """The tensor of the checkpoint that a variable is restored from: as the model's own nodes would do it, or else
        by its name."""
        shared = node.attributes["shared_name"].s.decode(errors="replace") if "shared_name" in node.attributes else ""
        name, entries = shared or node.name, self.checkpoint.entries
        found = self.variables.get(node.name)
        return found or (name if name in entries else self.checkpoint.by_full_name.get(name, name))


def read_model(model: str | Path | bytes, signature: str = "") -> Model:
    """A SavedModel by its folder or saved_model.pb, of which runs compute the signature of this name, or by default the
    one for serving; or a frozen graph. Raises InputError for what is neither, for a damaged one, and for one without
    the signature."""
    path = None if isinstance(model, bytes) else Path(model)
    if path is not None and path.is_dir():
        path = path / SAVED_MODEL
        if not path.exists():
            raise InputError(f"{path.parent} is a folder without {SAVED_MODEL}; give the folder of a SavedModel")
    data, name = read_model_file(model if path is None else path, "a TensorFlow graph", "save or download")
    if path is not None and path.name == SAVED_MODEL:
        name = path.parent.resolve().name or SAVED_MODEL
    try:
        if data.startswith(b"\x08"):
            saved = CLASSES["SavedModel"].FromString(data)
            return _of_saved_model(saved, name, None if path is None else _variables(path), signature)
        graph = CLASSES["GraphDef"].FromString(data)
        if not graph.node:
            raise InputError(f"{name} is not a TensorFlow graph: it has no nodes; give another file")
        chosen_signature({}, signature, name)
        return _of_graph(graph, name, "TensorFlow")
    except DAMAGES as error:
        raise InputError(
            f"{name} is truncated or damaged: its {len(data)} bytes are not a whole TensorFlow graph "
            f"({type(error).__name__}: {error}); save or download it again"
        ) from None


def _variables(path: Path) -> Path:
    """The folder of the checkpoint beside the file, or where that is a link beside its target."""
    folders = [folder / "variables" for folder in model_folders(path)]
    return next((folder for folder in folders if folder.is_dir()), folders[0])


def read_json_graph(content: Mapping[str, Any], weights: Mapping[str, Array], name: str) -> Model:
    """A graph model of TensorFlow.js by the content of its model.json and its weights. Raises InputError for damage."""
    try:
        graph = json_format.ParseDict(content["modelTopology"], CLASSES["GraphDef"](), ignore_unknown_fields=True)
        found = content.get("signature") or (content.get("userDefinedMetadata") or {}).get("signature")
        signature = CLASSES["SignatureDef"]()
        if found:
            json_format.ParseDict(found, signature, ignore_unknown_fields=True)
        producer = str(content.get("convertedBy") or content.get("generatedBy") or "TensorFlow.js")
        read = _of_graph(graph, name, producer, signature if found else None)
    except (*DAMAGES, json_format.ParseError) as error:
        raise InputError(
            f"{name} is damaged: its modelTopology is not a graph of TensorFlow ({type(error).__name__}: {error}); "
            "save or download it again"
        ) from None
    return Model(
        read.name,
        read.producer,
        read.main,
        read.functions,
        read.inputs,
        read.outputs,
        read.checkpoint,
        read.variables,
        weights,
    )


def _of_saved_model(saved: Any, name: str, variables: Path | None, wanted: str) -> Model:
    if not saved.meta_graphs:
        raise InputError(f"{name} is not a SavedModel: it has no graphs; save it again")
    serving = (m for m in saved.meta_graphs if "serve" in m.meta_info_def.tags)
    chosen = next(serving, saved.meta_graphs[0])
    signatures = {key: s for key, s in chosen.signature_def.items() if s.outputs}
    of_serving = sorted(key for key, s in signatures.items() if s.inputs and not key.startswith("__saved_model"))
    names = sorted(key for key in signatures if not key.startswith("__saved_model"))
    if not wanted and _SERVING not in signatures and not of_serving:
        raise InputError(
            f"{name} has no signature: save the model with one, by tf.saved_model.save(model, folder, "
            "signatures=function.get_concrete_function(...)), or model.export(folder) in Keras"
        )
    taken = wanted or (_SERVING if _SERVING in signatures else of_serving[0])
    signature = chosen_signature({key: signatures[key] for key in names}, taken, name)
    producer = " ".join(["TensorFlow", chosen.meta_info_def.tensorflow_version]).strip()
    read = _of_graph(chosen.graph_def, name, producer, signature, Checkpoint(variables, name))
    return replace(read, signatures=signatures_by_use(names, taken))


def _of_graph(
    graph: Any, name: str, producer: str, signature: Any = None, checkpoint: Checkpoint | None = None
) -> Model:
    written = read_nodes(graph.node, name)
    nodes, branches, loops = _structured(written)
    functions = {f.name: f for f in map(read_function, graph.library.function)} | loops | branches
    if signature is None or not signature.outputs:
        inputs, outputs = _unread(nodes, written)
    else:
        kinds = {n.name: n.op for n in nodes.values()}
        port = partial(_port, kinds=kinds, nodes=nodes)
        inputs = [port(key, signature.inputs[key]) for key in _ordered(signature.inputs, nodes)]
        outputs = [port(key, signature.outputs[key]) for key in sorted(signature.outputs)]
    if not outputs:
        raise InputError(f"{name} computes nothing: it has no outputs; save it again")
    main = Function(_MAIN, tuple(p.ref[0] for p in inputs), nodes, tuple(p.ref for p in outputs))
    variables = restored_from(nodes, functions) if checkpoint is not None else {}
    return Model(
        name, producer, main, functions, tuple(inputs), tuple(outputs), checkpoint or Checkpoint(None, name), variables
    )


def _structured(nodes: Mapping[str, Node]) -> tuple[Nodes, dict[str, Function], dict[str, Function]]:
    """The nodes with If and While in place of the control flow of TensorFlow 1; the functions of these."""
    outside, loops = structure_loops(nodes)
    main, branches = structure_conditions(outside)
    for loop in loops.values():
        own, inside = structure_conditions(loop.nodes, loop.name)
        loops[loop.name] = replace(loop, nodes=own)
        branches |= inside
    return main, branches, loops


def _ordered(ports: Mapping[str, Any], nodes: Mapping[str, Node]) -> list[str]:
    """Names of inputs in the order of their nodes; a map in a file has none."""
    places = {name: i for i, name in enumerate(nodes)}
    return sorted(ports, key=lambda key: (places.get(ports[key].name.split(":")[0], len(places)), key))


def _port(key: str, info: Any, kinds: Mapping[str, str], nodes: Mapping[str, Node]) -> Port:
    if not info.name:
        raise ValueError(f"{key!r} is not one tensor")
    return Port(key.split(":")[0] or key, read_ref(info.name, kinds), info.dtype, shape_of(info.tensor_shape))


def _unread(nodes: Mapping[str, Node], written: Mapping[str, Node]) -> tuple[list[Port], list[Port]]:
    """Placeholders, and nodes with inputs whose results no other node reads, neither among those that the file has:
    copies of a condition are read by its Switch nodes alone."""
    inputs = [
        Port(n.name, (n.name, 0), n.attributes["dtype"].type, shape_of(n.attributes["shape"].shape))
        for n in nodes.values()
        if n.op == "Placeholder"
    ]
    inputs = [p if "shape" in nodes[p.name].attributes else Port(p.name, p.ref, p.dtype) for p in inputs]
    read = {ref[0] for n in (*nodes.values(), *written.values()) for ref in n.inputs}
    last = [n for n in nodes.values() if n.name not in read and n.op not in ("NoOp", "Assert", "Placeholder")]
    return inputs, [Port(n.name, (n.name, 0)) for n in last if n.op != "Const" or len(last) == 1]
