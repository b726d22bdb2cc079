"""Models with states, of each way in which a run may leave one, and runs of them by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

Array = np.ndarray


@dataclass(frozen=True)
class Row:
    """`nodes` make a model of `inputs` and `outputs`, NAME: (type, shape); `states` are pairs of those. A run gets what
    `given` draws, from a generator and the number of rows. Dimensions have the ranges of `dims`."""

    name: str
    nodes: tuple[onnx.NodeProto, ...]
    inputs: Mapping[str, tuple[int, tuple[int | str, ...]]]
    outputs: Mapping[str, tuple[int, tuple[int | str, ...]]]
    states: Mapping[str, str]
    given: Callable[[np.random.Generator, int], dict[str, Array]]
    constants: Mapping[str, Array] = field(default_factory=dict)
    dims: Mapping[str, int | tuple[int, int]] = field(default_factory=dict)

    @property
    def model(self) -> onnx.ModelProto:
        def infos(specs: Mapping[str, tuple[int, tuple[int | str, ...]]]) -> list[onnx.ValueInfoProto]:
            return [helper.make_tensor_value_info(name, dtype, shape) for name, (dtype, shape) in specs.items()]

        weights = [numpy_helper.from_array(a, name) for name, a in self.constants.items()]
        graph = helper.make_graph(list(self.nodes), self.name, infos(self.inputs), infos(self.outputs), weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    @property
    def pairs(self) -> list[str]:
        return [f"{before}={after}" for before, after in self.states.items()]

    def runs(self, count: int, seed: int = 0) -> Iterator[tuple[dict[str, Array], dict[str, Array], dict[str, Array]]]:
        """Inputs of a run, its outputs, and the states that it leaves, by the names of their inputs: of so many runs,
        through which onnxruntime is passed the states."""
        model, generator = self.model, np.random.default_rng(seed)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [o.name for o in session.get_outputs()]
        zeros = {b: np.zeros(_empty(self.inputs[b][1]), _numpy(self.inputs[b][0])) for b in self.states}
        states = zeros
        for _ in range(count):
            given = self.given(generator, int(generator.integers(1, 4)))
            results = dict(zip(names, session.run(None, {**given, **states}), strict=True))
            states = {before: results.pop(after) for before, after in self.states.items()}
            yield given, results, states


def _empty(shape: tuple[int | str, ...]) -> tuple[int, ...]:
    return tuple(n if isinstance(n, int) else 0 for n in shape)


def _numpy(dtype: int) -> np.dtype:
    return np.dtype(helper.tensor_dtype_to_np_dtype(dtype))


def _node(op: str, inputs: str, outputs: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), name=f"{op}:{outputs}", **attributes)


def _floats(name: str, *shape: int | str) -> Callable[[np.random.Generator, int], dict[str, Array]]:
    """Normal floats; sizes with a name are the rows of the run."""

    def given(generator: np.random.Generator, rows: int) -> dict[str, Array]:
        sizes = [n if isinstance(n, int) else rows for n in shape]
        return {name: generator.standard_normal(sizes).astype(np.float32)}

    return given


_rng = np.random.default_rng(7)
_W, _U = (_rng.standard_normal((5, 5)).astype(np.float32) * 0.4 for _ in range(2))
_F, _I = T.FLOAT, T.INT64

_branches = [
    helper.make_graph(
        [helper.make_node(op, ["p", "c"], [f"r{op}"], name=op)],
        op,
        [],
        [helper.make_tensor_value_info(f"r{op}", _F, None)],
    )
    for op in ("Add", "Mul")
]

ROWS = (
    Row(
        "a cell",
        (
            _node("MatMul", "x W", "a"),
            _node("MatMul", "h U", "b"),
            _node("Add", "a b", "s"),
            _node("Tanh", "s", "h2"),
            _node("Neg", "h2", "y"),
        ),
        {"x": (_F, (3, 5)), "h": (_F, (3, 5))},
        {"y": (_F, (3, 5)), "h2": (_F, (3, 5))},
        {"h": "h2"},
        _floats("x", 3, 5),
        {"W": _W, "U": _U},
    ),
    Row(
        "computed in place",
        (_node("Mul", "h d", "s"), _node("Add", "s x", "h2"), _node("ReduceSum", "h2", "y")),
        {"x": (_F, (2, 7)), "h": (_F, (2, 7))},
        {"y": (_F, (1, 1)), "h2": (_F, (2, 7))},
        {"h": "h2"},
        _floats("x", 2, 7),
        {"d": np.float32(0.5)},
    ),
    Row(
        "two that change places",
        (_node("Add", "a x", "b2"), _node("Identity", "b", "a2"), _node("Sub", "a b", "y")),
        {"x": (_F, (4,)), "a": (_F, (4,)), "b": (_F, (4,))},
        {"y": (_F, (4,)), "a2": (_F, (4,)), "b2": (_F, (4,))},
        {"a": "a2", "b": "b2"},
        _floats("x", 4),
    ),
    Row(
        "one that is as it was, and one that is a reshaped input",
        (_node("Identity", "k", "k2"), _node("Reshape", "x six", "l2"), _node("Add", "l k", "y")),
        {"x": (_F, (2, 3)), "k": (_F, (6,)), "l": (_F, (6,))},
        {"y": (_F, (6,)), "k2": (_F, (6,)), "l2": (_F, (6,))},
        {"k": "k2", "l": "l2"},
        _floats("x", 2, 3),
        {"six": np.array([6])},
    ),
    Row(
        "rows behind others",
        (
            _node("MatMul", "x W", "n"),
            _node("Concat", "p n", "p2", axis=1),
            _node("ReduceMax", "p2", "m", axes=[1]),
            _node("MatMul", "x t", "z"),
            _node("Add", "m z", "y"),
        ),
        {"x": (_F, (2, "S", 5)), "p": (_F, (2, "P", 5))},
        {"y": (_F, (2, "S", 5)), "p2": (_F, (2, "P + S", 5))},
        {"p": "p2"},
        _floats("x", 2, "S", 5),
        {"W": _W, "t": _U},
        {"S": (1, 3), "P": (0, 40)},
    ),
    Row(
        "rows of four behind others, in the middle of three dimensions, and along the first",
        (
            _node("Relu", "x", "n"),
            _node("Concat", "p n", "p2", axis=2),
            _node("ReduceSum", "n", "f", keepdims=0),
            _node("Transpose", "x", "tx", perm=[2, 0, 1, 3]),
            _node("Concat", "q tx", "q2", axis=0),
            _node("ReduceMean", "p2", "y", axes=[2]),
            _node("ReduceMean", "q2", "z", axes=[0]),
        ),
        {"x": (_F, (1, 3, "S", 4)), "p": (_F, (1, 3, "P", 4)), "q": (_F, ("P", 1, 3, 4))},
        {"y": (_F, (1, 3, 1, 4)), "z": (_F, (1, 1, 3, 4)), "p2": (_F, (1, 3, "P + S", 4)), "q2": (_F, ("N", 1, 3, 4))},
        {"p": "p2", "q": "q2"},
        _floats("x", 1, 3, "S", 4),
        {},
        {"S": (1, 3), "P": (0, 40)},
    ),
    Row(
        "outputs that are views of what a run leaves",
        (
            _node("ReduceSum", "x first", "sum", keepdims=0),
            _node("Reshape", "sum two", "s"),
            _node("Add", "h s", "h2"),
            _node("Concat", "p x", "p2", axis=0),
            _node("Reshape", "p2 all", "y"),
            _node("Identity", "h2", "z"),
            _node("Reshape", "h2 all", "w"),
        ),
        {"x": (_F, ("S", 6)), "p": (_F, ("P", 6)), "h": (_F, (2, 3))},
        {"y": (_F, ("N",)), "z": (_F, (2, 3)), "w": (_F, (6,)), "p2": (_F, ("P + S", 6)), "h2": (_F, (2, 3))},
        {"p": "p2", "h": "h2"},
        _floats("x", "S", 6),
        {"two": np.array([2, 3]), "all": np.array([-1]), "first": np.array([0])},
        {"S": (1, 3), "P": (0, 40)},
    ),
    Row(
        "rows before others, which are copied",
        (_node("Concat", "x p", "p2", axis=0), _node("ReduceMax", "p2", "y", axes=[0])),
        {"x": (_F, ("S", 3)), "p": (_F, ("P", 3))},
        {"y": (_F, (1, 3)), "p2": (_F, ("P + S", 3))},
        {"p": "p2"},
        _floats("x", "S", 3),
        {},
        {"S": (1, 3), "P": (0, 40)},
    ),
    Row(
        "a window of the last rows",
        (
            _node("Concat", "p x", "w", axis=0),
            _node("Slice", "w first last zero", "p2"),
            _node("ReduceMean", "p2", "y", axes=[0]),
        ),
        {"x": (_F, ("S", 3)), "p": (_F, ("P", 3))},
        {"y": (_F, (1, 3)), "p2": (_F, ("Q", 3))},
        {"p": "p2"},
        _floats("x", "S", 3),
        {"first": np.array([-4]), "last": np.array([2**31 - 1]), "zero": np.array([0])},
        {"S": (1, 3), "P": (0, 4)},
    ),
    Row(
        "rows that the data choose, so that a run decides how many",
        (
            _node("Greater", "x zero", "c"),
            _node("Compress", "x c", "n", axis=0),
            _node("Concat", "p n", "p2", axis=0),
            _node("ReduceSum", "p2", "y", keepdims=0),
        ),
        {"x": (_F, ("S",)), "p": (_F, ("P",))},
        {"y": (_F, ()), "p2": (_F, ("N",))},
        {"p": "p2"},
        _floats("x", "S"),
        {"zero": np.float32(0)},
        {"S": (1, 3), "P": (0, 40)},
    ),
    Row(
        "integers that count",
        (_node("Add", "n one", "n2"), _node("Cast", "n2", "f", to=_F), _node("Mul", "x f", "y")),
        {"x": (_F, (3,)), "n": (_I, (1,))},
        {"y": (_F, (3,)), "n2": (_I, (1,))},
        {"n": "n2"},
        _floats("x", 3),
        {"one": np.array([1])},
    ),
    Row(
        "one that a branch reads, which it decides",
        (
            _node("ReduceSum", "p", "s", keepdims=0),
            _node("Less", "s zero", "c0"),
            helper.make_node("If", ["c0"], ["r"], name="if", then_branch=_branches[0], else_branch=_branches[1]),
            _node("Sub", "x r", "p2"),
            _node("Neg", "r", "y"),
        ),
        {"x": (_F, (4,)), "p": (_F, (4,))},
        {"y": (_F, (4,)), "p2": (_F, (4,))},
        {"p": "p2"},
        _floats("x", 4),
        {"zero": np.float32(0), "c": np.array([1, 2, 0.5, -1], np.float32)},
    ),
)
