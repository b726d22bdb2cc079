"""More rows of the table of layers of Keras: those of its applications, and products by equations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from keras import Sequential, layers
from keras.src.applications.convnext import LayerScale, StochasticDepth
from keras_rows import IMAGE, SEQUENCE, Row, row


def _block(x: Any) -> Any:
    """As ConvNeXt has it."""
    y = layers.DepthwiseConv2D(3, padding="same")(x)
    y = layers.Dense(3)(layers.Dense(12, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(y)))
    return layers.Add()([x, StochasticDepth(0.3)(LayerScale(1e-6, 3)(y))])


def _normalised(layer: Any) -> Any:
    return layers.SpectralNormalization(layer)


def _rows() -> Iterator[Row]:
    yield row("layer_scale", lambda: LayerScale(0.5, 4), SEQUENCE, hdf5=False)
    yield row("layer_scale_of_maps", lambda: Sequential([layers.Conv2D(5, 3), LayerScale(0.5, 5)]), IMAGE, hdf5=False)
    yield Row("convnext", (IMAGE,), _block, hdf5=False)
    for equation, axes, shape, x in (
        ("ab,bc->ac", "c", 5, (4,)),
        ("abc,cd->abd", "d", (None, 5), SEQUENCE),
        ("abc,cde->abde", "de", (None, 2, 5), SEQUENCE),
        ("abc,cd->abd", None, (None, 5), SEQUENCE),
        ("abc,bd->adc", "dc", (5, 4), SEQUENCE),
        ("...x,xy->...y", "y", 5, IMAGE),
        ("ab...,bc->ac...", "c", 5, SEQUENCE),
    ):
        name = f"einsum_{equation}_{axes}".translate(str.maketrans({",": "_", "-": "", ">": "_", ".": "o"}))
        of = layers.EinsumDense(equation, output_shape=shape, bias_axes=axes, activation="tanh")
        yield row(name, of, x)
    yield row("spectral_dense", lambda: _normalised(layers.Dense(5, activation="relu")), (4,))
    yield row("spectral_convolution", lambda: _normalised(layers.Conv2D(5, 3, strides=2, padding="same")), IMAGE)


ROWS: Sequence[Row] = list(_rows())
