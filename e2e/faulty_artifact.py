"""A model whose threads stop where an input is negative, by hand: no compiled model stops."""

from __future__ import annotations

import wasmtime
from webnn_compile.bundle import Artifact, KernelInfo, TensorSpec, WasmArtifact
from webnn_compile.dtypes import F32
from webnn_compile.wasm.binary import limits_at

_MODULE = """
(module
  (import "env" "parallel_for" (func $parallel_for (param i32 i32 i32)))
  (import "env" "memory" (memory 1 65536))
  (type $body (func (param i32 i32 i32)))
  (table 2 funcref)
  (elem (i32.const 1) $double)
  (global $stack (export "__stack_pointer") (mut i32) (i32.const 1000))
  (func $double (param $x i32) (param $i i32) (param $end i32)
    (loop $next
      (if (f32.lt (f32.load (i32.add (local.get $x) (i32.shl (local.get $i) (i32.const 2)))) (f32.const 0)) (then
        (if (i32.eq (global.get $stack) (i32.const 1000))
          (then (loop $wait (br_if $wait (i32.eqz (i32.atomic.load (i32.const 16))))))
          (else (i32.atomic.store (i32.const 16) (i32.const 1)) unreachable))))
      (f32.store offset=256 (i32.add (local.get $x) (i32.shl (local.get $i) (i32.const 2)))
        (f32.mul (f32.const 2) (f32.load (i32.add (local.get $x) (i32.shl (local.get $i) (i32.const 2))))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $end)))))
  (func (export "chunk") (param $body i32) (param $x i32) (param $begin i32) (param $end i32)
    (call_indirect (type $body) (local.get $x) (local.get $begin) (local.get $end) (local.get $body)))
  (func (export "run") (param $weights i32) (param $arena i32)
    (call $parallel_for (i32.const 1) (local.get $arena) (i32.const 64))))
"""


def faulty_artifact() -> Artifact:
    """y = 2 x; where x is negative, a thread of the pool stops, and the first thread waits until one has."""
    module = wasmtime.wat2wasm(_MODULE)
    at = limits_at(module)
    part = WasmArtifact({"plain": module}, 1000, 512, (KernelInfo("double", (), ()),), shared_at={"plain": at})
    tensors = (TensorSpec("x", F32, (64,), 0),), (TensorSpec("y", F32, (64,), 256),)
    return Artifact("faulty", *tensors, b"", (part,))
