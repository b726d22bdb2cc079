"""The manifest of a compiled model, as data: the argument of the runtime's `load`, and the files that it names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from ..ir.nodes import Expr, Scalar
from ..ir.sizes import scalars_of
from ..program.count_products import count_products
from ..program.dimensions import Dimension
from ..program.program import WASM32_BYTES, TensorSpec
from ..values.arrays import Array, read_inputs
from ..values.bind_sizes import bind_sizes
from .artifact import BYTE_VARIANTS, VARIANTS, Artifact, BundledAnswer, BundledText, DeviceArtifact, WasmArtifact
from .check_outputs import check_outputs
from .files import SIGNATURE, TEXT, BundleFile, hashed_file
from .place_memory import PAGE, MemoryLayout, place_memory
from .render_device import render_alternatives, render_device, render_steps
from .size_data import Numbers, dimensions_data, number_scalars, refusal_data, size_data

ABI = 5
"""The format of manifest, device programs and modules; load.js checks it."""

SHARD_BYTES = 2 * 2**20
"""The runtime receives two at once (fetch_weights.js), so a download that breaks off loses 4 MiB at most."""

SESSIONS = 64
"""So many sessions besides the first may have their states in a module's memory, which grows for them."""

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Manifest:
    """`fields` are those of load.js's `Manifest`, as JSON, but that a file has the name `file` in place of a url.
    `files` are all that it names."""

    fields: Fields
    files: tuple[BundleFile, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    dimensions: tuple[Dimension, ...]

    def signed(self) -> Manifest:
        """With the place of the signed list of files."""
        return replace(self, fields={**self.fields, "signature": {"file": SIGNATURE}})

    @property
    def contents(self) -> dict[str, bytes]:
        """The contents of the files, by sha256."""
        return {file.sha256: file.data for file in self.files}

    def check_outputs(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> None:
        """Raises ValueError unless `outputs` may be those of a run on `inputs`, InputError where these do not fit."""
        arrays = read_inputs(self.inputs, inputs)
        check_outputs(self.outputs, bind_sizes(self.dimensions, self.inputs, arrays), outputs)


def make_manifest(artifact: Artifact, shard_bytes: int = SHARD_BYTES, bounds: Sequence[int] = ()) -> Manifest:
    """The weights are in files of `shard_bytes` at most, and a file of its own begins at each of `bounds`, offsets in
    order. Raises InputError where the model exceeds wasm32's 4 GiB."""
    size = len(artifact.weights)
    shards = {
        start: hashed_file("weights", "bin", artifact.weights[start : min(start + shard_bytes, end)], "weights")
        for begin, end in pairwise((0, *bounds, size))
        for start in range(begin, end, shard_bytes)
    }
    backends = [
        _wasm(artifact, part) if isinstance(part, WasmArtifact) else _device(artifact.name, part)
        for part in artifact.backends
    ]
    numbers = number_scalars(artifact.dimensions, artifact.outputs, artifact.refusals)
    fields = {
        "abi": ABI,
        "name": artifact.name,
        "inputs": [_tensor(spec, numbers) | _filled(artifact, spec) for spec in artifact.inputs],
        "outputs": [_tensor(spec, numbers) for spec in artifact.outputs],
        "weightTypes": dict(artifact.weight_types),
        "weights": [{"offset": start, **_file(shard)} for start, shard in shards.items()],
        "backends": [part for part, _ in backends],
    }
    if artifact.tolerance is not None:
        fields["tolerance"] = artifact.tolerance
    if artifact.dimensions:
        fields["dimensions"] = dimensions_data(artifact.dimensions, artifact.inputs, numbers)
    if artifact.states:
        fields["states"] = [_state(spec, numbers) for spec in artifact.states]
    if measured := _measured(artifact, _scalars(artifact)):
        fields["measured"] = measured
    if artifact.refusals:
        fields["refusals"] = refusal_data(artifact.refusals, numbers)
    labels: list[BundleFile] = []
    tokenizers = [hashed_file("tokenizer", TEXT, data, "tokenizer") for data in artifact.tokenizers]
    if tokenizers:
        fields["tokenizers"] = [_file(file) for file in tokenizers]
    if artifact.text is not None:
        fields["text"] = _text(artifact.text, artifact)
    if (g := artifact.generation) is not None:
        own = {"ids": g.ids, "longest": g.longest, "vocabulary": g.vocabulary, "top": g.top, "end": list(g.end)}
        logits = {} if g.logits is None else {"logits": _tensor(g.logits, numbers)}
        fields["generate"] = own | ({"chat": dict(g.chat)} if g.chat else {}) | logits
    if artifact.answers:
        fields["answers"] = [_answer(artifact, answer, labels) for answer in artifact.answers]
    files = (*(file for _, own in backends for file in own), *shards.values(), *labels, *tokenizers)
    return Manifest(fields, files, artifact.inputs, artifact.outputs, artifact.dimensions)


def _wasm(artifact: Artifact, part: WasmArtifact) -> tuple[Fields, list[BundleFile]]:
    """The part of the manifest; modules of programs of their own have what differs beside their file."""
    program, files = _program(artifact, part)
    modules, binaries = _modules(part, VARIANTS)
    files += binaries
    numbers = number_scalars(artifact.dimensions, artifact.outputs, artifact.refusals)
    for variant in (v for v in BYTE_VARIANTS if v in part.in_bytes):
        own = part.in_bytes[variant]
        fields, own_files = _program(artifact, own)
        placed, binaries = _modules(own, (variant,))
        given = {spec.name for spec in artifact.outputs}
        ports = {"inputs": own.inputs, "outputs": [spec for spec in own.outputs if spec.name in given]}
        specs = {k: [_tensor(spec, numbers) for spec in v] for k, v in ports.items()}
        specs["outputs"] += _measured(artifact, own.scalars)
        modules[variant] = {**placed[variant], "program": {**fields, **specs}}
        files += [*own_files, *binaries]
    halves = [list(h) for h in artifact.halves]
    return {"backend": part.backend, **program, "halves": halves, "modules": modules}, files


def _modules(part: WasmArtifact, variants: Sequence[str]) -> tuple[Fields, list[BundleFile]]:
    files = {v: hashed_file(v, "wasm", part.modules[v], "wasm") for v in variants if v in part.modules}
    shared = {v: {"shared": at} for v, at in part.shared_at.items()}
    return {v: {**_file(file), **shared.get(v, {})} for v, file in files.items()}, [*files.values()]


def _program(artifact: Artifact, part: WasmArtifact) -> tuple[Fields, list[BundleFile]]:
    """Fields that modules of one program have in common: all of them, since those of the first program stand where a
    module has a program of its own without them."""
    constants = artifact.weight_memory + part.prepared_bytes
    memory = place_memory(artifact.name, part.heap_base, constants, part.arena_bytes, part.state_bytes)
    steps = hashed_file("steps", TEXT, render_steps(part.kernels), "program")
    fields: Fields = {
        "kernels": len(part.kernels),
        "products": dict(part.products),
        "weightsBytes": artifact.weight_memory if part.weights_bytes is None else part.weights_bytes,
        "prepare": list(part.needs),
        "preparedBytes": part.prepared_bytes,
        "arenaBytes": part.arena_bytes,
        "memory": _memory(memory),
        "steps": _file(steps),
    }
    numbers = number_scalars(artifact.dimensions, artifact.outputs, artifact.refusals)
    if numbers:
        fields["scalars"] = [part.scalars[s] for s in numbers]
    if part.states:
        most = memory.pages + SESSIONS * -(-part.state_bytes // PAGE)
        fields["memory"] |= {"states": memory.states, "most": min(most, WASM32_BYTES // PAGE)}
        fields["stateMemory"] = {"bytes": part.state_bytes, "offsets": [spec.offset for spec in part.states]}
    return fields, [steps]


def _device(name: str, part: DeviceArtifact) -> tuple[Fields, list[BundleFile]]:
    host = part.host
    program = hashed_file(part.backend, TEXT, render_device(part.program), "program")
    fields: Fields = {
        "backend": part.backend,
        "kernels": len(part.program.work),
        "products": count_products(part.program.work),
        "program": _file(program),
    }
    files = [program]
    if alternatives := render_alternatives(part.program):
        files.append(hashed_file("alternatives", TEXT, alternatives, "check"))
        fields["alternatives"] = _file(files[-1])
    if part.references:
        files.append(hashed_file("references", "wasm", part.references, "check"))
        fields["references"] = _file(files[-1])
    if host is None:
        return fields, files
    memory = place_memory(name, host.heap_base, host.weights_bytes + host.prepared_bytes, host.arena_bytes)
    module = hashed_file("host", "wasm", host.module, "wasm")
    fields["host"] = {
        "module": _file(module),
        "memory": _memory(memory),
        "weights": {"offset": host.weights_offset, "bytes": host.weights_bytes},
        "prepare": host.prepare,
    }
    return fields, [*files, module]


def _memory(layout: MemoryLayout) -> Fields:
    return {"pages": layout.pages, "weights": layout.weights, "arena": layout.arena}


def _tensor(spec: TensorSpec, numbers: Numbers) -> Fields:
    shape = [size_data(n, numbers) for n in spec.shape]
    return {"name": spec.name, "dtype": str(spec.dtype), "shape": shape, "offset": spec.offset}


def _state(spec: TensorSpec, numbers: Numbers) -> Fields:
    """`room` is the shape that its memory is laid out for; `overwritten` and `stays` as `State` has them."""
    shape = [size_data(n, numbers) for n in spec.shape]
    kinds = {"stays": spec.stays, "overwritten": spec.overwritten}
    flags = {name: True for name, holds in kinds.items() if holds}
    return {"name": spec.name, "dtype": str(spec.dtype), "shape": shape, "room": list(spec.extents), **flags}


def _measured(artifact: Artifact, offsets: Mapping[Scalar, int]) -> list[Fields]:
    """Outputs of the runtime's own, without a name: the sizes that a run computes and leaves a state of. `offsets` are
    those of scalars in the arena of wasm."""
    numbers = number_scalars(artifact.dimensions, artifact.outputs, artifact.refusals)
    given = {d.scalar for d in artifact.dimensions}
    left = scalars_of(*(d.after for d in artifact.dimensions if isinstance(d.after, Expr)))
    return [
        {"name": "", "dtype": "int32", "shape": [1], "offset": offsets.get(s, -1), "scalar": numbers[s]}
        for s in left
        if s not in given
    ]


def _scalars(artifact: Artifact) -> Mapping[Scalar, int]:
    return next((part.scalars for part in artifact.backends if isinstance(part, WasmArtifact)), {})


def _filled(artifact: Artifact, spec: TensorSpec) -> Fields:
    """The pictures or sounds that fill an input, or what of a text or of how tokens are chosen."""
    kinds: dict[str, Mapping[str, int] | Mapping[str, str]]
    kinds = {"picture": artifact.pictures, "sound": artifact.sounds, "text": artifact.text_inputs}
    if artifact.generation is not None:
        kinds["sampling"] = artifact.generation.inputs
    return {kind: values[spec.name] for kind, values in kinds.items() if spec.name in values}


def _text(text: BundledText, artifact: Artifact) -> Fields:
    tokenizer = artifact.tokenizers.index(text.tokenizer)
    return {"name": text.name, "tokenizer": tokenizer, "batch": text.batch, "length": text.length, **text.fields}


def _answer(artifact: Artifact, answer: BundledAnswer, files: list[BundleFile]) -> Fields:
    """`outputs` as their numbers; adds the file of the labels."""
    numbers = {spec.name: i for i, spec in enumerate(artifact.outputs)}
    outputs = {part: numbers[name] for part, name in answer.outputs.items()}
    fields: Fields = {"name": answer.name, "kind": answer.kind, "outputs": outputs, **answer.fields}
    if answer.many:
        (output,) = outputs.values()
        count = artifact.outputs[output].shape[0]
        fields["many"] = count if isinstance(count, int) else True
    if answer.tokenizer is not None:
        fields["tokenizer"] = artifact.tokenizers.index(answer.tokenizer)
    if answer.labels is not None:
        files.append(hashed_file("labels", TEXT, json.dumps(answer.labels).encode(), "labels"))
        fields["labels"] = _file(files[-1])
    return fields


def _file(file: BundleFile) -> Fields:
    return {"file": file.name, "bytes": len(file.data), "sha256": file.sha256}
