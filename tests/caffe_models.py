"""Caffe models of a few layers: the text of a network, and a file of weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from webnn_compile.frontends.caffe.schema import Net

Array = np.ndarray
Weights = Mapping[str, Sequence[Array]]


def weights_file(weights: Weights, network: Any = None, *, old: bool = False) -> bytes:
    """A .caffemodel of blobs by layer. With `network`, a Net, its layers are in it, too; `old` blobs have four
    dimensions, and their layers are of version 1."""
    net = Net(name="net")
    if network is not None:
        net.CopyFrom(network)
    layers = {layer.name: layer for layer in (*net.layer, *net.layers)}
    for name, blobs in weights.items():
        layer = layers[name] if name in layers else (net.layers if old else net.layer).add(name=name)
        for data in blobs:
            blob = layer.blobs.add(data=np.ascontiguousarray(data, "<f4").tobytes())
            if old:
                shape = (1,) * (4 - data.ndim) + data.shape
                blob.num, blob.channels, blob.height, blob.width = shape
            else:
                blob.shape.dim.extend(data.shape)
    return bytes(net.SerializeToString())


def write_model(folder: Path, text: str, weights: Weights, *, old: bool = False) -> Path:
    """The network at net.prototxt, and its weights beside it where there are any."""
    path = folder / "net.prototxt"
    path.write_text(text)
    if weights:
        (folder / "net.caffemodel").write_bytes(weights_file(weights, old=old))
    return path
