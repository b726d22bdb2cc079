"""Convolutions that Winograd's algorithm computes: odd sizes, paddings, what follows them, with tolerances."""

from __future__ import annotations

from dataclasses import dataclass

import onnx
from onnx_models import model, node, random
from webnn_compile.tensor.use_winograd import Choice
from webnn_compile.tensor.winograd_matrices import OutputTile

TOLERANCE = {(2, 2): 1e-5, (2, 3): 1e-4, (3, 4): 1e-4, (4, 2): 1e-4, (4, 4): 1e-4}
"""By the tile (squares, and tiles longer in either direction), relative to the largest result."""


@dataclass(frozen=True)
class Case:
    """Input (batch, channels, height, width) and filters of a convolution; `tail` is what follows it, `first` how many
    others come before, of as many filters as channels."""

    shape: tuple[int, int, int, int]
    filters: int
    pads: tuple[int, int, int, int] = (1, 1, 1, 1)
    tail: str = "bias relu"
    first: int = 0

    @property
    def proto(self) -> onnx.ModelProto:
        weights = {"w": random((self.filters, self.shape[1], 3, 3), 1) / 10, "b": random((self.filters,), 2)}
        nodes, x = [], "x"
        for i in range(self.first):
            weights[f"v{i}"] = random((self.shape[1], self.shape[1], 3, 3), 10 + i) / 10
            nodes.append(node("Conv", [x, f"v{i}"], [f"x{i}"], pads=self.pads, name=f"first{i}"))
            x = f"x{i}"
        nodes.append(
            node("Conv", [x, "w", *(["b"] if "bias" in self.tail else [])], ["c"], pads=self.pads, name="conv")
        )
        outputs = ["c"]
        if "relu" in self.tail:
            nodes.append(node("Relu", ["c"], ["r"], name="relu"))
            outputs = ["r"]
        if "residual" in self.tail:
            nodes += [node("Add", ["r", "x"], ["s"], name="add"), node("Relu", ["s"], ["y"], name="last")]
            outputs = ["y"]
        if "two" in self.tail:
            nodes += [node("Exp", ["r"], ["e"], name="exp"), node("Sigmoid", ["r"], ["g"], name="sigmoid")]
            outputs = ["e", "g"]
        if "again" in self.tail:
            weights["w2"] = random((self.filters, self.filters, 3, 3), 3) / 10
            nodes.append(node("Conv", ["r", "w2"], ["y"], pads=(1, 1, 1, 1), name="conv2"))
            outputs = ["y"]
        return model(nodes, {"x": self.shape}, outputs, weights)


CASES = (
    Case((1, 16, 12, 16), 16),
    Case((1, 16, 14, 14), 16, tail="bias relu residual"),
    Case((2, 12, 7, 7), 20, tail="bias relu again"),
    Case((1, 9, 11, 5), 7, tail="bias relu two"),
    Case((3, 5, 8, 9), 6, pads=(0, 0, 0, 0), tail=""),
    Case((1, 8, 6, 10), 24, pads=(0, 1, 2, 0), tail="relu"),
    Case((1, 33, 3, 3), 17),
    Case((1, 4, 2, 2), 4),
    Case((2, 8, 2, 13), 8, pads=(2, 2, 2, 2), tail="bias"),
)


def always(tile: OutputTile) -> Choice:
    return lambda t, conv, alike: [tile]
