"""The argument of an operator function: its node's inputs and attributes, and the error for what is unsupported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from math import prod
from operator import or_
from typing import TypeVar, cast

import numpy as np

from ..dtypes import I32, DType
from ..errors import UnsupportedError
from ..ir.nodes import Expr
from ..ir.sizes import Size, capacity, equal, known_at_least, known_less, number, scalars_of, shown, text_of
from ..system.limits import ELEMENTS
from ..tensor import Tensor, compute
from ..tensor.bound_elements import span_of
from ..tensor.known_elements import known_elements
from ..text.escape import shell_word
from .equal_sizes import advice_for

Array = np.ndarray
T = TypeVar("T")

_KINDS = {int: "an integer", float: "a float", str: "a string", tuple: "a list", Array: "a tensor"}
"""Types of attributes, as messages name them."""

_LONGEST_REASON = 1000
"""Characters."""


OWN_DOMAIN = "webnn_compile"
"""The domain of operators that importers and graph passes make, under names that no other domain has."""


def operator_name(domain: str, op_type: str) -> str:
    """The operator as messages and reports name it: `Relu` of ai.onnx, `com.microsoft.Gelu` of other domains."""
    return f"{domain}.{op_type}" if domain and domain != OWN_DOMAIN else op_type


class NotKnownError(UnsupportedError):
    """An operand that decides a shape is computed at run time: `value` is its name. `of_sizes` is the message where it
    is computed from sizes alone, which importers know."""

    def __init__(self, message: str, value: str, of_sizes: str) -> None:
        super().__init__(message)
        self.value = value
        self.of_sizes = of_sizes


class SizesDifferError(UnsupportedError):
    """Two sizes have to be equal, and are not known to be: `sizes`."""

    def __init__(self, message: str, sizes: tuple[Size, Size]) -> None:
        super().__init__(message)
        self.sizes = sizes


@dataclass(frozen=True, slots=True)
class Call:
    """One use of an operator: `name` is the node's, `opset` the version of the operator's `domain` ("" for ai.onnx),
    `inputs` are tensors (None where absent), `outputs` the number of results that the node names. `refusals` are int32
    tensors of one element that are 1 where a run must end with an error, and its text."""

    op_type: str
    name: str
    opset: int
    attributes: Mapping[str, object]
    inputs: tuple[Tensor | None, ...]
    outputs: int
    domain: str = ""
    refusals: list[tuple[Tensor, str]] = field(default_factory=list, compare=False)

    @property
    def op(self) -> str:
        """The operator's name with its domain, but for ai.onnx."""
        return operator_name(self.domain, self.op_type)

    def has(self, index: int) -> bool:
        """Whether input `index` is there."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def input(self, index: int, shape: Sequence[Size | None] | None = None) -> Tensor:
        """Input `index`, which ONNX requires; of `shape`, if one is given, where None stands for any extent.

        Raises UnsupportedError where it is missing or of another shape.
        """
        t = self.optional(index, shape)
        if t is None:
            raise self.unsupported(f"input {index} is missing", "the model is invalid: export it again")
        return t

    def image(self, index: int) -> Tensor:
        """Input `index`, whose first dimensions are batch and channels. Raises UnsupportedError for fewer than two."""
        t = self.input(index)
        if t.rank < 2:
            raise self.unsupported(
                f"input {index} ({t.name!r}) has shape {shown(t.shape)}, without a batch and channels",
                "check the input shape",
            )
        return t

    def optional(self, index: int, shape: Sequence[Size | None] | None = None) -> Tensor | None:
        """Like `input`; None where it is absent."""
        t = self.inputs[index] if index < len(self.inputs) else None
        if t is None or shape is None:
            return t
        expected = ", ".join("any" if e is None else text_of(e) for e in shape)
        reason = f"input {index} ({t.name!r}) has shape {shown(t.shape)}, where [{expected}] is expected"
        if t.rank != len(shape):
            raise self.unsupported(reason, "the model is invalid: export it again")
        for expects, has in zip(shape, t.shape, strict=True):
            if expects is not None:
                self.check_equal(has, expects, reason, "the model is invalid: export it again")
        return t

    def check_equal(self, a: Size, b: Size, reason: str, advice: str) -> None:
        """Raises UnsupportedError for this reason unless two sizes are equal, SizesDifferError where they may be."""
        same = equal(a, b)
        if same is None:
            raise SizesDifferError(str(self.unsupported(reason, advice_for([(a, b)]))), (a, b))
        if not same:
            raise self.unsupported(reason, advice)

    def check_shape(self, t: Tensor, shapes: Iterable[Sequence[Size | None]], reason: str, advice: str) -> None:
        """Raises UnsupportedError for this reason unless `t` has one of these shapes, where None stands for any extent,
        SizesDifferError where it may have one."""
        possible: list[tuple[Size, Size]] = []
        for shape in (s for s in shapes if len(s) == t.rank):
            pairs = [(a, b) for a, b in zip(t.shape, shape, strict=True) if b is not None]
            differing = [pair for pair in pairs if not equal(*pair)]
            if not differing:
                return
            if all(equal(*pair) is None for pair in differing):
                possible.append(differing[0])
        if possible:
            raise SizesDifferError(str(self.unsupported(reason, advice_for(possible[:1]))), possible[0])
        raise self.unsupported(reason, advice)

    def check_dtypes(self, indices: Iterable[int], *dtypes: DType) -> None:
        """Raises UnsupportedError unless these inputs, where they are there, have one dtype, of `dtypes`: for operators
        of other domains than ai.onnx, whose types nothing checks before."""
        tensors = {i: t for i in indices if (t := self.inputs[i] if i < len(self.inputs) else None) is not None}
        for i, t in tensors.items():
            expected = dtypes if i == next(iter(tensors)) else (tensors[next(iter(tensors))].dtype,)
            if t.dtype not in expected:
                raise self.unsupported(
                    f"input {i} ({t.name!r}) is {t.dtype}, where {' or '.join(map(str, expected))} is expected",
                    "the model is invalid: export it again",
                )

    def fixed(self, t: Tensor, dimensions: Iterable[int] | None = None) -> tuple[int, ...]:
        """The extents of these dimensions of `t`, by default of all.

        Raises UnsupportedError where one is known at run time only: the operator's definition needs the number.
        """
        sizes = [t.shape[d] for d in (range(t.rank) if dimensions is None else dimensions)]
        return tuple(self.fixed_size(n, f"of {t.name!r}, whose shape is {shown(t.shape)}") for n in sizes)

    def fixed_size(self, n: Size, what: str) -> int:
        """`n`, if it is a number. Raises UnsupportedError where it is known at run time only."""
        if isinstance(n, int):
            return n
        names = dict.fromkeys(s.name for s in scalars_of(n) if not s.computed)
        flags = " ".join(f"--dim {shell_word(name)}=NUMBER" for name in names)
        raise self.unsupported(
            f"it needs a fixed size {what}, and {text_of(n)} is known at run time only",
            f"fix it: {flags}" if flags else "make it a constant in the model, or what decides it by --fix NAME=VALUE",
        )

    def every_input(self) -> list[Tensor]:
        """All inputs of an operator that takes any number of them."""
        return [self.input(i) for i in range(len(self.inputs))]

    def attribute(self, name: str, default: T) -> T:
        """An attribute, or `default`. Raises UnsupportedError for one of another type than the default's in other
        domains than ai.onnx, where nothing checks it before."""
        value = self.attributes.get(name)
        if value is None:
            return default
        if self.domain and default is not None and type(value) is not type(default):
            actual, expected = (_KINDS.get(type(v), "of another type") for v in (value, default))
            raise self.unsupported(
                f"attribute {name} is {actual}, where {expected} is expected", "the model is invalid: export it again"
            )
        return cast(T, value)

    def flag(self, name: str, default: int) -> bool:
        """An attribute that is 0 or 1. Some other number is not true, as in onnxruntime."""
        return self.attribute(name, default) == 1

    def checked_flag(self, name: str) -> bool:
        """An attribute that is 0, the default, or 1. Raises UnsupportedError for another number, where onnxruntime
        accepts none."""
        value = self.attribute(name, 0)
        if value not in (0, 1):
            raise self.unsupported(f"attribute {name}={value} is neither 0 nor 1", "the model is invalid")
        return value == 1

    def constant(self, index: int, what: str) -> Array | None:
        """The value of optional input `index`, which must be known at compile time; None where absent.

        Raises UnsupportedError where it is computed at run time.
        """
        if not self.has(index):
            return None
        data = self.input(index).data
        if data is None:
            raise self.not_known(index, what)
        return data

    def not_known(self, index: int, what: str, otherwise: str = "") -> NotKnownError:
        """The error of an input that decides a shape, and is computed at run time; `otherwise` is further advice."""
        t = self.input(index)
        error = self.unsupported(
            f"its input '{what}' is computed at run time, so the shape of the result is not known at compile time",
            f"make {t.name!r} a constant, or the inputs that decide it, by --fix NAME=VALUE, or bound a size among "
            f"them by --dim NAME=LEAST..MOST{otherwise}",
        )
        of_sizes = self.unsupported(
            f"its input '{what}' is computed from sizes that vary, by arithmetic that is followed in integers, and in "
            "floating point where it is exact",
            "fix these sizes by --dim NAME=NUMBER, or compute them in integers in the model",
        )
        return NotKnownError(str(error), t.name, str(of_sizes))

    def sizes(self, index: int, what: str) -> tuple[Size, ...] | None:
        """Like `ints`, where the elements may also be known as sizes, by arithmetic on shapes, or computed by a run
        between bounds."""
        t = self.optional(index)
        if t is None or t.data is not None:
            return self.ints(index, what)
        elements = self.known_sizes(index)
        if elements is None:
            return self._bounded(index, what, None if t.bounds is None or t.dtype.is_float else t.bounds.elements)
        return elements

    def counts(self, index: int, what: str) -> tuple[Size, ...] | None:
        """Like `sizes`, of numbers that are not negative, so that an upper bound will do: where a run computes another
        one, it ends with an error."""
        t = self.optional(index)
        if t is None or t.bounds is None or self.known_sizes(index) is not None:
            known = self.sizes(index, what)
            for n in known or ():
                if not isinstance(n, int):
                    self.require_at_least(n, 0, f"{text_of(n)}, of its input '{what}', is negative")
            return known
        sizes = self._bounded(index, what, t.bounds.counts)
        if span_of(t)[0] < 0:
            negative = (t[at] < 0 for at in product(*map(range, t.extents)))
            self.refuse_where(reduce(or_, negative), (t,), f"this run computes a negative number as its input '{what}'")
        return sizes

    def _bounded(self, index: int, what: str, bounded: Sequence[Size | None] | None) -> tuple[Size, ...]:
        sizes = tuple(n for n in bounded or () if n is not None)
        too_many = prod(max(capacity(n), 1) for n in sizes) > ELEMENTS
        if bounded is None or len(sizes) < len(bounded) or self.input(index).rank > 1 or too_many:
            raise self.not_known(index, what, ", or in the model by Min or Clip")
        return sizes

    def known_sizes(self, index: int) -> tuple[Size, ...] | None:
        """The elements of an input where they are known as sizes; None where a run computes them."""
        t = self.input(index)
        if t.rank > 1:
            return None
        if t.data is not None:
            return tuple(map(int, t.data.reshape(-1)))
        return known_elements(t)

    def element(self, index: int, *, count: bool = False) -> Size | None:
        """The first element of an input as a size; with `count` its maximum with 0 where it is not known. None where a
        run computes it without bounds."""
        sizes = self.known_sizes(index)
        if sizes is not None:
            return sizes[0] if sizes else None
        bounds = None if self.input(index).dtype.is_float else self.input(index).bounds
        bounded = None if bounds is None else bounds.counts if count else bounds.elements
        return bounded[0] if bounded else None

    def ints(self, index: int, what: str) -> tuple[int, ...] | None:
        """Like `constant`, as a tuple of Python ints. Raises UnsupportedError for more than one dimension."""
        data = self._vector(index, what)
        if data is not None and not np.isfinite(data).all():
            raise self.unsupported(f"its input '{what}' is {data.tolist()}, not an integer", "the model is invalid")
        return None if data is None else tuple(int(v) for v in data)

    def floats(self, index: int, what: str) -> tuple[float, ...] | None:
        """Like `ints`, of floats."""
        data = self._vector(index, what)
        return None if data is None else tuple(float(v) for v in data)

    def _vector(self, index: int, what: str) -> Array | None:
        data = self.constant(index, what)
        if data is not None and data.ndim > 1:
            raise self.unsupported(
                f"its input '{what}' has shape {shown(data.shape)}, not one dimension", "the model is invalid"
            )
        return None if data is None else data.reshape(-1)

    def refuse_where(self, wrong: Expr, reads: Sequence[Tensor], reason: str) -> None:
        """A run ends with an error where `wrong`, a bool computed from `reads`, is true: operands are invalid that are
        known at run time only. Of a node within a region that counts in runs and iterations that carry it out."""
        flag = compute(f"{self.name}.refused{len(self.refusals) or ''}", (1,), tuple(reads), lambda _: wrong.cast(I32))
        text = f"{self.op} (node {self.name!r}): {reason}; check the inputs of the model that decide it"
        self.refusals.append((flag, text))

    def require_at_least(self, a: Size, b: Size, reason: str) -> None:
        """A run in which the size `a` is less than `b` ends with an error. Raises UnsupportedError where each would."""
        if known_less(a, b):
            raise self.unsupported(reason, "the model is invalid, or its input shapes are too small")
        if not known_at_least(a, b):
            self.refuse_where(number(a) < number(b), (), f"{reason} in this run")

    def unsupported(self, reason: str, advice: str) -> UnsupportedError:
        if len(reason) > _LONGEST_REASON:  # a list of as many axes as a tensor has elements
            reason = f"{reason[:_LONGEST_REASON]}..."
        return UnsupportedError(f"{self.op} (node {self.name!r}): {reason}; {advice}")
