"""From naive kernels to a program for a GPU: distinct kernels compiled, values and constants placed in storages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..codegen.device_backend import CompiledKernel
from ..ir.nodes import Scalar
from ..pipeline.describe_forms import describe_forms
from ..pipeline.lowered import Lowered
from ..program.device_program import DeviceProgram, HostCall, Launch, Port, ReadScalar, ScalarLocation, Step
from ..program.live_ranges import owner_of
from ..program.program import TensorSpec, kept_spec
from ..program.steps import Branch, Loop
from ..system.recursion import deep_recursion
from ..system.run_passes import Observer, ignore
from ..target import WASM_PLAIN, Target
from ..tensor import Tensor
from ..tensor.steps import BranchStep, LoopStep, StepsOf, condition_of, map_runs
from .compile_kernels import DistinctKernels
from .host_program import host_offsets, host_program
from .partition_host import HostPartition, Segment
from .place_constants import PlacedConstants, constant_use, place_constants
from .place_measures import place_measures
from .place_values import place_values
from .plan_for_device import DevicePlan


@deep_recursion()
def compile_for_device(
    model: Lowered, plan: DevicePlan, observe: Observer = ignore, cpu: Target = WASM_PLAIN
) -> DeviceProgram:
    """The program of `model` by its `plan`. Constants are added to the plan's weights unless they are there; one that
    is there in another layout is repacked on the device, once, at load. Kernels for that, and those that prepare
    constants, have their default schedules.

    Operations that the backend cannot express run on the host, whose program is compiled for `cpu`, with weights of its
    own.
    """
    partition, tensors, groups, backend = plan.partition, plan.tensors, plan.groups, plan.compiler.backend
    kernels = DistinctKernels(plan.compiler, groups.kernels)
    memory = place_values(model, partition, tensors, plan.types)
    launches = {i: groups.kernels[at] for i, at in groups.numbers.items()}
    constants = place_constants(model, launches, backend, plan.types, kernels, memory)
    host = host_program(model, partition, cpu, observe)
    offsets = host_offsets(model, partition)
    places = _Places(model, partition, tensors.numbers, offsets)

    def carry_out(run: Sequence[int | Segment], _: bool) -> Iterator[HostCall | Launch | ReadScalar]:
        for s in run:
            if isinstance(s, Segment):
                yield _host_call(model, s, tensors.numbers, offsets)
            else:
                yield _launch(model, s, groups.numbers[s], launches[s], tensors.numbers, constants)
            yield from places.measures(s.groups if isinstance(s, Segment) else (s,))

    states = dict(model.tensors.state_tensors)
    steps = places.around(map_runs(partition.steps, carry_out))  # type: ignore[arg-type]
    steps = place_measures(steps, model.reported, host.scalars.keys() if host else set(), places.carried)
    return DeviceProgram(
        backend=backend.name,
        name=model.name,
        kernels=tuple(k.kernel for k in kernels.kernels),
        storages=constants.memory.storages,
        values=constants.memory.values,
        constants=constants.uploads,
        prepare=constants.prepare,
        steps=steps,
        inputs=tuple(_input(name, t, tensors.numbers, offsets) for name, t in _given(model)),
        outputs=tuple(
            _output(name, t, owner_of(t, model.aliases), partition, tensors.numbers, offsets)
            for name, t in model.tensors.outputs
            if t not in states.values()
        ),
        states=tuple(
            Port(
                kept_spec(TensorSpec(name, t.dtype, t.shape, -1), t.extents, model.tensors.state(name)),
                tensors.numbers[t],
            )
            for name, t in model.tensors.inputs
            if t in states
        ),
        host=host,
        dimensions=model.tensors.dimensions,
        refusals=model.tensors.refusals,
    )


def _given(model: Lowered) -> list[tuple[str, Tensor]]:
    """The inputs that a run is given."""
    states = dict(model.tensors.state_tensors)
    return [(name, t) for name, t in model.tensors.inputs if t not in states]


class _Places:
    """Where what decides how a run goes on is."""

    def __init__(
        self, model: Lowered, partition: HostPartition, numbers: Mapping[Tensor, int], offsets: Mapping[Tensor, int]
    ) -> None:
        self._model, self._partition, self._numbers, self._offsets = model, partition, numbers, offsets
        self.carried: dict[Scalar, set[Scalar]] = {}
        """By the counter of a loop, the scalars that are taken from what it carries."""
        self._scalars: dict[Tensor, list[Scalar]] = {}
        for scalar, t in model.measured.items():
            self._scalars.setdefault(owner_of(t, model.aliases), []).append(scalar)

    def measures(self, groups: Sequence[int]) -> Iterator[ReadScalar]:
        """Measurements of scalars in the results of groups."""
        for i in groups:
            owner = owner_of(self._model.groups[i].output, self._model.aliases)
            yield from (ReadScalar(s, self.of(owner)) for s in self._scalars.get(owner, ()))

    def of(self, t: Tensor) -> ScalarLocation:
        owner = owner_of(t, self._model.aliases)
        inputs = [t for _, t in _given(self._model)]
        if owner in inputs:
            return ScalarLocation(input=inputs.index(owner))
        if owner in self._partition.results:
            return ScalarLocation(offset=self._offsets[owner])
        return ScalarLocation(value=self._numbers[owner])

    def around(self, steps: StepsOf[HostCall | Launch | ReadScalar]) -> tuple[Step, ...]:
        """Steps with places of conditions in place of tensors."""
        return tuple(self._structure(s) if isinstance(s, LoopStep | BranchStep) else s for s in steps)

    def _structure(
        self, step: LoopStep[HostCall | Launch | ReadScalar] | BranchStep[HostCall | Launch | ReadScalar]
    ) -> Step:
        if isinstance(step, LoopStep):
            carried = condition_of(step)
            condition = None if carried is None else self.of(carried)
            owners = {owner_of(t, self._model.aliases) for c in step.loop.carried for t in (c.start, c.inside)}
            self.carried[step.loop.counter] = {s for owner in owners for s in self._scalars.get(owner, ())}
            return Loop(step.loop.counter, step.loop.trips, condition, self.around(step.body))
        tested = self.of(step.condition) if isinstance(step.condition, Tensor) else step.condition
        return Branch(tested, self.around(step.then), self.around(step.otherwise))


def _launch(
    model: Lowered,
    group: int,
    kernel: int,
    compiled: CompiledKernel,
    numbers: Mapping[Tensor, int],
    constants: PlacedConstants,
) -> Launch:
    g = model.groups[group]
    naive = model.kernels[group]
    result = owner_of(g.output, model.aliases) if naive.row else g.output
    arguments = (
        constants.numbers[constant_use(t, b, place)] if t.is_constant else numbers[t]
        for t, b, place in zip((*g.reads, result), compiled.params, compiled.placements, strict=True)
    )
    forms = describe_forms(naive, g.reads)
    return Launch(kernel, naive.name, tuple(arguments), g.origin.nodes, g.origin.ops, naive.scalars, forms)


def _host_call(model: Lowered, s: Segment, numbers: Mapping[Tensor, int], offsets: Mapping[Tensor, int]) -> HostCall:
    reads, writes = (tuple(numbers[t] for t in tensors) for tensors in (s.reads, s.writes))
    places = tuple(offsets[t] for t in (*s.reads, *s.writes))
    name = "_".join(dict.fromkeys(model.kernels[i].name for i in s.groups))
    return HostCall(s.first, s.last, reads, writes, places, name, s.origin.nodes, s.origin.ops, s.reason)


def _input(name: str, t: Tensor, numbers: Mapping[Tensor, int], offsets: Mapping[Tensor, int]) -> Port:
    return Port(TensorSpec(name, t.dtype, t.shape, offsets.get(t, -1)), numbers.get(t, -1))


def _output(
    name: str,
    t: Tensor,
    owner: Tensor,
    partition: HostPartition,
    numbers: Mapping[Tensor, int],
    offsets: Mapping[Tensor, int],
) -> Port:
    """Read from the side that computes it."""
    if owner in partition.results:
        return Port(TensorSpec(name, t.dtype, t.shape, offsets[t]), -1)
    return Port(TensorSpec(name, t.dtype, t.shape, -1), numbers[t])
