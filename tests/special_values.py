"""Rows of the operator table with NaN, infinities and the ends of integers among their inputs, and rows of nothing; and
where onnxruntime's results are not the ones to have. What holds for users stands in compiler/ops/DESIGN.md, under
"NaN, infinities, nothing and overflow"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from zlib import crc32

import numpy as np
from op_table import Array, Case
from webnn_compile.ops.call import OWN_DOMAIN

SPRINKLED: Mapping[str, tuple[float, tuple[float, ...]]] = {
    "nan": (0.15, (np.nan,)),
    "infinite": (0.2, (np.inf, -np.inf)),
    "nan alone": (1, (np.nan,)),
    "minus infinity alone": (1, (-np.inf,)),
}
"""For floats: which share of the elements becomes one of the values."""

ENDS: Mapping[str, float] = {"ends": 0.3, "ends alone": 1}
"""For integers: which share of the elements becomes the least, the largest or the one before."""

ARITHMETIC = {
    **dict.fromkeys(("Abs", "Max", "Min", "Neg", "Relu", "Sign", "TopK", "Unique"), (0,)),
    **dict.fromkeys(
        ("Add", "Div", "Equal", "Less", "MatMul", "MatMulInteger", "ConvInteger", "Mod", "Mul", "Sub"), (0, 1)
    ),
    **dict.fromkeys(("ArgMax", "ArgMin", "CumProd", "CumSum", "MaxPool", "Pow"), (0,)),
    **dict.fromkeys(("ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"), (0,)),
    "ReduceSumSquare": (0,),
    "Where": (1, 2),
}
"""Inputs of operators on integers that are no indices and no sizes."""

FLOATS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("Conv", "ConvTranspose", "DeformConv", "GridSample", "MaxRoiPool", "RoiAlign"), (0,)),
    "NonMaxSuppression": (0, 1),
    **dict.fromkeys(("QLinearConv", "QLinearMatMul"), ()),
    **dict.fromkeys(("BiasAdd", "BiasSplitGelu"), ()),
}
"""Inputs that take special values, of operators with other inputs of floats, weights and limits, which are finite. None
of those that nothing else here computes."""

OF_NOTHING = (
    *("CumProd", "CumSum", "Flatten", "GlobalAveragePool", "GlobalLpPool", "Hardmax", "LayerNormalization"),
    *("LogSoftmax", "LpNormalization", "MatMul", "NonZero", "ReduceL1", "ReduceL2", "ReduceLogSum"),
    *("ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
    *("Softmax", "Squeeze", "TopK", "Transpose", "Unsqueeze"),
)
"""Operators that are tried on dimensions of no elements. On some others onnxruntime ends the process."""

BY_PLACE = "onnxruntime's result depends on where in a line a NaN stands; NumPy's and the ONNX reference's does not"
OPEN = "ONNX leaves open what an integer of NaN or infinity is; here it is 0, or the nearest integer"
SATURATED = "onnxruntime 1.32, unlike 1.20, computes these integers as floats and keeps to the nearest; others wrap"
ZERO_TIMES = "taps whose weight is zero, or that only meet padding, are left out by one and multiplied by the other"
LOST = "onnxruntime bounds the arguments of activations, by which a NaN is lost"

DIFFERENCES: Mapping[str, tuple[frozenset[str], str]] = {
    **dict.fromkeys(("ArgMax", "ArgMin", "Hardmax"), (frozenset({"nan", "nan alone"}), BY_PLACE)),
    **dict.fromkeys(("ReduceMax", "ReduceMin"), (frozenset({"nan"}), BY_PLACE)),
    "ReduceLogSumExp": (frozenset({"nan"}), BY_PLACE),
    **dict.fromkeys(("ScatterElements", "ScatterND"), (frozenset({"nan"}), BY_PLACE)),
    "Unique": (frozenset({"nan"}), "onnxruntime takes any element for a NaN's equal"),
    **dict.fromkeys(
        ("MaxPool", "GlobalMaxPool", "MaxRoiPool"),
        (
            frozenset(SPRINKLED),
            f"{BY_PLACE}, and it starts at the least finite number, not at minus infinity",
        ),
    ),
    **dict.fromkeys(
        (
            *("Cast", "CastLike", "OneHot", "QuantizeLinear"),
            *("DynamicQuantizeLinear", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM"),
        ),
        (frozenset(SPRINKLED), OPEN),
    ),
    "Clip": (
        frozenset({"infinite", "minus infinity alone"}),
        "onnxruntime takes an absent bound for the largest finite number; here infinities stay",
    ),
    "Celu": (frozenset(SPRINKLED), "an alpha of 0 makes onnxruntime divide by it; here it is a Relu"),
    "Attention": (
        frozenset({"nan", "infinite"}),
        "a key that a query does not see has no influence, whatever its product with the query is",
    ),
    "GroupQueryAttention": (
        frozenset(SPRINKLED),
        "values that a query does not see are multiplied by zero, and a buffer keeps what stands behind the last token",
    ),
    **dict.fromkeys(("Resize", "Upsample"), (frozenset(SPRINKLED), ZERO_TIMES)),
    **dict.fromkeys(("DeformConv", "GridSample"), (frozenset(SPRINKLED), ZERO_TIMES)),
    "RoiAlign": (
        frozenset(SPRINKLED),
        f"{BY_PLACE}; and of a sample outside onnxruntime multiplies the first pixel by zero",
    ),
    "Det": (
        frozenset({"nan", "infinite"}),
        "another order of elimination meets other infinities, and numbers beside a column of zeros",
    ),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), (frozenset(SPRINKLED), LOST)),
    "LRN": (
        frozenset({"nan", "infinite"}),
        "onnxruntime keeps a running sum over channels, which a NaN never leaves again",
    ),
    "ConvTranspose": (frozenset(SPRINKLED), ZERO_TIMES),
    **dict.fromkeys(("DFT", "STFT"), (frozenset(SPRINKLED), ZERO_TIMES)),
    "LayerNormalization": (
        frozenset({"infinite", "minus infinity alone"}),
        "onnxruntime's mean of infinities is NaN, NumPy's is infinite",
    ),
    "NonMaxSuppression": (
        frozenset({"nan", "infinite", "nan alone"}),
        "a score that is NaN selects no box; the shares of infinite boxes are undefined",
    ),
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceMean", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
        (frozenset(ENDS), SATURATED),
    ),
    "Pow": (frozenset(ENDS), SATURATED),
    "CDist": (
        frozenset({"infinite", "minus infinity alone"}),
        "onnxruntime adds squares and products of rows, of which infinities cancel",
    ),
    **dict.fromkeys(
        ("Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike"),
        (frozenset(SPRINKLED), "ONNX leaves random numbers open"),
    ),
    "GlobalAveragePool": (frozenset({"nothing"}), "a mean of nothing is 0, as that of onnxruntime's ReduceMean"),
}
"""By operator: the kinds of inputs of which its results are not onnxruntime's, and why."""

DIFFERENCES_OF_ROWS: Mapping[str, tuple[frozenset[str], str]] = {
    "multiheadattention-buffer": (
        frozenset({"infinite"}),
        "what stands in a buffer behind the last key is multiplied by zero",
    ),
    "ms-unique": (frozenset({"nan alone"}), "that of com.microsoft takes no NaN for another's equal"),
    "averagepool-float64": (frozenset({"nan"}), "onnxruntime lacks it, and the ONNX reference passes over NaN"),
    "maxunpool-larger": (frozenset(SPRINKLED), "onnxruntime takes places for those of the larger result"),
    "logsoftmax-float64": (frozenset({"nan", "infinite"}), "of float32 the whole line is NaN in onnxruntime, too"),
}
"""Kinds of inputs and reasons by row."""

FOLDED = frozenset({"softmax-one-element", "logsoftmax-one-element"})
"""Rows of a line of one element, from which the element is subtracted: compilers of shaders take that for zero."""


NOT_REFERRED = frozenset(
    {
        *("attention-ms-mask-of-all-positions", "rotary-ms-from-each"),
        *("multiheadattention-packed", "multiheadattention-packed-bias", "multiheadattention-packed-keys"),
        *("multiheadattention-scores", "decodermaskedmultiheadattention-cross-scores"),
        "decodermaskedmultiheadattention-side-by-side",
    }
)
"""Rows of operators that onnxruntime has on processors, in forms that it does not have there; or only of
results of a type that is given."""


def differs(row: Case, kind: str, *, device: bool) -> bool:
    """Whether results of inputs of the kind may be other than onnxruntime's, on a processor or a GPU."""
    nothing = (frozenset[str](), "")
    if device and row.id in FOLDED:
        return True
    return kind in DIFFERENCES_OF_ROWS.get(row.id, nothing)[0] | DIFFERENCES.get(row.op, nothing)[0]


def variants(case: Case) -> Iterator[tuple[str, Case]]:
    """The row with other inputs of the same shapes, each with its kind; but for those of nothing, which are other
    models. None of the compiler's own operators and of the rows NOT_REFERRED, which no reference has: they say what
    they expect."""
    if case.domain == OWN_DOMAIN or case.id in NOT_REFERRED:
        return
    floats = [i for i, a in _given(case) if a.dtype.kind == "f" and i in FLOATS.get(case.op, (i,))]
    of_integers = case.op == "Pow" and np.asarray(case.inputs[0]).dtype.kind != "f"  # to the power of NaN: left open
    if floats and not of_integers:
        for kind, (share, values) in SPRINKLED.items():
            yield kind, _with(case, kind, floats, share, values)
    whole = [i for i, a in _given(case) if a.dtype.kind in "iu" and i in ARITHMETIC.get(case.op, ())]
    if whole:
        for kind, share in ENDS.items():
            yield kind, _with(case, kind, whole, share, None)


def of_nothing(case: Case) -> Iterator[Case]:
    """The row with no elements along a dimension of its only input of floats."""
    floats = [(i, a) for i, a in _given(case) if a.dtype.kind == "f"]
    if case.op not in OF_NOTHING or len(floats) != 1:
        return
    ((index, array),) = floats
    for d in range(min(array.ndim, 2)):
        empty = np.zeros([0 if e == d else n for e, n in enumerate(array.shape)], array.dtype)
        inputs = tuple(empty if i == index else a for i, a in enumerate(case.inputs))
        yield replace(case, id=f"{case.id} nothing along {d}", inputs=inputs, expected=None)


def _given(case: Case) -> list[tuple[int, Array]]:
    return [(i, a) for i, a in enumerate(case.inputs) if a is not None and i not in case.constants and a.size]


def _with(case: Case, kind: str, inputs: list[int], share: float, values: tuple[float, ...] | None) -> Case:
    """At least one element of each of the inputs becomes one of the values, by default the ends of its type."""
    made = list(case.inputs)
    for i in inputs:
        a = np.asarray(made[i])
        if a.dtype.kind == "f":
            a = np.where(np.isnan(a), np.zeros((), a.dtype), a)
        if values is None:
            info = np.iinfo(a.dtype)
            pool = np.asarray([info.min, info.max, info.max - 1], a.dtype)
        else:
            pool = np.asarray(values, a.dtype)
        generator = np.random.default_rng(crc32(f"{case.id} {kind} {i}".encode()))
        chosen = generator.random(a.shape) < share
        chosen.reshape(-1)[generator.integers(a.size)] = True
        made[i] = np.where(chosen, generator.choice(pool, a.shape), a).astype(a.dtype)
    return replace(case, id=f"{case.id} {kind}", inputs=tuple(made), expected=None, tolerance=max(case.tolerance, 1e-4))
