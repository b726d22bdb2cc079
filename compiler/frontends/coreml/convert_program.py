"""From an ML program to ONNX nodes of the same operations, whose values keep their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ...errors import InputError, UnsupportedError
from ..model_builder import ModelBuilder
from .call import Call, Scope
from .classes import Labels, labels_of
from .feature_values import Features, FeatureValue, take
from .features import BGR, Feature, blue_first, read_feature
from .operators import OPERATORS
from .problems import collect
from .read_model import DAMAGES, Model, relative
from .read_value import Value, read_value, type_of
from .types import real_type

_OWN = ("const", "classify")
"""Operations that are no operators: constants, and the outputs of a classifier."""


def add_program(builder: ModelBuilder, model: Model, given: Features) -> Features:
    """The outputs, labels after the others. Raises UnsupportedError, which names all that is not supported."""
    problems = collect(model.name, unsupported_operations(model), "operation")
    problems.check()
    scope = Scope(model, builder, builder, problems, _convert_block)
    for feature, value in program_inputs(model):
        value.name = take(builder, given, feature.name, value.dtype, feature.shape)
        if feature.is_image and feature.color == BGR:
            value.name = blue_first(builder, value.name)
        scope.values[feature.name] = value
    scope.convert(scope, model.program)
    problems.check()
    classifiers = [o for o in model.program.operations if o.type == "classify"]
    labels = {v.name for o in classifiers for v in o.outputs}
    results: dict[str, FeatureValue | Labels] = {}
    for name in model.program.outputs:
        if name in labels:
            continue
        if name not in scope.values:
            raise UnsupportedError(f"{model.name}: nothing computes its output {name!r}")
        value = scope.values[name]
        results[name] = FeatureValue(scope.add(value), real_type(value.dtype), value.shape)
    for operation in classifiers:
        results |= _labels(Call(scope, operation), model.program.outputs)
    return results


def program_inputs(model: Model) -> list[tuple[Feature, Value]]:
    """The inputs, with the shapes that the description has for them where the program leaves sizes free; float16 is
    float32."""
    described = {f.name: read_feature(f) for f in model.description.input}
    found = []
    for named in model.inputs:
        if named.type.HasField("stateType"):  # what reads it is listed as not supported
            continue
        value = type_of(named.type)
        value.dtype = real_type(value.dtype)
        feature = described.get(named.name)
        sizes: list[int | str | None] = []
        if feature is not None:
            sizes = [*[1] * (len(value.shape) - len(feature.shape)), *feature.shape]
        usual = {} if feature is None else feature.usual
        shape: list[int | str] = []
        for d, n in enumerate(value.shape):
            own = sizes[d] if len(sizes) == len(value.shape) else None
            if n is None:
                name = own if isinstance(own, str) else f"{named.name}_{d}"
                shape.append(name)
                if isinstance(own, int) and own > 0:
                    usual = {**usual, name: own}
            else:
                shape.append(n)
        kept = {n: size for n, size in usual.items() if n in shape}
        kind, color = ("multiArrayType", 0) if feature is None else (feature.kind, feature.color)
        found.append((Feature(named.name, kind, value.dtype, tuple(shape), kept, color), value))
    return found


def operations(block: Any) -> Iterator[Any]:
    """All operations of a block, and of the blocks inside."""
    for operation in block.operations:
        yield operation
        for inner in operation.blocks:
            yield from operations(inner)


def unsupported_operations(model: Model) -> dict[str, list[str]]:
    """Results by the kind of operation that is not taken."""
    found: dict[str, list[str]] = {}
    for o in operations(model.program):
        if o.type not in OPERATORS and o.type not in _OWN:
            found.setdefault(o.type, []).append(o.outputs[0].name if o.outputs else "")
    return found


def count_operations(model: Model) -> dict[str, int]:
    counted = Counter(o.type for o in operations(model.program) if o.type not in _OWN)
    return dict(counted.most_common())


def constants(model: Model) -> Iterator[Value]:
    """The types of the constants that are tensors."""
    for o in operations(model.program):
        for value in o.attributes.values():
            if value.type.HasField("tensorType"):
                found = type_of(value.type)
                if found.dtype != "string":
                    yield found


def weight_files(model: Model) -> list[str]:
    """Files that hold the elements of constants, relative to the model's."""
    constants = (value for o in operations(model.program) for value in o.attributes.values())
    blobs = (value.blobFileValue.fileName for value in constants if value.HasField("blobFileValue"))
    return list(dict.fromkeys(map(relative, blobs)))


def _labels(call: Call, outputs: Sequence[str]) -> dict[str, Labels]:
    names = [v.name if v.name in outputs else "" for v in call.operation.outputs]
    label, by_label = (*names, "", "")[:2]
    classes: Sequence[Any] = call.constant("classes")
    classes = [c if isinstance(c, str) else int(c) for c in classes]
    return labels_of(call.builder, call.read("probabilities"), classes, label, by_label)


def _convert_block(scope: Scope, block: Any) -> None:
    """Adds the operations of a block. Others can still be checked where one is not supported: the model is refused at
    the end, so nothing computes its results."""
    for operation in block.operations:
        if operation.type == "classify":
            continue
        try:
            _convert_operation(scope, operation)
        except UnsupportedError as error:
            scope.problems.add(str(error))
            for named in operation.outputs:
                scope.values[named.name] = _placeholder(scope, named)
        except DAMAGES as error:
            name = operation.outputs[0].name if operation.outputs else ""
            raise InputError(
                f"{scope.model.name} is not a valid Core ML model: {operation.type} ({name!r}): "
                f"{type(error).__name__}: {error}; convert it again, or report this with the model"
            ) from error


def _placeholder(scope: Scope, named: Any) -> Value:
    try:
        value = type_of(named.type)
    except UnsupportedError:
        value = Value("float32", ())
    value.name = scope.builder.name(named.name)
    return value


def _convert_operation(scope: Scope, operation: Any) -> None:
    if operation.type == "const":
        scope.values[operation.outputs[0].name] = read_value(scope.model, operation.attributes["val"])
        return
    results = OPERATORS[operation.type](Call(scope, operation))
    if isinstance(results, Value):
        scope.values[operation.outputs[0].name] = results
        return
    listed = [results] if isinstance(results, str) else results
    for named, name in zip(operation.outputs, listed, strict=True):
        value = type_of(named.type)
        value.name = name
        scope.values[named.name] = value
