"""Random ONNX graphs: operators drawn by a seeded generator, each tried in onnxruntime before it joins the graph."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx_models import Array, onnxruntime_results

CHANNELS = (1, 2, 3, 4, 5, 7, 8, 12, 17, 18, 33)
MOST_ELEMENTS, LARGEST = 20_000, 1e3


@dataclass
class RandomGraph:
    """A graph in the making: its nodes, and an example of every value. `parameters` are values that depend on weights
    alone; `largest` is the limit of magnitudes."""

    seed: int
    opset: int = 18
    largest: float = LARGEST
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    values: dict[str, Array] = field(default_factory=dict)
    parameters: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.arrays = np.random.default_rng(self.seed)

    def normal(self, *shape: int) -> Array:
        return (self.arrays.standard_normal(shape) * 0.5).astype(np.float32)

    def input(self, data: Array) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.values[name] = data
        return name

    def weight(self, data: Any, dtype: Any = None) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(data, dtype)
        return name

    def pick(self, ranks: Sequence[int] = range(1, 7)) -> str | None:
        """A float value, oftener a late one, so that graphs grow long as well as wide."""
        floats = [n for n, a in self.values.items() if a.dtype == np.float32 and a.ndim in ranks]
        fit = [n for n in floats if n not in self.parameters]
        return None if not fit else fit[-1] if self.draw.random() < 0.5 else self.draw.choice(fit[-6:])

    def add(self, op: str, inputs: list[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """The outputs of a new node; none if onnxruntime refuses it, if the shapes of its results are not ONNX's (which
        would make the graph invalid), or if they are not tame."""
        names = [f"v{len(self.values) + n}" for n in range(outputs)]
        node = helper.make_node(op, inputs, names, **attributes)
        feeds = {n: self.values[n] for n in inputs if n in self.values}
        model = self._model([node], feeds, names)
        try:
            made = onnxruntime_results(model, feeds)
        except Exception:  # onnxruntime's exceptions share no base class
            return []
        shapes = inferred_shapes(model)
        if any(shapes.get(n, a.shape) != a.shape for n, a in made.items()):
            return []
        for a in made.values():
            if not 0 < a.size <= MOST_ELEMENTS or a.ndim > 6:
                return []
            if a.dtype.kind == "f" and not np.abs(a).max() < self.largest:
                return []
        self.nodes.append(node)
        self.values.update(made)
        return names

    def _model(self, nodes: list[onnx.NodeProto], inputs: dict[str, Array], outputs: list[str]) -> onnx.ModelProto:
        used = {n for node in nodes for n in node.input}
        graph = helper.make_graph(
            nodes,
            "random",
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                for n, a in inputs.items()
            ],
            [helper.make_empty_tensor_value_info(n) for n in outputs],
            [numpy_helper.from_array(a, n) for n, a in self.weights.items() if n in used],
        )
        versions = {"": self.opset} | {node.domain: 1 for node in nodes if node.domain}
        imports = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    def model(self) -> onnx.ModelProto:
        """Outputs are all that nobody reads, some that somebody does, and now and then an input."""
        used = {n for node in self.nodes for n in node.input}
        made = [n for node in self.nodes for n in node.output if n not in self.parameters]
        outputs = [n for n in made if n not in used or self.draw.random() < 0.08]
        if self.draw.random() < 0.06:
            outputs.append(self.draw.choice(list(self.inputs)))
        return self._model(self.nodes, self.inputs, outputs)


def inferred_shapes(model: onnx.ModelProto) -> dict[str, tuple[int, ...]]:
    """Shapes of the outputs, where ONNX infers all of one."""
    found = {}
    for output in onnx.shape_inference.infer_shapes(model).graph.output:
        dims = output.type.tensor_type.shape.dim
        if output.type.tensor_type.HasField("shape") and all(d.HasField("dim_value") for d in dims):
            found[output.name] = tuple(d.dim_value for d in dims)
    return found


def convolution(g: RandomGraph) -> None:
    x, r = g.pick((3, 4, 5)), g.draw
    if x is None:
        return
    c, d = g.values[x].shape[1], g.values[x].ndim - 2
    groups = r.choice([k for k in range(1, c + 1) if c % k == 0]) if r.random() < 0.4 else 1
    kernel = [1] * d if r.random() < 0.3 else [r.choice([1, 2, 3, 5]) for _ in range(d)]
    scale = np.float32((c // groups * np.prod(kernel)) ** -0.5)
    common = {"kernel_shape": kernel, "strides": [r.choice([1, 1, 2, 3]) for _ in range(d)]}
    pads = [r.choice([0, 1, 1, 2, 3]) for _ in range(2 * d)]
    if r.random() < 0.2:
        w = g.normal(c, r.choice([1, 2, 3, 8]), *kernel) * scale
        g.add("ConvTranspose", [x, g.weight(w)], group=groups, **common)
        return
    o = r.choice([k for k in CHANNELS if k % groups == 0] or [groups])
    w = g.normal(o, c // groups, *kernel) * scale
    inputs = [
        x,
        g.input(w) if r.random() < 0.1 else g.weight(w),
        *([g.weight(g.normal(o))] if r.random() < 0.5 else []),
    ]
    g.add("Conv", inputs, pads=pads, dilations=[r.choice([1, 1, 2]) for _ in range(d)], group=groups, **common)


def pooling(g: RandomGraph) -> None:
    x, r = g.pick((3, 4, 5)), g.draw
    if x is None:
        return
    sizes = g.values[x].shape[2:]
    kernel = [min(r.choice([1, 2, 3, 3, 5]), n) for n in sizes]
    pads = [r.randrange((k + 1) // 2) for k in kernel] * 2
    op = r.choice(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"])
    if op.startswith("Global"):
        g.add(op, [x])
        return
    extra = {"count_include_pad": r.choice([0, 1])} if op == "AveragePool" else {}
    strides = [r.choice([1, 2, 3]) for _ in sizes]
    g.add(op, [x], kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=r.choice([0, 1]), **extra)


UNARY = [
    "Relu",
    "Sigmoid",
    "Tanh",
    "Abs",
    "Neg",
    "Exp",
    "LeakyRelu",
    "Elu",
    "HardSwish",
    "Softplus",
    "Erf",
    "Sin",
    "Mish",
    "Identity",
    "Dropout",
]


def unary(g: RandomGraph) -> None:
    x = g.pick()
    if x is not None:
        g.add(g.draw.choice(UNARY), [x])


def binary(g: RandomGraph) -> None:
    """Operands of one shape, of one that is broadcast, or of one that broadcasts the other."""
    x, r = g.pick(), g.draw
    if x is None:
        return
    shape = g.values[x].shape
    same = [n for n, a in g.values.items() if a.shape == shape and a.dtype == np.float32]
    narrow = [1 if r.random() < 0.4 else n for n in shape][r.randrange(len(shape)) if r.random() < 0.4 else 0 :]
    wide = [*([2] if r.random() < 0.3 and len(shape) < 5 else []), *(r.choice([1, 3]) if n == 1 else n for n in shape)]
    data = g.normal(*r.choice([narrow, wide]))
    y = r.choice(same) if r.random() < 0.5 else g.input(data) if r.random() < 0.3 else g.weight(data)
    operands = [x, y] if r.random() < 0.6 else [y, x]
    g.add(r.choice(["Add", "Add", "Sub", "Mul", "Max", "Min"]), operands)


def selection(g: RandomGraph) -> None:
    x, r = g.pick(), g.draw
    if x is None:
        return
    found = g.add(r.choice(["Greater", "LessOrEqual"]), [x, g.weight(0.123, np.float32)])
    for name in found:
        if r.random() < 0.3:
            g.add("Cast", [name], to=TensorProto.FLOAT)
        elif r.random() < 0.8:
            g.add("Where", [name, g.weight(g.normal(*g.values[x].shape[-1:])), x])


def joining(g: RandomGraph) -> None:
    x, r = g.pick(), g.draw
    if x is None:
        return
    a = g.values[x]
    axis = r.randrange(a.ndim)
    if r.random() < 0.4 and a.shape[axis] > 1:
        first = r.randrange(1, a.shape[axis])
        g.add("Split", [x, g.weight([first, a.shape[axis] - first], np.int64)], 2, axis=axis)
        return
    rest = a.shape[:axis] + a.shape[axis + 1 :]
    fit = [
        n
        for n, b in g.values.items()
        if b.dtype == a.dtype and b.ndim == a.ndim and b.shape[:axis] + b.shape[axis + 1 :] == rest
    ]
    g.add("Concat", [x, *r.choices(fit, k=r.choice([1, 1, 2]))], axis=axis - r.choice([0, a.ndim]))


def movement(g: RandomGraph) -> None:
    x, r = g.pick(), g.draw
    if x is None:
        return
    a = g.values[x]
    n = a.ndim
    match r.choice(["Transpose", "Reshape", "Slice", "Pad", "Gather", "Resize", "DepthToSpace"]):
        case "Transpose":
            g.add("Transpose", [x], perm=r.sample(range(n), n))
        case "Reshape":
            at = r.randrange(n)
            whole = [*a.shape[:at], int(np.prod(a.shape[at:]))]
            halves = [*a.shape[:at], 2, a.shape[at] // 2, *a.shape[at + 1 :]]
            g.add("Reshape", [x, g.weight(r.choice([whole, halves]), np.int64)])
        case "Slice":
            axis, step = r.randrange(n), r.choice([1, 2, -1])
            start = r.randrange(a.shape[axis])
            end = -(2**31) if step < 0 else r.choice([start + 1, 2**31])
            g.add("Slice", [x, *(g.weight([v], np.int64) for v in (start, end, axis, step))])
        case "Pad":
            pads = [r.choice([0, 0, 1, 2]) for _ in range(2 * n)]
            g.add("Pad", [x, g.weight(pads, np.int64)], mode=r.choice(["constant", "reflect", "edge"]))
        case "Gather":
            axis = r.randrange(n)
            indices = g.arrays.integers(-a.shape[axis], a.shape[axis], r.choice([(), (3,), (2, 2)]))
            g.add("Gather", [x, g.weight(indices) if r.random() < 0.5 else g.input(np.asarray(indices))], axis=axis)
        case "Resize" if n in (3, 4):
            scales = [1, 1, *(r.choice([2, 0.5, 1.5]) for _ in range(n - 2))]
            g.add("Resize", [x, "", g.weight(scales, np.float32)], mode=r.choice(["nearest", "linear"]))
        case "DepthToSpace" if n == 4:
            g.add("DepthToSpace", [x], blocksize=2)


def reduction(g: RandomGraph) -> None:
    x, r = g.pick(), g.draw
    if x is None:
        return
    a = g.values[x]
    axis = r.randrange(a.ndim)
    match r.choice(["Softmax", "Arg", "Reduce", "Layer", "Batch", "Instance"]):
        case "Softmax":
            g.add(r.choice(["Softmax", "LogSoftmax"]), [x], axis=axis)
        case "Arg":
            g.add("ArgMax", [x], axis=axis, keepdims=r.choice([0, 1]))
        case "Reduce":
            op = r.choice(["ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"])
            axes = r.sample(range(a.ndim), r.randrange(1, a.ndim + 1))
            g.add(op, [x, g.weight(axes, np.int64)], keepdims=r.choice([0, 1, 1]))
        case "Layer":
            g.add("LayerNormalization", [x, g.weight(g.normal(*a.shape[axis:]))], axis=axis, epsilon=0.01)
        case "Batch" if a.ndim > 1:
            moments = [g.weight(v) for v in (*(g.normal(a.shape[1]) for _ in range(3)), np.ones(a.shape[1], "f"))]
            g.add("BatchNormalization", [x, *moments])
        case "Instance" if a.ndim > 2:
            weights = [g.weight(g.normal(a.shape[1])) for _ in range(2)]
            g.add("InstanceNormalization", [x, *weights], epsilon=0.01)


def product(g: RandomGraph) -> None:
    x, r = g.pick((2, 3, 4)), g.draw
    if x is None:
        return
    *lead, m, k = g.values[x].shape
    if r.random() < 0.5:
        w = g.normal(*([] if r.random() < 0.6 else lead), k, r.choice(CHANNELS)) * np.float32(k**-0.5)
        g.add("MatMul", [x, g.weight(w)])
        return
    order = [*range(len(lead)), len(lead) + 1, len(lead)]
    for turned in g.add("Transpose", [x], perm=order):
        for y in g.add("MatMul", r.choice([[x, turned], [turned, x]])):
            g.add("Mul", [y, g.weight(max(m, k) ** -0.5, np.float32)])


OPERATORS: dict[Callable[[RandomGraph], None], int] = {
    convolution: 7,
    pooling: 2,
    unary: 3,
    binary: 5,
    selection: 1,
    joining: 4,
    movement: 6,
    reduction: 4,
    product: 2,
}


def random_graph(
    seed: int, operators: Mapping[Callable[[RandomGraph], None], int] = OPERATORS, longest: int = 14
) -> RandomGraph:
    """3 to `longest` nodes behind one or two inputs of rank 2 to 5, drawn from `operators` by weight."""
    g = RandomGraph(seed)
    for _ in range(g.draw.choice([1, 1, 2])):
        rank = g.draw.choice([2, 3, 3, 4, 4, 4, 4, 5])
        most = {2: 2, 3: 20, 4: 10, 5: 5}[rank]
        spatial = [g.draw.randrange(2, most + 1) for _ in range(rank - 2)]
        g.input(g.normal(g.draw.choice([1, 1, 2]), g.draw.choice(CHANNELS), *spatial))
    size = g.draw.randrange(3, longest + 1)
    while len(g.nodes) < size:
        (operator,) = g.draw.choices(list(operators), list(operators.values()))
        operator(g)
    return g
