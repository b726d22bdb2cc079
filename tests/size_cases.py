"""Cases of binding the sizes of a run, which tests of each language read: `size_cases.json`.

Sizes in the shapes of inputs are expressions over the scalars of dimensions, as a bundle has them: [k] is the k-th. A
case gives the shapes of all inputs and, where a dimension is the element of one, elements. `sizes` are those of the
dimensions, `error` the message with names in double quotes; a case with both has sizes that a caller who says them is
refused too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webnn_compile.dtypes import I64
from webnn_compile.ir.nodes import Scalar
from webnn_compile.ir.sizes import Size, size
from webnn_compile.program.dimensions import Dimension
from webnn_compile.program.program import TensorSpec


@dataclass(frozen=True)
class SizeCase:
    shapes: tuple[tuple[int, ...], ...]
    elements: tuple[int, ...]
    sizes: tuple[int, ...] | None
    error: str | None


@dataclass(frozen=True)
class SizeModel:
    """Dimensions and inputs of a model, and what is given for a run of it."""

    dimensions: tuple[Dimension, ...]
    inputs: tuple[TensorSpec, ...]
    cases: tuple[SizeCase, ...]


def size_models() -> list[SizeModel]:
    found = []
    for model in json.loads((Path(__file__).parent / "size_cases.json").read_text()):
        names = [i["name"] for i in model["inputs"]]
        dimensions = tuple(_dimension(d, names) for d in model["dimensions"])
        scalars = [d.scalar for d in dimensions]
        inputs = tuple(
            TensorSpec(i["name"], I64, tuple(_size(n, scalars) for n in i["shape"]), 0) for i in model["inputs"]
        )
        found.append(SizeModel(dimensions, inputs, tuple(_case(c, len(names)) for c in model["cases"])))
    return found


def _dimension(d: dict[str, Any], names: list[str]) -> Dimension:
    multiple = d["multiple"]
    scalar = Scalar(d["name"], d["most"] // multiple + 1, low=d["least"] // multiple)
    return Dimension(d["name"], scalar, multiple, names[d["input"]] if "input" in d else None)


def _size(expression: Any, scalars: list[Scalar]) -> Size:
    match expression:
        case int():
            return expression
        case [int(number)]:
            return scalars[number]
        case ["*", a, int(b)]:
            return size(_size(a, scalars) * b)
        case ["+", a, int(b)]:
            return size(_size(a, scalars) + b)
    raise ValueError(f"no size: {expression}")


def _case(case: dict[str, Any], inputs: int) -> SizeCase:
    sizes = case.get("sizes")
    return SizeCase(
        tuple(map(tuple, case["shapes"])),
        tuple(case.get("elements", [0] * inputs)),
        None if sizes is None else tuple(sizes),
        case.get("error"),
    )
