"""Decoders that give tokens in place of logits, token by token, as the reference has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import webnn_compile
from drivers import need_driver
from frequencies import chi_square, softmax
from onnx import helper
from onnx_models import Array, model, node, random
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.generation.add_sampling import add_sampling
from webnn_compile.generation.ports import LOGPROB, SEEN, SEEN_NEXT, TOKEN, TOP_IDS, TOP_LOGPROBS
from webnn_compile.generation.sample import Sampling, sample
from webnn_compile.system.cache import open_cache

WORDS, HIDDEN = 45, 8


def decoder(kind: str = "float32", *, rows: bool = True, words: int = WORDS, factor: float = -1.0) -> onnx.ModelProto:
    """A table of logits after each token, by a factor; with `rows` for each of the ids, else for the last one."""
    table = (random((WORDS, words), 5) * 2).astype(np.float16)
    nodes = [node("Gather", ["table", "ids"], ["all"])]
    if not rows:
        nodes.append(node("ReduceMax", ["all"], ["last"], axes=[1], keepdims=0))
    nodes.append(node("Mul", ["all" if rows else "last", "factor"], ["logits"]))
    made = model(nodes, {}, ["logits"], {"table": table.astype(kind), "factor": np.array(factor, kind)})
    made.graph.input.append(helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, [1, "length"]))
    return made


def logits_of(proto: onnx.ModelProto, ids: Array) -> Array:
    table, factor = map(onnx.numpy_helper.to_array, proto.graph.initializer)
    return np.asarray(table[ids[0]] * factor)


def compiled(
    proto: onnx.ModelProto, target: str = "native", *, top: int = 0, length: Any = (1, 9), precision: str = "f32"
) -> webnn_compile.CompiledModel:
    options = Options(model_inputs(None, {"length": length}), precision=precision)
    work = Work("m", options, open_cache(enabled=False), lambda _: None)
    graph = add_sampling(import_graph(proto, work), "logits", "ids", top)
    row = TARGETS[target]
    return row.compile(row.lower(optimise_model(graph, work), work), work)


@pytest.mark.parametrize("target", webnn_compile.TARGETS)
def test_tokens(target: str) -> None:
    """A prompt, then token by token, each of what the ones before made likely."""
    need_driver(target)
    proto = decoder()
    made = compiled(proto, target, top=3)
    for options in (
        Sampling(repetition_penalty=1.4),
        Sampling(temperature=1.1, top_k=20, top_p=0.9, min_p=0.01, repetition_penalty=1.2, seed=8),
    ):
        ids, seen = np.array([[4, 8, 15, 16]]), np.zeros(WORDS, np.uint8)
        for position in range(4, 12):
            got = made.run({"ids": ids, SEEN: seen, **options.inputs(position)})
            assert set(got) == {TOKEN, LOGPROB, SEEN_NEXT, TOP_IDS, TOP_LOGPROBS}
            seen[ids[0]] = 1
            logits = logits_of(proto, ids)[-1]
            want = sample(logits, seen, options, position)
            assert want.margin > 1e-4
            assert got[TOKEN].tolist() == [want.token]
            np.testing.assert_allclose(got[LOGPROB], [want.logprob], rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(got[SEEN_NEXT], seen)
            best = np.argsort(-logits, kind="stable")[:3]
            assert got[TOP_IDS].tolist() == best.tolist()
            np.testing.assert_allclose(got[TOP_LOGPROBS], np.log(softmax(logits))[best], rtol=1e-5, atol=1e-5)
            ids, seen = got[TOKEN][None].astype(np.int64), got[SEEN_NEXT]


@pytest.mark.parametrize(
    "options",
    [
        Sampling(temperature=1.0, seed=1),
        Sampling(temperature=2.0, top_k=12, seed=2),
        Sampling(temperature=2.0, top_p=0.8, seed=3),
        Sampling(temperature=3.0, top_k=30, top_p=0.9, min_p=0.02, seed=4),
    ],
)
def test_frequencies(options: Sampling) -> None:
    """Each token as often as its probability says, and the very ones of the reference."""
    proto, seen, count = decoder(), np.zeros(WORDS, np.uint8), 2000
    made, ids = compiled(proto, length=1), np.array([[7]])
    logits = logits_of(proto, ids)[-1]
    tokens = [made.run({"ids": ids, SEEN: seen, **options.inputs(i)})[TOKEN].item() for i in range(count)]
    want = [sample(logits, seen, options, i) for i in range(count)]
    clear = [i for i, choice in enumerate(want) if choice.margin > 1e-4]
    assert len(clear) > 0.99 * count
    assert [tokens[i] for i in clear] == [want[i].token for i in clear]
    order = np.argsort(-logits)
    p = softmax(logits / options.temperature)[order]
    p[options.top_k or WORDS :] = 0
    p[np.cumsum(p / p.sum()) - p / p.sum() >= options.top_p] = 0
    p[p < options.min_p * p[0]] = 0
    expected = np.zeros(WORDS)
    expected[order] = count * p / p.sum()
    assert abs(chi_square(np.bincount(tokens, minlength=WORDS), expected)) < 4


def test_logits_of_the_last_token_in_halves() -> None:
    proto = decoder("float16", rows=False)
    made = compiled(proto, length=1)
    seen, options = np.zeros(WORDS, np.uint8), Sampling(temperature=1.0, seed=9)
    got = made.run({"ids": np.array([[3]]), SEEN: seen, **options.inputs(0)})
    assert got[TOKEN].item() == sample(logits_of(proto, np.array([[3]]))[-1], seen, options, 0).token


@pytest.mark.parametrize("target", ["webgpu", "opencl"])
def test_options_of_halves(target: str) -> None:
    """Where large tensors are stored in float16, those by which a token is chosen are not."""
    need_driver(target, "shader-f16" if target == "webgpu" else "")
    proto = decoder(words=5003, factor=0.7)
    made, seen = compiled(proto, target, length=1, precision="f16"), np.zeros(5003, np.uint8)
    for position in range(8):
        options = Sampling(temperature=3.0, top_k=700, seed=position)
        want = sample(logits_of(proto, np.array([[position]]))[-1], seen, options, position)
        assert want.margin > 1e-4
        got = made.run({"ids": np.array([[position]]), SEEN: seen, **options.inputs(position)})
        assert got[TOKEN].tolist() == [want.token]
        np.testing.assert_allclose(got[LOGPROB], [want.logprob], rtol=1e-4)


def test_ids_of_int32() -> None:
    proto = decoder()
    proto.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT32
    got = compiled(proto, length=2).run(
        {"ids": np.array([[3, 9]], np.int32), SEEN: np.zeros(WORDS, np.uint8), **Sampling().inputs(0)}
    )
    assert np.flatnonzero(got[SEEN_NEXT]).tolist() == [3, 9]


@pytest.mark.parametrize(
    ("logits", "ids", "top", "names", "message"),
    [
        ("scores", "ids", 0, {}, r"logits 'scores': name an output of float32 .* the model has logits of float32\["),
        ("logits", "tokens", 0, {}, r"ids 'tokens': name an input of int64 .* the model has ids of int64\[1, length\]"),
        ("logits", "ids", 46, {}, r"the 46 best of \[1, length, 45\] are no fixed number of its tokens"),
        ("logits", "ids", 0, {"all": "token"}, "a value 'token', the name of an output to add: rename it"),
        ("logits", "ids", 0, {"all": SEEN}, "a value 'sampling.seen', the name of an input to add: rename it"),
    ],
)
def test_mistakes(logits: str, ids: str, top: int, names: dict[str, str], message: str) -> None:
    proto = decoder()
    for one in proto.graph.node:
        one.input[:] = [names.get(n, n) for n in one.input]
        one.output[:] = [names.get(n, n) for n in one.output]
    work = Work("m", Options(model_inputs(None, {"length": (1, 9)})), open_cache(enabled=False), lambda _: None)
    with pytest.raises(InputError, match=message):
        add_sampling(import_graph(proto, work), logits, ids, top)
