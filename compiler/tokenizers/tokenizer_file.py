"""A tokenizer as its file describes it: tokenizer.json, or the vocab.json of a model of speech."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import InputError

PARTS = ("normalizer", "pre_tokenizer", "decoder")
"""Parts of a tokenizer.json that are, or consist of, components with a type."""

PADDING = ("[PAD]", "<pad>", "<|padding|>", "[pad]", "<PAD>")
"""Tokens that fill up where the file has no settings of padding."""

STRATEGIES = ("LongestFirst", "OnlyFirst", "OnlySecond")

Template = tuple[tuple[str | int, int], ...]
"""The tokens of an input and their types: an id, or "A" or "B" for those of the first text or the second."""

_ALONE: Template = (("A", 0),)
_PAIR: Template = (("A", 0), ("B", 1))


@dataclass(frozen=True, slots=True)
class Truncation:
    """At most so many tokens, with those of the template; `left`: the first ones are cut off. `strategy`, of
    STRATEGIES, says of which text of a pair."""

    most: int | None = None
    left: bool = False
    strategy: str = STRATEGIES[0]


@dataclass(frozen=True, slots=True)
class Padding:
    """The token that fills an input up, and its type; `left`: before the text."""

    id: int = 0
    type: int = 0
    left: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class TokenizerFile:
    """`text` is JSON as Python's package `tokenizers` reads it, from `source`. `ids` are one more than the largest id.
    `spells`: its decoder reads the classes of a connectionist temporal classification (CTC), repeats and blanks among
    them. `folder` is where the file is."""

    source: str
    text: str
    fields: Mapping[str, Any]
    ids: int
    single: Template
    pair: Template
    truncation: Truncation
    padding: Padding
    spells: bool
    folder: Path | None = None

    @property
    def added(self) -> dict[str, int]:
        """The tokens that stand beside the vocabulary, special ones among them."""
        return {str(token["content"]): int(token["id"]) for token in self.fields["added_tokens"]}

    @property
    def components(self) -> Iterator[tuple[str, str]]:
        """Part and type of each component that text is split and put together by."""
        for part in PARTS:
            yield from ((part, kind) for kind in _types(self.fields.get(part)))

    @property
    def shipped(self) -> bytes:
        """The file for a page, without what the runtime does itself: templates, padding, truncation."""
        parts = {part: _in_page(self.fields.get(part)) for part in PARTS}
        kept = {"added_tokens": self.fields["added_tokens"], **parts, "post_processor": None}
        made = {"version": "1.0", **kept, "model": self.fields["model"]}
        return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode()


def read_tokenizer(path: str | Path, where: str = "--text") -> TokenizerFile:
    """Reads a tokenizer.json, or a vocab.json of letters. Raises InputError."""
    source = f"{where} {path}"
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        given = json.loads(text, parse_constant=_refuse_constant)
        text.encode()
    except OSError as error:
        raise InputError(f"{source}: it cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source}: it is no JSON ({error}); give a model's tokenizer.json") from None
    if isinstance(given, Mapping) and given and all(type(n) is int for n in given.values()):
        given = _of_letters(given, source)
        text = json.dumps(given)
    try:
        return replace(_described(given, text, source), folder=Path(path).parent)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, UnicodeEncodeError) as error:
        raise InputError(f"{source}: a part of it is missing or of another form ({error!r})") from None


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no number of JSON")


def _of_letters(vocabulary: Mapping[str, int], source: str) -> dict[str, Any]:
    """The tokenizer of a vocab.json, as models of the family wav2vec2 have it."""
    if "<pad>" not in vocabulary:
        raise InputError(f"{source}: of files with a vocabulary alone it takes those of CTC, which have '<pad>'")
    decoder = {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}
    model = {"type": "WordLevel", "vocab": dict(vocabulary), "unk_token": "<unk>"}
    parts = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor"))
    return {"version": "1.0", "added_tokens": [], **parts, "decoder": decoder, "model": model}


def _described(given: Any, text: str, source: str) -> TokenizerFile:
    model = given.get("model") if isinstance(given, Mapping) else None
    if not isinstance(model, Mapping) or not isinstance(model.get("vocab"), Mapping | Sequence) or not model["vocab"]:
        raise InputError(f"{source}: it describes no model with a vocabulary; give a model's tokenizer.json")
    fields = {**given, "added_tokens": given.get("added_tokens") or []}
    vocabulary = model["vocab"]
    known = (
        {str(token): int(n) for token, n in vocabulary.items()}
        if isinstance(vocabulary, Mapping)
        else {str(token): i for i, (token, _) in enumerate(vocabulary)}
    )
    known |= {str(token["content"]): int(token["id"]) for token in fields["added_tokens"]}
    single, pair = _templates(given.get("post_processor"), source)
    made = TokenizerFile(
        source,
        text,
        fields,
        max(known.values()) + 1,
        single,
        pair,
        _truncation(given.get("truncation")),
        _padding(given.get("padding"), known),
        "CTC" in _types(given.get("decoder")),
    )
    assert made.shipped
    return made


def _truncation(given: Any) -> Truncation:
    if not given:
        return Truncation()
    strategy = str(given.get("strategy", STRATEGIES[0]))
    if strategy not in STRATEGIES:
        raise ValueError(f"truncation by {strategy}")
    return Truncation(int(given["max_length"]), given.get("direction") == "Left", strategy)


def _padding(given: Any, known: Mapping[str, int]) -> Padding:
    if given:
        return Padding(int(given["pad_id"]), int(given["pad_type_id"]), given.get("direction") == "Left")
    return Padding(next((known[token] for token in PADDING if token in known), 0))


def _types(component: Any) -> Iterator[str]:
    if isinstance(component, Mapping) and isinstance(component.get("type"), str):
        yield component["type"]
        for parts in component.values():
            if isinstance(parts, list):
                for part in parts:
                    yield from _types(part)


_LETTERS = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
_WORDS = {
    "type": "Split",
    "pattern": {"Regex": rf"[{_LETTERS}]+|[^{_LETTERS}\s]+"},
    "behavior": "Removed",
    "invert": True,
}


def _in_page(component: Any) -> Any:
    """The component for @huggingface/tokenizers, whose Whitespace takes letters of ASCII alone for such."""
    if isinstance(component, list):
        return [_in_page(part) for part in component]
    if not isinstance(component, Mapping):
        return component
    if component.get("type") == "Whitespace":
        return _WORDS
    return {name: _in_page(part) for name, part in component.items()}


def _templates(processor: Any, source: str) -> tuple[Template, Template]:
    """Templates of one text and of two."""
    if processor is None or processor["type"] == "ByteLevel":  # which changes places in the text alone
        return _ALONE, _PAIR
    match processor["type"]:
        case "TemplateProcessing":
            special = {name: tuple(map(int, token["ids"])) for name, token in processor["special_tokens"].items()}
            return _template(processor["single"], special), _template(processor["pair"], special)
        case "BertProcessing":
            (_, cls), (_, sep) = processor["cls"], processor["sep"]
            alone = ((int(cls), 0), *_ALONE, (int(sep), 0))
            return alone, (*alone, ("B", 1), (int(sep), 1))
        case "RobertaProcessing":
            (_, cls), (_, sep) = processor["cls"], processor["sep"]
            alone = ((int(cls), 0), *_ALONE, (int(sep), 0))
            return alone, (*alone, (int(sep), 0), ("B", 0), (int(sep), 0))
        case "Sequence":
            parts = [p for p in processor["processors"] if p["type"] != "ByteLevel"]
            if len(parts) <= 1:
                return _templates(next(iter(parts), None), source)
    raise InputError(f"{source}: its post_processor, {processor['type']}, is not supported")


def _template(items: Sequence[Any], special: Mapping[str, tuple[int, ...]]) -> Template:
    made: list[tuple[str | int, int]] = []
    for item in items:
        if "Sequence" in item:
            made.append((str(item["Sequence"]["id"]), int(item["Sequence"]["type_id"])))
        else:
            made += [(n, int(item["SpecialToken"]["type_id"])) for n in special[item["SpecialToken"]["id"]]]
    return tuple(made)
