"""Decoders as exporters write them: the tokens that onnxruntime finds, from one run to the next."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnxruntime as ort
import pytest
import webnn_compile
from decoder_models import CAUSAL_DECODERS, FIRST, FOLDER, FRAMES, MERGED_DECODERS, STEPS, Decoder, load
from decoder_reference import Array, Decoded, empty_cache, greedy, run_of, session
from drivers import need_driver
from effort import effort_of, network_runs
from onnx_models import assert_close
from webnn_compile.frontends.onnx import import_model
from webnn_compile.generation.sample import Sampling, sample

COUNT = 200
PROMPT = (5, 7, 11, 13)
MARGIN = 1e-3
"""By which a token is better than the next best at least, in deviations of its logits: float32 decides none."""

DECODERS = (*CAUSAL_DECODERS, *MERGED_DECODERS, *STEPS, *FIRST)
OTHERS = ("wasm", "webgl", "webgpu")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.function is test_the_first_tokens_on_other_targets:
        effort = effort_of(metafunc.config)
        runs = [(d, t) for d in (*CAUSAL_DECODERS, *STEPS) for t in OTHERS if network_runs(d.file, t, effort)]
        metafunc.parametrize(("decoder", "target"), runs, ids=[f"{d.file}-{t}" for d, t in runs])


@pytest.mark.parametrize("decoder", CAUSAL_DECODERS, ids=lambda d: d.file)
def test_tokens_with_the_cache_handed_on(decoder: Decoder) -> None:
    reference, before = started(decoder)
    compiled = webnn_compile.compile(decoder.model, dims=decoder.dims, states=())
    assert greedy(reference, PROMPT, COUNT, compiled.run, before=before).tokens == wanted(reference, PROMPT, before)


@pytest.mark.parametrize("decoder", CAUSAL_DECODERS, ids=lambda d: d.file)
def test_tokens_with_the_cache_as_a_state(decoder: Decoder) -> None:
    reference, before = started(decoder)
    compiled = webnn_compile.compile(decoder.model, dims=decoder.dims)
    tokens, new = list[int](), [*PROMPT]
    for _ in range(COUNT):
        made = compiled.run({"input_ids": np.array([new])})
        new = [int(np.asarray(made["logits"])[0, -1].argmax())]
        tokens += new
    assert tokens == wanted(reference, PROMPT, before)


@pytest.mark.parametrize("decoder", STEPS, ids=lambda d: d.file)
def test_tokens_with_the_cache_of_an_encoder(decoder: Decoder) -> None:
    """Keys and values of an encoder's result are inputs that stay."""
    reference, before = started(decoder)
    given = of_encoder(reference)
    compiled = webnn_compile.compile(decoder.model, dims=decoder.dims, states=())
    found = greedy(reference, PROMPT[:1], COUNT, compiled.run, given, before)
    assert found.tokens == wanted(reference, PROMPT[:1], before, given)


@pytest.mark.parametrize("decoder", MERGED_DECODERS, ids=lambda d: d.file)
def test_tokens_of_both_branches(decoder: Decoder) -> None:
    """The first run takes the branch without a cache, all others the one with it."""
    reference, before = started(decoder)
    given = of_encoder(reference)
    compiled = webnn_compile.compile(decoder.model, dims=decoder.dims, states=())
    found = greedy(reference, PROMPT, COUNT, compiled.run, given, before)
    assert found.tokens == wanted(reference, PROMPT, before, given)


@pytest.mark.parametrize("decoder", MERGED_DECODERS, ids=lambda d: d.file)
def test_tokens_of_both_branches_with_the_cache_as_a_state(decoder: Decoder) -> None:
    """Keys and values of an encoder's result are a state, too, which the first run computes."""
    reference, before = started(decoder)
    given = {name: a for name, a in of_encoder(reference).items() if name in {i.name for i in reference.get_inputs()}}
    compiled = webnn_compile.compile(decoder.model, dims=decoder.dims)
    tokens, new = list[int](), [*PROMPT]
    for _ in range(COUNT):
        made = compiled.run({"input_ids": np.array([new]), **given})
        new = [int(np.asarray(made["logits"])[0, -1].argmax())]
        tokens += new
    assert tokens == wanted(reference, PROMPT, before, given)


def test_tokens_of_one_branch_each() -> None:
    decoder = MERGED_DECODERS[0]
    reference, before = started(decoder)
    given = of_encoder(reference)
    branches = [
        webnn_compile.compile(decoder.model, dims=decoder.dims, constants={"use_cache_branch": truth}, states=())
        for truth in (False, True)
    ]

    def run(feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        branch = branches[int(feeds["use_cache_branch"][0])]
        return branch.run({n: a for n, a in feeds.items() if n != "use_cache_branch"})

    assert greedy(reference, PROMPT, COUNT, run, given, before).tokens == wanted(reference, PROMPT, before, given)


@pytest.mark.parametrize("decoder", FIRST, ids=lambda d: d.file)
def test_the_run_that_fills_the_cache(decoder: Decoder) -> None:
    reference = session(decoder.model.SerializeToString())
    feeds = {"input_ids": np.array([PROMPT]), **of_encoder(reference)}
    feeds = {i.name: feeds[i.name] for i in reference.get_inputs()}
    compiled = webnn_compile.compile(decoder.model, dims=decoder.dims)
    assert_close(compiled.run(feeds), run_of(reference)(feeds), 1e-4)


def test_the_first_tokens_on_other_targets(decoder: Decoder, target: str) -> None:
    need_driver(target)
    reference, before = started(decoder)
    given, prompt = of_encoder(reference), PROMPT[: 1 if decoder in STEPS else None]
    compiled = webnn_compile.compile(decoder.model, target, dims=decoder.dims, states=())
    found = greedy(reference, prompt, 10, compiled.run, given, before)
    assert found.tokens == wanted(reference, prompt, before, given)[:10]


@pytest.mark.parametrize(
    ("file", "cached"), [("llama-dynamo", 1023), ("llama-genai-int4", 1023), ("gpt2-optimum-2024", 256 - 64)]
)
def test_no_size_needs_to_be_given(file: str, cached: int) -> None:
    """The last one slices a mask of 256 rows, by what is cached and up to 64 tokens."""
    dimensions = {d.name: d.span for d in import_model(load(file)).dimensions}
    assert dimensions == {"sequence_length": "1..64", "past_sequence_length": f"0..{cached}"}


KINDS = (
    *(d for d in CAUSAL_DECODERS if d.file in ("gpt2-optimum", "llama-optimum", "llama-genai-int4")),
    MERGED_DECODERS[0],
)
"""Learned positions, rotated ones, operators of com.microsoft with weights of four bits, and an encoder's decoder."""

SAMPLED = {"temperature": 0.8, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.1, "seed": 1}


@pytest.mark.parametrize("target", ["native", *OTHERS])
@pytest.mark.parametrize("decoder", KINDS, ids=lambda d: d.file)
def test_generated_tokens(decoder: Decoder, target: str) -> None:
    """The likeliest ones, and drawn ones, which are functions of the seed."""
    need_driver(target)
    reference, before = started(decoder)
    given = {name: a for name, a in of_encoder(reference).items() if name in {i.name for i in reference.get_inputs()}}
    compiled = webnn_compile.compile(decoder.model, target, dims=decoder.dims, generate=True)
    found = list(compiled.generate(PROMPT, max_tokens=COUNT, inputs=given))
    assert found == wanted(reference, PROMPT, before, given)
    drawn = list(compiled.generate(PROMPT, max_tokens=40, inputs=given, **SAMPLED))
    assert drawn == drawn_by(reference, before, given, 40)


def drawn_by(
    model: ort.InferenceSession, before: Mapping[str, Array], given: Mapping[str, Array], count: int
) -> list[int]:
    """Tokens by the reference of sampling, of onnxruntime's logits."""
    seen: list[int] = []
    drawn: list[int] = []
    run, sampling = run_of(model), Sampling(**SAMPLED)

    def sampled(feeds: Mapping[str, Array]) -> Mapping[str, Array]:
        """The model's results, in which the token that is drawn is the likeliest."""
        made = dict(run(feeds))
        seen.extend(feeds["input_ids"][0].tolist())
        logits = made["logits"][0, -1]
        occurred = np.isin(np.arange(len(logits)), seen).astype(np.uint8)
        choice = sample(logits, occurred, sampling, len(seen))
        assert choice.margin > 1e-4
        drawn.append(choice.token)
        made["logits"] = made["logits"].copy()
        made["logits"][0, -1, choice.token] = logits.max() + 1
        return made

    assert greedy(model, PROMPT, count, sampled, given, before).tokens == drawn
    return drawn


def test_files_are_small() -> None:
    files = list(FOLDER.glob("*.gz"))
    assert {f.name.removesuffix(".onnx.gz") for f in files} == {d.file for d in DECODERS}
    assert all(f.stat().st_size < 50_000 for f in files)


def started(decoder: Decoder) -> tuple[ort.InferenceSession, dict[str, Array]]:
    """A session, and the cache before the first run: of an encoder's results it is there by then."""
    reference = session(decoder.model.SerializeToString())
    generator = np.random.default_rng(0)
    cache = {
        name: random_like(generator, (*a.shape[:2], FRAMES, a.shape[3])) if ".encoder." in name else a
        for name, a in empty_cache(reference, decoder.head).items()
    }
    return reference, cache


def of_encoder(model: ort.InferenceSession) -> dict[str, Array]:
    """Results of an encoder, for a model that takes them."""
    width = next((i.shape[2] for i in model.get_inputs() if i.name == "encoder_hidden_states"), 1)
    return {
        "encoder_hidden_states": random_like(np.random.default_rng(1), (1, FRAMES, width)),
        "encoder_attention_mask": np.ones((1, FRAMES), np.int64),
    }


def random_like(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return generator.standard_normal(shape).astype(np.float32)


def wanted(
    model: ort.InferenceSession,
    prompt: tuple[int, ...],
    before: Mapping[str, Array],
    given: Mapping[str, Array] | None = None,
) -> list[int]:
    decoded: Decoded = greedy(model, prompt, COUNT, None, given, before)
    assert decoded.margin >= MARGIN
    assert len(set(decoded.tokens)) > 5
    return decoded.tokens
