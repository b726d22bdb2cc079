"""If, Loop and Scan: nodes with subgraphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx

from ...dtypes import BOOL
from ...graph.ir import Value
from .import_nodes import Frame, Handler, Import
from .items import Items, tensors
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
    sides = [_side(build, name, side, graphs[side], frame) for side in (THEN, ELSE)]
    wrong = [s for s in sides if s.outputs is None]
    reason = wrong[0].problems.of_sizes if len(wrong) == 1 and frame.refusals is not None else None
    if wrong and reason is None:
        for s in wrong:
            build.report(s.problems)
        return [None] * len(node.output)
    # The regions have equal outputs: a flag for each refused branch of either side, in the other side 0.
    own = [(s, text) for s in sides for _, text in s.refusals]
    regions = []
    for s in sides:
        flags = [v for other in sides for v in (other.flags if other is s else s.none_of(other))]
        regions.append(s.frame.builder.build([] if s.outputs is None else [*s.outputs, *flags]))
    results = build.add_node("If", name, [condition], node.output, frame, tuple(regions), len(own) + len(wrong))
    count = len(node.output)
    texts = [text for _, text in own] + [_refusal(build, node, name, s, reason) for s in wrong]
    for value, text in zip(results[count:], texts, strict=True):
        assert value is not None
        assert frame.refusals is not None
        frame.refusals.append((value, text))
    return results[:count]


@dataclass(frozen=True, slots=True)
class _Side:
    """A branch: its frame, and its outputs, or None and the problems that it has."""

    name: str
    frame: Frame
    outputs: list[Value] | None
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


def _side(build: Import, name: str, side: str, graph: onnx.GraphProto, frame: Frame) -> _Side:
    inner = replace(build.inside(frame, f"{name}.{side}"), refusals=None if frame.refusals is None else [])
    items: Sequence[Value | None] = [None]
    with build.attempt(inner) as attempt:
        items = tensors(name, build.subgraph(graph, {}, inner))
    outputs = [v for v in items if v is not None]
    return _Side(side, inner, outputs if len(outputs) == len(items) and attempt.is_good else None, attempt.problems)


def _refusal(build: Import, node: onnx.NodeProto, name: str, side: _Side, reason: str | None) -> str:
    """The error message of a run that takes a side which does not fit, with the option that compiles without it."""
    decision = build.deciding_inputs.decision(node.input[0])
    without = "" if decision is None else f". {decision.flag(truth=side.name != THEN)} compiles the model without it"
    return (
        f"If (node {name!r}): this run takes its {side.name}, which does not fit the sizes that the model was compiled "
        f"for: {reason}{without}"
    )


CONTROL_FLOW: Mapping[str, Handler] = {"If": _if, "Loop": import_loop, "Scan": import_scan}
