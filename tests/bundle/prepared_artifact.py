"""A hand-written model whose weights are changed at load, part by part."""

from __future__ import annotations

import numpy as np
import wasmtime
from tiny_artifact import HEAP_BASE
from webnn_compile.bundle import Artifact, KernelInfo, TensorSpec, WasmArtifact
from webnn_compile.dtypes import F32

PARTS, PART = 4, 512
"""Calls of `prepare`, and floats that each doubles."""

_SIZE = 4 * PARTS * PART
_DOUBLED = f"""
(module
  (import "env" "memory" (memory 1))
  (func (export "prepare") (param $weights i32) (param $arena i32) (param $number i32)
    (local $at i32) (local $end i32) (local $w f32)
    (local.set $at (i32.add (local.get $weights) (i32.mul (local.get $number) (i32.const {4 * PART}))))
    (local.set $end (i32.add (local.get $at) (i32.const {4 * PART})))
    (loop $next
      (local.set $w (f32.load (local.get $at)))
      (f32.store offset={_SIZE} (local.get $at) (f32.add (local.get $w) (local.get $w)))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end)))))
  (func (export "run") (param $weights i32) (param $arena i32)
    (local $i i32)
    (loop $next
      (f32.store offset={_SIZE} (i32.add (local.get $arena) (local.get $i))
        (f32.add
          (f32.load (i32.add (local.get $arena) (local.get $i)))
          (f32.load offset={_SIZE} (i32.add (local.get $weights) (local.get $i)))))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const {_SIZE}))))))
"""


def prepared_weights() -> np.ndarray:
    return np.arange(PARTS * PART, dtype=np.float32)


def prepared_artifact() -> Artifact:
    """output = input + 2 * w, float32 of shape [2048]; 2 * w is computed at load. As many bytes of weights again are of
    another backend alone."""
    w = prepared_weights()
    code = wasmtime.wat2wasm(_DOUBLED)
    part = WasmArtifact(
        modules={"plain": code, "relaxed": code},
        heap_base=HEAP_BASE,
        arena_bytes=2 * _SIZE,
        kernels=(KernelInfo("add", ("Add_0",), ("Add",)),),
        prepared_bytes=_SIZE,
        needs=tuple(4 * PART * (i + 1) for i in range(PARTS)),
        weights_bytes=_SIZE,
    )
    return Artifact(
        name="prepared",
        inputs=(TensorSpec("input", F32, w.shape, 0),),
        outputs=(TensorSpec("output", F32, w.shape, _SIZE),),
        weights=w.tobytes() + b"\xff" * _SIZE,
        weight_types={"float32": 2 * _SIZE},
        backends=(part,),
    )
