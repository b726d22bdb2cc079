"""Small models with the names of files, inputs and outputs that the documentation's commands have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from made_tokenizers import LETTERS, written
from made_tokenizers import encoder as sentence_encoder
from onnx import TensorProto
from onnx_models import model, node, random
from small_decoder import small_decoder


def classifier(
    image: str = "image", logits: str = "logits", shape: Sequence[int] = (1, 3, 224, 224)
) -> onnx.ModelProto:
    """The mean of each channel, with some of the others: class 0 where a picture is red."""
    nodes = [
        node("GlobalAveragePool", [image], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "w"], [logits]),
    ]
    weights = {"w": np.eye(shape[1], dtype=np.float32) + 0.125}
    return model(nodes, {image: shape}, [logits], weights)


def encoder(sizes: Sequence[str]) -> onnx.ModelProto:
    """Tokens with a mask into vectors of 384; the names of the sizes are those of batch and length."""
    nodes = [
        node("Gather", ["table", "input_ids"], ["g"]),
        node("Cast", ["attention_mask"], ["m"], to=TensorProto.FLOAT),
        node("Unsqueeze", ["m", "last"], ["u"]),
        node("Mul", ["g", "u"], ["hidden"]),
    ]
    inputs = {name: list(sizes) for name in ("input_ids", "attention_mask")}
    weights = {"table": random((16, 384)), "last": np.array([-1])}
    return model(nodes, inputs, ["hidden"], weights, dtype=TensorProto.INT64)


def decoder() -> onnx.ModelProto:
    """A product of tokens' vectors by weights that four bits can hold, behind what was before."""
    nodes = [node("MatMul", ["x", "w"], ["p"]), node("Concat", ["past", "p"], ["present"], axis=1)]
    inputs = {
        "x": ["batch_size", "sequence_length", 64],
        "past": ["batch_size", "past_sequence_length", 64],
    }
    return model(nodes, inputs, ["present"], {"w": random((64, 64))})


def product() -> onnx.ModelProto:
    """Two sizes that the length of the input `x` does not decide."""
    return model([node("Relu", ["x"], ["y"])], {"x": ["batch", "length", 64]}, ["y"])


def listener() -> onnx.ModelProto:
    """Spectra as Whisper has them, and the mean of each band."""
    nodes = [node("GlobalAveragePool", ["input_features"], ["last_hidden_state"])]
    return model(nodes, {"input_features": ["batch_size", 80, 3000]}, ["last_hidden_state"])


def speaker() -> onnx.ModelProto:
    """Logits of letters for parts of a sound."""
    nodes = [
        node("Unsqueeze", ["input_values", "axis"], ["u"]),
        node("Conv", ["u", "k"], ["c"], strides=[320]),
        node("Transpose", ["c"], ["logits"], perm=[0, 2, 1]),
    ]
    weights = {"axis": np.array([1]), "k": random((len(LETTERS), 1, 400))}
    return model(nodes, {"input_values": [1, "samples"]}, ["logits"], weights)


def write_models(folder: Path, sizes: Sequence[str] = ("batch", "length")) -> None:
    """All of them, and labels; `sizes` are those of encoder.onnx."""
    onnx.save(classifier(), folder / "model.onnx")
    for name in ("classifier.onnx", "resnet18.onnx"):
        onnx.save(classifier("input", "output"), folder / name)
    onnx.save(encoder(sizes), folder / "encoder.onnx")
    onnx.save(decoder(), folder / "decoder.onnx")
    onnx.save(small_decoder(words=600), folder / "writer.onnx")
    onnx.save(listener(), folder / "whisper_encoder.onnx")
    onnx.save(sentence_encoder(256, ("batch_size", "sequence_length"), 384), folder / "sentences.onnx")
    onnx.save(speaker(), folder / "speech.onnx")
    (folder / "tokenizer.json").write_text(written("bert"))
    (folder / "vocab.json").write_text(json.dumps(LETTERS))
    (folder / "labels.txt").write_text("red\ngreen\nblue\n")
