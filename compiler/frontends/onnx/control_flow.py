"""If, Loop and Scan: nodes with subgraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx

from ...dtypes import BOOL
from ...errors import UnsupportedError
from ...graph.ir import Value
from ...ir.sizes import shown
from .decide_branches import RanksDifferError
from .import_nodes import Frame, Handler, Import
from .items import Items, Lengths, gathered, spread, tensors
from .loops import check_one_element, import_loop
from .problems import Problems
from .scans import import_scan

THEN, ELSE = "then_branch", "else_branch"


def _if(build: Import, node: onnx.NodeProto, name: str, inputs: Items, frame: Frame) -> Items:
    """Where the condition is known, the outputs of the branch that it takes."""
    (condition,) = tensors(name, inputs)
    assert condition is not None
    graphs = {a.name: a.g for a in node.attribute}
    constant = frame.builder.constant_of(condition)
    check_one_element(f"If (node {name!r}): its condition", condition, BOOL)
    if constant is not None:
        return build.subgraph(graphs[THEN if constant.item() else ELSE], {}, frame)
    with build.attempt(frame) as attempt:
        sides = [_side(build, node, name, side, graphs[side], frame) for side in (THEN, ELSE)]
        differing = _differing_ranks(build, node, sides) if build.may_decide(node, frame) else None
        if differing is not None:
            attempt.drop()
    if differing is not None:
        raise differing
    wrong = [s for s in sides if s.outputs is None]
    reason = wrong[0].problems.of_sizes if len(wrong) == 1 and frame.refusals is not None else None
    if wrong and reason is None:
        for s in wrong:
            build.report(s.problems)
        return [None] * len(node.output)
    lengths = next(s.lengths for s in sides if s.outputs is not None)
    if not wrong and sides[0].lengths != sides[1].lengths:
        raise UnsupportedError(
            f"If (node {name!r}): its branches return sequences of different lengths, so its condition decides "
            "how many tensors there are: fix what it depends on by --fix"
        )
    names = [m for o, n in zip(node.output, lengths, strict=True) for m in _names(build, o, n)]
    # The regions have equal outputs: a flag for each refused branch of either side, in the other side 0.
    own = [(s, text) for s in sides for _, text in s.refusals]
    regions = []
    for s in sides:
        flags = [v for other in sides for v in (other.flags if other is s else s.none_of(other))]
        regions.append(s.frame.builder.build([] if s.outputs is None else [*s.outputs, *flags]))
    results = build.add_node("If", name, [condition], names, frame, tuple(regions), len(own) + len(wrong))
    count = len(names)
    texts = [text for _, text in own] + [_refusal(build, node, name, s, reason) for s in wrong]
    for value, text in zip(results[count:], texts, strict=True):
        assert value is not None
        assert frame.refusals is not None
        frame.refusals.append((value, text))
    return gathered(results[:count], lengths)


def _differing_ranks(build: Import, node: onnx.NodeProto, sides: Sequence[_Side]) -> RanksDifferError | None:
    """The error of branches that fit by themselves, and return different ranks. Without a stated rank the then_branch
    is refused first: exporters have the rarer case there."""
    then, otherwise = sides
    if then.outputs is None or otherwise.outputs is None or then.lengths != otherwise.lengths:
        return None
    names = [o for o, n in zip(node.output, then.lengths, strict=True) for _ in range(1 if n is None else n)]
    for name, a, b in zip(names, then.outputs, otherwise.outputs, strict=True):
        if len(a.shape) != len(b.shape):
            order = (ELSE, THEN) if build.decisions.stated_ranks.get(name) == len(a.shape) else (THEN, ELSE)
            both = f"{a.dtype}{shown(a.shape)} and {b.dtype}{shown(b.shape)}"
            return RanksDifferError(f"its branches return {both} for one output, and one rank fits what follows", order)
    return None


def _names(build: Import, output: str, length: int | None) -> list[str]:
    """The names of the tensors that an output is."""
    if length is None:
        return [output]
    return [build.fresh(f"{output}.tensor") if output else "" for _ in range(length)]


@dataclass(frozen=True, slots=True)
class _Side:
    """A branch: its frame, and its outputs, which are items of so many tensors, or None and the problems that it
    has."""

    name: str
    frame: Frame
    outputs: list[Value] | None
    lengths: Lengths
    problems: Problems

    @property
    def refusals(self) -> list[tuple[Value, str]]:
        """Refusals of branches in it."""
        return (self.frame.refusals or []) if self.outputs is not None else []

    @property
    def flags(self) -> list[Value]:
        return [v for v, _ in self.refusals]

    def none_of(self, other: _Side) -> list[Value]:
        """In place of the other's refusals: where this side runs, that one does not."""
        builder = self.frame.builder
        return [builder.constant(f"{v.name}.{self.name}", np.zeros(1, np.int32)) for v in other.flags]


def _side(build: Import, node: onnx.NodeProto, name: str, side: str, graph: onnx.GraphProto, frame: Frame) -> _Side:
    inner = replace(build.inside(frame, f"{name}.{side}"), refusals=None if frame.refusals is None else [])
    values: Sequence[Value | None] = [None]
    lengths: Lengths = []
    decided = build.decisions.of(node)
    with build.attempt(inner) as attempt:
        if decided is not None and decided.side == side:
            raise UnsupportedError(decided.reason)
        values, lengths = spread(name, build.subgraph(graph, {}, inner))
    outputs = [v for v in values if v is not None]
    is_good = len(outputs) == len(values) and attempt.is_good
    return _Side(side, inner, outputs if is_good else None, lengths, attempt.problems)


def _refusal(build: Import, node: onnx.NodeProto, name: str, side: _Side, reason: str | None) -> str:
    """The error message of a run that takes a side which does not fit, with the option that compiles without it."""
    decision = build.deciding_inputs.decision(node.input[0])
    without = "" if decision is None else f". {decision.flag(truth=side.name != THEN)} compiles the model without it"
    return (
        f"If (node {name!r}): this run takes its {side.name}, which does not fit the sizes that the model was compiled "
        f"for: {reason}{without}"
    )


CONTROL_FLOW: Mapping[str, Handler] = {"If": _if, "Loop": import_loop, "Scan": import_scan}
