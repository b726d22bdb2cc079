"""Messages of operators about models that they cannot take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx_models import model, node
from op_table import Case, evaluate_case
from webnn_compile.errors import UnsupportedError
from webnn_compile.frontends.onnx import import_model
from webnn_compile.ops.call import operator_name


def _f(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _i(*values: int) -> np.ndarray:
    return np.asarray(values, np.int64)


def _i32(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


def _microsoft(op: str, *inputs: np.ndarray | None, outputs: int = 1, **given: Any) -> Case:
    """A row of com.microsoft."""
    constants = given.pop("constants", frozenset())
    return Case("", op, inputs, given, outputs=outputs, constants=constants, domain="com.microsoft")


def _packed(*rest: np.ndarray | None, **given: Any) -> Case:
    """Attention of two heads of two elements, with inputs after the third."""
    return _microsoft("Attention", _f(2, 3, 4), _f(4, 12), _f(12), *rest, **{"num_heads": 2} | given)


ALL = frozenset({1, 2, 3, 4})

_BYTE, _SCALE = np.asarray(1, np.uint8), np.asarray(1, np.float32)
_QUANTIZED = (
    *(np.ones((1, 1, 4), np.uint8), _SCALE, _BYTE),
    *(np.ones((2, 1, 2), np.uint8), np.ones(3, np.float32), _BYTE),
    *(_SCALE, _BYTE),
)

BAD = {
    "p=-1 is less than 1": Case("", "LpPool", (_f(1, 2, 2, 2),), {"kernel_shape": [4, 3], "p": -1}),
    "its input has rank 1, less than 2": Case("", "Trilu", (_f(3),)),
    "do not broadcast": Case("", "Add", (_f(2, 3), _f(4))),
    # From opset 24 on it would be padded.
    "its mask of shape [2, 3] does not fit scores": Case(
        "", "Attention", (_f(1, 1, 2, 3), _f(1, 1, 4, 3), _f(1, 1, 4, 3), _f(2, 3)), opset=23
    ),
    "the slope of shape [2, 3]": Case("", "PRelu", (_f(3), _f(2, 3))),
    "axis 3 does not exist in a tensor of rank 2": Case("", "Concat", (_f(2, 3), _f(2, 3)), {"axis": 3}),
    "differ in more than axis 1": Case("", "Concat", (_f(2, 3), _f(3, 3)), {"axis": 1}),
    "cannot be cut into [1, 1]": Case("", "Split", (_f(3), _i(1, 1)), constants=ALL, outputs=2),
    "name one axis twice": Case("", "Transpose", (_f(2, 3),), {"perm": [0, 0]}),
    "perm [0] does not fit": Case("", "Transpose", (_f(2, 3),), {"perm": [0]}),
    "[2, 3] cannot become [4, -1]": Case("", "Reshape", (_f(2, 3), _i(4, -1)), constants=ALL),
    "[2, 3] cannot become [-1, -1]": Case("", "Reshape", (_f(2, 3), _i(-1, -1)), constants=ALL),
    "its input 'shape' is computed at run time": Case("", "Reshape", (_f(2, 3), _i(6))),
    "are not all of extent 1": Case("", "Squeeze", (_f(2, 3), _i(0)), constants=ALL),
    "axis 4 does not exist": Case("", "Flatten", (_f(2, 3),), {"axis": 4}),
    "starts, ends, axes and steps do not fit": Case("", "Slice", (_f(5), _i(0), _i(5), _i(0), _i(0)), constants=ALL),
    "repeats [2] do not fit [2, 3]": Case("", "Tile", (_f(2, 3), _i(2)), constants=ALL),
    "1 pads are given for 1 axes": Case("", "Pad", (_f(3), _i(1)), constants=ALL),
    "attribute mode='mirror' is unknown": Case("", "Pad", (_f(3), _i(1, 1)), {"mode": "mirror"}, constants=ALL),
    "has nothing to repeat in [0]": Case("", "Pad", (_f(0), _i(1, 1)), {"mode": "edge"}, constants=ALL),
    "its input 'constant_value' has shape [2]": Case("", "Pad", (_f(3), _i(1, 1), _f(2)), constants=ALL),
    "index -7 is out of range in a tensor of shape [5]": Case("", "Gather", (_f(5), _i(2, -7)), constants=ALL),
    "nothing can be chosen from shape [0, 2]": Case("", "Gather", (_f(0, 2), _i(0))),
    "indices of shape [2] do not fit": Case("", "GatherElements", (_f(3, 2), _i(0, 1))),
    "batch_dims 1 do not fit": Case("", "GatherND", (_f(3, 2), np.zeros((2, 1), np.int64)), {"batch_dims": 1}),
    "an index is out of range": Case("", "ScatterElements", (_f(3), _i(3), _f(1)), constants=frozenset({1})),
    "data, indices and updates of shapes": Case("", "ScatterND", (_f(3), np.zeros((2, 1), np.int64), _f(3))),
    "attribute reduction='mean' is unknown": Case("", "ScatterElements", (_f(3), _i(0), _f(1)), {"reduction": "mean"}),
    "blocksize 2, mode 'DCR' do not fit": Case("", "DepthToSpace", (_f(1, 3, 2, 2),), {"blocksize": 2}),
    "is no multiple of blocksize 2": Case("", "SpaceToDepth", (_f(1, 3, 3, 2),), {"blocksize": 2}),
    "it needs NCHW and a blocksize": Case("", "SpaceToDepth", (_f(3, 3, 2),), {"blocksize": 2}),
    "batch_axis 0 and time_axis 2 do not fit": Case(
        "", "ReverseSequence", (_f(2, 2, 2), _i(1, 1)), {"batch_axis": 0, "time_axis": 2}
    ),
    "element type 8 of attribute 'to' is not supported": Case("", "Cast", (_f(3),), {"to": 8}),
    "it is in training mode": Case("", "Dropout", (_f(3), None, np.asarray(True)), constants=ALL),
    "attribute fmod=2 is neither 0 nor 1": Case("", "Mod", (_i(3), _i(3)), {"fmod": 2}),
    "attribute reverse=2 is neither 0 nor 1": Case("", "CumSum", (_f(3), _i(0)), {"reverse": 2}, constants=ALL),
    "attribute exclusive=-1 is neither 0 nor 1": Case("", "CumSum", (_f(3), _i(0)), {"exclusive": -1}, constants=ALL),
    "attribute storage_order=2 is neither 0 nor 1": Case(
        "", "MaxPool", (_f(1, 1, 3, 3),), {"kernel_shape": [2, 2], "storage_order": 2}, outputs=2
    ),
    "floats need the attribute fmod=1": Case("", "Mod", (_f(3), _f(3))),
    "attribute direction='UP' is unknown": Case(
        "", "BitShift", (np.ones(3, np.uint8), np.ones(3, np.uint8)), {"direction": "UP"}
    ),
    "attribute approximate='fast' is unknown": Case("", "Gelu", (_f(3),), {"approximate": "fast"}),
    "its input has rank 1, not 2": Case("", "EyeLike", (_f(3),)),
    "delta is 0": Case("", "Range", (np.asarray(0), np.asarray(3), np.asarray(0)), constants=frozenset({0, 1, 2})),
    "attribute precision=11": Case("", "QuantizeLinear", (_f(3), _f()), {"precision": 11}),
    "attribute qk_matmul_output_mode=4 is none of 0 to 3": Case(
        "", "Attention", (_f(1, 1, 2, 2),) * 3, {"qk_matmul_output_mode": 4}
    ),
    "it has one of past_key and past_value": Case("", "Attention", (*(_f(1, 1, 2, 2),) * 3, None, _f(1, 1, 1, 2))),
    "it has both past keys and nonpad_kv_seqlen": Case(
        "", "Attention", (*(_f(1, 1, 2, 2),) * 3, None, *(_f(1, 1, 1, 2),) * 2, _i(2))
    ),
    "and values [1, 2, 2, 2] do not fit": Case("", "Attention", (*(_f(1, 1, 2, 2),) * 2, _f(1, 2, 2, 2))),
    "parameters of shape [2] do not fit [3, 4]": Case("", "QuantizeLinear", (_f(3, 4), np.ones(2, np.float32))),
    "shape [2, 5, 3], without a last dimension of 1 (real) or 2 (complex)": Case("", "DFT", (_f(2, 5, 3),)),
    "axis 2 is that of real and imaginary parts": Case("", "DFT", (_f(2, 5, 1), None, _i(-1)), constants=ALL),
    "a transform of length 9000 takes a table of 162000000 elements": Case("", "DFT", (_f(1, 9000, 1),)),
    "its length is 0": Case("", "DFT", (_f(1, 1, 2),), {"inverse": 1, "onesided": 1}),
    "its input 'dft_length' has 2 elements": Case("", "DFT", (_f(1, 4, 1), _i(4, 4)), constants=ALL),
    "its frames of length 9, 4 apart, do not fit 8 samples": Case(
        "", "STFT", (_f(1, 8, 1), _i(4), _f(9)), constants=ALL
    ),
    "its window has shape [3], its frames are of length 4": Case(
        "", "STFT", (_f(1, 8, 1), _i(4), _f(3), _i(4)), constants=ALL
    ),
    "attribute mode='area' is unknown": Case("", "GridSample", (_f(1, 1, 2, 2), _f(1, 2, 2, 2)), {"mode": "area"}),
    "attribute padding_mode='wrap' is unknown": Case(
        "", "GridSample", (_f(1, 1, 2, 2), _f(1, 2, 2, 2)), {"padding_mode": "wrap"}
    ),
    "its image has 4 spatial axes": Case("", "GridSample", (_f(1, 1, 2, 2, 2, 2), _f(1, 2, 2, 2, 2, 4))),
    "its input of shape [1, 1, 0, 2] has no pixels": Case("", "GridSample", (_f(1, 1, 0, 2), _f(1, 2, 2, 2))),
    "mode 'sum' or coordinate_transformation_mode 'half_pixel' is unknown": Case(
        "", "RoiAlign", (_f(1, 1, 2, 2), _f(1, 4), _i(0)), {"mode": "sum"}
    ),
    "sampling_ratio -1 are no grid": Case("", "RoiAlign", (_f(1, 1, 2, 2), _f(1, 4), _i(0)), {"sampling_ratio": -1}),
    "has shape [1, 9, 2, 2], where [1, 8, 2, 2] is expected": Case(
        "", "DeformConv", (_f(1, 1, 3, 3), _f(1, 1, 2, 2), _f(1, 9, 2, 2))
    ),
    "shape [2, 2] does not fit 1 axes": Case("", "CenterCropPad", (_f(3), _i(2, 2)), constants=ALL),
    "its input 'image_shape' is computed": Case("", "Col2Im", (_f(1, 4, 4), _i(3, 3), _i(2, 2))),
    "image_shape [3, 3] and block_shape [3, 2] do not fit": Case(
        "", "Col2Im", (_f(1, 4, 4), _i(3, 3), _i(3, 2)), constants=ALL
    ),
    "an image of [3, 3] has [2, 2] windows, its input [5]": Case(
        "", "Col2Im", (_f(1, 4, 5), _i(3, 3), _i(2, 2)), constants=ALL
    ),
    "output_shape [1, 1, 3, 4] does not hold the [1, 1, 4, 4] that were pooled": Case(
        "",
        "MaxUnpool",
        (_f(1, 1, 2, 2), np.zeros((1, 1, 2, 2), np.int64), _i(1, 1, 3, 4)),
        {"kernel_shape": [2, 2], "strides": [2, 2]},
        constants=ALL,
    ),
    "edges of 0 and 9000 Hz are not among the frequencies": Case(
        "", "MelWeightMatrix", (*map(np.asarray, (8, 16, 8000)), _f(), _f() + 9000), constants=ALL | {0}
    ),
    "float32 has 32 bits, int64 64": Case("", "BitCast", (_f(3),), {"to": 7}),
    "from float32 to element type 10: float16, bfloat16": Case("", "BitCast", (_f(3),), {"to": 10}),
    "its n-grams are strings": Case("", "TfIdfVectorizer", (_i(3),), {"mode": "TF", "pool_strings": ["a"]}),
    "ngram_counts [0, 3] do not fit 4 numbers": Case(
        "",
        "TfIdfVectorizer",
        (_i(3),),
        {"mode": "TF", "pool_int64s": [1, 2, 3, 4], "ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2]},
    ),
    "1 ngram_indexes do not fit 2 n-grams": Case(
        "",
        "TfIdfVectorizer",
        (_i(3),),
        {"mode": "TF", "pool_int64s": [1, 2], "ngram_counts": [0], "ngram_indexes": [0]},
    ),
    "2147483648 results of up to 1 n-grams each are too many": Case(
        "",
        "TfIdfVectorizer",
        (_i(3),),
        {"mode": "TF", "pool_int64s": [1, 2], "ngram_counts": [0], "ngram_indexes": [0, 2**31 - 1]},
    ),
    "its input has shape [2, 3], no square matrices": Case("", "Det", (_f(2, 3),)),
    "input 4 ('x4') has shape [3], where [2] is expected": Case("", "QLinearConv", _QUANTIZED),
    "input 2 is missing": Case("", "QLinearConcat", (_f(), np.uint8(0)), domain="com.microsoft"),
    "attribute past_present_share_buffer=1": _packed(past_present_share_buffer=1),
    "attribute do_rotary=1": _packed(do_rotary=1),
    "12 columns of weights are not queries, keys and values of num_heads=3": _packed(num_heads=3),
    "with qkv_hidden_sizes=[4, 2, 6]": _packed(qkv_hidden_sizes=[4, 2, 6]),
    "with qkv_hidden_sizes=[4, 4]": _packed(qkv_hidden_sizes=[4, 4]),
    "of keys have 1 elements and those of values 4": _packed(outputs=2, qkv_hidden_sizes=[2, 2, 8]),
    "its mask has shape [3], where [2] or [4] or [8] is expected": _packed(_i32(3)),
    "its mask has shape [1, 3], where [2, 3] is expected": _packed(_i32(1, 3)),
    "its mask has shape [1, 1, 1, 1, 1], where 1 to 4 dimensions": _packed(_i32(1, 1, 1, 1, 1)),
    "it is unidirectional, and has a mask of 4 dimensions": _packed(_i32(2, 1, 3, 3), unidirectional=1),
    "input 4 ('x4') has shape [2, 2, 2, 5, 3], where [2, 2, 2, any, 2]": _packed(None, _f(2, 2, 2, 5, 3), outputs=2),
    "shapes [2, 3] and [2, 2, 3, 3] do not broadcast": _packed(None, None, _f(2, 3)),
    "input 3 ('x3') is float32, where int32 is expected": _packed(_f(2)),
    "which does not broadcast to [2, 3, 4]": _microsoft("SkipLayerNormalization", _f(2, 3, 4), _f(2, 2, 3, 4), _f(4)),
    "input 4 ('x4') has shape [3], where [4]": _microsoft(
        "SkipLayerNormalization", _f(2, 3, 4), _f(3, 4), _f(4), None, _f(3)
    ),
    "index 7 is out of range in a tensor of shape [5, 4]": _microsoft(
        "EmbedLayerNormalization",
        *(_i32(2, 3) + 7, None, _f(5, 4), _f(5, 4), None, _f(4), _f(4)),
        constants=frozenset({0}),
    ),
    "result would have shape": Case("", "Pad", (_f(3), _i(-2, -2)), constants=ALL),
}


def _resize(
    scales: list[float] | None = None,
    sizes: list[int] | None = None,
    roi: list[float] | None = None,
    dtype: type = np.float32,
    **attributes: object,
) -> Case:
    floats = (None if v is None else np.asarray(v, np.float32) for v in (roi, scales))
    return Case(
        "",
        "Resize",
        (np.ones((1, 4), dtype), *floats, None if sizes is None else _i(*sizes)),
        attributes,
        constants=ALL,
    )


_CROP: dict[str, Any] = {"coordinate_transformation_mode": "tf_crop_and_resize"}

BAD_RESIZES = (
    (_resize([1, 3e38]), "axis 1 of extent 4 or its result has more than 16777216 elements"),
    (_resize([1, 1e9], mode="linear"), "axis 1 of extent 4 or its result has more than 16777216 elements"),
    (_resize([1, float("inf")]), "are not all finite and above 0"),
    (_resize([float("nan"), 1]), "are not all finite and above 0"),
    (_resize([1, -1]), "are not all finite and above 0"),
    (_resize(sizes=[1, 2**62]), "axis 1 of extent 4 or its result has more than 16777216 elements"),
    (_resize(sizes=[2**24 + 1, 4]), "axis 0 of extent 1 or its result has more than 16777216 elements"),
    (
        _resize(sizes=[1, 2**62], keep_aspect_ratio_policy="not_smaller"),
        "axis 0 of extent 1 or its result has more than 16777216 elements",
    ),
    (_resize(sizes=[1, -2]), "sizes [1, -2] do not fit 2 axes"),
    (_resize(sizes=[1, 6], roi=[0, float("nan"), 1, 1], **_CROP), "lead to coordinates beyond float32"),
    (_resize(sizes=[1, 6], roi=[0, -3e38, 1, 3e38], **_CROP), "lead to coordinates beyond float32"),
    (
        _resize(sizes=[1, 6], roi=[0, -1, 1, 1], extrapolation_value=float("inf"), dtype=np.uint8, **_CROP),
        "extrapolation_value inf is no uint8",
    ),
)


@pytest.mark.parametrize(("case", "message"), BAD_RESIZES, ids=range(len(BAD_RESIZES)))
@pytest.mark.filterwarnings("error")
def test_sizes_that_no_axis_can_have(case: Case, message: str) -> None:
    with pytest.raises(UnsupportedError) as raised:
        evaluate_case(case)
    assert message in str(raised.value)


def test_far_outside_every_tap_is_the_end() -> None:
    case = _resize(sizes=[1, 2], roi=[0, 1e30, 1, 2e30], mode="linear", **_CROP)
    np.testing.assert_array_equal(evaluate_case(case)[0], [[0, 0]])


_INDEX = np.asarray(0)

OF_SCALARS = (
    Case("", "ArgMax", (_f(),)),
    Case("", "Concat", (_f(), _f()), {"axis": 0}),
    Case("", "CumSum", (_f(), _INDEX), constants=ALL),
    Case("", "DequantizeLinear", (_f(), _f(2)), {"axis": 0}),
    Case("", "Gather", (_f(), _INDEX)),
    Case("", "GatherElements", (_f(), _INDEX)),
    Case("", "Hardmax", (_f(),), {"axis": -1}),
    Case("", "LayerNormalization", (_f(), _f())),
    Case("", "LpNormalization", (_f(),)),
    Case("", "MeanVarianceNormalization", (_f(),), {"axes": [0]}),
    Case("", "Pad", (_f(), _i(0, 0), None, _i(0)), constants=ALL),
    Case("", "ReduceMax", (_f(), _i(-1)), constants=ALL),
    Case("", "Resize", (_f(), None, None, _i(1)), {"axes": [0]}, constants=ALL),
    Case("", "ScatterElements", (_f(), _INDEX, _f())),
    Case("", "Slice", (_f(), _i(0), _i(1)), constants=ALL),
    Case("", "Softmax", (_f(),), {"axis": 0}),
    Case("", "Split", (_f(),), {"axis": 0, "num_outputs": 1}),
    Case("", "Squeeze", (_f(), _i(0)), constants=ALL),
)


@pytest.mark.parametrize("case", OF_SCALARS, ids=lambda c: c.op)
def test_a_scalar_has_no_axis(case: Case) -> None:
    with pytest.raises(
        UnsupportedError,
        match=rf"{case.op} \(node 'node'\): axis (-1|0) does not exist in a tensor of rank 0; the model",
    ):
        evaluate_case(case)


@pytest.mark.parametrize("message", BAD)
def test_the_message_names_node_and_reason(message: str) -> None:
    case = BAD[message]
    with pytest.raises(UnsupportedError) as raised:
        evaluate_case(case)
    text = str(raised.value)
    assert message in text
    assert text.startswith(f"{operator_name(case.domain, case.op)} (node 'node'): ")
    assert "; " in text, "says what to do"


@pytest.mark.parametrize("op", ["TopK", "Unique"])
def test_more_elements_than_can_be_sorted(op: str) -> None:
    """Blocks of the network are up to twice as long, which int32 cannot hold."""
    inputs = ["x", "k"] if op == "TopK" else ["x"]
    outputs = ["y", "i"] if op == "TopK" else ["y"]
    proto = model([node(op, inputs, outputs)], {"x": [2**30 + 1]}, outputs, {"k": _i(5)} if op == "TopK" else {})
    with pytest.raises(UnsupportedError, match=rf"{op} .*it sorts {2**30 + 1} elements, more than {2**30}"):
        import_model(proto)
