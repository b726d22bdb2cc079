"""Facts about what a kernel will run on. Rules and passes depend on facts, never on a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from .costs import CPU_COSTS, CpuCosts, GpuCosts

LANES = 4
"""Elements of a vector of every device's language: vec4f, float4. A processor has as many or more: `Target.lanes`."""

TEXEL = LANES
"""Elements of a texel: layouts of vectors suit buffers and textures."""

TEXTURE_SIZE = 2048
"""Width and height that every WebGL 2 device supports (MAX_TEXTURE_SIZE), and the texels in a row of a texture that
holds a value as a one-dimensional array. ROW of runtime-js/webgl/webgl_transfer.js is the same."""


@dataclass(frozen=True, slots=True)
class Target:
    """`lanes` is the number of 32-bit elements in a vector register; `registers` how many of those a kernel may use;
    `fused` whether multiply and add are one instruction (the multiply then needs no register of its own); `unroll` how
    many steps of a reduction are worth one iteration, where what runs the code does not unroll loops itself;
    `relaxed_extremes` whether there are the relaxed instructions for max and min of four float32; `dots` the
    operations, of DOTS of `ir/scalar_ops`, that are instructions; `short_dots` that of SHORTS, empty for none."""

    name: str
    lanes: int
    registers: int
    fused: bool
    unroll: int = 1
    costs: CpuCosts = CPU_COSTS
    relaxed_extremes: bool = False
    dots: tuple[str, ...] = ()
    short_dots: str = ""

    def tile_rows(self, vectors: int) -> int:
        """Rows of a register tile `vectors` wide: accumulators, one row of B and one element of A must fit."""
        free = self.registers - vectors - (1 if self.fused else 2)
        return max(1, free // vectors)

    @property
    def widest_tile(self) -> int:
        """Vectors in a row of a register tile of which one row fits."""
        return (self.registers - (1 if self.fused else 2)) // 2


# V8 and SpiderMonkey leave 15 of x86-64's 16 vector registers; what is legal here also fits Arm's 32. A step of a 6 x 8
# tile is 34 instructions in V8, 12 of them multiply-adds; in twos 28, in fours 24, in eights 23 (V8 14.6, x86-64). It
# takes 180 bytes of a bundle, so the code for browsers that lack relaxed SIMD goes without.
WASM_PLAIN = Target("wasm", lanes=4, registers=14, fused=False, dots=("wasm_dot_pairs",))
WASM_RELAXED = Target(
    "wasm-relaxed",
    lanes=4,
    registers=15,
    fused=True,
    unroll=4,
    relaxed_extremes=True,
    dots=("wasm_dot_pairs",),
    short_dots="wasm_short_dots",
)


# Relaxed dots of four bytes are exact by the engine: for signed activations (Arm), for unsigned ones (x86 with
# AVX-VNNI), or for these where sums of two products fit int16 (other x86). Weights are repacked at load, from their
# layout for pairs.
WASM_BYTES = {
    "signed": replace(WASM_RELAXED, name="wasm-signed", dots=("wasm_dot_pairs", "wasm_dot_signed_quads")),
    "unsigned": replace(WASM_RELAXED, name="wasm-unsigned", dots=("wasm_dot_pairs", "wasm_dot_unsigned_quads")),
    "narrow": replace(WASM_RELAXED, name="wasm-narrow", dots=("wasm_dot_pairs", "wasm_dot_narrow_quads")),
}


GENERIC = Target("generic", lanes=4, registers=14, fused=False)
PROCESSORS = {
    "generic": GENERIC,
    "x86-64-v3": Target("x86-64-v3", lanes=8, registers=15, fused=True, dots=("dot_pairs",)),
    "x86-64-v4": Target("x86-64-v4", lanes=16, registers=21, fused=True, dots=("dot_pairs",)),
    "aarch64": Target("aarch64", lanes=4, registers=28, fused=True),
}
"""By the names of `--cpu`: levels of x86-64 as its ABI defines them, and Arm. `generic` suits any that has vectors of
four floats, and is right on all."""


@dataclass(frozen=True, slots=True)
class MatrixFacts:
    """Hardware that multiplies `rows` x `depth` by `depth` x `columns` tiles and adds float32 sums. Operands are
    rounded to `operands`: "float16", or "tf32", float32 with ten bits of fraction. "integers" are float16, too, for
    operands that are whole numbers of at most 11 bits: nothing is rounded."""

    rows: int
    columns: int
    depth: int
    operands: str


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """Resources of a compute shader. `workgroup_bytes` is shared memory, `binding_bytes` the largest buffer,
    `workgroups` how many there may be in one dimension; `minimum_occupancy` the number of invocations below which the
    hardware idles: tiles shrink before that is undercut. `long_reduction`: elements from which on a result that is one
    of few is worth a workgroup; from `longest_shared` on another launch takes less time than its invocations, and from
    `longest_alone` on than one that works alone.
    `subgroups`: there are operations of the invocations that run in lockstep; where the device is known.
    `signed_quads`: the language has that operation of `ir/scalar_ops`, which adds the products of four bytes.
    `matrix`: hardware for products that kernels may use, None for none.
    `shared_tiles`: operands of large products are staged in shared memory (`rules/simt_staged` says when that pays)."""

    name: str
    storage_buffers: int = 8
    workgroup_bytes: int = 16384
    invocations: int = 256
    binding_bytes: int = 134217728
    workgroups: int = 65535
    minimum_occupancy: int = 2048
    long_reduction: int = 128
    longest_shared: int = 65536
    longest_alone: int = 2048
    shared_tiles: bool = False
    subgroups: bool = False
    signed_quads: bool = False
    matrix: MatrixFacts | None = None


# The limits that every WebGPU implementation grants by default. The GPU is unknown at
# compile time: an integrated one has about 1000 lanes and hides latencies with two waves in each. Tiles of the least
# traffic would make 448 invocations of ResNet18's layers of 7 x 7; these are 2048. On software adapters, where only
# traffic counts, the whole network takes a fifth longer for it. A workgroup of 256 reads 65536 elements as 64 vectors
# in each invocation, some of them at a time: 5 to 10 microseconds, as long as a launch.
WEBGPU = GpuTarget("webgpu", signed_quads=True)


@dataclass(frozen=True, slots=True)
class Stages:
    """Reductions of more than `most` elements are made in stages where there are fewer results than `occupancy`,
    the number of invocations that keep a device occupied."""

    most: int
    occupancy: int


@dataclass(frozen=True, slots=True)
class LayoutPolicy:
    """The layout policy of a family of targets.

    `windows`: the order of the dimensions of Winograd's windows in memory (row and column inside a window, window,
    channel), all windows being one line; None where they are an image, taken in bands that stay in a cache. `halos`:
    zeros around what convolutions read; `few_channels`: even fewer than four channels are rounded up to four;
    `rows`: images of fewer channels lie as in ONNX, so that vectors lie along their rows, where what reads them makes
    images of as few;
    `fill_halos`: a kernel writes the halo of its result each time (elsewhere it is zero from the start and stays
    so); `linear`: memory is one line of elements, so that a tensor may be a view of another's memory in another shape;
    `is_image`: whether a tensor of some extents, which vary or not, is in tiles of rows (None: none is);
    `reads`: how many tensors a kernel may read; `stages`: which reductions are made in stages (None for none), and
    `shared` which of those that several invocations share, all but products; `occupancy`: products of fewer tiles
    are made in parts; `in_place`: a kernel may write where it has read an operand; `copied_columns`: the rows of a
    product from which on an operand that it cannot load vectors of is copied (None for never); `integers`: products of
    int16 may be faster than those of float32; `few_launches`: a launch takes longer than each reader takes to compute
    one element again, or one kernel the minimum besides the maximum; `repeats`: nodes of an element's expression that
    each of two readers computes in less time than it takes to store and to read it; `device`: the costs of a GPU, by
    which products widen weights of few bits (None: they are widened at load); `dots` are those of the target.
    """

    windows: tuple[int, ...] | None = None
    halos: bool = True
    few_channels: bool = False
    rows: int = 0
    fill_halos: bool = True
    linear: bool = True
    # Keys of what is kept between builds are made of what a policy prints: of a function that is its address.
    is_image: Callable[[tuple[int, ...], bool], bool] | None = field(default=None, repr=False)
    reads: int | None = None
    stages: Stages | None = None
    shared: Stages | None = None
    occupancy: int | None = None
    in_place: bool = True
    copied_columns: int | None = None
    integers: bool = False
    few_launches: bool = False
    repeats: int = 0
    device: GpuCosts | None = None
    dots: tuple[str, ...] = ()


CPU_LAYOUTS = LayoutPolicy(rows=LANES, copied_columns=8, integers=True)


def layouts_for(target: Target) -> LayoutPolicy:
    """The layout policy of a processor."""
    return replace(CPU_LAYOUTS, dots=target.dots)
