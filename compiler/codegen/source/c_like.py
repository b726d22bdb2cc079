"""The common part of C, OpenCL C and CUDA C: literals, and accesses to buffers."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf, isnan

import numpy as np

from ...dtypes import BOOL, U32, DType
from ...ir.affine import affine
from ...ir.lanes import Ramp
from ...ir.nodes import Buffer, Expr, Load, Store
from .dialect import ATOM, PRODUCT, Dialect, Text


class CLike(Dialect):
    """`names` are those of the parameters; `vectors` the parameters whose elements are vectors of four. `truth` are the
    literals of false and true; NAN and INFINITY are known by these names."""

    truth = ("0", "1")
    overflow_is_undefined = True

    def __init__(self, names: Mapping[Buffer, str], vectors: frozenset[Buffer]) -> None:
        self._names, self._vectors = names, vectors

    def memory_type(self, dtype: DType, lanes: int) -> str:
        """The type of an element of a global buffer, which may be another than that of values."""
        return self.type_name(dtype, lanes)

    def name_value(self, name: str, dtype: DType, lanes: int, value: str) -> str:
        return f"const {self.type_name(dtype, lanes)} {name} = {value};"

    def literal(self, value: int | float | bool, dtype: DType) -> Text:
        if dtype == BOOL:
            return Text(self.truth[bool(value)])
        if not dtype.is_float:
            if value == -(2**31):
                return Text("(-2147483647 - 1)")
            return Text(f"{value}{'u' if dtype == U32 else ''}", ATOM if value >= 0 else PRODUCT)
        if isnan(value):
            return Text("NAN")
        text = "INFINITY" if isinf(value) else f"{np.float32(abs(value))!s}f"
        negative = value < 0 or (value == 0 and np.signbit(value))
        return Text(f"-{text}", PRODUCT) if negative else Text(text)

    def unary(self, op: str, a: Text, dtype: DType, lanes: int) -> Text:
        if op not in ("neg", "abs") or dtype.kind != "int":
            return super().unary(op, a, dtype, lanes)
        zero = self.splat(self.literal(0, dtype), dtype, lanes)
        minus = self.wrapping("-", zero, a, dtype, lanes)
        if op == "neg":
            return minus
        return self.select(self.binary("<", a, zero, dtype, lanes), minus, a, dtype, lanes, lanes)

    def wrapping(self, op: str, a: Text, b: Text, dtype: DType, lanes: int) -> Text:
        if dtype.kind != "int" or op == "/":
            return self.binary(op, a, b, dtype, lanes)
        x, y = (self.bitcast(U32, operand, dtype, lanes) for operand in (a, b))
        return self.bitcast(dtype, self.binary(op, x, y, U32, lanes), U32, lanes)

    def address(self, access: Load | Store) -> tuple[Expr, ...]:
        (index,) = access.indices
        if not isinstance(index, Ramp):
            return (index,)
        if access.buffer in self._vectors:
            return (affine(index.base // index.lanes).to_expr(),)
        return (index.base,)

    def element(self, access: Load | Store, address: tuple[Text, ...]) -> str:
        """The operand of an access: a scalar, a vector of a buffer of these, or the first scalar of a vector."""
        return f"{self.name_of(access)}[{address[0].text}]"

    def name_of(self, access: Load | Store) -> str:
        """The parameter that an access is to."""
        return self._names[access.buffer]

    def spans_scalars(self, access: Load | Store) -> bool:
        """Whether a vector is read or written in a buffer of scalars, which may be at any of them."""
        return isinstance(access.indices[0], Ramp) and access.buffer not in self._vectors
