"""Kernels of a model by themselves, several candidates side by side: what is measured.

    x = copy(input)      in the layout that the kernels of the model read
    c0 = kernel(x)       the first piece, WARMUP times: not measured
    c0 = kernel(x)       by the choices of one candidate
    c1 = kernel(x)       by those of another
    output0 = copy(c0)   row-major again

So candidates are measured in turns, in memory of their own, and nothing but rows and columns crosses to the outside.
Sizes that a run decides are inputs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from ..dtypes import I64
from ..ir.layout import Layout
from ..ir.nodes import Buffer, Kernel, Origin
from ..pipeline.lowered import Lowered
from ..program.dimensions import Dimension
from ..program.live_ranges import owner_of
from ..program.plan_memory import aligned_size
from ..tensor import Tensor, compute
from ..tensor.build_kernel import build_kernel
from ..tensor.fuse import Group
from ..tensor.place_tensors import Stored
from ..tensor.program import TensorProgram

WARMUP = 2
"""The first of equal pieces takes 1.05 to 2 times as long as the others: its operands come from memory, and software
GPUs start their threads; there the second one is slow, too (measured in V8 and SwiftShader)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive kernels of a model, by their numbers: a candidate for a kernel is one of them, a candidate for a
    layer all that compute it."""

    model: Lowered
    groups: tuple[int, ...]


def kernel_of(piece: int, number: int, warmup: int = 0) -> str:
    """The name of a kernel in the model of trials; `warmup` counts the launches that are not measured."""
    return f"c{piece}_{number}" if not warmup else f"c{piece}_{number}_{warmup}"


def piece_of(kernel: str) -> int | None:
    """The number of the piece that a kernel is of; None for copies."""
    match = _NAME.fullmatch(kernel)
    return int(match[1]) if match else None


def is_measured(kernel: str) -> bool:
    """Whether a kernel is of a piece, and no warm-up."""
    match = _NAME.fullmatch(kernel)
    return match is not None and match[2] is None


_NAME = re.compile(r"c(\d+)_\d+(_\d+)?")


def output_of(piece: int, tensor: str) -> str:
    return f"{piece}_{tensor}"


def trial_model(pieces: Sequence[Piece], *, fill_halo: bool, warmup: int = WARMUP) -> Lowered:
    """A model with all `pieces`, the first one so many times more. Its inputs are what they read and do not compute, by
    the names of the tensors; its outputs, `output_of` each piece, are what it computes and does not read. `fill_halo`
    as of the layout policy."""
    trial = _Trial(fill_halo)
    for count in range(warmup):
        trial.add(0, pieces[0], count + 1)
    for number, piece in enumerate(pieces):
        trial.add(number, piece)
    return trial.model()


class _Trial:
    def __init__(self, fill_halo: bool) -> None:
        self._fill_halo = fill_halo
        self._inputs: dict[str, Tensor] = {}
        self._outputs: list[tuple[str, Tensor]] = []
        self._operands: dict[tuple[int, Tensor], Tensor] = {}
        self._layouts: dict[Tensor, Layout] = {}
        self._aliases: dict[Tensor, Tensor] = {}
        self._prepared: dict[Tensor, Group] = {}
        self._before: list[tuple[Group, Kernel]] = []
        self._pieces: list[tuple[Group, Kernel]] = []
        self._after: list[tuple[Group, Kernel]] = []

    def add(self, number: int, piece: Piece, warmup: int = 0) -> None:
        model, groups = piece.model, [piece.model.groups[i] for i in piece.groups]
        computed: dict[Tensor, Tensor] = {}
        read: set[Tensor] = set()
        for k, (i, g) in enumerate(zip(piece.groups, groups, strict=True)):
            operands = []
            for t in g.reads:
                owner = owner_of(t, model.aliases)
                read.add(owner)
                if t.is_constant:
                    self._prepare(model, t)
                    operands.append(t)
                elif owner in computed:
                    operands.append(self._view(model, t, owner, computed))
                else:
                    operands.append(self._operand(model, t))
            result = computed[g.output] = self._like(model, g.output)
            scratch = tuple(self._like(model, t) for t in g.scratch)
            moved = replace(g, output=result, reads=tuple(operands), scratch=scratch)
            self._pieces.append((moved, replace(model.kernels[i], name=kernel_of(number, k, warmup))))
        if warmup:
            return
        results = [t for t in computed if t not in read]
        for k, t in enumerate(results):
            name = output_of(number, t.name)
            copied = _copy(name, computed[t])
            self._layouts[copied] = Layout.row_major(copied.extents)
            self._outputs.append((name, copied))
            self._after.append(self._copying(copied, f"out{number}_{k}"))

    def model(self) -> Lowered:
        steps = [*self._before, *self._pieces, *self._after]
        groups, kernels = tuple(g for g, _ in steps), tuple(k for _, k in steps)
        dimensions = tuple(
            Dimension(s.name, s, 1, f"size {s.name}") for s in dict.fromkeys(s for k in kernels for s in k.scalars)
        )
        for d in dimensions:
            size_input = self._inputs[str(d.value_of)] = Tensor(Buffer(str(d.value_of), (), I64))
            self._layouts[size_input] = Layout.row_major(())
        inputs = tuple(self._inputs.items())
        stored = [*self._inputs.values(), *(g.output for g in groups), *(t for g in groups for t in g.scratch)]
        offset: dict[Tensor, int] = {}
        end = 0
        for t in stored:
            offset[t] = end
            end += aligned_size(prod(self._layouts[t].physical_shape) * t.dtype.bytes)
        owner = {t: owner_of(t, self._aliases) for t in (*stored, *self._aliases)}
        offset |= {t: offset[root] for t, root in owner.items()}
        tensors = TensorProgram(inputs, tuple(self._outputs), (), {}, dimensions=dimensions)
        return Lowered(
            name="trial",
            tensors=tensors,
            groups=groups,
            kernels=kernels,
            layouts=self._layouts,
            aliases=self._aliases,
            stored=Stored(owner, offset, end),
            prepared=self._prepared,
            steps=tuple(range(len(groups))),
        )

    def _operand(self, model: Lowered, t: Tensor) -> Tensor:
        """The tensor in the layout of the model, copied from an input; the pieces of one model share it."""
        key = (id(model), t)
        if key not in self._operands:
            if t.name not in self._inputs:
                input_ = Tensor(Buffer(t.name, t.extents, t.dtype, values=t.buffer.values))
                self._inputs[t.name] = input_
                self._layouts[input_] = Layout.row_major(t.extents)
            operand = _copy(t.name, self._inputs[t.name])
            self._layouts[operand] = model.layouts[t]
            self._operands[key] = operand
            self._before.append(self._copying(operand, f"in{len(self._before)}"))
        return self._operands[key]

    def _view(self, model: Lowered, t: Tensor, owner: Tensor, computed: Mapping[Tensor, Tensor]) -> Tensor:
        """A tensor that a piece computes itself, perhaps by another name for the same memory."""
        if t is owner:
            return computed[t]
        view = self._like(model, t)
        self._aliases[view] = computed[owner]
        return view

    def _like(self, model: Lowered, t: Tensor) -> Tensor:
        tensor = Tensor(replace(t.buffer), exact=t.exact)
        self._layouts[tensor] = model.layouts[t]
        return tensor

    def _prepare(self, model: Lowered, t: Tensor) -> None:
        if t.prepared and t not in self._prepared:
            group = self._prepared[t] = model.prepared[t]
            for operand in group.reads:
                self._prepare(model, operand)

    def _copying(self, copied: Tensor, name: str) -> tuple[Group, Kernel]:
        assert copied.body is not None
        group = Group(copied, copied.axes, copied.body, None, None, copied.reads, Origin())
        return group, build_kernel(name, group, self._layouts, fill_halo=self._fill_halo)


def _copy(name: str, t: Tensor) -> Tensor:
    return compute(name, t.shape, (t,), lambda *i: t.read(i))
