"""The subset of CUDA C++ that kernels use (CUDA C++ Programming Guide), with the operations of `prelude`.

float16 is in memory alone: values are float.
"""

from __future__ import annotations

from ..codegen.source import LOWEST, PRODUCT, CLike, Text
from ..dtypes import BOOL, F16, F32, I32, U32, DType
from ..ir.all_reduce import Among
from ..ir.nodes import Load, Store
from ..ir.scalar_ops import SIGNED
from .prelude import COLLECTIVES, NEUTRAL, UNARY

SCALARS = {F32: "float", F16: "float", I32: "int", U32: "unsigned", BOOL: "bool"}
VECTORS = {F32: "float4", F16: "float4", I32: "int4", U32: "uint4", BOOL: "int4"}


class CudaC(CLike):
    """Scalars of truth are bool."""

    truth = ("false", "true")

    def type_name(self, dtype: DType, lanes: int) -> str:
        return SCALARS[dtype] if lanes == 1 else VECTORS[dtype]

    def memory_type(self, dtype: DType, lanes: int) -> str:
        if dtype == F16:
            return "half4" if lanes > 1 else "half1"
        return self.type_name(dtype, lanes)

    def declare_tile(self, name: str, role: str, dtype: DType) -> str:
        return f"Tile{role.upper()} {name};"

    def kept(self, value: Text, dtype: DType) -> Text:
        return Text(f"halved({value.text})") if dtype == F16 else value

    def barrier(self) -> str:
        return "__syncthreads();"

    def all_reduce(self, op: str, a: Text, among: Among, dtype: DType, lanes: int) -> Text:
        assert among is not Among.WORKGROUP
        if among is Among.EXCLUSIVE_SCAN:
            return Text(f"reduce_before({a.text}, {COLLECTIVES[op]}(), {NEUTRAL[op]})")
        return Text(f"reduce({a.text}, {COLLECTIVES[op]}())")

    def unary(self, op: str, a: Text, dtype: DType, lanes: int) -> Text:
        if lanes == 1 and dtype.is_float:
            op = UNARY.get(op, op)
        return super().unary(op, a, dtype, lanes)

    def binary(self, op: str, a: Text, b: Text, dtype: DType, lanes: int) -> Text:
        if op == SIGNED:
            return Text(f"signed_quads({a.text}, {b.text})")
        return super().binary(op, a, b, dtype, lanes)

    def cast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        if to == BOOL:
            return super().cast(to, a, source, lanes)
        if to.is_float and source.is_float:
            return a
        name = self.type_name(to, lanes)
        return Text(f"({name}){a.atom}", PRODUCT) if lanes == 1 else Text(f"convert<{name}>({a.text})")

    def splat(self, a: Text, dtype: DType, lanes: int) -> Text:
        return a if lanes == 1 else Text(f"all4({a.text})")

    def vector(self, parts: list[Text], dtype: DType) -> Text:
        return Text(f"make_{VECTORS[dtype]}({', '.join(p.text for p in parts)})")

    def select(self, cond: Text, a: Text, b: Text, dtype: DType, lanes: int, cond_lanes: int) -> Text:
        if cond_lanes > 1:
            return Text(f"choose({cond.text}, {a.text}, {b.text})")
        return Text(f"{cond.at(LOWEST + 1)} ? {a.at(LOWEST + 1)} : {b.at(LOWEST + 1)}", LOWEST)

    def bitcast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        return Text(f"bits<{self.type_name(to, lanes)}>({a.text})")

    def load(self, access: Load, address: tuple[Text, ...]) -> Text:
        place = self.element(access, address)
        if access.dtype == F16 and not self.spans_scalars(access):
            return Text(f"widened({place})")
        return Text(f"load4(&{place})" if self.spans_scalars(access) else place)

    def store(self, access: Store, address: tuple[Text, ...], value: Text) -> list[str]:
        place = self.element(access, address)
        if access.buffer.dtype == F16 and not self.spans_scalars(access):
            return [f"{place} = halved({value.text});"]
        return [f"store4(&{place}, {value.text});" if self.spans_scalars(access) else f"{place} = {value.text};"]
