"""`generate` of bundles in Node.js: what does not depend on a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx
import pytest
import webnn_compile
from cli.command import run
from generation.test_generate import PROMPT, expected
from made_tokenizers import need_package
from made_tokenizers import written as tokenizer
from played_generation import (
    END,
    KEPT,
    OPEN,
    SIZES,
    STOP,
    TOKENS,
    WRITING,
    argument,
    check_kept,
    check_tokens,
    check_writing,
)
from runtime.test_sessions import play, written
from small_decoder import WORDS, small_decoder
from webnn_compile.generation.sample import Sampling


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(small_decoder(), tmp_path_factory.mktemp("decoder"), *SIZES, "--generate", "")


def test_tokens_are_those_of_the_reference(decoder: Path) -> None:
    check_tokens(play(decoder, TOKENS, argument()))


def test_it_goes_on_stops_and_says_why_it_does_not_go_on(decoder: Path) -> None:
    check_kept(play(decoder, KEPT, argument()))


def test_the_likeliest_tokens_come_with_their_probabilities(tmp_path: Path) -> None:
    bundle = written(small_decoder(), tmp_path, *SIZES, "--generate", "ids=input_ids,logits=logits,top=5")
    found = play(bundle, KEPT, argument())
    assert [len(token["top"]) for token in found["logprobs"]] == [5] * 4
    check_kept(found)


def test_thousands_of_tokens_leave_the_heap_as_it_was(decoder: Path) -> None:
    script = (
        OPEN
        + """
      const heap = () => (globalThis.gc(), process.memoryUsage().heapUsed);
      const steps = async (count) => {
        for (let i = 0; i < count; i += 80) for await (const _ of model.generate({ ids: [1], maxTokens: 80 }));
        return heap();
      };
      await steps(2400);
      return [await steps(80), await steps(12000)];
    """
    )
    before, after = play(decoder, script, argument())
    assert after - before < 400_000  # 33 bytes a token: what is garbage at the time differs by some


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with a tokenizer, and its bundle."""
    folder = tmp_path_factory.mktemp("writer")
    (folder / "tokenizer.json").write_text(tokenizer("gpt2"))
    package = ("--tokenizers", str(need_package()))
    options = (*SIZES, "--generate", "", "--text", str(folder / "tokenizer.json"), *package)
    written(small_decoder(words=420), folder, *options)
    return folder


def test_text_is_that_of_python(writer: Path) -> None:
    made = webnn_compile.compile(
        writer / "model.onnx", generate=True, dims={"sequence_length": (1, 4)}, text=writer / "tokenizer.json"
    )
    found = play(writer / "bundle", WRITING, argument() | {"stop": STOP, "end": END})
    check_writing(found, made, STOP, END)


def test_tokens_that_end_a_text_are_in_files_beside_the_model(tmp_path: Path) -> None:
    end = expected(8, Sampling())[-1]
    (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": [end, WORDS]}))
    bundle = written(small_decoder(), tmp_path, *SIZES, "--generate", "")
    script = (
        OPEN
        + """
      const some = { ids: prompt, maxTokens: 20 };
      return [await all(model.generate(some)), await all(model.generate({ ...some, end: [] }))];
    """
    )
    before, whole = play(bundle, script, argument())
    made = webnn_compile.compile(tmp_path / "model.onnx", generate=True, dims={"sequence_length": (1, 4)})
    assert before == whole[: whole.index(end)] == list(made.generate(PROMPT, max_tokens=20))
    assert whole == list(made.generate(PROMPT, max_tokens=20, end=[]))


def test_the_table_and_the_types_say_so(tmp_path: Path) -> None:
    onnx.save(small_decoder(), tmp_path / "model.onnx")
    done = run(
        tmp_path / "model.onnx", "--out", tmp_path / "bundle", "--targets", "wasm", *SIZES, "--generate", "top=2"
    )
    assert re.search(r"generates +tokens of 37 by input_ids, at most 4 in a run, with the 2 likeliest", done.stdout)
    assert "sampling." not in done.stdout.partition("states")[0]
    types = (tmp_path / "bundle" / "model.d.ts").read_text()
    assert "generate(options: GenerateOptions)" in types
    assert "text?: string" not in types
    assert "sampling.options" not in types
    page = (tmp_path / "bundle" / "index.html").read_text()
    assert "for await (const token of model.generate({ ids: [1, 2, 3], maxTokens: 50 }))" in page
    assert "Gives tokens" in page


def test_bundles_without_it_have_nothing_of_it(tmp_path: Path) -> None:
    bundle = written(small_decoder(), tmp_path, *SIZES)
    for file in bundle.iterdir():
        if file.suffix in (".js", ".ts", ".html"):
            text = file.read_text()
            assert "repetitionPenalty" not in text
            assert "generate(" not in text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("ids=y", "generate: ids='y' is none of input_ids of int64"),
        ("beams=2", "generate 'beams=2': give ids=INPUT, logits=OUTPUT and top=NUMBER"),
    ],
)
def test_options_of_the_command_line_that_are_none(value: str, message: str, tmp_path: Path) -> None:
    onnx.save(small_decoder(), tmp_path / "model.onnx")
    done = run(tmp_path / "model.onnx", "--out", tmp_path / "bundle", "--targets", "wasm", "--generate", value)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_other_inputs_are_those_of_each_run(tmp_path: Path) -> None:
    model = small_decoder()
    (head,) = (n for n in model.graph.node if "logits" in n.output)
    head.output[0] = "raw"
    model.graph.node.append(onnx.helper.make_node("Add", ["raw", "bias"], ["logits"]))
    model.graph.input.append(onnx.helper.make_tensor_value_info("bias", onnx.TensorProto.FLOAT, [WORDS]))
    bundle = written(model, tmp_path, *SIZES, "--generate", "")
    script = (
        OPEN
        + """
      const bias = new Float32Array(argument.words);
      bias[5] = 1e6;
      return all(model.generate({ ids: prompt, maxTokens: 4, inputs: { bias } }));
    """
    )
    assert play(bundle, script, argument() | {"words": WORDS}) == [5] * 4
