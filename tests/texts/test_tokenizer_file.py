"""Files of tokenizers: what is read, what of it a page gets, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_tokenizers import KINDS, LETTERS, written
from webnn_compile.errors import InputError
from webnn_compile.tokenizers.tokenizer_file import Truncation, read_tokenizer


def changed(kind: str, change: Callable[[dict[str, Any]], object]) -> str:
    fields: dict[str, Any] = json.loads(written(kind))
    change(fields)
    return json.dumps(fields)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_the_same_vocabulary(kind: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(written(kind))
    file = read_tokenizer(tmp_path / "t.json")
    shipped, own = json.loads(file.shipped), json.loads(written(kind))
    assert shipped["model"] == own["model"]
    assert shipped["added_tokens"] == own["added_tokens"]
    assert shipped["post_processor"] is None
    assert {"truncation", "padding"}.isdisjoint(shipped)


def test_templates_and_settings(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(written("bert_cased"))
    file = read_tokenizer(tmp_path / "t.json")
    assert file.single == ((2, 0), ("A", 0), (3, 0))
    assert file.pair == ((2, 0), ("A", 0), (3, 0), ("B", 1), (3, 1))
    assert file.truncation == Truncation(20, left=True)
    assert (file.padding.id, file.padding.type, file.padding.left) == (4, 1, True)
    (tmp_path / "r.json").write_text(written("roberta"))
    file = read_tokenizer(tmp_path / "r.json")
    assert file.padding.id == 1
    assert file.pair == ((0, 0), ("A", 0), (2, 0), (2, 0), ("B", 0), (2, 0))


def test_a_vocabulary_of_letters(tmp_path: Path) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps(LETTERS))
    file = read_tokenizer(tmp_path / "vocab.json")
    assert (file.spells, file.ids) == (True, len(LETTERS))
    assert ("decoder", "CTC") in file.components


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is no JSON .*; give a model's tokenizer.json"),
        ("[" * 20000, "it is no JSON"),
        ('{"a": NaN}', "it is no JSON .NaN is no number of JSON"),
        ("[]", "it describes no model with a vocabulary"),
        ('{"model_max_length": 512, "pad_token": "[PAD]"}', "it describes no model with a vocabulary"),
        ('{"a": 0, "b": 1}', "it takes those of CTC, which have '<pad>'"),
        (changed("bert", lambda f: f["model"].update(vocab=[1, 2])), "a part of it is missing or of another form"),
        (changed("bert", lambda f: f["post_processor"].pop("pair")), "a part of it is missing or of another form"),
        (
            changed("bert", lambda f: f.update(post_processor={"type": "New"})),
            "its post_processor, New, is not supported",
        ),
        (changed("bert", lambda f: f.update(truncation={"max_length": 4, "strategy": "No"})), "truncation by No"),
        (changed("bert", lambda f: f["model"]["vocab"].update({"\ud800": 7})), "a part of it is missing or of"),
    ],
)
def test_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(InputError, match=rf"^--text {tmp_path / 't.json'}: .*{message}"):
        read_tokenizer(tmp_path / "t.json")


def test_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="it is no JSON"):
        read_tokenizer(tmp_path / "t.json")
    with pytest.raises(InputError, match="it cannot be read: Is a directory"):
        read_tokenizer(tmp_path)
