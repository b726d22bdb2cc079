"""Rows that are taken back: of states that grow alike, beside others that stay, and where that is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from library_builds import build_library
from node_sessions import play, written
from onnx_models import random
from webnn_compile.errors import InputError

DIMS = {"S": (1, 3), "F": (1, 4), "P": (0, 20), "Q": (0, 30), "E": (0, 5)}


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]>\n{text}')


ALIKE = model("""
    g (float[S, 2] x, float[E, 2] e, float[P, 2] p, float[3, Q, 2] q)
        => (float[1, 2] y, float[1, 2] z, float[E, 2] e2, float[PS, 2] p2, float[3, QS, 2] q2)
        <int64[1] first = {0}, int64[2] both = {0, 1}, int64[3] three = {3, 1, 1}> {
      e2 = Identity(e)
      p2 = Concat <axis = 0> (p, x)
      x3 = Expand(x, three)
      q2 = Concat <axis = 1> (q, x3)
      s = ReduceSum(p2, first)
      t = ReduceSum(e, first)
      y = Add(s, t)
      u = ReduceSum <keepdims = 0> (q2, both)
      z = Unsqueeze(u, first)
    }""")
"""Caches with lengths of their own that grow alike, and one that runs read alone, the first of the states."""

APART = model("""
    g (float[S, 2] x, float[F, 2] f, float[P, 2] p, float[Q, 2] q)
        => (float[1, 2] y, float[1, 2] z, float[PS, 2] p2, float[QF, 2] q2) <int64[1] first = {0}> {
      p2 = Concat <axis = 0> (p, x)
      q2 = Concat <axis = 0> (q, f)
      y = ReduceSum(p2, first)
      z = ReduceSum(q2, first)
    }""")

IN_FRONT = model("""
    g (float[S, 2] x, float[P, 2] p) => (float[1, 2] y, float[PS, 2] p2) <int64[1] first = {0}> {
      p2 = Concat <axis = 0> (x, p)
      y = ReduceSum(p2, first)
    }""")

TURNED = model("""
    g (float[S, 2] x, float[2, P] p) => (float[2, 1] y, float[2, PS] p2) <int64[1] last = {1}> {
      rows = Transpose <perm = [1, 0]> (p)
      joined = Concat <axis = 0> (rows, x)
      p2 = Transpose <perm = [1, 0]> (joined)
      y = ReduceSum(p2, last)
    }""")
"""A cache that is appended to in another order of axes."""

STATES = {"e": "e2", "p": "p2", "q": "q2"}


def options_of(source: onnx.ModelProto) -> tuple[dict[str, tuple[int, int]], list[str]]:
    names = {i.name for i in source.graph.input}
    sizes = {d.dim_param for i in source.graph.input for d in i.type.tensor_type.shape.dim}
    return {n: r for n, r in DIMS.items() if n in sizes}, [f"{a}={b}" for a, b in STATES.items() if a in names]


def opened(source: onnx.ModelProto, target: str, folder: Path) -> Any:
    """A model of a target, or a library that was built as one."""
    dims, states = options_of(source)
    if not target.startswith("library"):
        return webnn_compile.compile(source, target, dims=dims, states=states)
    words = [w for n, (a, b) in dims.items() for w in ("--dim", f"{n}={a}..{b}")]
    words += [w for s in states for w in ("--state", s)]
    return webnn_compile.load(build_library(source, target.removeprefix("library-"), folder, *words))


@pytest.fixture(params=["native", "wasm", "webgl", "c", "library-native", "library-c"])
def target(request: pytest.FixtureRequest) -> str:
    if request.param in ("c", "library-native", "library-c") and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    return str(request.param)


def test_lengths_that_grow_alike_are_taken_back_together(target: str, tmp_path: Path) -> None:
    """The rows that no run changes stay, and positions do not count them."""
    made, x = opened(ALIKE, target, tmp_path), random((6, 2), 1)
    e = random((4, 2), 2)
    nothing = {"p": np.zeros((0, 2), np.float32), "q": np.zeros((3, 0, 2), np.float32)}
    made.load_state({"e": e, **nothing})
    assert made.position == 0
    made.run({"x": x[:3]})
    made.run({"x": x[3:]})
    made.rewind(4)
    assert made.position == 2
    saved = made.save_state()
    assert {n: a.shape for n, a in saved.items()} == {"e": (4, 2), "p": (2, 2), "q": (3, 2, 2)}
    found = made.run({"x": x[5:]})
    rows = x[[0, 1, 5]].sum(0, keepdims=True)
    np.testing.assert_allclose(found["y"], rows + e.sum(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found["z"], 3 * rows, rtol=1e-5, atol=1e-5)
    made.load_state({"e": e, "p": x[:5], "q": np.zeros((3, 2, 2), np.float32)})
    with pytest.raises(InputError, match=r"rewind\(3\): the states have 2 rows \(Q\)"):
        made.rewind(3)
    assert made.position == 5
    made.rewind(2)
    assert made.save_state()["q"].shape == (3, 0, 2)


def test_lengths_that_grow_apart_are_not(target: str, tmp_path: Path) -> None:
    made = opened(APART, target, tmp_path)
    made.run({"x": random((2, 2)), "f": random((4, 2))})
    assert made.position == 2
    with pytest.raises(InputError, match="rewind: P and Q grow by different numbers of rows; save_state"):
        made.rewind(1)
    assert made.save_state()["q"].shape == (4, 2)


def test_rows_that_are_not_the_last_are_not(target: str, tmp_path: Path) -> None:
    made = opened(IN_FRONT, target, tmp_path)
    made.run({"x": random((2, 2))})
    with pytest.raises(InputError, match="rewind: a run does not just add rows to the end of p; save_state"):
        made.rewind(1)
    assert made.position == 2


def test_rows_are_the_last_in_other_orders_of_axes() -> None:
    made, x = opened(TURNED, "native", Path()), random((3, 2))
    made.run({"x": x})
    made.rewind(2)
    np.testing.assert_allclose(made.run({"x": x[2:]})["y"][:, 0], x[[0, 2]].sum(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("source", "position", "text"),
    [
        (ALIKE, 2, None),
        (APART, 3, "rewind: P and Q grow by different numbers of rows; saveState"),
        (IN_FRONT, 3, "rewind: a run does not just add rows to the end of p; saveState"),
    ],
    ids=["alike", "apart", "in front"],
)
def test_bundles(source: onnx.ModelProto, position: int, text: str | None, tmp_path: Path) -> None:
    dims, states = options_of(source)
    words = [f"--dim={n}={a}..{b}" for n, (a, b) in dims.items()] + [f"--state={s}" for s in states]
    script = """
      const model = await bundle.load({ backend: 'wasm' });
      const of = (rows) => ({ data: new Float32Array(2 * rows).fill(rows), shape: [rows, 2] });
      await model.run(Object.fromEntries(argument.map((name) => [name, of(3)])));
      const error = await model.rewind(1).then(() => undefined, ({ message }) => message);
      const saved = await model.saveState();
      const shapes = Object.fromEntries(Object.entries(saved).map(([name, { shape }]) => [name, shape]));
      return { position: model.position, error, shapes };
    """
    given = [i.name for i in source.graph.input if i.name not in STATES]
    found = play(written(source, tmp_path, *words), script, given)
    assert found["position"] == position
    assert (found.get("error") or "").startswith(text or "")
    assert ("error" in found) == (text is not None)
    assert found["shapes"]["p"] == [position, 2]
    if source is ALIKE:
        assert (found["shapes"]["q"], found["shapes"]["e"]) == ([3, 2, 2], [0, 2])


def test_states_of_one_length_are_left_alike() -> None:
    """One that a run leaves as it is cannot have the length of one that grows."""
    source = model("""
        g (float[S, 2] x, float[P, 2] p, float[P, 2] q) => (float[PS, 2] p2, float[P, 2] q2) {
          p2 = Concat <axis = 0> (p, x)
          q2 = Neg(q)
        }""")
    with pytest.raises(InputError, match=r"state q=q2: a run leaves P as it is, and other states have P \+ S then"):
        opened(source, "native", Path())
