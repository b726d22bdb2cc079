"""Graphs and SavedModels of TensorFlow that several tests read, written without TensorFlow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from tensorflow_graphs import (
    Func,
    Sizes,
    Type,
    Writer,
    random_of,
    write_checkpoint,
    write_saved_model,
)

Array = np.ndarray

RNG = random_of("files")

REAL = Type("float32")


def real(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


WEIGHTS, BIAS = real(3, 4), real(4)


def dense(folder: Path, restored: bool = True) -> Path:
    """x W + b of a SavedModel of TensorFlow 2: a function of captured variables, which both are named "w". Without
    `restored` they are found by names."""
    graph = Writer()
    x = graph.placeholder("serving_default_x", "float32", [None, 3])
    names = ("w", "w") if restored else ("w", "w_1")
    handles = [graph.node("VarHandleOp", [], f"var{i}", shared_name=name) for i, name in enumerate(names)]
    call = graph.node("StatefulPartitionedCall", [x, *handles, "^saver"], "call", f=Func("apply"))
    graph.node("NoOp", [], "saver")
    types = {"x": "float32", "kernel": "resource", "bias": "resource"}
    inner = graph.function("apply", types, {"out": ("float32", "sum:z:0")})
    inner.node("ReadVariableOp", ["kernel"], "read")
    inner.node("ReadVariableOp", ["bias"], "read_1")
    inner.node("MatMul", ["x", "read:value:0"], "product", T=REAL)
    inner.node("AddV2", ["product:product:0", "read_1:value:0"], "sum", T=REAL)
    keys = ("kernel/.ATTRIBUTES/VARIABLE_VALUE", "bias/.ATTRIBUTES/VARIABLE_VALUE")
    if restored:
        file = graph.node("Placeholder", [], "file", dtype=Type("string"))
        graph.node("StatefulPartitionedCall", [file, *handles], "restore", f=Func("restore"))
        restoring = graph.function("restore", {"file": "string", "a": "resource", "b": "resource"}, {})
        names_of = restoring.nodes.add(op="Const", name="names")
        names_of.attr["value"].tensor.dtype = 7
        names_of.attr["value"].tensor.string_val.extend(k.encode() for k in reversed(keys))
        restoring.node("RestoreV2", ["file", "names:output:0", "names:output:0"], "read")
        for argument, at in (("a", 1), ("b", 0)):
            restoring.node("Identity", [f"read:tensors:{at}"], f"copy_{argument}")
            restoring.node("AssignVariableOp", [argument, f"copy_{argument}:output:0"], f"assign_{argument}")
    write_saved_model(
        folder, graph, {"x": ("serving_default_x:0", "float32", (None, 3))}, {"scores": (call, "float32")}
    )
    objects = None if restored else {"w": keys[0], "w_1": keys[1]}
    write_checkpoint(folder / "variables", dict(zip(keys, (WEIGHTS, BIAS), strict=True)), objects)
    return folder


def branches() -> bytes:
    """Where the sum of x is positive: x + y, else x * y; and a loop that doubles until 100 is reached."""
    graph = Writer()
    x, y = (graph.placeholder(name, "float32", [3]) for name in "xy")
    axes, zero = graph.constant([0], "axes", "int32"), graph.constant(0, "zero", "int32")
    graph.node("Sum", [x, axes], "total", T=REAL)
    graph.node("Greater", ["total", graph.constant(0.0, "least")], "flag", T=REAL)
    functions = {"then_branch": Func("add"), "else_branch": Func("multiply")}
    graph.node("StatelessIf", ["flag", x, y], "chosen", **functions)
    shapes = {"output_shapes": [Sizes([3]), Sizes([])]}
    graph.node("StatelessWhile", ["chosen", zero], "looped", cond=Func("goes_on"), body=Func("twice"), **shapes)
    graph.node("Identity", ["looped"], "numbers", T=REAL)
    graph.node("Identity", ["looped:1"], "rounds", T=Type("int32"))
    reals = {"a": "float32", "b": "float32"}
    graph.function("add", reals, {"c": ("float32", "c:z:0")}).node("AddV2", ["a", "b"], "c", T=REAL)
    graph.function("multiply", reals, {"c": ("float32", "c:z:0")}).node("Mul", ["a", "b"], "c", T=REAL)
    carried = {"a": "float32", "n": "int32"}
    condition = graph.function("goes_on", carried, {"c": ("bool", "less:z:0")})
    condition.constant([0], "axes", "int32")
    condition.constant(100.0, "limit")
    condition.node("Max", ["a", "axes:output:0"], "most", T=REAL)
    condition.node("Less", ["most:output:0", "limit:output:0"], "less", T=REAL)
    body = graph.function("twice", carried, {"a2": ("float32", "sum:z:0"), "n2": ("int32", "next:z:0")})
    body.constant(1, "one", "int32")
    body.node("AddV2", ["a", "a"], "sum", T=REAL)
    body.node("AddV2", ["n", "one:output:0"], "next", T=Type("int32"))
    return graph.bytes()


def mobile(classes: int = 5) -> bytes:
    """As MobileNet has it: a convolution of a picture, then depthwise ones with residuals, a squeeze with excitation, a
    classifier. Shapes of weights alone are in the file."""
    graph = Writer()
    at = graph.placeholder("image", "float32", [1, 16, 16, 3])
    count = 0

    def name(stem: str) -> str:
        nonlocal count
        count += 1
        return f"{stem}_{count}"

    def conv(x: str, inputs: int, outputs: int, stride: int = 1, deep: bool = False, activation: str = "Relu6") -> str:
        k = 3 if deep or inputs == 3 else 1
        weights = graph.constant(real(k, k, inputs, 1) if deep else real(k, k, inputs, outputs), name("w"))
        window = {"strides": [1, stride, stride, 1], "padding": "SAME", "T": REAL}
        y = graph.node("DepthwiseConv2dNative" if deep else "Conv2D", [x, weights], name("conv"), **window)
        numbers = [
            graph.constant(v, name("n")) for v in (real(outputs), real(outputs), real(outputs), real(outputs) + 2)
        ]
        y = graph.node("FusedBatchNormV3", [y, *numbers], name("norm"), is_training=False, epsilon=0.01)
        return graph.node(activation, [y], name("y"), T=REAL) if activation else y

    at = conv(at, 3, 8, stride=2)
    axes = graph.constant([1, 2], "axes", "int32")
    for keeps in (True, False):
        wide = conv(at, 8, 24)
        deep = conv(wide, 24, 24, deep=True)
        means = graph.node("Mean", [deep, axes], name("means"), keep_dims=keeps, T=REAL)
        if not keeps:
            means = graph.node("Reshape", [means, graph.constant([-1, 1, 1, 24], "pixel", "int32")], name("means"))
        gate = graph.node("Sigmoid", [conv(means, 24, 24)], name("gate"), T=REAL)
        scaled = graph.node("Mul", [deep, gate], name("scaled"), T=REAL)
        at = graph.node("AddV2", [at, conv(scaled, 24, 8, activation="")], name("sum"), T=REAL)
    means = graph.node("Mean", [at, axes], "means", keep_dims=False, T=REAL)
    product = graph.node("MatMul", [means, graph.constant(real(8, classes), "classifier")], "product", T=REAL)
    graph.node("BiasAdd", [product, graph.constant(real(classes), "bias")], "scores", T=REAL)
    return graph.bytes()
