"""Models that prepare features: scaling, missing values, norms, categories, and their order.

Source: Scaler.proto, Imputer.proto, Normalizer.proto, OneHotEncoder.proto, FeatureVectorizer.proto and
ArrayFeatureExtractor.proto of Core ML's specification.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..feature_values import Features
from .model_call import ModelCall, ModelHandler

_NORMS = (("ReduceMax", True), ("ReduceL1", False), ("ReduceL2", False))
"""In the order of NormType, the reduction, and whether of magnitudes."""

_ENCODE_BEFORE = "encode the feature as numbers before the model, which is converted without this part"


def _each(call: ModelCall, name: str, values: Sequence[float]) -> str:
    """Numbers, one for all features or one for each."""
    if call.width is not None and len(values) not in (1, call.width):
        raise call.unsupported(f"{name} has {len(values)} elements for {call.width} features")
    return call.constant(values)


def _scaler(call: ModelCall) -> Features:
    """(x + shift) * scale."""
    shift, scale = (list(v) or [default] for v, default in ((call.params.shiftValue, 0), (call.params.scaleValue, 1)))
    shifted = call.node("Add", [call.row(), _each(call, "shiftValue", shift)])
    return call.numbers(call.node("Mul", [shifted, _each(call, "scaleValue", scale)]), call.width)


def _imputer(call: ModelCall) -> Features:
    """Replaces one value of features: by default NaN."""
    params = call.params
    kind = next((f.name for f, _ in params.ListFields() if f.name.startswith("imputed")), "")
    if kind in ("imputedDoubleValue", "imputedInt64Value"):
        values = [getattr(params, kind)]
    elif kind in ("imputedDoubleArray", "imputedInt64Array"):
        values = list(getattr(params, kind).vector)
    else:
        what = f"{kind} is text or a dictionary" if kind else "it has no value that replaces others"
        raise call.unsupported(f"{what}; {_ENCODE_BEFORE}")
    if params.HasField("replaceStringValue"):
        raise call.unsupported(f"replaceStringValue is text; {_ENCODE_BEFORE}")
    _each(call, kind, values)
    if kind.startswith("imputedDouble"):
        missing = params.replaceDoubleValue if params.HasField("replaceDoubleValue") else math.nan
        missing = float(params.replaceInt64Value) if params.HasField("replaceInt64Value") else missing
        result = call.ml("Imputer", [call.row()], imputed_value_floats=values, replaced_value_float=missing)
        return call.numbers(result, call.width)
    if not params.HasField("replaceInt64Value"):
        raise call.unsupported("it does not say which integer is replaced (replaceInt64Value)")
    result = call.ml(
        "Imputer",
        [call.row("int64")],
        imputed_value_int64s=values,
        replaced_value_int64=params.replaceInt64Value,
    )
    return call.numbers(result, call.width, "int64")


def _normalizer(call: ModelCall) -> Features:
    """x by its greatest magnitude, the sum of its magnitudes, or the root of that of its squares; zeros stay."""
    kind = call.params.normType
    if not 0 <= kind < len(_NORMS):
        raise call.unsupported(f"normType {kind} does not exist")
    op, of_magnitudes = _NORMS[kind]
    row = call.row()
    norm = call.node(op, [call.node("Abs", [row]) if of_magnitudes else row, call.integers([1])])
    divisor = call.node("Where", [call.node("Equal", [norm, call.number(0.0)]), call.number(1.0), norm])
    return call.numbers(call.node("Div", [row, divisor]), call.width)


def _one_hot_encoder(call: ModelCall) -> Features:
    """Dense also where the model has a dictionary of what is not 0. A value without category is an error of the run, or
    zeros where the model passes over it."""
    if call.params.HasField("stringCategories"):
        raise call.unsupported(f"its categories are text; {_ENCODE_BEFORE}")
    categories = [int(n) for n in call.params.int64Categories.vector]
    if not categories or call.width not in (None, 1):
        raise call.unsupported(f"{len(categories)} categories do not fit {call.width} features")
    encoded = call.ml(
        "OneHotEncoder", [call.row("int64")], cats_int64s=categories, zeros=int(call.params.handleUnknown == 1)
    )
    return call.numbers(encoded, len(categories))


def _feature_vectorizer(call: ModelCall) -> Features:
    """Features in a row, in the order of the model's list."""
    parts, total = [], 0
    for column in call.params.inputList:
        own, count = call.count(column.inputColumn), int(column.inputDimensions)
        if own is not None and own != count:
            raise call.unsupported(f"its input {column.inputColumn!r} has {own} elements, and {count} are listed")
        parts.append(call.flat(column.inputColumn))
        total += count
    if not parts:
        raise call.unsupported("its list of inputs is empty")
    return call.numbers(parts[0] if len(parts) == 1 else call.node("Concat", parts, axis=0), total)


def _array_feature_extractor(call: ModelCall) -> Features:
    """The elements of the flat features at these places."""
    places = [int(n) for n in call.params.extractIndex]
    wrong = [n for n in places if call.width is not None and n >= call.width]
    if not places or wrong:
        raise call.unsupported(f"it takes the elements {wrong or places} of {call.width} features")
    return call.numbers(call.node("Gather", [call.row(), call.integers(places)], axis=1), len(places))


PREPARATION: Mapping[str, ModelHandler] = {
    "arrayFeatureExtractor": _array_feature_extractor,
    "featureVectorizer": _feature_vectorizer,
    "imputer": _imputer,
    "normalizer": _normalizer,
    "oneHotEncoder": _one_hot_encoder,
    "scaler": _scaler,
}
