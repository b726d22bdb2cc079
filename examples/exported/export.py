"""Writes the networks of `networks.py` beside this file as ONNX, by both exporters of PyTorch, with sizes that vary.

pip install -r examples/exported/requirements-export.txt
python examples/exported/export.py
"""

from dataclasses import dataclass
from pathlib import Path

import networks
import onnx
import torch
from networks import HEADS, WIDTH
from torch import Tensor, nn

FOLDER = Path(__file__).resolve().parent
SEED = 16


@dataclass
class Export:
    """A network, arguments to trace it with, the names of their sizes that vary, by axis, and those of its outputs.

    Tracing by `torchscript` makes the length that nn.MultiheadAttention sees a constant.
    """

    network: nn.Module
    arguments: dict[str, Tensor]
    sizes: dict[str, dict[int, str]]
    outputs: list[str]
    torchscript: bool = True


def networks_to_export() -> dict[str, Export]:
    features = torch.randn(2, 5, 10)
    tokens, states = torch.randint(50, (2, 5)), torch.randn(2, 7, WIDTH)
    past = {f"past_{kind}{i}": torch.randn(2, HEADS, 3, WIDTH // HEADS) for i in (0, 1) for kind in ("key", "value")}
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    text, decoded = {0: "batch", 1: "length"}, {0: "batch", 1: "frames"}
    return {
        "lstm": Export(networks.Recurrent(nn.LSTM), {"features": features}, {"features": text}, ["y", "h", "c"]),
        "gru": Export(networks.Recurrent(nn.GRU), {"features": features}, {"features": text}, ["y", "h"]),
        "audio_encoder": Export(
            networks.AudioEncoder(), {"mel": torch.randn(2, 16, 11)}, {"mel": {0: "batch", 2: "frames"}}, ["states"]
        ),
        "decoder": Export(
            networks.Decoder(), {"tokens": tokens, "states": states}, {"tokens": text, "states": decoded}, ["logits"]
        ),
        "cached_decoder": Export(
            networks.CachedDecoder(),
            {"tokens": tokens, "states": states, **past},
            {"tokens": text, "states": decoded, **{key: {0: "batch", 2: "past"} for key in past}},
            ["logits", *(name.replace("past", "present") for name in past)],
        ),
        "text_encoder": Export(
            networks.TextEncoder(),
            {"tokens": tokens, "mask": mask},
            {"tokens": text, "mask": text},
            ["sentence"],
        ),
        "transformer": Export(
            networks.Transformer(),
            {"x": torch.randn(2, 5, WIDTH), "mask": mask},
            {"x": text, "mask": text},
            ["y"],
            torchscript=False,
        ),
    }


def export(name: str, exported: Export, dynamo: bool) -> None:
    path = FOLDER / f"{name}_{'dynamo' if dynamo else 'torchscript'}.onnx"
    arguments = tuple(exported.arguments.values())
    names = {"input_names": [*exported.arguments], "output_names": exported.outputs}
    network = exported.network.eval()
    if dynamo:
        sizes = tuple({axis: torch.export.Dim(size) for axis, size in axes.items()} for axes in exported.sizes.values())
        torch.onnx.export(network, arguments, path, dynamo=True, external_data=False, dynamic_shapes=sizes, **names)
    else:
        torch.onnx.export(
            network, arguments, path, dynamo=False, opset_version=17, dynamic_axes=exported.sizes, **names
        )
    model = onnx.load(path)
    # Stack traces, with the paths of this machine.
    for node in model.graph.node:
        del node.metadata_props[:]
        node.ClearField("doc_string")
    onnx.save(model, path)
    onnx.checker.check_model(path, full_check=True)
    print(f"{path.name}: {path.stat().st_size // 1024} KB, {len(model.graph.node)} nodes")


def main() -> None:
    torch.manual_seed(SEED)
    for name, exported in networks_to_export().items():
        for dynamo in (False, True)[not exported.torchscript :]:
            export(name, exported, dynamo)


if __name__ == "__main__":
    main()
