"""A quantised model, and what is to be reported of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..graph.ir import Graph, Value
from ..graph.stored import Stored
from .expected import Accuracy


@dataclass(frozen=True, slots=True)
class QuantizedLayer:
    """A layer, by node and operator, with the form of its weights. Errors are root mean squares over that of its result
    in float32: its `own`, where it alone is quantised, and that `in_model`, where layers before it are, too (None where
    it stays in float32). `kept` says why it does. `bytes` are those of its weights before and after."""

    node: str
    operator: str
    form: str
    own: float
    in_model: float | None
    bytes: tuple[int, int]
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Quantization:
    """`form` is that of the whole model. `outputs` are its outputs' errors; `equalized` and `corrected` are layers
    whose weights or bias were changed because that reduced errors. `exact` and `accuracy` are top-1 in float32 and
    quantised, of `samples` runs of calibration data."""

    form: str
    layers: tuple[QuantizedLayer, ...]
    outputs: Mapping[str, float]
    samples: int
    equalized: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()
    exact: Accuracy | None = None
    accuracy: Accuracy | None = None


@dataclass(frozen=True, slots=True)
class QuantizedModel:
    """A graph with constants as what they stand for, how they are `stored`, and the report."""

    graph: Graph
    stored: Mapping[Value, Stored] = field(repr=False)
    report: Quantization
