"""Types and functions that printed kernels use: each is defined once, ahead of them, where one of them needs it."""

from __future__ import annotations

from ..dtypes import BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType

SCALARS = {
    F16: "uint16_t",  # its bits: kernels compute with float
    F32: "float",
    F64: "double",
    I8: "int8_t",
    I16: "int16_t",
    I32: "int32_t",
    I64: "int64_t",
    U8: "uint8_t",
    U16: "uint16_t",
    U32: "uint32_t",
    U64: "uint64_t",
    BOOL: "uint8_t",
}
_UNSIGNED = {8: U8, 16: U16, 32: U32, 64: U64}
_SIGNED = {8: I8, 16: I16, 32: I32, 64: I64}
MASK = I32
"""Vectors of truth values have elements of this type, which are -1 and 0."""

HEAD = """#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __GNUC__
/* Memory is reused for values of other types. */
#define ANY_TYPE __attribute__((may_alias))
/* Only functions of this file pass vectors to each other. */
#pragma GCC diagnostic ignored "-Wpsabi"
/* The last of several tiles may not need all that the others do. */
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#else
#define ANY_TYPE
#endif
#if defined __GNUC__ && !defined __clang__ && __GNUC__ < 14
/* GCC's loop vectoriser takes the terms of these sums in the order of their addresses, not in that of the loops, and
   may add some of them twice (its bug 110381). */
#define SUMS_IN_ORDER __attribute__((optimize("no-tree-loop-vectorize")))
#else
#define SUMS_IN_ORDER
#endif
#ifdef MODEL_THREADS
#define SHARED_BY_THREADS _Pragma("omp parallel for schedule(static) num_threads(MODEL_THREADS)")
#elif defined _OPENMP
#define SHARED_BY_THREADS _Pragma("omp parallel for schedule(static)")
#else
#define SHARED_BY_THREADS
#endif
"""


NEEDS_VECTORS = """#ifndef __GNUC__
#error "this file needs vectors as GCC and Clang have them"
#endif"""


def short(dtype: DType) -> str:
    """f32, i8, u16, ..."""
    return f"{'u' if dtype in (F16, BOOL) else dtype.name[0]}{dtype.bits}"


def unsigned(dtype: DType) -> DType:
    """The unsigned type of the same size."""
    return _UNSIGNED[dtype.bits]


class Prelude:
    """The definitions that a text needs, in an order in which they compile."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def text(self) -> str:
        vectors = any("vector_size" in text for text in self._texts.values())
        return "\n".join([HEAD, *([NEEDS_VECTORS] if vectors else []), *self._texts.values()])

    def texts(self) -> tuple[str, ...]:
        """Each definition."""
        return tuple(self._texts.values())

    def memory(self, dtype: DType) -> str:
        """The type of an element in memory that other types have used."""
        name = f"{short(dtype)}_t"
        self._texts.setdefault(name, f"typedef {SCALARS[dtype]} ANY_TYPE {name};")
        return name

    def vector(self, dtype: DType, lanes: int) -> str:
        """The type of vectors, which may lie at any element."""
        name = f"{short(dtype)}x{lanes}"
        if name not in self._texts:
            size = lanes * dtype.bytes
            attributes = f"vector_size({size}), aligned({dtype.bytes}), may_alias"
            self._texts[name] = f"typedef {SCALARS[dtype]} {name} __attribute__(({attributes}));"
        return name

    def all(self, dtype: DType, lanes: int) -> str:
        """A function that makes a vector of equal elements."""
        v = self.vector(dtype, lanes)
        return self._define(f"all_{v}", v, f"{SCALARS[dtype]} a", f"return ({v}){{{', '.join(['a'] * lanes)}}};")

    def choose(self, dtype: DType, lanes: int) -> str:
        """A function of a mask and two vectors."""
        v, mask = self.vector(dtype, lanes), self.vector(MASK, lanes)
        wide = self.vector(_SIGNED[dtype.bits], lanes)
        m = "m" if dtype.bits == MASK.bits else f"__builtin_convertvector(m, {wide})"
        body = f"const {wide} w = {m}; return ({v})((w & ({wide})a) | (~w & ({wide})b));"
        return self._define(f"choose_{v}", v, f"{mask} m, {v} a, {v} b", body)

    def mask(self, dtype: DType, lanes: int) -> str:
        """A function that makes a mask of the result of a comparison of vectors."""
        to, source = self.vector(MASK, lanes), self.vector(_SIGNED[dtype.bits], lanes)
        return self._define(f"mask_{source}", to, f"{source} a", f"return __builtin_convertvector(a, {to});")

    def each(self, function: str, dtype: DType, lanes: int) -> str:
        """A function of one element for each of a vector."""
        v = self.vector(dtype, lanes)
        body = f"{v} r; for (int i = 0; i < {lanes}; i++) r[i] = {function}(a[i]); return r;"
        return self._define(f"{function}_{v}", v, f"{v} a", body)

    def to_integer(self, to: DType, source: DType, lanes: int) -> str:
        """A function that converts floats: what does not fit becomes the nearest integer that does, NaN becomes 0."""
        name = f"{short(to)}_of_{short(source)}"
        low, high = _limits(to)
        f = "f" if source == F32 else ""
        body = (
            f"return a >= {float(high + 1)!r}{f} ? {_integer(high, to)} : a >= {float(low)!r}{f} ? ({SCALARS[to]})a : "
            f"a < {float(low)!r}{f} ? {_integer(low, to)} : 0;"
        )
        self._define(name, SCALARS[to], f"{SCALARS[source]} a", body)
        if lanes == 1:
            return name
        v, other = self.vector(to, lanes), self.vector(source, lanes)
        if (to, source) == (I32, F32):
            body = (
                f"const {v} low = a < {float(low)!r}f, high = a >= {float(high + 1)!r}f; "
                f"const {v} fits = ~(low | high) & (a == a); "
                f"const {v} r = __builtin_convertvector(({other})(({v})a & fits), {v}); "
                f"return r | (low & {_integer(low, to)}) | (high & {_integer(high, to)});"
            )
            return self._define(f"{v}_of_{other}", v, f"{other} a", body)
        each = f"{v} r; for (int i = 0; i < {lanes}; i++) r[i] = {name}(a[i]); return r;"
        return self._define(f"{v}_of_{other}", v, f"{other} a", each)

    def bits(self, to: DType, source: DType) -> str:
        """A function that reads the bits of a scalar as another type."""
        body = f"{SCALARS[to]} r; memcpy(&r, &a, sizeof r); return r;"
        return self._define(f"{short(to)}_bits_of_{short(source)}", SCALARS[to], f"{SCALARS[source]} a", body)

    def _define(self, name: str, result: str, params: str, body: str) -> str:
        self._texts.setdefault(name, f"static inline {result} {name}({params}) {{ {body} }}")
        return name


def _limits(dtype: DType) -> tuple[int, int]:
    if dtype.kind == "int":
        return -(2 ** (dtype.bits - 1)), 2 ** (dtype.bits - 1) - 1
    return 0, 2**dtype.bits - 1


def _integer(value: int, dtype: DType) -> str:
    kind = "" if dtype.kind == "int" else "U"
    if value < 0:
        return f"(-{kind}INT{dtype.bits}_C({-value - 1}) - 1)"
    return f"{kind}INT{dtype.bits}_C({value})"
