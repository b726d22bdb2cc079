"""The schedule for compute shaders: each kernel's nest is spread over invocations by the rule of its shape."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from math import prod

from ..choices import DEFAULT, Choices
from ..dtypes import F32
from ..ir.contraction import loaded_operand
from ..ir.forms import Contraction, Form, Transform, forms_of
from ..ir.nest import Pointwise, Reduction, match_nest, match_reduction
from ..ir.nodes import Buffer, Kernel, Stmt
from ..ir.rewrite import loads
from ..ir.simplify import simplify_stmt
from ..target import LANES, GpuTarget, MatrixFacts
from .expand_entries import expand_entries
from .rules.long_sums import MOST_PRODUCTS, block_products, block_sums
from .rules.roles import SUMS, Roles, find_roles
from .rules.simt_contraction import simt_contraction
from .rules.simt_matrix import simt_matrix
from .rules.simt_pointwise import simt_pointwise
from .rules.simt_reduction import simt_reduction
from .rules.simt_staged import INVOCATIONS, simt_staged
from .rules.simt_transform import simt_transform
from .rules.simt_words import simt_words, stores_words
from .rules.simt_workgroup import SMALLEST, simt_workgroup
from .rules.staging import StagedPlan, plan_staged, prepare_staged
from .rules.transform import transform_loops
from .rules.word_sums import multiplies_words
from .sign_quads import sign_quads
from .split_groups import split_groups
from .steps import preload

MATRIX_GAIN = 8
"""How many times as fast hardware for matrices multiplies, at least."""


def schedule_simt(
    kernel: Kernel,
    target: GpuTarget,
    choices: Choices = DEFAULT,
    halves: Set[Buffer] = frozenset(),
    *,
    words: bool = False,
) -> Kernel:
    """A kernel of a naive nest becomes loops over a grid of invocations; its constants may get other layouts.

    `halves` are the parameters whose elements float16 holds; with `words` several of the result's are in one word of
    memory. A kernel that is no nest runs in a single
    invocation. Raises ScheduleError for inconsistent choices.
    """
    body, packed = _schedule(simplify_stmt(kernel.body), forms_of(kernel), target, choices, halves, words=words)
    params = tuple(packed.get(p, p) for p in kernel.params)
    body = simplify_stmt(sign_quads(body) if target.signed_quads else body)
    return replace(kernel, params=params, body=body, forms=())


def _schedule(
    stmt: Stmt,
    forms: Mapping[Buffer, Form],
    target: GpuTarget,
    choices: Choices,
    halves: Set[Buffer],
    *,
    words: bool,
) -> tuple[Stmt, dict[Buffer, Buffer]]:
    nest = match_nest(stmt)
    match nest:
        case None:
            return stmt, {}
        case Pointwise() if words and not stores_words(stmt, nest):
            return simt_words(nest, target, choices)
        case Pointwise():
            return simt_pointwise(stmt, nest, target, choices, [True] if words else [True, False]), {}
    form = forms[nest.store.buffer]
    if isinstance(form, Transform) and (loops := transform_loops(nest)) is not None:
        return simt_transform(nest, loops, target, choices), {}
    stmt = expand_entries(stmt)
    stmt = preload(split_groups(stmt, match_reduction(stmt)))
    nest = match_reduction(stmt)
    if isinstance(form, Contraction) and form.sum in SUMS and (roles := find_roles(nest)) is not None:
        return _contraction(stmt, form, nest, roles, target, choices, halves)
    preferred = _is_shared(nest, target)
    shared: bool = choices.choose("shared", [preferred, not preferred] if nest.over else [False])
    schedule = simt_workgroup if shared else simt_reduction
    return block_sums(schedule(stmt, nest, target, choices)), {}


def _contraction(
    stmt: Stmt,
    form: Contraction,
    nest: Reduction,
    roles: Roles,
    target: GpuTarget,
    choices: Choices,
    halves: Set[Buffer],
) -> tuple[Stmt, dict[Buffer, Buffer]]:
    plan = plan_staged(nest, roles)
    if plan is not None:
        if target.matrix is not None and form.sum == F32 and _suits(plan, target.matrix, halves):
            # Matrix units multiply so much faster that they gain long before all other units are busy.
            preferred = plan.workgroups * MATRIX_GAIN * INVOCATIONS >= target.minimum_occupancy
            if choices.choose("matrix", [preferred, not preferred]):
                prepared = prepare_staged(stmt, plan)
                if prepared is not None:
                    return simt_matrix(prepared, target.matrix), prepared.packed
        preferred = target.shared_tiles and plan.workgroups * INVOCATIONS >= target.minimum_occupancy
        in_workgroups: bool = choices.choose("staged", [preferred, not preferred])
        prepared = prepare_staged(stmt, plan) if in_workgroups else None
        if prepared is not None:
            return block_products(simt_staged(prepared)), prepared.packed
    scheduled, packed = simt_contraction(stmt, target, choices)
    return block_products(scheduled), packed


def _suits(plan: StagedPlan, facts: MatrixFacts, halves: Set[Buffer]) -> bool:
    """Whether rounding to the hardware's operands loses nothing that the precision asked for keeps, and its sums, which
    are one chain, are short enough."""
    operands = plan.roles.a, plan.roles.b
    kept = facts.operands == "tf32" or all(x.buffer in halves for e in operands for x in loads(e))
    if facts.operands == "integers":  # a computed operand may be no whole number
        kept = kept and all(loaded_operand(e) is not None for e in operands)
    return kept and prod(v.extent for v in plan.over) <= MOST_PRODUCTS


def _is_shared(nest: Reduction, target: GpuTarget) -> bool:
    """Whether few invocations would each reduce many elements."""
    outputs, elements = (prod(v.extent for v in loops) for loops in (nest.loops, nest.over))
    if multiplies_words(nest):
        # An invocation has a vector of columns, and an element is a span.
        return outputs // LANES < target.minimum_occupancy and elements >= SMALLEST
    return outputs < target.minimum_occupancy and elements >= target.long_reduction
