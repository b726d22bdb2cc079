"""Text as a model's inputs, and ids as text, in this process: by the package `tokenizers` (extra `text`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import InputError
from ..graph.ir import Array
from ..program.dimensions import Dimension
from ..program.pass_states import PassingStates
from ..program.shown_model import Shown
from .take_text import NAME, Extent, TextInput
from .tokenizer_file import TokenizerFile

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Text = str | Sequence[str | tuple[str, str] | list[str]]
"""One text, or those of a batch, of which two in a list or tuple are a pair."""


class Runnable(Protocol):
    backend: str

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]: ...


def open_tokenizer(file: TokenizerFile) -> Tokenizer:
    """Raises InputError where the package is missing, or does not read the file."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise InputError("text in Python needs the package tokenizers: pip install 'webnn-compile[text]'") from None
    try:
        made: Tokenizer = Tokenizer.from_str(file.text)
    except Exception as error:  # the package raises Exception itself
        raise InputError(f"{file.source}: the package tokenizers does not read it: {error}") from None
    return made


class Encoder:
    """Makes the inputs that `target` says of texts."""

    def __init__(self, target: TextInput) -> None:
        self.target = target
        self._tokenizer = open_tokenizer(target.tokenizer)
        cut = target.tokenizer.truncation
        words = {"LongestFirst": "longest_first", "OnlyFirst": "only_first", "OnlySecond": "only_second"}
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(
            target.most, strategy=words[cut.strategy], direction="left" if cut.left else "right"
        )

    def encode(self, text: Text) -> dict[str, Array]:
        """Arrays by input. Raises InputError for what is no text, and for another number of texts than the model
        takes."""
        target, padding = self.target, self.target.tokenizer.padding
        texts = _texts(text, target.batch)
        try:
            encodings = [self._tokenizer.encode(*_both(one)) for one in texts]
        except Exception as error:  # the package raises Exception itself
            raise InputError(f"the text cannot be cut to {target.most} tokens: {error}") from None
        length = _length(max(len(e.ids) for e in encodings), target.length)
        shape = (len(texts), length)
        rows = {
            "ids": np.full(shape, padding.id),
            "mask": np.zeros(shape, int),
            "types": np.full(shape, padding.type),
        }
        for i, encoding in enumerate(encodings):
            count = len(encoding.ids)
            at = slice(length - count, length) if padding.left else slice(0, count)
            rows["ids"][i, at], rows["mask"][i, at], rows["types"][i, at] = encoding.ids, 1, encoding.type_ids
        rows["positions"] = np.maximum(rows["mask"].cumsum(axis=1) - 1, 0)
        return {
            v.name: (rows[role] if target.batch is not None else rows[role][0]).astype(v.dtype.numpy)
            for role, v in target.inputs.items()
        }


class TakingText(PassingStates):
    """`model` with text in place of the inputs of tokens, which it takes as well."""

    def __init__(self, model: Runnable, target: TextInput) -> None:
        self.model: Runnable = model
        self.backend = model.backend
        self._encoder = Encoder(target)

    def shown(self) -> Shown:
        shown = super().shown()
        tokens = {v.name for v in self._encoder.target.inputs.values()}
        others = {name: what for name, what in shown.inputs.items() if name not in tokens}
        return replace(shown, inputs={NAME: "str", **others})

    def run(self, inputs: Mapping[str, Any], **options: Any) -> dict[str, Any]:
        """As that of the model. Raises InputError for inputs that do not fit."""
        own = {v.name for v in self._encoder.target.inputs.values()}
        text = inputs.get(NAME)
        if NAME not in inputs or (NAME in own and not isinstance(text, str | list | tuple)):
            return self.model.run(inputs, **options)
        if twice := sorted(own & (inputs.keys() - {NAME})):
            raise InputError(f"inputs {NAME!r} and {twice[0]!r}: text makes {', '.join(sorted(own))}; leave them out")
        others = {name: value for name, value in inputs.items() if name != NAME}
        return self.model.run({**others, **self._encoder.encode(text)}, **options)  # type: ignore[arg-type]


def _texts(text: Text, batch: Extent | None) -> list[str | tuple[str, str] | list[str]]:
    texts = [text] if isinstance(text, str) else list(text) if isinstance(text, list | tuple) else []
    for one in texts:
        pair = isinstance(one, list | tuple) and len(one) == 2 and all(isinstance(part, str) for part in one)
        if not (isinstance(one, str) or pair):
            raise InputError(f"input {NAME!r}: a text is a string, or two in a list; this is {one!r}")
    if not texts:
        raise InputError(f"input {NAME!r}: give a string, or a list of them, not {text!r}")
    least, most, multiple = _range(1 if batch is None else batch)
    if not least <= len(texts) <= most or len(texts) % multiple:
        raise InputError(
            f"input {NAME!r}: the model takes {shown_range(least, most, multiple)} texts, not {len(texts)}"
        )
    return texts


def _both(text: str | tuple[str, str] | list[str]) -> tuple[str, str | None]:
    return (text, None) if isinstance(text, str) else (text[0], text[1])


def _range(extent: Extent) -> tuple[int, int, int]:
    return (extent, extent, 1) if isinstance(extent, int) else (extent.least, extent.most, extent.multiple)


def shown_range(least: int, most: int, multiple: int) -> str:
    return f"{least}{f' to {most}' if most > least else ''}{f', a multiple of {multiple},' if multiple > 1 else ''}"


def _length(count: int, extent: int | Dimension) -> int:
    least, _, multiple = _range(extent)
    return max(least, -(-count // multiple) * multiple)


class Decoder:
    """Makes text of ids. With a `blank` they are classes of CTC: of repeats one is left, and no blank."""

    def __init__(self, file: TokenizerFile, blank: int | None) -> None:
        self._tokenizer = open_tokenizer(file)
        self._spells = file.spells
        self._blank = blank

    def decode(self, ids: Sequence[int]) -> str:
        if self._blank is not None:
            ids = [n for i, n in enumerate(ids) if n != self._blank and (i == 0 or n != ids[i - 1])]
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=not self._spells)
        return text.strip() if self._spells else text
