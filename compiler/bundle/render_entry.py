"""model.js: the manifest as a literal, bound to the runtime's `load`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..program import TensorSpec
from .artifact import WasmArtifact
from .files import MARKER, BundleFile
from .place_memory import MemoryLayout

ABI = 1
"""The format of manifest and module; load.js checks it."""


def render_entry(
    artifact: WasmArtifact,
    layout: MemoryLayout,
    modules: Mapping[str, BundleFile],
    shards: Sequence[BundleFile],
    runtime: Mapping[str, BundleFile],
) -> str:
    """The source of model.js. Every file is named by `new URL(literal, import.meta.url)`, which bundlers follow."""
    offsets = [sum(len(shard.data) for shard in shards[:i]) for i in range(len(shards))]
    lines = [
        MARKER,
        f"import {{ load as start }} from './{runtime['load.js'].name}';",
        "",
        f"export * from './{runtime['errors.js'].name}';",
        "",
        "const manifest = {",
        f"  abi: {ABI},",
        f"  name: {json.dumps(artifact.name)},",
        f"  inputs: {_list([_tensor(spec) for spec in artifact.inputs])},",
        f"  outputs: {_list([_tensor(spec) for spec in artifact.outputs])},",
        f"  kernels: {len(artifact.kernels)},",
        f"  memory: {{ pages: {layout.pages}, weights: {layout.weights}, arena: {layout.arena} }},",
        "  modules: {",
        *(f"    {variant}: {{ {_file(file)} }}," for variant, file in modules.items()),
        "  },",
        f"  weights: {_list([f'offset: {at}, {_file(s)}' for at, s in zip(offsets, shards, strict=True)])},",
        "};",
        "",
        "export const load = (options) => start(manifest, options);",
    ]
    return "\n".join(lines) + "\n"


def _tensor(spec: TensorSpec) -> str:
    shape = list(spec.shape)
    return f"name: {json.dumps(spec.name)}, dtype: '{spec.dtype}', shape: {shape}, offset: {spec.offset}"


def _file(file: BundleFile) -> str:
    url = f"new URL('./{file.name}', import.meta.url).href"
    return f"url: {url}, bytes: {len(file.data)}, sha256: '{file.sha256}'"


def _list(objects: Sequence[str]) -> str:
    return "[" + "".join(f"\n    {{ {fields} }}," for fields in objects) + ("\n  ]" if objects else "]")
