"""model.js: the manifest as a literal, bound to the runtime's `load`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..program.program import TensorSpec
from .artifact import Artifact, WasmArtifact
from .files import MARKER, BundleFile
from .merge_modules import COMMON
from .place_memory import MemoryLayout

ABI = 4
"""The format of manifest, device programs and modules; load.js checks it."""


def render_entry(
    artifact: Artifact,
    backends: Sequence[str],
    shards: Sequence[BundleFile],
    runtime: Mapping[str, BundleFile],
    errors: Sequence[str],
) -> str:
    """The source of model.js. `backends` are literals, from `wasm_entry` and `device_entry`; `errors` are the names of
    the classes of errors."""
    offsets = [sum(len(shard.data) for shard in shards[:i]) for i in range(len(shards))]
    lines = [
        MARKER,
        f"import {{ load as start }} from './{runtime['load.js'].name}';",
        # Both files at once, instead of the second when the first is there.
        f"import {{ $errors }} from './{runtime[COMMON].name}';",
        "",
        f"export const {{ {', '.join(errors)} }} = $errors;",
        "",
        "const manifest = {",
        f"  abi: {ABI},",
        f"  name: {json.dumps(artifact.name)},",
        f"  inputs: {_list([_tensor(spec) for spec in artifact.inputs])},",
        f"  outputs: {_list([_tensor(spec) for spec in artifact.outputs])},",
        f"  weights: {_list([f'offset: {at}, {_file(s)}' for at, s in zip(offsets, shards, strict=True)])},",
        f"  backends: {_list(backends)},",
        "};",
        "",
        "export const load = (options) => start(manifest, options);",
    ]
    return "\n".join(lines) + "\n"


def wasm_entry(
    part: WasmArtifact,
    halves: Sequence[tuple[int, int]],
    steps: BundleFile,
    memory: MemoryLayout,
    modules: Mapping[str, BundleFile],
) -> str:
    """`steps` is the file of a run's launches, for `profile`; `halves` are those of the weights."""
    sizes = f"kernels: {len(part.kernels)}, preparedBytes: {part.prepared_bytes}, arenaBytes: {part.arena_bytes}"
    shared = {variant: f", shared: {at}" for variant, at in part.shared_at.items()}
    variants = " ".join(f"{v}: {{ {_file(file)}{shared.get(v, '')} }}," for v, file in modules.items())
    return (
        f"backend: 'wasm', {sizes}, memory: {_memory(memory)}, halves: {[list(h) for h in halves]},\n"
        f"      steps: {{ {_file(steps)} }},\n"
        f"      modules: {{ {variants} }}"
    )


def device_entry(
    backend: str, kernels: int, program: BundleFile, host: tuple[BundleFile, MemoryLayout, int, int] | None
) -> str:
    """`host`: the module, its memory, offset and size of its part of the weights, in bytes."""
    text = f"backend: '{backend}', kernels: {kernels},\n      program: {{ {_file(program)} }}"
    if host is None:
        return text
    module, memory, offset, size = host
    return (
        f"{text},\n      host: {{ module: {{ {_file(module)} }}, memory: {_memory(memory)}, "
        f"weights: {{ offset: {offset}, bytes: {size} }} }}"
    )


def _memory(layout: MemoryLayout) -> str:
    return f"{{ pages: {layout.pages}, weights: {layout.weights}, arena: {layout.arena} }}"


def _tensor(spec: TensorSpec) -> str:
    shape = list(spec.shape)
    return f"name: {json.dumps(spec.name)}, dtype: '{spec.dtype}', shape: {shape}, offset: {spec.offset}"


def _file(file: BundleFile) -> str:
    """Files are named by `new URL(literal, import.meta.url)`, which bundlers follow."""
    url = f"new URL('./{file.name}', import.meta.url).href"
    return f"url: {url}, bytes: {len(file.data)}, sha256: '{file.sha256}'"


def _list(objects: Sequence[str]) -> str:
    return "[" + "".join(f"\n    {{ {fields} }}," for fields in objects) + ("\n  ]" if objects else "]")
