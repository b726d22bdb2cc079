"""`generate` of bundles in Node.js: what does not depend on a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import onnx
import pytest
import webnn_compile
from cli.command import run
from counting_model import COUNTING, counting_model
from generation.test_generate import PROMPT, expected
from made_tokenizers import need_package, write_talker
from made_tokenizers import written as tokenizer
from played_generation import (
    CHATTING,
    END,
    KEPT,
    OPEN,
    SIZES,
    STOP,
    TALK,
    TOKENS,
    WRITING,
    argument,
    check_chatting,
    check_kept,
    check_tokens,
    check_writing,
)
from runtime.test_sessions import play, written
from small_decoder import WORDS, small_decoder
from test_render_types import TSC, check
from tokenizers import Tokenizer
from webnn_compile.errors import InputError
from webnn_compile.generation.sample import Sampling


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(small_decoder(), tmp_path_factory.mktemp("decoder"), *SIZES, "--generate", "")


def test_tokens_are_those_of_the_reference(decoder: Path) -> None:
    check_tokens(play(decoder, TOKENS, argument()))


def test_it_goes_on_stops_and_says_why_it_does_not_go_on(decoder: Path) -> None:
    check_kept(play(decoder, KEPT, argument()))


def test_logits_that_are_not_finite_are_told(tmp_path: Path) -> None:
    """Once for each session; the tokens come."""
    bundle = written(counting_model(1e35), tmp_path, *COUNTING, "--targets", "wasm", "--generate", "")
    script = """
      const model = await bundle.load();
      const warnings = [];
      console.warn = (message) => warnings.push(message);
      const found = [];
      for (const session of [model, await model.session()])
        for await (const { token, logprob } of session.generate({ ids: [1], maxTokens: 5, logprobs: true }))
          found.push([token, String(logprob)]);
      await model.dispose();
      return { found, warnings };
    """
    got = play(bundle, script, {})
    assert [logprob == "NaN" for _, logprob in got["found"]] == 2 * [False, False, False, True, True]
    assert [token for token, _ in got["found"][:3]] == [39, 39, 39]
    warning = "generate: logits are NaN or infinity at position 4: tokens from here on say little"
    assert got["warnings"] == [warning, warning]


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


@pytest.fixture(scope="module")
def talker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with a chat template beside its tokenizer, and its bundle."""
    folder = tmp_path_factory.mktemp("talker")
    write_talker(folder)
    package = ("--tokenizers", str(need_package()))
    options = (*SIZES, "--generate", "", "--text", str(folder / "tokenizer.json"), *package)
    need_package("jinja")
    written(small_decoder(words=420), folder, *options)
    return folder


def test_answers_to_messages_are_those_of_python(talker: Path) -> None:
    """The special tokens that the template names are in its text, and none are added."""
    made = webnn_compile.compile(
        talker / "model.onnx", generate=True, dims={"sequence_length": (1, 4)}, text=talker / "tokenizer.json"
    )
    check_chatting(play(talker / "bundle", CHATTING, argument() | {"talk": TALK}), made)
    encoding = Tokenizer.from_file(str(talker / "tokenizer.json"))
    text = "<s>[INST] hello don't [/INST]fox</s>[INST]  3.14  [/INST]"
    ids = encoding.encode(text, add_special_tokens=False).ids
    assert (ids[0], ids.count(1), ids.count(2)) == (1, 1, 1)
    tokens = list(made.generate(ids, max_tokens=6))
    assert (
        "".join(made.generate(messages=TALK, max_tokens=6))
        == encoding.decode([*ids, *tokens])[len(encoding.decode(ids)) :]
    )
    for more in ({"text": "x"}, {"ids": [1]}, {"resume": True}):
        with pytest.raises(InputError, match=r"^messages: leave text, ids and resume out"):
            made.generate(messages=TALK, **more)
    with pytest.raises(InputError, match="refuses them: Conversation roles must alternate"):
        made.generate(messages=TALK[1:])


TYPES = """
import { load, type Message } from './bundle/model.js';

const model = await load();
const messages: Message[] = [{ role: 'user', content: 'hello' }];
for await (const piece of model.generate({ messages })) messages.push({ role: 'assistant', content: piece });
for await (const piece of model.generate({ text: 'hello', stop: ['.'] })) piece.split(' ');
for await (const token of model.generate({ ids: [1], stop: [2] })) console.log(token + 1);
for await (const { logprob } of model.generate({ ids: [1], logprobs: true })) console.log(logprob + 1);
"""


def test_types_of_what_comes(talker: Path) -> None:
    if not TSC.exists():
        pytest.skip("no TypeScript: run `npm install` in the repository")
    assert check(TSC, talker, TYPES) == ""
    assert "'number'" in check(TSC, talker, TYPES + "await model.generate({ messages: [{ role: 'x', content: 1 }] });")


def test_messages_without_a_template(writer: Path) -> None:
    made = webnn_compile.compile(
        writer / "model.onnx", generate=True, dims={"sequence_length": (1, 4)}, text=writer / "tokenizer.json"
    )
    with pytest.raises(InputError, match=r"^messages: the model was compiled without a chat template: give text= with"):
        made.generate(messages=TALK)
    script = OPEN + "return [await failure(() => model.generate({ messages: argument.talk })), model.info().messages];"
    refusal, takes = play(writer / "bundle", script, argument() | {"talk": TALK})
    assert (refusal["name"], takes) == ("TypeError", None)
    assert "messages" in refusal["message"]
    names = [path.name for path in (writer / "bundle").iterdir()]
    assert not any(name.startswith("jinja") for name in names)
    for file in (writer / "bundle").glob("*.js"):
        assert "chat template" not in file.read_text()
    assert "messages?" not in (writer / "bundle" / "model.d.ts").read_text()


def test_a_template_that_the_command_line_names(talker: Path, tmp_path: Path) -> None:
    (tmp_path / "own.jinja").write_text("{{ bos_token }}{{ messages[-1]['content'] }}")
    (tmp_path / "tokenizer.json").write_text(tokenizer("llama2"))
    options = ["--generate", "", "--text", tmp_path / "tokenizer.json", "--tokenizers", need_package(), *SIZES]
    given = (talker / "model.onnx", "--out", tmp_path / "out", "--targets", "wasm")
    done = run(*given, *options, "--chat-template", tmp_path / "own.jinja")
    assert done.exit_code == 0, done.output
    assert "{{ bos_token }}{{ messages[-1]['content'] }}" in (tmp_path / "out" / "model.js").read_text()
    assert "messages?: readonly Message[]" in (tmp_path / "out" / "model.d.ts").read_text()
    for lacking in ([*options, "--chat-template", tmp_path / "no.jinja"], ["--chat-template", "x.jinja", *SIZES]):
        failed = run(*given, *lacking)
        assert failed.exit_code == 2
        assert re.search("it cannot be read|is for messages: give --generate and --text, too", failed.output)


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
