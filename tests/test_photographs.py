"""Photographs are what they show, on targets without a page: classified as onnxruntime does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from PIL import Image
from test_models import NETWORKS, SHARED, path_of

SIZE, CROP = 256, 224
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def preprocess(path: Path) -> np.ndarray:
    """As torchvision's: the shorter side to 256, the middle 224 x 224, normalised."""
    image = Image.open(path).convert("RGB")
    scale = SIZE / min(image.size)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BILINEAR)
    left, top = (image.width - CROP) // 2, (image.height - CROP) // 2
    pixels = np.asarray(image.crop((left, top, left + CROP, top + CROP)), np.float32) / 255
    return ((pixels - MEAN) / DEVIATION).astype(np.float32).transpose(2, 0, 1)[None]


@pytest.mark.skipif(not (SHARED / "photos").is_dir(), reason=f"there is no folder {SHARED / 'photos'}")
@pytest.mark.parametrize("target", ["native", "c", "opencl"])
def test_photographs(target: str) -> None:
    need_driver(target)
    (network,) = (n for n in NETWORKS if n.file == "resnet18_imagenet")
    model = webnn_compile.compile(path_of(network), target, shapes=network.shapes)
    assert model.backend == target
    expected = json.loads((SHARED / "photos" / "expected.json").read_text())["onnxruntime_top1"]
    assert len(expected) == 12
    for name, label in expected.items():
        (scores,) = model.run({"input": preprocess(SHARED / "photos" / name)}).values()
        assert int(scores.argmax()) == label, name
