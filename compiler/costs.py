"""Costs of computation on the hardware that code is compiled for: every cache size, threshold and rate, with its
source. Heuristics read these; nothing here is a limit of what is legal."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True, slots=True)
class CpuCosts:
    """Costs of a CPU core, natively or in a browser. Sizes are in bytes.

    Caches. Half of each level is counted on, since other data is there too: first levels have 32 to 48 KiB, second
    levels 512 KiB to 2 MiB on x86-64 since 2017 and Arm since 2020; smaller ones are served by the quarter.
    """

    operand_in_first_level: int = 16384
    """An operand up to this size is read again from the first level."""
    panels_in_second_level: int = 262144
    """Panels of B that stay in the second level between register tiles."""
    streamed_panel: int = 8192
    """A panel of streamed weights whose rows of A stay in half of the first level."""
    ways: int = 8
    """Associativity of the first level."""
    set_period: int = 4096
    """Addresses this far apart share a set of the first level: 64 sets of 64 bytes."""
    short_runs: int = 2
    """A byte of A costs as much as this many of B: B is one run of addresses, which is prefetched from the third level,
    too; A is as many short runs as a tile has rows."""

    streamed_weights: int = 2**22
    """Weights from this size on come from memory."""
    streamed_rows: tuple[int, ...] = (4, 5, 6)
    """With so few rows, one register tile or two, weights are read as fast as memory delivers them; fewer rows read too
    little of A for K-blocking to matter. Measured: ResNet18's products at 7 x 7 take 3/4 of the time in blocks; bert's
    and MobileNetV2's, with more rows, take 1.15 to 1.3 times as long (Zen 4, V8)."""
    fewest_steps: int = 128
    """Steps of a block of K at least: partial sums go through memory."""
    chunks: int = 32
    """Blocks of columns at least, so that each of eight cores gets a few."""
    short_reduction: int = 32
    """Steps of K up to which the call of an outlined tile takes several percent of its time."""

    halo_zero: int = 8
    """Multiply-adds that take as much longer with guards as a zero of a halo takes to write: a guarded register tile
    runs at a quarter of the speed (0.1 ns a multiply-add more), memory takes 5 GB/s of zeros (0.8 ns each)."""
    largest_halo: int = 2**25
    """The memory that a model takes grows by a wide halo."""

    nanoseconds: float = 0.3
    """Time of an operation on a vector or a scalar, with its loads: 3 GHz, one a cycle."""
    function: int = 10
    """Operations of an exp, an erf and the like."""
    parallel_worth: float = 25_000.0
    """Nanoseconds of work from which on a second core pays: distributing it and waiting takes 4 to 12 us (measured)."""
    parallel_iterations: int = 32
    """Iterations of a parallel loop at least, so that each of eight cores gets a few."""

    product_rows: int = 6
    """Rows of the register tile that computes Winograd's products."""
    product_overhead: int = 4
    """Starting and storing a register tile, in steps of its reduction."""
    transform: float = 1.1
    """Vector operations of a transform, for each element of a window and each of its rows and columns."""
    bytes_per_operation: float = 2.7
    """Weights that memory delivers to a core, while another one reads too, during a vector operation: 20 GB/s at 7.5
    operations a nanosecond (measured on Zen 4)."""
    winograd_gain: float = 0.8
    """Winograd's algorithm is used where its estimate is below this share of the direct convolution's."""
    integer_gain: float = 1.7
    """How many times as fast products of int16 are as products of float32: 40 and 23 billion a second (wasm, Zen 4)."""
    byte_gain: float = 4.2
    """How many times as fast products of bytes are, of which four are one instruction: 220 and 52 billion a second
    (native, Zen 4)."""
    narrow_gain: float = 2.4
    """Gain of products of bytes and 7 bits, which take two instructions: 55 and 23 billion a second (wasm, Zen 4)."""
    band: int = 2**19
    """Windows and products of a band: half of a second level."""
    kept_filters: int = 2**20
    """Filters of which most stay in the second level from band to band. Larger ones are read again for each band, which
    amortises over bands twice as large as they."""
    largest_band: int = 2**23
    """The memory that a model takes grows by a band."""
    fewest_tiles: int = 12
    """Tiles in a band at least: two register tiles."""

    def set_distance(self, stride: int) -> int:
        """How far apart, in bytes, the sets lie on which equal places of many matrices fall, `stride` bytes apart."""
        return max(gcd(stride, self.set_period), self.free_distance)

    def conflicts(self, stride: int) -> bool:
        """Whether equal places of many matrices, `stride` bytes apart, fall on too few sets."""
        return self.set_distance(stride) > self.free_distance

    @property
    def free_distance(self) -> int:
        """The distance of sets at which none gets more lines than the cache has ways."""
        return self.set_period // self.ways


CPU_COSTS = CpuCosts()


@dataclass(frozen=True, slots=True)
class GpuCosts:
    """Costs of a GPU besides arithmetic, in the time of multiply-adds: a `load` of four cached elements, a
    `byte` that comes from memory or goes there, a `launch`, the compilation of a `shader`. A product computes
    tiles of up to `rows` positions by `vectors` of four columns.

    Weights of few bits are widened by each tile, which takes `widen` for an element, where that is faster than to read
    them widened, or where it saves `memory` bytes.

    Winograd's algorithm is used where its estimate is below `winograd_gain` of the direct convolution's, and where what
    `amortised_runs` of all convolutions that share its shaders save is more than compiling `winograd_shaders` takes.
    """

    rows: int
    vectors: int
    load: float
    byte: float
    launch: float
    shader: float
    widen: float = 5
    memory: int = 2**20
    winograd_gain: float = 0.8
    winograd_shaders: int = 4
    amortised_runs: int = 100


# GPUs from a phone's to a desktop's do 4 to 7 multiply-adds, as many as code of browsers reaches, in the time that
# memory takes for a byte (Adreno 650: 0.2 T/s at 44 GB/s; Iris Xe: 0.3 at 60; M1: 0.5 at 68; RTX 3060: 2.5 at 360). A
# dispatch takes 5 to 10 microseconds of a slower one's, a draw with its targets twice as long. A texel of four floats
# is fetched at a quarter of the rate of usual ones. A shader takes browser and driver about 30 ms, no matter the GPU.
# Winograd's shaders beside the direct ones: of windows, filters, products, and results with a residual or without.
WEBGPU_COSTS = GpuCosts(rows=8, vectors=2, load=8, byte=5, launch=2e6, shader=8e9)
WEBGL_COSTS = GpuCosts(rows=8, vectors=1, load=10, byte=5, launch=4e6, shader=8e9)
