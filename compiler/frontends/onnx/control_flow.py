"""If, Loop and Scan: nodes with subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import onnx

from .loops import import_loop
from .scans import import_scan
from .sequences import Items, tensors

if TYPE_CHECKING:
    from .build_graph import Frame, Import

Importer = Callable[["Import", onnx.NodeProto, str, Items, "Frame"], Items]


def _if(build: Import, node: onnx.NodeProto, name: str, inputs: Items, frame: Frame) -> Items:
    """Where the condition is known, the outputs of the branch that it takes."""
    (condition,) = tensors(name, inputs)
    assert condition is not None
    graphs = {a.name: a.g for a in node.attribute}
    known = frame.builder.constant_of(condition)
    if known is not None:
        return build.subgraph(graphs["then_branch" if known.item() else "else_branch"], {}, frame)
    regions = []
    for side in ("then_branch", "else_branch"):
        inner = build.inside(frame, f"{name}.{side}")
        outputs = build.subgraph(graphs[side], {}, inner)
        made = tensors(name, outputs)
        if any(v is None for v in made):
            return [None] * len(outputs)
        regions.append(inner.builder.build([v for v in made if v is not None]))
    return build.add_node("If", name, [condition], node.output, frame, tuple(regions))


CONTROL_FLOW: Mapping[str, Importer] = {"If": _if, "Loop": import_loop, "Scan": import_scan}
