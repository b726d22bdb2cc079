"""Answers as the command line names them, and labels in their files."""

from __future__ import annotations

from pathlib import Path

import pytest
from webnn_compile.answers.formats import Answer, Classify, parse_answer
from webnn_compile.answers.labels import labels_of, read_labels
from webnn_compile.errors import InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("classify", Answer(Classify())),
        ("classify,top=3,logits", Answer(Classify(3, "logits"))),
        ("classify,scores", Answer(Classify(5, "scores"))),
        ("a=b:0=classify,top=1", Answer(Classify(1), "a=b:0")),
        ("classify=classify", Answer(Classify(), "classify")),
    ],
)
def test_texts(text: str, expected: Answer) -> None:
    assert parse_answer(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("boxes", "--answer boxes: it names no kind; choose one of classify"),
        ("x=", "--answer x=: it names no kind; choose one of classify"),
        ("classify=yolox", "'yolox' is unknown; give classify,top=5"),
        ("classify,best", "'best' is unknown; give classify,top=5"),
        ("classify,top=0", "top is '0'; give a number from 1"),
        ("classify,top", "top is ''; give a number from 1"),
        ("classify,logits,scores", "logits and scores exclude each other"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_answer(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lines.txt", "\ufeffcat\r\nhen's egg\r\né\r\n"),
        ("synsets.txt", "n02123045 cat\nn07840804 hen's egg\nn00000001 é\n"),
        ("list.json", '["cat", "hen\'s egg", "é"]'),
        ("numbers.json", '{"2": "é", "0": "cat", "1": "hen\'s egg"}'),
        ("config.json", '{"model_type": "vit", "id2label": {"0": "cat", "1": "hen\'s egg", "2": "é"}}'),
        ("keras.json", '{"0": ["n02", "cat"], "1": ["n07", "hen\'s egg"], "2": ["n00", "é"]}'),
        ("python.txt", "{0: 'cat',\n 1: \"hen's egg\",\n 2: 'é'}\n"),
    ],
)
def test_labels(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_labels(tmp_path / name).names == ("cat", "hen's egg", "é")


def test_labels_may_begin_with_a_bracket(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("[PAD]\n[UNK]")
    assert read_labels(tmp_path / "words.txt").names == ("[PAD]", "[UNK]")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "", "it is empty; give a label on each line"),
        ("a.json", "cat", "it is no JSON"),
        ("a.json", "7", "give a label on each line, a JSON list"),
        ("a.json", "[1, 2]", "1 is no text"),
        ("a.json", '{"0": "cat", "2": "dog"}', "class 1 has no label"),
        ("a.json", '{"cat": 0}', "'cat' is no number of a class"),
    ],
)
def test_what_has_no_labels(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message) as error:
        labels_of(tmp_path / name)
    assert str(error.value).startswith(f"--labels {tmp_path / name}: ")
    with pytest.raises(InputError, match="it cannot be read"):
        labels_of(str(tmp_path / "none.txt"))
