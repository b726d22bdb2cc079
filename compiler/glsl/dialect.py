"""The subset of GLSL ES 3.00 that kernels use (The OpenGL ES Shading Language, version 3.00, sections 5 and 8)."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf, isnan

import numpy as np

from ..codegen.source import ATOM, PRODUCT, Dialect, Text
from ..dtypes import BOOL, F32, I32, U32, DType
from ..ir.lanes import Ramp
from ..ir.nodes import Buffer, Const, Expr, Load, Store

SCALARS = {F32: "float", I32: "int", U32: "uint", BOOL: "bool"}
VECTORS = {F32: "vec4", I32: "ivec4", U32: "uvec4", BOOL: "bvec4"}
SAMPLERS = {F32: "sampler2DArray", I32: "isampler2DArray", U32: "usampler2DArray"}

COMPARE = {"==": "equal", "!=": "notEqual", "<": "lessThan", "<=": "lessThanEqual"}
COMPONENTS = "xyzw"

HELPERS = {
    "both": "bvec4 both(bvec4 a, bvec4 b) { return bvec4(a.x && b.x, a.y && b.y, a.z && b.z, a.w && b.w); }",
    "either": "bvec4 either(bvec4 a, bvec4 b) { return bvec4(a.x || b.x, a.y || b.y, a.z || b.z, a.w || b.w); }",
    "choose": "ivec4 choose(bvec4 c, ivec4 a, ivec4 b) { return b + (a - b) * ivec4(c); }",
    "chooseu": "uvec4 chooseu(bvec4 c, uvec4 a, uvec4 b) { return b + (a - b) * uvec4(c); }",
    "chooseb": "bvec4 chooseb(bvec4 c, bvec4 a, bvec4 b) {"
    " return bvec4(c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w); }",
}
"""Functions that the language lacks; a shader begins with those that it calls."""


class Glsl(Dialect):
    """`names` are those of the samplers; stores are to the outputs `o0`, `o1`, ..., one per layer. `used` are
    the helpers that were called."""

    def __init__(self, names: Mapping[Buffer, str]) -> None:
        self._names = names
        self.used: set[str] = set()

    def type_name(self, dtype: DType, lanes: int) -> str:
        return SCALARS[dtype] if lanes == 1 else VECTORS[dtype]

    def name_value(self, name: str, dtype: DType, lanes: int, value: str) -> str:
        return f"{self.type_name(dtype, lanes)} {name} = {value};"

    def literal(self, value: int | float | bool, dtype: DType) -> Text:
        if dtype == BOOL:
            return Text("true" if value else "false")
        if not dtype.is_float:
            if value == -(2**31):
                return Text("int(0x80000000u)")
            return Text(f"{value}{'u' if dtype == U32 else ''}", ATOM if value >= 0 else PRODUCT)
        if isnan(value):
            return Text("uintBitsToFloat(0x7fc00000u)")
        if isinf(value):
            return Text(f"uintBitsToFloat({'0xff800000u' if value < 0 else '0x7f800000u'})")
        text = str(np.float32(value))
        return Text(text, PRODUCT if text.startswith("-") else ATOM)

    def unary(self, op: str, a: Text, dtype: DType, lanes: int) -> Text:
        if op == "not" and dtype == BOOL and lanes > 1:
            return Text(f"not({a.text})")
        if op == "round":
            return Text(f"roundEven({a.text})")
        return super().unary(op, a, dtype, lanes)

    def binary(self, op: str, a: Text, b: Text, dtype: DType, lanes: int) -> Text:
        if op in ("max", "min"):
            return Text(f"{op}({a.text}, {b.text})")
        if lanes > 1 and op in COMPARE:
            return Text(f"{COMPARE[op]}({a.text}, {b.text})")
        if dtype == BOOL and op in ("and", "or", "xor"):
            if op == "xor":
                return self.binary("!=", a, b, dtype, lanes)
            if lanes > 1:
                return self._helper("both" if op == "and" else "either", a, b)
            return Text(f"{a.atom} {'&&' if op == 'and' else '||'} {b.atom}", 0)
        return super().binary(op, a, b, dtype, lanes)

    def select(self, cond: Text, a: Text, b: Text, dtype: DType, lanes: int, cond_lanes: int) -> Text:
        if dtype == F32:
            # Chromium turns ?: into a branch, and takes minutes to compile a hundred in sequence.
            both = f"bvec4({cond.text})" if lanes > cond_lanes else cond.text
            return Text(f"mix({b.text}, {a.text}, {both})")
        if cond_lanes == 1:
            return Text(f"{cond.atom} ? {a.atom} : {b.atom}", 0)
        return self._helper({I32: "choose", U32: "chooseu", BOOL: "chooseb"}[dtype], cond, a, b)

    def _helper(self, name: str, *arguments: Text) -> Text:
        self.used.add(name)
        return Text(f"{name}({', '.join(a.text for a in arguments)})")

    def bitcast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        if to == source:
            return a
        if F32 not in (to, source):
            return Text(f"{self.type_name(to, lanes)}({a.text})")
        word = {F32: "Float", I32: "Int", U32: "Uint"}
        return Text(f"{word[source].lower()}BitsTo{word[to]}({a.text})")

    def address(self, access: Load | Store) -> tuple[Expr, ...]:
        if isinstance(access, Store):
            return ()
        layer, row, column, component = access.indices
        return (column, row, layer) if isinstance(component, Ramp) else (column, row, layer, component)

    def load(self, access: Load, address: tuple[Text, ...]) -> Text:
        column, row, layer, *component = (a.text for a in address)
        texel = f"texelFetch({self._names[access.buffer]}, ivec3({column}, {row}, {layer}), 0)"
        return Text(f"{texel}[{component[0]}]" if component else texel)

    def store(self, access: Store, address: tuple[Text, ...], value: Text) -> list[str]:
        layer, _, _, component = access.indices
        assert isinstance(layer, Const)
        if isinstance(component, Ramp):
            return [f"o{layer.value} = {value.text};"]
        assert isinstance(component, Const)
        return [f"o{layer.value}.{COMPONENTS[int(component.value)]} = {value.text};"]
