"""What the wasm backend hands to the bundle: modules, weights, and where the tensors lie in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..program import TensorSpec

VARIANTS = ("relaxed", "plain")
"""Of the module: with relaxed SIMD, and with SIMD128 alone; the runtime takes the first that the browser validates."""


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """One kernel, with the ONNX nodes that went into it and their operators."""

    name: str
    nodes: tuple[str, ...]
    ops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WasmArtifact:
    """A compiled model. `modules` has a wasm binary for each of VARIANTS (or one of them).

    A module imports `env.memory`, keeps its stack and static data below `heap_base` (bytes) and exports
    `run(weights: i32, arena: i32)`, both byte addresses. `arena_bytes` holds inputs, outputs and intermediates. Where
    it exports `prepare`, of the same signature, that is called once, before the first run, and fills `prepared_bytes`
    behind the weights.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    weights: bytes
    modules: Mapping[str, bytes]
    heap_base: int
    arena_bytes: int
    kernels: tuple[KernelInfo, ...]
    prepared_bytes: int = 0
