"""Rows of normalisations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from op_cases._arrays import Arrays
from op_table import Array, Case, reference
from webnn_compile.ops.call import OWN_DOMAIN

_a = Arrays(23)
_x = _a.normal


def _channels(count: int) -> tuple[Array, ...]:
    """Scale, bias, mean and variance."""
    return _x(count), _x(count), _x(count), _a.uniform(0.5, 2, count)


_BATCH = [
    Case("batchnorm", "BatchNormalization", (_x(2, 3, 4, 5), *_channels(3))),
    Case(
        "batchnorm-constants", "BatchNormalization", (_x(2, 3, 4, 5), *_channels(3)), constants=frozenset({1, 2, 3, 4})
    ),
    Case("batchnorm-epsilon", "BatchNormalization", (_x(2, 3, 4), *_channels(3)), {"epsilon": 0.1}),
    Case("batchnorm-2d", "BatchNormalization", (_x(4, 3), *_channels(3)), constants=frozenset({1, 2, 3, 4})),
    Case(  # onnxruntime rounds products with 1000 apart
        "batchnorm-near-mean",
        "BatchNormalization",
        (np.float32([[[1000, 1000.5, 999]]]), *np.float32([[0.3], [0.25], [1000], [9]])),
        {"epsilon": 0.0},
        constants=frozenset({1, 2, 3, 4}),
        tolerance=1e-6,
        expected=(np.float32([[[0.25, 0.3, 0.15]]]),),
    ),
    Case("batchnorm-5d", "BatchNormalization", (_x(1, 2, 3, 2, 3), *_channels(2)), opset=15),
    Case(
        "batchnorm-training",
        "BatchNormalization",
        (_x(2, 3, 4, 5), *_channels(3)),
        {"training_mode": 1, "momentum": 0.7},
        opset=15,
        outputs=3,
    ),
    Case(
        "batchnorm-training-opset-9",
        "BatchNormalization",
        (_x(2, 3, 4, 5), *_channels(3)),
        {"momentum": 0.7},
        opset=9,
        outputs=5,
    ),
    Case("batchnorm-opset-9", "BatchNormalization", (_x(2, 3, 4, 5), *_channels(3)), {"momentum": 0.5}, opset=9),
    Case("batchnorm-opset-7", "BatchNormalization", (_x(2, 3, 4, 5), *_channels(3)), {"spatial": 1}, opset=7),
    Case(
        "batchnorm-per-activation",
        "BatchNormalization",
        (_x(2, 3, 4), _x(3, 4), _x(3, 4), _x(3, 4), _a.uniform(0.5, 2, 3, 4)),
        {"spatial": 0},
        opset=7,
    ),
]

_INSTANCE = [
    Case("instancenorm", "InstanceNormalization", (_x(2, 3, 4, 5), _x(3), _x(3))),
    Case("instancenorm-epsilon", "InstanceNormalization", (_x(2, 3, 4, 5), _x(3), _x(3)), {"epsilon": 0.01}, opset=7),
    Case("instancenorm-1d", "InstanceNormalization", (_x(2, 3, 7), _x(3), _x(3)), constants=frozenset({1, 2})),
    Case("instancenorm-far-mean", "InstanceNormalization", (_x(1, 2, 6, 6) + 100, _x(2), _x(2)), tolerance=1e-4),
]

_GROUP = [
    Case("groupnorm", "GroupNormalization", (_x(2, 6, 3, 4), _x(6), _x(6)), {"num_groups": 2}),
    Case("groupnorm-each", "GroupNormalization", (_x(2, 4, 5), _x(4), _x(4)), {"num_groups": 4, "epsilon": 0.01}),
    Case("groupnorm-all", "GroupNormalization", (_x(2, 4, 5), _x(4), _x(4)), {"num_groups": 1}),
]

_LAYER = [
    Case("layernorm", "LayerNormalization", (_x(2, 3, 5), _x(5), _x(5))),
    Case("layernorm-no-bias", "LayerNormalization", (_x(2, 3, 5), _x(5))),
    Case("layernorm-axis", "LayerNormalization", (_x(2, 3, 4, 5), _x(3, 4, 5), _x(3, 4, 5)), {"axis": 1}),
    Case("layernorm-first-axis", "LayerNormalization", (_x(3, 5), _x(3, 5), _x(3, 5)), {"axis": 0}),
    Case("layernorm-broadcast", "LayerNormalization", (_x(2, 3, 5), _x(1, 5), _x(3, 1)), {"axis": -2}),
    Case("layernorm-outputs", "LayerNormalization", (_x(2, 3, 5), _x(5), _x(5)), {"epsilon": 0.1}, outputs=3),
    Case(
        "layernorm-float64",
        "LayerNormalization",
        tuple(_x(*s).astype(np.float64) for s in ((2, 3, 5), (5,))),
        outputs=3,
    ),
    Case("layernorm-opset-17", "LayerNormalization", (_x(2, 7), _x(7), _x(7)), {"axis": 1}, opset=17, outputs=3),
    Case("rmsnorm", "RMSNormalization", (_x(2, 3, 5), _x(5)), opset=23),
    Case("rmsnorm-axis", "RMSNormalization", (_x(2, 3, 5), _x(3, 5)), {"axis": 1, "epsilon": 0.1}, opset=23),
    Case("rmsnorm-broadcast", "RMSNormalization", (_x(2, 3, 5), _x(5)), {"axis": -2}, opset=23),
]

_LRN = [
    Case("lrn", "LRN", (_x(2, 7, 3, 4),), {"size": 5}),
    Case("lrn-attributes", "LRN", (_x(1, 6, 3, 3),), {"size": 3, "alpha": 0.5, "beta": 0.6, "bias": 2.0}),
    Case("lrn-strong", "LRN", (_x(1, 6, 3, 3) * 5,), {"size": 3, "alpha": 1.0, "beta": 0.75}),
    Case("lrn-root", "LRN", (_x(1, 6, 3, 3),), {"size": 3, "alpha": 1.0, "beta": 0.5}),
    Case("lrn-one", "LRN", (_x(1, 6, 3, 3),), {"size": 1, "alpha": 1.0, "beta": 1.0}),
    Case("lrn-wider-than-input", "LRN", (_x(1, 2, 3, 3),), {"size": 7, "alpha": 1.0}, opset=7),
    Case("lrn-much-wider-than-input", "LRN", (_x(1, 3, 2, 3),), {"size": 101, "alpha": 1.0}),
]

_zeros = _x(2, 3, 4)
_zeros[:, 1] = 0
_LP = [
    Case("lpnorm", "LpNormalization", (_x(2, 3, 5),)),
    Case("lpnorm-p1", "LpNormalization", (_x(2, 3, 5),), {"p": 1, "axis": 1}),
    Case("lpnorm-p2", "LpNormalization", (_x(2, 3, 5),), {"p": 2, "axis": 0}, opset=7),
    Case("lpnorm-zeros", "LpNormalization", (_zeros,), {"p": 2, "axis": -1}),
]


def _before_opset_9(id: str, *shape: int, across: int = 0, scaled: int = 1) -> Case:
    """The operator that onnxruntime had before ONNX: the importer moves it to the compiler's own."""
    attributes = {"across_channels": across, "normalize_variance": scaled}
    case = Case(f"mvn-before-opset-9{id}", "MeanVarianceNormalization", (_x(*shape),), attributes, 8)
    return replace(case, domain=OWN_DOMAIN, expected=tuple(reference(case)))


_MVN = [
    Case("mvn", "MeanVarianceNormalization", (_x(2, 3, 4, 5),)),
    Case("mvn-axes", "MeanVarianceNormalization", (_x(2, 3, 4),), {"axes": [-1, 1]}),
    Case("mvn-opset-9", "MeanVarianceNormalization", (_x(2, 3, 4, 5),), {"axes": [2, 3]}, opset=9),
    _before_opset_9("", 2, 3, 4, 5),
    _before_opset_9("-across-channels", 2, 3, 4, 5, across=1),
    _before_opset_9("-means", 2, 3, 4, 5, scaled=0),
    _before_opset_9("-3d", 2, 3, 4),
    _before_opset_9("-5d-across-channels", 2, 3, 2, 2, 3, across=1),
]

CASES = [*_BATCH, *_INSTANCE, *_GROUP, *_LAYER, *_LRN, *_LP, *_MVN]
