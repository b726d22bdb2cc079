"""Operators of ai.onnx.ml that prepare features: matrices [rows, features], or one row as a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import F32, F64, I32, I64, DType
from ...ir.construct import select, unary
from ...ir.nodes import Const, Expr
from ...ir.sizes import product
from ...tensor import Tensor, compute, constant
from ..broadcast import broadcast_element, pointwise
from ..call import Call
from ..movement.gather import gathered
from ..movement.joining import joined
from ..movement.reshaping import reshaped
from ..reductions.reduce_axes import reduce_axes, reduce_over, without
from ..selection.keys import within

NUMBERS = (F32, F64, I64, I32)
"""The element types of features."""


def features(call: Call, index: int = 0, *others: DType) -> Tensor:
    """Input `index`, features of one of the types that ONNX allows, or of `others`, in rows or as one row."""
    call.check_dtypes((index,), *NUMBERS, *others)
    x = call.input(index)
    if x.rank not in (1, 2):
        raise call.unsupported(f"input {index} ({x.name!r}) has {x.rank} dimensions", "give it rows of features")
    return x


def invalid(call: Call, reason: str) -> Exception:
    """The error of a model whose attributes contradict each other."""
    return call.unsupported(reason, "the model is invalid: export it again")


def float_type(x: Tensor) -> DType:
    """The type in which features are computed with: float64 of such, float32 of all others."""
    return F64 if x.dtype == F64 else F32


def rows_of_floats(call: Call, x: Tensor, dtype: DType = F32) -> Tensor:
    """The features `x` as a matrix of `dtype`: a vector is one row."""
    shape = x.shape if x.rank == 2 else (1, *x.shape)
    return compute(f"{call.name}.rows", shape, (x,), lambda *i: x[i[2 - x.rank :]].cast(dtype))


def _each_feature(call: Call, name: str, values: Sequence[float], dtype: DType = F32) -> Tensor:
    """Values of attribute `name`: one for all features, or one for each."""
    count = call.fixed(call.input(0), (-1,))[0]
    if len(values) not in (1, count):
        raise call.unsupported(f"attribute {name} has {len(values)} values for {count} features", "export it again")
    return constant(f"{call.name}.{name}", np.asarray(values, dtype.numpy))


def _scaler(call: Call) -> Tensor:
    """(x - offset) * scale, by feature, as float32."""
    x = features(call)
    dtype = float_type(x)
    offset = _each_feature(call, "offset", call.attribute("offset", ()) or (0.0,), dtype)
    scale = _each_feature(call, "scale", call.attribute("scale", ()) or (1.0,), dtype)

    def body(*i: Expr) -> Expr:
        return ((x[i].cast(dtype) - broadcast_element(offset, i)) * broadcast_element(scale, i)).cast(F32)

    return compute(call.name, x.shape, (x, offset, scale), body)


def _normalizer(call: Call) -> Tensor:
    """x by the sum of a row's magnitudes (L1), the root of that of its squares (L2), or its maximum (MAX); a row whose
    norm is 0 stays."""
    x = features(call)
    kind = call.attribute("norm", "MAX")
    axis = (x.rank - 1,)
    terms: dict[str, tuple[str, Callable[[Expr], Expr]]] = {
        "MAX": ("max", lambda v: v),
        "L1": ("sum", lambda v: unary("abs", v)),
        "L2": ("sum", lambda v: v * v),
    }
    if kind not in terms:
        raise call.unsupported(f"attribute norm is {kind!r}, not MAX, L1 or L2", "the model is invalid")
    op, term = terms[kind]
    norms = reduce_axes(f"{call.name}.norm", op, x.shape, axis, (x,), lambda *i: term(x[i].cast(F32)))

    def body(*i: Expr) -> Expr:
        value, norm = x[i].cast(F32), norms[without(i, axis)]
        return select(norm.eq(0), value, value / (unary("sqrt", norm) if kind == "L2" else norm))

    return compute(call.name, x.shape, (x, norms), body)


def _binarizer(call: Call) -> Tensor:
    """1 where x is above the threshold, else 0."""
    call.check_dtypes((0,), *NUMBERS)
    threshold, dtype = call.attribute("threshold", 0.0), float_type(call.input(0))
    return pointwise(call, lambda v: (v.cast(dtype) > threshold).cast(v.dtype), call.input(0))


def _imputer(call: Call) -> Tensor:
    """x, where it is not the value that is replaced, by which NaN means any NaN."""
    x = features(call)
    kind = "floats" if x.dtype.is_float else "int64s"
    values: tuple[float, ...] = call.attribute(f"imputed_value_{kind}", ())
    if not values:
        raise call.unsupported(
            f"attribute imputed_value_{kind} is missing for elements of {x.dtype}", "export it again"
        )
    missing: float = call.attribute("replaced_value_float", 0.0)
    if not x.dtype.is_float:
        missing = call.attribute("replaced_value_int64", 0)
    imputed = _each_feature(call, f"imputed_value_{kind}", values, x.dtype)

    def body(*i: Expr) -> Expr:
        is_missing = unary("isnan", x[i]) if missing != missing else x[i].eq(missing)
        return select(is_missing, broadcast_element(imputed, i), x[i])

    return compute(call.name, x.shape, (x, imputed), body)


def _array_feature_extractor(call: Call) -> Tensor:
    """The features with the indices that input 1 lists, in rows: a vector is one row."""
    call.check_dtypes((0,), *NUMBERS)
    call.check_dtypes((1,), I64)
    x, indices = call.input(0), call.input(1)
    if not x.rank:
        raise call.unsupported(f"input 0 ({x.name!r}) is a scalar", "give it features")
    count = product(indices.shape)
    if indices.data is not None:
        flat = constant(indices.name, indices.data.reshape(-1))
    else:
        flat = reshaped(f"{call.name}.flat", indices, (count,))
    if x.rank > 1:
        return gathered(call, call.name, x, flat, x.rank - 1)
    return gathered(call, call.name, reshaped(f"{call.name}.row", x, (1, *x.shape)), flat, 1)


def _feature_vectorizer(call: Call) -> Tensor:
    """The inputs beside each other, as float32: of each as many features as `inputdimensions` lists, zeros where it has
    fewer."""
    inputs = [features(call, i) for i in range(len(call.inputs))]
    widths: tuple[int, ...] = call.attribute("inputdimensions", ()) or tuple(call.fixed(x, (-1,))[0] for x in inputs)
    if len(widths) != len(inputs) or min(widths, default=0) < 0:
        raise call.unsupported(f"inputdimensions {list(widths)} do not fit {len(inputs)} inputs", "export it again")

    def part(n: int, x: Tensor, width: int) -> Tensor:
        own = call.fixed(x, (-1,))[0]
        rows = x.shape[0] if x.rank == 2 else 1

        def body(row: Expr, i: Expr) -> Expr:
            at = (row, i) if x.rank == 2 else (i,)
            if width <= own:
                return x[at].cast(F32)
            return x.read(at, i < own, 0).cast(F32)

        return compute(f"{call.name}.part{n}", (rows, width), (x,), body)

    return joined(call.name, [part(n, x, w) for n, (x, w) in enumerate(zip(inputs, widths, strict=True))], 1)


def _one_hot_encoder(call: Call) -> Tensor:
    """For each element 1 at the place of its category, else 0, along a new last dimension."""
    categories: tuple[int, ...] = call.attribute("cats_int64s", ())
    if call.attribute("cats_strings", ()) or not categories:
        raise call.unsupported("its categories are strings, which no target has", "encode them before the model")
    call.check_dtypes((0,), *NUMBERS)
    x = call.input(0)
    table = constant(f"{call.name}.categories", np.asarray(categories, np.int64))
    if not call.attribute("zeros", 1):
        places = compute(f"{call.name}.places", x.shape, (x, table), lambda *i: _first(table, x[i].cast(I64)))
        strange = pointwise(call, lambda place: (len(categories) <= place).cast(I32), places)
        count = reduce_axes(f"{call.name}.strange", "sum", x.shape, range(x.rank), (strange,), lambda *i: strange[i])
        reason = "an element of this run is none of the model's categories"
        call.refuse_where(Const(0) < count[()], (count,), reason)

    def body(*i: Expr) -> Expr:
        return x[i[:-1]].cast(I64).eq(table[i[-1]]).cast(F32)

    return compute(call.name, (*x.shape, len(categories)), (x, table), body)


def _first(table: Tensor, value: Expr) -> Expr:
    """The first place of `value` in a table; as many as it has elements where it is not in it. NaN is found."""
    (n,) = table.extents

    def place(k: Expr) -> Expr:
        equal = table[k].eq(value)
        if value.dtype.is_float:
            equal = equal | unary("isnan", table[k]) & unary("isnan", value)
        return select(equal, k, n)

    return reduce_over("min", (n,), place)


def _label_encoder(call: Call) -> Tensor:
    """The value beside each element's key; the default for one without."""
    keys, values = _column(call, "keys"), _column(call, "values")
    x = call.input(0)
    if keys.shape != values.shape:
        raise call.unsupported(f"it has {keys.size} keys and {values.size} values", "the model is invalid")
    default = call.attribute("default_tensor", np.zeros(0))
    number_of = {True: call.attribute("default_float", -0.0), False: call.attribute("default_int64", -1)}
    fallback = default.reshape(-1)[0].item() if default.size else number_of[values.dtype.kind == "f"]
    table = constant(f"{call.name}.keys", keys)
    results = constant(f"{call.name}.values", np.append(values, np.asarray(fallback, values.dtype)))
    places = compute(f"{call.name}.places", x.shape, (x, table), lambda *i: _first(table, x[i]))
    return compute(call.name, x.shape, (places, results), lambda *i: results[within(places[i], len(values) + 1)])


def _column(call: Call, side: str) -> np.ndarray:
    """The keys or values of a LabelEncoder."""
    if call.attribute(f"{side}_strings", ()):
        raise call.unsupported(f"its {side} are strings, which no target has", "encode them outside of the model")
    tensor: np.ndarray = call.attribute(f"{side}_tensor", np.zeros(0))
    if tensor.size:
        return tensor.reshape(-1)
    floats: tuple[float, ...] = call.attribute(f"{side}_floats", ())
    ints: tuple[int, ...] = call.attribute(f"{side}_int64s", ())
    if not floats and not ints:
        raise call.unsupported(f"it has no {side} that are numbers", "the model is invalid")
    return np.asarray(floats, np.float32) if floats else np.asarray(ints, np.int64)


OPERATORS = {
    "ArrayFeatureExtractor": _array_feature_extractor,
    "Binarizer": _binarizer,
    "FeatureVectorizer": _feature_vectorizer,
    "Imputer": _imputer,
    "LabelEncoder": _label_encoder,
    "Normalizer": _normalizer,
    "OneHotEncoder": _one_hot_encoder,
    "Scaler": _scaler,
}
