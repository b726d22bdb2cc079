"""The subset of WGSL that kernels use (https://www.w3.org/TR/WGSL/)."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf, isnan

import numpy as np

from ..codegen.source import ATOM, PRODUCT, Dialect, Text
from ..dtypes import BOOL, F16, F32, I32, U32, DType
from ..ir.affine import affine
from ..ir.all_reduce import Among
from ..ir.lanes import Ramp
from ..ir.nodes import Buffer, Expr, Load, Store
from ..ir.scalar_ops import SIGNED

SCALARS = {F32: "f32", F16: "f16", I32: "i32", U32: "u32", BOOL: "bool"}
VECTORS = {F32: "vec4f", F16: "vec4h", I32: "vec4i", U32: "vec4u", BOOL: "vec4<bool>"}


QUADS_OF_VECTORS = "signed_quads"
_EACH = ", ".join(f"dot4I8Packed(a.{lane}, b.{lane})" for lane in "xyzw")
QUADS_FUNCTION = f"fn {QUADS_OF_VECTORS}(a: vec4u, b: vec4u) -> vec4i {{ return vec4i({_EACH}); }}"
"""For vectors, which the language's own does not take."""

COLLECTIVES = {"+": "Add", "*": "Mul", "max": "Max", "min": "Min"}
"""The names of subgroup operations."""


class Wgsl(Dialect):
    """`names` are those of the parameters; `vectors` the parameters that are arrays of vec4. `specials` are the
    infinities and NaN that were printed: the language has no literal for them, and rejects constant expressions that
    yield them, hence they are the bits of variables of the module. `has_quads`: QUADS_FUNCTION was called."""

    def __init__(self, names: Mapping[Buffer, str], vectors: frozenset[Buffer]) -> None:
        self._names, self._vectors = names, vectors
        self.specials: dict[str, str] = {}
        self.has_quads = False

    def type_name(self, dtype: DType, lanes: int) -> str:
        return SCALARS[dtype] if lanes == 1 else VECTORS[dtype]

    def name_value(self, name: str, dtype: DType, lanes: int, value: str) -> str:
        return f"let {name} = {value};"

    def declare(self, name: str, dtype: DType, lanes: int, value: str | None) -> str:
        return f"var {name}: {self.type_name(dtype, lanes)};" if value is None else f"var {name} = {value};"

    def declare_array(self, name: str, dtype: DType, lanes: int, count: int) -> str:
        return f"var {name}: array<{self.type_name(dtype, lanes)}, {count}>;"

    def loop(self, name: str, end: str) -> str:
        return f"for (var {name} = 0; {name} < {end}; {name}++) {{"

    def barrier(self) -> str:
        return "workgroupBarrier();"

    def all_reduce(self, op: str, a: Text, among: Among, dtype: DType, lanes: int) -> Text:
        assert among is not Among.WORKGROUP
        return Text(f"subgroup{'Exclusive' if among is Among.EXCLUSIVE_SCAN else ''}{COLLECTIVES[op]}({a.text})")

    def literal(self, value: int | float | bool, dtype: DType) -> Text:
        if dtype == BOOL:
            return Text("true" if value else "false")
        if not dtype.is_float:
            return Text(f"{value}{'u' if dtype == U32 else ''}", ATOM if value >= 0 else PRODUCT)
        if isinf(value) or isnan(value):
            return self._special(float(value))
        # Shortest, but for the largest number: rounded up it would be beyond the type for compilers of WGSL.
        shown = repr(float(value)) if abs(value) == np.finfo(np.float32).max else str(np.float32(value))
        text = shown + ("h" if dtype == F16 else "f")
        return Text(text, PRODUCT if text.startswith("-") else ATOM)

    def _special(self, value: float) -> Text:
        name, bits = ("nan", "0x7fc00000u") if isnan(value) else ("infinity", "0x7f800000u")
        self.specials[name] = bits
        text = f"bitcast<f32>({name})"
        return Text(f"-{text}", PRODUCT) if value < 0 else Text(text)

    def binary(self, op: str, a: Text, b: Text, dtype: DType, lanes: int) -> Text:
        if op in ("max", "min"):
            return Text(f"{op}({a.text}, {b.text})")
        if op in ("shl", "shr"):
            amount = f"{b.text}u" if b.text.isdigit() else f"{self.type_name(U32, lanes)}({b.text})"
            return super().binary(op, a, Text(amount), dtype, lanes)
        if op == "xor" and dtype == BOOL:
            return super().binary("!=", a, b, dtype, lanes)
        if op == SIGNED:
            self.has_quads = self.has_quads or lanes > 1
            name = "dot4I8Packed" if lanes == 1 else QUADS_OF_VECTORS
            words = [f"bitcast<{self.type_name(U32, lanes)}>({x.text})" for x in (a, b)]
            return Text(f"{name}({', '.join(words)})")
        return super().binary(op, a, b, dtype, lanes)

    def select(self, cond: Text, a: Text, b: Text, dtype: DType, lanes: int, cond_lanes: int) -> Text:
        return Text(f"select({b.text}, {a.text}, {cond.text})")

    def bitcast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        return Text(f"bitcast<{self.type_name(to, lanes)}>({a.text})")

    def address(self, access: Load | Store) -> tuple[Expr, ...]:
        (index,) = access.indices
        if access.buffer in self._vectors:
            assert isinstance(index, Ramp)
            return (affine(index.base // index.lanes).to_expr(),)
        if isinstance(index, Ramp):
            form = affine(index.base)
            return tuple((form + type(form)((), i)).to_expr() for i in range(index.lanes))
        return (index,)

    def load(self, access: Load, address: tuple[Text, ...]) -> Text:
        name = self._names[access.buffer]
        parts = [Text(f"{name}[{a.text}]") for a in address]
        return parts[0] if len(parts) == 1 else self.vector(parts, access.dtype)

    def store(self, access: Store, address: tuple[Text, ...], value: Text) -> list[str]:
        name = self._names[access.buffer]
        if len(address) == 1:
            return [f"{name}[{address[0].text}] = {value.text};"]
        lines = [] if value.text.isidentifier() else [f"let {name}_value = {value.text};"]
        whole = value if value.text.isidentifier() else Text(f"{name}_value")
        elements = [f"{name}[{a.text}] = {self.extract(whole, i).text};" for i, a in enumerate(address)]
        return ["{", *(f"  {line}" for line in (*lines, *elements)), "}"] if lines else elements
