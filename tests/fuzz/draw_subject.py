"""From a case to the model that it is about, and what that is run on."""

from __future__ import annotations

import zlib
from random import Random

import numpy as np
import onnx
from fuzz.base_models import base_model, pick_row
from fuzz.case import Array, Case, Subject
from fuzz.check_growth import LARGEST, draw_growing
from fuzz.draw_names import draw_names
from fuzz.more_operators import long_graph
from fuzz.mutate_bytes import mutate_bytes
from fuzz.mutate_model import mutate_model
from fuzz.vary_node import vary_node
from google.protobuf.message import DecodeError
from onnx import helper
from op_table import feeds, untyped_model
from random_quanta import random_quanta

TARGETS = ("native", "native", "native", "wasm", "webgl", "webgpu")
"""Targets of random graphs."""

LARGEST_INPUTS = 1 << 24
"""Elements; a model that takes more is compiled, and not run."""


def draw_subject(case: Case) -> Subject:
    """Draws the subject of a case, equal for equal cases on every machine."""
    if case.reduced is not None:
        return case.reduced
    # Another stream for each kind; hash() differs from process to process.
    draw = Random(zlib.crc32(case.kind.encode()) << 32 | case.seed)
    if case.kind == "graphs":
        graph = long_graph(case.seed)
        return Subject(graph.model().SerializeToString(), graph.inputs, draw.choice(TARGETS), strict=True)
    if case.kind == "quanta":
        quanta = random_quanta(case.seed)
        target = draw.choice((*TARGETS, "wasm-relaxed", "wasm-signed"))
        return Subject(quanta.model().SerializeToString(), quanta.inputs, target, strict=True)
    if case.kind == "names":
        return Subject(draw_names(case).model.SerializeToString(), {}, "bundle", strict=True)
    if case.kind == "growth":
        growing, names = draw_growing(case)
        return Subject(growing.model(LARGEST).SerializeToString(), {}, edits=names)
    if case.kind == "nodes":
        row = pick_row(draw)
        what, variant = draw.choice(list(vary_node(untyped_model(row))))
        data = variant.SerializeToString()
        return Subject(data, fit_feeds(data, dict(feeds(row))), edits=(what,))
    model, given = base_model(draw)
    target = draw.choices(("native", "wasm", "bundle"), (20, 3, 2))[0]
    seeds = [draw.randrange(2**32) for _ in range(draw.choice((1, 1, 2, 3, 5)))]
    if case.kept is not None:
        seeds = [seeds[i] for i in case.kept]
    if case.kind == "bytes":
        data, names = mutate_bytes(model.SerializeToString(), seeds)
    else:
        names = mutate_model(model, given, seeds)
        data = model.SerializeToString()
    return Subject(data, fit_feeds(data, given), target, edits=names)


def fit_feeds(data: bytes, given: dict[str, Array]) -> dict[str, Array]:
    """Arrays of the declared dtypes and shapes, with the elements that are `given` where there are any. Inputs without
    a shape get that of the array given; none at all where the model is too large or no model."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return {}
    fitted: dict[str, Array] = {}
    total = 0
    try:
        held = {t.name for t in model.graph.initializer} | {t.values.name for t in model.graph.sparse_initializer}
        for value in model.graph.input:
            if value.name in held or not value.type.HasField("tensor_type"):
                continue
            declared = value.type.tensor_type
            was = given.get(value.name, np.ones(1, np.float32))
            extents = [d.dim_value for d in declared.shape.dim]
            if not declared.HasField("shape"):
                extents = list(was.shape)
            usual = was.shape if len(was.shape) == len(extents) else (2,) * len(extents)
            shape = tuple(n if n > 0 else m for n, m in zip(extents, usual, strict=True))
            total += int(np.prod([float(n) for n in shape]))
            if total > LARGEST_INPUTS or len(shape) > 30:
                return {}
            dtype = helper.tensor_dtype_to_np_dtype(declared.elem_type)
            with np.errstate(all="ignore"):
                fitted[value.name] = np.resize(was, shape).astype(dtype)
    except (KeyError, ValueError, TypeError, UnicodeDecodeError):
        return {}
    return fitted
