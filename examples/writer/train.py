"""Trains the example's decoder and writes it, and the losses that it reached, beside this file.

pip install -r examples/writer/requirements-train.txt
python examples/writer/train.py
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from network import CONTEXT, HEADS, LAYERS, SIZE, Decoder
from onnx import helper, numpy_helper
from text import CHARACTERS, digest, encode, load_text
from torch import Tensor, nn
from torch.nn import functional as F

FOLDER = Path(__file__).resolve().parent
MODEL = FOLDER / "writer.onnx"
SEED, BATCH, RATE = 5, 12, 4e-3


def train(text: Tensor, steps: int) -> Decoder:
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    model = Decoder(len(CHARACTERS))
    optimiser = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.1)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=RATE, total_steps=steps, pct_start=0.1)
    began, total = time.perf_counter(), 0.0
    for step in range(steps):
        starts = torch.randint(len(text) - CONTEXT, (BATCH, 1), generator=generator)
        rows = text[starts + torch.arange(CONTEXT + 1)]
        loss = F.cross_entropy(model(rows[:, :-1])[0].flatten(0, 1), rows[:, 1:].flatten())
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        rate.step()
        total += loss.item()
        if step % 100 == 99:
            print(f"step {step + 1}/{steps}  loss {total / 100:.4f}  {time.perf_counter() - began:.0f} s", flush=True)
            total = 0.0
    return model.eval()


def halve(model: Decoder) -> None:
    """Rounds all weights to numbers of float16."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(weight.half())


def measure(model: Decoder, text: Tensor) -> float:
    """The mean loss of a character, in nats, in pieces of CONTEXT characters."""
    rows = text[: (len(text) - 1) // CONTEXT * CONTEXT + 1]
    with torch.no_grad():
        logits = model(rows[:-1].view(-1, CONTEXT))[0]
    return float(F.cross_entropy(logits.flatten(0, 1), rows[1:]))


class WithCaches(nn.Module):
    """The decoder with its caches in a row, as exporters have them."""

    def __init__(self, model: Decoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        logits, present = self.model(ids, list(zip(past[::2], past[1::2], strict=True)))
        return logits, *(part for cache in present for part in cache)


def export(model: Decoder) -> None:
    """Writes the ONNX file: matrices are stored as float16, with a Cast, and the vocabulary is in its metadata."""
    roles = [f"{i}.{role}" for i in range(LAYERS) for role in ("key", "value")]
    past, present = ([f"{kind}.{role}" for role in roles] for kind in ("past_key_values", "present"))
    torch.onnx.export(
        WithCaches(model).eval(),
        (torch.zeros(1, 2, dtype=torch.int64), *(torch.zeros(1, HEADS, 3, SIZE) for _ in past)),
        str(MODEL),
        dynamo=False,
        opset_version=17,
        input_names=["input_ids", *past],
        output_names=["logits", *present],
        dynamic_axes={
            "input_ids": {1: "sequence_length"},
            **{name: {2: "past_sequence_length"} for name in past},
            **{name: {2: "total_sequence_length"} for name in present},
        },
    )
    made = onnx.load(MODEL)
    casts = []
    for weight in made.graph.initializer:
        values = numpy_helper.to_array(weight)
        if values.size >= 1000 and np.array_equal(values, values.astype(np.float16)):
            casts.append(helper.make_node("Cast", [f"{weight.name}.half"], [weight.name], to=onnx.TensorProto.FLOAT))
            weight.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{weight.name}.half"))
    nodes = [*casts, *made.graph.node]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    helper.set_model_props(made, {"characters": CHARACTERS})
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, MODEL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1200)
    steps = parser.parse_args().steps
    torch.set_num_threads(1)
    text, held_out = load_text()
    rows, others = (torch.tensor(encode(part)) for part in (text, held_out))
    model = train(rows, steps)
    halve(model)
    export(model)
    record = {
        "data": "pydoc_data.topics",
        "digest": digest(text + held_out),
        "characters_trained_on": len(text),
        "characters_held_out": len(held_out),
        "held_out_loss": round(measure(model, others), 4),
        "train_loss": round(measure(model, rows[: len(others)]), 4),
        "steps": steps,
        "seed": SEED,
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    (FOLDER / "losses.json").write_text(json.dumps(record, indent=2) + "\n")
    print(f"{MODEL.name}: {MODEL.stat().st_size / 1e6:.2f} MB, {record['held_out_loss']} nats a character held out")


if __name__ == "__main__":
    main()
