"""Loops and branches inside of each other, and what passes between them and the operators around."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from growing_models import GROWING
from onnx_models import assert_close, onnxruntime_results, random

MODELS = {
    # The start of the inner loop is the same in each iteration around it, and the inner loop writes over it.
    "an inner loop starts anew": """
        (float[3, 4] x) => (float[3, 4] y) <int64 three = {3}> {
          start = Abs(x)
          y = Loop(three, "", x) <body = outer (int64 i, bool c, float[3, 4] s) => (bool same, float[3, 4] next) {
            inner = Loop(three, "", start) <body = inner (int64 j, bool d, float[3, 4] t)
                                                => (bool same2, float[3, 4] more) {
              more = Add(t, s)
              same2 = Identity(d)
            }>
            next = Tanh(inner)
            same = Identity(c)
          }>
        }""",
    # The condition of the inner loop is a constant at first, and written over.
    "an inner condition starts anew": """
        (float[3, 4] x) => (float[3, 4] y) <int64 two = {2}, int64 three = {3}, bool yes = {1}> {
          y = Loop(three, "", x) <body = outer (int64 i, bool c, float[3, 4] s) => (bool same, float[3, 4] next) {
            inner = Loop("", yes, s) <body = inner (int64 j, bool d, float[3, 4] t) => (bool more, float[3, 4] u) {
              u = Tanh(t)
              more = Less(j, i)
            }>
            next = Add(inner, x)
            same = Identity(c)
          }>
        }""",
    "a condition that is false at build": """
        (float[3, 4] x) => (float[3, 4] y) <int64 two = {2}, bool no = {0}> {
          y = Loop("", no, x) <body = body (int64 i, bool c, float[3, 4] s) => (bool more, float[3, 4] next) {
            next = Exp(s)
            more = Less(i, two)
          }>
        }""",
    "rows that nothing reads": """
        (float[3, 4] x) => (float[3, 4] z) {
          y, z = Scan(x) <num_scan_inputs = 1, body = outer (float[4] row) => (float[4] rows, float[4] same) {
            found = Scan(row) <num_scan_inputs = 1, body = inner (float t) => (float u) { u = Exp(t) }>
            rows = Neg(found)
            same = Identity(row)
          }>
        }""",
    # What says how many rows there are is made by the loop, not by the branch that reads them.
    "a branch reads rows of a loop that the data ends": """
        (float[3] x, bool choose) => (float[3] y, n) <int64 five = {5}, float limit = {9}> {
          last, rows = Loop(five, "", x) <body = body (int64 i, bool c, float[3] s)
                                              => (bool more, float[3] next, float[3] row) {
            next = Add(s, x)
            row = Exp(s)
            sum = ReduceSum <keepdims = 0> (next)
            more = Less(sum, limit)
          }>
          y = If(choose) <
            then_branch = yes () => (float[3] a) { total = ReduceSum <keepdims = 0> (rows) a = Add(last, total) },
            else_branch = no () => (float[3] b) { b = Neg(last) }
          >
          n = Shape(rows)
        }""",
    # A convolution's result is channels-last in memory, and row-major where a loop reads it: one tensor, two layouts.
    "a loop reads what convolutions read": """
        (float[1, 3, 5, 6] x) => (float[1, 3, 5, 6] y, float[1, 3, 5, 6] z, float[1, 3, 5, 6] c)
        <int64 two = {2}, float[3, 3, 1, 1] w = {1, 2, 3, 0, 1, 1, 2, 0, 1}> {
          c = Conv(x, w)
          z = Conv(c, w)
          y = Loop(two, "", x) <body = body (int64 i, bool d, float[1, 3, 5, 6] s)
                                    => (bool same, float[1, 3, 5, 6] next) {
            sum = Add(s, c)
            next = Tanh(sum)
            same = Identity(d)
          }>
        }""",
    # Where a texel has four elements, rows of a stack are padded to them.
    "branches and loops read rows": """
        (float[2, 5] x, bool choose) => (float[3, 2, 5] y, float[2, 5] z) <int64 three = {3}> {
          last, rows = Loop(three, "", x) <body = body (int64 i, bool c, float[2, 5] s)
                                               => (bool same, float[2, 5] next, float[2, 5] row) {
            next = Tanh(s)
            row = Exp(s)
            same = Identity(c)
          }>
          y = If(choose) <
            then_branch = yes () => (float[3, 2, 5] a) { a = Neg(rows) },
            else_branch = no () => (float[3, 2, 5] b) { b = Add(rows, rows) }
          >
          z = Loop(three, "", last) <body = body2 (int64 j, bool d, float[2, 5] t)
                                         => (bool same2, float[2, 5] after) {
            one = Gather(rows, j)
            after = Add(t, one)
            same2 = Identity(d)
          }>
        }""",
    "a stack of stacks": """
        (float[2, 3] x) => (float[3, 3, 2, 3] y) <int64 three = {3}> {
          last, y = Loop(three, "", x) <body = outer (int64 i, bool c, float[2, 3] s)
                                            => (bool same, float[2, 3] next, float[3, 2, 3] rows) {
            next, rows = Loop(three, "", s) <body = inner (int64 j, bool d, float[2, 3] t)
                                                 => (bool same2, float[2, 3] u, float[2, 3] row) {
              u = Sin(t)
              row = Add(t, x)
              same2 = Identity(d)
            }>
            same = Identity(c)
          }>
        }""",
    "branches in a loop in a branch": """
        (float[2, 3] x, bool choose) => (float[2, 3] y) <int64 two = {2}, int64 four = {4}> {
          y = If(choose) <
            then_branch = yes () => (float[2, 3] a) {
              once = Exp(x)
              a = Loop(four, "", x) <body = body (int64 i, bool c, float[2, 3] s) => (bool same, float[2, 3] next) {
                odd = Mod(i, two)
                is_odd = Cast <to = 9> (odd)
                next = If(is_odd) <
                  then_branch = odd_ones () => (float[2, 3] d) { d = Add(s, once) },
                  else_branch = even_ones () => (float[2, 3] e) { e = Tanh(s) }
                >
                same = Identity(c)
              }>
            },
            else_branch = no () => (float[2, 3] b) { b = Neg(x) }
          >
        }""",
}


@pytest.mark.parametrize("target", ["native", "wasm", "opencl", "webgpu", "webgl"])
@pytest.mark.parametrize("name", MODELS)
def test_nested(name: str, target: str) -> None:
    need_driver(target)
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> nested {MODELS[name]}')
    compiled = webnn_compile.compile(made, target)
    for seed in (0, 1):
        shapes = {i.name: [d.dim_value for d in i.type.tensor_type.shape.dim] for i in made.graph.input}
        feeds = {n: random(shape, seed) if shape else random((), seed, bool) for n, shape in shapes.items()}
        if "choose" in feeds:
            feeds["choose"][()] = bool(seed)
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))


def test_branches_as_deep_as_onnx_builds_them() -> None:
    """Deeper than Protobuf reads them back from ONNX's inference."""
    compiled = webnn_compile.compile(GROWING["nested Ifs"].model(32))
    x = random((8, 4))
    np.testing.assert_allclose(compiled.run({"v0": x, "c": np.array(True)})["x32"], np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(compiled.run({"v0": x, "c": np.array(False)})["x32"], -x)
