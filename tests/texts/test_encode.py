"""Tokens that the runtime makes of text equal those of the package `tokenizers`, and so does text of tokens."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from made_tokenizers import KINDS, PAIRS, TEXTS, need_package, tokens_of, written
from node_programs import need
from tokenizers import Tokenizer
from webnn_compile.bundle import find_package
from webnn_compile.dtypes import F32, I32, I64
from webnn_compile.graph.ir import Value
from webnn_compile.tokenizers.encode import Encoder
from webnn_compile.tokenizers.take_text import TextInput
from webnn_compile.tokenizers.tokenizer_file import TokenizerFile, read_tokenizer

MOST = 28


def file_of(kind: str, folder: Path) -> TokenizerFile:
    (folder / "tokenizer.json").write_text(written(kind))
    return read_tokenizer(folder / "tokenizer.json")


def in_node(file: TokenizerFile, folder: Path, **request: Any) -> dict[str, Any]:
    """Tokens and text that the runtime makes of `texts` and `ids`."""
    need_package()
    package = folder / "tokenizers.mjs"
    package.write_text(find_package(need_package()).source)
    (folder / "tokenizer.txt").write_bytes(file.shipped)
    data = file.shipped
    spec = {"url": (folder / "tokenizer.txt").as_uri(), "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    asked = {"texts": [], "ids": [], "special": file.spells, "dimensions": [], "dtypes": {"ids": "int64"}, "text": {}}
    (folder / "request.json").write_text(json.dumps({**asked, **request, "tokenizer": spec, "package": str(package)}))
    script = Path(__file__).parent / "encode.mjs"
    done = subprocess.run([need("node"), script, folder / "request.json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def text_spec(file: TokenizerFile, batch: int | str | None = 1, length: int | str = MOST) -> dict[str, Any]:
    most = min(MOST, file.truncation.most or MOST)
    cut, padding = file.truncation, file.padding
    return {
        "name": "text",
        "tokenizer": 0,
        "batch": batch,
        "length": length,
        "most": most,
        "single": file.single,
        "pair": file.pair,
        "cut": {"left": cut.left, "strategy": cut.strategy},
        "padding": {"id": padding.id, "type": padding.type, "left": padding.left},
    }


def target(file: TokenizerFile, length: int = MOST) -> TextInput:
    types = {"ids": I64, "mask": F32, "types": I32, "positions": I64}
    return TextInput(file, {role: Value(role, (1, length), t) for role, t in types.items()}, 1, length)


@pytest.mark.parametrize("kind", KINDS)
def test_texts(kind: str, tmp_path: Path) -> None:
    file = file_of(kind, tmp_path)
    pairs = PAIRS if file.truncation.strategy == "LongestFirst" else PAIRS[:4]
    texts = [*([t] for t in TEXTS), *([list(pair)] for pair in pairs)]
    dtypes = {"ids": "int64", "mask": "float32", "types": "int32", "positions": "int64"}
    got = in_node(file, tmp_path, texts=texts, text=text_spec(file), dtypes=dtypes)["encoded"]
    encoder = Encoder(target(file))
    for text, made in zip(texts, got, strict=True):
        (want,) = tokens_of(kind, text, MOST, length=MOST)
        assert isinstance(made, dict), (text, made)
        for role, values in want.items():
            assert made[role]["data"] == values, (text, role)
        assert [made[role]["kind"] for role in dtypes] == [
            "BigInt64Array",
            "Float32Array",
            "Int32Array",
            "BigInt64Array",
        ]
        own = encoder.encode(text)
        for role in dtypes:
            assert own[role].ravel().tolist() == made[role]["data"], (text, role)
            assert own[role].shape == (1, MOST)


@pytest.mark.parametrize("kind", KINDS)
def test_ids(kind: str, tmp_path: Path) -> None:
    """Ids of texts, and of any ids, some of which are none."""
    file = file_of(kind, tmp_path)
    made = Tokenizer.from_str(written(kind))
    made.no_truncation()
    draw = random.Random(0)
    several = [e.ids for e in made.encode_batch([t for t in TEXTS if made.encode(t).ids])]
    several += [[], *([draw.randrange(file.ids + 3) for _ in range(9)] for _ in range(8))]
    got = in_node(file, tmp_path, ids=several)["decoded"]
    assert got == [made.decode(ids) if ids else "" for ids in several]


def test_batches_are_filled_up_to_the_longest(tmp_path: Path) -> None:
    file = file_of("bert", tmp_path)
    dimensions = [
        {"name": "n", "least": 1, "most": 4, "multiple": 1},
        {"name": "s", "least": 4, "most": MOST, "multiple": 4},
    ]
    batches: list[list[Any]] = [[""], ["hello", "The quick brown fox"], [["a", "b"], "c", "d"], list(TEXTS[:4])]
    made = in_node(
        file,
        tmp_path,
        texts=[*batches, "hello", list(TEXTS[:5])],
        text=text_spec(file, "n", "s"),
        dimensions=dimensions,
        dtypes={"ids": "int64", "mask": "int32"},
    )["encoded"]
    for texts, got in zip([*batches, ["hello"]], made[:-1], strict=True):
        want = list(tokens_of("bert", texts, MOST))
        length = max(4, -(-len(want[0]["ids"]) // 4) * 4)
        padded = list(tokens_of("bert", texts, MOST, length=length))
        for role in ("ids", "mask"):
            assert got[role]["shape"] == [len(texts), length]
            assert got[role]["data"] == [n for one in padded for n in one[role]]
    assert made[-1] == 'RangeError: input "text": expected 1 to 4 texts, got 5'


def test_without_a_batch(tmp_path: Path) -> None:
    file = file_of("gpt2", tmp_path)
    got = in_node(file, tmp_path, texts=["hello"], text=text_spec(file, None))["encoded"]
    assert got[0]["ids"]["shape"] == [MOST]


def test_a_text_that_leaves_no_room(tmp_path: Path) -> None:
    file = file_of("roberta", tmp_path)
    got = in_node(file, tmp_path, texts=[[["fox", "hello " * 90]]], text=text_spec(file))["encoded"]
    assert "one text of the pair alone has" in got[0]
