"""From naive kernels to a program for a GPU: kernels compiled once each, values in storages, constants in place."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from math import prod

from ..dtypes import F16, DType
from ..errors import CannotExpress
from ..ir.construct import all_of
from ..ir.layout import Layout
from ..ir.nodes import Expr, For, Kernel, Load, Stmt, Store, Var
from ..ir.printer import print_kernel
from ..ir.simplify import simplify
from ..passes.narrow_types import device_dtype, narrow_types
from ..passes.store_halves import store_halves
from ..pipeline.lower_model import Lowered, Observer, ignore, kernel_name
from ..pipeline.weights import Weights
from ..program.device_program import (
    CompiledKernel,
    Constant,
    DeviceBackend,
    DeviceProgram,
    DeviceValue,
    HostCall,
    Launch,
    Placement,
    Places,
    Port,
    Storage,
)
from ..program.live_ranges import owner_of
from ..program.plan_storages import Need, plan_storages
from ..program.program import TensorSpec
from ..system.recursion import deep_recursion
from ..target import WASM_PLAIN, Target
from ..tensor import Tensor
from ..tensor.build_kernel import build_kernel
from ..tensor.choose_device_tile import choose_device_tile
from ..tensor.fuse import Group
from ..tensor.use_winograd import Choice
from .arrange_constant import find_arrangement
from .choose_halves import choose_halves
from .host_program import host_offsets, host_program
from .narrow_model import constant_range, narrow_model
from .place_on_host import Division, Segment, place_on_host


def choice_for(backend: DeviceBackend) -> Choice:
    """The convolutions that a backend's device computes by Winograd's algorithm."""
    order = backend.layouts.windows
    assert order is not None
    return choose_device_tile(backend.costs, order, backend.fits)


@deep_recursion()
def compile_for_device(
    model: Lowered,
    backend: DeviceBackend,
    weights: Weights,
    observe: Observer = ignore,
    cpu: Target = WASM_PLAIN,
    *,
    halves: bool = False,
) -> DeviceProgram:
    """The program of `model`, which was lowered by the backend's layout policy. Constants are added to `weights`
    unless they are there; one that lies there in another layout is repacked on the device, once, at load.

    What the backend cannot say runs on the host, whose program is compiled for `cpu`, with weights of its own. With
    `halves` values and constants lie as float16 where that is accurate enough.
    """
    narrow = narrow_model(model)
    cannot, compiled = dict(narrow.cannot), dict[Hashable, CompiledKernel]()
    while True:
        division = place_on_host(model, cannot)
        stored = choose_halves(model, division) if halves else None
        compiler = _Compiler(model, narrow.kernels, division, backend, weights, compiled, stored)
        refused = compiler.compile_kernels()
        if not refused:
            return compiler.program(observe, cpu)
        cannot |= refused


class _Compiler:
    """Values are numbered: first those of the model's tensors, then constants as kernels want them. `compiled` keeps
    kernels from one attempt to the next. `halves` lie as float16, and so do the constants that are shipped so; None:
    nothing does."""

    def __init__(
        self,
        model: Lowered,
        narrow: Mapping[int, Kernel],
        division: Division,
        backend: DeviceBackend,
        weights: Weights,
        compiled: dict[Hashable, CompiledKernel],
        halves: frozenset[Tensor] | None,
    ) -> None:
        self._model, self._narrow, self._division = model, narrow, division
        self._backend, self._weights, self._compiled, self._halves = backend, weights, compiled, halves
        self._numbers: dict[Tensor, int] = {}
        for t in (*(t for _, t in model.tensors.inputs), *(g.output for g in model.groups), *model.aliases):
            if owner_of(t, model.aliases) in division.on_device:
                self._numbers.setdefault(t, len(self._numbers))
        self._roots = {t: owner_of(t, model.aliases) for t in self._numbers}
        self._places = self._place_textures()
        self._constants: dict[tuple[Tensor, Layout, Placement | None], int] = {}
        self._shipped: dict[tuple[Tensor, Layout], int] = {}
        self._indices: dict[Hashable, int] = {}
        self._kernels: list[CompiledKernel] = []
        self._values: list[DeviceValue] = []
        self._storages: list[Storage] = []
        self._uploads: list[Constant] = []
        self._prepare: list[Launch] = []

    def compile_kernels(self) -> dict[int, str]:
        """Why kernels cannot be compiled, by number of their group."""
        refused: dict[int, str] = {}
        for i in self._on_device():
            try:
                self._kernel(self._stored(i), self._placements(self._model.groups[i]))
            except CannotExpress as reason:
                refused[i] = str(reason)
        return refused

    def program(self, observe: Observer, cpu: Target) -> DeviceProgram:
        m = self._model
        self._place_values()
        host = host_program(m, self._division, cpu, observe)
        offsets = host_offsets(m, self._division)
        steps = [
            self._host_call(s, offsets) if isinstance(s, Segment) else self._launch(m.groups[s], self._stored(s))
            for s in self._division.steps
        ]
        return DeviceProgram(
            backend=self._backend.name,
            name=m.name,
            kernels=tuple(k.kernel for k in self._kernels),
            storages=self._kept(steps),
            values=tuple(self._values),
            constants=tuple(self._uploads),
            prepare=tuple(self._prepare),
            steps=tuple(steps),
            inputs=tuple(self._port(name, t, offsets) for name, t in m.tensors.inputs),
            outputs=tuple(self._result(name, t, offsets) for name, t in m.tensors.outputs),
            host=host,
        )

    def _stored(self, group: int) -> Kernel:
        """The kernel of a group, with parameters as they lie in memory."""
        g = self._model.groups[group]
        return self._as_stored(self._narrow[group], (*g.reads, g.output))

    def _as_stored(self, kernel: Kernel, tensors: tuple[Tensor, ...]) -> Kernel:
        halves = {b for b, t in zip(kernel.params, tensors, strict=True) if self._element(t) == F16}
        return store_halves(kernel, halves)

    def _element(self, t: Tensor) -> DType:
        """As which type the elements of `t` lie in the device's memory."""
        if self._halves is not None and (t in self._halves or (t.data is not None and self._weights.dtype(t) == F16)):
            return F16
        return device_dtype(t.dtype)

    def _kept(self, steps: Sequence[Launch | HostCall]) -> tuple[Storage, ...]:
        """The storages, where constants that no step reads are of use to `prepare` alone."""
        constants = {self._values[c.value].storage for c in self._uploads}
        read = {self._values[a].storage for s in steps if isinstance(s, Launch) for a in s.arguments}
        return tuple(
            replace(s, prepare_only=True) if i in constants - read else s for i, s in enumerate(self._storages)
        )

    def _on_device(self) -> list[int]:
        return [s for s in self._division.steps if isinstance(s, int)]

    def _place_textures(self) -> Places:
        m, segments = self._model, self._division.segments
        groups = [m.groups[i] for i in self._on_device()]
        arguments = [[self._root(t) for t in (*g.reads, g.output)] for g in groups]
        ports = {owner_of(t, m.aliases) for _, t in (*m.tensors.inputs, *m.tensors.outputs)}
        crossing = {t for s in segments for t in (*s.reads, *s.writes)}
        fixed = {self._root(t) for t in ports | crossing if t in self._numbers}
        return self._backend.place([self._narrow[i] for i in self._on_device()], arguments, fixed)

    def _host_call(self, s: Segment, offsets: Mapping[Tensor, int]) -> HostCall:
        reads, writes = (tuple(self._numbers[t] for t in tensors) for tensors in (s.reads, s.writes))
        places = tuple(offsets[t] for t in (*s.reads, *s.writes))
        name = "_".join(dict.fromkeys(self._model.kernels[i].name for i in s.groups))
        return HostCall(s.first, s.last, reads, writes, places, name, s.origin.nodes, s.origin.ops, s.reason)

    def _port(self, name: str, t: Tensor, offsets: Mapping[Tensor, int]) -> Port:
        return Port(TensorSpec(name, t.dtype, t.shape, offsets.get(t, -1)), self._numbers.get(t, -1))

    def _result(self, name: str, t: Tensor, offsets: Mapping[Tensor, int]) -> Port:
        """Taken from where it is made."""
        if owner_of(t, self._model.aliases) in self._division.results:
            return Port(TensorSpec(name, t.dtype, t.shape, offsets[t]), -1)
        return Port(TensorSpec(name, t.dtype, t.shape, -1), self._numbers[t])

    def _root(self, t: Tensor) -> int:
        """The number of whose memory `t` lies in, -1 for a constant."""
        return -1 if t.is_constant else self._numbers[self._roots[t]]

    def _place(self, t: Tensor) -> Placement | None:
        root = self._root(t)
        if root >= 0 and root not in self._places:  # an input that nothing reads
            return self._backend.place_linear(prod(t.shape))
        return self._places.get(root)

    def _place_values(self) -> None:
        """Storages of all that a run computes. An alias lies where its owner does."""
        m, roots = self._model, self._roots
        first: dict[Tensor, int] = {t: -1 for _, t in m.tensors.inputs if t in roots}
        last = dict(first)
        for i, s in enumerate(self._division.steps):
            reads, made = (s.reads, s.writes) if isinstance(s, Segment) else (m.groups[s].reads, (m.groups[s].output,))
            first.update(dict.fromkeys(made, i))
            last.update({roots[t]: i for t in (*reads, *made) if not t.is_constant})
        last.update({roots[t]: len(self._division.steps) for _, t in m.tensors.outputs if t in roots})
        needs: dict[Tensor, Need] = {}
        for t, root in roots.items():
            place = self._place(root)
            size = max(_bytes(self._shape(t), self._element(t), place), needs[root].size if root in needs else 0)
            needs[root] = Need(size, first[root], last[root], self._kind(root, place))
        chosen, sizes = plan_storages(list(needs.values()))
        where = dict(zip(needs, chosen, strict=True))
        for s, size in enumerate(sizes):
            t = next(t for t in needs if where[t] == s)
            self._storages.append(Storage(size, self._element(t), self._place(t)))
        for t, root in roots.items():
            self._values.append(DeviceValue(t.name, where[root], t.dtype, self._shape(t)))

    def _shape(self, t: Tensor) -> tuple[int, ...]:
        return self._model.layouts[t].physical_shape

    def _kind(self, t: Tensor, place: Placement | None) -> Hashable:
        """What may share a storage: a border of zeros is written once, at creation, so only equal layouts keep it."""
        layout = self._model.layouts[t]
        border = layout if any(lo or hi for lo, hi in layout.pad) else None
        return (border, place, self._element(t))

    def _launch(self, group: Group, naive: Kernel) -> Launch:
        tensors = (*group.reads, group.output)
        at = self._kernel(naive, self._placements(group))
        made = self._kernels[at]
        arguments = [
            self._constant(t, _layout(b), place) if t.is_constant else self._numbers[t]
            for t, b, place in zip(tensors, made.params, made.placements, strict=True)
        ]
        return Launch(at, naive.name, tuple(arguments), group.origin.nodes, group.origin.ops)

    def _placements(self, group: Group) -> tuple[Placement | None, ...]:
        return tuple(self._place(t) for t in (*group.reads, group.output))

    def _kernel(self, naive: Kernel, placements: tuple[Placement | None, ...]) -> int:
        key = (print_kernel(naive, named=False), placements)
        if key not in self._indices:
            if key not in self._compiled:
                self._compiled[key] = self._backend.compile_kernel(naive, placements)
            self._indices[key] = len(self._kernels)
            self._kernels.append(self._compiled[key])
        return self._indices[key]

    def _constant(self, t: Tensor, layout: Layout, place: Placement | None) -> int:
        """The value that holds constant `t` in `layout` at `place`, made at load."""
        key = (t, layout, place)
        if key not in self._constants:
            if t.data is None:
                self._constants[key] = self._prepared(t, layout, place)
            else:
                there, offset = self._weights.find(t, layout)
                order = self._backend.memory_order(layout.physical_shape, place)
                if there == layout and order is None:
                    self._constants[key] = self._upload(t, layout, offset, prepare_only=False)
                elif (digits := find_arrangement(there, layout, order)) is not None:
                    value = self._new_value(t, layout.physical_shape, place, prepare_only=False)
                    shipped = self._weights.dtype(t)
                    size = prod(there.physical_shape) * shipped.bytes
                    self._uploads.append(Constant(value, offset, size, shipped, digits, t.shape))
                    self._constants[key] = value
                else:
                    self._constants[key] = self._repack(t, there, offset, layout, place)
        return self._constants[key]

    def _upload(self, t: Tensor, layout: Layout, offset: int, *, prepare_only: bool) -> int:
        shape = layout.physical_shape
        place = self._backend.place_linear(prod(shape))
        value = self._new_value(t, shape, place, prepare_only=prepare_only)
        shipped = self._weights.dtype(t)
        self._uploads.append(Constant(value, offset, prod(shape) * shipped.bytes, shipped))
        return value

    def _repack(self, t: Tensor, there: Layout, offset: int, layout: Layout, place: Placement | None) -> int:
        """One upload serves every layout that is wanted of a constant."""
        if (t, there) not in self._shipped:
            self._shipped[t, there] = self._upload(t, there, offset, prepare_only=True)
        source = self._shipped[t, there]
        naive = repack_kernel(t, there, layout)
        naive = narrow_types(naive, {} if t.dtype.is_float else {naive.params[0]: constant_range(t)}).kernel
        naive = self._as_stored(naive, (t, t))
        value = self._new_value(t, layout.physical_shape, place, prepare_only=False)
        at = self._kernel(naive, (self._storages[self._values[source].storage].placement, place))
        self._prepare.append(Launch(at, naive.name, (source, value)))
        return value

    def _prepared(self, t: Tensor, layout: Layout, place: Placement | None) -> int:
        """A tensor computed at load from constants alone."""
        group = self._model.prepared[t]
        value = self._new_value(t, layout.physical_shape, place, prepare_only=False)
        naive = self._as_stored(build_kernel(kernel_name(group), group, {t: layout}), (*group.reads, t))
        at = self._kernel(naive, (*(None for _ in group.reads), place))
        made = self._kernels[at]
        arguments = [
            self._constant(r, _layout(b), p)
            for r, b, p in zip(group.reads, made.params[:-1], made.placements[:-1], strict=True)
        ]
        self._prepare.append(Launch(at, naive.name, (*arguments, value), group.origin.nodes, group.origin.ops))
        return value

    def _new_value(self, t: Tensor, shape: tuple[int, ...], place: Placement | None, *, prepare_only: bool) -> int:
        element = self._element(t)
        self._storages.append(Storage(_bytes(shape, element, place), element, place, prepare_only))
        self._values.append(DeviceValue(t.name, len(self._storages) - 1, t.dtype, shape))
        return len(self._values) - 1


def repack_kernel(t: Tensor, there: Layout, wanted: Layout) -> Kernel:
    """Copies a constant from one layout to another; what padding and rounding up add is zero."""
    source = there.buffer("shipped", t.dtype)
    target = wanted.buffer("packed", t.dtype)
    loops = tuple(Var(f"i{d}", n) for d, n in enumerate(target.shape))
    logical = wanted.logical(loops)
    inside = [
        c
        for axis, (i, n) in enumerate(zip(logical, wanted.shape, strict=True))
        for c in ((i >= 0, i < n) if wanted.extent(axis) != n else ())
    ]
    value: Expr = Load(source, there.index(logical), all_of(*inside) if inside else None)
    body: Stmt = Store(target, loops, value)
    for v in reversed(loops):
        body = For(v, body)
    return simplify(Kernel("repack", (source, target), body))


def _layout(b: object) -> Layout:
    layout = getattr(b, "layout", None)
    assert isinstance(layout, Layout)
    return layout


def _bytes(shape: tuple[int, ...], element: DType, place: Placement | None) -> int:
    if place is not None:
        return place.bytes
    return max(16, -(-prod(shape) * element.bytes // 16) * 16)
