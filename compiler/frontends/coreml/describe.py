"""Describes a Core ML model by what the file says of itself."""

from __future__ import annotations

from collections import Counter
from math import prod
from pathlib import Path

from ...errors import InputError, UnsupportedError
from ..model_card import ModelCard, Port
from .features import read_feature
from .forms import form_of, weight_files
from .read_model import Model, read_model, valid


def usual_sizes(model: Model) -> dict[str, int]:
    """By the name of a free dimension the size that the file itself has for it."""
    with valid(model.name):
        return {name: n for feature in form_of(model).inputs(model) for name, n in feature.usual.items()}


def files_beside(path: Path) -> list[Path]:
    """The files of weights that a program names; none of a file that cannot be read."""
    try:
        read = read_model(path)
        return [(read.folder or path) / name for name in weight_files(read)]
    except (InputError, UnsupportedError):
        return []


def describe(model: str | Path | bytes) -> ModelCard:
    """Raises InputError for what is no Core ML model."""
    read = read_model(model)
    with valid(read.name):
        return _described(read)


def _described(read: Model) -> ModelCard:
    form = form_of(read)
    weights: Counter[str] = Counter()
    parameters = 0
    for found in form.constants(read):
        count = prod(n or 0 for n in found.shape)
        parameters += count
        weights[found.dtype] += count * _bits(found.dtype) // 8
    metadata = read.proto.description.metadata
    outputs = [read_feature(f) for f in read.description.output]
    return ModelCard(
        name=read.name,
        producer=_producer(read),
        opset=0,
        operators=form.count(read),
        parameters=parameters,
        inputs=tuple(Port(f.name, f.dtype, f.shape) for f in form.inputs(read)),
        outputs=tuple(Port(f.name, f.dtype, f.shape or None) for f in outputs),
        licence=metadata.license,
        description=metadata.shortDescription,
        author=metadata.author,
        weights=dict(weights.most_common()),
        unsupported=tuple(form.unsupported(read)),
    )


def _bits(dtype: str) -> int:
    """The bits of an element, by the number in the name of its type."""
    return 8 if dtype in ("bool", "float8e4m3fn", "float8e5m2") else int("".join(c for c in dtype if c.isdigit()))


def _producer(model: Model) -> str:
    """The program that wrote the model, as it says in its own words."""
    said = model.proto.description.metadata.userDefined
    version = said.get("com.github.apple.coremltools.version", "")
    kind = f"Core ML specification {model.proto.specificationVersion}"
    return f"coremltools {version}, {kind}" if version else kind
