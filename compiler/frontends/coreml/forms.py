"""Forms of Core ML models: neural networks, ML programs, classical models, and pipelines of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...errors import UnsupportedError
from ..model_builder import ModelBuilder
from . import convert_classical, convert_network, convert_program
from .feature_values import Features
from .features import Feature, described_inputs, output_names
from .read_model import Model
from .read_value import Value


@dataclass(frozen=True, slots=True)
class Form:
    """Functions of the models of one form: `count` has a model's parts, which are called `noun`, by kind, `unsupported`
    the names of those that are not taken, `constants` the types of its weights. `add` adds its nodes, which compute the
    outputs of these names from features, and raises UnsupportedError."""

    noun: str
    inputs: Callable[[Model], list[Feature]]
    outputs: Callable[[Model], list[str]]
    add: Callable[[ModelBuilder, Model, Features], Features]
    count: Callable[[Model], dict[str, int]]
    unsupported: Callable[[Model], dict[str, list[str]]]
    constants: Callable[[Model], Iterator[Value]]


def form_of(model: Model) -> Form:
    if model.network is not None:
        return _NETWORK
    if model.program is not None:
        return _PROGRAM
    return _PIPELINE if model.classical is None else _CLASSICAL


def weight_files(model: Model) -> list[str]:
    """Files that hold the elements of constants, relative to the model's."""
    own = [] if model.program is None else convert_program.weight_files(model)
    return list(dict.fromkeys([*own, *(name for part in model.parts for name in weight_files(part))]))


def _program_inputs(model: Model) -> list[Feature]:
    return [feature for feature, _ in convert_program.program_inputs(model)]


def _program_outputs(model: Model) -> list[str]:
    return list(model.program.outputs)


def _add_pipeline(builder: ModelBuilder, model: Model, given: Features) -> Features:
    """Each part reads features by their names, and computes some for those after it."""
    features = dict(given)
    for part in model.parts:
        try:
            features.update(form_of(part).add(builder, part, features))
        except UnsupportedError as error:
            whole = str(error)
            raise UnsupportedError(whole if part.name in whole else f"{part.name}: {whole}") from None
    missing = [name for name in output_names(model) if name not in features]
    if missing:
        raise UnsupportedError(f"{model.name}: nothing computes its output {missing[0]!r}")
    return {name: features[name] for name in output_names(model)}


def _count_parts(model: Model) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for part in model.parts:
        counted.update(form_of(part).count(part))
    return dict(counted.most_common())


def _unsupported_parts(model: Model) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for part in model.parts:
        for kind, names in form_of(part).unsupported(part).items():
            found.setdefault(kind, []).extend(names)
    return found


def _constants_of_parts(model: Model) -> Iterator[Value]:
    for part in model.parts:
        yield from form_of(part).constants(part)


_NETWORK = Form(
    "layer",
    described_inputs,
    output_names,
    convert_network.add_network,
    convert_network.count_layers,
    convert_network.unsupported_layers,
    convert_network.constants,
)
_PROGRAM = Form(
    "operation",
    _program_inputs,
    _program_outputs,
    convert_program.add_program,
    convert_program.count_operations,
    convert_program.unsupported_operations,
    convert_program.constants,
)
_CLASSICAL = Form(
    "model",
    described_inputs,
    output_names,
    convert_classical.add_classical,
    convert_classical.count_models,
    lambda _: {},
    convert_classical.constants,
)
_PIPELINE = Form(
    "layer",
    described_inputs,
    output_names,
    _add_pipeline,
    _count_parts,
    _unsupported_parts,
    _constants_of_parts,
)
