"""The structure of a Keras model, from its configuration: Sequential and Functional models of Keras 2 and 3 as layers
and their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .read_weights import NETWORKS, Weights


@dataclass(frozen=True, slots=True)
class Ref:
    """The result number `result` of the call number `call` of a layer of the same network."""

    layer: str
    call: int = 0
    result: int = 0


@dataclass(frozen=True, slots=True)
class Arguments:
    """Operands and options of a call of a layer: lists and constants, with a Ref where a tensor is."""

    args: tuple[Any, ...]
    keywords: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layer:
    """`kind` is its class, `config` the arguments of its constructor. A wrapper has the layers `inner`, a model that is
    a layer its `network`. `is_own` where Keras itself has the class."""

    kind: str
    name: str
    config: Mapping[str, Any]
    weights: tuple[np.ndarray, ...] = ()
    calls: tuple[Arguments, ...] = ()
    inner: tuple[Layer, ...] = ()
    network: Network | None = None
    is_own: bool = True


@dataclass(frozen=True, slots=True)
class Network:
    name: str
    layers: tuple[Layer, ...]
    inputs: tuple[Ref, ...]
    outputs: tuple[Ref, ...]


_PARTS = {
    "LSTM": ("cell",),
    "GRU": ("cell",),
    "SimpleRNN": ("cell",),
    **{f"ConvLSTM{n}D": ("cell",) for n in (1, 2, 3)},
    "MultiHeadAttention": ("query_dense", "key_dense", "value_dense", "output_dense"),
}
"""Classes whose weights are those of layers inside of them."""

_OF_CELLS = {"LSTMCell": "LSTM", "GRUCell": "GRU", "SimpleRNNCell": "SimpleRNN"}
"""The layers of which these are one step."""

_FLOATS = ("float16", "bfloat16", "float64")
_OWN = ("keras", "tf_keras", "tensorflow")


def read_network(config: Mapping[str, Any], weights: Weights) -> Network:
    """A model from its configuration, {"class_name": ..., "config": ...}. Raises what a damaged one raises."""
    kind, inside = str(config["class_name"]), config["config"]
    name = str(inside.get("name", "model")) if isinstance(inside, Mapping) else "model"
    entries = inside["layers"] if isinstance(inside, Mapping) else inside  # early versions have a list alone
    # A Sequential model does not count its input as a layer.
    counted = [c for c in entries if not (kind == "Sequential" and c["class_name"] == "InputLayer") and _is_layer(c)]
    names = [(str(c["class_name"]), _name(c)) for c in counted]
    found = dict(zip((n for _, n in names), weights.layers(names), strict=True))
    layers = tuple(_layer(c, found.get(_name(c))) for c in entries)
    if kind == "Sequential":
        return _checked(_chained(name, inside if isinstance(inside, Mapping) else {}, config, layers))
    known = {layer.name for layer in layers}
    called = tuple(
        replace(layer, calls=tuple(_call(node, known) for node in c.get("inbound_nodes", ())))
        for layer, c in zip(layers, entries, strict=True)
    )
    return _checked(Network(name, called, _refs(inside["input_layers"], known), _refs(inside["output_layers"], known)))


def _checked(network: Network) -> Network:
    """Itself, where its inputs can be described."""
    for layer in input_layers(network):
        if layer.kind != "InputLayer":
            raise ValueError(f"the input {layer.name!r} is a {layer.kind}")
        _ = input_type(layer), input_shape(layer)
    return network


def input_layers(network: Network) -> list[Layer]:
    by_name = {layer.name: layer for layer in network.layers}
    return [by_name[ref.layer] for ref in network.inputs]


def input_type(layer: Layer) -> str:
    """The type of an input's elements: floats of all widths are float32."""
    dtype = layer.config.get("dtype") or "float32"
    name = str(dtype if isinstance(dtype, str) else dtype["config"]["name"])
    return "float32" if name in _FLOATS else name


def input_shape(layer: Layer) -> tuple[int | str, ...] | None:
    """The batch is named so, other free dimensions after their input; None where the file has no shape."""
    shape = layer.config.get("batch_shape") or layer.config.get("batch_input_shape")
    if shape is None:
        return None
    names = ["batch", *(f"{layer.name}_{d}" for d in range(1, len(shape)))]
    return tuple(name if n is None else int(n) for n, name in zip(shape, names, strict=True))


def is_quantised(layer: Layer) -> bool:
    """Whether the layer computes by a policy of its own for integers, such as "int8_from_float32"."""
    policy = layer.config.get("dtype")
    if isinstance(policy, Mapping):
        return policy.get("class_name") != "DTypePolicy"
    return "_from_" in str(policy)


def is_network(config: Mapping[str, Any]) -> bool:
    """Whether the configuration is that of a Sequential or Functional model, which lists its layers."""
    inside = config.get("config")
    listed = isinstance(inside, list) or (isinstance(inside, Mapping) and "layers" in inside)
    return listed and config["class_name"] in NETWORKS and _is_own(config)


def _layer(config: Mapping[str, Any], weights: Weights | None) -> Layer:
    kind, inside = str(config["class_name"]), config["config"]
    layer = Layer(kind if _is_layer(config) else f"ops.{kind}", _name(config), inside, is_own=_is_own(config))
    if weights is None or not layer.is_own:
        return layer
    if kind in NETWORKS:
        return replace(layer, network=read_network(config, weights))
    if kind in ("SpectralNormalization", "TimeDistributed"):
        return replace(layer, inner=(_layer(inside["layer"], weights.parts(["layer"])[0]),))
    if kind == "Bidirectional":
        parts = weights.parts(["forward_layer", "backward_layer"])
        backward = inside.get("backward_layer") or inside["layer"]
        return replace(layer, inner=(_layer(inside["layer"], parts[0]), _layer(backward, parts[1])))
    if kind == "RNN":
        return _recurrent(layer, weights.parts(["cell"])[0])
    if kind in _PARTS:
        return replace(layer, weights=tuple(w for part in weights.parts(_PARTS[kind]) for w in part.own()))
    return replace(layer, weights=weights.own())


def _recurrent(layer: Layer, weights: Weights) -> Layer:
    """An RNN of one cell as the layer of which the cell is a step. One of several, StackedRNNCells, has such layers
    inside; theirs are the options of the cells alone."""
    cell = layer.config["cell"]
    if cell["class_name"] != "StackedRNNCells":
        made = _of_cell(cell, weights)
        return replace(made, name=layer.name, config={**layer.config, **made.config})
    cells = cell["config"]["cells"]
    counts = [(str(c["class_name"]), 2 + bool(c["config"].get("use_bias", True))) for c in cells]
    parts = weights.listed("cells", counts)
    return replace(layer, inner=tuple(_of_cell(c, part) for c, part in zip(cells, parts, strict=True)))


def _of_cell(config: Mapping[str, Any], weights: Weights) -> Layer:
    cell = _layer(config, weights)
    return replace(cell, kind=_OF_CELLS.get(cell.kind, cell.kind)) if cell.is_own else cell


def _chained(name: str, inside: Mapping[str, Any], config: Mapping[str, Any], layers: tuple[Layer, ...]) -> Network:
    """The layers of a Sequential model, each called on the result of the one before."""
    if not layers:
        raise ValueError(f"the model {name!r} has no layers")
    if layers[0].kind != "InputLayer":
        first = layers[0]
        built = config.get("build_config") or {}
        shape = _batch_shape(first.config) or inside.get("build_input_shape") or built.get("input_shape")
        if shape is None and first.network is not None:
            start = next(i for i in first.network.layers if i.name == first.network.inputs[0].layer)
            shape = _batch_shape(start.config)
        given = {"batch_shape": shape, "dtype": "int32" if first.kind == "Embedding" else "float32"}
        layers = (Layer("InputLayer", f"{first.name}_input", given), *layers)
    chain = [layers[0]]
    for layer in layers[1:]:
        chain.append(replace(layer, calls=(Arguments((Ref(chain[-1].name),)),)))
    return Network(name, tuple(chain), (Ref(layers[0].name),), (Ref(layers[-1].name),))


def _batch_shape(config: Mapping[str, Any]) -> Sequence[int | None] | None:
    found = config.get("batch_shape") or config.get("batch_input_shape")
    return found if found is None or not isinstance(found, Mapping) else None


def _name(config: Mapping[str, Any]) -> str:
    """Operations have theirs beside their configuration alone."""
    return str(config["config"].get("name") or config["name"])


def _is_layer(config: Mapping[str, Any]) -> bool:
    """Whether it is no operation, such as keras.ops.add. Where the file has no modules, operations lack the option
    that all layers have."""
    if config.get("module"):
        return ".ops." not in f"{config['module']}."
    return config["class_name"] in (*NETWORKS, "InputLayer") or "trainable" in config["config"]


def _is_own(config: Mapping[str, Any]) -> bool:
    """Whether the class is one of Keras; Keras 2 does not say so."""
    registered, module = config.get("registered_name"), config.get("module")
    if isinstance(registered, str) and ">" in registered:
        return False
    return not module or str(module).partition(".")[0] in _OWN


def _call(node: Any, known: set[str]) -> Arguments:
    """An inbound node: Keras 3 has arguments, Keras 2 a list of [layer, call, result, keywords]."""
    if isinstance(node, Mapping):
        return Arguments(
            tuple(_argument(a, known) for a in node["args"]),
            {str(k): _argument(a, known) for k, a in node.get("kwargs", {}).items()},
        )
    tensors = [node] if node and isinstance(node[0], str) else node
    if any(t[0] not in known for t in tensors):
        raise ValueError(f"a call on {tensors[0][0]!r}, which is no layer")
    refs = [Ref(t[0], int(t[1]), int(t[2])) for t in tensors]
    keywords = {str(k): _argument(a, known) for t in tensors for k, a in (t[3] if len(t) > 3 else {}).items()}
    return Arguments((refs[0] if len(refs) == 1 else refs,), keywords)


def _argument(value: Any, known: set[str]) -> Any:
    if isinstance(value, Mapping):
        if value.get("class_name") == "__keras_tensor__":
            return _ref(value["config"]["keras_history"])
        return {k: _argument(v, known) for k, v in value.items()}
    if _is_ref(value, known):
        return _ref(value)
    return [_argument(v, known) for v in value] if isinstance(value, list) else value


def _is_ref(value: Any, known: set[str]) -> bool:
    """Whether a list is what Keras 2 writes for a tensor: [layer, call, result]."""
    return isinstance(value, list) and len(value) >= 3 and isinstance(value[0], str) and value[0] in known


def _ref(value: Sequence[Any]) -> Ref:
    return Ref(str(value[0]), int(value[1]), int(value[2]))


def _refs(value: Any, known: set[str]) -> tuple[Ref, ...]:
    """The tensors of a list, a tree of lists, or a mapping by name."""
    if _is_ref(value, known):
        return (_ref(value),)
    inner = value.values() if isinstance(value, Mapping) else value
    if isinstance(inner, str | int) or inner is None:
        raise ValueError(f"{value!r} is no tensor of a layer")
    return tuple(r for v in inner for r in _refs(v, known))
