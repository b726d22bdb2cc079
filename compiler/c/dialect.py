"""C99, with vectors as GCC and Clang have them (https://gcc.gnu.org/onlinedocs/gcc/Vector-Extensions.html).

Truth values are int, 0 or 1, as scalars, and -1 or 0 in vectors, the results of comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf, isnan

import numpy as np

from ..codegen.source import ATOM, LOWEST, PRODUCT, CLike, Text
from ..dtypes import BOOL, F16, F32, F64, I32, I64, U64, DType
from ..ir.lanes import Ramp
from ..ir.nodes import Buffer, Load, Store
from .prelude import MASK, SCALARS, Prelude, unsigned

_MATHS = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "nearbyint", "abs": "fabs"}
_COMPARISONS = ("==", "!=", "<", "<=")


class C(CLike):
    """`prelude` receives what the text uses."""

    mixes_scalars = False

    def __init__(self, names: Mapping[Buffer, str], prelude: Prelude) -> None:
        super().__init__(names, frozenset())
        self._prelude = prelude

    def type_name(self, dtype: DType, lanes: int) -> str:
        if lanes > 1:
            return self._prelude.vector(MASK if dtype == BOOL else dtype, lanes)
        return "int" if dtype == BOOL else SCALARS[dtype]

    def cores_loop(self, name: str, end: str) -> str:
        return f"SHARED_BY_THREADS {self.loop(name, end)}"

    def literal(self, value: int | float | bool, dtype: DType) -> Text:
        if dtype == F64:
            if isnan(value) or isinf(value):
                return super().literal(value, F32)
            return Text(repr(float(value)), PRODUCT if value < 0 else ATOM)
        if dtype == F16:
            return Text(hex(int(np.float16(value).view(np.uint16))))  # its bits, as SCALARS has it
        if dtype in (I64, U64):
            kind = "" if dtype == I64 else "U"
            if value == -(2**63):
                return Text("INT64_MIN")
            return Text(f"{kind}INT64_C({value})")
        return super().literal(value, dtype)

    def unary(self, op: str, a: Text, dtype: DType, lanes: int) -> Text:
        if op == "not":
            if dtype == BOOL:
                return Text(f"{'!' if lanes == 1 else '~'}{a.atom}", PRODUCT)
            return self._as(dtype, lanes, Text(f"~{a.atom}", PRODUCT))
        if dtype.is_float:
            if op == "neg":
                return super().unary(op, a, dtype, lanes)
            function = _MATHS[op] + ("f" if dtype == F32 else "")
            return Text(f"{function if lanes == 1 else self._prelude.each(function, dtype, lanes)}({a.text})")
        if op == "neg" and dtype.kind == "uint":
            return self.wrapping("-", self.splat(self.literal(0, dtype), dtype, lanes), a, dtype, lanes)
        if op in ("neg", "abs") and dtype.kind == "int":
            return super().unary(op, a, dtype, lanes)
        return a  # rounding, or what is not negative

    def binary(self, op: str, a: Text, b: Text, dtype: DType, lanes: int) -> Text:
        if lanes > 1 and op in _COMPARISONS:
            compared = super().binary(op, a, b, dtype, lanes)
            bits = MASK.bits if dtype == BOOL else dtype.bits
            return compared if bits == MASK.bits else Text(f"{self._prelude.mask(dtype, lanes)}({compared.text})")
        if op in ("shl", "shr") and not dtype.is_float:
            if op == "shl" and dtype.kind == "int":
                shifted = super().binary(op, self._as(unsigned(dtype), lanes, a), b, dtype, lanes)
                return self._as(dtype, lanes, shifted)
            return self._as(dtype, lanes, super().binary(op, a, b, dtype, lanes))
        return super().binary(op, a, b, dtype, lanes)

    def wrapping(self, op: str, a: Text, b: Text, dtype: DType, lanes: int) -> Text:
        if dtype.is_float or op == "/" or (lanes == 1 and dtype.kind == "uint" and dtype.bits >= 32):
            return self._as_small(dtype, lanes, self.binary(op, a, b, dtype, lanes))
        if lanes == 1 and dtype.bits < 32:
            # C computes with int, which holds all sums and the products of these but of uint16.
            wide = Text(f"(uint32_t){a.atom}", PRODUCT)
            return self._as(dtype, 1, self.binary(op, wide, b, dtype, 1))
        without_sign = unsigned(dtype)
        x, y = (self._as(without_sign, lanes, operand) for operand in (a, b))
        return self._as(dtype, lanes, self.binary(op, x, y, without_sign, lanes))

    def _as_small(self, dtype: DType, lanes: int, a: Text) -> Text:
        """Converts a value that C promoted to int back to its type."""
        return self._as(dtype, 1, a) if lanes == 1 and dtype.is_int and dtype.bits < 32 else a

    def _as(self, dtype: DType, lanes: int, a: Text) -> Text:
        """Converted, of integers of one size: vectors then keep their bits."""
        return Text(f"({self.type_name(dtype, lanes)}){a.atom}", PRODUCT)

    def cast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        if to == BOOL:
            return super().cast(to, a, source, lanes)
        if source.is_float and to.is_int:
            return Text(f"{self._prelude.to_integer(to, source, lanes)}({a.text})")
        if lanes == 1:
            return self._as(to, 1, a)
        if source == BOOL:
            one = self.splat(Text("1"), I32, lanes)
            a, source = self.binary("and", a, one, I32, lanes), I32
        return Text(f"__builtin_convertvector({a.text}, {self.type_name(to, lanes)})")

    def splat(self, a: Text, dtype: DType, lanes: int) -> Text:
        if lanes == 1:
            return a
        text = f"-({a.at(PRODUCT)} != 0)" if dtype == BOOL else a.text
        return Text(f"{self._prelude.all(MASK if dtype == BOOL else dtype, lanes)}({text})")

    def vector(self, parts: list[Text], dtype: DType) -> Text:
        texts = (f"-({p.at(PRODUCT)} != 0)" if dtype == BOOL else p.text for p in parts)
        return Text(f"({self.type_name(dtype, len(parts))}){{{', '.join(texts)}}}")

    def select(self, cond: Text, a: Text, b: Text, dtype: DType, lanes: int, cond_lanes: int) -> Text:
        if cond_lanes > 1:
            function = self._prelude.choose(MASK if dtype == BOOL else dtype, lanes)
            return Text(f"{function}({cond.text}, {a.text}, {b.text})")
        if lanes > 1:
            # A vector that is loaded is const, which is another type for this operator.
            vector = self._prelude.vector(MASK if dtype == BOOL else dtype, lanes)
            a, b = (Text(f"({vector}){x.atom}", PRODUCT) for x in (a, b))
        return Text(f"{cond.at(LOWEST + 1)} ? {a.at(LOWEST + 1)} : {b.at(LOWEST + 1)}", LOWEST)

    def bitcast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        if lanes > 1 or F16 in (to, source):
            return self._as(to, lanes, a)
        return Text(f"{self._prelude.bits(to, source)}({a.text})")

    def extract(self, a: Text, lane: int) -> Text:
        return Text(f"{a.atom}[{lane}]")

    def load(self, access: Load, address: tuple[Text, ...]) -> Text:
        place, ramp = self.element(access, address), access.indices[0]
        if not isinstance(ramp, Ramp):
            return Text(place)
        dtype = access.dtype
        loaded = Text(f"*(const {self._prelude.vector(dtype, ramp.lanes)} *)&{place}", PRODUCT)
        if dtype != BOOL:
            return loaded
        mask = Text(f"__builtin_convertvector({loaded.text}, {self._prelude.vector(MASK, ramp.lanes)})")
        return Text(f"-{mask.text}", PRODUCT)

    def store(self, access: Store, address: tuple[Text, ...], value: Text) -> list[str]:
        place, ramp = self.element(access, address), access.indices[0]
        dtype = access.buffer.dtype
        if not isinstance(ramp, Ramp):
            return [f"{place} = {value.text};"]
        kind = self._prelude.vector(dtype, ramp.lanes)
        if dtype == BOOL:
            value = Text(f"__builtin_convertvector(-{value.atom}, {kind})")
        return [f"*({kind} *)&{place} = {value.text};"]
