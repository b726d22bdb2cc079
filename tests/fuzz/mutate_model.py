"""Changes an ONNX model as a message: each mutation by a seed of its own, so that any of them can be left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import onnx
from fuzz import edit_nodes, edit_tensors, edit_types
from fuzz.edit_tensors import Feeds

Mutation = Callable[[onnx.ModelProto, Feeds, Random], None]
GROUPS: tuple[tuple[Mutation, ...], ...] = (edit_tensors.MUTATIONS, edit_types.MUTATIONS, edit_nodes.MUTATIONS)


def mutate_model(model: onnx.ModelProto, given: Feeds, seeds: Sequence[int]) -> tuple[str, ...]:
    """Changes `model` and what it is `given` once for each seed; the names of the mutations. One that finds nothing to
    change, or an element that ONNX's own library cannot hold, changes nothing."""
    names = []
    for seed in seeds:
        draw = Random(seed)
        mutation = draw.choice(draw.choice(GROUPS))
        names.append(mutation.__name__)
        before = model.SerializeToString()
        try:
            mutation(model, given, draw)
        except (ValueError, TypeError, OverflowError, LookupError):  # protobuf, NumPy and ONNX refuse some odd values
            model.ParseFromString(before)
    return tuple(names)
