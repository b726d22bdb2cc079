"""Adds the nodes of a checked model to a Builder, and collects what is not supported on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import onnx

from ...errors import InputError, InternalError, UnsupportedError, WebnnCompileError
from ...graph.builder import Builder
from ...graph.ir import Graph, Value
from ...graph.names import Names
from ...ops.call import operator_name
from ...system.limits import is_too_large
from .check_node import check_node
from .problems import Problems, is_onnx
from .read_attributes import read_attributes
from .read_constant import read_constant
from .read_model import Source
from .read_tensor import element_type, read_sparse, read_tensor, type_name
from .separate_weights import Weights

Scope = dict[str, Value | None]
"""Values by ONNX name; None for those that cannot be made because of a problem."""


def build_graph(
    model: onnx.ModelProto, types: Mapping[str, onnx.TypeProto], weights: Weights, source: Source, problems: Problems
) -> Graph:
    """The Graph of `model`, whose inputs have fixed shapes and whose functions are inlined.

    `types` are what ONNX infers: they let importing continue after a node that is not supported.
    """
    build = _Build(model, types, weights, source, problems)
    build.nodes(model.graph.node, build.scope)
    outputs = [build.output(v.name) for v in model.graph.output]
    problems.raise_if_any()
    return build.builder.build([v for v in outputs if v is not None])


class _Build:
    """One import: `scope` holds the values of the main graph."""

    def __init__(
        self,
        model: onnx.ModelProto,
        types: Mapping[str, onnx.TypeProto],
        weights: Weights,
        source: Source,
        problems: Problems,
    ) -> None:
        self.builder = Builder(model.graph.name, source.memory)
        self._types = types
        self._weights = weights
        self._source = source
        self._problems = problems
        self._opsets = {i.domain: i.version for i in model.opset_import}
        self._made = {o for node in model.graph.node for o in node.output}
        self._node_names = Names()
        self._value_names = Names((*(v.name for v in model.graph.input), *weights, *self._made))
        self._count = 0
        self.scope: Scope = {v.name: self._input(v) for v in model.graph.input if v.name not in weights}
        # What may not become an output under its own name: an input, or what is an output already.
        self._bound = {v for v in self.scope.values() if v is not None}

    def nodes(self, nodes: Iterable[onnx.NodeProto], scope: Scope) -> None:
        """Adds nodes, whose outputs become values of `scope`."""
        for node in nodes:
            name = self._node_names.fresh(node.name or f"{node.op_type}_{self._count}")
            self._count += 1
            for output, value in zip(node.output, self._node(node, name, scope), strict=False):
                if output:
                    scope[output] = value

    def output(self, name: str) -> Value | None:
        """The graph output `name`."""
        value = self._lookup(name, self.scope)
        if value is None:
            return None
        if value.name != name or value in self._bound:
            data = self.builder.constant_of(value)
            if data is not None:
                value = self.builder.constant(name, data)
            else:
                node_name = self._node_names.fresh(f"Identity_{name}")
                (value,) = self.builder.node("Identity", node_name, [value], {}, [name], self._opsets[""])
                assert value is not None
        self._bound.add(value)
        return value

    def _input(self, value: onnx.ValueInfoProto) -> Value | None:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            self._problems.add(f"input {value.name!r} is a {(kind or 'value without type').removesuffix('_type')}")
            return None
        code = value.type.tensor_type.elem_type
        dtype = element_type(code)
        if dtype is None:
            self._problems.add(f"input {value.name!r} has elements of type {type_name(code)}")
            return None
        return self.builder.input(value.name, tuple(d.dim_value for d in value.type.tensor_type.shape.dim), dtype)

    def _node(self, node: onnx.NodeProto, name: str, scope: Scope) -> Sequence[Value | None]:
        if not self._problems.check_kind(node):
            return self._stand_ins(node)
        inputs: list[Value | None] = []
        try:
            inputs = [self._lookup(n, scope) if n else None for n in node.input]
            if any(n and v is None for n, v in zip(node.input, inputs, strict=True)):
                return self._stand_ins(node)
            if is_onnx(node, "If"):
                return self._branch(node, name, inputs[0], scope)
            outputs = [self._value_name(o, scope) if o else "" for o in node.output]
            if is_onnx(node, "Constant"):
                return [self.builder.constant(outputs[0], read_constant(node, name, self._source))]
            attributes = read_attributes(node, name, self._source)
            opset = self._opsets[node.domain]
            return self.builder.node(node.op_type, name, inputs, attributes, outputs, opset, node.domain)
        except UnsupportedError as error:
            self._problems.add(str(error))
            return self._stand_ins(node)
        except WebnnCompileError:
            raise
        except Exception as error:
            op = operator_name(node.domain, node.op_type)
            if is_too_large(error):
                raise InputError(
                    f"{op} (node {name!r}): memory runs out while its constants are computed ({error}); give "
                    "the model smaller shapes"
                ) from None
            invalid = None if node.domain else check_node(node, inputs, self.builder.constants, self._opsets[""])
            if invalid is not None:
                raise InputError(
                    f"{self._source.name} is not a valid ONNX model: {op} (node {name!r}): {invalid}; export it again"
                ) from None
            # A definition that breaks is our fault, and still has to name the node.
            raise InternalError(
                f"{op} (node {name!r}): importing it failed with {type(error).__name__}: {error}; "
                "please report this with the model"
            ) from error

    def _branch(self, node: onnx.NodeProto, name: str, condition: Value | None, scope: Scope) -> list[Value | None]:
        """The outputs of the branch of an If that a constant condition takes."""
        known = None if condition is None else self.builder.constant_of(condition)
        if known is None:
            raise UnsupportedError(
                f"If (node {name!r}): its condition is computed at run time; export the model without control flow"
            )
        chosen = "then_branch" if known.item() else "else_branch"
        graph = next(a.g for a in node.attribute if a.name == chosen)
        inner = dict(scope)
        for tensor in graph.initializer:
            data = read_tensor(tensor, self._source)
            inner[tensor.name] = self.builder.constant(self._value_name(tensor.name, inner), data)
        self.nodes(graph.node, inner)
        return [self._lookup(o.name, inner) for o in graph.output]

    def _stand_ins(self, node: onnx.NodeProto) -> list[Value | None]:
        """Values in place of the outputs of a node that is not supported, so that others can still be checked.

        Only of floats: integers may be shapes, and what depends on unknown shapes would raise false alarms.
        """
        made: list[Value | None] = []
        for output in node.output:
            tensor = self._types.get(output, onnx.TypeProto()).tensor_type
            dtype = element_type(tensor.elem_type)
            known = tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim)
            usable = known and dtype is not None and dtype.is_float
            made.append(
                Value(output, tuple(d.dim_value for d in tensor.shape.dim), dtype) if usable and dtype else None
            )
        return made

    def _lookup(self, name: str, scope: Scope) -> Value | None:
        """The value `name`; a weight is read when it is first used."""
        if name in scope:
            return scope[name]
        if name in self.scope:
            return self.scope[name]
        stored = self._weights.get(name)
        if stored is None:
            raise InputError(
                f"{self._source.name} is not a valid ONNX model: nothing makes the value {name!r}; export it again"
            )
        value: Value | None = None
        try:
            sparse = isinstance(stored, onnx.SparseTensorProto)
            data = read_sparse(stored, self._source, name) if sparse else read_tensor(stored, self._source)
            value = self.builder.constant(name, data)
        except UnsupportedError as error:
            self._problems.add(str(error))
        self.scope[name] = value
        return value

    def _value_name(self, name: str, scope: Scope) -> str:
        """`name` in the main graph; one like it in a branch, where a name of another branch may come again."""
        return name if scope is self.scope else self._value_names.fresh(name)
