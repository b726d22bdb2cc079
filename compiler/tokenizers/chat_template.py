"""Chat templates: the text that a model was trained to find for messages, in Jinja, beside a tokenizer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from jinja2 import Environment

FILE = "chat_template.jinja"
CONFIG = "tokenizer_config.json"
TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
"""Special tokens that a template may name, as fields of CONFIG."""

Message = Mapping[str, Any]
"""Who says it (`role`), and what (`content`), both text; other fields are for templates that read them."""


@dataclass(frozen=True, eq=False, slots=True)
class ChatTemplate:
    """`text` is a template of Jinja, from the file `source`; `tokens` are the special tokens that it names."""

    source: str
    text: str
    tokens: Mapping[str, str]


def find_template(folder: Path, chosen: Path | None = None) -> ChatTemplate | None:
    """The template of a tokenizer's folder: the file `chosen`, or FILE, or `chat_template` of CONFIG, of which the one
    named "default" counts where there are several; None where there is none. A `chosen` file may be JSON like CONFIG,
    too. Raises InputError for a file that cannot be read, and a `chosen` one without a template."""
    config = _fields(folder / CONFIG)
    if chosen is not None:
        source = f"--chat-template {chosen}"
        own = _fields(chosen) if chosen.suffix == ".json" else None
        text = _read(chosen, source) if own is None else _default(own.get("chat_template"))
        if text is None:
            raise InputError(f"{source}: it has no chat_template that is a text, or named default; give a .jinja file")
        return _template(source, text, {**config, **(own or {})})
    if (folder / FILE).is_file():
        return _template(str(folder / FILE), _read(folder / FILE, str(folder / FILE)), config)
    text = _default(config.get("chat_template"))
    return None if text is None else _template(str(folder / CONFIG), text, config)


def _template(source: str, text: str, config: Mapping[str, Any]) -> ChatTemplate:
    given = {name: config.get(name) for name in TOKENS if name in text}
    tokens = {name: t.get("content") if isinstance(t, Mapping) else t for name, t in given.items()}
    return ChatTemplate(source, text, {name: token for name, token in tokens.items() if isinstance(token, str)})


def _default(given: object) -> str | None:
    for one in given if isinstance(given, list) else ():
        if isinstance(one, Mapping) and one.get("name") == "default":
            given = one.get("template")
    return given if isinstance(given, str) else None


def _read(path: Path, source: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"{source}: it cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _fields(path: Path) -> Mapping[str, Any]:
    """The object of a file of JSON; a file that is no such has no fields."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, Mapping) else {}


def render_messages(template: ChatTemplate, messages: Sequence[Message]) -> str:
    """The prompt of these messages, up to where the answer begins. Raises InputError for messages of another form, or
    that the template refuses, and where the package jinja2 is missing or does not read the template."""
    wrong = "give a list of one message at least, each a mapping with role and content, both text"
    if not isinstance(messages, list | tuple) or not messages:
        raise InputError(f"messages: {wrong}")
    for i, one in enumerate(messages):
        if not isinstance(one, Mapping) or not all(isinstance(one.get(field), str) for field in ("role", "content")):
            raise InputError(f"messages: {wrong}, not {one!r} (message {i})")
    try:
        from jinja2 import TemplateSyntaxError
    except ImportError:
        raise InputError("messages in Python need the package jinja2: pip install 'webnn-compile[text]'") from None
    try:
        made = _environment().from_string(template.text)
    except TemplateSyntaxError as error:
        raise InputError(f"{template.source}: line {error.lineno}: {error.message}") from None
    given = [dict(one) for one in messages]
    try:
        return made.render(messages=given, add_generation_prompt=True, **template.tokens)
    except Exception as error:  # an expression of the template may raise any
        raise InputError(f"messages: the model's chat template refuses them: {error}") from None


def _environment() -> Environment:
    """Jinja as transformers sets it up for chat templates."""
    from jinja2.exceptions import TemplateError
    from jinja2.ext import Extension, LoopControlExtension
    from jinja2.nodes import Node
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """{% generation %} marks answers for training."""

        tags = {"generation"}  # noqa: RUF012 as the base class has it

        def parse(self, parser: Parser) -> list[Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    def to_json(
        value: object,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    extensions = [Generation, LoopControlExtension]
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    made.filters["tojson"] = to_json
    made.globals |= {"raise_exception": raise_exception, "strftime_now": datetime.now().strftime}
    return made
