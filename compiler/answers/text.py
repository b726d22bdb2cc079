"""Text, of the ids that a model gives or of the best ones by its logits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..dtypes import I32, I64, ONNX_NUMBERS
from ..errors import InputError
from ..graph.ir import Array, Graph, Value
from ..graph.tail import Tail
from ..tokenizers.encode import Decoder
from ..tokenizers.tokenizer_file import TokenizerFile
from .fitted import FLOATS, OfOneOutput, find_output
from .formats import Answer, Decode
from .labels import Labels


@dataclass(frozen=True, eq=False)
class Decoded(OfOneOutput):
    """Texts of `output`: of its elements, ids, or where it has an `axis` of a vocabulary of the largest ones. `many`:
    a text for each of a batch. With a `blank` ids are classes of CTC."""

    tokenizer: TokenizerFile
    axis: int | None
    many: bool
    blank: int | None

    kind = "text"

    @property
    def labels(self) -> Labels | None:
        return None

    @property
    def fields(self) -> dict[str, object]:
        return {"special": self.tokenizer.spells} | ({} if self.blank is None else {"blank": self.blank})

    def add(self, tail: Tail) -> dict[str, Value]:
        name, x = self.output.name, self.output
        if self.axis is not None:
            x = tail.node("ArgMax", f"{name}.best", x, axis=self.axis, keepdims=0)
        return {"ids": x if x.dtype == I32 else tail.node("Cast", f"{name}.ids", x, to=ONNX_NUMBERS[I32])}

    @cached_property
    def _decoder(self) -> Decoder:
        return Decoder(self.tokenizer, self.blank)

    def read(self, parts: Mapping[str, Array], shapes: object) -> str | list[str]:
        ids = parts["ids"]
        if self.many:
            return [self._decoder.decode(row.tolist()) for row in ids]
        return self._decoder.decode(ids.ravel().tolist())

    def describe(self) -> str:
        of = "" if self.axis is None else "the best of "
        return f"text, {of}{self.output.name}{'' if self.blank is None else f', without {self.blank}, the blank'}"


def fit_decoded(graph: Graph, answer: Answer, form: Decode, text: TokenizerFile | None) -> Decoded:
    """`text` is the tokenizer of the model's own text. Raises InputError where no output has ids or logits of them."""
    tokenizer = form.tokenizer or text
    if tokenizer is None:
        raise InputError(f"{answer}: say by which tokenizer, as in --answer text=tokenizer.json, or by --text")
    if form.blank is not None and tokenizer.spells:
        raise InputError(f"{answer}: the tokenizer has the blank of its own decoder, CTC; leave blank out")
    ids = tokenizer.ids if form.blank is None else max(tokenizer.ids, form.blank + 1)

    def fits(v: Value) -> bool:
        return (v.dtype in (I64, I32) and len(v.shape) in (1, 2)) or _axis(v, ids) is not None

    output = find_output(
        graph, answer, fits, f"ids, int64[1, length], or logits of {ids} of them, float32[1, length, {ids}]"
    )
    axis = _axis(output, ids)
    rest = [n for d, n in enumerate(output.shape) if d != axis]
    many = len(rest) > 1 and rest[0] != 1 and rest[1] != 1  # [length, 1] has no batch
    return Decoded(output, tokenizer, axis, many, form.blank)


def _axis(v: Value, ids: int) -> int | None:
    """The axis of a vocabulary of an output of logits: the last one that is as long, or else the last one that is
    longer, as tables of tokens often are."""
    if v.dtype not in FLOATS or len(v.shape) not in (2, 3):
        return None
    fitting = [d for d, n in enumerate(v.shape) if isinstance(n, int) and n >= ids]
    return next(reversed([d for d in fitting if v.shape[d] == ids] or fitting), None)
