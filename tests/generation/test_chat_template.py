"""Text of messages: where templates are found, and that Python and JavaScript make the same of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from chat_templates import CONVERSATIONS, TEMPLATES, TOKENS, messages_of
from made_tokenizers import need_package
from node_programs import need
from webnn_compile.errors import InputError
from webnn_compile.tokenizers.chat_template import ChatTemplate, find_template, render_messages

SCRIPT = Path(__file__).parent / "chat.mjs"


def template_of(text: str, tokens: dict[str, str] | None = None) -> ChatTemplate:
    return ChatTemplate("a.jinja", text, TOKENS if tokens is None else tokens)


def in_python(template: ChatTemplate, messages: Any) -> dict[str, str]:
    try:
        return {"text": render_messages(template, messages)}
    except InputError as error:
        return {"error": f"RangeError: {error}"}


def in_javascript(template: ChatTemplate, conversations: list[Any], folder: Path) -> list[dict[str, str]]:
    package = need_package("jinja") / "dist" / "index.js"
    request = {"template": template.text, "tokens": dict(template.tokens), "package": str(package)}
    (folder / "request.json").write_text(json.dumps({**request, "conversations": conversations}))
    done = subprocess.run([need("node"), SCRIPT, folder / "request.json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", TEMPLATES)
def test_both_make_the_same_text(kind: str, tmp_path: Path) -> None:
    template = template_of(TEMPLATES[kind])
    conversations = [messages_of(c) for c in CONVERSATIONS]
    expected = [in_python(template, c) for c in conversations]
    assert "text" in expected[0]
    assert in_javascript(template, conversations, tmp_path) == expected


@pytest.mark.parametrize(
    ("kind", "conversation", "text"),
    [
        (
            "llama3",
            1,
            "<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start_header_id|>user"
            '<|end_header_id|>\n\nhello <world> & "you"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
        ),
        (
            "qwen2.5",
            0,
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nThe quick brown fox"
            "<|im_end|>\n<|im_start|>assistant\n",
        ),
        ("gemma", 0, "<s><start_of_turn>user\nThe quick brown fox<end_of_turn>\n<start_of_turn>model\n"),
        ("mistral", 0, "<s>[INST] The quick brown fox [/INST]"),
        ("phi3", 0, "<|user|>\nThe quick brown fox<|end|>\n<|assistant|>\n"),
        ("zephyr", 0, "<|user|>\nThe quick brown fox</s>\n<|assistant|>\n"),
    ],
)
def test_texts(kind: str, conversation: int, text: str) -> None:
    assert render_messages(template_of(TEMPLATES[kind]), messages_of(CONVERSATIONS[conversation])) == text


def test_messages_that_the_template_refuses() -> None:
    template = template_of(TEMPLATES["gemma"])
    message = "messages: the model's chat template refuses them: System role not supported"
    assert in_python(template, messages_of(CONVERSATIONS[1])) == {"error": f"RangeError: {message}"}


@pytest.mark.parametrize(
    "text", ["{% for m in messages %}", "{{ messages[0].content | nothing }}", "{{ messages.nothing() }}"]
)
def test_templates_that_are_none_are_errors(text: str, tmp_path: Path) -> None:
    conversation = messages_of(CONVERSATIONS[0])
    with pytest.raises(InputError, match=r"^(a\.jinja: line 1: |messages: the model's chat template refuses them: )"):
        render_messages(template_of(text), conversation)
    (found,) = in_javascript(template_of(text), [conversation], tmp_path)
    assert found["error"].startswith(("UnsupportedError: ", "RangeError: messages: the model's chat template refuses"))


@pytest.mark.parametrize("given", [[], "hello", None, [{"role": "user"}], [{"role": "user", "content": 1}], ["hello"]])
def test_what_is_no_list_of_messages(given: Any, tmp_path: Path) -> None:
    template = template_of(TEMPLATES["phi3"])
    with pytest.raises(InputError, match=r"^messages: give a list of one message at least, each a"):
        render_messages(template, given)
    (found,) = in_javascript(template, [given], tmp_path)
    assert found["error"].startswith("TypeError: messages: expected an array of one message at least")


def test_where_templates_are_found(tmp_path: Path) -> None:
    assert find_template(tmp_path) is None
    config = tmp_path / "tokenizer_config.json"
    config.write_text("no JSON")
    assert find_template(tmp_path) is None
    tokens = {"bos_token": {"content": "<s>"}, "eos_token": "</s>", "pad_token": None}
    several = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "{{ bos_token }}x"}]
    for given, text in (("{{ eos_token }}{{ bos_token }}", None), (several, "{{ bos_token }}x")):
        config.write_text(json.dumps({"chat_template": given, **tokens}))
        found = find_template(tmp_path)
        assert found is not None
        assert found.text == (text or given)
        assert found.source == str(config)
    assert found.tokens == {"bos_token": "<s>"}
    config.write_text(json.dumps({"chat_template": several[:1], **tokens}))
    assert find_template(tmp_path) is None
    (tmp_path / "chat_template.jinja").write_text("{{ eos_token }}")
    beside = find_template(tmp_path)
    assert beside is not None
    assert (beside.text, beside.tokens) == ("{{ eos_token }}", {"eos_token": "</s>"})


def test_a_template_that_is_chosen(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("beside")
    own = tmp_path / "own.jinja"
    own.write_text("{{ bos_token }}")
    (tmp_path / "own.json").write_text(json.dumps({"chat_template": "{{ bos_token }}!", "bos_token": "<a>"}))
    (tmp_path / "none.json").write_text("{}")
    for path, expected in (
        (own, ("{{ bos_token }}", {})),
        (own.with_suffix(".json"), ("{{ bos_token }}!", {"bos_token": "<a>"})),
    ):
        found = find_template(tmp_path, path)
        assert found is not None
        assert (found.text, found.tokens) == expected
    with pytest.raises(InputError, match=r"^--chat-template .*none\.json: it has no chat_template"):
        find_template(tmp_path, tmp_path / "none.json")
    with pytest.raises(InputError, match=r"^--chat-template .*no\.jinja: it cannot be read: No such file"):
        find_template(tmp_path, tmp_path / "no.jinja")
