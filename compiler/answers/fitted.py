"""Answers that fit a model: the interface of all kinds, and how outputs are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..dtypes import F16, F32, F64, ONNX_NUMBERS
from ..errors import InputError
from ..graph.ir import Array, Graph, Value
from ..graph.tail import Tail
from ..ir.sizes import shown
from ..tokenizers.tokenizer_file import TokenizerFile
from .formats import Answer
from .labels import Labels

FLOATS = (F32, F16, F64)


class Fitted(Protocol):
    """An answer of one kind, made of `takes`, outputs of the model. `kind` is the name of its type in a page, where
    runs return a list of such if there are `many`. `tokenizer` makes text of it."""

    @property
    def kind(self) -> str: ...

    @property
    def many(self) -> bool: ...

    @property
    def tokenizer(self) -> TokenizerFile | None: ...

    @property
    def takes(self) -> tuple[Value, ...]: ...

    @property
    def labels(self) -> Labels | None: ...

    @property
    def fields(self) -> Mapping[str, object]:
        """Facts that a page needs besides, as JSON."""
        ...

    def add(self, tail: Tail) -> dict[str, Value]:
        """Adds the nodes, and returns the outputs that take the place of `takes`, by their parts in the answer."""
        ...

    def read(self, parts: Mapping[str, Array], shapes: Mapping[str, Sequence[int]]) -> object:
        """The answer, from those outputs, in a run of inputs of these `shapes`."""
        ...

    def describe(self) -> str:
        """A line for the report."""
        ...


@dataclass(frozen=True, slots=True)
class OfOneOutput:
    """The part of `Fitted` that answers made of one output share, with no `fields` by default."""

    output: Value

    @property
    def takes(self) -> tuple[Value, ...]:
        return (self.output,)

    @property
    def fields(self) -> Mapping[str, object]:
        return {}


def find_output(graph: Graph, answer: Answer, fits: Callable[[Value], bool], expected: str) -> Value:
    """The output of an answer: the one that it names, or the only one that `fits`. Raises InputError, which says what
    is `expected`."""
    outputs = graph.outputs
    if answer.output is not None:
        outputs = tuple(v for v in outputs if v.name == answer.output)
        if not outputs:
            raise InputError(f"{answer}: the model has no such output; it has {names_of(graph.outputs)}")
    fitting = [v for v in outputs if fits(v)]
    if not fitting:
        found = "; ".join(map(described, outputs))
        raise InputError(f"{answer}: it takes {expected}; the model has {found}")
    if len(fitting) > 1:
        form = str(answer).removeprefix("--answer ")
        raise InputError(
            f"{answer}: several outputs fit it: {names_of(fitting)}; name one, as in --answer {fitting[0].name}={form}"
        )
    return fitting[0]


def described(value: Value) -> str:
    return f"{value.name} of {value.dtype}{shown(value.shape)}"


def names_of(values: Sequence[Value]) -> str:
    return ", ".join(v.name for v in values)


def extents(value: Value) -> tuple[int, ...]:
    """The extents of a shape; none where one varies."""
    return tuple(n for n in value.shape if isinstance(n, int)) if all(isinstance(n, int) for n in value.shape) else ()


def as_floats(tail: Tail, x: Value) -> Value:
    return x if x.dtype == F32 else tail.node("Cast", f"{x.name}.floats", x, to=ONNX_NUMBERS[F32])
