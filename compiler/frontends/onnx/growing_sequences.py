"""Sequences to which each iteration of a loop appends a tensor: these are the rows that the loop stacks.

Loop(n, c, s) { s' = SequenceInsert(s, t) }    ->    Loop(n, c) { stacked row: t }
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import onnx


def stack_sequences(body: onnx.GraphProto, sequences: Sequence[int]) -> onnx.GraphProto | None:
    """The body of a loop without the `sequences` among what it carries, by number, and with as many rows more, which
    they are made of; None where the body does anything but append one tensor to each."""
    stacked = onnx.GraphProto()
    stacked.CopyFrom(body)
    makers = {output: n for n in stacked.node for output in n.output}
    uses = Counter((*_read(stacked), *(o.name for o in stacked.output)))

    def source(name: str) -> str:
        """The name of the value that `name` is a copy of."""
        while name in makers and makers[name].op_type == "Identity" and uses[name] == 1:
            name = makers[name].input[0]
        return name

    for k in sequences:
        carried, last = stacked.input[2 + k].name, source(stacked.output[1 + k].name)
        append = makers.get(last)
        if append is None or append.op_type != "SequenceInsert" or any(append.input[2:]):
            return None
        if source(append.input[0]) != carried or uses[carried] != 1 or uses[last] != 1:
            return None
        copies = append.input[0]
        while copies != carried:
            stacked.node.remove(makers[copies])
            copies = makers[copies].input[0]
        append.op_type = "Identity"
        append.input[:] = [append.input[1]]
    rows = [stacked.output[1 + k] for k in sequences]
    for k in sorted(sequences, reverse=True):
        del stacked.input[2 + k], stacked.output[1 + k]
    stacked.output.extend(rows)
    return stacked


def _read(graph: onnx.GraphProto) -> Iterator[str]:
    """All that nodes read, those of subgraphs too."""
    for n in graph.node:
        yield from n.input
        for a in n.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from (*_read(a.g), *(o.name for o in a.g.output))
