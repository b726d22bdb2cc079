"""Formats of pictures: how pixels become the elements of an input. One table has those of common families of models."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import InputError
from ..formats.formats import Formats
from ..ops.sampling.picture import RESIZES

CHOICES: Mapping[str, tuple[str, ...]] = {"resize": tuple(RESIZES), "colours": ("rgb", "bgr", "grey")}
"""Values of fields that have a few."""

MOST = 2048
"""Rows and columns of a picture, at most, unless a format says more: larger ones are reduced before."""

LARGEST = 2**13


@dataclass(frozen=True, slots=True)
class PictureFormat:
    """An element is (pixel * scale - mean) / std, for each of `colours`.

    `resize`: "stretch"; "crop", the middle of a picture, of which the shorter side keeps the share `kept`; "letterbox",
    all of it in the middle, or "letterbox-top-left", with `fill`, red, green and blue, around. `width` and
    `height`, where a format has them, must be the input's: one that was written for another model is refused. `most`
    are the rows, and columns, of a picture.
    """

    resize: str = "stretch"
    kept: float = 1.0
    fill: tuple[int, int, int] = (114, 114, 114)
    colours: str = "rgb"
    scale: float = 1 / 255
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    width: int | None = None
    height: int | None = None
    most: int = MOST

    def check(self, where: str) -> None:
        """Raises InputError, which names `where` the format is from."""
        channels = 1 if self.colours == "grey" else 3
        problems = {
            "resize": _one_of("resize", self.resize),
            "kept": (0.1 <= self.kept <= 1, "a share from 0.1 to 1"),
            "fill": (len(self.fill) == 3 and all(0 <= v <= 255 for v in self.fill), "three numbers from 0 to 255"),
            "colours": _one_of("colours", self.colours),
            "scale": (math.isfinite(self.scale) and self.scale > 0, "a number above 0"),
            "mean": (len(self.mean) in (1, channels) and all(map(math.isfinite, self.mean)), _numbers(channels)),
            "std": (
                len(self.std) in (1, channels) and all(math.isfinite(v) and v > 0 for v in self.std),
                f"{_numbers(channels)}, above 0",
            ),
            "width": (self.width is None or 1 <= self.width <= LARGEST, f"a number from 1 to {LARGEST}"),
            "height": (self.height is None or 1 <= self.height <= LARGEST, f"a number from 1 to {LARGEST}"),
            "most": (1 <= self.most <= LARGEST, f"a number from 1 to {LARGEST}"),
        }
        for name, (valid, expected) in problems.items():
            if not valid:
                raise InputError(f"{where}: {name} is {json.dumps(getattr(self, name))}; give {expected}")


def _one_of(name: str, value: str) -> tuple[bool, str]:
    return value in CHOICES[name], f"one of {', '.join(CHOICES[name])}"


def _numbers(channels: int) -> str:
    return "one number" if channels == 1 else "one number, or three, in the order of colours"


FORMATS: Mapping[str, PictureFormat] = {
    "imagenet": PictureFormat("crop", kept=0.875, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)),
    "inception": PictureFormat("crop", kept=0.875, scale=1 / 127.5, mean=(1.0,)),
    "unit": PictureFormat(),
    "bytes": PictureFormat(scale=1.0),
    "yolox": PictureFormat("letterbox-top-left", colours="bgr", scale=1.0),
    "yolov8": PictureFormat("letterbox"),
    "ultraface": PictureFormat(scale=1 / 128, mean=(127 / 128,)),
}
"""Families of models by name: classifiers as PyTorch trains them on ImageNet, and as TensorFlow does; elements from 0
to 1, and from 0 to 255; detectors."""


FormatLike = str | Mapping[str, object] | PictureFormat
"""A format, its name or the path of its file, or an object of JSON."""

PICTURES = Formats("pictures", FORMATS, "unit", CHOICES)
