"""Builds a Graph node by node: infers shapes from the operators' definitions and folds what is constant at once.

Folding during construction is what makes shape arithmetic (Shape -> Gather -> Concat -> Reshape) vanish: the shapes
that later operators need are then known when those are added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from ..dtypes import DType, from_numpy
from ..errors import BoundsError, UnsupportedError
from ..ir.reduction import Reduce
from ..ops import OPERATORS
from ..ops.call import Call
from ..system.limits import FOLD_BYTES, FOLD_STEPS, CompileMemory, check_elements
from ..tensor import Tensor, constant, placeholder
from ..tensor.evaluate import depends_only_on_constants, evaluate, unevaluated
from .ir import Array, Attribute, Graph, Node, Value


class Builder:
    """Collects inputs, constants and nodes; `build` gives the Graph.

    What is folded is counted by `memory`, where one is given.
    """

    def __init__(self, name: str, memory: CompileMemory | None = None) -> None:
        self._name = name
        self._memory = memory
        self._inputs: list[Value] = []
        self._nodes: list[Node] = []
        self._constants: dict[Value, Array] = {}

    def input(self, name: str, shape: tuple[int, ...], dtype: DType) -> Value:
        """A graph input. Raises InputError where it has too many elements."""
        check_elements(shape, f"input {name!r}")
        value = Value(name, shape, dtype)
        self._inputs.append(value)
        return value

    def constant(self, name: str, data: Array) -> Value:
        """A value known now."""
        value = Value(name, data.shape, from_numpy(data.dtype))
        self._constants[value] = data
        return value

    @property
    def constants(self) -> Mapping[Value, Array]:
        """The elements of all values that are known."""
        return self._constants

    def constant_of(self, value: Value) -> Array | None:
        """The elements of `value` where they are known."""
        return self._constants.get(value)

    def node(
        self,
        op_type: str,
        name: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Attribute],
        outputs: Sequence[str],
        opset: int,
        domain: str = "",
    ) -> tuple[Value | None, ...]:
        """Adds a node of an operator of `domain`, whose version is `opset`; an empty name among `outputs` is an output
        without readers (None in the result).

        Raises UnsupportedError where the operator is unknown or does not support its attributes.
        """
        draft = Node(op_type, name, tuple(inputs), tuple(None for _ in outputs), attributes, opset, domain)
        tensors = define(draft, {v: self._tensor(v) for v in inputs if v is not None})
        if len(tensors) < len([o for o in outputs if o]):
            raise UnsupportedError(
                f"{draft.op} (node {name!r}): output {len(tensors)} is not supported; remove it from the model"
            )
        wanted = [t for t, o in zip(tensors, outputs, strict=False) if o]
        if all(depends_only_on_constants(t) for t in wanted) and self._may_fold(wanted, inputs):
            if self._memory is not None:
                self._memory.take(sum(map(_bytes, wanted)), f"{draft.op} (node {name!r}): its result")
            return tuple(self.constant(o, evaluate(t)) if o else None for t, o in zip(tensors, outputs, strict=False))
        made = tuple(Value(o, t.shape, t.dtype) if o else None for t, o in zip(tensors, outputs, strict=False))
        self._nodes.append(replace(draft, outputs=made))
        return made

    def _may_fold(self, tensors: Sequence[Tensor], inputs: Sequence[Value | None]) -> bool:
        """Whether the elements of `tensors`, which depend on constants alone, are few enough to be known now."""
        operands = sum(self._constants[v].size for v in set(inputs) if v in self._constants)
        needed = unevaluated(tensors)
        steps = sum(t.buffer.size * prod(a.extent for a in t.body.axes) for t in needed if isinstance(t.body, Reduce))
        return steps <= FOLD_STEPS and all(_bytes(t) <= FOLD_BYTES or t.buffer.size <= operands for t in needed)

    def build(self, outputs: Sequence[Value]) -> Graph:
        """The Graph with these outputs. Raises InputError where building its constants takes too much memory."""
        if self._memory is not None:
            read = {v for node in self._nodes for v in node.inputs if v is not None} | set(outputs)
            self._memory.keep({v.name: data.nbytes for v, data in self._constants.items() if v in read})
        return Graph(self._name, tuple(self._inputs), tuple(outputs), tuple(self._nodes), dict(self._constants))

    def _tensor(self, value: Value) -> Tensor:
        data = self._constants.get(value)
        return constant(value.name, data) if data is not None else placeholder(value.name, value.shape, value.dtype)


def _bytes(t: Tensor) -> int:
    return t.buffer.size * t.dtype.bytes


def define(node: Node, tensors: Mapping[Value, Tensor]) -> tuple[Tensor, ...]:
    """The tensors of a node's outputs, by its operator's definition, over those of its inputs.

    Raises UnsupportedError where the operator is unknown, InputError where a result has too many elements.
    """
    fn = OPERATORS.get((node.domain, node.op_type))
    if fn is None:
        raise UnsupportedError(
            f"{node.op} (node {node.name!r}): this operator is not supported; replace it in the model"
        )
    try:
        inputs = tuple(None if v is None else tensors[v] for v in node.inputs)
        call = Call(node.op_type, node.name, node.opset, node.attributes, inputs, len(node.outputs), node.domain)
        result = fn(call)
    except BoundsError as error:
        raise UnsupportedError(
            f"{node.op} (node {node.name!r}): the shapes of its inputs do not fit together: {error}; check them, or "
            "export the model again"
        ) from None
    made = result if isinstance(result, tuple) else (result,)
    for t in made:
        if any(extent < 0 for extent in t.shape):
            raise UnsupportedError(
                f"{node.op} (node {node.name!r}): its result would have shape {list(t.shape)}; check its inputs"
            )
        check_elements(t.shape, f"{node.op} (node {node.name!r}): its result")
    return made
