"""The operators, each defined once: a function from a `Call` to the tensors of its outputs.

An operator function names no target and no layout. The shape rule is the shape of what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from ..tensor import Tensor
from .call import OWN_DOMAIN, Call
from .classical import features, linear_models, n_grams, support_vectors, trees
from .elementwise import (
    activation,
    arithmetic,
    casting,
    comparison,
    logical,
    onnxruntime_activation,
    random_numbers,
    storage,
)
from .movement import filling, gather, joining, padding, rearranging, reshaping, scattering, slicing
from .products import (
    attention,
    convolution,
    convolution_transpose,
    determinant,
    einsum,
    fourier,
    fused,
    group_query_attention,
    linear,
    multi_head_attention,
    packed_attention,
    rotary_embedding,
)
from .quantisation import (
    block_quantized,
    dequantized_products,
    look_up,
    quantized,
    quantized_linear,
    quantized_products,
    quantizing,
)
from .recurrence import quantized_lstm, recurrent, scanning
from .reductions import (
    fused_normalisation,
    layer_normalisation,
    normalisation,
    onnxruntime_normalisation,
    pooling,
    reduction,
    softmax,
    unpooling,
)
from .sampling import deform_conv, grid_sample, max_roi_pool, picture, resize, roi_align, sound
from .selection import boxes, contributed, selecting, tokens

OperatorFn = Callable[[Call], "Tensor | tuple[Tensor, ...]"]

FAMILIES: dict[str, tuple[ModuleType, ...]] = {
    "": (
        activation,
        attention,
        casting,
        comparison,
        convolution,
        convolution_transpose,
        deform_conv,
        determinant,
        einsum,
        arithmetic,
        filling,
        fourier,
        gather,
        grid_sample,
        joining,
        layer_normalisation,
        linear,
        logical,
        max_roi_pool,
        n_grams,
        rearranging,
        normalisation,
        padding,
        pooling,
        quantized_products,
        quantizing,
        random_numbers,
        recurrent,
        reduction,
        reshaping,
        resize,
        roi_align,
        rotary_embedding,
        scanning,
        scattering,
        selecting,
        slicing,
        softmax,
        unpooling,
    ),
    "com.microsoft": (
        contributed,
        fused,
        fused_normalisation,
        grid_sample,
        group_query_attention,
        multi_head_attention,
        packed_attention,
        quantized,
        quantized_linear,
        quantized_lstm,
        block_quantized,
        rotary_embedding,
    ),
    "ai.onnx.ml": (features, linear_models, support_vectors, trees),
    OWN_DOMAIN: (
        boxes,
        dequantized_products,
        look_up,
        onnxruntime_activation,
        onnxruntime_normalisation,
        picture,
        sound,
        storage,
        tokens,
    ),
}
"""By domain ("" for ai.onnx), the files that define its operators."""

OPERATORS: dict[tuple[str, str], OperatorFn] = {
    (domain, op_type): fn
    for domain, families in FAMILIES.items()
    for family in families
    for op_type, fn in family.OPERATORS.items()
}
"""Domain and ONNX operator type -> its definition."""
