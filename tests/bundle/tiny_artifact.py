"""Hand-written models for tests of the bundle, so that these need no code generator."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
import wasmtime
from webnn_compile.bundle import Artifact, KernelInfo, TensorSpec, WasmArtifact
from webnn_compile.dtypes import DTYPES, F32

HEAP_BASE = 1000
SLOW = -1.0e30
"""As the first input of `tiny_artifact`: the run takes some hundred milliseconds."""

_RELU = """
(module
  (import "env" "memory" (memory 1))
  (func (export "run") (param $weights i32) (param $arena i32)
    (local $i i32) (local $x v128) (local $w v128) (local $b v128) (local $spin i32)
    (local.set $x (v128.load (local.get $arena)))
    (if (f32.ne (f32x4.extract_lane 0 (local.get $x)) (f32x4.extract_lane 0 (local.get $x))) (then unreachable))
    (if (f32.eq (f32x4.extract_lane 0 (local.get $x)) (f32.const {slow})) (then
      (loop $wait
        (local.set $spin (i32.add (local.get $spin) (i32.const 1)))
        (i32.store (i32.add (local.get $arena) (i32.const {size})) (local.get $spin))
        (br_if $wait (i32.lt_u (local.get $spin) (i32.const 300000000))))))
    (loop $next
      (local.set $x (v128.load (i32.add (local.get $arena) (local.get $i))))
      (local.set $w (v128.load (i32.add (local.get $weights) (local.get $i))))
      (local.set $b (v128.load offset={size} (i32.add (local.get $weights) (local.get $i))))
      (v128.store offset={size} (i32.add (local.get $arena) (local.get $i))
        (f32x4.max (v128.const f32x4 0 0 0 0) {multiply_add}))
      (local.set $i (i32.add (local.get $i) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const {size}))))))
"""
_MULTIPLY_ADD = {
    "plain": "(f32x4.add (f32x4.mul (local.get $x) (local.get $w)) (local.get $b))",
    "relaxed": "(f32x4.relaxed_madd (local.get $x) (local.get $w) (local.get $b))",
}
_COPY = """
(module
  (import "env" "memory" (memory 1))
  (func (export "run") (param $weights i32) (param $arena i32)
    (memory.copy (i32.add (local.get $arena) (i32.const {size})) (local.get $arena) (i32.const {size}))))
"""


def tiny_artifact(length: int = 1024, *, name: str = "tiny") -> Artifact:
    """output = relu(input * w + b), float32 of shape [1, length]; a NaN as the first input traps."""
    size = 4 * length
    return Artifact(
        name=name,
        inputs=(TensorSpec("input", F32, (1, length), 0),),
        outputs=(TensorSpec("output", F32, (1, length), size),),
        weights=tiny_weights(length).tobytes(),
        weight_types={"float32": 4 * tiny_weights(length).size},
        backends=(
            WasmArtifact(
                modules={
                    variant: wasmtime.wat2wasm(_RELU.format(size=size, slow=SLOW, multiply_add=code))
                    for variant, code in _MULTIPLY_ADD.items()
                },
                heap_base=HEAP_BASE,
                arena_bytes=2 * size,
                kernels=(KernelInfo("multiply_add", ("Mul_0", "Add_1", "Relu_2"), ("Mul", "Add", "Relu")),),
                products={"float32 and float32 in float32": 1},
            ),
        ),
    )


def tiny_weights(length: int) -> np.ndarray:
    """[w, b], exact in float32 for small whole inputs."""
    rng = np.random.default_rng(7)
    return rng.integers(-8, 9, (2, length)).astype(np.float32)


def copy_artifact(tensors: Mapping[str, tuple[str, tuple[int, ...]]]) -> Artifact:
    """Every input "x" (name -> dtype, shape) comes back as the output "x out"; no weights."""
    offsets: list[int] = []
    size = 0
    for dtype, shape in tensors.values():
        offsets.append(size)
        size += -(-prod(shape) * DTYPES[dtype].bytes // 64) * 64
    placed = list(zip(tensors.items(), offsets, strict=True))
    code = wasmtime.wat2wasm(_COPY.format(size=size))
    return Artifact(
        name="copy",
        inputs=tuple(TensorSpec(name, DTYPES[dtype], shape, at) for (name, (dtype, shape)), at in placed),
        outputs=tuple(
            TensorSpec(f"{name} out", DTYPES[dtype], shape, size + at) for (name, (dtype, shape)), at in placed
        ),
        weights=b"",
        backends=(
            WasmArtifact(
                modules={"plain": code, "relaxed": code}, heap_base=HEAP_BASE, arena_bytes=2 * size, kernels=()
            ),
        ),
    )
