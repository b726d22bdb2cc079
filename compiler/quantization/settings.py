"""Options of quantisation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..graph.ir import Array
from ..pictures.formats import FORMATS, PictureFormat
from ..sounds.formats import SoundFormat
from ..system.put_files import check_output

METHODS = ("minmax", "percentile", "entropy")
"""How the range of a value follows from its elements on calibration data."""

ACTIVATIONS = ("uint8", "int8")

WEIGHT_BITS = (8, 7)
"""Bits of weights in use: products of seven are faster where processors add pairs of them in 16 bits."""

WEIGHT_FORMATS = ("f16", "int8", "int4", "nf4")

BLOCK = 32
"""Weights of one scale where elements have four bits."""


@dataclass(frozen=True, slots=True)
class Static:
    """Weights and values between layers in eight bits, the latter as `activations`, of ACTIVATIONS, by ranges of
    `method`, of METHODS.

    Weights are int8, of `weight_bits` in use, and have a scale for each channel, or with `per_channel` off one for each
    layer. `equalize` and `correct_bias` are done where they reduce errors on the calibration data. Top-1 may be lower
    than in float32 by `accuracy_drop` percentage points at most; None is any drop.
    """

    method: str = "minmax"
    activations: str = "uint8"
    per_channel: bool = True
    weight_bits: int = 8
    equalize: bool = False
    correct_bias: bool = False
    accuracy_drop: float | None = None

    def check(self) -> None:
        """Raises InputError."""
        if self.method not in METHODS:
            raise InputError(f"--calibration-method {self.method}: choose one of {', '.join(METHODS)}")
        if self.activations not in ACTIVATIONS:
            raise InputError(f"--activation-type {self.activations}: choose one of {', '.join(ACTIVATIONS)}")
        if self.weight_bits not in WEIGHT_BITS:
            raise InputError(f"--weight-bits {self.weight_bits}: choose one of {', '.join(map(str, WEIGHT_BITS))}")
        if self.accuracy_drop is not None and not 0 <= self.accuracy_drop <= 100:
            raise InputError(f"--accuracy-drop {self.accuracy_drop:g}: give percentage points, from 0 to 100")


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """Weights as `kind`, of WEIGHT_FORMATS, with a scale for each `block` of them along the axis that is summed over;
    without a block for each channel."""

    kind: str
    block: int | None = None

    def __str__(self) -> str:
        return self.kind if self.block is None else f"{self.kind}:block={self.block}"


def parse_weights(text: str) -> WeightFormat:
    """Parses int4 or int4:block=32. Raises InputError."""
    match = re.fullmatch(r"(\w+)(?::block=(\d{1,9}))?", text, re.ASCII)
    kind, block = (match[1], match[2] and int(match[2])) if match else ("", None)
    if kind not in WEIGHT_FORMATS or block == 0 or (kind == "f16" and block):
        raise InputError(
            f"--weights {text}: choose one of {', '.join(WEIGHT_FORMATS)}; integers and nf4 take the length of blocks, "
            f"of at least 1, as in int4:block={BLOCK}"
        )
    return WeightFormat(kind, block or (BLOCK if kind in ("int4", "nf4") else None))


Calibration = Path | Sequence[Mapping[str, Array]]
"""A folder, or arrays by input for each run."""


@dataclass(frozen=True, slots=True)
class QuantizeOptions:
    """Nodes whose names match a pattern of `keep` stay in float32. Errors and ranges are measured on `calibration`, of
    which pictures are in the format `picture` and sounds in `sound`, and `expected` (a file) what they show. `save` is
    where the quantised model is written."""

    how: Static | WeightFormat
    calibration: Calibration | None = None
    keep: tuple[str, ...] = ()
    expected: Path | None = None
    picture: PictureFormat = FORMATS["imagenet"]
    sound: SoundFormat | None = None
    save: Path | None = None

    @property
    def runs(self) -> bool:
        """Whether the model has to run."""
        return isinstance(self.how, Static) or self.calibration is not None

    def check(self) -> None:
        """Raises InputError."""
        self.picture.check("--mean and --std")
        static = self.how if isinstance(self.how, Static) else None
        if static is not None:
            static.check()
            if self.calibration is None:
                raise InputError(
                    "--quantize int8 measures ranges on data: give --calibrate FOLDER (in Python calibration=)"
                )
        if static is not None and static.accuracy_drop is not None and self.expected is None:
            raise InputError("--accuracy-drop compares with what the calibration data show: give --expected FILE.json")
        if self.save is not None:
            check_output("--save-quantized", self.save)
