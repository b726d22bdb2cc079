"""Facts about what a kernel will run on. Rules and passes ask for facts, never for a name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """`lanes` is the number of 32-bit elements in a vector register; `registers` how many of those a kernel may use;
    `fused` whether multiply and add are one instruction (the multiply then needs no register of its own); `steps` how
    many steps of a reduction are worth one iteration, where what runs the code does not unroll loops itself."""

    name: str
    lanes: int
    registers: int
    fused: bool
    steps: int = 1

    def tile_rows(self, vectors: int) -> int:
        """Rows of a register tile `vectors` wide: accumulators, one row of B and one element of A must fit."""
        free = self.registers - vectors - (1 if self.fused else 2)
        return max(1, free // vectors)


# V8 and SpiderMonkey leave 15 of x86-64's 16 vector registers; what is legal here also fits Arm's 32. A step of a 6 x 8
# tile is 34 instructions in V8, 12 of them multiply-adds; in twos 28, in fours 24, in eights 23 (V8 14.6, x86-64). It
# takes 180 bytes of a bundle, so the code for browsers that lack relaxed SIMD goes without.
WASM_PLAIN = Target("wasm", lanes=4, registers=14, fused=False)
WASM_RELAXED = Target("wasm-relaxed", lanes=4, registers=15, fused=True, steps=4)


@dataclass(frozen=True, slots=True)
class GpuTarget:
    """What a compute shader may use. `workgroup_bytes` is shared memory, `binding_bytes` the largest buffer,
    `workgroups` how many there may be in one dimension; `busy` the number of invocations below which the hardware
    idles: tiles shrink before it is undercut. `long_reduction`: elements from which on a result that is one of few is
    worth a workgroup; from `longest_shared` on another launch takes less time than its invocations, and from
    `longest_alone` on than one that works alone.
    `shared_tiles`: operands of large products are staged in shared memory (`rules/simt_staged` says when that pays)."""

    name: str
    storage_buffers: int = 8
    workgroup_bytes: int = 16384
    invocations: int = 256
    binding_bytes: int = 134217728
    workgroups: int = 65535
    busy: int = 2048
    long_reduction: int = 128
    longest_shared: int = 65536
    longest_alone: int = 2048
    shared_tiles: bool = False


# The limits that every WebGPU implementation grants without being asked. A program is compiled for a GPU that nobody
# has seen: an integrated one has about 1000 lanes and hides latencies with two waves in each. Tiles of the least
# traffic would make 448 invocations of ResNet18's layers of 7 x 7; these are 2048. On software adapters, where only
# traffic counts, the whole network takes a fifth longer for it. A workgroup of 256 reads 65536 elements as 64 vectors
# in each invocation, some of them at a time: 5 to 10 microseconds, as long as a launch.
WEBGPU = GpuTarget("webgpu")


@dataclass(frozen=True, slots=True)
class GpuCosts:
    """What work on a GPU takes beside arithmetic, in the time of multiply-adds: a `load` of four elements that lie in a
    cache, a `byte` that comes from memory or goes there, a `launch`, the compilation of a `shader`. A product computes
    tiles of up to `rows` positions by `vectors` of four columns."""

    rows: int
    vectors: int
    load: float
    byte: float
    launch: float
    shader: float


# GPUs from a phone's to a desktop's do 4 to 7 multiply-adds, as many as code of browsers reaches, in the time that
# memory takes for a byte (Adreno 650: 0.2 T/s at 44 GB/s; Iris Xe: 0.3 at 60; M1: 0.5 at 68; RTX 3060: 2.5 at 360). A
# dispatch takes 5 to 10 microseconds of a slower one's, a draw with its targets twice as long. A texel of four floats
# is fetched at a quarter of the rate of usual ones. A shader takes browser and driver about 30 ms, no matter the GPU.
WEBGPU_COSTS = GpuCosts(rows=8, vectors=2, load=8, byte=5, launch=2e6, shader=8e9)
WEBGL_COSTS = GpuCosts(rows=8, vectors=1, load=10, byte=5, launch=4e6, shader=8e9)
