"""How If, Loop, Scan and sequences are imported: versions, what is known at build, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from control_flow import grow_until
from onnx_models import assert_close, onnxruntime_results, random
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.model_inputs import Dim, ModelInputs
from webnn_compile.frontends.onnx import import_model

X: Mapping[str, Any] = {"x": random((3, 4))}


def parsed(text: str, opset: int = 18) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 6, opset_import: ["" : {opset}]> g {text}')


def check(made: onnx.ModelProto, feeds: Mapping[str, Any], target: str = "native", **options: Any) -> None:
    assert_close(webnn_compile.compile(made, target, **options).run(dict(feeds)), onnxruntime_results(made, feeds))


def operators(made: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in import_model(made).nodes]


STRUCTURES = """
    (float[3, 4] x, bool choose) => (float[3, 4] y, float[3, 4] rows) <int64 three = {3}> {
      a = If(choose) <
        then_branch = yes () => (float[3, 4] p) { p = Exp(x) },
        else_branch = no () => (float[3, 4] q) { q = Neg(x) }
      >
      y = Loop(three, "", a) <body = body (int64 i, bool c, float[3, 4] s) => (bool same, float[3, 4] next) {
        next = Tanh(s)
        same = Identity(c)
      }>
      last, rows = Scan(first, y) <num_scan_inputs = 1, body = step (float[4] t, float[4] row)
                                                                 => (float[4] u, float[4] out) {
        u = Add(t, row)
        out = Mul(t, row)
      }>
    }"""


@pytest.mark.parametrize("opset", [9, 10, 11, 13, 16, 19, 21])
def test_versions(opset: int) -> None:
    made = parsed(STRUCTURES.replace("three = {3}>", "three = {3}, float[4] first = {1, 2, 3, 4}>"), opset)
    for choose in (True, False):
        check(made, {**X, "choose": np.array(choose)})


BRANCHES = """
    If({condition}) <
      then_branch = yes () => (float[{a}] p) {{ p = Identity(x) }},
      else_branch = no () => (float[{b}] q) {{ q = ReduceSum <keepdims = 0> (x) }}
    >"""


def test_a_branch_that_is_known_may_have_another_shape() -> None:
    """The other one need not be supported at all."""
    taken = BRANCHES.format(condition="yes", a="3, 4", b="")
    made = parsed(f"(float[3, 4] x) => (float[3, 4] y) <bool yes = {{1}}> {{ y = {taken} }}")
    assert "If" not in operators(made)
    check(made, X)
    shapes = """
      (float[3, 4] x) => (float[m, n] y) <int64 zero = {0}, int64 three = {3}> {
        shape = Shape(x)
        rows = Gather(shape, zero)
        all = Equal(rows, three)
        y = If(all) <
          then_branch = yes () => (float[3, 4] p) { p = Exp(x) },
          else_branch = no () => (float[m, n] q) { q = Unheard(x) }
        >
      }"""
    assert "If" not in operators(parsed(shapes))


@pytest.mark.parametrize(
    ("given", "known"),
    [("", "bool[2] c = {1, 0}"), ("", "float[1] c = {1}"), (", bool[2] c", ""), (", bool[3, 1] c", "")],
)
def test_a_condition_that_is_none(given: str, known: str) -> None:
    made = parsed(f"""(float[3, 4] x{given}) => (float[3, 4] y) <{known}> {{
      y = If(c) <then_branch = a () => (float[3, 4] p) {{ p = Exp(x) }},
                 else_branch = b () => (float[3, 4] q) {{ q = Neg(x) }}>
    }}""")
    with pytest.raises(InputError, match=r"If .*'c' is .*, where one element of bool is expected"):
        import_model(made)


LOOP = """(float[4] x, int64{n} n, bool{first} c) => (float[4] y) {{
    y = Loop(n, c, x) <body = body (int64 i, bool{first} before, float[4] s) => (bool{after} go, float[4] next) {{
        next = Exp(s)
        zero = Sub(s, s)
        go = {go}
    }}>
}}"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first": "[2]", "after": "[2]"}, r"its condition 'c' is bool\[2\], where one element of bool is expected"),
        ({"n": "[3]"}, r"its number of iterations 'n' is int64\[3\], where one element of int64"),
        ({"after": "[4]", "go": "Equal(s, zero)"}, r"the condition after an iteration '.*' is bool\[4\], where one"),
    ],
)
def test_a_loop_by_more_than_one_element(changes: dict[str, str], message: str) -> None:
    text = LOOP.format(**{"n": "", "first": "", "after": "", "go": "Identity(before)", **changes})
    with pytest.raises((InputError, UnsupportedError), match=rf"Loop \(node '.*'\): {message}"):
        import_model(parsed(text))


def test_nothing_is_left_of_attempts_that_fail() -> None:
    """A loop is first imported with shapes that do not change, then its iterations one by one, then with those that
    grow."""
    graph = import_model(grow_until(), ModelInputs(dims={"rows": Dim(1, 24)}))
    assert [node.op for node in graph.nodes] == ["Loop", "MatMul"]
    names = [node.name for node in graph.nodes[0].regions[0].nodes]
    assert names == ["ReduceMax_1", "Neg_2", "Concat_3", "ReduceMean_4", "Concat_5", "ReduceSum_6", "Less_7"]
    assert len(graph.constants) == 6


def test_a_loop_whose_values_grow_is_unrolled() -> None:
    grows = """
      (float[3, 4] x) => (float[m, 4] y, n) <int64 three = {3}> {
        y, rows = Loop(three, "", x) <body = body (int64 i, bool c, float[k, 4] s)
                                           => (bool same, float[l, 4] next, float sum) {
          next = Concat <axis = 0> (s, x)
          sum = ReduceSum <keepdims = 0> (next)
          same = Identity(c)
        }>
        n = Exp(rows)
      }"""
    made = parsed(grows)
    assert "Loop" not in operators(made)
    check(made, X)
    by_input = parsed(grows.replace("float[3, 4] x)", "float[3, 4] x, int64 three)").replace("<int64 three = {3}>", ""))
    check(by_input, {**X, "three": np.array(2)}, dims={"three": 2})
    check(by_input, {**X, "three": np.array(2)}, dims={"three": (0, 4)})


CHANGES = """
  (float[n, 4] x, bool going, int64 times) => (float[m, 4] y) <int64[1] one = {1}, int64[1] zero = {0}> {
    trues = NonZero(x)
    of_data = ReduceMax <keepdims = 0> (x)
    times2 = Cast <to = 7> (of_data)
    y = Loop(%s, going, x) <body = body (int64 i, bool c, float[k, 4] s) => (bool more, float[l, 4] next) {
      positive = Greater(s, zero_of_s)
      first = Gather(x, i)
      row = Unsqueeze(first, zero)
      found = CastLike(trues, s)
      turned = Transpose(found)
      both = Concat <axis = 1> (turned, turned)
      next = %s
      more = Identity(c)
    }>
  }"""


@pytest.mark.parametrize(
    ("trips", "following", "message"),
    [
        ("times", "Slice(s, one, end)", "a shape may only grow, as much in each iteration"),
        ("times", "Concat <axis = 0> (s, s)", "a shape may only grow, as much in each iteration"),
        ("times", "Concat <axis = 0> (s, both)", "a shape may only grow, as much in each iteration"),
        ('""', "Concat <axis = 0> (s, row)", "nothing but its condition bounds the number of its iterations"),
        ("endless", "Concat <axis = 0> (s, row)", "nothing but its condition bounds the number of its iterations"),
        ("times2", "Concat <axis = 0> (s, row)", "the number of its iterations is computed at run time, and with it"),
    ],
)
def test_what_a_loop_carries_changes_its_shape_otherwise(trips: str, following: str, message: str) -> None:
    text = CHANGES.replace(
        "one = {1}", "one = {1}, int64[1] end = {9}, float zero_of_s = {0}, int64 endless = {9223372036854775807}"
    )
    with pytest.raises(UnsupportedError, match=message):
        webnn_compile.compile(parsed(text % (trips, following)), dims={"n": (2, 4), "times": (0, 2)})
    grows = parsed(text % ("times", "Concat <axis = 0> (s, row)"))
    feeds = {"x": random((3, 4)), "going": np.array(True), "times": np.array(2)}
    check(grows, feeds, dims={"n": (2, 4), "times": (0, 2)})


def test_loops_that_end_by_what_is_known_only() -> None:
    text = """
      (float[3, 4] x) => (float[3, 4] y) <int64 none = {%d}> {
        y = Loop(%s, "", x) <body = body (int64 i, bool c, float[3, 4] s) => (bool more, float[3, 4] next) {
          next = Add(s, x)
          more = %s
        }>
      }"""
    for trips in (0, -3, 4):
        check(parsed(text % (trips, "none", "Identity(c)")), X)
    endless = parsed(text % (0, '""', "Identity(c)"))
    with pytest.raises(UnsupportedError, match="nothing ends it; the model is invalid"):
        webnn_compile.compile(endless)


def test_a_scan_over_nothing() -> None:
    made = parsed("""
      (float[0, n, 4] x, float[n, 4] start) => (float[n, 4] last, float[0, n, 4] rows) {
        last, rows = Scan(start, x) <num_scan_inputs = 1, scan_input_directions = [1],
                                     body = step (float[n, 4] t, float[n, 4] row) => (float[n, 4] u, float[n, 4] out) {
          u = Add(t, row)
          out = Mul(t, row)
        }>
      }""")
    x = np.zeros((0, 3, 4), np.float32)
    found = webnn_compile.compile(made, shapes={"x": (0, "n", 4)}, dims={"n": (1, 5)}).run({"x": x, "start": X["x"]})
    assert_close(found, {"last": X["x"], "rows": x})


SEQUENCES = {
    "construct, insert, erase": """
        (float[3, 4] x) => (float[k, 4] y, n) <int64 one = {1}, int64 last = {-1}> {
          e = Exp(x)
          a = SequenceConstruct(x, e)
          t = Tanh(x)
          b = SequenceInsert(a, t, one)
          s = Neg(x)
          c = SequenceInsert(b, s)
          d = SequenceErase(c, last)
          f = SequenceErase(d)
          y = ConcatFromSequence <axis = 0> (f)
          n = SequenceLength(c)
        }""",
    "split": """
        (float[3, 4] x) => (float[2, 4] y, float[4] z, float[3, 2] w, n) <int64 two = {2}, int64 zero = {0},
                                                                          int64[2] sizes = {1, 3}> {
          a = SplitToSequence <axis = 0> (x, two)
          y = SequenceAt(a, zero)
          b = SplitToSequence <axis = 0, keepdims = 0> (x)
          z = SequenceAt(b, two)
          c = SplitToSequence <axis = 1> (x, sizes)
          n = SequenceLength(c)
          d = SplitToSequence <axis = 1> (x, two)
          w = SequenceAt(d, zero)
        }""",
    "a place of the run": """
        (float[3, 4] x, int64 at) => (float[3, 4] y, float[2, 3, 4] z) {
          e = Exp(x)
          n = Neg(x)
          a = SequenceConstruct(x, e)
          y = SequenceAt(a, at)
          b = SequenceEmpty <dtype = 1> ()
          c = SequenceInsert(b, e)
          d = SequenceInsert(c, n)
          z = ConcatFromSequence <axis = 0, new_axis = 1> (d)
        }""",
    "collected in a loop": """
        (float[3, 4] x) => (float[k, 4] y) <int64 three = {3}> {
          empty = SequenceEmpty()
          s, last = Loop(three, "", empty, x) <body = body (int64 i, bool c, seq(float[3, 4]) list, float[3, 4] t)
                                               => (bool same, seq(float[3, 4]) longer, float[3, 4] next) {
            next = Tanh(t)
            longer = SequenceInsert(list, next)
            same = Identity(c)
          }>
          y = ConcatFromSequence <axis = 0> (s)
        }""",
    "of a known branch": """
        (float[3, 4] x) => (float[3, 4] y) <bool no = {0}, int64 zero = {0}> {
          s = If(no) <
            then_branch = yes () => (seq(float[3, 4]) a) { a = SequenceConstruct(x) },
            else_branch = nay () => (seq(float[3, 4]) b) { e = Exp(x) b = SequenceConstruct(e, x) }
          >
          y = SequenceAt(s, zero)
        }""",
}


@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_of_a_known_length(name: str, target: str) -> None:
    check(parsed(SEQUENCES[name]), {**X, **({"at": np.array(1)} if name == "a place of the run" else {})}, target)


GROWING = """
    (float[3, 4] x, int64 times) => (float[3, 4] last, a, b, c, d, n, float[3, 4] first) <int64 zero = {0}> {
      empty = SequenceEmpty()
      two = SequenceConstruct(x, x)
      last, s, t = Loop(times, "", x, empty, two) <body =
        body (int64 i, bool c, float[3, 4] v, seq(float[3, 4]) list, seq(float[3, 4]) other)
             => (bool same, float[3, 4] next, seq(float[3, 4]) longer, seq(float[3, 4]) more) {
          next = Tanh(v)
          copy = Identity(list)
          inserted = SequenceInsert(copy, next)
          longer = Identity(inserted)
          e = Exp(next)
          more = SequenceInsert(other, e)
          same = Identity(c)
        }>
      a = ConcatFromSequence <axis = 0> (s)
      b = ConcatFromSequence <axis = 1> (s)
      c = ConcatFromSequence <axis = -1, new_axis = 1> (t)
      d = ConcatFromSequence <axis = 0, new_axis = 1> (s)
      n = SequenceLength(t)
      first = SequenceAt(t, zero)
    }"""


@pytest.mark.parametrize("target", ["native", "wasm", "webgl"])
def test_sequences_of_a_length_that_a_run_decides(target: str) -> None:
    made = parsed(GROWING)
    compiled = webnn_compile.compile(made, target, dims={"times": (0, 6)})
    for times in (6, 1, 3):
        feeds = {**X, "times": np.array(times, np.int64)}
        assert_close(compiled.run(feeds), onnxruntime_results(made, feeds))
    nothing = compiled.run({**X, "times": np.array(0, np.int64)})
    assert [nothing[k].shape for k in "abcdn"] == [(0, 4), (3, 0), (3, 4, 2), (0, 3, 4), ()]
    assert nothing["n"] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = SequenceErase(list) longer = SequenceInsert(a, x)", "a sequence, or an optional, passes through it"),
        ("longer = SequenceInsert(list, x, i)", "a sequence, or an optional, passes through it"),
        ("a = SequenceInsert(list, x) longer = SequenceInsert(a, x)", "a sequence, or an optional, passes through it"),
    ],
)
def test_sequences_that_do_more_than_grow(text: str, message: str) -> None:
    made = parsed(f"""(float[3, 4] x, int64 times) => (float[k, 4] y) {{
      empty = SequenceEmpty()
      s = Loop(times, "", empty) <body = body (int64 i, bool c, seq(float[3, 4]) list)
                                            => (bool same, seq(float[3, 4]) longer) {{
        {text}
        same = Identity(c)
      }}>
      y = ConcatFromSequence <axis = 0> (s)
    }}""")
    with pytest.raises(UnsupportedError, match=message):
        webnn_compile.compile(made, dims={"times": (0, 6)})


def test_an_output_that_is_a_sequence_of_a_length_that_a_run_decides_is_refused() -> None:
    made = parsed("""(float[3] x, int64 times) => (seq(float[3]) y) {
      empty = SequenceEmpty()
      y = Loop(times, "", empty) <body = body (int64 i, bool c, seq(float[3]) list)
                                            => (bool same, seq(float[3]) longer) {
        longer = SequenceInsert(list, x)
        same = Identity(c)
      }>
    }""")
    with pytest.raises(UnsupportedError, match="output 'y' is a sequence of as many tensors as a run decides"):
        webnn_compile.compile(made, dims={"times": (0, 6)})


def test_a_sequence_of_a_length_that_a_run_decides_is_read_alone() -> None:
    made = parsed(GROWING.replace("n = SequenceLength(t)", "u = SequenceErase(t, zero) n = SequenceLength(u)"))
    with pytest.raises(UnsupportedError, match="it can be read, counted and concatenated"):
        webnn_compile.compile(made, dims={"times": (0, 6)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z = SplitToSequence(x, k) y = ConcatFromSequence <axis = 0> (z)", "its input 1 is computed at run time"),
        ("z = SequenceConstruct(x, x) y = SequenceErase(z, k)", "its input 1 is computed at run time"),
        ("z = SequenceConstruct(x) y = SequenceAt(z, nine)", "place 9 does not exist in a sequence of 1"),
    ],
)
def test_sequences_that_are_refused(text: str, message: str) -> None:
    made = parsed(f"(float[3, 4] x, int64 k) => (y) <int64 nine = {{9}}> {{ {text} }}")
    with pytest.raises(UnsupportedError, match=message):
        webnn_compile.compile(made)
