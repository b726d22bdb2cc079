"""A vector of the whole input, of length 1 where that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..dtypes import BOOL, F32, ONNX_NUMBERS
from ..graph.ir import Array, Graph, Value
from ..graph.tail import Tail
from ..tokenizers.take_text import alike, named
from .classify import count_of
from .fitted import FLOATS, OfOneOutput, as_floats, find_output
from .formats import Answer, Embed
from .labels import Labels


@dataclass(frozen=True, slots=True)
class Embedding(OfOneOutput):
    """The elements of an output, `normalised` or not. With a `pool`, of POOLS, the output has vectors of tokens,
    [batch, length, size] or [length, size], of which those count where `mask`, an input, is not 0. `many`: vectors of
    a batch."""

    size: int
    normalised: bool
    pool: str | None = None
    mask: Value | None = None
    many: bool = False

    kind = "embedding"
    tokenizer = None

    @property
    def labels(self) -> Labels | None:
        return None

    def add(self, tail: Tail) -> dict[str, Value]:
        name = self.output.name
        x = as_floats(tail, self.output)
        if self.pool is not None:
            x = self._pooled(tail, x)
        x = tail.reshaped(f"{name}.vector", x, *((-1, self.size) if self.many else (self.size,)))
        if self.normalised:
            length = tail.node("ReduceL2", f"{name}.length", x, axes=(len(x.shape) - 1,), keepdims=1)
            some = tail.node("Max", f"{name}.some", length, tail.constant(f"{name}.least", 1e-12))
            x = tail.node("Div", f"{name}.normalised", x, some)
        return {"vector": x}

    def _pooled(self, tail: Tail, x: Value) -> Value:
        """One vector of each text."""
        name, axis = self.output.name, len(x.shape) - 2

        def end(begin: int, stop: int) -> Value:
            places = (tail.constant(f"{name}.{part}", [n], np.int64) for part, n in (("begin", begin), ("stop", stop)))
            return tail.node("Slice", f"{name}.token", x, *places, tail.constant(f"{name}.along", [axis], np.int64))

        if self.pool == "cls" and self.mask is None:
            return end(0, 1)
        if self.mask is None:
            return (
                end(-1, 2**31 - 1)
                if self.pool == "last"
                else tail.node("ReduceMean", f"{name}.mean", x, axes=(axis,), keepdims=1)
            )
        # Elements of padding may be anything, NaN among it, so they are left out, not multiplied by 0.
        counts = self.mask
        if counts.dtype != BOOL:
            counts = tail.node("Cast", f"{name}.tokens", counts, to=ONNX_NUMBERS[BOOL])
        ones = tail.node("Cast", f"{name}.ones", counts, to=ONNX_NUMBERS[F32])
        if self.pool != "mean":
            # With itself the first token is the only one so far, from either end.
            along = tail.constant(f"{name}.along", axis, np.int64)
            ranks = tail.node("CumSum", f"{name}.ranks", ones, along, reverse=int(self.pool == "last"))
            chosen = tail.node("Equal", f"{name}.chosen", ranks, tail.constant(f"{name}.one", 1.0))
            counts = tail.node("And", f"{name}.end", counts, chosen)
        last = tail.constant(f"{name}.size_axis", [-1], np.int64)
        kept = tail.node("Unsqueeze", f"{name}.kept", counts, last)
        x = tail.node("Where", f"{name}.tokens_only", kept, x, tail.constant(f"{name}.nothing", 0.0))
        axes = tail.constant(f"{name}.axes", [axis], np.int64)
        total = tail.node("ReduceSum", f"{name}.total", x, axes, keepdims=1)
        if self.pool != "mean":
            return total
        count = tail.node("ReduceSum", f"{name}.count", ones, axes, keepdims=1)
        some = tail.node("Max", f"{name}.some_tokens", count, tail.constant(f"{name}.least_tokens", 1e-9))
        return tail.node("Div", f"{name}.mean", total, tail.node("Unsqueeze", f"{name}.counts", some, last))

    def read(self, parts: Mapping[str, Array], shapes: object) -> Array | list[Array]:
        return [*np.array(parts["vector"])] if self.many else np.array(parts["vector"])

    def describe(self) -> str:
        pooled = {"mean": "the mean of tokens' in ", "cls": "the first token's in ", "last": "the last token's in "}
        of = "" if self.pool is None else pooled[self.pool]
        counted = "" if self.mask is None else f" by {self.mask.name}"
        length = ", of length 1" if self.normalised else ""
        return f"a vector of {self.size}{' of each text' if self.many else ''}{length}, {of}{self.output.name}{counted}"


def fit_embedding(graph: Graph, answer: Answer, form: Embed) -> Embedding:
    """Raises InputError where no output is a vector, or has vectors of tokens where it is to be pooled."""
    if form.pool is None:
        output = find_output(graph, answer, lambda v: bool(_vector(v)), "an output of float32[batch, size]")
        many = count_of(output) == 0
        return Embedding(output, _vector(output), form.normalise, many=many)
    expected = "an output with a vector of each token, float32[batch, length, size]"
    rank = max((len(v.shape) for v in graph.outputs if len(v.shape) in (2, 3)), default=3)  # beside pooled ones

    def fits(v: Value) -> bool:
        return v.dtype in FLOATS and len(v.shape) == rank and isinstance(v.shape[-1], int)

    output = find_output(graph, answer, fits, expected)
    size, mask = output.shape[-1], named(graph, "mask")
    assert isinstance(size, int)
    if mask is not None and not alike(mask.shape, output.shape[:-1]):
        mask = None
    return Embedding(output, size, form.normalise, form.pool, mask, len(output.shape) == 3 and output.shape[0] != 1)


def _vector(v: Value) -> int:
    """The size of an output's vectors, one or those of a batch; 0 for another output."""
    if count_of(v) > 1:
        return count_of(v)
    size = v.shape[-1] if len(v.shape) == 2 and v.dtype in FLOATS else 0
    return size if isinstance(size, int) and size > 1 else 0
