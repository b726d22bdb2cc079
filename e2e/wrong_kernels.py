"""A tiny model whose kernels a GPU computes wrongly, and its other sources."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from device_artifacts import tiny_canaries, tiny_device_artifact, tiny_program
from devices import DEVICES, write_site
from webnn_compile.bundle import Artifact, DeviceArtifact
from webnn_compile.program.device_program import Alternative, DeviceProgram

MULTIPLY = {"kernel": "multiply", "nodes": ["Mul_0"], "backend": "webgpu", "action": "other-backend"}
FAULTS = {
    "factor": {"webgpu": ["=a0*a1", "=1.01*a0*a1"], "webgl": ["return texelFetch", "return 1.01*texelFetch"]},
    "tail": {"webgpu": [">= 1024u", ">= 1020u"], "webgl": ["value(3)", "vec4(0.0)"]},
    "order": {"webgpu": ["p0[i]", "p0[i ^ 1]"], "webgl": ["4*int(gl_FragCoord.x)", "4*(int(gl_FragCoord.x)^1)"]},
}
"""Text that a defective driver puts in place of another one in shaders."""

SOURCES = {backend: tiny_program(backend).kernels[0].source for backend in DEVICES}
OTHERS = {
    "webgpu": SOURCES["webgpu"].replace("a0 * a1", "a1 * a0"),
    "webgl": SOURCES["webgl"].replace("return texelFetch", "return 1.0 * texelFetch"),
}
"""Sources of the first kernel, and others that a factor of FAULTS leaves as they are."""

DAMAGE = """([from, to]) => {
  globalThis.faulty = true;
  globalThis.compiled = 0;
  const damaged = (text) => (compiled++, faulty ? text.replaceAll(from, to) : text);
  if (globalThis.GPUDevice) {
    const { createShaderModule } = GPUDevice.prototype;
    GPUDevice.prototype.createShaderModule = function (given) {
      return createShaderModule.call(this, { ...given, code: damaged(given.code) });
    };
  }
  const { shaderSource } = WebGL2RenderingContext.prototype;
  WebGL2RenderingContext.prototype.shaderSource = function (shader, text) {
    shaderSource.call(this, shader, damaged(text));
  };
}"""


def with_kernel(backend: str, **changes: Any) -> DeviceProgram:
    """The tiny program with canaries, and its first kernel changed."""
    program = tiny_program(backend)
    multiply, *others = program.kernels
    return replace(program, canaries=tiny_canaries(backend), kernels=(replace(multiply, **changes), *others))


def replaced(
    backend: str, source: str, *alternatives: tuple[Literal["without-f16", "other-schedule"], str]
) -> Artifact:
    """The tiny program, whose first kernel has this source and others."""
    program = with_kernel(backend, source=source)
    own = tuple(Alternative(kind, replace(program.kernels[0], source=other)) for kind, other in alternatives)
    return alone(replace(program, alternatives={0: own}))


def alone(program: DeviceProgram) -> Artifact:
    return replace(tiny_device_artifact("wasm"), backends=(DeviceArtifact(program),))


LOAD = """
  const model = await bundle.load(argument);
  const result = [model.info(), await head(model, 2)];
  await model.dispose();
  return result;
"""
"""Loads a model by the options given, and has the first results of a run."""


def write_wrong_kernels(folder: Path) -> Path:
    """A site of bundles whose kernels have other sources, wrong ones among them."""
    source = tiny_program("webgpu").kernels[0].source
    wrong = source.replace("a0 * a1", "a0 * a1 * 0.99")
    bundles = {
        "tiny": tiny_device_artifact(*DEVICES, "wasm", canaries=True),
        **{f"{backend}-or-wasm": tiny_device_artifact(backend, "wasm", canaries=True) for backend in DEVICES},
        "without": tiny_device_artifact(*DEVICES, "wasm"),
        "subgroups": alone(with_kernel("webgpu", with_subgroups=wrong)),
        "floats": replaced("webgpu", wrong, ("without-f16", source)),
        "wrong-floats": replaced("webgpu", wrong, ("without-f16", wrong), ("other-schedule", wrong)),
        **{f"other-{b}": replaced(b, SOURCES[b], ("other-schedule", OTHERS[b])) for b in DEVICES},
        **{f"large-{backend}": alone(with_kernel(backend, flops=10**9)) for backend in DEVICES},
        **{f"huge-{backend}": alone(with_kernel(backend, flops=10**12)) for backend in DEVICES},
    }
    return write_site(folder, bundles)
