"""Tokenizers of common kinds, trained on a few lines by the package `tokenizers`, and small models of their tokens."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from chat_templates import TEMPLATES, TOKENS
from node_programs import ROOT
from onnx import TensorProto, helper
from onnx_models import node, random
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LINES = (
    "The quick brown fox jumps over the lazy dog, again and again.",
    "Café déjà vu: a naïve façade, coöperating. Schöne Grüße aus München!",
    "hello world 12345, don't stop; it's 3.14 o'clock",
    "你好 世界 今日は東京 안녕하세요 Привет мир",
    "I love 🍕 and 🚀 and 👩‍👩‍👧 in 1984",
) * 4

TEXTS = (
    "The quick brown fox",
    "",
    " ",
    "  Two  spaces, a\ttab,\nlines\r\nand an end \n",
    "Café DÉJÀ vu: Ünïcödé, ﬁ ligature, İstanbul",
    "你好,世界! 今日は 東京タワー 안녕",
    "I love 🍕 and 👩‍👩‍👧 — “quoted” … ½ ② ™",
    "[MASK] <mask> </s> [SEP] are special, <s> too",
    "don't can't won't it's o'clock 3.14159 1,000,000 $5",
    "\u200bzero\u00a0width and\u3000wide\u0000control",
    "a" * 300,
    "hello world " * 80,
)
PAIRS = (
    ("hello world", "The quick brown fox"),
    ("", "hello"),
    ("hello", ""),
    ("hello world " * 40, "fox " * 3),
    ("fox", "hello world " * 40),
    ("hello world " * 30, "The quick brown fox " * 30),
)
"""A short text is cut where the other is longer alone, or both are."""


def bert() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(LINES, trainers.WordPieceTrainer(vocab_size=220, special_tokens=special))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.decoder = decoders.WordPiece()
    return made


def bert_cased() -> Tokenizer:
    """With the template of its own kind, truncation from the left, and padding there."""
    made = bert()
    made.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.enable_truncation(20, direction="left")
    made.enable_padding(direction="left", pad_id=4, pad_type_id=1)
    return made


def bytes_of_pairs(special: list[str]) -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(LINES, trainer)
    made.decoder = decoders.ByteLevel()
    return made


def gpt2() -> Tokenizer:
    made = bytes_of_pairs(["<|endoftext|>"])
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    return made


def roberta() -> Tokenizer:
    made = bytes_of_pairs(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    made.enable_truncation(24, strategy="only_first")
    return made


def llama3() -> Tokenizer:
    """Words by an expression, a template behind the bytes' own processor."""
    made = bytes_of_pairs(["<|begin|>", "<|end|>"])
    words = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+(?!\S)|\s+"
    split = pre_tokenizers.Split(Regex(words), "isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)])
    template = processors.TemplateProcessing(
        single="<|begin|> $A", pair="<|begin|> $A <|begin|>:1 $B:1", special_tokens=[("<|begin|>", 0)]
    )
    made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return made


def unigram(special: list[str], normalizer: normalizers.Normalizer | None) -> Tokenizer:
    made = Tokenizer(models.Unigram())
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=260, special_tokens=special, unk_token="<unk>")
    made.train_from_iterator(LINES, trainer)
    made.decoder = decoders.Metaspace()
    return made


def t5() -> Tokenizer:
    made = unigram(["<pad>", "</s>", "<unk>"], normalizers.NFKC())
    made.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 1)])
    return made


def xlm_roberta() -> Tokenizer:
    steps = [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    made = unigram(["<s>", "<pad>", "</s>", "<unk>"], normalizers.Sequence(steps))
    made.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", "<s> $A </s> </s> $B </s>", [("<s>", 0), ("</s>", 2)]
    )
    return made


def llama2() -> Tokenizer:
    """Characters that are unknown are bytes."""
    special = ["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256))]
    made = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.train_from_iterator(LINES[:1], trainers.BpeTrainer(vocab_size=340, special_tokens=special))
    fields = made.to_str()
    made = Tokenizer.from_str(fields.replace('"byte_fallback":false', '"byte_fallback":true'))
    made.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A <s>:1 $B:1", [("<s>", 1)])
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return made


def words() -> Tokenizer:
    made = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    made.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(True)])
    made.train_from_iterator(LINES, trainers.WordLevelTrainer(special_tokens=["[UNK]"]))
    return made


KINDS: Mapping[str, Callable[[], Tokenizer]] = {
    made.__name__: made for made in (bert, bert_cased, gpt2, roberta, llama3, t5, xlm_roberta, llama2, words)
}


@cache
def written(kind: str) -> str:
    """The tokenizer.json of a kind."""
    return KINDS[kind]().to_str(pretty=True)


LETTERS = {token: i for i, token in enumerate(("<pad>", "<s>", "</s>", "<unk>", "|", *"EHLOWRD'"))}
"""The vocab.json of a model of speech."""


def encoder(
    rows: int, sizes: tuple[int | str, ...] = ("batch", "sequence"), width: int = 8, *, types: bool = True
) -> onnx.ModelProto:
    """A vector of each token, by those of all tokens that the mask has: a head of attention."""
    tokens = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    w = {"table": random((rows, width), 1), "w": random((width, width), 2), "axis": np.array([1]), "one": np.float32(1)}
    nodes = [node("Gather", ["table", "input_ids"], ["e"])]
    if types:
        nodes += [node("Gather", ["kinds", "token_type_ids"], ["t"]), node("Add", ["e", "t"], ["h"])]
        w["kinds"] = random((2, width), 3)
    h = "h" if types else "e"
    nodes += [
        node("MatMul", [h, "w"], ["q"]),
        node("Transpose", [h], ["k"], perm=[0, 2, 1]),
        node("MatMul", ["q", "k"], ["scores"]),
        node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
        node("Sub", ["one", "m"], ["off"]),
        node("Mul", ["off", "least"], ["bias"]),
        node("Unsqueeze", ["bias", "axis"], ["row"]),
        node("Add", ["scores", "row"], ["masked"]),
        node("Softmax", ["masked"], ["p"], axis=-1),
        node("MatMul", ["p", h], ["last_hidden_state"]),
    ]
    w["least"] = np.float32(-1e9)
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info(name, TensorProto.INT64, sizes) for name in tokens],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*sizes, width])],
        [onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in w.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def tokens_of(kind: str, texts: list[Any], most: int, *, length: int | None = None) -> Iterator[dict[str, list[int]]]:
    """The inputs of each text as the package itself makes them, filled up to `length`, by default the longest."""
    made = Tokenizer.from_str(written(kind))
    cut, padding = made.truncation or {}, made.padding or {}
    made.enable_truncation(
        min(most, cut.get("max_length", most)),
        strategy=cut.get("strategy", "longest_first"),
        direction=cut.get("direction", "right"),
    )
    names = ("[PAD]", "<pad>")
    pad = padding.get("pad_id", next((n for t in names if (n := made.token_to_id(t)) is not None), 0))
    made.enable_padding(
        direction=padding.get("direction", "right"),
        pad_id=pad,
        pad_type_id=padding.get("pad_type_id", 0),
        length=length,
    )
    for e in made.encode_batch([tuple(t) if isinstance(t, list) else t for t in texts]):
        yield {"ids": e.ids, "mask": e.attention_mask, "types": e.type_ids}


def write_talker(folder: Path) -> None:
    """A tokenizer, and beside it a chat template that names special tokens, which the tokenizer adds to text, too."""
    (folder / "tokenizer.json").write_text(written("llama2"))
    config = {"chat_template": TEMPLATES["mistral"], **TOKENS}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def need_package(name: str = "tokenizers") -> Path:
    """The folder of a package of @huggingface; skips where it is missing, and fails where CI=true."""
    folder = ROOT / "node_modules" / "@huggingface" / name
    if not folder.is_dir():
        message = f"no @huggingface/{name}: run `npm install` in the repository"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return folder
