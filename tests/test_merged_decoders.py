"""Merged decoders: a branch for the first run, which computes all caches, and one for those that find them."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
import webnn_compile
from drivers import need_driver
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from webnn_compile.errors import InputError

WIDTH, WORDS = 4, 11
DIMS = {"S": (1, 5), "P": (0, 30), "E": (1, 6)}

Array = np.ndarray


def merged() -> onnx.ModelProto:
    """Logits by the means of a cache of tokens, which grows, and of one that the first run makes of `hidden`."""
    rng = np.random.default_rng(2)
    weights = {
        "words": rng.standard_normal((WORDS, WIDTH)).astype(np.float32),
        "across": rng.standard_normal((WIDTH, WIDTH)).astype(np.float32),
        "head": rng.standard_normal((WIDTH, WORDS)).astype(np.float32),
    }

    def info(name: str, dtype: int, *shape: int | str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, dtype, shape)

    def branch(name: str, own: list[onnx.NodeProto], cache: str, across: str) -> onnx.GraphProto:
        nodes = [
            *own,
            helper.make_node("ReduceMean", [cache], [f"{name}.a"], axes=[1]),
            helper.make_node("ReduceMean", [across], [f"{name}.b"], axes=[1]),
            helper.make_node("Add", [f"{name}.a", f"{name}.b"], [f"{name}.c"]),
            helper.make_node("Add", [f"{name}.c", "x"], [f"{name}.d"]),
            helper.make_node("MatMul", [f"{name}.d", "head"], [f"{name}.logits"]),
        ]
        outputs = [f"{name}.{what}" for what in ("logits", "cache", "across")]
        return helper.make_graph(nodes, name, [], [info(o, T.FLOAT, None, None, None) for o in outputs])

    nothing = numpy_helper.from_array(np.zeros((0, 1, WIDTH), np.float32))
    later = branch(
        "later",
        [
            helper.make_node("Concat", ["past.tokens", "x"], ["later.cache"], axis=1),
            helper.make_node("Constant", [], ["later.across"], value=nothing),
        ],
        "later.cache",
        "past.hidden",
    )
    first = branch(
        "first",
        [
            helper.make_node("Identity", ["x"], ["first.cache"]),
            helper.make_node("MatMul", ["hidden", "across"], ["first.across"]),
        ],
        "first.cache",
        "first.across",
    )
    outputs = ["logits", "present.tokens", "present.hidden"]
    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["x"]),
        helper.make_node("If", ["use_cache_branch"], outputs, name="if", then_branch=later, else_branch=first),
    ]
    inputs = [
        info("input_ids", T.INT64, 1, "S"),
        info("hidden", T.FLOAT, 1, "E", WIDTH),
        info("past.tokens", T.FLOAT, 1, "P", WIDTH),
        info("past.hidden", T.FLOAT, 1, "E", WIDTH),
        info("use_cache_branch", T.BOOL, 1),
    ]
    shapes = {"logits": ("S", WORDS), "present.tokens": ("P + S", WIDTH), "present.hidden": ("E", WIDTH)}
    infos = [info(o, T.FLOAT, 1, *shapes[o]) for o in outputs]
    tensors = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    graph = helper.make_graph(nodes, "merged", inputs, infos, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class Reference:
    """onnxruntime, through which the caches are passed, those of the first run alone where the others make none."""

    def __init__(self) -> None:
        self._session = onnxruntime.InferenceSession(merged().SerializeToString(), providers=["CPUExecutionProvider"])
        self._past: dict[str, Array] = {}

    def run(self, ids: Array, hidden: Array) -> Array:
        begun = bool(self._past)
        none = {"past.tokens": np.zeros((1, 0, WIDTH), np.float32), "past.hidden": np.zeros_like(hidden)}
        feeds = {"input_ids": ids, "hidden": hidden, "use_cache_branch": np.array([begun]), **none, **self._past}
        logits, tokens, across = self._session.run(None, feeds)
        self._past = {"past.tokens": tokens, "past.hidden": self._past["past.hidden"] if begun else across}
        return np.asarray(logits)

    def state(self) -> dict[str, Array]:
        return dict(self._past)


@pytest.mark.parametrize("target", ["native", "wasm", "webgl", "webgpu"])
def test_the_first_run_fills_the_caches_that_others_find(target: str) -> None:
    need_driver(target)
    rng = np.random.default_rng(1)
    model = webnn_compile.compile(merged(), target, dims=DIMS)
    assert [getattr(p, "spec", p).name for p in model.program.inputs] == ["input_ids", "hidden"]
    for length in (4, 6):
        reference = Reference()
        hidden = rng.standard_normal((1, length, WIDTH)).astype(np.float32)
        for rows in (3, 1, 1, 2, 5, 1):
            ids = rng.integers(0, WORDS, (1, rows))
            want = reference.run(ids, hidden)
            got = model.run({"input_ids": ids, "hidden": hidden})["logits"]
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        saved = model.save_state()
        for name, a in reference.state().items():
            np.testing.assert_allclose(saved[name], a, rtol=1e-4, atol=1e-4)
        model.reset()


def test_what_an_encoder_gave_is_not_read_again() -> None:
    """Caches of it are those of the first run, whatever later ones are given."""
    rng = np.random.default_rng(4)
    model, reference = webnn_compile.compile(merged(), dims=DIMS), Reference()
    hidden = rng.standard_normal((1, 4, WIDTH)).astype(np.float32)
    ids = np.array([[1, 2]])
    np.testing.assert_allclose(
        model.run({"input_ids": ids, "hidden": hidden})["logits"], reference.run(ids, hidden), rtol=1e-5, atol=1e-5
    )
    got = model.run({"input_ids": ids, "hidden": np.full_like(hidden, np.nan)})["logits"]
    np.testing.assert_allclose(got, reference.run(ids, hidden), rtol=1e-5, atol=1e-5)


def test_the_branch_is_an_input_where_there_are_no_states() -> None:
    model = webnn_compile.compile(merged(), dims=DIMS, states=())
    assert "use_cache_branch" in [s.name for s in model.program.inputs]


@pytest.mark.parametrize("target", ["native", "webgl"])
def test_tokens(target: str) -> None:
    need_driver(target)
    hidden = np.random.default_rng(6).standard_normal((1, 5, WIDTH)).astype(np.float32)
    made = webnn_compile.compile(merged(), target, dims=DIMS, generate=True)
    reference, ids, wanted = Reference(), np.array([[1, 2, 3]]), list[int]()
    for _ in range(20):
        wanted.append(int(reference.run(ids, hidden)[0, -1].argmax()))
        ids = np.array([wanted[-1:]])
    assert list(made.generate([1, 2, 3], max_tokens=20, inputs={"hidden": hidden})) == wanted
    with pytest.raises(InputError, match="input 'hidden' is missing"):
        list(made.generate([1], max_tokens=2))
