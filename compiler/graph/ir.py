"""The graph IR: typed values and operator nodes in topological order. Every size is known, or an expression of scalars.

    Graph = (inputs: Value*, outputs: Value*, nodes: Node*, constants: Value -> array, dimensions: Dimension*)
    Node  = (op, inputs: Value?*, outputs: Value?*, attributes, opset, regions: Graph*)
    Value = (name, shape: Size*, dtype, elements: Size*?)

A node with regions is control flow. Nodes of a region also read values of the graphs around it: what it captures.

    If(condition)(then, otherwise)            the outputs of one of two regions, which have no inputs
    Loop(trips?, condition?, start*)(body)    body: (iteration, condition?, carried*) -> (condition?, carried*, row*)

are ONNX's, without its types of sequences; Scan is imported as a Loop. `iteration` is a value whose element is known to
be the loop's counter; the element of `trips` is known as a size. A loop without a condition does all its iterations.
A region of an If with no outputs, beside one that has some, does not fit the sizes of the model: the If has one more
output, an int32 of shape [1], which is 1 where it would run.
The shape of a `carried` value is that of its `start`, to which each iteration may add as much: it goes by the counter.
Sizes of the outputs of the regions of an If may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..dtypes import DType
from ..ir.nodes import Scalar
from ..ir.sizes import Size, shown
from ..ops import OperatorFn
from ..ops.call import operator_name
from ..program.dimensions import Dimension
from ..program.states import State
from ..tensor.tensor import Bounds

Array = np.ndarray
Attribute = int | float | str | bytes | Array | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]

DEQUANTIZE = ("DequantizeLinear",)
"""Operators of which passes look for the operands, constants though the results may be."""


@dataclass(frozen=True, eq=False, slots=True)
class Value:
    """A tensor that flows between nodes. `name` is the ONNX value name. `elements`, in row-major order, are those of a
    small integer tensor that are known as sizes, `bounds` those of other integers. Compares by identity."""

    name: str
    shape: tuple[Size, ...]
    dtype: DType
    elements: tuple[Size, ...] | None = None
    bounds: Bounds | None = None

    def __repr__(self) -> str:
        elements = "" if self.elements is None else f" = {shown(self.elements)}"
        return f"{self.name}: {self.dtype}{shown(self.shape)}{elements}"


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One operator. `name` is the ONNX node name, `domain` that of the operator ("" for ai.onnx) and `opset` its
    version. Absent optional inputs and unused outputs are None. `sizes` are those that it computes: nodes that compute
    the same have the same. `definition` is that of an operator of the user's; None where `ops` defines it."""

    op_type: str
    name: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value | None, ...]
    attributes: Mapping[str, Attribute]
    opset: int
    domain: str = ""
    regions: tuple[Graph, ...] = ()
    sizes: Mapping[str, Scalar] = field(default_factory=dict)
    definition: OperatorFn | None = None

    @property
    def reads(self) -> tuple[Value, ...]:
        """The values that it reads: inputs, and what its regions capture, once each."""
        own = (v for v in self.inputs if v is not None)
        return tuple(dict.fromkeys((*own, *(v for region in self.regions for v in region.captured))))

    @property
    def op(self) -> str:
        """The operator's name with its domain, but for ai.onnx: passes that match "Relu" match no other domain's."""
        return operator_name(self.domain, self.op_type)

    def __repr__(self) -> str:
        return f"{self.op} {self.name!r}"


@dataclass(frozen=True, slots=True)
class OutputLabels:
    """Labels that the source returns in place of the numbers of an output: `names`, of which the elements are places,
    or with `scores` a map of them to the elements of a row."""

    names: tuple[str, ...] | tuple[int, ...]
    scores: bool


@dataclass(frozen=True)
class Graph:
    """`nodes` stand in topological order. `constants` holds the value of every Value that no node makes and that is
    no input; of a region its own constants. `folded` are the nodes that compute constants, each with this one output,
    from constants that take fewer bytes of the file, and those of DEQUANTIZE. `dimensions` are the sizes that a run
    decides, of the whole model alone, like `refusals`: int32 values of one element that are 1 where a run takes a
    branch that does not fit, each with the message of the error that this run raises. `labels` are those of outputs, by
    name; `states` the inputs that the run before leaves as outputs. The `first` graph, of the same inputs and outputs,
    takes its place in runs that find no rows in these."""

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[Value, Array]
    dimensions: tuple[Dimension, ...] = ()
    refusals: tuple[tuple[Value, str], ...] = ()
    folded: Mapping[Value, Node] = field(default_factory=dict)
    labels: Mapping[str, OutputLabels] = field(default_factory=dict)
    states: tuple[State, ...] = ()
    first: Graph | None = None

    @property
    def results(self) -> tuple[Value, ...]:
        """All that is computed for: outputs, and values of refusals."""
        return (*self.outputs, *(v for v, _ in self.refusals))

    @cached_property
    def captured(self) -> tuple[Value, ...]:
        """Values of the graphs around a region that it reads, once each."""
        own = {*self.inputs, *self.constants}
        captured: dict[Value, None] = {}
        for node in self.nodes:
            captured.update(dict.fromkeys(v for v in node.reads if v not in own))
            own.update(v for v in node.outputs if v is not None)
        captured.update(dict.fromkeys(v for v in self.outputs if v not in own))
        return tuple(captured)

    def consumers(self) -> dict[Value, list[Node]]:
        """For each value, the nodes that read it, once per node."""
        users: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for value in node.reads:
                users.setdefault(value, []).append(node)
        return users

    def producers(self) -> dict[Value, Node]:
        return {v: node for node in self.nodes for v in node.outputs if v is not None}

    def with_values(self, replaced: Mapping[Value, Value], **changes: object) -> Graph:
        """The graph with values replaced wherever they are read (chains are followed)."""

        def final(v: Value) -> Value:
            while v in replaced:
                v = replaced[v]
            return v

        g = replace(self, **changes) if changes else self  # type: ignore[arg-type]

        def renamed(n: Node) -> Node:
            if not any(v in replaced for v in n.reads):
                return n
            inputs = tuple(None if v is None else final(v) for v in n.inputs)
            return replace(n, inputs=inputs, regions=tuple(region.with_values(replaced) for region in n.regions))

        nodes = tuple(map(renamed, g.nodes))
        folded = {v: renamed(n) for v, n in g.folded.items()}
        refusals = tuple((final(v), text) for v, text in g.refusals)
        outputs = tuple(final(v) for v in g.outputs)
        return replace(g, nodes=nodes, outputs=outputs, refusals=refusals, folded=folded)
