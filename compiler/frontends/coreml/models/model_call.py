"""One classical model while it is converted: its features as ONNX values, and its outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ....errors import UnsupportedError
from ...converted_call import ConvertedCall
from ...images import Images
from ...model_builder import ML, ModelBuilder
from ..classes import labels_of, read_classes
from ..feature_values import Features, FeatureValue, take
from ..features import read_feature
from ..read_model import Model
from ..types import onnx_type


class ModelCall(ConvertedCall):
    """A classical model with its parameters. Its features are one row: arrays in their order, flat."""

    def __init__(self, builder: ModelBuilder, model: Model, given: Features) -> None:
        super().__init__(builder, Images(builder))
        self.model, self.given = model, given
        self.params = model.classical

    @property
    def stem(self) -> str:
        """The beginning of names of nodes: the first output's."""
        outputs = self.model.description.output
        return str(outputs[0].name) if outputs else self.model.kind

    def unsupported(self, what: str) -> UnsupportedError:
        return UnsupportedError(f"{self.model.name}: {self.model.kind}: {what}")

    def ml(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        """The only result of a node of ai.onnx.ml."""
        return self.node(op, inputs, domain=ML, **attributes)

    @property
    def feature_names(self) -> list[str]:
        return [f.name for f in self.model.description.input]

    def flat(self, name: str, dtype: str = "float32") -> str:
        """A feature as a vector."""
        try:
            own = take(self.builder, self.given, name, dtype, None)
        except UnsupportedError as error:
            raise self.unsupported(str(error)) from None
        return self.node("Reshape", [own, self.integers([-1])])

    def count(self, name: str) -> int | None:
        """Elements of a feature; None where they are not known."""
        value = self.given.get(name)
        shape = value.shape if isinstance(value, FeatureValue) else None
        return None if shape is None or None in shape else prod(n or 0 for n in shape)

    def row(self, dtype: str = "float32") -> str:
        """All features as a matrix [1, features]."""
        parts = [self.flat(name, dtype) for name in self.feature_names]
        if not parts:
            raise self.unsupported("it has no input")
        whole = parts[0] if len(parts) == 1 else self.node("Concat", parts, axis=0)
        return self.node("Reshape", [whole, self.integers([1, -1])])

    @property
    def width(self) -> int | None:
        """The number of all features; None where it is not known."""
        counts = [self.count(name) for name in self.feature_names]
        known = [n for n in counts if n is not None]
        return sum(known) if len(known) == len(counts) else None

    def constant(self, values: Sequence[float] | np.ndarray, *shape: int) -> str:
        """Numbers as float32, infinite where it ends."""
        with np.errstate(over="ignore"):
            data = np.asarray(values, np.float32)
        return self.builder.constant(data.reshape(shape or -1), f"{self.stem}.values")

    def numbers(self, value: str, count: int | None, dtype: str = "float32") -> Features:
        """The first output of the description, in the shape that it declares; else of one dimension."""
        feature = read_feature(self.model.description.output[0])
        fixed = [n for n in feature.shape if isinstance(n, int) and n > 0]
        is_declared = feature.kind != "dictionaryType" and len(fixed) == len(feature.shape) > 0
        if is_declared and count is not None and prod(fixed) != count:
            raise self.unsupported(f"its output {feature.name!r} is declared as {fixed}, and has {count} elements")
        shaped = self.node("Reshape", [value, self.integers(fixed if is_declared else [-1])])
        kind = "int64" if feature.kind == "int64Type" else "int32" if feature.dtype == "int32" else "float32"
        if kind != dtype:
            shaped = self.node("Cast", [shaped], to=onnx_type(kind))
        return {feature.name: FeatureValue(shaped, kind, tuple(fixed) if is_declared else (count,))}

    @cached_property
    def classes(self) -> list[str] | list[int]:
        return read_classes(self.params, self.model.name)

    def labels(self, scores: str, place: str = "", has_scores: bool = True) -> Features:
        """The outputs of a classifier by scores [1, classes]; `place` is that of the label, int64 [1], "" for that of
        the highest score. Raises UnsupportedError for an output with scores where it has none."""
        description = self.model.description
        if description.predictedProbabilitiesName and not has_scores:
            raise self.unsupported(
                f"its output {description.predictedProbabilitiesName!r} has scores, and the model has no probabilities "
                "(probA, probB): convert it from a model with them, or without that output"
            )
        present = {f.name for f in description.output}
        names = [description.predictedFeatureName, description.predictedProbabilitiesName]
        label, by_label = (name if name in present else "" for name in names)
        return labels_of(self.builder, scores, self.classes, label, by_label, place)


ModelHandler = Callable[[ModelCall], Features]
"""Gives the outputs of a model."""
