"""The operator test table: one `Case` per row, its model of one node, its reference results, and who computes them.

A row runs on every entry of BACKENDS. The rows stand in `op_cases/`, one file per operator family.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import webnn_compile
from drivers import need_driver
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from webnn_compile.dtypes import from_numpy
from webnn_compile.graph.builder import Builder
from webnn_compile.graph.define import define
from webnn_compile.graph.ir import Graph, Value
from webnn_compile.tensor import constant, placeholder
from webnn_compile.tensor.computed_sizes import definition
from webnn_compile.tensor.evaluate import evaluate

Array = np.ndarray[Any, np.dtype[Any]]
Backend = Callable[[onnx.ModelProto, dict[str, Array]], list[Array]]

# Without an instruction for it, onnxruntime adds products of 8 bits in pairs, in 16 bits, and saturates.
ROUNDED_ON_SOME_PROCESSORS = ("MatMulInteger", "ConvInteger")

IR_VERSION = 10  # the newest that every supported onnxruntime loads


@dataclass(frozen=True, eq=False)
class Case:
    """One use of an operator. `inputs` in order, None where an optional one is absent; `constants` are the indices of
    those that become initialisers. `outputs` is how many the node has, with the `absent` ones, which it does not name.
    `tolerance` is relative to max(1, max |reference|) and holds for floats only. `expected` replaces the reference
    where that one is wrong, or has no such operator. `version` is that of another `domain` than ai.onnx."""

    id: str
    op: str
    inputs: tuple[Array | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 21
    constants: frozenset[int] = frozenset()
    outputs: int = 1
    absent: frozenset[int] = frozenset()
    tolerance: float = 1e-5
    expected: tuple[Array, ...] | None = None
    domain: str = ""
    version: int = 1


def feeds(case: Case) -> dict[str, Array]:
    """The arrays that the model of the case takes as inputs, by name."""
    return {f"x{i}": a for i, a in enumerate(case.inputs) if a is not None and i not in case.constants}


@functools.cache
def make_model(case: Case) -> onnx.ModelProto:
    """A model of one node, with the dtypes and shapes of its outputs."""
    model = untyped_model(case)
    names = [o.name for o in model.graph.output]
    del model.graph.output[:]
    model.graph.output.extend(
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(r.dtype), r.shape)
        for name, r in zip(names, reference(case), strict=True)
    )
    return model


@functools.cache
def reference(case: Case) -> list[Array]:
    """Expected outputs: by onnxruntime, unoptimised; by the ONNX reference where it lacks the operator, or
    rounds on some processors."""
    if case.expected is not None:
        return list(case.expected)
    model = untyped_model(case)
    if case.op in ROUNDED_ON_SOME_PROCESSORS:
        return [np.array(r) for r in ReferenceEvaluator(model).run(None, feeds(case))]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        results = session.run(None, feeds(case))
    except Exception as error:  # onnxruntime's exceptions share no base class
        if type(error).__name__ not in ("NotImplemented", "Fail", "InvalidGraph"):
            raise
        results = ReferenceEvaluator(model).run(None, feeds(case))
    # Copies: onnxruntime's arrays keep the session alive, half a megabyte of it.
    return [np.array(r) for r in results]


def untyped_model(case: Case) -> onnx.ModelProto:
    names = ["" if a is None else f"x{i}" for i, a in enumerate(case.inputs)]
    outputs = ["" if i in case.absent else f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, name="node", domain=case.domain, **case.attributes)
    graph = helper.make_graph(
        [node],
        "case",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in feeds(case).items()
        ],
        [helper.make_empty_tensor_value_info(o) for o in outputs if o],
        [
            numpy_helper.from_array(np.asarray(a), f"x{i}")
            for i, a in enumerate(case.inputs)
            if a is not None and i in case.constants
        ],
    )
    versions = {"": case.opset} | ({case.domain: case.version} if case.domain else {})
    imports = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=IR_VERSION, producer_name="test")


def evaluate_model(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    """The outputs by the operators' definitions and the interpreter of tensors: no pass, no code generation."""
    return evaluate_graph(graph_of(model, inputs), inputs)


def graph_of(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> Graph:
    """The graph of a model without subgraphs, which is not checked."""
    builder = Builder(model.graph.name)
    opsets = {i.domain: i.version for i in model.opset_import}
    values: dict[str, Value] = {}
    for t in model.graph.initializer:
        values[t.name] = builder.constant(t.name, numpy_helper.to_array(t))
    for name, array in inputs.items():
        values[name] = builder.input(name, array.shape, from_numpy(array.dtype))
    for node in model.graph.node:
        made = builder.node(
            node.op_type,
            node.name,
            [values[n] if n else None for n in node.input],
            {a.name: _attribute(a) for a in node.attribute},
            list(node.output),
            opsets[node.domain],
            node.domain,
        )
        values.update({n: v for n, v in zip(node.output, made, strict=True) if v is not None})
    return builder.build([values[o.name] for o in model.graph.output])


def evaluate_graph(graph: Graph, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs by the interpreter of tensors."""
    known = {v: constant(v.name, a) for v, a in graph.constants.items()}
    known |= {v: placeholder(v.name, v.shape, v.dtype) for v in graph.inputs}
    fed = {known[v]: inputs[v.name] for v in graph.inputs}
    with definition(graph.name) as defined:
        for made_node in graph.nodes:
            tensors = define(made_node, known)
            known.update({v: t for v, t in zip(made_node.outputs, tensors, strict=False) if v is not None})
    return [evaluate(known[v], fed, sizes=defined.sizes) for v in graph.outputs]


def evaluate_case(case: Case) -> list[Array]:
    """The outputs of the case by the interpreter of tensors, without a reference."""
    return evaluate_model(untyped_model(case), feeds(case))


def _attribute(a: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(a)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, int | float):
        return value
    return tuple(v.decode() if isinstance(v, bytes) else v for v in value)


def _compiled(target: str) -> Backend:
    """The outputs by the whole compiler; the model says on what it ran."""

    def run(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
        need_driver(target)
        compiled = webnn_compile.compile(model, target=target, shapes={name: a.shape for name, a in inputs.items()})
        assert compiled.backend == target
        results = compiled.run(inputs)
        return [results[o.name] for o in model.graph.output]

    return run


BACKENDS: dict[str, Backend] = {
    "evaluate": evaluate_model,
    **{target: _compiled(target) for target in webnn_compile.TARGETS},
}


def all_cases() -> list[Case]:
    """The rows of every family."""
    folder = Path(__file__).parent / "op_cases"
    modules = sorted(p.stem for p in folder.glob("*.py") if not p.stem.startswith("_"))
    return [case for m in modules for case in importlib.import_module(f"op_cases.{m}").CASES]


def check(results: list[Array], expected: list[Array], tolerance: float) -> None:
    """Asserts that dtypes, shapes, places of NaN and infinities, integers and bools are equal, and floats close."""
    assert len(results) == len(expected)
    for got, want in zip(results, expected, strict=True):
        assert got.dtype == want.dtype
        assert got.shape == want.shape
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(got, want)
            continue
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        finite = np.isfinite(want)
        np.testing.assert_array_equal(got[~finite], want[~finite])
        scale = max(1.0, float(np.abs(want[finite]).max(initial=0)))
        np.testing.assert_allclose(
            got[finite].astype(np.float64), want[finite].astype(np.float64), rtol=0, atol=tolerance * scale
        )
