"""Random models with states, by a seed, and runs of them by the reference executor: operators that read what the run
before has left, in each way in which a run may leave it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx_models import Array, model, node
from random_models import OPERATORS, RandomModel, Shape
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.evaluate import evaluate_graph
from webnn_compile.graph.ir import Graph, Value
from webnn_compile.graph.keep_states import keep_states

MOST_ROWS = 40
"""Rows of a state that grows."""

MOST_NEW = 3
"""Rows of an input in one run."""


@dataclass
class RandomStates(RandomModel):
    """Models with inputs that outlive a run: `states` has the output of each, None where it has none yet, `inputs` the
    shape of every input."""

    seed: int
    states: dict[str, str | None] = field(default_factory=dict)
    inputs: dict[str, tuple[int | str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        RandomModel.__init__(self, self.seed)
        self.inputs["x"] = self.shapes["x"]

    def state(self, shape: tuple[int | str, ...]) -> str:
        name = f"s{len(self.states)}"
        self.states[name], self.inputs[name] = None, shape
        return name

    def fixed(self, shape: Shape) -> str:
        """A state that operators may read like any other tensor."""
        name = self.state(shape)
        self.shapes[name] = shape
        return name

    def leaves(self, state: str, value: str) -> None:
        """`value` is what a run leaves for the next, under a name of its own."""
        name = f"{state}.next"
        self.nodes.append(node("Identity", [value], [name]))
        self.states[state] = name


def append(m: RandomStates, a: str) -> None:
    """Rows behind those that are there, or before them; a sum over all, or over those that were there."""
    shape = m.shapes[a]
    axis = m.whole(0, len(shape) - 1)
    if shape[axis] > 3:
        return
    grown = m.state((*shape[:axis], f"P{len(m.states)}", *shape[axis + 1 :]))
    name = f"{grown}.next"
    m.nodes.append(node("Concat", m.pick([[grown, a], [grown, a], [grown, a], [a, grown]]), [name], axis=axis))
    m.states[grown] = name
    for read in m.pick([[name], [name, grown], [grown]]):
        m.add(m.pick(["ReduceSum"]), [read, m.integers(axis)], (*shape[:axis], 1, *shape[axis + 1 :]))


def append_some(m: RandomStates, a: str) -> None:
    """As many rows as an input has, which differs from run to run."""
    shape = m.shapes[a]
    axis = m.whole(0, len(shape) - 1)
    rows, grown = f"x{len(m.inputs)}", m.state((*shape[:axis], f"P{len(m.states)}", *shape[axis + 1 :]))
    m.inputs[rows] = (*shape[:axis], "S", *shape[axis + 1 :])
    mean = m.add("ReduceMean", [a, m.integers(axis)], (*shape[:axis], 1, *shape[axis + 1 :]))
    m.nodes.append(node("Mul", [rows, mean], [f"{grown}.new"]))
    m.nodes.append(node("Concat", [grown, f"{grown}.new"], [f"{grown}.next"], axis=axis))
    m.states[grown] = f"{grown}.next"
    for read in m.pick([[f"{grown}.next"], [f"{grown}.new", grown]]):
        m.add("ReduceSum", [read, m.integers(axis)], m.shapes[mean])


def attend(m: RandomStates, a: str) -> None:
    """Attention to the rows of all runs."""
    shape = m.shapes[a]
    if len(shape) < 2 or shape[-2] > 3:
        return
    keys = m.state((*shape[:-2], f"P{len(m.states)}", shape[-1]))
    name = f"{keys}.next"
    m.nodes.append(node("Concat", [keys, a], [name], axis=len(shape) - 2))
    m.states[keys] = name
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    m.nodes.append(node("Transpose", [name], [f"{keys}.turned"], perm=order))
    m.nodes.append(node("MatMul", [a, f"{keys}.turned"], [f"{keys}.scores"]))
    m.nodes.append(node("Softmax", [f"{keys}.scores"], [f"{keys}.weights"], axis=-1))
    m.add("MatMul", [f"{keys}.weights", name], shape)


def stream(m: RandomStates, a: str) -> None:
    """A convolution along time, of the last samples of the run before and those of this one."""
    size, channels = int(np.prod(m.shapes[a])), m.shapes[a][0]
    length, kernel, outputs = size // channels, m.whole(2, 4), m.whole(1, 5)
    whole = m.add("Reshape", [a, m.integers(1, channels, length)], (1, channels, length))
    last = m.state((1, channels, kernel - 1))
    if m.whole(0, 1):
        m.shapes[last] = (1, channels, kernel - 1)
    joined = m.add("Concat", [last, whole], (1, channels, length + kernel - 1), axis=2)
    m.add("Conv", [joined, m.weight(outputs, channels, kernel)], (1, outputs, length))
    ends = [m.integers(n) for n in (length, length + kernel - 1, 2)]
    m.leaves(last, m.add("Slice", [joined, *ends], (1, channels, kernel - 1)))


def recur(m: RandomStates, a: str) -> None:
    """A recurrent layer, whose hidden state goes on."""
    size, steps = int(np.prod(m.shapes[a])), m.shapes[a][0]
    inputs, hidden = size // steps, m.whole(1, 5)
    whole = m.add("Reshape", [a, m.integers(steps, 1, inputs)], (steps, 1, inputs))
    before = m.fixed((1, 1, hidden))
    weights = [m.weight(1, 3 * hidden, inputs), m.weight(1, 3 * hidden, hidden)]
    name = f"{before}.next"
    m.nodes.append(node("GRU", [whole, *weights, "", "", before], [f"{before}.y", name], hidden_size=hidden))
    m.states[before] = name
    m.shapes[f"{before}.y"] = (steps, 1, 1, hidden)


def branch(m: RandomStates, a: str) -> None:
    """One of two operators, by the sum of a state."""
    state = m.pick([n for n in m.states if n in m.shapes])
    b = m.like(lambda s: s == m.shapes[a])
    name = f"t{len(m.nodes)}"
    kind = helper.make_tensor_value_info("r", TensorProto.FLOAT, m.shapes[a])
    sides = [helper.make_graph([node(op, [a, b], ["r"])], op, [], [kind]) for op in ("Add", "Mul")]
    m.nodes.append(node("ReduceSum", [state], [f"{name}.sum"], keepdims=0))
    m.nodes.append(node("Less", [f"{name}.sum", m.constant(np.float32(0))], [f"{name}.less"]))
    m.nodes.append(node("If", [f"{name}.less"], [name], then_branch=sides[0], else_branch=sides[1]))
    m.shapes[name] = m.shapes[a]


def repeat(m: RandomStates, a: str) -> None:
    """A loop that begins with a state."""
    shape = m.shapes[a]
    start = m.pick([n for n in m.states if m.shapes.get(n) == shape] or [m.fixed(shape)])
    name = f"t{len(m.nodes)}"
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in ("c", "d")]
    counter = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    going = [helper.make_tensor_value_info(n, TensorProto.BOOL, []) for n in ("go", "going")]
    steps = [node("Add", ["c", a], ["sum"]), node("Tanh", ["sum"], ["d"]), node("Identity", ["go"], ["going"])]
    body = helper.make_graph(steps, "body", [counter, going[0], values[0]], [going[1], values[1]])
    m.nodes.append(node("Loop", [m.constant(np.int64(m.whole(1, 3))), "", start], [name], body=body))
    m.shapes[name] = shape
    if m.states[start] is None and m.whole(0, 1):
        m.leaves(start, name)


STATEFUL = (append, append_some, append_some, attend, attend, stream, recur, branch, repeat)


@dataclass(frozen=True)
class Stateful:
    """A model, the pairs of its states, and the ranges of its dimensions."""

    model: onnx.ModelProto
    pairs: tuple[str, ...]
    dims: dict[str, tuple[int, int]]

    @property
    def graph(self) -> Graph:
        return keep_states(import_model(self.model, model_inputs(None, self.dims)), self.pairs, ())

    def runs(self, count: int, seed: int) -> Iterator[tuple[dict[str, Array], dict[str, Array], dict[str, Array]]]:
        """Inputs of a run, its outputs, and the states that it leaves, by the names of their inputs."""
        graph = self.graph
        generator = np.random.default_rng(seed)
        states = nothing(graph)
        given = [v for v in graph.inputs if v.name not in states]
        for _ in range(count):
            inputs = inputs_of(given, int(generator.integers(1, MOST_NEW + 1)), generator)
            results = evaluate_graph(graph, {**inputs, **states})
            states = {s.before: results.pop(s.after) for s in graph.states}
            yield inputs, results, states


def nothing(graph: Graph) -> dict[str, Array]:
    """The states before the first run."""
    states = {s.before for s in graph.states}
    shapes = {v: [n if isinstance(n, int) else 0 for n in v.shape] for v in graph.inputs if v.name in states}
    return {v.name: np.zeros(shape, v.dtype.numpy) for v, shape in shapes.items()}


def inputs_of(given: Sequence[Value], rows: int, generator: np.random.Generator) -> dict[str, Array]:
    """Normal floats, of so many rows where sizes vary."""
    sizes = {v.name: [n if isinstance(n, int) else rows for n in v.shape] for v in given}
    return {name: generator.standard_normal(n).astype(np.float32) for name, n in sizes.items()}


def random_states(seed: int, largest: int = 2000) -> Stateful:
    """A model with one to four states, and one or two outputs besides."""
    m = RandomStates(seed)
    for _ in range(m.whole(1, 2)):
        m.fixed(m.pick([m.shapes["x"], m.shapes["x"], (m.whole(1, 9),), (m.whole(1, 3), m.whole(1, 9))]))
    for _ in range(m.whole(3, 8)):
        recent = [n for n in list(m.shapes)[-5:] if np.prod(m.shapes[n]) * 4 <= largest]
        if recent:
            m.pick(m.pick([OPERATORS, STATEFUL]))(m, m.pick(recent))
    last = m.add("Tanh", [next(reversed(m.shapes))], m.shapes[next(reversed(m.shapes))])
    for state in [s for s, after in m.states.items() if after is None]:
        close(m, state)
    made = [n for n in m.shapes if n not in m.inputs]
    views = [f"{state}.view" for state in m.states if not m.whole(0, 3)]
    m.nodes += [node("Reshape", [str(m.states[v[:-5]]), m.integers(-1)], [v]) for v in views]
    outputs = dict.fromkeys([last, m.pick(made), *views])
    used = {name for x in m.nodes for name in x.input}
    weights = {name: data for name, data in m.weights.items() if name in used}
    nexts = {state: after for state, after in m.states.items() if after is not None}
    proto = model(m.nodes, m.inputs, [*outputs, *nexts.values()], weights, opset=18)
    named = dict.fromkeys(n for shape in m.inputs.values() for n in shape if isinstance(n, str))
    dims = {n: (1, MOST_NEW) if n == "S" else (0, MOST_ROWS) for n in named}
    return Stateful(proto, tuple(f"{before}={after}" for before, after in nexts.items()), dims)


def close(m: RandomStates, state: str) -> None:
    """A run leaves for `state` another state, itself, or something of so many elements."""
    shape = m.shapes[state]
    alike = [n for n, s in m.shapes.items() if s == shape]
    other = m.pick(alike)
    match m.whole(0, 4):
        case 0:
            m.leaves(state, other)
        case 1:
            m.leaves(state, m.pick([n for n in alike if n in m.states]))
        case 2:
            size = np.prod(shape)
            flat = m.pick([n for n, s in m.shapes.items() if np.prod(s) == size])
            m.leaves(state, m.add("Reshape", [flat, m.integers(*shape)], shape))
        case _:
            decayed = m.add("Mul", [state, m.constant(np.float32(0.5))], shape)
            m.leaves(state, m.add("Add", [decayed, m.add("Tanh", [other], shape)], shape))
