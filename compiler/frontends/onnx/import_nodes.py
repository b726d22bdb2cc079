"""Adds nodes of a checked model to a Builder, and collects what is not supported on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import onnx

from ...custom.table import CustomOperators
from ...dtypes import STORAGE_TYPES
from ...errors import InputError, InternalError, UnsupportedError, WebnnCompileError
from ...graph.builder import Builder
from ...graph.ir import Attribute, Graph, Node, Value
from ...graph.names import Names
from ...ops.call import OWN_DOMAIN, NotKnownError, SizesDifferError, operator_name
from ...system.limits import is_too_large
from .check_model import names_read
from .check_node import check_node
from .decide_branches import Decisions, RanksDifferError, Refused
from .deciding_inputs import DecidingInputs
from .fix_shapes import InputShapes
from .items import Item, Items, Listed, Stacked
from .problems import Problems, is_onnx
from .read_attributes import read_attributes
from .read_constant import read_constant
from .read_model import Source
from .read_tensor import element_type, read_sparse, read_tensor, read_words
from .refuse_inputs import refuse_input
from .separate_weights import Weights
from .state_types import state_type, storage_of_results

MADE_OPSET = 18
"""Opset of the operators that stand in for others."""

Scope = dict[str, Item | None]
"""Values by ONNX name; None for those that cannot be made because of a problem."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The graph that nodes are added to, and the values that they may read."""

    builder: Builder
    scope: Scope
    refusals: list[tuple[Value, str]] | None = None
    """Refusals of branches inside that do not fit the sizes of the model (`Graph.refusals`); None where no branch may
    be such a one: in a loop, which would have to carry that on."""


@dataclass(slots=True)
class Attempt:
    """An import that may fail, with the problems it met."""

    problems: Problems
    _dropped: bool = False

    def drop(self) -> None:
        """Drops what was imported, though it has no problems."""
        self._dropped = True

    @property
    def is_good(self) -> bool:
        """Whether what was imported is part of the graph."""
        return not self.problems and not self._dropped


class Import:
    """One import: `main` is the model's graph, `deciding_inputs` those of its values. `handlers` are of the operators
    of ai.onnx that become something else than a node, `custom` operators that the user defines."""

    def __init__(
        self,
        model: onnx.ModelProto,
        shapes: InputShapes,
        types: Mapping[str, onnx.TypeProto],
        weights: Weights,
        source: Source,
        problems: Problems,
        handlers: Mapping[str, Handler],
        custom: CustomOperators,
    ) -> None:
        self._handlers = handlers
        self._custom = custom
        self._shapes = shapes
        self._types = types
        self._weights = weights
        self._source = source
        self._problems = problems
        self._opsets = {i.domain: i.version for i in model.opset_import}
        self._computed = {o for node in model.graph.node for o in node.output}
        # Outputs of nodes that nothing reads are not built: training outputs of inference models, say.
        self._read = {*(o.name for o in model.graph.output), *names_read(model.graph.node)} - {""}
        self._node_names = Names()
        self._value_names = Names((*(v.name for v in model.graph.input), *weights, *self._computed))
        self._count = 0
        self._storage: dict[Value, int] = {}
        self.decisions = Decisions(model.graph)
        self.deciding_inputs = DecidingInputs(model.graph, weights)
        self.main = Frame(Builder(model.graph.name, source.memory), {}, [])
        self.main.scope.update(
            (v.name, self._input(v, model.graph)) for v in model.graph.input if v.name not in weights
        )
        # What may not become an output under its own name: an input, or what is an output already.
        self._bound = {v for v in self.main.scope.values() if isinstance(v, Value)}

    def nodes(self, nodes: Iterable[onnx.NodeProto], frame: Frame) -> None:
        """Adds nodes, whose outputs become values of the frame."""
        listed = list(nodes)
        for i, node in enumerate(listed):
            name = self._node_names.fresh(node.name or f"{node.op_type}_{self._count}")
            self._count += 1
            try:
                self._bind(node, name, frame)
            except RanksDifferError as error:
                if any(self._fits(node, name, listed[i + 1 :], frame, Refused(s, str(error))) for s in error.sides):
                    return
                with self.decisions.deciding(node, Refused(None, str(error))):
                    self._bind(node, name, frame)

    def _bind(self, node: onnx.NodeProto, name: str, frame: Frame) -> None:
        for output, value in zip(node.output, self._node(node, name, frame), strict=False):
            if output:
                frame.scope[output] = value

    def _fits(
        self, node: onnx.NodeProto, name: str, following: list[onnx.NodeProto], frame: Frame, refused: Refused
    ) -> bool:
        """Adds an If without the branch that is `refused`, and the nodes `following`; False, and nothing of them, where
        the other branch does not fit these."""
        with self.decisions.deciding(node, refused), self.attempt(frame) as attempt:
            self._bind(node, name, frame)
            self.nodes(following, frame)
        return self.decisions.count(attempt.is_good)

    def may_decide(self, node: onnx.NodeProto, frame: Frame) -> bool:
        """Whether an If may be imported without one of its branches, by which of them fits what follows."""
        return frame.refusals is not None and not self._problems and self.decisions.may_decide(node)

    def outputs(self, name: str) -> list[Value]:
        """The graph output `name`: for a sequence one for each of its tensors, `name`.0 and so on, none for an optional
        without a value, and none where there is a problem."""
        item = self.lookup(name, self.main)
        match item:
            case Value():
                return [self._output(item, name)]
            case Listed():
                return [self._output(value, self.fresh(f"{name}.{i}")) for i, value in enumerate(item.items)]
            case Stacked():
                self._problems.add(f"output {name!r} is a sequence of as many tensors as a run decides")
        return []

    def _output(self, value: Value, name: str) -> Value:
        """`value` as an output of this name."""
        builder = self.main.builder
        if value.name != name or value in self._bound:
            data = builder.constant_of(value)
            if data is not None:
                value = builder.constant(name, data)
            else:
                node_name = self._node_names.fresh(f"Identity_{name}")
                (copied,) = builder.node("Identity", node_name, [value], {}, [name], self._opsets[""])
                assert copied is not None
                value = copied
        self._bound.add(value)
        return value

    def _input(self, value: onnx.ValueInfoProto, graph: onnx.GraphProto) -> Value | None:
        reason, code = refuse_input(value, graph), value.type.tensor_type.elem_type
        dtype = element_type(code)
        if reason is not None or dtype is None:
            self._problems.add(reason or f"input {value.name!r} has no type")
            return None
        shapes = self._shapes
        port = self.main.builder.input(value.name, shapes.of[value.name], dtype, shapes.elements.get(value.name))
        self._storage |= {port: code} if code in STORAGE_TYPES else {}
        return port

    def _node(self, node: onnx.NodeProto, name: str, frame: Frame) -> Sequence[Item | None]:
        if not self._problems.check_kind(node):
            return self._stand_ins(node)
        inputs: list[Value | None] = []
        try:
            operands = [self.lookup(n, frame) if n else None for n in node.input]
            if any(n and v is None for n, v in zip(node.input, operands, strict=True)):
                return self._stand_ins(node)
            if is_onnx(node, *self._handlers):
                return self._handlers[node.op_type](self, node, name, operands, frame)
            inputs = [v for v in operands if v is None or isinstance(v, Value)]
            if len(inputs) < len(operands):
                if is_onnx(node, "Identity"):
                    return operands
                op = operator_name(node.domain, node.op_type)
                raise UnsupportedError(f"{op} (node {name!r}): it takes a sequence, or an optional")
            outputs = [self.value_name(o, frame) if o in self._read else "" for o in node.output]
            if is_onnx(node, "Constant"):
                return [self._constant(node, name, outputs[0], frame)]
            stated = state_type(node, lambda i: self._element_type(node.input[i], inputs[i]))
            attributes = {**stated, **read_attributes(node, name, self._source)}
            opset = self._opsets[node.domain]
            kind, definition = (opset, node.domain), self._custom.find(node.domain, node.op_type, opset, name)
            results = frame.builder.node(node.op_type, name, inputs, attributes, outputs, *kind, definition=definition)
            self._storage.update(storage_of_results(node, opset, inputs, results, attributes, self._storage))
            return results
        except UnsupportedError as error:
            if isinstance(error, SizesDifferError):
                self._problems.differing.append(error.sizes)
            text, flags = str(error), []
            if isinstance(error, NotKnownError):
                flags = self.deciding_inputs.flags(error.value)
                text = error.of_sizes if self.deciding_inputs.is_of_sizes(error.value) else text
            self._problems.add(": ".join([text, *([" and ".join(flags)] if flags else [])]))
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
            invalid = None if node.domain else check_node(node, inputs, self.main.builder.constants, self._opsets[""])
            if invalid is not None:
                raise InputError(
                    f"{self._source.name} is not a valid ONNX model: {op} (node {name!r}): {invalid}; export it again"
                ) from None
            # A definition that breaks is our fault, and still has to name the node.
            raise InternalError(
                f"{op} (node {name!r}): importing it failed with {type(error).__name__}: {error}; "
                "please report this with the model"
            ) from error

    @property
    def opset(self) -> int:
        """The opset of ai.onnx."""
        return int(self._opsets[""])

    def inside(self, frame: Frame, name: str) -> Frame:
        """A frame for a region of a node that is added to `frame`."""
        return Frame(frame.builder.region(name), dict(frame.scope))

    def subgraph(self, graph: onnx.GraphProto, arguments: Mapping[str, Item | None], frame: Frame) -> list[Item | None]:
        """The outputs of a subgraph, whose nodes are added to `frame` but keep their names to themselves.
        `arguments` are its inputs."""
        own = Frame(frame.builder, {**frame.scope, **arguments}, frame.refusals)
        for tensor in graph.initializer:
            own.scope[tensor.name] = self._stored(tensor, self.value_name(tensor.name, own), frame)
        self.nodes(graph.node, own)
        return [self.lookup(o.name, own) for o in graph.output]

    @contextmanager
    def attempt(self, frame: Frame) -> Iterator[Attempt]:
        """Imports what may be imported in another way, or need not be: of an attempt that has problems, or is dropped,
        nothing remains in `frame` or in those around it but the weights that it read."""
        around, attempt = self._problems, Attempt(self._problems.afresh())
        restore = frame.builder.checkpoint()
        names = self._node_names.checkpoint(), self._value_names.checkpoint()
        count, refusals = self._count, len(frame.refusals or ())
        self._problems = attempt.problems
        try:
            yield attempt
        except (UnsupportedError, InputError) as error:
            attempt.problems.add(str(error))
        finally:
            self._problems = around
        if not attempt.is_good:
            restore(lambda v: self.main.scope.get(v.name) is v)
            for free in names:
                free()
            self._count = count
            if frame.refusals is not None:
                del frame.refusals[refusals:]

    def report(self, problems: Problems) -> None:
        """Keeps the problems of an attempt."""
        self._problems.extend(problems)

    def is_input(self, value: Value) -> bool:
        """Whether it is one of the model's."""
        return self.main.scope.get(value.name) is value and value.name not in self._computed

    def fresh(self, stem: str) -> str:
        """A name that no value has."""
        return self._value_names.fresh(stem)

    def add_node(
        self,
        op_type: str,
        name: str,
        inputs: Sequence[Value | None],
        outputs: Sequence[str],
        frame: Frame,
        regions: tuple[Graph, ...],
        more: int = 0,
    ) -> Sequence[Value | None]:
        """The outputs of a node with regions, and so many more, which the model does not name."""
        names = [self.value_name(o, frame) if o else "" for o in outputs]
        names += [self.fresh(f"{name}.refused") for _ in range(more)]
        return frame.builder.node(op_type, name, inputs, {}, names, self.opset, "", regions)

    def add(
        self,
        op_type: str,
        stem: str,
        inputs: Sequence[Value | None],
        frame: Frame,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Value:
        """The only output of a node that the model does not have, which others are made of."""
        name = self._node_names.fresh(stem)
        output = self._value_names.fresh(name)
        (value,) = frame.builder.node(op_type, name, inputs, attributes or {}, [output], MADE_OPSET)
        assert value is not None
        return value

    def integers(self, values: int | Sequence[int], frame: Frame) -> Value:
        """An int64 constant: a scalar, or a vector."""
        return frame.builder.constant(self.fresh("number"), np.asarray(values, np.int64))

    def _stand_ins(self, node: onnx.NodeProto) -> list[Value | None]:
        """Values in place of the outputs of a node that is not supported, so that others can still be checked.

        Only of floats: integers may be shapes, and what depends on unknown shapes would raise false alarms.
        """
        values: list[Value | None] = []
        for output in node.output:
            tensor = self._types.get(output, onnx.TypeProto()).tensor_type
            dtype = element_type(tensor.elem_type)
            is_fixed = tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim)
            usable = is_fixed and dtype is not None and dtype.is_float
            values.append(
                Value(output, tuple(d.dim_value for d in tensor.shape.dim), dtype) if usable and dtype else None
            )
        return values

    def lookup(self, name: str, frame: Frame) -> Item | None:
        """The value `name`; a weight is read when it is first used."""
        for scope in (frame.scope, self.main.scope):
            if name in scope:
                return scope[name]
        stored = self._weights.get(name)
        if stored is None:
            raise InputError(
                f"{self._source.name} is not a valid ONNX model: nothing makes the value {name!r}; export it again"
            )
        value: Value | None = None
        try:
            if isinstance(stored, onnx.SparseTensorProto):
                value = self.main.builder.constant(name, read_sparse(stored, self._source, name))
            else:
                value = self._stored(stored, name, self.main)
        except UnsupportedError as error:
            self._problems.add(str(error))
        self.main.scope[name] = value
        return value

    def _constant(self, node: onnx.NodeProto, name: str, output: str, frame: Frame) -> Value:
        """The value of a Constant."""
        attribute = node.attribute[0]
        if attribute.name == "value":
            return self._stored(attribute.t, output, frame, name)
        return frame.builder.constant(output, read_constant(node, name, self._source))

    def _stored(self, tensor: onnx.TensorProto, name: str, frame: Frame, said: str = "") -> Value:
        """A tensor as the constant `name`, computed from the words that hold it where it is of a storage type. Messages
        name it `said`."""
        data, builder = read_tensor(tensor, self._source, said), frame.builder
        stored = STORAGE_TYPES.get(tensor.data_type)
        if stored is None:
            return builder.constant(name, data)
        words, shape = read_words(tensor, self._source, said or name), data.shape
        if shape and shape[-1] % stored.per_word == 0:
            words = words.reshape(*shape[:-1], shape[-1] // stored.per_word)
        packed = builder.constant(self.fresh(f"{name}.packed"), words)
        if frame is self.main:  # an attempt that is dropped keeps what is in this scope
            frame.scope[packed.name] = packed
        value = builder.constant(name, data)
        attributes: dict[str, Attribute] = {"to": tensor.data_type, "shape": shape}
        builder.computed_by(Node("Unpack", name, (packed,), (value,), attributes, 1, OWN_DOMAIN))
        self._storage[value] = tensor.data_type
        return value

    def _element_type(self, name: str, value: Value | None) -> int | None:
        """The number of the ONNX element type of `value`, where it is known."""
        stored = None if value is None else self._storage.get(value)
        return stored or self._types.get(name, onnx.TypeProto()).tensor_type.elem_type or None

    def value_name(self, name: str, frame: Frame) -> str:
        """`name` in the main graph; one like it in a subgraph, where a name of another one may come again."""
        return name if frame is self.main else self._value_names.fresh(name)


Handler = Callable[[Import, onnx.NodeProto, str, Items, Frame], Items]
"""Adds a node, of this name and with these inputs, to the frame; returns what its outputs stand for."""
