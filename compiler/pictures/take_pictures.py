"""Models that take pictures: nodes before the model make an input of a picture's pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..dtypes import F16, F32, I32, ONNX_NUMBERS, U8, DType
from ..errors import InputError
from ..graph.ir import Array, Attribute, Graph, Node, Value
from ..graph.names import Names, value_names
from ..ir.nodes import Scalar
from ..ir.sizes import shown
from ..ops.call import OWN_DOMAIN
from ..ops.sampling.picture import GREY
from ..program.dimensions import Dimension
from .formats import PictureFormat

OPSET = 13
"""Version of ai.onnx's operators behind a Picture."""

PICTURE = "Picture"
"""The operator that makes an input of pixels."""


@dataclass(frozen=True, slots=True)
class PictureInput:
    """An input of `rows` x `columns` elements for each of the format's colours, [1, channels, rows, columns] where it
    is `planar`, else [1, rows, columns, channels]."""

    value: Value
    format: PictureFormat
    rows: int
    columns: int
    planar: bool

    @property
    def channels(self) -> int:
        return 1 if self.format.colours == "grey" else 3

    @property
    def whole(self) -> tuple[int, int]:
        """The rows and columns of which a crop takes the middle."""
        return round(self.rows / self.format.kept), round(self.columns / self.format.kept)

    @property
    def factors(self) -> tuple[Array, Array]:
        """By what pixels are multiplied, and what is subtracted then: float32 of one element for each colour."""
        both = (self.format.mean, self.format.std)
        mean, std = (np.broadcast_to(np.asarray(v, np.float64), self.channels) for v in both)
        return (self.format.scale / std).astype(np.float32), (mean / std).astype(np.float32)

    def describe(self) -> str:
        """Which pictures fill the input, and what the model makes of them."""
        how = "resized and cropped" if self.format.resize == "crop" else "resized"
        return f"a picture of any size, {how} to {self.columns} x {self.rows} pixels (width x height)"

    def elements(self, pixels: Array) -> Array:
        """The input, for `pixels`: bytes [rows, columns, channels] in the order of the format's colours."""
        factor, less = self.factors
        values = pixels if self.value.dtype == U8 else pixels.astype(np.float32) * factor - less
        placed = values.transpose(2, 0, 1) if self.planar else values
        return np.ascontiguousarray(placed[None], self.value.dtype.numpy)


def grey(colour: tuple[int, int, int]) -> int:
    """How bright red, green and blue are together, from 0 to 255, as an operator Picture has it."""
    return (sum(c * share for c, share in zip(colour, GREY, strict=True)) + (1 << 15)) >> 16


def fit_picture(value: Value, form: PictureFormat) -> PictureInput:
    """The input that pictures of a format fill. Raises InputError for one of another shape or type."""
    channels = 1 if form.colours == "grey" else 3
    what = f"--picture {value.name}: the input is {value.dtype}{shown(value.shape)}, and a picture in {form.colours}"
    if value.dtype not in (F32, F16, U8):
        raise InputError(f"{what} fills one of float32, float16 or uint8")
    shape = value.shape
    planar = next((at for at in (True, False) if len(shape) == 4 and shape[1 if at else 3] == channels), None)
    if planar is not None and not isinstance(shape[0], int):
        raise InputError(f"{what} is one of a batch of 1: fix it by --shape or --dim")
    if planar is None or shape[0] != 1:
        fitting = f"[1, {channels}, height, width] or [1, height, width, {channels}]"
        other = 3 if channels == 1 else 1
        hint = ""
        if len(shape) == 4 and other in (shape[1], shape[3]):
            colours = "grey" if other == 1 else "rgb"
            hint = f': give a format with "colours": "{colours}", as a file, --picture {value.name}=FILE.json'
        raise InputError(f"{what} fills one of {fitting}{hint}")
    sides = shape[2:] if planar else shape[1:3]
    chosen = []
    for name, own, given in zip(("height", "width"), sides, (form.height, form.width), strict=True):
        if not isinstance(own, int):
            raise InputError(f"{what} needs a fixed {name}: fix it by --shape or --dim")
        if given is not None and given != own:
            raise InputError(f"{what} of {name} {given} does not fit it: leave {name} out of the format")
        chosen.append(own)
    plain = form.scale == 1 and set(form.mean) == {0} and set(form.std) == {1}
    if value.dtype == U8 and not plain:
        raise InputError(f"{what} is bytes there: give a format of scale 1, mean 0 and std 1, such as bytes")
    return PictureInput(value, form, chosen[0], chosen[1], planar)


def picture_inputs(graph: Graph, formats: Mapping[str, PictureFormat]) -> tuple[PictureInput, ...]:
    """The inputs that pictures fill. Raises InputError for names of no inputs, and for formats that do not fit."""
    unknown = [name for name in formats if name not in {v.name for v in graph.inputs}]
    if unknown:
        names = ", ".join(v.name for v in graph.inputs)
        raise InputError(f"--picture {unknown[0]}: the model has no such input; it has {names}")
    return tuple(fit_picture(v, formats[v.name]) for v in graph.inputs if v.name in formats)


def take_pictures(graph: Graph, inputs: Sequence[PictureInput]) -> Graph:
    """The model with pictures in place of inputs: int32 [height, width], words of red, green, blue and alpha, of sizes
    that each run decides, up to those of the format."""
    for target in inputs:
        graph = _take_picture(graph, target)
    return graph


def _take_picture(graph: Graph, target: PictureInput) -> Graph:
    value, form, names = target.value, target.format, value_names(graph)
    sizes = Names(d.name for d in graph.dimensions)
    sides = [Scalar(sizes.fresh(f"{value.name}_{side}"), form.most + 1, low=1) for side in ("height", "width")]
    dimensions = tuple(Dimension(s.name, s) for s in sides)
    words = Value(value.name, tuple(sides), I32)
    attributes: dict[str, Attribute] = {
        "resize": form.resize,
        "rows": target.rows,
        "columns": target.columns,
        "whole": target.whole,
        "channels": target.channels,
        "reversed": int(form.colours == "bgr"),
        "fill": form.fill if target.channels == 3 else (grey(form.fill),),
        "last": int(not target.planar),
    }
    inner = Value(names.fresh(f"{value.name}.elements"), value.shape, value.dtype)
    constants: dict[Value, Array] = {}

    def step(op: str, x: Value, result: Value, *operand: Array) -> Node:
        name = names.fresh(f"{value.name}.{op}")
        inputs = [x]
        for data in operand:
            v = Value(f"{name}.by", data.shape, F32)
            constants[v] = data
            inputs.append(v)
        return Node(op, name, tuple(inputs), (result,), {}, OPSET)

    def between(what: str, dtype: DType = F32) -> Value:
        return Value(names.fresh(f"{value.name}.{what}"), value.shape, dtype)

    nodes = []
    pixels = inner if value.dtype == U8 else between("pixels", U8)
    nodes.append(Node(PICTURE, names.fresh(f"{value.name}.picture"), (words,), (pixels,), attributes, 1, OWN_DOMAIN))
    if value.dtype != U8:
        axis = (target.channels, 1, 1) if target.planar else (target.channels,)
        factor, less = (f.reshape(axis) for f in target.factors)
        made = between("floats")
        nodes.append(replace(step("Cast", pixels, made), attributes={"to": ONNX_NUMBERS[F32]}))
        steps = [(op, f) for op, f, none in (("Mul", factor, 1), ("Sub", less, 0)) if (f != none).any()]
        for op, data in steps:
            result = between(op)
            nodes.append(step(op, made, result, data))
            made = result
        last = replace(step("Cast", made, inner), attributes={"to": ONNX_NUMBERS[value.dtype]})
        nodes.append(last)
    inputs = tuple(words if v is value else v for v in graph.inputs)
    changed = graph.with_values({value: inner})
    return replace(
        changed,
        inputs=inputs,
        nodes=(*nodes, *changed.nodes),
        constants={**changed.constants, **constants},
        dimensions=(*graph.dimensions, *dimensions),
    )
