"""Models that take text: the inputs that its tokens fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..dtypes import BOOL, F32, I32, I64, DType
from ..errors import InputError
from ..graph.ir import Array, Graph, Value
from ..ir.sizes import Size, shown, size
from ..program.dimensions import Dimension
from .chat_template import ChatTemplate, find_template
from .tokenizer_file import TokenizerFile, read_tokenizer

NAME = "text"
"""Under which runs take it."""

NAMES: Mapping[str, tuple[str, ...]] = {
    "ids": ("input_ids", "input_tokens", "token_ids", "tokens", "ids", "text"),
    "mask": ("attention_mask", "input_mask", "mask"),
    "types": ("token_type_ids", "segment_ids", "type_ids"),
    "positions": ("position_ids",),
}
"""Usual names of the inputs, by what they hold: tokens; 1 where there is one; whether it is of the second text; its
number."""

DTYPES: Mapping[str, tuple[DType, ...]] = {
    "ids": (I64, I32),
    "mask": (I64, I32, F32, BOOL),
    "types": (I64, I32),
    "positions": (I64, I32),
}

Extent = int | Dimension


@dataclass(frozen=True, eq=False, slots=True)
class TextOptions:
    """Runs take text, by a `tokenizer`; `input` is the one of its tokens, None for the one with a usual name. Messages
    are text by the template `chat`."""

    tokenizer: TokenizerFile
    input: str | None = None
    chat: ChatTemplate | None = None


def parse_text(text: str | Path, chat: str | Path | None = None) -> TextOptions:
    """FILE, or INPUT=FILE, of a tokenizer, and the file of its chat template, where this is not beside it. Raises
    InputError."""
    name, _, path = str(text).rpartition("=")
    if not name or Path(text).is_file():
        name, path = "", str(text)
    tokenizer = read_tokenizer(path)
    template = find_template(Path(path).parent, None if chat is None else Path(chat))
    return TextOptions(tokenizer, name or None, template)


@dataclass(frozen=True, eq=False, slots=True)
class TextInput:
    """`inputs`, by role of NAMES, that texts fill: [batch, length], or [length] without a batch. `most` tokens are of
    a text, with those of its template."""

    tokenizer: TokenizerFile
    inputs: Mapping[str, Value]
    batch: Extent | None
    length: Extent

    @property
    def most(self) -> int:
        room = self.length if isinstance(self.length, int) else self.length.most
        return min(room, self.tokenizer.truncation.most or room)

    def describe(self) -> str:
        """A line for the report."""
        names = ", ".join(v.name for v in self.inputs.values())
        return f"fills {names}; up to {self.most} tokens, of {self.tokenizer.ids}"

    def draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> dict[str, Array]:
        """Inputs at random of this shape, with padding behind the tokens."""
        counts = generator.integers(1, shape[-1] + 1, (*shape[:-1], 1))
        mask = np.arange(shape[-1]) < counts
        drawn = {
            "ids": generator.integers(0, self.tokenizer.ids, shape),
            "mask": mask,
            "types": generator.integers(0, 2, shape) if len(_types_of(self.tokenizer)) > 1 else np.zeros(shape),
            "positions": np.broadcast_to(np.arange(shape[-1]), shape),
        }
        return {v.name: np.ascontiguousarray(drawn[role], v.dtype.numpy) for role, v in self.inputs.items()}


def _types_of(tokenizer: TokenizerFile) -> set[int]:
    return {kind for _, kind in tokenizer.pair}


def fit_text(graph: Graph, tokenizer: TokenizerFile, ids: str | None = None) -> TextInput:
    """The inputs that text fills; `ids` names the one of the tokens. Raises InputError where there is none, or where
    the tokenizer is another model's."""
    where = tokenizer.source
    tokens = _tokens(graph, ids, where)
    inputs = {"ids": tokens}
    for role in ("mask", "types", "positions"):
        value = named(graph, role)
        if value is not None and value.dtype in DTYPES[role] and alike(value.shape, tokens.shape):
            inputs[role] = value
    for v in graph.inputs:
        if v.name == NAME and v not in inputs.values():
            raise InputError(f"{where}: the model has an input {NAME!r} of its own, so runs cannot take text by it")
    extents = [_extent(n, graph.dimensions) for n in tokens.shape]
    if None in extents:
        raise InputError(
            f"{where}: {tokens.name} is {shown(tokens.shape)}; fix its sizes, or give their range, by --dim or --shape"
        )
    *batch, length = (e for e in extents if e is not None)
    _check_ids(graph, tokens, tokenizer)
    made = TextInput(tokenizer, inputs, batch[0] if batch else None, length)
    added = sum(isinstance(item, int) for item, _ in tokenizer.single)
    if made.most <= added:
        raise InputError(
            f"{where}: {tokens.name} has room for {made.most} tokens, of which the tokenizer adds {added} to each text"
        )
    return made


def named(graph: Graph, role: str) -> Value | None:
    """The input that has one of a role's usual names."""
    by_name = {v.name.removesuffix(":0"): v for v in reversed(graph.inputs)}
    return next((by_name[name] for name in NAMES[role] if name in by_name), None)


def _tokens(graph: Graph, name: str | None, where: str) -> Value:
    inputs = ", ".join(f"{v.name} of {v.dtype}{shown(v.shape)}" for v in graph.inputs) or "none"
    if name is None:
        found = named(graph, "ids")
        if found is None:
            usual = ", ".join(NAMES["ids"])
            raise InputError(
                f"{where}: no input has a usual name of tokens ({usual}); name it, as in --text INPUT=tokenizer.json. "
                f"The model's inputs: {inputs}"
            )
    else:
        found = next((v for v in graph.inputs if v.name == name), None)
        if found is None:
            raise InputError(f"{where}: the model has no input {name!r}; it has {inputs}")
    if found.dtype not in DTYPES["ids"] or len(found.shape) not in (1, 2):
        raise InputError(
            f"{where}: {found.name} is {found.dtype}{shown(found.shape)}; tokens fill one of int64 or int32, [batch, "
            "length] or [length]"
        )
    return found


def alike(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Whether shapes may be the same."""
    apart = (isinstance(x, int) and isinstance(y, int) and x != y for x, y in zip(a, b, strict=False))
    return len(a) == len(b) and not any(apart)


def _extent(n: Size, dimensions: Sequence[Dimension]) -> Extent | None:
    if isinstance(n, int):
        return n
    return next((d for d in dimensions if d.value_of is None and size(n) == size(d.scalar * d.multiple)), None)


def _check_ids(graph: Graph, tokens: Value, tokenizer: TokenizerFile) -> None:
    """Raises InputError where a table that is read by the tokens has fewer rows than there are ids."""
    reached = {tokens}
    for node in graph.nodes:
        first = node.inputs[0] if node.inputs else None
        if node.op in ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten") and first in reached:
            reached |= {v for v in node.outputs if v is not None}
        elif (
            node.op == "Gather" and node.inputs[1] in reached and first is not None and not node.attributes.get("axis")
        ):
            rows = first.shape[0] if first.shape else 0
            if isinstance(rows, int) and rows < tokenizer.ids:
                raise InputError(
                    f"{tokenizer.source}: it has ids up to {tokenizer.ids - 1}, and {first.name!r}, the table that "
                    f"{tokens.name} is looked up in, {rows} rows: it is the tokenizer of another model"
                )
