"""Text in pieces: the same that tokens give at once, in Python and in JavaScript."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from made_tokenizers import KINDS, TEXTS, need_package, written
from node_programs import need
from tokenizers import Tokenizer
from webnn_compile.bundle import find_package
from webnn_compile.generation.pieces import Pieces
from webnn_compile.tokenizers.tokenizer_file import read_tokenizer

SCRIPT = Path(__file__).parent / "pieces.mjs"
LONG = " ".join(TEXTS) * 2


def file_of(kind: str) -> str:
    """A tokenizer.json; of llama2 bytes are no special tokens."""
    fields = json.loads(written("llama2" if kind == "bytes" else kind))
    if kind == "bytes":
        for token in fields["added_tokens"]:
            token["special"] = not token["content"].startswith("<0x")
    return json.dumps(fields)


def ids_of(made: Tokenizer) -> list[list[int]]:
    made.no_padding()
    made.no_truncation()
    return [made.encode(text, add_special_tokens=False).ids for text in (*TEXTS, LONG)]


@pytest.mark.parametrize("kind", [*KINDS, "bytes"])
def test_pieces_are_the_text(kind: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(file_of(kind))
    made = Tokenizer.from_str(file_of(kind))
    several = ids_of(made)
    whole = [made.decode(ids) for ids in several]
    own = []
    for ids in several:
        pieces = Pieces(made.decode, ())
        texts = []
        for token in ids:
            pieces.push(token)
            text, stopped = pieces.take()
            assert "\ufffd" not in text
            assert not stopped
            texts.append(text)
        own.append(texts)
    assert ["".join(texts) for texts in own] == whole
    package = tmp_path / "tokenizers.mjs"
    package.write_text(find_package(need_package()).source)
    data = read_tokenizer(tmp_path / "tokenizer.json").shipped
    (tmp_path / "tokenizer.txt").write_bytes(data)
    spec = {
        "url": (tmp_path / "tokenizer.txt").as_uri(),
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    (tmp_path / "request.json").write_text(json.dumps({"tokenizer": spec, "package": str(package), "ids": several}))
    done = subprocess.run([need("node"), SCRIPT, tmp_path / "request.json"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == own


CHARACTERS = dict(enumerate("abcde\n "))


def taken(text: str, stops: list[str]) -> tuple[list[str], str]:
    """The pieces of a text of which each character is a token, and what comes behind the string that ended it."""
    known = {c: i for i, c in CHARACTERS.items()}
    pieces = Pieces(lambda ids: "".join(CHARACTERS[i] for i in ids), ())
    texts = []
    for i, c in enumerate(text):
        pieces.push(known[c])
        piece, stopped = pieces.take(stops)
        texts += [piece] if piece else []
        if stopped:
            return texts, text[i + 1 :]
    return [*texts, *filter(None, [pieces.take()[0]])], ""


@pytest.mark.parametrize(
    ("text", "stops", "pieces", "rest"),
    [
        ("abc", [], ["a", "b", "c"], ""),
        ("abcde", ["cd"], ["a", "b"], "e"),
        ("ababc", ["abc"], ["ab"], ""),
        ("abab", ["abc"], ["ab", "ab"], ""),
        ("aab", ["ab", "b"], ["a"], ""),
        ("a\n\nb", ["\n\n", "\nb"], ["a"], "b"),
        ("aaab", ["aab"], ["a"], ""),
    ],
)
def test_what_may_be_the_beginning_of_a_stop_waits(text: str, stops: list[str], pieces: list[str], rest: str) -> None:
    assert taken(text, stops) == (pieces, rest)


def test_a_character_that_lacks_bytes_waits() -> None:
    made = Tokenizer.from_str(written("gpt2"))
    ids = made.encode("🚀").ids
    assert len(ids) > 1
    pieces = Pieces(made.decode, made.encode("I").ids)
    for token in ids[:-1]:
        pieces.push(token)
        assert pieces.take() == ("", False)
    other = pieces.copy()
    for each in (pieces, other):
        each.push(ids[-1])
        assert each.take() == ("🚀", False)
