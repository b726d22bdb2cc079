"""From a Keras model to an ONNX model, whose nodes and values have the names of the layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ...errors import InputError, UnsupportedError
from ..images import Images
from ..model_builder import ModelBuilder
from ..unsupported import named
from .call import Call, Scope, Value
from .layers import LAYERS
from .passed_mask import passed_mask
from .read_config import Layer, Network, Ref, input_layers, input_shape, input_type, is_quantised
from .read_model import DAMAGES, EXPORT, Model


def convert(model: Model) -> onnx.ModelProto:
    """Inputs and outputs have the names of their layers. Raises UnsupportedError, which names all that is not
    supported, and InputError for a damaged model."""
    network, builder = model.network, ModelBuilder(model.name)
    converter = _Converter(model)
    inputs = [_input(builder, layer, model) for layer in input_layers(network)]
    # What is an output keeps that name for itself.
    outputs = [builder.name(name) for name in output_names(network)]
    scope = Scope(builder, Images(builder), model.dialect, converter.apply)
    results = converter.convert(scope, network, inputs)
    converter.check()
    assert results is not None
    for value, name in zip(results, outputs, strict=True):
        builder.node("Identity", [value.name], name, outputs=[name])
        builder.output(name, helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype)), None)
    return builder.model()


def output_names(network: Network) -> list[str]:
    """The names of layers; of several outputs of one, with a number from the second on."""
    used: Counter[str] = Counter()
    names = []
    for ref in network.outputs:
        names.append(f"{ref.layer}_{used[ref.layer]}" if used[ref.layer] else ref.layer)
        used[ref.layer] += 1
    return names


def unsupported_kinds(network: Network) -> dict[str, list[str]]:
    """The classes of layers that are not taken, with their layers."""
    found: dict[str, list[str]] = {}
    for path, layer in all_layers(network):
        if not _is_taken(layer):
            found.setdefault(layer.kind, []).append(path)
    return found


def all_layers(network: Network, prefix: str = "") -> Iterator[tuple[str, Layer]]:
    """Layers, those of models and wrappers inside, too, after their paths; models themselves are left out."""
    for layer in network.layers:
        yield from _with_inner(layer, prefix)


def _with_inner(layer: Layer, prefix: str) -> Iterator[tuple[str, Layer]]:
    path = prefix + layer.name
    if layer.network is not None:
        yield from all_layers(layer.network, f"{path}/")
        return
    yield path, layer
    for inner in layer.inner:
        yield from _with_inner(inner, f"{path}/")


def _is_taken(layer: Layer) -> bool:
    return layer.is_own and (layer.kind in LAYERS or layer.kind == "InputLayer")


def _input(builder: ModelBuilder, layer: Layer, model: Model) -> Value:
    shape, dtype = input_shape(layer), input_type(layer)
    if shape is None:
        raise InputError(
            f"{model.name}: its input {layer.name!r} has no shape; build the model in Keras, with "
            "model.build((None, ...)), and save it again"
        )
    try:
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    except (KeyError, TypeError, ValueError):
        raise UnsupportedError(
            f"{model.name}: its input {layer.name!r} has elements of type {dtype}, which are not supported; save a "
            "model that takes numbers in their place"
        ) from None
    return Value(builder.input(layer.name, kind, shape), len(shape), dtype)


class _Converter:
    """Adds layers to a builder, and collects what is not supported."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._problems = dict.fromkeys(_line(kind, names) for kind, names in unsupported_kinds(model.network).items())

    def check(self) -> None:
        """Raises UnsupportedError with all that is not supported, if anything is."""
        if self._problems:
            listed = "".join(f"\n  {line}" for line in self._problems)
            raise UnsupportedError(
                f"{self._model.name} needs what is not supported, {len(self._problems)} in all:{listed}\n"
                f"Replace these layers in the model, or {EXPORT}."
            )

    def convert(self, scope: Scope, network: Network, operands: Sequence[Value]) -> list[Value] | None:
        """The outputs of a network; None where a layer that is not supported would compute one."""
        found: dict[tuple[str, int], list[Value] | None] = {}
        for ref, value in zip(network.inputs, operands, strict=True):
            found[ref.layer, 0] = [value]
        first = _first_calls(network)

        def key(ref: Ref) -> tuple[str, int]:
            return ref.layer, ref.call - first.get(ref.layer, 0)

        def resolved(tree: Any) -> Any:
            match tree:
                case Ref():
                    values = found[key(tree)]
                    return None if values is None else values[tree.result]
                case list() | tuple():
                    return [resolved(t) for t in tree]
                case dict():
                    return {name: resolved(t) for name, t in tree.items()}
            return tree

        waiting = [(layer, i) for layer in network.layers for i in range(len(layer.calls))]
        while waiting:
            later = []
            for layer, i in waiting:
                arguments = layer.calls[i]
                keys = [key(ref) for ref in _refs([*arguments.args, arguments.keywords])]
                if not all(k in found for k in keys):
                    later.append((layer, i))
                elif any(found[k] is None for k in keys):
                    found[layer.name, i] = None
                else:
                    call = Call(scope, layer, resolved(arguments.args), resolved(dict(arguments.keywords)))
                    found[layer.name, i] = self.apply(call)
                    if layer.kind == "MultiHeadAttention" and scope.dialect.masks_of_keras_3:
                        _unmask(found, {v.name for v in call.values})
            if len(later) == len(waiting):
                names = named([scope.prefix + layer.name for layer, _ in later], "layer")
                raise InputError(
                    f"{self._model.name} is not a valid Keras model: nothing computes the operands of {names}; save or "
                    "download it again"
                )
            waiting = later
        results = [self._guarded(network.name, lambda ref=ref: resolved(ref)) for ref in network.outputs]
        return None if any(r is None for r in results) else results

    def _guarded(self, where: str, compute: Any) -> Any:
        """The result of `compute`; what a damaged configuration raises is made an InputError."""
        try:
            return compute()
        except DAMAGES as error:
            raise InputError(
                f"{self._model.name} is not a valid Keras model: {where}: {type(error).__name__}: {error}; save it "
                "again, or report this with the model"
            ) from error

    def apply(self, call: Call) -> list[Value] | None:
        """The results of a layer; None where it needs what is not supported."""
        layer = call.layer
        if layer.network is not None:
            inside = replace(call.scope, prefix=f"{call.stem}/")
            return self.convert(inside, layer.network, call.values)
        if not _is_taken(layer):
            return None
        try:
            if is_quantised(layer):
                raise call.unsupported("its weights are quantised; save the model before it is, and quantise it here")
            results = self._guarded(f"{layer.kind} ({call.stem!r})", lambda: LAYERS[layer.kind](call))
        except UnsupportedError as error:
            self._problems[str(error)] = None
            return None
        if results is None:
            return None
        listed = [results] if isinstance(results, Value) else list(results)
        mask = passed_mask(call)
        if mask is not None:
            listed = [v if v.mask is not None else replace(v, mask=mask) for v in listed]
        return listed


def _unmask(found: dict[tuple[str, int], list[Value] | None], names: set[str]) -> None:
    """Takes the masks of these values away."""
    for key, values in found.items():
        if values is not None:
            found[key] = [replace(v, mask=None) if v.name in names else v for v in values]


def _first_calls(network: Network) -> dict[str, int]:
    """The number of the first call of each layer: models that were called before they became a part count on."""
    calls = {layer.name: len(layer.calls) for layer in network.layers}
    used = [r for layer in network.layers for call in layer.calls for r in _refs([*call.args, call.keywords])]
    last: dict[str, int] = {}
    for ref in (*used, *network.outputs):
        last[ref.layer] = max(ref.call, last.get(ref.layer, 0))
    return {name: max(0, number + 1 - max(1, calls.get(name, 1))) for name, number in last.items()}


def _refs(tree: Any) -> list[Ref]:
    if isinstance(tree, Ref):
        return [tree]
    inner = list(tree.values()) if isinstance(tree, dict) else tree
    return [r for t in inner for r in _refs(t)] if isinstance(inner, list | tuple) else []


def _line(kind: str, names: Sequence[str]) -> str:
    return f"{kind}: {named(names, 'layer')}"
