"""Definitions that precede a kernel: operations on vectors of four, which CUDA C lacks, and those of a warp.

A vector of truth values is an int4 of 0 and 1.
"""

from __future__ import annotations

from ..dtypes import F16, DType

_LANES = "xyzw"
_VECTORS = {"float4": "float", "int4": "int", "uint4": "unsigned"}


def _each(text: str) -> str:
    """The text for each lane, in braces: $ is the lane."""
    return "{" + ", ".join(text.replace("$", lane) for lane in _LANES) + "}"


def _function(result: str, name: str, params: str, value: str) -> str:
    return f"__device__ inline {result} {name}({params}) {{ return {value}; }}"


def _of_vectors(v: str, scalar: str) -> list[str]:
    pair = f"{v} a, {v} b"
    lines = [
        _function(v, "all4", f"{scalar} a", _each("a")),
        _function(v, "load4", f"const {scalar} *p", "{p[0], p[1], p[2], p[3]}"),
        f"__device__ inline void store4({scalar} *p, {v} v) {{ p[0] = v.x; p[1] = v.y; p[2] = v.z; p[3] = v.w; }}",
        _function(v, "choose", f"int4 c, {pair}", _each("c.$ ? a.$ : b.$")),
    ]
    for op in "+-*/":
        lines.append(_function(v, f"operator{op}", pair, _each(f"a.$ {op} b.$")))
        lines.append(_function(v, f"operator{op}", f"{v} a, {scalar} b", _each(f"a.$ {op} b")))
        lines.append(_function(v, f"operator{op}", f"{scalar} a, {v} b", _each(f"a {op} b.$")))
    lines += [_function("int4", f"operator{op}", pair, _each(f"a.$ {op} b.$")) for op in ("==", "!=", "<", "<=")]
    if v == "float4":
        lines.append(_function(v, "operator-", f"{v} a", _each("-a.$")))
        for name, of_scalars in UNARY.items():
            lines.append(_function(v, name, f"{v} a", _each(f"{of_scalars}(a.$)")))
        return lines
    for op in ("&", "|", "^"):
        lines.append(_function(v, f"operator{op}", pair, _each(f"a.$ {op} b.$")))
    for op in ("<<", ">>"):
        lines.append(_function(v, f"operator{op}", pair, _each(f"a.$ {op} b.$")))
    lines.append(_function(v, "operator~", f"{v} a", _each("~a.$")))
    if v == "int4":
        lines.append(_function(v, "operator-", f"{v} a", _each("-a.$")))
        lines.append(_function(v, "operator!", f"{v} a", _each("!a.$")))
        lines.append(_function(v, "abs", f"{v} a", _each("abs(a.$)")))
        lines.append(_function(v, "all4", "bool a", _each("a")))
    return lines


UNARY = {"sqrt": "sqrtf", "floor": "floorf", "ceil": "ceilf", "trunc": "truncf", "round": "rintf", "abs": "fabsf"}
"""The operations of the IR on floats, and their names for scalars."""

_HEAD = """#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
template <class To, class From> __device__ inline To bits(From a) { To r; memcpy(&r, &a, sizeof r); return r; }
template <class To, class From> __device__ inline To convert(From a) {
  To r; r.x = a.x; r.y = a.y; r.z = a.z; r.w = a.w; return r;
}"""

VECTORS = "\n".join((_HEAD, *(line for v, scalar in _VECTORS.items() for line in _of_vectors(v, scalar)))) + "\n"

QUADS = "\n".join(
    (
        _function("int", "signed_quads", "int a, int b", "__dp4a(a, b, 0)"),
        _function("int4", "signed_quads", "int4 a, int4 b", _each("__dp4a(a.$, b.$, 0)")),
        "",
    )
)
"""Products of four bytes, for kernels that have them."""

HALVES = """struct half1 { unsigned short bits; };
struct __align__(8) half4 { half1 x, y, z, w; };
#ifdef __CUDACC__
__device__ inline float widened(half1 a) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(a.bits));
  return r;
}
__device__ inline half1 halved(float a) {
  half1 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(a));
  return r;
}
#endif
__device__ inline float4 widened(half4 a) { return {widened(a.x), widened(a.y), widened(a.z), widened(a.w)}; }
__device__ inline half4 halved(float4 a) { return {halved(a.x), halved(a.y), halved(a.z), halved(a.w)}; }
__device__ inline float4 load4(const half1 *p) { return {widened(p[0]), widened(p[1]), widened(p[2]), widened(p[3])}; }
__device__ inline void store4(half1 *p, float4 v) {
  p[0] = halved(v.x); p[1] = halved(v.y); p[2] = halved(v.z); p[3] = halved(v.w);
}
"""
"""float16 in memory, for kernels that have it."""

_SHUFFLES = {"lane_at": "__shfl_sync", "lane_below": "__shfl_up_sync"}


def _shuffles() -> list[str]:
    lines = []
    for name, function in _SHUFFLES.items():
        for v, scalar in _VECTORS.items():
            lines.append(_function(scalar, name, f"unsigned m, {scalar} a, int n", f"{function}(m, a, n)"))
            lines.append(_function(v, name, f"unsigned m, {v} a, int n", _each(f"{function}(m, a.$, n)")))
    return lines


COLLECTIVES = {"+": "Sum", "*": "Product", "max": "Largest", "min": "Smallest"}
"""Functions of two values, by the operation of the IR."""
NEUTRAL = {"+": "0", "*": "1"}


def _pairs() -> list[str]:
    values = {"Sum": "a + b", "Product": "a * b", "Largest": "pick(a < b, b, a)", "Smallest": "pick(b < a, b, a)"}
    return [
        "template <class T> __device__ inline T pick(bool c, T a, T b) { return c ? a : b; }",
        "template <class T> __device__ inline T pick(int4 c, T a, T b) { return choose(c, a, b); }",
        *(
            f"struct {name} {{ template <class T> __device__ T operator()(T a, T b) const {{ return {value}; }} }};"
            for name, value in values.items()
        ),
    ]


# The last warp of a workgroup may have fewer than 32 lanes; the result of a shuffle for others is not used.
_WARP = """struct Warp {
  int lane, lanes;
  unsigned mask;
  __device__ Warp() {
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int left = INVOCATIONS - thread / 32 * 32;
    lane = thread % 32;
    lanes = left < 32 ? left : 32;
    mask = lanes < 32 ? (1u << lanes) - 1 : ~0u;
  }
};
template <class T, class F> __device__ inline T reduce(T a, F f) {
  const Warp warp;
  for (int step = 16; step; step /= 2) {
    const T other = lane_at(warp.mask, a, warp.lane + step);
    if (warp.lane + step < warp.lanes) a = f(a, other);
  }
  return lane_at(warp.mask, a, 0);
}
template <class T, class F> __device__ inline T reduce_before(T a, F f, T neutral) {
  const Warp warp;
  for (int step = 1; step < 32; step *= 2) {
    const T other = lane_below(warp.mask, a, step);
    if (warp.lane >= step) a = f(other, a);
  }
  const T before = lane_below(warp.mask, a, 1);
  return warp.lane ? before : neutral;
}"""

WARPS = "\n".join((*_shuffles(), *_pairs(), _WARP)) + "\n"
"""After VECTORS, where INVOCATIONS is the size of the workgroup."""


def _registers(kind: str, name: str, count: int) -> str:
    """Operands of inline assembly: the elements of x."""
    return ", ".join(f'"{kind}"({name}.x[{i}])' for i in range(count))


def _numbers(first: int, count: int) -> str:
    return "{" + ", ".join(f"%{i}" for i in range(first, first + count)) + "}"


def matrices(operand: DType) -> str:
    """Tiles for a warp's instructions (PTX ISA, wmma), after HALVES: products of 16 x 16 x 16 of float16, or of 16 x 16
    x 8 of float32 that was rounded to TF32. All lie in shared memory in row-major order."""
    half = operand == F16
    shape, kind, element, count = ("m16n16k16", "f16", "half1", 8) if half else ("m16n16k8", "tf32", "float", 4)
    types = "f32.f32" if half else "f32.tf32.tf32.f32"
    sums, a, b = _numbers(0, 8), _numbers(8, count), _numbers(8 + count, count)
    lines = [
        "#if defined __CUDACC__ // tiles of matrices",
        "__device__ inline unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }",
        "struct TileC { float x[8]; };",
        "__device__ inline void fill(TileC &c) { for (int i = 0; i < 8; i++) c.x[i] = 0; }",
    ]
    for role in "AB":
        load = f"wmma.load.{role.lower()}.sync.aligned.row.{shape}.shared.{kind}"
        lines += [
            f"struct Tile{role} {{ unsigned x[{count}]; }};",
            f"__device__ inline void load_{role.lower()}(Tile{role} &t, const {element} *p, int stride) {{",
            f'  asm volatile("{load} {_numbers(0, count)}, [%{count}], %{count + 1};"',
            f'               : {_registers("=r", "t", count)} : "r"(shared_address(p)), "r"(stride) : "memory");',
            "}",
        ]
    lines += [
        "__device__ inline void multiply(TileC &c, TileA a, TileB b) {",
        f'  asm volatile("wmma.mma.sync.aligned.row.row.{shape}.{types} {sums}, {a}, {b}, {sums};"',
        f"               : {_registers('+f', 'c', 8)}",
        f"               : {_registers('r', 'a', count)}, {_registers('r', 'b', count)});",
        "}",
        "__device__ inline void store(float *p, int stride, TileC c) {",
        f'  asm volatile("wmma.store.d.sync.aligned.row.{shape}.shared.f32 [%0], {_numbers(1, 8)}, %9;"',
        f'               : : "r"(shared_address(p)), {_registers("f", "c", 8)}, "r"(stride) : "memory");',
        "}",
        "#endif",
        "",
    ]
    return "\n".join(lines)
