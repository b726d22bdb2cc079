"""Inputs and outputs as the description of a model has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import UnsupportedError
from ..model_builder import ModelBuilder
from .read_model import Model
from .types import ARRAY_TYPES

GRAYSCALES = (10, 40)
"""Color spaces of one channel; others have three, in this order: 20 red, green, blue, 30 blue, green, red."""

BGR = 30


@dataclass(frozen=True, slots=True)
class Feature:
    """An input or output. Of `shape` a name is a free dimension; `usual` are its sizes by name. Images are channels x
    height x width."""

    name: str
    kind: str
    dtype: str
    shape: tuple[int | str, ...]
    usual: dict[str, int]
    color: int = 0

    @property
    def is_image(self) -> bool:
        return self.kind == "imageType"


def read_feature(feature: Any) -> Feature:
    """Raises UnsupportedError for what is neither an image nor an array, nor a label or scores of labels."""
    kind = next((f.name for f, _ in feature.type.ListFields() if f.name != "isOptional"), "nothing")
    match kind:
        case "imageType":
            image = feature.type.imageType
            channels = 1 if image.colorSpace in GRAYSCALES else 3
            flexible = _flexible_image(image)
            shape, usual = _named(feature.name, [channels, image.height, image.width], flexible)
            return Feature(feature.name, kind, "float32", shape, usual, image.colorSpace)
        case "multiArrayType":
            array = feature.type.multiArrayType
            dtype = ARRAY_TYPES.get(array.dataType, "float32")
            shape, usual = _named(feature.name, list(array.shape), _flexible_array(array))
            return Feature(feature.name, kind, dtype, shape, usual)
        case "doubleType":
            return Feature(feature.name, kind, "float32", (1,), {})
        case "int64Type":
            return Feature(feature.name, kind, "int64", (1,), {})
    if kind in ("stringType", "dictionaryType"):
        return Feature(feature.name, kind, "string", (), {})
    raise UnsupportedError(f"{feature.name!r} is a {kind.removesuffix('Type')}, and images and arrays are supported")


def described_inputs(model: Model) -> list[Feature]:
    """The inputs of a model that is no program: images are 1 x channels x height x width, and numbers float32 but for
    integers, without the thresholds of a suppression of boxes, which are the model's own. Raises UnsupportedError for
    text and for dictionaries."""
    found, thresholds = [], _thresholds(model)
    for feature in map(read_feature, model.description.input):
        if feature.name in thresholds and feature.kind == "doubleType":
            continue
        if feature.dtype == "string":
            kind = "text" if feature.kind == "stringType" else "a dictionary"
            raise UnsupportedError(
                f"{model.name}: the input {feature.name!r} is {kind}, and numbers are supported; encode it as "
                "numbers before the model, which is converted without the part that reads it"
            )
        dtype = feature.dtype if feature.dtype in ("int32", "int64") else "float32"
        found.append(replace(feature, dtype=dtype, shape=(1, *feature.shape) if feature.is_image else feature.shape))
    return found


def _thresholds(model: Model) -> set[str]:
    """Inputs that a suppression of boxes takes in place of its own thresholds."""
    found = {name for part in model.parts for name in _thresholds(part)}
    if model.kind == "nonMaximumSuppression":
        params = model.classical
        found |= {params.iouThresholdInputFeatureName, params.confidenceThresholdInputFeatureName}
    return found


def output_names(model: Model) -> list[str]:
    return [f.name for f in model.description.output]


def blue_first(builder: ModelBuilder, image: str) -> str:
    """Channels blue, green, red of an image whose channels are red, green, blue."""
    return builder.node("Gather", [image, builder.integers([2, 1, 0])], f"{image}.bgr", axis=1)


def _named(name: str, sizes: Sequence[int], flexible: Sequence[bool]) -> tuple[tuple[int | str, ...], dict[str, int]]:
    """Free dimensions are named after their input."""
    shape: list[int | str] = [int(n) for n in sizes]
    usual = {}
    for d, is_free in enumerate(flexible[: len(shape)]):
        if is_free:
            shape[d] = f"{name}_{d}"
            usual[f"{name}_{d}"] = max(int(sizes[d]), 1)
    return tuple(shape), usual


def _is_range(r: Any) -> bool:
    return bool(r.lowerBound != r.upperBound)


def _flexible_image(image: Any) -> list[bool]:
    if image.HasField("imageSizeRange"):
        ranges = image.imageSizeRange
        return [False, _is_range(ranges.heightRange), _is_range(ranges.widthRange)]
    sizes = [(s.height, s.width) for s in image.enumeratedSizes.sizes]
    sizes.append((image.height, image.width))
    return [False, *(len(set(column)) > 1 for column in zip(*sizes, strict=True))]


def _flexible_array(array: Any) -> list[bool]:
    if array.HasField("shapeRange"):
        return [_is_range(r) for r in array.shapeRange.sizeRanges]
    shapes = [tuple(s.shape) for s in array.enumeratedShapes.shapes]
    shapes = [s for s in (*shapes, tuple(array.shape)) if len(s) == len(array.shape)]
    return [len(set(column)) > 1 for column in zip(*shapes, strict=True)]
