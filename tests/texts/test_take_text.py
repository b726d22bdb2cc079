"""Models that take text, in this process: inputs found by their names, vectors pooled by the mask, ids as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import webnn_compile
from made_tokenizers import LETTERS, encoder, tokens_of, written
from onnx import TensorProto
from onnx_models import model, node, onnxruntime_results
from tokenizers import Tokenizer
from webnn_compile.errors import InputError

ROWS = 230
"""Rows of the table of tokens, for a tokenizer of at most 220."""

TEXTS = ["The quick brown fox", "hello", ["你好", "world 12345"], "hello world " * 40]


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text(written("bert"))
    return tmp_path / "tokenizer.json"


def feeds(kind: str, texts: list[Any], most: int) -> dict[str, np.ndarray]:
    rows = list(tokens_of(kind, texts, most))
    names = {"ids": "input_ids", "mask": "attention_mask", "types": "token_type_ids"}
    return {name: np.array([row[role] for row in rows], np.int64) for role, name in names.items()}


def pooled(hidden: np.ndarray, mask: np.ndarray, pool: str, *, normalise: bool) -> np.ndarray:
    weights = mask[..., None].astype(np.float64)
    if pool == "mean":
        made = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
    else:
        at = [int(np.flatnonzero(row)[0 if pool == "cls" else -1]) for row in mask]
        made = hidden[np.arange(len(hidden)), at].astype(np.float64)
    return made / np.linalg.norm(made, axis=1, keepdims=True) if normalise else made


@pytest.mark.parametrize("pool", ["mean", "cls", "last"])
def test_vectors_of_a_batch(tokenizer: Path, pool: str) -> None:
    proto = encoder(ROWS)
    dims = {"batch": (1, 4), "sequence": (1, 24)}
    answers = [f"embedding,pool={pool},normalise"]
    compiled = webnn_compile.compile(proto, text=tokenizer, dims=dims, answers=answers)
    given = feeds("bert", TEXTS, 24)
    (hidden,) = onnxruntime_results(proto, given).values()
    want = pooled(hidden, given["attention_mask"], pool, normalise=True)
    (vectors,) = compiled.run({"text": TEXTS}).values()
    np.testing.assert_allclose(np.stack(vectors), want, atol=1e-5)
    (again,) = compiled.run(given).values()
    np.testing.assert_array_equal(np.stack(again), np.stack(vectors))
    for twice in ({"text": "a", **given}, {"text": "a", "input_ids": given["input_ids"]}):
        with pytest.raises(InputError, match="text makes attention_mask, input_ids, token_type_ids; leave them out"):
            compiled.run(twice)


@pytest.mark.parametrize("pool", ["mean", "cls", "last"])
def test_padding_before_the_text(tmp_path: Path, pool: str) -> None:
    """And a fixed length, and one text."""
    (tmp_path / "left.json").write_text(written("bert_cased"))
    proto = encoder(ROWS, (1, 16))
    compiled = webnn_compile.compile(proto, text=tmp_path / "left.json", answers=[f"embedding,pool={pool}"])
    rows = list(tokens_of("bert_cased", ["hello fox"], 16, length=16))
    given = {
        name: np.array([rows[0][role]], np.int64)
        for role, name in (("ids", "input_ids"), ("mask", "attention_mask"), ("types", "token_type_ids"))
    }
    (hidden,) = onnxruntime_results(proto, given).values()
    (vector,) = compiled.run({"text": "hello fox"}).values()
    want = pooled(hidden, given["attention_mask"], pool, normalise=False)
    np.testing.assert_allclose(vector, want[0], atol=1e-5)


@pytest.mark.parametrize(("pool", "want"), [("mean", [3.0, 4.0]), ("cls", [1.0, 2.0]), ("last", [5.0, 6.0])])
def test_pools_without_a_mask(pool: str, want: list[float]) -> None:
    proto = model([node("Identity", ["x"], ["y"])], {"x": (1, 3, 2)}, ["y"])
    compiled = webnn_compile.compile(proto, answers=[f"embedding,pool={pool}"])
    (vector,) = compiled.run({"x": np.arange(1.0, 7, dtype=np.float32).reshape(1, 3, 2)}).values()
    assert vector.tolist() == want


def test_what_padding_holds_does_not_count(tmp_path: Path) -> None:
    """Vectors of padding may be NaN."""
    proto = model([node("Identity", ["x"], ["y"])], {"x": (1, 3, 2), "attention_mask": (1, 3)}, ["y"])
    for pool, want in (("mean", [2.0, 3.0]), ("cls", [1.0, 2.0]), ("last", [3.0, 4.0])):
        compiled = webnn_compile.compile(proto, answers=[f"embedding,pool={pool}"])
        x = np.array([[[1, 2], [3, 4], [np.nan, np.inf]]], np.float32)
        (vector,) = compiled.run({"x": x, "attention_mask": np.array([[1, 1, 0]], np.float32)}).values()
        assert vector.tolist() == want


def test_names_of_inputs(tokenizer: Path) -> None:
    """Other usual ones; positions; and one that is given."""
    ids, mask = "tokens:0", "input_mask:0"
    nodes = [node("Add", [ids, "position_ids"], ["s"]), node("Mul", ["s", mask], ["y"])]
    inputs = dict.fromkeys((ids, mask, "position_ids"), (1, 8))
    proto = model(nodes, inputs, ["y"], dtype=TensorProto.INT32)
    (y,) = webnn_compile.compile(proto, text=tokenizer).run({"text": "hello fox"}).values()
    (row,) = tokens_of("bert", ["hello fox"], 8, length=8)
    places = np.minimum(np.arange(8), sum(row["mask"]) - 1)
    np.testing.assert_array_equal(y[0], (np.array(row["ids"]) + places) * row["mask"])
    own = model([node("Identity", ["w"], ["y"])], {"w": (8,)}, ["y"], dtype=TensorProto.INT64)
    (y,) = webnn_compile.compile(own, text=f"w={tokenizer}").run({"text": "hello fox"}).values()
    np.testing.assert_array_equal(y, row["ids"])


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ({"x": (1, 8)}, {}, "no input has a usual name of tokens .*: x of int64"),
        ({"input_ids": (1, 8)}, {"text": "y={file}"}, "the model has no input 'y'; it has input_ids"),
        ({"input_ids": (1, 2)}, {}, "room for 2 tokens, of which the tokenizer adds 2"),
        ({"input_ids": (1, 2, 4)}, {}, r"tokens fill one of int64 or int32, \[batch, length\] or \[length\]"),
        ({"input_ids": (1, 8), "text": (1, 8)}, {}, "the model has an input 'text' of its own"),
    ],
)
def test_models_that_do_not_fit(tokenizer: Path, inputs: dict[str, Any], options: dict[str, str], message: str) -> None:
    first = next(iter(inputs))
    proto = model([node("Identity", [first], ["y"])], inputs, ["y"], dtype=TensorProto.INT64)
    text = options.get("text", "{file}").format(file=tokenizer)
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(proto, text=text)


def test_the_tokenizer_of_another_model(tokenizer: Path) -> None:
    ids = json.loads(written("bert"))["model"]["vocab"]
    with pytest.raises(InputError, match=f"has ids up to {len(ids) - 1}, and 'table', the table that input_ids is"):
        webnn_compile.compile(encoder(len(ids) - 1, (1, 8)), text=tokenizer)
    webnn_compile.compile(encoder(len(ids), (1, 8)), text=tokenizer)


def best(rows: list[list[int]], classes: int) -> np.ndarray:
    return np.eye(classes, dtype=np.float32)[np.array(rows)]


def test_text_of_ids_and_of_logits(tokenizer: Path) -> None:
    made = Tokenizer.from_str(written("bert"))
    several = [made.encode(t).ids for t in ("the fox", "hello")]
    length = max(map(len, several))
    rows = [[*ids, *[0] * (length - len(ids))] for ids in several]
    want = [made.decode(ids) for ids in rows]
    assert want[0] == "the fox"
    logits = model([node("Identity", ["x"], ["y"])], {"x": ("b", length, ROWS)}, ["y"])
    compiled = webnn_compile.compile(logits, dims={"b": (1, 2)}, answers=[f"text={tokenizer}"])
    (texts,) = compiled.run({"x": best(rows, ROWS)}).values()
    assert texts == want
    ids = model([node("Identity", ["x"], ["y"])], {"x": (1, length)}, ["y"], dtype=TensorProto.INT64)
    (text,) = webnn_compile.compile(ids, answers=[f"text={tokenizer}"]).run({"x": np.array(rows[:1])}).values()
    assert text == want[0]


SPOKEN = "HHH<pad>EE<pad>LL<pad>LO<pad>||<pad>WO<pad>R<pad>LL<pad>D<pad><pad>"
"""Classes of a line, one for each step; the blank between the same letters."""


def classes_of(line: str) -> list[int]:
    letters = line.replace("<pad>", "_")
    return [LETTERS["<pad>" if c == "_" else c] for c in letters]


@pytest.mark.parametrize("shape", ["batch first", "time first", "classes before time"])
def test_letters_of_speech(tmp_path: Path, shape: str) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps(LETTERS))
    classes = classes_of(SPOKEN)
    order = {"batch first": (0, 1, 2), "time first": (1, 0, 2), "classes before time": (0, 2, 1)}[shape]
    x = best([classes], len(LETTERS)).transpose(order)
    proto = model([node("Identity", ["x"], ["y"])], {"x": x.shape}, ["y"])
    compiled = webnn_compile.compile(proto, answers=[f"text={tmp_path / 'vocab.json'}"])
    (text,) = compiled.run({"x": np.ascontiguousarray(x)}).values()
    assert text == "HELLO WORLD"


def test_a_blank_behind_the_vocabulary(tokenizer: Path) -> None:
    made = Tokenizer.from_str(written("bert"))
    blank = made.get_vocab_size()
    steps: list[int] = []
    for n in made.encode("hello fox fox", add_special_tokens=False).ids:
        steps += [n, n, blank, blank]
    proto = model([node("Identity", ["x"], ["y"])], {"x": (1, len(steps), blank + 1)}, ["y"])
    compiled = webnn_compile.compile(proto, answers=[f"text={tokenizer},blank={blank}"])
    (text,) = compiled.run({"x": best([steps], blank + 1)}).values()
    assert text == "hello fox fox"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("text", r"say by which tokenizer, as in --answer text=tokenizer.json, or by --text"),
        ("text={file},blank=x", "blank is 'x'; give the id of CTC's blank"),
        ("text={letters},blank=0", "the tokenizer has the blank of its own decoder, CTC; leave blank out"),
        ("text={file}", r"it takes ids, int64\[1, length\], or logits of \d+ of them, .* the model has y of float32"),
        ("text={file}.txt", "it cannot be read: No such file"),
        ("embedding,pool=max", "pool is 'max'; give one of mean, cls, last"),
        ("embedding,pool", "pool is ''; give one of mean, cls, last"),
        ("text,half", "'half' is unknown; give text, text=tokenizer.json"),
    ],
)
def test_answers_that_do_not_fit(tokenizer: Path, tmp_path: Path, answer: str, message: str) -> None:
    (tmp_path / "vocab.json").write_text(json.dumps(LETTERS))
    proto = model([node("Identity", ["x"], ["y"])], {"x": (1, 4, 5)}, ["y"])
    given = answer.format(file=tokenizer, letters=tmp_path / "vocab.json")
    with pytest.raises(InputError, match=message):
        webnn_compile.compile(proto, answers=[given])


def test_vectors_that_are_pooled_already() -> None:
    proto = model([node("Identity", ["x"], ["y"])], {"x": ("n", 4)}, ["y"])
    compiled = webnn_compile.compile(proto, dims={"n": (1, 3)}, answers=["embedding,normalise"])
    x = np.array([[3, 0, 4, 0], [0, 0, 0, 2]], np.float32)
    (vectors,) = compiled.run({"x": x}).values()
    np.testing.assert_allclose(np.stack(vectors), [[0.6, 0, 0.8, 0], [0, 0, 0, 1]], atol=1e-6)
