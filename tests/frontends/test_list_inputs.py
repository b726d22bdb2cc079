"""Inputs and outputs that are sequences or optionals: each of their tensors is an input or an output."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from click.testing import CliRunner
from drivers import need_driver
from onnx_models import random
from webnn_compile.cli.command import main
from webnn_compile.errors import InputError, UnsupportedError

JOINED = "(seq(float[n, 4]) s, float[2, 4] x) => (float[m, 4] y, seq(float[n, 4]) t)"
"""One tensor of the sequence after the other, and all of them with `x` in front."""
BODY = "y = ConcatFromSequence <axis = 0> (s) t = SequenceInsert(s, x, zero)"
PERHAPS = "(optional(float[2, 4]) bias, float[2, 4] x) => (float[2, 4] y)"
ADDED = """has = OptionalHasElement(bias)
  y = If (has) <then_branch = then () => (float[2, 4] with) { b = OptionalGetElement(bias) with = Add(x, b) },
                else_branch = else () => (float[2, 4] without) { without = Identity(x) }>"""


def parsed(signature: str, body: str) -> onnx.ModelProto:
    imports = '<ir_version: 9, opset_import: ["" : 18]>'
    return onnx.parser.parse_model(f"{imports} g {signature} <int64 zero = {{0}}> {{ {body} }}")


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
def test_tensors_of_a_sequence(target: str) -> None:
    need_driver(target)
    feeds = {"s.0": random((3, 4)), "s.1": random((5, 4), 1), "x": random((2, 4), 2)}
    shapes = {name: a.shape for name, a in feeds.items()}
    got = webnn_compile.compile(parsed(JOINED, BODY), target, shapes, dims={"s": 2}).run(feeds)
    assert list(got) == ["y", "t.0", "t.1", "t.2"]
    np.testing.assert_array_equal(got["y"], np.concatenate([feeds["s.0"], feeds["s.1"]]))
    for i, name in enumerate(("x", "s.0", "s.1")):
        np.testing.assert_array_equal(got[f"t.{i}"], feeds[name])


def test_sizes_of_each_tensor_may_vary() -> None:
    compiled = webnn_compile.compile(parsed(JOINED, BODY), dims={"s": 2, "s.0.n": (0, 6), "s.1.n": 1})
    feeds = {"s.0": random((4, 4)), "s.1": random((1, 4), 1), "x": random((2, 4), 2)}
    np.testing.assert_array_equal(compiled.run(feeds)["y"], np.concatenate([feeds["s.0"], feeds["s.1"]]))


def test_an_optional_is_there_or_is_not() -> None:
    x, bias = random((2, 4)), random((2, 4), 1)
    made = parsed(PERHAPS, ADDED)
    assert list(webnn_compile.compile(made, dims={"bias": 0}).run({"x": x})) == ["y"]
    np.testing.assert_array_equal(webnn_compile.compile(made, dims={"bias": 0}).run({"x": x})["y"], x)
    np.testing.assert_array_equal(
        webnn_compile.compile(made, dims={"bias": 1}).run({"x": x, "bias.0": bias})["y"], x + bias
    )


def test_an_optional_sequence() -> None:
    made = parsed(
        "(optional(seq(float[2])) s) => (int64 n, float[k] y)",
        "t = OptionalGetElement(s) n = SequenceLength(t) y = ConcatFromSequence <axis = 0> (t)",
    )
    feeds = {f"s.{i}": random((2,), i) for i in range(3)}
    got = webnn_compile.compile(made, dims={"s": 3}).run(feeds)
    assert got["n"] == 3
    np.testing.assert_array_equal(got["y"], np.concatenate(list(feeds.values())))


def test_branches_that_return_sequences() -> None:
    signature = "(bool c, float[2] a, float[2] b) => (seq(float[2]) y)"
    body = """y = If (c) <then_branch = then () => (seq(float[2]) p) {{ p = SequenceConstruct(a, b) }},
                          else_branch = else () => (seq(float[2]) q) {{ q = SequenceConstruct({}) }}>"""
    a, b = random((2,)), random((2,), 1)
    compiled = webnn_compile.compile(parsed(signature, body.format("b, a")))
    for c, want in ((True, (a, b)), (False, (b, a))):
        got = compiled.run({"c": np.asarray(c), "a": a, "b": b})
        np.testing.assert_array_equal([got["y.0"], got["y.1"]], want)
    shorter = parsed(signature, body.format("b"))
    with pytest.raises(UnsupportedError, match="its branches return sequences of different lengths"):
        webnn_compile.compile(shorter)
    got = webnn_compile.compile(shorter, constants={"c": False}).run({"a": a, "b": b})
    assert list(got) == ["y.0"]


@pytest.mark.parametrize(
    ("signature", "body", "dims", "message"),
    [
        (JOINED, BODY, {}, "input 's' is a sequence, of float; say how many tensors it has: --dim s=2"),
        (JOINED, BODY, {"s": (1, 3)}, r"--dim s=1\.\.3 is no number up to 1024"),
        (JOINED, BODY, {"s": 1025}, "--dim s=1025 is no number up to 1024"),
        (PERHAPS, ADDED, {}, "input 'bias' is optional, of float; --dim bias=1 makes it the input bias.0"),
        (PERHAPS, ADDED, {"bias": 2}, "--dim bias=2 is no number up to 1"),
        ("(seq(float[2]) s) => (seq(float[2]) y)", "y = Identity(s)", {"s": 0}, "'y' each is an empty sequence"),
    ],
)
def test_mistakes(signature: str, body: str, dims: dict[str, int | tuple[int, int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(parsed(signature, body), dims=dims)


def test_names_that_are_taken() -> None:
    made = parsed("(seq(float[2]) s, float[2] x) => (float[k] y)", "t = Neg(x) y = ConcatFromSequence <axis = 0> (s)")
    made.graph.node[0].output[0] = "s.0"
    compiled = webnn_compile.compile(made, dims={"s": 1})
    assert [t.name for t in compiled.program.inputs] == ["s.0_2", "x"]


def test_a_build_verifies(tmp_path: Path) -> None:
    for signature, body, options in (
        (JOINED, BODY, ["--dim", "s=2", "--shape", "s.0=3x4", "--shape", "s.1=1x4"]),
        (PERHAPS, ADDED, ["--dim", "bias=1"]),
        (PERHAPS, ADDED, ["--dim", "bias=0"]),
    ):
        onnx.save(parsed(signature, body), tmp_path / "m.onnx")
        arguments = [
            tmp_path / "m.onnx",
            *options,
            "--targets",
            "wasm",
            "--verify",
            "--force",
            "--out",
            tmp_path / "out",
        ]
        result = CliRunner().invoke(main, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        assert "verified   wasm: largest error 0.0e+00" in result.output
