"""Builds a Graph node by node: infers shapes from the operators' definitions and folds what is constant at once.

Folding during construction is what makes shape arithmetic (Shape -> Gather -> Concat -> Reshape) vanish: the shapes
that later operators need are then known when those are added. Nodes of constants that grow are kept beside their
elements: a kernel computes these at load, and the file has what they are computed from.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..dtypes import DType, from_numpy
from ..errors import UnsupportedError
from ..ir.nodes import Scalar
from ..ir.reduction import Reduce
from ..ir.sizes import Size, capacities
from ..ops import OperatorFn
from ..program.dimensions import Dimension
from ..system.limits import FOLD_BYTES, FOLD_ELEMENTS, FOLD_STEPS, CompileMemory, check_elements
from ..tensor import Tensor
from ..tensor.computed_sizes import NONE
from ..tensor.computed_sizes import definition as definition_of
from ..tensor.evaluate import unevaluated
from ..tensor.fold_tensor import GROWTH, grows, may_prepare
from .contents import contents, hashable
from .define import define, tensor_of
from .evaluate_folded import evaluate_folded
from .ir import DEQUANTIZE, Array, Attribute, Graph, Node, Value


class Builder:
    """Collects inputs, constants and nodes; `build` returns the Graph.

    What is folded is counted by `memory`, where one is given.
    """

    def __init__(self, name: str, memory: CompileMemory | None = None, parent: Builder | None = None) -> None:
        self._name = name
        self._parent = parent
        self._memory = memory
        self._inputs: list[Value] = []
        self._nodes: list[Node] = []
        self._constants: dict[Value, Array] = {}
        self._folded: dict[Value, Node] = {}
        self._shipped: dict[Value, float] = {}
        self._computing: dict[Hashable, Mapping[str, Scalar]] = {}

    def input(
        self, name: str, shape: tuple[Size, ...], dtype: DType, elements: tuple[Size, ...] | None = None
    ) -> Value:
        """A graph input. Raises InputError where it has too many elements."""
        check_elements(capacities(shape), f"input {name!r}")
        value = Value(name, shape, dtype, elements)
        self._inputs.append(value)
        return value

    def constant(self, name: str, data: Array) -> Value:
        """A value known now."""
        value = Value(name, data.shape, from_numpy(data.dtype))
        self._constants[value] = data
        return value

    def keep(self, value: Value, data: Array) -> Value:
        """A constant of another graph, as the same value."""
        self._constants[value] = data
        return value

    @property
    def constants(self) -> Mapping[Value, Array]:
        """The elements of all values that are known."""
        return self._constants

    def constant_of(self, value: Value) -> Array | None:
        """The elements of `value` where they are known."""
        data = self._constants.get(value)
        return self._parent.constant_of(value) if data is None and self._parent is not None else data

    def node(
        self,
        op_type: str,
        name: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Attribute],
        outputs: Sequence[str],
        opset: int,
        domain: str = "",
        regions: tuple[Graph, ...] = (),
        sizes: Mapping[str, Scalar] = NONE,
        definition: OperatorFn | None = None,
    ) -> tuple[Value | None, ...]:
        """Adds a node of an operator of `domain`, whose version is `opset`; an empty name among `outputs` is an output
        without readers (None in the result). `regions` were built by builders inside this one. `sizes` are those of the
        node that this one is a copy of; `definition` is that of an operator of the user's.

        Raises UnsupportedError where the operator is unknown or does not support its attributes.
        """
        unnamed = tuple(None for _ in outputs)
        draft = Node(op_type, name, tuple(inputs), unnamed, attributes, opset, domain, regions, definition=definition)
        with definition_of(name, sizes) as defined:
            tensors = self._tensors(draft)
        if defined.own and not sizes:
            same = self._computing.setdefault(self._key(draft), defined.own)
            if same is not defined.own:
                with definition_of(name, same) as defined:
                    tensors = self._tensors(draft)
        if len(tensors) < len([o for o in outputs if o]):
            raise UnsupportedError(
                f"{draft.op} (node {name!r}): output {len(tensors)} is not supported; remove it from the model"
            )
        named = [t for t, o in zip(tensors, outputs, strict=False) if o]
        known = all(t.depends_only_on_constants for t in named) or self._has_known_sizes(draft, named)
        if known and self._may_fold(named, draft.reads):
            if self._memory is not None:
                self._memory.reserve(sum(map(_bytes, named)), f"{draft.op} (node {name!r}): its result")
            read = {v: data for v in draft.reads if (data := self.constant_of(v)) is not None}
            elements = zip(outputs, evaluate_folded(draft, tensors, outputs, read, defined.sizes), strict=False)
            values = tuple(None if data is None else self.constant(o, data) for o, data in elements)
            if may_prepare(named) and not any(t.is_dynamic for t in named):
                self.computed_by(replace(draft, outputs=values))
            return values
        numbers = [t.elements is not None and all(isinstance(e, int) for e in t.elements) for t in tensors]
        if named and all(is_folded for is_folded, o in zip(numbers, outputs, strict=False) if o):
            return tuple(self.constant(o, _array(t)) if o else None for t, o in zip(tensors, outputs, strict=False))
        results = tuple(
            Value(o, t.shape, t.dtype, t.elements, t.bounds) if o else None
            for t, o in zip(tensors, outputs, strict=False)
        )
        self._nodes.append(replace(draft, outputs=results, sizes=defined.own))
        return results

    def _tensors(self, draft: Node) -> tuple[Tensor, ...]:
        operands = {v: tensor_of(v, self.constant_of(v)) for v in draft.reads}
        return define(draft, operands, types_only=True, begun=True)

    def _key(self, node: Node) -> Hashable:
        """Equal for nodes that compute the same from the same values."""

        def operand(v: Value | None) -> Hashable:
            data = None if v is None else self.constant_of(v)
            return v if data is None else contents(data)

        attributes = tuple(sorted((name, hashable(value)) for name, value in node.attributes.items()))
        return node.op, node.opset, tuple(map(operand, node.inputs)), attributes, tuple(map(id, node.regions))

    def computed_by(self, node: Node) -> None:
        """Keeps that `node` computes constants where they take more bytes of the file than what it reads, or are of
        DEQUANTIZE. Of int32 these are indices of a codebook alone, which Cast widens."""
        values = [v for v in node.outputs if v is not None]
        if not all(v in self._constants for v in node.reads):
            return
        operands = sum(self._shipped.get(v, self._constants[v].nbytes) for v in node.reads)
        whole = sum(self._constants[v].nbytes for v in values)
        for v in values:
            data = self._constants[v]
            share = operands * data.nbytes / max(whole, 1)  # of several outputs
            widened = node.op == "Cast" and data.dtype == np.int32 and data.nbytes >= share + GROWTH
            if grows(data, share) or widened or node.op in DEQUANTIZE:
                self._folded[v] = replace(node, outputs=tuple(o if o is v else None for o in node.outputs))
                self._shipped[v] = share

    def _has_known_sizes(self, node: Node, tensors: Sequence[Tensor]) -> bool:
        """Whether a few constants alone decide the sizes of `tensors`, those of a node: as NonZero's elements do."""
        constants = [self.constant_of(v) for v in node.reads]
        if not constants or node.regions or not any(t.is_dynamic for t in tensors):
            return False
        return all(data is not None and data.size <= FOLD_ELEMENTS for data in constants)

    def _may_fold(self, tensors: Sequence[Tensor], inputs: Sequence[Value]) -> bool:
        """Whether the elements of `tensors`, which depend on constants alone, are few enough to be known now."""
        constants = (self.constant_of(v) for v in set(inputs))
        operands = sum(data.size for data in constants if data is not None)
        needed = unevaluated(tensors)
        steps = sum(t.buffer.size * prod(a.extent for a in t.body.axes) for t in needed if isinstance(t.body, Reduce))
        return steps <= FOLD_STEPS and all(_bytes(t) <= FOLD_BYTES or t.buffer.size <= operands for t in needed)

    def build(
        self,
        outputs: Sequence[Value],
        dimensions: tuple[Dimension, ...] = (),
        refusals: Sequence[tuple[Value, str]] = (),
    ) -> Graph:
        """The Graph with these outputs, dimensions and refusals. Raises InputError where building its constants takes
        too much memory."""
        if self._memory is not None and self._parent is None:
            read = {v for node in self._nodes for v in node.inputs if v is not None} | set(outputs)
            read |= {v for v, _ in refusals} | {v for node in self._folded.values() for v in node.reads}
            self._memory.keep({v.name: data.nbytes for v, data in self._constants.items() if v in read})
        return Graph(
            self._name,
            tuple(self._inputs),
            tuple(outputs),
            tuple(self._nodes),
            dict(self._constants),
            dimensions,
            tuple(refusals),
            dict(self._folded),
        )

    def checkpoint(self) -> Callable[[Callable[[Value], bool]], None]:
        """A function that drops what is added from now on, to this graph and those around it, but the constants that it
        is given a predicate of."""
        inputs, nodes, constants = len(self._inputs), len(self._nodes), len(self._constants)
        around = None if self._parent is None else self._parent.checkpoint()
        free = None if self._memory is None or around is not None else self._memory.checkpoint()

        def restore(is_kept: Callable[[Value], bool]) -> None:
            del self._inputs[inputs:], self._nodes[nodes:]
            added = [self._constants.popitem() for _ in range(len(self._constants) - constants)]
            self._constants.update((v, data) for v, data in reversed(added) if is_kept(v))
            if around is not None:
                around(is_kept)
            if free is not None:
                free()

        return restore

    def region(self, name: str) -> Builder:
        """A builder for a region of a node that is added to this graph; its nodes read values of this one, too."""
        return Builder(name, self._memory, self)


def _array(t: Tensor) -> Array:
    return np.asarray(t.elements).astype(t.dtype.numpy).reshape(t.extents)


def _bytes(t: Tensor) -> int:
    return t.buffer.size * t.dtype.bytes
