"""Hand-written device programs, so that tests of the runtime need no compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import wasmtime
from tiny_artifact import HEAP_BASE, tiny_artifact, tiny_weights
from webnn_compile.bundle import Artifact, DeviceArtifact, HostArtifact, TensorSpec, WasmArtifact
from webnn_compile.canaries.canary_values import canary_sums, canary_values, checksum_of
from webnn_compile.dtypes import DTYPES, F16, F32, I32, U32, DType
from webnn_compile.program.device_program import (
    Canary,
    Constant,
    Declarations,
    DeviceKernel,
    DeviceProgram,
    DeviceValue,
    HostCall,
    Launch,
    Param,
    Placement,
    Port,
    Storage,
)

SCALARS = {F32: "f32", I32: "i32", U32: "u32"}
SAMPLERS = {F32: ("sampler2DArray", "vec4"), I32: ("isampler2DArray", "ivec4"), U32: ("usampler2DArray", "uvec4")}


def device_dtype(dtype: DType) -> DType:
    if dtype in (F32, F16):
        return F32
    return U32 if dtype == U32 else I32


def pointwise(backend: str, name: str, expression: str, reads: int, length: int, dtype: DType = F32) -> DeviceKernel:
    """`expression` of a0, a1, ..., elements in WGSL and vectors of four in GLSL; all values lie flat."""
    params = (*(Param(dtype, "read") for _ in range(reads)), Param(dtype, "write"))
    if backend == "webgpu":
        scalar = SCALARS[dtype]
        bindings = "".join(f"@group(0) @binding({i}) var<storage, read> p{i}: array<{scalar}>;\n" for i in range(reads))
        values = "".join(f"  let a{i} = p{i}[i];\n" for i in range(reads))
        source = (
            f"{bindings}@group(0) @binding({reads}) var<storage, read_write> r: array<{scalar}>;\n"
            "@compute @workgroup_size(64)\nfn main(@builtin(global_invocation_id) id: vec3u) {\n  let i = id.x;\n"
            f"  if (i >= {length}u) {{ return; }}\n{values}  r[i] = {expression};\n}}\n"
        )
        return DeviceKernel(name, source, params, (-(-length // 64), 1, 1), flops=length, bytes=4 * length)
    sampler, vector = SAMPLERS[dtype]
    place = flat(length)
    values = "".join(f"  {vector} a{i} = texelFetch(p{i}, at, 0);\n" for i in range(reads))
    source = f"void main() {{\n  ivec3 at = ivec3(gl_FragCoord.xy, 0);\n{values}  o0 = {expression};\n}}\n"
    grid = (place.width, place.height, 1)
    declarations = Declarations((sampler,) * reads, vector)
    return DeviceKernel(name, source, params, grid, length, 4 * length, declarations=declarations)


def flat(length: int) -> Placement:
    texels = max(1, -(-length // 4))
    return Placement(min(texels, 2048), -(-texels // 2048), 1)


def storage(backend: str, length: int, dtype: DType = F32, prepare_only: bool = False) -> Storage:
    if backend == "webgpu":
        return Storage(4 * length, dtype, None, prepare_only)
    place = flat(length)
    return Storage(16 * place.width * place.height, dtype, place, prepare_only)


INTO_IMAGE = """\
vec4 value(int w) {
  int t = int(gl_FragCoord.y) * 16 + 4 * int(gl_FragCoord.x) + w;
  ivec3 at = ivec3(t & 2047, t >> 11, 0);
  return texelFetch(p0, at, 0) * texelFetch(p1, at, 0);
}
void main() { o0 = value(0); o1 = value(1); o2 = value(2); o3 = value(3); }
"""
FROM_IMAGE = """\
void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  int t = at.y * 2048 + at.x;
  int w = t % 16;
  o0 = max(texelFetch(p0, ivec3(w / 4, t / 16, w % 4), 0) + texelFetch(p1, ivec3(at, 0), 0), vec4(0.0));
}
"""
LENGTH = 1024


def tiny_program(backend: str) -> DeviceProgram:
    """output = relu(input * w + (c + c)) with the weights [w, c]: two launches, and one at load. On WebGL the product
    lies as an image of four layers."""
    n = LENGTH
    place = Placement(4, n // 64, 4, tile=4)
    product = Storage(16 * 4 * (n // 64) * 4, F32, place) if backend == "webgl" else storage(backend, n)
    multiply = pointwise(backend, "multiply", "a0 * a1", 2, n)
    add = pointwise(backend, "add", "max(a0 + a1, 0.0)", 2, n)
    if backend == "webgl":
        multiply = replace(multiply, source=INTO_IMAGE, grid=(4, n // 64, 4))
        add = replace(add, source=FROM_IMAGE)
    return DeviceProgram(
        backend=backend,
        name="tiny",
        kernels=(multiply, add, pointwise(backend, "twice", "a0 + a0", 1, n)),
        storages=(
            storage(backend, n),
            product,
            storage(backend, n),
            storage(backend, n, F32, True),
            storage(backend, n),
        ),
        values=(
            DeviceValue("input", 0, F32, (1, n)),
            DeviceValue("product", 1, F32, (n // 64, 16, 4)),
            DeviceValue("w", 2, F32, (n,)),
            DeviceValue("c", 3, F32, (n,)),
            DeviceValue("b", 4, F32, (n,)),
            DeviceValue("output", 0, F32, (1, n)),
        ),
        constants=(Constant(2, 0, 4 * n, F32), Constant(3, 4 * n, 4 * n, F32)),
        prepare=(Launch(2, "bias", (3, 4)),),
        steps=(
            Launch(0, "multiply", (0, 2, 1), ("Mul_0",), ("Mul",)),
            Launch(1, "add_relu", (1, 4, 5), ("Add_1", "Relu_2"), ("Add", "Relu")),
        ),
        inputs=(Port(TensorSpec("input", F32, (1, n), 0), 0),),
        outputs=(Port(TensorSpec("output", F32, (1, n), 0), 5),),
    )


def tiny_canaries(backend: str) -> tuple[Canary, ...]:
    """One for each kernel of the tiny model, computed here."""
    b, a = (canary_values(F32, LENGTH, i) for i in (1, 2))
    into_image = image_order if backend == "webgl" else np.arange(LENGTH)
    product = (a * b)[into_image]
    operand = np.empty_like(a)
    operand[into_image] = a
    results = b + b, product, np.maximum(operand + b, 0)
    sums = (canary_sums(result) for result in results)
    return tuple(Canary(i, checksum_of(total, norm), norm, 1e-6) for i, (total, norm) in enumerate(sums))


image_order = np.arange(LENGTH).reshape(LENGTH // 64, 4, 4, 4).transpose(2, 0, 1, 3).reshape(-1)
"""The elements of the product in the order of its image."""


def tiny_device_artifact(*backends: str, canaries: bool = False) -> Artifact:
    """The tiny model on GPUs and, where `backends` names it, on the CPU (whose arithmetic adds c once)."""
    tiny = tiny_artifact(LENGTH)

    def part(backend: str) -> WasmArtifact | DeviceArtifact:
        if backend == "wasm":
            return tiny.backends[0]
        own = tiny_canaries(backend) if canaries else ()
        return DeviceArtifact(replace(tiny_program(backend), canaries=own))

    return replace(tiny, backends=tuple(map(part, backends)))


@dataclass(frozen=True)
class Tensor:
    name: str
    dtype: str
    shape: tuple[int, ...]


def copy_program(backend: str, tensors: Sequence[Tensor]) -> DeviceProgram:
    """Every input "x" comes back as the output "x out", on storages of its own."""
    kernels, storages, values, steps, inputs, outputs = [], [], [], [], [], []
    for i, t in enumerate(tensors):
        dtype, n = DTYPES[t.dtype], prod(t.shape)
        word = device_dtype(dtype)
        kernels.append(pointwise(backend, f"copy_{t.dtype}", "a0", 1, n, word))
        for k, name in enumerate((t.name, f"{t.name} out")):
            storages.append(storage(backend, n, word))
            values.append(DeviceValue(name, 2 * i + k, dtype, t.shape))
        steps.append(Launch(i, f"copy {t.name}", (2 * i, 2 * i + 1), (f"Copy_{i}",), ("Identity",)))
        inputs.append(Port(TensorSpec(t.name, dtype, t.shape, 0), 2 * i))
        outputs.append(Port(TensorSpec(f"{t.name} out", dtype, t.shape, 0), 2 * i + 1))
    return DeviceProgram(
        backend,
        "copy",
        tuple(kernels),
        tuple(storages),
        tuple(values),
        (),
        (),
        tuple(steps),
        tuple(inputs),
        tuple(outputs),
    )


def copy_device_artifact(tensors: Sequence[Tensor], *backends: str) -> Artifact:
    programs = [copy_program(b, tensors) for b in backends]
    first = programs[0]
    return Artifact(
        "copy",
        tuple(p.spec for p in first.inputs),
        tuple(p.spec for p in first.outputs),
        b"",
        tuple(DeviceArtifact(p) for p in programs),
    )


_HOST = """
(module
  (import "env" "memory" (memory 1))
  (func (export "segment_0") (param $weights i32) (param $arena i32)
    (local $i i32)
    (if (i64.eq (i64.load (local.get $arena)) (i64.const 1000)) (then unreachable))
    (loop $next
      (i64.store offset=512 (i32.add (local.get $arena) (local.get $i))
        (i64.mul (i64.load (i32.add (local.get $arena) (local.get $i))) (i64.load (local.get $weights))))
      (local.set $i (i32.add (local.get $i) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 512))))))
"""


def host_artifact(*backends: str) -> Artifact:
    """output = (input + 1) * 3 + 1 in int64, 64 elements: the host multiplies by its weight between two launches,
    and stops where the first input is 999."""
    n = 64
    spec = TensorSpec("input", DTYPES["int64"], (n,), 0)
    parts = []
    for backend in backends:
        kernel = pointwise(backend, "increment", "a0 + 1", 1, n, I32)
        call = HostCall(0, 1, (1,), (2,), (0, 512), "multiply", ("Mul_1",), ("Mul",), "int64 may overflow")
        program = DeviceProgram(
            backend=backend,
            name="host",
            kernels=(kernel,),
            storages=tuple(storage(backend, n, I32) for _ in range(4)),
            values=tuple(DeviceValue(f"v{i}", i, DTYPES["int64"], (n,)) for i in range(4)),
            constants=(),
            prepare=(),
            steps=(
                Launch(0, "add", (0, 1), ("Add_0",), ("Add",)),
                call,
                Launch(0, "add", (2, 3), ("Add_2",), ("Add",)),
            ),
            inputs=(Port(spec, 0),),
            outputs=(Port(replace(spec, name="output"), 3),),
        )
        host = HostArtifact(wasmtime.wat2wasm(_HOST), HEAP_BASE, 1024, weights_offset=64, weights_bytes=8)
        parts.append(DeviceArtifact(program, host))
    weights = bytes(64) + (3).to_bytes(8, "little") + bytes(56)
    return Artifact("host", (spec,), (replace(spec, name="output"),), weights, tuple(parts))


__all__ = ["LENGTH", "Tensor", "copy_device_artifact", "host_artifact", "tiny_device_artifact", "tiny_weights"]
