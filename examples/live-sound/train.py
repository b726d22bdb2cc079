"""Trains the example's model of sounds and writes it, and how well it hears, beside this file.

pip install -r examples/live-sound/requirements-train.txt
python examples/live-sound/train.py
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import onnx
import torch
from network import CONTEXT, WIDTH, Listener
from sounds import CHUNK, NAMES, RATE, make_clip
from torch import Tensor, nn
from torch.nn import functional as F

FOLDER = Path(__file__).resolve().parent
MODEL = FOLDER / "listener.onnx"
SEED, CHUNKS, BATCH = 3, 64, 16
CLIPS, HELD_OUT, HELD_OUT_SEED = 800, 60, 4


def make_clips(count: int, seed: int) -> tuple[Tensor, Tensor]:
    generator = np.random.default_rng(seed)
    clips = [make_clip(generator, CHUNKS) for _ in range(count)]
    samples, labels = (torch.from_numpy(np.stack(part)) for part in zip(*clips, strict=True))
    return samples, labels


def train(samples: Tensor, labels: Tensor, epochs: int) -> Listener:
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    model = Listener()
    weights = [p for p in model.parameters() if p.requires_grad]
    steps = epochs * (len(samples) // BATCH)
    optimiser = torch.optim.AdamW(weights, weight_decay=0.01)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=1e-2, total_steps=steps)
    began = time.perf_counter()
    for epoch in range(epochs):
        total = 0.0
        for chosen in torch.randperm(len(samples), generator=generator).split(BATCH):
            loss = F.binary_cross_entropy_with_logits(model.logits(samples[chosen]), labels[chosen])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimiser.step()
            rate.step()
            total += loss.item() * len(chosen)
        print(
            f"epoch {epoch + 1}/{epochs}  loss {total / len(samples):.4f}  {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    return model.eval()


def export(model: Listener) -> None:
    """Writes the ONNX file, whose metadata has the rate of the samples and the names of the sounds."""
    torch.onnx.export(
        model,
        (torch.zeros(1, CHUNK), torch.zeros(1, CONTEXT), torch.zeros(1, 1, WIDTH)),
        str(MODEL),
        dynamo=False,
        opset_version=17,
        input_names=["samples", "context", "hidden"],
        output_names=["probabilities", "context_next", "hidden_next"],
    )
    made = onnx.load(MODEL)
    onnx.helper.set_model_props(made, {"rate": str(RATE), "names": ",".join(NAMES)})
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, MODEL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    epochs = parser.parse_args().epochs
    torch.set_num_threads(1)
    model = train(*make_clips(CLIPS, SEED), epochs)
    export(model)
    samples, labels = make_clips(HELD_OUT, HELD_OUT_SEED)
    with torch.no_grad():
        right = ((model.logits(samples) > 0) == (labels > 0)).float().mean((0, 1))
    record = {
        "clips": CLIPS,
        "held_out": HELD_OUT,
        "held_out_seed": HELD_OUT_SEED,
        "chunks_of_a_clip": CHUNKS,
        "seed": SEED,
        "epochs": epochs,
        "right": {name: round(float(share), 4) for name, share in zip(NAMES, right, strict=True)},
    }
    (FOLDER / "accuracy.json").write_text(json.dumps(record, indent=2) + "\n")
    print(f"{MODEL.name}: {MODEL.stat().st_size / 1e3:.0f} kB, {record['right']}")


if __name__ == "__main__":
    main()
