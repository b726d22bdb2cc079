"""The plan of a program for a GPU: what runs on the device, how it is stored there, and by which kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..choices import Choices
from ..codegen.device_backend import DeviceBackend
from ..errors import CannotExpress, UnsupportedError
from ..ir.nodes import Kernel
from ..passes.narrow_types import device_dtype
from ..pipeline.lowered import Lowered
from ..pipeline.plan_kernels import KernelChoices, KernelPlan, Placements, default_choices, plan_kernels
from ..pipeline.weights import Weights
from ..system.recursion import deep_recursion
from .arithmetic import FLOATS, Arithmetic, ChooseArithmetic, in_floats
from .choose_halves import choose_halves, choose_whole
from .compile_kernels import CompiledGroups, KernelCompiler, compile_kernels
from .narrow_model import NarrowModel, narrow_model
from .partition_host import HostPartition, partition_host
from .place_textures import DeviceTensors, place_textures
from .share_layouts import share_layouts
from .share_tables import share_tables
from .storage_types import StorageTypes


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """The partition of a model, and the kernels and tensors of its device's part: `kernels` as they are scheduled,
    `groups` as they were compiled, by `compiler`."""

    partition: HostPartition
    types: StorageTypes
    tensors: DeviceTensors
    kernels: KernelPlan
    groups: CompiledGroups
    compiler: KernelCompiler
    arithmetic: Arithmetic


@deep_recursion()
def plan_for_device(
    model: Lowered,
    backend: DeviceBackend,
    weights: Weights,
    *,
    halves: bool = False,
    arithmetic: ChooseArithmetic = in_floats,
    choices: KernelChoices = default_choices,
    host: bool = True,
) -> DevicePlan:
    """The plan of `model`, which was lowered by the backend's layout policy. With `halves` values and constants are
    float16 where that is accurate enough, and `arithmetic` says which of them are computed so. `choices` are those of
    each kernel's schedule on the device. `host` is as `partition_host` has it."""
    _check_states(model)
    narrow = narrow_model(model)
    compiler = KernelCompiler(backend)
    return _plan(model, narrow, narrow.cannot, weights, compiler, choices, arithmetic, halves=halves, host=host)


def partition_by_types(model: Lowered, *, host: bool = True) -> HostPartition:
    """The partition before any kernel is compiled: by the types of elements, which are the same for all devices."""
    return partition_host(model, narrow_model(model).cannot, host=host)


def _check_states(model: Lowered) -> None:
    """UnsupportedError for a state of a type that devices have no memory for."""
    for before, _ in model.tensors.state_tensors:
        try:
            device_dtype(before.dtype)
        except CannotExpress:
            raise UnsupportedError(
                f"state {before.name!r} is {before.dtype}, which GPUs lack; compile for a target of the processor, or "
                "pass it through each run (--state none)"
            ) from None


def _plan(
    model: Lowered,
    narrow: NarrowModel,
    cannot: Mapping[int, str],
    weights: Weights,
    compiler: KernelCompiler,
    choices: KernelChoices,
    arithmetic: ChooseArithmetic,
    *,
    halves: bool,
    host: bool,
) -> DevicePlan:
    """Kernels that the backend refuses join those of `cannot`; that changes the partition, and with it textures and
    types of the others."""
    partition = partition_host(model, cannot, host=host)
    chosen = choose_halves(model, partition) if halves else None
    computed = FLOATS if chosen is None else arithmetic(model, chosen)
    whole = choose_whole(model, partition) if compiler.backend.stores_whole else frozenset()
    types = StorageTypes(weights, chosen, computed.halves, whole)
    tensors = place_textures(model, narrow.kernels, partition, compiler.backend)
    naive: dict[int, tuple[Kernel, Placements]] = {}
    for i in partition.groups:
        params = (*model.groups[i].reads, model.groups[i].output)
        naive[i] = types.apply(narrow.kernels[i], params), tuple(map(tensors.placement, params))

    def legal(kernel: Kernel, placements: Placements, recorded: Choices) -> Choices:
        compiler.compile(kernel, placements, recorded)
        return recorded

    kernels = plan_kernels(naive, choices, legal)
    groups = compile_kernels(kernels, compiler)
    shared = naive if groups.refused else share_tables(model, share_layouts(model, naive, groups, compiler), groups)
    if shared is not naive:
        kernels = plan_kernels(shared, choices, legal)
        groups = compile_kernels(kernels, compiler)
    if groups.refused:
        cannot = {**cannot, **groups.refused}
        return _plan(model, narrow, cannot, weights, compiler, choices, arithmetic, halves=halves, host=host)
    return DevicePlan(partition, types, tensors, kernels, groups, compiler, computed)
