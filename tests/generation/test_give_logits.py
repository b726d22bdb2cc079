"""Logits of a decoder that gives tokens: an output of WebAssembly alone, by which a page compares runs on a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from decoders.tiny import Passed
from generation.test_generate import PROMPT
from small_decoder import WORDS, small_decoder
from webnn_compile.driver.build import build_files
from webnn_compile.driver.bundle_generation import compared_by_logits, of_devices
from webnn_compile.driver.optimise_model import import_graph, optimise_model
from webnn_compile.driver.options import Options
from webnn_compile.driver.targets import TARGETS
from webnn_compile.driver.work import Work
from webnn_compile.frontends.model_inputs import model_inputs
from webnn_compile.generation.decoder import GenerateOptions
from webnn_compile.generation.ports import LOGPROB, TOKEN
from webnn_compile.generation.sample import Sampling
from webnn_compile.system.cache import open_cache


def options(*targets: str) -> Options:
    inputs = model_inputs(dims={"sequence_length": (1, 4)})
    return Options(inputs, targets=targets, generate=GenerateOptions(), canaries=False, golden=False)


@pytest.mark.parametrize("targets", ["wasm", "webgl,webgpu", "wasm,webgl"])
def test_bundles_with_something_to_compare_have_them(tmp_path: Path, targets: str) -> None:
    onnx.save(small_decoder(), tmp_path / "decoder.onnx")
    built = build_files(tmp_path / "decoder.onnx", options(*targets.split(",")), lambda _: None)
    fields = built.manifest.fields
    assert [one["name"] for one in fields["outputs"]] == [TOKEN, LOGPROB]
    programs = [json.loads(file.data) for file in built.files if file.name.startswith(("webgpu-", "webgl-"))]
    assert {len(one["outputs"]) for one in programs if "outputs" in one} <= {2}
    logits = fields["generate"].get("logits")
    if "wasm," not in targets:
        assert logits is None
    else:
        assert (logits["dtype"], logits["shape"]) == ("float32", [WORDS])
        assert fields["tolerance"] == 1e-4


def test_they_are_those_of_the_model() -> None:
    """In runs of one token, which have steps of their own, and of several."""
    work = Work("m", options("wasm", "webgpu"), open_cache(enabled=True), lambda _: None)
    optimised = optimise_model(compared_by_logits(import_graph(small_decoder(), work), work), work)
    (name,) = [one.logits for one in work.generation]
    row = TARGETS["native"]
    model = row.compile(row.lower(optimised, work), work)
    reference, position = Passed.of(small_decoder()), 0
    for ids in (PROMPT[:4], [7], PROMPT[4:7], [30]):
        position += len(ids)
        got = model.run({"input_ids": np.array([ids], np.int64), **Sampling().inputs(position)})
        want = reference.run(ids)[-1]
        np.testing.assert_allclose(got[name], want, rtol=1e-4, atol=1e-4)
        assert got[TOKEN].tolist() == [int(want.argmax())]
    given, plain = optimised.tensors, of_devices(optimised, work).tensors
    outputs = [own for own, _ in plain.outputs]
    assert [own for own, _ in given.outputs] == [*outputs, name]
    counts = [len(own.program.outputs) - len(own.reported) for own in plain.special]
    assert counts == [len(outputs)]
