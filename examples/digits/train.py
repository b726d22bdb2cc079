"""Trains the example model and writes it, its accuracy and its sample images beside this file.

pip install -r examples/digits/requirements-train.txt
python examples/digits/train.py
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from digits import SPLIT, Images, Labels, load_split, preprocess
from resnet18 import resnet18
from torch import Tensor, nn
from torch.nn import functional as F

FOLDER = Path(__file__).resolve().parent
MODEL = FOLDER / "resnet18_digits.onnx"
WIDTHS = (12, 24, 48, 96)
SEED = 7
SAMPLES_PER_DIGIT = 2


def augment(images: Tensor, generator: torch.Generator) -> Tensor:
    """N x 8 x 8 in 0..1 -> the same digits turned, slanted, moved, stretched, and drawn with a finer or a broader pen.

    The pen is a threshold: interpolation has made ramps of the strokes' edges, and a lower cut leaves more ink.
    """
    count = len(images)

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, generator=generator)

    turn, slant = uniform(-0.2, 0.2), uniform(-0.25, 0.25)
    narrow = torch.where(uniform(0, 1) < 0.25, uniform(0.45, 1.0), uniform(0.85, 1.1))
    low = uniform(0.85, 1.05)
    rotation = torch.stack([torch.stack([turn.cos(), -turn.sin()], 1), torch.stack([turn.sin(), turn.cos()], 1)], 1)
    shear = torch.eye(2).repeat(count, 1, 1)
    shear[:, 0, 1] = slant
    linear = rotation @ shear / torch.stack([narrow, low], 1)[:, None, :]
    shift = torch.stack([uniform(-0.12, 0.12), uniform(-0.1, 0.1)], 1)
    grid = F.affine_grid(torch.cat([linear, shift[:, :, None]], 2), [count, 1, 32, 32], align_corners=False)
    enlarged = F.interpolate(images[:, None], size=32, mode="bilinear", align_corners=False)
    moved = F.grid_sample(enlarged, grid, align_corners=False)
    cut = uniform(0.3, 0.6)[:, None, None, None]
    inked = ((moved - cut) * 3 + 0.5).clamp(0, 1)
    return F.avg_pool2d(inked, 4)[:, 0]


def batch_of(images: Tensor, generator: torch.Generator) -> Tensor:
    """The model's input: three in four images augmented, all counted in sixteenths and enlarged like `preprocess`."""
    keep = (torch.rand(len(images), generator=generator) < 0.25)[:, None, None]
    cells = torch.where(keep, images, augment(images, generator))
    return F.interpolate((cells * 16).round()[:, None] / 16, size=32, mode="bilinear", align_corners=False)


def train(images: Images, labels: Labels, epochs: int) -> nn.Module:
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    model = resnet18(WIDTHS, classes=10)
    x, y = torch.from_numpy(images) / 16, torch.from_numpy(labels)
    batch, steps = 64, math.ceil(len(x) / 64)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.02)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=epochs * steps, pct_start=0.2)
    began = time.perf_counter()
    for epoch in range(epochs):
        total = 0.0
        for chosen in torch.randperm(len(x), generator=generator).split(batch):
            loss = F.cross_entropy(model(batch_of(x[chosen], generator)), y[chosen], label_smoothing=0.05)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            rate.step()
            total += loss.item() * len(chosen)
        print(f"epoch {epoch + 1}/{epochs}  loss {total / len(x):.4f}  {time.perf_counter() - began:.0f} s", flush=True)
    return model.eval()


def export(model: nn.Module) -> None:
    """Writes the ONNX file; TrainingMode.PRESERVE keeps BatchNormalization from being folded into the convolutions."""
    torch.onnx.export(
        model,
        (torch.zeros(1, 1, 32, 32),),
        str(MODEL),
        dynamo=False,
        opset_version=17,
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=False,
        input_names=["image"],
        output_names=["logits"],
    )
    onnx.checker.check_model(str(MODEL), full_check=True)


def measure(inputs: Images, labels: Labels) -> float:
    """The share of held-out images that onnxruntime, running the exported file, labels rightly."""
    session = onnxruntime.InferenceSession(str(MODEL), providers=["CPUExecutionProvider"])
    logits = [session.run(["logits"], {"image": image[None]})[0] for image in inputs]
    return float(np.mean(np.concatenate(logits).argmax(1) == labels))


def write_samples(inputs: Images, labels: Labels) -> None:
    """The first held-out images of each digit, as whole numbers 0..255 row by row: the model's input is pixel / 255."""
    places = [np.flatnonzero(labels == digit) for digit in range(10)]
    chosen = [int(place[turn]) for turn in range(SAMPLES_PER_DIGIT) for place in places]
    samples = [
        {"label": int(labels[i]), "pixels": np.round(inputs[i] * 255).astype(int).ravel().tolist()} for i in chosen
    ]
    text = json.dumps({"input": "image", "shape": [1, 1, 32, 32], "samples": samples}, separators=(",", ":"))
    (FOLDER / "samples.json").write_text(text.replace('{"label"', '\n{"label"') + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=40)
    epochs = parser.parse_args().epochs
    torch.set_num_threads(1)
    train_x, train_y, test_x, test_y = load_split()
    export(train(train_x, train_y, epochs))
    inputs = preprocess(test_x)
    accuracy = measure(inputs, test_y)
    record = {
        "data": "sklearn.datasets.load_digits",
        "split": SPLIT,
        "train_images": len(train_x),
        "test_images": len(test_x),
        "test_accuracy": round(accuracy, 4),
        "epochs": epochs,
        "seed": SEED,
    }
    (FOLDER / "accuracy.json").write_text(json.dumps(record, indent=2) + "\n")
    write_samples(inputs, test_y)
    print(f"{MODEL.name}: {MODEL.stat().st_size / 1e6:.2f} MB, {accuracy:.2%} of {len(test_x)} held-out images")


if __name__ == "__main__":
    main()
