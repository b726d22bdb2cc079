"""Branches that do not fit the sizes that a model is compiled for: an error of the runs that take them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import Array, assert_close, from_text, onnxruntime_results, random
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.frontends.onnx.decide_branches import Decisions

WEIGHTS = {"wide": random((8, 4), 1), "narrow": random((4, 4), 2)}


def parsed(text: str) -> onnx.ModelProto:
    made = from_text(text, 18)
    made.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in WEIGHTS.items())
    return made


RATES = """
    (float[batch, n] x, int64 sr) => (float[batch, 4] y, float[batch] z) <int64 rate = {16000}, int64[1] last = {1}> {
      a = Relu(x)
      c = Equal(sr, rate)
      y = If(c) <
        then_branch = t () => (float[batch, 4] u) { u = MatMul(a, wide) },
        else_branch = e () => (float[batch, 4] v) { w = MatMul(a, narrow) v = Neg(w) }
      >
      z = ReduceSum <keepdims = 0> (y, last)
    }"""
"""As a detector of voices has them: frames of 8 at the higher rate, of 4 at the lower."""

NESTED = """
    (float[2, n] x, bool outer, bool inner) => (float[2, 4] y) {
      y = If(outer) <
        then_branch = t () => (float[2, 4] u) {
          u = If(inner) <
            then_branch = tt () => (float[2, 4] p) { p = MatMul(x, wide) },
            else_branch = te () => (float[2, 4] q) { q = MatMul(x, narrow) }
          >
        },
        else_branch = e () => (float[2, 4] v) <int64[2] zero = {0, 0}, int64[2] ends = {2, 4}> {
          v = Slice(x, zero, ends)
        }
      >
    }"""


def runs_as_onnxruntime(
    compiled: webnn_compile.CompiledModel, made: onnx.ModelProto, feeds: Mapping[str, Array]
) -> None:
    assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu", "opencl", "c"])
def test_a_run_that_takes_it_is_an_error(target: str) -> None:
    """And those before and after it that do not are none."""
    need_driver(target)
    made = parsed(RATES)
    compiled = webnn_compile.compile(made, target, dims={"batch": (1, 3), "n": 8})
    good = {"x": random((3, 8)), "sr": np.array(16000)}
    runs_as_onnxruntime(compiled, made, good)
    with pytest.raises(
        InputError, match=r"^If \(node 'If_2'\): this run takes its else_branch, which does not fit .*M"
    ) as e:
        compiled.run(good | {"sr": np.array(8000)})
    assert str(e.value).endswith("--fix sr=16000 compiles the model without it")
    runs_as_onnxruntime(compiled, made, good)


@pytest.mark.parametrize("target", ["native", "webgl"])
def test_runs_of_a_fast_size_are_refused_by_themselves(target: str) -> None:
    """Whichever kernels ran before, and refused."""
    need_driver(target)
    made = parsed(RATES)
    compiled = webnn_compile.compile(made, target, dims={"batch": Dim(1, 3, fast=1), "n": 8})
    for batch, rate in ((3, 8000), (1, 16000), (1, 8000), (2, 16000), (2, 8000), (1, 16000)):
        feeds = {"x": random((batch, 8)), "sr": np.array(rate)}
        if rate == 16000:
            runs_as_onnxruntime(compiled, made, feeds)
            continue
        with pytest.raises(InputError, match="this run takes its else_branch"):
            compiled.run(feeds)


def test_either_branch_may_not_fit() -> None:
    made = parsed(RATES)
    compiled = webnn_compile.compile(made, dims={"batch": 2, "n": 4})
    good = {"x": random((2, 4)), "sr": np.array(8000)}
    runs_as_onnxruntime(compiled, made, good)
    with pytest.raises(InputError, match=r"takes its then_branch, .* --fix sr=VALUE compiles the model without it"):
        compiled.run(good | {"sr": np.array(16000)})


@pytest.mark.parametrize(
    ("kind", "nodes", "when_true", "when_false"),
    [
        ("bool", "c = Identity(k)", "1", "0"),
        ("bool", "c = Not(k)", "0", "1"),
        ("bool", "c = Equal(k, no)", "0", "1"),
        ("bool[1]", "m = Squeeze(k) o = Cast <to = 1> (m) c = Less(half, o)", "1", "0"),
        ("int64", "c = Equal(two, k)", "2", "VALUE"),
        ("int64", "e = Equal(two, k) o = Cast <to = 1> (e) c = Less(o, half)", "VALUE", "2"),
        ("int64", "c = Less(k, two)", "VALUE", "VALUE"),
        ("int64", "c = Cast <to = 9> (k)", "VALUE", "0"),
    ],
)
def test_the_value_by_which_a_branch_is_left_out(kind: str, nodes: str, when_true: str, when_false: str) -> None:
    text = RATES[RATES.index("y = If") : RATES.index("z =")].replace("a,", "x,")
    constants = "int64 two = {2}, float half = {0.5}, bool no = {0}"
    made = parsed(f"(float[2, n] x, {kind} k) => (float[2, 4] y) <{constants}> {{ {nodes} {text} }}")
    for n, value in ((8, when_true), (4, when_false)):
        ((_, refusal),) = import_model(made, ModelInputs(dims={"n": Dim(n, n)})).refusals
        assert refusal.endswith(f". --fix k={value} compiles the model without it")


def test_neither_fits() -> None:
    with pytest.raises(
        UnsupportedError, match=r"2 in all:\n  MatMul .* \[2, 5\] and \[8, 4\].*\n  MatMul .* and \[4, 4\]"
    ):
        webnn_compile.compile(parsed(RATES), dims={"batch": 2, "n": 5})


def test_a_fixed_input_leaves_no_branch() -> None:
    compiled = webnn_compile.compile(parsed(RATES), dims={"batch": 2, "n": 8}, constants={"sr": 16000})
    assert compiled.run({"x": random((2, 8))})["y"].shape == (2, 4)


@pytest.mark.parametrize("target", ["native", "webgl"])
def test_a_branch_in_a_branch(target: str) -> None:
    need_driver(target)
    made = parsed(NESTED)
    compiled = webnn_compile.compile(made, target, dims={"n": 8})
    x = random((2, 8))
    for outer, inner in ((True, True), (False, True), (False, False)):
        runs_as_onnxruntime(compiled, made, {"x": x, "outer": np.array(outer), "inner": np.array(inner)})
    with pytest.raises(InputError, match=r"this run takes its else_branch"):
        compiled.run({"x": x, "outer": np.array(True), "inner": np.array(False)})


def test_a_branch_in_a_loop_has_to_fit() -> None:
    made = parsed("""
        (float[2, n] x, bool c, int64 times) => (float[2, 4] y) <bool on = {1}> {
          start = MatMul(x, wide)
          y = Loop(times, on, start) <body = b (int64 i, bool g, float[2, 4] before) => (bool h, float[2, 4] after) {
            h = Identity(g)
            after = If(c) <
              then_branch = t () => (float[2, 4] u) { u = Neg(before) },
              else_branch = e () => (float[2, 4] v) { v = MatMul(before, wide) }
            >
          }>
        }""")
    with pytest.raises(InputError, match=r"shapes do not fit together: .*If.*MatMul.*Incompatible dimensions"):
        webnn_compile.compile(made, dims={"n": 8, "times": (0, 3)})


def test_an_operator_that_is_not_supported_is_no_matter_of_sizes() -> None:
    made = parsed(RATES.replace("v = Neg(w)", "v = ImageDecoder(w)"))
    with pytest.raises(UnsupportedError, match=r"ImageDecoder \(no operator of opset 18\): 1 node"):
        webnn_compile.compile(made, dims={"batch": 2, "n": 8})


RANKS = """
    (float[3, n] x, bool c) => (float y) <int64[1] one = {{1}}> {{
      m = If(c) <
        then_branch = t () => (float[a, b, d] u) {{ u = Unsqueeze(x, one) }},
        else_branch = e () => (float[a, b] v) {{ v = Neg(x) }}
      >
      {after}
      y = ReduceSum <keepdims = 0> (r)
    }}"""
"""Branches of ranks 3 and 2; `after` reads m, and makes r."""

FITS_BOTH, FITS_THEN, FITS_ELSE = "r = Exp(m)", "r = Transpose <perm = [2, 1, 0]> (m)", "r = Gemm(m, narrow)"


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu", "opencl", "c"])
@pytest.mark.parametrize(("after", "good"), [(FITS_BOTH, False), (FITS_THEN, True), (FITS_ELSE, False)])
def test_branches_of_two_ranks(target: str, after: str, good: bool) -> None:
    """The one whose rank fits what follows runs; of two that fit, the else_branch."""
    need_driver(target)
    made = parsed(RANKS.format(after=after))
    compiled = webnn_compile.compile(made, target, dims={"n": 4})
    feeds = {"x": random((3, 4))}
    runs_as_onnxruntime(compiled, made, feeds | {"c": np.array(good)})
    other = "else_branch" if good else "then_branch"
    with pytest.raises(
        InputError, match=rf"this run takes its {other}, .* return float32\[3, 1, 4\] and float32\[3, 4"
    ):
        compiled.run(feeds | {"c": np.array(not good)})


@pytest.mark.parametrize(("rank", "refused"), [(0, "then_branch"), (2, "then_branch"), (3, "else_branch")])
def test_an_outputs_rank_is_taken_first(rank: int, refused: str) -> None:
    made = parsed(RANKS.format(after=FITS_BOTH))
    made.graph.output.append(onnx.helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, ["a", "b", "d"][:rank]))
    ((_, text),) = import_model(made, ModelInputs(dims={"n": Dim(4, 4)})).refusals
    assert f"takes its {refused}" in text


def test_branches_of_two_ranks_in_a_loop_have_to_agree() -> None:
    made = parsed("""
        (float[3, 4] x, bool c, int64 times) => (float[3, 4] y) <bool on = {1}, int64[1] one = {1}> {
          y = Loop(times, on, x) <body = b (int64 i, bool g, float[3, 4] before) => (bool h, float[3, 4] after) {
            h = Identity(g)
            m = If(c) <
              then_branch = t () => (float[a, b, d] u) { u = Unsqueeze(before, one) },
              else_branch = e () => (float[a, b] v) { v = Neg(before) }
            >
            after = Gemm(m, narrow)
          }>
        }""")
    with pytest.raises(UnsupportedError, match=r"its branches return .* for one output; give them one rank and type"):
        webnn_compile.compile(made, dims={"times": (0, 3)})


INNER = """
    (float[3, 4] x, bool outer, bool inner, bool second) => (float[3, 4] y) <int64[1] one = {1}> {
      y = If(outer) <
        then_branch = t () => (float[3, 4] u) {
          m = If(inner) <
            then_branch = tt () => (float[a, b, d] p) { p = Unsqueeze(x, one) },
            else_branch = te () => (float[a, b] q) { q = Neg(x) }
          >
          k = If(second) <
            then_branch = st () => (float[a, b, d] ps) { ps = Unsqueeze(m, one) },
            else_branch = se () => (float[a, b] qs) { qs = Exp(m) }
          >
          u = Gemm(k, narrow)
        },
        else_branch = e () => (float[3, 4] v) { v = Abs(x) }
      >
    }"""


@pytest.mark.parametrize("target", ["native", "webgpu"])
def test_only_the_inner_branch_is_left_out(target: str) -> None:
    """Not the branch around it: runs that take the other inner branch are whole."""
    need_driver(target)
    made = parsed(INNER)
    compiled = webnn_compile.compile(made, target)
    assert len(import_model(made).refusals) == 2
    for flags in range(8):
        outer, inner, second = (bool(flags >> i & 1) for i in range(3))
        feeds = {
            "x": random((3, 4)),
            **{n: np.array(v) for n, v in zip(("outer", "inner", "second"), (outer, inner, second), strict=True)},
        }
        if not outer or not (inner or second):
            runs_as_onnxruntime(compiled, made, feeds)
            continue
        with pytest.raises(InputError, match="this run takes its then_branch, which does not fit"):
            compiled.run(feeds)


def test_trials_of_branches_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing fits what follows, not every combination is tried; the error is that of the first If."""
    tried = []
    count = Decisions.count
    monkeypatch.setattr(Decisions, "count", lambda self, fits: tried.append(fits) or count(self, fits))
    ifs = "".join(
        f"""m{i + 1} = If(c) <
        then_branch = t{i} () => (float[a, b] u{i}) {{ u{i} = Unsqueeze(m{i}, one) }},
        else_branch = e{i} () => (float[a] v{i}) {{ v{i} = Neg(m{i}) }} >"""
        for i in range(12)
    )
    made = parsed(f"(float[n] m0, bool c) => (y) <int64[1] one = {{0}}> {{ {ifs} y = ImageDecoder(m12) }}")
    with pytest.raises(UnsupportedError, match=r"its branches return .*give them one rank and type"):
        webnn_compile.compile(made, dims={"n": 4})
    assert 10 < len(tried) < 60
