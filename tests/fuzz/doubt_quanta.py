"""The reference's doubts about quanta: which of two neighbours a number between them becomes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
import onnx
import onnxruntime as ort
from fuzz.case import Array
from onnx import helper, numpy_helper

NOISE = 4e-6
"""Relative to the largest magnitude of what is quantised: a thousandth of a step, for 8 bits."""
STEPS = 2.0**-22
"""Relative change of the scales of operators on quanta, which onnxruntime multiplies and divides in other orders."""
MODELS = 4
DOUBTS_OF_QUANTA = 64
"""Draws of noise, where a result seems wrong: so many, for a number behind several quantisers may have a result that is
seldom."""


def quantises(model: onnx.ModelProto) -> bool:
    """Whether numbers are rounded to quanta that onnxruntime computes otherwise in their last bits."""
    return any(_rounds(node) or _looks_up(node) for node in model.graph.node)


def doubt_quanta(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> Callable[[int], dict[str, Array]]:
    """onnxruntime's results by a seed, of the model with noise in front of every quantiser."""

    @functools.cache
    def session(seed: int) -> ort.InferenceSession:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        noisy = with_noise(model, seed).SerializeToString()
        return ort.InferenceSession(noisy, options, providers=["CPUExecutionProvider"])

    def results(seed: int) -> dict[str, Array]:
        chosen = session(seed % MODELS)
        return dict(zip([o.name for o in chosen.get_outputs()], chosen.run(None, dict(feeds)), strict=True))

    return results


def with_noise(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """x + NOISE * max(abs(x)) * (a random number between -1 and 1 for each element) in place of what is quantised, and
    other scales of the operators that compute with quanta."""
    noisy = onnx.ModelProto()
    noisy.CopyFrom(model)
    graph = noisy.graph
    arrays = np.random.default_rng(seed)
    scales = {t.name: t for t in graph.initializer if t.data_type == onnx.TensorProto.FLOAT}
    given = {value.name for value in graph.input}
    nodes = list(graph.node)
    del graph.node[:]
    for i, node in enumerate(nodes):
        if _looks_up(node):
            for j, name in enumerate(node.input):
                if name in scales:
                    data = numpy_helper.to_array(scales[name])
                    changed = (data * (1 + STEPS * arrays.uniform(-1, 1, data.shape))).astype(np.float32)
                    node.input[j] = f"{name} for {i}.{j}"
                    graph.initializer.append(numpy_helper.from_array(changed, node.input[j]))
        elif _rounds(node) and not (node.op_type == "DynamicQuantizeLinear" and node.input[0] in given):
            x = node.input[0]
            names = [f"{x} for {i}, {what}" for what in ("magnitudes", "largest", "numbers", "noise", "with noise")]
            magnitudes, largest, numbers, noise, node.input[0] = names
            like = {"low": -NOISE, "high": NOISE, "seed": float(seed * 1000 + i)}
            graph.node.extend(
                [
                    helper.make_node("Abs", [x], [magnitudes]),
                    helper.make_node("ReduceMax", [magnitudes], [largest], keepdims=0),
                    helper.make_node("RandomUniformLike", [x], [numbers], **like),
                    helper.make_node("Mul", [numbers, largest], [noise]),
                    helper.make_node("Add", [x, noise], [node.input[0]]),
                ]
            )
        graph.node.append(node)
    return noisy


def _rounds(node: onnx.NodeProto) -> bool:
    return node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear")


def _looks_up(node: onnx.NodeProto) -> bool:
    return node.domain == "com.microsoft" and node.op_type.startswith("QLinear")
