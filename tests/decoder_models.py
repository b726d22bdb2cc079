"""Decoders as exporters write them, from tests/decoders: without weights, which are filled in by their names."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from zlib import crc32

import numpy as np
import onnx
from decoder_reference import Array
from webnn_compile.frontends.model_inputs import DimLike

FOLDER = Path(__file__).resolve().parent / "decoders"

FRAMES = 12
"""Length of the results of an encoder."""

SPREAD = 0.2
"""Deviation of weights with which greedy decoding neither repeats itself soon nor has near ties."""


CAUSAL: dict[str, DimLike] = {"batch_size": 1, "sequence_length": (1, 16), "past_sequence_length": (0, 240)}
PREFILL: dict[str, DimLike] = {"batch_size": 1, "decoder_sequence_length": (1, 16), "encoder_sequence_length": (1, 64)}
MERGED: dict[str, DimLike] = {**PREFILL, "past_decoder_sequence_length": (0, 240)}
STEP = {name: d for name, d in MERGED.items() if name != "decoder_sequence_length"}
"""Sizes of decoders that attend to an encoder's result, too: of the first run, of both, of all others."""


@dataclass(frozen=True)
class Decoder:
    """A file of tests/decoders; `dims` are all sizes that it has to be given. With weights of `seed` no token of 200 is
    near a tie with another one, and they are not a few in turn."""

    file: str
    seed: int
    dims: Mapping[str, DimLike] = field(default_factory=lambda: CAUSAL)
    head: int = 16
    """Elements of a head, where the model leaves that open."""

    @property
    def model(self) -> onnx.ModelProto:
        """All in float32: by activations of 8 bits, which an `accuracy_level` of 4 allows, the noise of float32 decides
        tokens, where a number lies between two quanta."""
        model = load(self.file, self.seed)
        for attribute in (a for node in model.graph.node for a in node.attribute if a.name == "accuracy_level"):
            attribute.i = 1
        return model


CAUSAL_DECODERS = (
    Decoder("gpt2-optimum", 7),
    Decoder("gpt2-torchscript", 2),
    Decoder("gpt2-dynamo", 1),
    Decoder("gpt2-optimum-2024", 2),
    Decoder("llama-optimum", 6),
    Decoder("llama-torchscript", 3),
    Decoder("llama-dynamo", 3),
    Decoder("llama-optimum-2024", 2),
    Decoder("llama-genai-fp32", 3),
    Decoder("llama-genai-int4", 3),
    Decoder("qwen2-dynamo", 4),
    Decoder("qwen2-genai-int4", 2),
    Decoder("gemma-dynamo", 5),
    Decoder("gemma-genai-fp32", 2, head=32),
)
MERGED_DECODERS = (
    Decoder("whisper-optimum-decoder_model_merged", 3, MERGED),
    Decoder("t5-optimum-decoder_model_merged", 1, MERGED),
    Decoder("t5-optimum-decoder_model_merged-2024", 6, MERGED),
    Decoder(
        "whisper-optimum-decoder_model_merged-2024",
        5,
        {**MERGED, "encoder_sequence_length": 2 * FRAMES, "encoder_sequence_length_out": FRAMES},
    ),
)
STEPS = (
    Decoder("whisper-optimum-decoder_with_past_model", 2, MERGED),
    Decoder("t5-optimum-decoder_with_past_model", 0, MERGED),
    Decoder("t5-optimum-decoder_with_past_model-2024", 0, STEP),
)
"""Decoders of every run but the first."""

FIRST = (
    Decoder("whisper-optimum-decoder_model", 0, PREFILL),
    Decoder("t5-optimum-decoder_model", 0, PREFILL),
)
"""Decoders of the first run."""


def load(file: str, seed: int = 0) -> onnx.ModelProto:
    """The model of a file, with weights that are normally distributed."""
    model = onnx.load_from_string(gzip.decompress((FOLDER / f"{file}.onnx.gz").read_bytes()))
    for tensor in _weights(model.graph):
        generator = np.random.default_rng((seed, crc32(tensor.name.encode())))
        tensor.raw_data = _elements(tensor, generator).tobytes()
    return model


def _weights(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The initialisers without elements, those of branches too."""
    yield from (
        t for t in graph.initializer if not t.raw_data and not t.float_data and not t.int64_data and prod(t.dims)
    )
    for node in graph.node:
        for a in node.attribute:
            if a.HasField("g"):
                yield from _weights(a.g)


def _elements(tensor: onnx.TensorProto, generator: np.random.Generator) -> Array:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
    if dtype == np.uint8:  # of two weights of 4 bits
        return generator.integers(0, 256, tuple(tensor.dims), dtype)
    return generator.normal(0, SPREAD, tuple(tensor.dims)).astype(dtype)
