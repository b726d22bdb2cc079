"""A model between tensors and targets: naive kernels, the order in which they run, memory for what they store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.layout import Layout
from ..ir.nodes import Expr, Kernel, Scalar
from ..ir.sizes import scalars_of
from ..tensor import Tensor
from ..tensor.fuse import Group
from ..tensor.layer_choices import LayerDecision
from ..tensor.place_tensors import Stored
from ..tensor.program import Rewritten, TensorProgram
from ..tensor.steps import Steps, conditions_of, trip_counts


@dataclass(frozen=True, slots=True)
class Lowered:
    """A model as naive kernels, before anything depends on a target. `kernels` belong to `groups` one by one.

    `prepared` are the groups of tensors computed at load: their kernels are built for the layouts that a target reads.
    `rewritten` are the convolutions that Winograd's algorithm computes. `steps` are all groups in the order in which
    they run, with the loops and branches around them. `decisions` about layers led to them, in order.
    """

    name: str
    tensors: TensorProgram
    groups: tuple[Group, ...]
    kernels: tuple[Kernel, ...]
    layouts: Mapping[Tensor, Layout]
    aliases: Mapping[Tensor, Tensor]
    stored: Stored
    prepared: Mapping[Tensor, Group]
    rewritten: tuple[Rewritten, ...] = ()
    steps: Steps = ()
    decisions: tuple[LayerDecision, ...] = ()

    @property
    def sources(self) -> Mapping[Tensor, tuple[Tensor, ...]]:
        """The tensors from which the launches of groups take scalars, by the groups' outputs."""
        measured = self.measured
        return {
            g.output: tuple(measured[s] for s in k.scalars if s in measured)
            for g, k in zip(self.groups, self.kernels, strict=True)
        }

    @property
    def measured(self) -> Mapping[Scalar, Tensor]:
        """The scalars that a run computes, with the tensors of one element that they are taken from."""
        used = (s for k in self.kernels for s in k.scalars)
        scalars = dict.fromkeys((*used, *self.reported, *scalars_of(*trip_counts(self.steps))))
        dimensions = {d.scalar for d in self.tensors.dimensions}
        sources = ((s, self.tensors.sizes.source(s)) for s in scalars if s not in dimensions)
        return {s: t for s, t in sources if t is not None}

    @property
    def reported(self) -> tuple[Scalar, ...]:
        """The scalars that the caller of a run reads: how long results are, whether the run took a branch that does not
        fit."""
        shapes = (n for _, t in self.tensors.outputs for n in t.shape if isinstance(n, Expr))
        return (*scalars_of(*shapes), *(r.scalar for r in self.tensors.refusals))

    @property
    def observed(self) -> tuple[Tensor, ...]:
        """Tensors that decide the control flow of a run: those of scalars, and conditions of loops and branches."""
        return (*self.measured.values(), *conditions_of(self.steps))


def kernel_name(g: Group) -> str:
    words = "_".join(dict.fromkeys(op.lower() for op in g.origin.ops)) or "copy"
    return "".join(c if c.isalnum() else "_" for c in words)[:48]
