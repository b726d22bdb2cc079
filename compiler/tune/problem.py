"""A model on a target as the search sees it: its kernels and layers, and what is built of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..bundle import make_manifest
from ..choices import DEFAULT, Choices, Decision
from ..cpu.compile_for_cpu import KernelChoices
from ..driver.build import make_artifact_of
from ..driver.compile_target import CompileTarget
from ..driver.cpu_target import CpuTarget
from ..driver.device_target import DeviceTarget
from ..driver.optimise_model import Optimised, import_graph, optimise_model
from ..driver.options import Options
from ..driver.targets import TARGETS
from ..driver.work import Work
from ..errors import InputError
from ..ir.nodes import Kernel
from ..ir.sizes import text_of
from ..pipeline.lowered import Lowered
from ..pipeline.weights import Weights
from ..records.keys import key_of_kernel, key_of_layer
from ..records.recorded_choices import Best, RecordedChoices
from ..system.cache import Cache, open_cache
from ..tensor import Tensor
from ..text.printable import printable
from .device import Artifact
from .gpu_program import GpuProgram
from .native_program import NativeProgram
from .trial_model import Piece, kernel_of, piece_of, trial_model
from .walk import Path as Candidate
from .walk import Walk, first


@dataclass(frozen=True, slots=True)
class KernelTask:
    """A distinct kernel: `naive` as it is scheduled, over parameters with `placements`; the numbers of all groups of
    the model that launch it, and the first of them by itself."""

    key: str
    name: str
    naive: Kernel
    placements: tuple[Any, ...]
    groups: tuple[int, ...]
    piece: Piece


@dataclass(frozen=True, slots=True)
class LayerTask:
    """Distinct decisions about a tensor, with their options along the `path` that was walked; `nodes` are those of each
    of the layers."""

    key: str
    name: str
    decisions: Mapping[str, Decision]
    nodes: tuple[frozenset[str], ...]


@dataclass(slots=True)
class _LayerWalks:
    """Choices of layers by key, with what was decided."""

    given: Mapping[str, Candidate]
    walks: dict[str, Walk] = field(default_factory=dict)
    tensors: dict[str, list[Tensor]] = field(default_factory=dict)

    def layers(self, t: Tensor) -> Choices:
        key = key_of_layer(t)
        walk = self.walks.setdefault(key, Walk(self.given.get(key, {}), first))
        of = self.tensors.setdefault(key, [])
        if all(t.name != other.name for other in of):
            of.append(t)
        return walk

    def kernels(self, naive: Kernel, placements: Sequence[object] = ()) -> Choices:
        return DEFAULT


@dataclass(slots=True)
class _Listing:
    """Default choices, with the kernels that they are of by name."""

    seen: dict[str, tuple[Kernel, tuple[Any, ...]]] = field(default_factory=dict)

    def kernels(self, naive: Kernel, placements: Sequence[object] = ()) -> Choices:
        self.seen[naive.name] = naive, tuple(placements)
        return DEFAULT

    def layers(self, t: Tensor) -> Choices:
        return DEFAULT


class Problem:
    """Raises InputError and UnsupportedError as a build does."""

    def __init__(self, model: Path, target: str, options: Options) -> None:
        if target not in TUNED:
            raise InputError(f"target {target!r} cannot be tuned; choose one of {', '.join(TUNED)}")
        self.row = TARGETS[target]
        self.row.check_precision(options.precision)
        self.target, self.options = target, options
        self.name = printable(model.name)
        self.cache: Cache = open_cache(enabled=options.cache)
        self._work = Work(printable(model.stem), options, self.cache, lambda _: None)
        self._optimised: Optimised = optimise_model(import_graph(model, self._work), self._work)

    @property
    def is_local(self) -> bool:
        """Whether kernels run in this process, on its processor or a GPU."""
        return self.row.preference is None

    def use_variants(self, variants: tuple[str, ...]) -> None:
        """Restricts builds to these variants of the wasm module: those that the device runs."""
        self.options = replace(self.options, variants=variants or self.options.variants)
        self._work = replace(self._work, options=self.options)

    @property
    def fills_halos(self) -> bool:
        """Whether kernels write the halos of their results, as the layout policy of the target says."""
        if isinstance(self.row, DeviceTarget):
            return self.row.backend(self.options, lambda *_: None).layouts.fill_halos
        return True

    def lower(self, layers: Mapping[str, Candidate] | None = None) -> tuple[Lowered, list[LayerTask]]:
        """The model's kernels by candidates for its layers, by their keys; and its layers as they were then walked."""
        walks = _LayerWalks(layers or {})
        lowered = self.row.lower(self._optimised, self._with(walks))
        origins = self._optimised.tensors.origins
        by_buffer = {t.buffer: set(o.nodes) for t, o in origins.items()} | {
            t.buffer: set(o.nodes) for t, o in lowered.tensors.origins.items()
        }
        tasks = []
        for key, walk in walks.walks.items():
            nodes = tuple(frozenset(by_buffer.get(t.buffer, ())) for t in walks.tensors[key])
            if walk.decisions and all(nodes):
                tasks.append(LayerTask(key, walks.tensors[key][0].name, dict(walk.decisions), nodes))
        return lowered, tasks

    def kernel_tasks(self, lowered: Lowered) -> list[KernelTask]:
        """The distinct kernels that the target runs itself."""
        found: dict[str, KernelTask] = {}
        for group, (naive, placements) in self._kernels(lowered).items():
            key = key_of_kernel(naive, placements)
            known = found.get(key)
            if known is None:
                piece = self.piece(lowered, (group,))
                name = f"{lowered.kernels[group].name} {'x'.join(map(text_of, lowered.groups[group].output.shape))}"
                found[key] = KernelTask(key, name, naive, placements, (group,), piece)
            else:
                found[key] = replace(known, groups=(*known.groups, group))
        return list(found.values())

    def piece(self, lowered: Lowered, groups: tuple[int, ...]) -> Piece:
        """Kernels of the model, without the rest of it."""
        alone = trial_model([Piece(lowered, groups)], fill_halo=self.fills_halos, warmup=0)
        own = tuple(i for i, k in enumerate(alone.kernels) if piece_of(k.name) is not None)
        return Piece(alone, own)

    def layer_pieces(self, task: LayerTask, *models: Lowered) -> tuple[Piece, ...]:
        """The kernels of each of the models, lowered by different choices, that compute the first layer of a task and
        the nodes that any of the models fuses with it: so all of them compute the same."""
        nodes = set(task.nodes[0])
        origins = [set(g.origin.nodes) for lowered in models for g in lowered.groups]
        while more := set().union(*(o for o in origins if o & nodes)) - nodes:
            nodes |= more
        chosen = [tuple(i for i, g in enumerate(m.groups) if nodes & set(g.origin.nodes)) for m in models]
        return tuple(self.piece(m, groups) for m, groups in zip(models, chosen, strict=True))

    def whole(self, lowered: Lowered, chosen: Mapping[str, Candidate]) -> Artifact:
        """The whole model, kernels by candidates by key. Kernels are named by `group_of`."""
        renamed = _named_by_group(lowered)
        best = {key: Best(path, 1.0, 0.0, (), "", {}) for key, path in chosen.items()}
        recorded = RecordedChoices(best)
        return make_program(self.row, renamed, self._with(recorded), recorded.kernels)

    def _kernels(self, lowered: Lowered) -> dict[int, tuple[Kernel, tuple[Any, ...]]]:
        """By group, the kernel that is scheduled, and its placements."""
        if not isinstance(self.row, DeviceTarget):
            return {i: (k, ()) for i, k in enumerate(lowered.kernels)}
        listing = _Listing()
        self.row.compile_program(_named_by_group(lowered), Weights(), self._with(listing))
        return {group: found for name, found in listing.seen.items() if (group := group_of(name)) is not None}

    def _with(self, choices: Any) -> Work:
        return replace(self._work, explicit={self.target: choices})


group_of = piece_of
"""The number of the group of a kernel of `Problem.whole`."""


def make_program(row: CompileTarget, lowered: Lowered, work: Work, choices: KernelChoices) -> Artifact:
    """The artifact that a device of the target runs. `choices` are those of `work`, which leaves kernels for this
    processor to the device."""
    if row.preference is not None:
        return make_manifest(make_artifact_of(row, lowered, work))
    if isinstance(row, DeviceTarget):
        weights = Weights()
        return GpuProgram(row.name, row.compile_program(lowered, weights, work), weights.blob())
    return NativeProgram(lowered, choices, work.options.threads)


def _named_by_group(lowered: Lowered) -> Lowered:
    kernels = (replace(k, name=kernel_of(i, 0)) for i, k in enumerate(lowered.kernels))
    return replace(lowered, kernels=tuple(kernels))


def _is_tuned(row: CompileTarget) -> bool:
    """Whether it has schedules of its own."""
    return not isinstance(row, CpuTarget) or (row.facts is not None and row.tuned_as is None)


TUNED = tuple(t.name for t in TARGETS.values() if _is_tuned(t))
"""The targets that can be tuned."""
