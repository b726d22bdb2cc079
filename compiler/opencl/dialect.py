"""The subset of OpenCL C 1.2 that kernels use (https://registry.khronos.org/OpenCL/specs/opencl-1.2.pdf, chapter 6).

Truth values are int: 1 or 0 as scalars, -1 or 0 in vectors, the results of comparisons (6.3.d). One that was extracted
from a vector is -1 or 0, so that scalars are compared with 0 where the number matters.

float16 is in memory alone, which every device reads and writes (6.12.7): values are float.
"""

from __future__ import annotations

from ..codegen.source import LOWEST, PRODUCT, CLike, Text
from ..dtypes import BOOL, F16, F32, I32, U32, DType
from ..ir.all_reduce import Among
from ..ir.lanes import Ramp
from ..ir.nodes import Load, Store
from ..ir.scalar_ops import SIGNED

SCALARS = {F32: "float", F16: "float", I32: "int", U32: "uint", BOOL: "int"}
_UNARY = {"round": "rint"}

COLLECTIVES = {"+": "add", "max": "max", "min": "min"}
"""Collectives of subgroups (the extension cl_khr_subgroups), by the operation of the IR."""
_AMONG = {Among.SUBGROUP: "reduce", Among.EXCLUSIVE_SCAN: "scan_exclusive"}


def collective(op: str, among: Among, type_name: str, lanes: int) -> str:
    """The name of a function of a subgroup: a built-in one for scalars, else one that `vector_collective` defines."""
    name = f"{_AMONG[among]}_{COLLECTIVES[op]}"
    return f"sub_group_{name}" if lanes == 1 else f"{name}_{type_name}"


def vector_collective(op: str, among: Among, dtype: DType, lanes: int) -> str:
    """A function that does it for each lane."""
    vector, scalar = f"{SCALARS[dtype]}{lanes}", collective(op, among, SCALARS[dtype], 1)
    parts = ", ".join(f"{scalar}(a.{lane})" for lane in "xyzw"[:lanes])
    return f"{vector} {collective(op, among, vector, lanes)}({vector} a) {{ return ({vector})({parts}); }}"


def quads(lanes: int) -> str:
    """The function of products of four bytes (the extension cl_khr_integer_dot_product): `vector_quads` defines that of
    vectors."""
    return "dot_4x8packed_ss_int" if lanes == 1 else f"signed_quads{lanes}"


def vector_quads(lanes: int) -> str:
    """The function that does it for each lane."""
    parts = ", ".join(f"{quads(1)}(a.{lane}, b.{lane})" for lane in "xyzw"[:lanes])
    return f"int{lanes} {quads(lanes)}(uint{lanes} a, uint{lanes} b) {{ return (int{lanes})({parts}); }}"


class OpenClC(CLike):
    """The language."""

    def type_name(self, dtype: DType, lanes: int) -> str:
        return SCALARS[dtype] + ("" if lanes == 1 else str(lanes))

    def memory_type(self, dtype: DType, lanes: int) -> str:
        return "half" if dtype == F16 else self.type_name(dtype, lanes)

    def barrier(self) -> str:
        return "barrier(CLK_LOCAL_MEM_FENCE);"

    def all_reduce(self, op: str, a: Text, among: Among, dtype: DType, lanes: int) -> Text:
        return Text(f"{collective(op, among, self.type_name(dtype, lanes), lanes)}({a.text})")

    def unary(self, op: str, a: Text, dtype: DType, lanes: int) -> Text:
        if op == "abs" and dtype.is_float:
            return Text(f"fabs({a.text})")
        return super().unary(_UNARY.get(op, op), a, dtype, lanes)

    def binary(self, op: str, a: Text, b: Text, dtype: DType, lanes: int) -> Text:
        if op == SIGNED:
            words = [f"as_{self.type_name(U32, lanes)}({x.text})" for x in (a, b)]
            return Text(f"{quads(lanes)}({', '.join(words)})")
        if dtype == BOOL and op in ("xor", "==", "!="):
            symbol = "==" if op == "==" else "!="
            return Text(f"!{a.atom} {symbol} !{b.atom}", LOWEST)
        return super().binary(op, a, b, dtype, lanes)

    def cast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        if to == BOOL:
            return super().cast(to, a, source, lanes)
        if to.is_float and source.is_float:
            return a
        if source == BOOL:
            a = Text(f"{a.atom} {'& 1' if lanes > 1 else '!= 0'}", LOWEST)
        return (
            Text(f"({self.type_name(to, 1)}){a.atom}", PRODUCT)
            if lanes == 1
            else Text(f"convert_{self.type_name(to, lanes)}({a.text})")
        )

    def splat(self, a: Text, dtype: DType, lanes: int) -> Text:
        if lanes == 1:
            return a
        return self._vector(lanes, f"-({a.text} != 0)" if dtype == BOOL else a.text, dtype)

    def vector(self, parts: list[Text], dtype: DType) -> Text:
        texts = (f"-({p.text} != 0)" if dtype == BOOL else p.text for p in parts)
        return self._vector(len(parts), ", ".join(texts), dtype)

    def _vector(self, lanes: int, text: str, dtype: DType) -> Text:
        return Text(f"({self.type_name(dtype, lanes)})({text})", PRODUCT)

    def select(self, cond: Text, a: Text, b: Text, dtype: DType, lanes: int, cond_lanes: int) -> Text:
        if cond_lanes > 1:
            return Text(f"select({b.text}, {a.text}, {cond.text})")
        return Text(f"{cond.at(LOWEST + 1)} ? {a.at(LOWEST + 1)} : {b.at(LOWEST + 1)}", LOWEST)

    def bitcast(self, to: DType, a: Text, source: DType, lanes: int) -> Text:
        return Text(f"as_{self.type_name(to, lanes)}({a.text})")

    def load(self, access: Load, address: tuple[Text, ...]) -> Text:
        place = self.element(access, address)
        if access.dtype == F16:
            return Text(f"vload_half{self._of_halves(access, address)})")
        return Text(f"vload4(0, &{place})" if self.spans_scalars(access) else place)

    def store(self, access: Store, address: tuple[Text, ...], value: Text) -> list[str]:
        place = self.element(access, address)
        if access.buffer.dtype == F16:
            return [f"vstore_half{self._of_halves(access, address, f'{value.text}, ', '_rte')});"]
        return [f"vstore4({value.text}, 0, &{place});" if self.spans_scalars(access) else f"{place} = {value.text};"]

    def _of_halves(self, access: Load | Store, address: tuple[Text, ...], value: str = "", rounding: str = "") -> str:
        """The end of a function's name, and its arguments: offsets are in what it reads or writes."""
        if self.spans_scalars(access):
            return f"4{rounding}({value}0, &{self.element(access, address)}"
        lanes = "4" if isinstance(access.indices[0], Ramp) else ""
        return f"{lanes}{rounding}({value}{address[0].text}, {self.name_of(access)}"
