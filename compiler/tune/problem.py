"""A model on a target, as a search problem: its kernels and layers, and what is built of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..bundle import make_manifest
from ..choices import DEFAULT, Choices, Decision, Replay
from ..cpu.compile_for_cpu import plan_for_cpu
from ..driver.build import make_artifact_of
from ..driver.compile_target import FAST_HALVES, CompileTarget
from ..driver.cpu_target import CpuTarget
from ..driver.device_target import DeviceTarget
from ..driver.optimise_model import Optimised, import_graph, optimise_model
from ..driver.options import Options
from ..driver.quantize_first import quantize_first
from ..driver.report_data import Report
from ..driver.targets import TARGETS
from ..driver.work import Work
from ..errors import InputError
from ..gpu.compile_for_device import compile_for_device
from ..graph.keep_states import grown_states, pass_states
from ..ir.nodes import Kernel
from ..ir.sizes import text_of
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelPlan, Placements
from ..pipeline.weights import Weights
from ..records.keys import key_of_kernel, key_of_layer
from ..records.recorded_choices import Best, RecordedChoices
from ..system.cache import Cache, open_cache
from ..system.put_files import put_files
from ..tensor import Tensor
from ..tensor.layer_choices import LayerDecision
from ..text.printable import printable
from .device import Artifact
from .gpu_program import GpuProgram
from .native_program import NativeProgram
from .trial_model import Piece, kernel_of, piece_of, trial_model
from .walk import Path as Candidate


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


@dataclass(frozen=True, slots=True)
class _LayerCandidates:
    """The choices of layers by their keys, where they are legal; the default schedules of kernels."""

    candidates: Mapping[str, Candidate]

    def layers(self, t: Tensor) -> Choices:
        return Replay(self.candidates.get(key_of_layer(t), {}), lenient=True)

    def kernels(self, naive: Kernel, placements: Sequence[object] = ()) -> Choices:
        return DEFAULT


class Problem:
    """Raises InputError and UnsupportedError as a build does."""

    def __init__(self, model: Path, target: str, options: Options) -> None:
        if target not in TUNED:
            raise InputError(f"target {target!r} cannot be tuned; choose one of {', '.join(TUNED)}")
        self.row = TARGETS[target]
        self.row.check_precision(options.precision)
        if options.precision == FAST_HALVES:
            raise InputError(
                f"--precision {FAST_HALVES}: which kernels compute in float16 follows from errors in the whole model; "
                "search with --precision f16, whose records fit those that stay as they are"
            )
        if options.quantize is not None:
            options.quantize.check()
        self.target = target
        self.name = printable(model.name)
        self.cache: Cache = open_cache(enabled=options.cache)
        work = Work(printable(model.stem), options, self.cache, lambda _: None)
        report = Report(self.name, options.precision, self.cache, work.seconds)
        source, work = quantize_first(model, work, report)
        put_files(report.saved)
        graph = import_graph(source, work)
        # Every run begins with what it is given. Rows behind others are copied with them then, unlike in a build.
        self._optimised: Optimised = optimise_model(pass_states(graph), work)
        self._copied = frozenset(grown_states(graph))
        # Jobs of other processes have the options: definitions of operators, which these do not need, are functions.
        self.options = replace(work.options, inputs=work.options.inputs.without_operators())
        self._work = replace(work, options=self.options)

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
        """The model's kernels by candidates for its layers, by their keys; and its layers with their decisions."""
        lowered = self.row.lower(self._optimised, self._with(_LayerCandidates(layers or {})))
        origins = self._optimised.tensors.origins
        by_buffer = {t.buffer: set(o.nodes) for t, o in origins.items()} | {
            t.buffer: set(o.nodes) for t, o in lowered.tensors.origins.items()
        }
        by_key: dict[str, list[LayerDecision]] = {}
        for d in lowered.decisions:
            by_key.setdefault(key_of_layer(d.tensor), []).append(d)
        tasks = []
        for key, listed in by_key.items():
            decisions = {d.name: d.decision for d in listed if len(d.decision.options) > 1}
            tensors: dict[str, Tensor] = {}
            for d in listed:
                tensors.setdefault(d.tensor.name, d.tensor)
            nodes = tuple(frozenset(by_buffer.get(t.buffer, ())) for t in tensors.values())
            if decisions and all(nodes):
                tasks.append(LayerTask(key, listed[0].tensor.name, decisions, nodes))
        return lowered, tasks

    def kernel_tasks(self, lowered: Lowered) -> list[KernelTask]:
        """The distinct kernels that the target runs itself."""
        tasks: dict[str, KernelTask] = {}
        copied = {t for name, t in lowered.tensors.outputs if name in self._copied}
        for group, (naive, placements) in self._kernels(lowered).items():
            if lowered.groups[group].output in copied:
                continue
            key = key_of_kernel(naive, placements)
            earlier = tasks.get(key)
            if earlier is None:
                piece = self.piece(lowered, (group,))
                name = f"{lowered.kernels[group].name} {'x'.join(map(text_of, lowered.groups[group].output.shape))}"
                tasks[key] = KernelTask(key, name, naive, placements, (group,), piece)
            else:
                tasks[key] = replace(earlier, groups=(*earlier.groups, group))
        return list(tasks.values())

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
        artifact, _ = make_program(self.row, renamed, self._with(recorded))
        return artifact

    def _kernels(self, lowered: Lowered) -> dict[int, tuple[Kernel, Placements]]:
        """By group, the kernel that is scheduled, and its placements."""
        if not isinstance(self.row, DeviceTarget):
            return {i: (k, ()) for i, k in enumerate(lowered.kernels)}
        plan = self.row.plan(lowered, Weights(), self._with(_LayerCandidates({})))
        return {i: (k.naive, k.placements) for i, k in plan.kernels.items()}

    def _with(self, choices: Any) -> Work:
        return replace(self._work, explicit={self.target: choices})


group_of = piece_of
"""The number of the group of a kernel of `Problem.whole`."""


def make_program(row: CompileTarget, lowered: Lowered, work: Work) -> tuple[Artifact, KernelPlan]:
    """The artifact that a device of the target runs, which leaves kernels for this processor to the device; and the
    plan of its kernels."""
    if row.preference is not None:
        artifact, plan = make_artifact_of(row, lowered, work)
        return make_manifest(artifact), plan
    if isinstance(row, DeviceTarget):
        weights = Weights()
        planned = row.plan(lowered, weights, work)
        return GpuProgram(row.name, compile_for_device(lowered, planned), weights.blob()), planned.kernels
    from ..native.jit import host_target

    plan = plan_for_cpu(lowered, [host_target()], work.choices(row.name).kernels, cache=work.cache)
    return NativeProgram(lowered, plan, work.options.threads), plan


def _named_by_group(lowered: Lowered) -> Lowered:
    kernels = (replace(k, name=kernel_of(i, 0)) for i, k in enumerate(lowered.kernels))
    return replace(lowered, kernels=tuple(kernels))


def _is_tuned(row: CompileTarget) -> bool:
    """Whether it has schedules of its own."""
    return not isinstance(row, CpuTarget) or (row.facts is not None and row.tuned_as is None)


TUNED = tuple(t.name for t in TARGETS.values() if _is_tuned(t))
"""The targets that can be tuned."""
