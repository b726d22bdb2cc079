"""A table of layers of Keras: each row is a model of one layer or few, on inputs of odd sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from keras import Input, Model, Sequential, layers, ops

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """`make` gives the results of a model from its inputs, of these shapes without the batch. `hdf5` is whether Keras
    can write the model as .h5, too."""

    id: str
    shapes: tuple[Shape, ...]
    make: Callable[..., Any]
    dtypes: tuple[str, ...] = ()
    tolerance: float = 2e-5
    high: int = 5
    hdf5: bool = True

    def model(self) -> Model:
        inputs = [
            Input(shape, name=f"in{i}", dtype=self.dtypes[i] if self.dtypes else "float32")
            for i, shape in enumerate(self.shapes)
        ]
        model = Model(inputs, self.make(*inputs))
        randomise(model)
        return model

    def feeds(self, batch: int = 3) -> list[np.ndarray]:
        rng = np.random.default_rng(len(self.id))
        dtypes = self.dtypes or ("float32",) * len(self.shapes)
        return [
            rng.integers(0, self.high, (batch, *shape)).astype(dtype)
            if dtype != "float32"
            else rng.uniform(-2, 2, (batch, *shape)).astype(dtype)
            for shape, dtype in zip(self.shapes, dtypes, strict=True)
        ]


def randomise(model: Any) -> None:
    """Statistics, biases and scales that are not those of a new model; variances are positive."""
    rng = np.random.default_rng(7)
    for v in model.weights:
        low, high = (0.4, 1.6) if "variance" in v.path or "gamma" in v.path else (-0.6, 0.6)
        if "count" not in v.path:
            v.assign(rng.uniform(low, high, v.shape).astype(v.dtype))
    for layer in model.layers:
        if isinstance(layer, layers.Normalization):
            layer.finalize_state()


def row(id: str, layer: Any, *shapes: Shape, **more: Any) -> Row:
    """A row of a layer on one input, or on a list of several."""

    def make(*x: Any) -> Any:
        fresh = layer() if callable(layer) and not isinstance(layer, layers.Layer) else layer
        return fresh(x[0] if len(x) == 1 else list(x))

    return Row(id, shapes, make, **more)


IMAGE, FIRST = (9, 7, 3), (3, 9, 7)
SEQUENCE, VOLUME = (7, 4), (5, 6, 4, 2)


def rows() -> Iterator[Row]:
    yield from _products()
    yield from _activations()
    yield from _images()
    yield from _normalisation()
    yield from _merging()
    yield from _movement()
    yield from _recurrent()
    yield from _masked()
    yield from _attention()


def _products() -> Iterator[Row]:
    yield row("dense", layers.Dense(5, activation="relu"), (4,))
    yield row("dense_no_bias", layers.Dense(5, use_bias=False), (4,))
    yield row("dense_of_steps", layers.Dense(5, activation="tanh"), SEQUENCE)
    yield row("dense_of_image", layers.Dense(5), IMAGE)
    for padding in ("valid", "same", "causal"):
        yield row(f"conv1d_{padding}", layers.Conv1D(5, 3, padding=padding, dilation_rate=2), SEQUENCE)
        yield row(f"conv1d_{padding}_strided", layers.Conv1D(5, 4, padding=padding, strides=2), SEQUENCE)
    for padding in ("valid", "same"):
        yield row(f"conv2d_{padding}", layers.Conv2D(5, (3, 2), padding=padding, strides=2), IMAGE)
        yield row(f"conv2d_{padding}_dilated", layers.Conv2D(5, 3, padding=padding, dilation_rate=(1, 2)), IMAGE)
        yield row(f"conv3d_{padding}", layers.Conv3D(3, (2, 3, 2), padding=padding, strides=(1, 2, 1)), VOLUME)
        yield row(f"depthwise_{padding}", layers.DepthwiseConv2D(3, padding=padding, depth_multiplier=2), IMAGE)
        yield row(f"separable_{padding}", layers.SeparableConv2D(5, 3, padding=padding, strides=2), IMAGE)
        for size, stride in ((3, 2), (2, 3), (4, 2), (3, 1)):
            of = layers.Conv2DTranspose(4, size, strides=stride, padding=padding, activation="relu")
            yield row(f"transposed_{padding}_{size}_{stride}", of, IMAGE)
        yield row(f"transposed_1d_{padding}", layers.Conv1DTranspose(4, 3, strides=2, padding=padding), SEQUENCE)
    yield row(
        "transposed_output_padding", layers.Conv2DTranspose(4, 3, strides=3, padding="same", output_padding=2), IMAGE
    )
    yield row("transposed_3d", layers.Conv3DTranspose(3, 3, strides=2, padding="same"), VOLUME)
    yield row("conv2d_groups", layers.Conv2D(6, 3, groups=3), IMAGE)
    yield row("conv2d_first", layers.Conv2D(5, 3, padding="same", data_format="channels_first"), FIRST)
    yield row("depthwise_1d", layers.DepthwiseConv1D(3, depth_multiplier=2), SEQUENCE)
    yield row("separable_1d", layers.SeparableConv1D(5, 3, depth_multiplier=2, padding="same"), SEQUENCE)
    yield row("separable_multiplied", layers.SeparableConv2D(5, 3, depth_multiplier=3, activation="relu6"), IMAGE)


ACTIVATIONS = (
    *("celu", "elu", "exponential", "gelu", "glu", "hard_shrink", "hard_sigmoid", "hard_silu", "hard_tanh"),
    *("leaky_relu", "linear", "log_sigmoid", "log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu"),
    *("soft_shrink", "softmax", "softplus", "softsign", "sparse_plus", "sparse_sigmoid", "squareplus", "swish"),
    *("tanh", "tanh_shrink"),
)


def _activations() -> Iterator[Row]:
    for name in ACTIVATIONS:
        yield row(f"activation_{name}", layers.Activation(name), (4, 6))
    yield row("relu", layers.ReLU(), IMAGE)
    yield row("relu6", layers.ReLU(6.0), IMAGE)
    yield row("relu_sloped", layers.ReLU(1.5, negative_slope=0.1, threshold=0.5), IMAGE)
    yield row("relu_threshold", layers.ReLU(threshold=0.7), IMAGE)
    yield row("relu_slope", layers.ReLU(1.0, negative_slope=0.3), IMAGE)
    yield row("leaky_relu", layers.LeakyReLU(), IMAGE)
    yield row("elu", layers.ELU(0.7), IMAGE)
    yield row("prelu", layers.PReLU(), IMAGE)
    yield row("prelu_shared", lambda: Sequential([layers.Conv2D(4, 2), layers.PReLU(shared_axes=[1, 2])]), IMAGE)
    yield row("softmax_axis", layers.Softmax(axis=1), IMAGE)
    yield row("softmax_axes", layers.Softmax(axis=(1, 2)), IMAGE)
    yield row("activation_of_layer", layers.Dense(4, activation=layers.LeakyReLU(0.4)), (4,))


def _images() -> Iterator[Row]:
    for n, shape in ((1, SEQUENCE), (2, IMAGE), (3, VOLUME)):
        for kind in ("Max", "Average"):
            of = getattr(layers, f"{kind}Pooling{n}D")
            yield row(f"{kind}_{n}", of(2), shape)
            yield row(f"{kind}_{n}_same", of(3, strides=2, padding="same"), shape)
            of = getattr(layers, f"Global{kind}Pooling{n}D")
            yield row(f"global_{kind}_{n}", of(), shape)
            yield row(f"global_{kind}_{n}_kept", of(keepdims=True), shape)
        yield row(f"padding_{n}", getattr(layers, f"ZeroPadding{n}D")(2), shape)
        yield row(f"cropping_{n}", getattr(layers, f"Cropping{n}D")(1), shape)
        yield row(f"up_sampling_{n}", getattr(layers, f"UpSampling{n}D")(3), shape)
    yield row("pooling_first", layers.AveragePooling2D(2, padding="same", data_format="channels_first"), FIRST)
    yield row("global_first", layers.GlobalMaxPooling2D(data_format="channels_first", keepdims=True), FIRST)
    yield row("padding_pairs", layers.ZeroPadding2D(((1, 2), (0, 3))), IMAGE)
    yield row("padding_1d_pair", layers.ZeroPadding1D((1, 3)), SEQUENCE)
    yield row("padding_first", layers.ZeroPadding2D((1, 2), data_format="channels_first"), FIRST)
    yield row("cropping_pairs", layers.Cropping2D(((1, 2), (0, 3))), IMAGE)
    yield row("up_sampling_bilinear", layers.UpSampling2D((2, 3), interpolation="bilinear"), IMAGE)
    yield row("up_sampling_bicubic", layers.UpSampling2D(2, interpolation="bicubic"), IMAGE)
    yield row("up_sampling_first", layers.UpSampling2D(2, data_format="channels_first"), FIRST)
    for kind in ("nearest", "bilinear", "bicubic"):
        yield row(f"resizing_{kind}", layers.Resizing(5, 11, interpolation=kind), IMAGE)
    yield row("rescaling", layers.Rescaling(1 / 127.5, -1.0), IMAGE)
    yield row("rescaling_bytes", layers.Rescaling(1 / 255), IMAGE, dtypes=("uint8",), high=256)
    yield row("rescaling_channels", layers.Rescaling([0.5, 1.0, 2.0], [1.0, 2.0, 3.0]), IMAGE)


def _normalisation() -> Iterator[Row]:
    conv = lambda *more: lambda: Sequential([layers.Conv2D(6, 3), *more])  # noqa: E731
    yield row("batch_norm", layers.BatchNormalization(), (4,))
    yield row("batch_norm_of_steps", layers.BatchNormalization(), SEQUENCE)
    yield row("batch_norm_of_image", layers.BatchNormalization(epsilon=0.01), IMAGE)
    yield row("batch_norm_axis", layers.BatchNormalization(axis=2), IMAGE)
    yield row("batch_norm_first", layers.BatchNormalization(axis=1, scale=False), FIRST)
    yield row("batch_norm_plain", layers.BatchNormalization(center=False, scale=False), IMAGE)
    yield row("batch_norm_of_conv", lambda: conv(layers.BatchNormalization(), layers.ReLU())(), IMAGE)
    yield row("layer_norm", layers.LayerNormalization(), SEQUENCE)
    yield row("layer_norm_axes", layers.LayerNormalization(axis=[1, 2]), SEQUENCE)
    yield row("layer_norm_axis", layers.LayerNormalization(axis=1), IMAGE)
    yield row("layer_norm_plain", layers.LayerNormalization(center=False, scale=False), SEQUENCE)
    yield row("rms_norm", layers.RMSNormalization(), SEQUENCE)
    yield row("group_norm", lambda: conv(layers.GroupNormalization(3))(), IMAGE)
    yield row("group_norm_vector", layers.GroupNormalization(2), (6,))
    yield row("group_norm_each", layers.GroupNormalization(-1), IMAGE)
    yield row("group_norm_first", layers.GroupNormalization(3, axis=1), FIRST)
    yield row("unit_norm", layers.UnitNormalization(), SEQUENCE)
    yield row("unit_norm_axes", layers.UnitNormalization(axis=[1, 2]), SEQUENCE)
    yield row("normalization", layers.Normalization(), IMAGE)
    yield row("normalization_axis", layers.Normalization(axis=1), SEQUENCE)
    yield row("normalization_given", layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 3.0]), IMAGE)
    yield row("normalization_of_all", layers.Normalization(axis=None, mean=0.4, variance=2.0), IMAGE)
    yield row("normalization_inverted", layers.Normalization(invert=True, mean=0.4, variance=2.0, axis=None), IMAGE)


def _merging() -> Iterator[Row]:
    for kind in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate"):
        yield row(kind.lower(), getattr(layers, kind)(), IMAGE, IMAGE)
    yield row("add_three", layers.Add(), SEQUENCE, SEQUENCE, SEQUENCE)
    yield row("multiply_ranks", layers.Multiply(), SEQUENCE, (4,))
    yield row("concatenate_axis", layers.Concatenate(axis=1), (3, 5), (4, 5))
    yield row("dot", layers.Dot(axes=1), (5,), (5,))
    yield row("dot_axes", layers.Dot(axes=(2, 1), normalize=True), (3, 5), (5, 4))
    yield row("dot_high", layers.Dot(axes=(3, 1)), (2, 3, 5), (5, 4))
    yield Row("operations", (IMAGE, IMAGE), lambda a, b: ops.divide(2 * a + b, 3 - b / 2) - a / (b * b + 1))
    yield Row("excitation", (IMAGE,), _excitation)
    yield Row("shared", ((4,), (4,)), _shared)
    yield Row("nested", (IMAGE,), _nested)


def _excitation(x: Any) -> Any:
    """Channels weighed by their means, as in EfficientNet."""
    x = layers.Conv2D(6, 3, padding="same")(x)
    y = layers.Reshape((1, 1, 6))(layers.GlobalAveragePooling2D()(x))
    y = layers.Conv2D(6, 1, activation="sigmoid")(layers.Conv2D(2, 1, activation="swish")(y))
    return layers.Conv2D(3, 1)(layers.Multiply()([x, y]))


def _shared(a: Any, b: Any) -> Any:
    dense = layers.Dense(4, activation="tanh")
    return [dense(dense(a)), layers.Subtract()([dense(a), dense(b)])]


def _nested(x: Any) -> Any:
    """Models in models, with layers of the same classes inside and outside, one of them called twice."""
    inner = Sequential([Input((9, 7, 3)), layers.Conv2D(3, 3, padding="same"), layers.BatchNormalization()])
    given = Input((9, 7, 3))
    middle = Model(given, layers.Add()([given, inner(layers.Conv2D(3, 1)(given))]))
    twice = middle(middle(x))
    return layers.BatchNormalization()(layers.Conv2D(2, 2)(twice))


IDENTITIES: Sequence[Callable[[], Any]] = (
    layers.ActivityRegularization,
    layers.Identity,
    lambda: layers.AlphaDropout(0.5),
    lambda: layers.Dropout(0.5),
    lambda: layers.GaussianDropout(0.5),
    lambda: layers.GaussianNoise(1),
    lambda: layers.SpatialDropout2D(0.5),
    lambda: layers.RandomBrightness(0.2),
    lambda: layers.RandomContrast(0.2),
    layers.RandomFlip,
    lambda: layers.RandomRotation(0.2),
    lambda: layers.RandomTranslation(0.2, 0.2),
    lambda: layers.RandomZoom(0.2),
)


def _movement() -> Iterator[Row]:
    yield row("flatten", layers.Flatten(), IMAGE)
    yield row("flatten_first", layers.Flatten(data_format="channels_first"), FIRST)
    yield row("reshape", layers.Reshape((7, -1)), IMAGE)
    yield row("permute", layers.Permute((3, 1, 2)), IMAGE)
    yield row("repeat_vector", layers.RepeatVector(3), (4,))
    yield row("embedding", layers.Embedding(5, 3), (7,), dtypes=("int32",))
    yield row("embedding_of_floats", layers.Embedding(5, 3), (7,), dtypes=("int64",))
    yield Row("masked_mean", ((7,),), _masked_mean, ("int32",))
    yield Row("not_in_training", (IMAGE,), lambda x: reduce(lambda y, f: f()(y), IDENTITIES, x), hdf5=False)
    yield row("spatial_dropouts", lambda: Sequential([layers.SpatialDropout1D(0.5)]), SEQUENCE)
    yield row("spatial_dropout_3d", lambda: Sequential([layers.SpatialDropout3D(0.5)]), VOLUME)
    yield Row("masked_steps", (SEQUENCE,), lambda x: layers.GlobalAveragePooling1D()(layers.Masking(0.5)(x)))
    yield row("time_distributed", layers.TimeDistributed(layers.Dense(5, activation="relu")), SEQUENCE)
    inner = lambda: Sequential([Input(IMAGE), layers.Conv2D(4, 3), layers.GlobalAveragePooling2D()])  # noqa: E731
    yield Row("time_distributed_model", ((4, *IMAGE),), lambda x: layers.LSTM(3)(layers.TimeDistributed(inner())(x)))


def _masked_mean(x: Any) -> Any:
    embedded = layers.Embedding(5, 3, mask_zero=True)(x)
    return layers.Dense(2)(layers.GlobalAveragePooling1D()(layers.Dropout(0.1)(embedded)))


def _recurrent() -> Iterator[Row]:
    for kind in ("LSTM", "GRU", "SimpleRNN"):
        of = getattr(layers, kind)
        yield row(kind.lower(), of(5), SEQUENCE)
        yield row(f"{kind.lower()}_every", of(5, return_sequences=True, use_bias=False), SEQUENCE)
        yield row(f"{kind.lower()}_backwards", of(5, return_sequences=True, go_backwards=True), SEQUENCE)
        yield row(f"{kind.lower()}_states", of(5, return_sequences=True, return_state=True), SEQUENCE)
        for mode in ("concat", "sum", "ave", "mul", None):
            both = layers.Bidirectional(of(5, return_sequences=mode != "sum"), merge_mode=mode)
            yield row(f"bidirectional_{kind.lower()}_{mode}", both, SEQUENCE)
    yield row("gru_before", layers.GRU(5, reset_after=False, return_sequences=True), SEQUENCE)
    yield row("lstm_functions", layers.LSTM(5, activation="softsign", recurrent_activation="hard_sigmoid"), SEQUENCE)
    yield row("rnn_relu", layers.SimpleRNN(5, activation="relu"), SEQUENCE)
    yield row("bidirectional_states", layers.Bidirectional(layers.LSTM(5, return_state=True)), SEQUENCE)
    cell = layers.LSTMCell(5, use_bias=False)
    yield row("cell", layers.RNN(layers.GRUCell(5), return_sequences=True, return_state=True), SEQUENCE)
    yield row("cell_both", layers.Bidirectional(layers.RNN(cell, return_sequences=True)), SEQUENCE)
    cells = lambda: [layers.LSTMCell(5), layers.SimpleRNNCell(3), layers.LSTMCell(2, use_bias=False)]  # noqa: E731
    yield row("cells", lambda: layers.RNN(cells(), return_sequences=True, return_state=True), SEQUENCE)
    yield row("cells_backwards", lambda: layers.RNN(cells(), go_backwards=True, return_sequences=True), SEQUENCE)
    yield Row("cells_from_states", (SEQUENCE, (5,), (3,)), _cells_from_states)
    images = {"padding": "same", "return_sequences": True}
    yield row("conv_lstm", layers.ConvLSTM2D(3, (3, 2), strides=2, return_state=True), (4, 7, 6, 2))
    yield row("conv_lstm_every", layers.ConvLSTM2D(3, 3, dilation_rate=2, go_backwards=True, **images), (4, 7, 6, 2))
    yield row("conv_lstm_first", layers.ConvLSTM2D(3, 3, data_format="channels_first", **images), (4, 2, 7, 6))
    yield row("conv_lstm_1d", layers.ConvLSTM1D(3, 3, use_bias=False, recurrent_activation="hard_sigmoid"), (4, 7, 2))
    yield row("conv_lstm_3d", layers.ConvLSTM3D(2, 2, **images), (3, 4, 3, 5, 2))
    yield Row("conv_lstm_of_states", ((4, 7, 6, 2), (4, 7, 6, 2)), _conv_lstm_of_states)
    yield Row("translation", (SEQUENCE, (5, 3)), _translation)


def _cells_from_states(x: Any, h: Any, state: Any) -> Any:
    return layers.RNN([layers.GRUCell(5), layers.SimpleRNNCell(3)])(x, initial_state=[h, state])


def _conv_lstm_of_states(a: Any, b: Any) -> Any:
    """Frames that follow others, as their predictor has them; a convolution follows."""
    _, *states = layers.ConvLSTM2D(3, 3, padding="same", return_state=True)(a)
    return layers.Conv2D(2, 3)(layers.ConvLSTM2D(3, 3, padding="same")(b, initial_state=states))


def _translation(a: Any, b: Any) -> Any:
    """An encoder whose states are a decoder's."""
    _, h, c = layers.LSTM(6, return_state=True)(a)
    return layers.Dense(4, activation="softmax")(layers.LSTM(6, return_sequences=True)(b, initial_state=[h, c]))


def _masked() -> Iterator[Row]:
    """Masks with steps in front, between and behind that do not count; of some sequences none counts."""
    for kind in ("LSTM", "GRU", "SimpleRNN"):
        of = getattr(layers, kind)
        name = kind.lower()
        yield masked(f"{name}_masked", of(5))
        yield masked(f"{name}_masked_every", of(5, return_sequences=True, return_state=True))
        yield masked(f"{name}_masked_backwards", of(5, return_sequences=True, return_state=True, go_backwards=True))
        yield masked(f"{name}_masked_bidirectional", layers.Bidirectional(of(5, return_sequences=True)))
    yield masked("masked_zeros", layers.LSTM(5, return_sequences=True, zero_output_for_mask=True))
    yield masked("masked_zero_last", layers.GRU(5, zero_output_for_mask=True))
    yield masked("masked_last_of_both", layers.Bidirectional(layers.GRU(5, return_state=True), merge_mode="sum"))
    cells = lambda: [layers.GRUCell(5), layers.LSTMCell(3)]  # noqa: E731
    yield masked("masked_cells", layers.RNN(cells(), return_sequences=True, return_state=True))
    yield masked("masked_cells_backwards", layers.RNN(cells(), return_sequences=True, go_backwards=True))
    yield Row("conv_lstm_masked", ((4, 7, 6, 2), (4,)), _conv_lstm_masked, ("float32", "int32"), high=2)
    unrolled = {"return_sequences": True, "unroll": True}
    yield masked("masked_unrolled", layers.LSTM(5, zero_output_for_mask=True, **unrolled))
    yield masked("masked_unrolled_both", layers.Bidirectional(layers.GRU(5, **unrolled)))
    yield Row("masked_translation", ((7,), (6,)), _masked_translation, ("int32", "int32"), high=3)
    yield Row("masked_stack", (SEQUENCE,), _masked_stack)
    yield Row("masked_sum", ((7,), (7,)), _masked_sum, ("int32", "int32"), high=3, hdf5=False)
    yield Row("masked_concatenation", ((7,), (7,)), _masked_concatenation, ("int32", "int32"), high=3)
    yield Row("masked_heads", ((7,), (6,)), _masked_heads, ("int32", "int32"), high=3)
    yield Row("masked_scores", ((7,), (7,)), _masked_scores, ("int32", "int32"), high=3)
    yield Row("masked_transformer", ((7,),), _masked_transformer, ("int32",), high=3)
    yield Row("masked_attention", ((7,), (6,)), _masked_attention, ("int32", "int32"), high=3)
    yield Row("attention_of_masks", ((7,), (6,)), _attention_of_masks, ("int32", "int32"), high=3)


def masked(id: str, layer: Any) -> Row:
    """A row of a layer on words, of which some are masked."""
    return Row(id, ((7,),), lambda x: layer(_words(x)), ("int32",), high=3)


def _masked_translation(a: Any, b: Any) -> Any:
    """A decoder whose first words are masked has the encoder's states there; only a mask that is given counts."""
    _, *states = layers.LSTM(6, return_state=True)(_words(a))
    words = _words(b)
    mask = ops.not_equal(b, 1)
    given = layers.LSTM(6, return_sequences=True, go_backwards=True)(words, initial_state=states, mask=mask)
    unmasked = layers.LSTM(6, return_sequences=True)(words, initial_state=states)
    unrolled = layers.LSTM(6, return_sequences=True, unroll=True)(words, initial_state=states, mask=mask)
    whole = layers.LSTM(6, return_sequences=True)(words, initial_state=states, mask=mask)
    return [whole, given, unmasked, unrolled]


def _masked_stack(x: Any) -> Any:
    """Layers behind each other have the mask of the first."""
    y = layers.LSTM(5, return_sequences=True)(layers.Masking(0.5)(x))
    y = layers.Bidirectional(layers.GRU(4, return_sequences=True))(layers.Dense(3)(y))
    return layers.SimpleRNN(3)(y)


def _conv_lstm_masked(x: Any, steps: Any) -> Any:
    """Unrolled, since Keras's NumPy backend does not take the mask otherwise."""
    mask = ops.not_equal(steps, 0)
    backwards = layers.ConvLSTM2D(3, 3, return_sequences=True, go_backwards=True, unroll=True)(x, mask=mask)
    return [layers.ConvLSTM2D(3, 3, unroll=True)(x, mask=mask), backwards]


def _words(x: Any, size: int = 4) -> Any:
    return layers.Embedding(3, size, mask_zero=True)(x)


def _masked_sum(a: Any, b: Any) -> Any:
    return layers.LSTM(5, return_sequences=True)(layers.Add()([_words(a), _words(b)]))


def _masked_concatenation(a: Any, b: Any) -> Any:
    """Features of words beside each other, sentences behind each other, and features without a mask."""
    beside = layers.Concatenate()([_words(a), _words(b, 2)])
    behind = layers.Concatenate(axis=1)([_words(a), _words(b)])
    partly = layers.Concatenate()([_words(a), layers.Embedding(3, 2)(b)])
    heads = layers.MultiHeadAttention(2, 3)(beside, behind)
    return [layers.LSTM(3)(x) for x in (beside, behind, partly)] + [heads]


def _masked_heads(a: Any, b: Any) -> Any:
    """A decoder's words over an encoder's, whose mask is theirs; then a layer that goes by the result's mask."""
    values, key = _words(b), layers.Dropout(0.1)(_words(b, 3))
    y = layers.MultiHeadAttention(2, 3)(_words(a), values, key)
    return [y, layers.GlobalAveragePooling1D()(y)]


def _masked_scores(a: Any, b: Any) -> Any:
    """Queries all of whose keys are masked, where Keras computes scores one by one."""
    y, scores = layers.MultiHeadAttention(2, 3)(_words(a), _words(b), return_attention_scores=True)
    return [y, scores, layers.MultiHeadAttention(2, 3, dropout=0.1)(_words(a), _words(b), use_causal_mask=True)]


def _masked_transformer(x: Any) -> Any:
    """Attention takes the mask from its operand, so that the sum has none."""
    words = _words(x)
    y = layers.Add()([words, layers.MultiHeadAttention(2, 3)(words, words, use_causal_mask=True)])
    y = layers.LayerNormalization()(y)
    return layers.GlobalAveragePooling1D()(layers.Add()([y, layers.MultiHeadAttention(2, 3)(y, y)]))


def _masked_attention(a: Any, b: Any) -> Any:
    """Attention goes by the masks of both, and its result has the queries'."""
    query, value = _words(a), _words(b)
    y, scores = layers.Attention()([query, value], return_attention_scores=True)
    return [y, scores, layers.LSTM(3)(y), layers.Attention()([query, query], use_causal_mask=True)]


def _attention_of_masks(a: Any, b: Any) -> Any:
    query, value = layers.Embedding(3, 4)(a), layers.Embedding(3, 4)(b)
    return layers.Attention()([query, value], mask=[ops.not_equal(a, 1), ops.not_equal(b, 2)])


def _attention() -> Iterator[Row]:
    yield Row("attention", ((5, 4), (6, 4)), lambda q, v: layers.Attention(use_scale=True)([q, v]))
    yield Row("heads", (SEQUENCE, (5, 3)), lambda q, v: layers.MultiHeadAttention(2, 3, value_dim=5)(q, v))
    of = lambda: layers.MultiHeadAttention(2, 3, use_bias=False)  # noqa: E731
    yield Row("heads_causal", (SEQUENCE,), lambda x: of()(x, x, use_causal_mask=True))
    yield Row("heads_masked", ((5, 4), (5, 5)), lambda x, m: of()(x, x, attention_mask=m), ("float32", "bool"), high=2)


ROWS: Sequence[Row] = list(rows())
