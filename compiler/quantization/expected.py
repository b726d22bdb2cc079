"""Classes that calibration data show, and how much of that a model recognises."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..graph.ir import Array
from .samples import Sample

Expected = Mapping[str, tuple[int, ...]]
"""By file the classes that are right."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """So many `of` labelled samples whose largest result is a class that is right."""

    right: int
    of: int

    @property
    def percent(self) -> float:
        return 100 * self.right / self.of


def read_expected(file: Path, samples: Sequence[Sample]) -> Expected:
    """{"accepted": {"cat.jpg": [281, 282], ...}}, or that mapping alone; classes are counted from 0, and one needs no
    list. Raises InputError for another file, and for one that has no label of a sample."""
    form = 'give {"accepted": {"FILE": [CLASS, ...], ...}}, with classes counted from 0'
    try:
        data = json.loads(file.read_text())
    except OSError as error:
        raise InputError(f"--expected {file}: it cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"--expected {file}: it is no JSON ({error}); {form}") from None
    entries = data.get("accepted", data) if isinstance(data, dict) else None
    if not isinstance(entries, dict):
        raise InputError(f"--expected {file}: {form}")
    accepted = {}
    for name, classes in entries.items():
        listed = classes if isinstance(classes, list) else [classes]
        if not listed or not all(type(c) is int and c >= 0 for c in listed):
            raise InputError(f"--expected {file}: the classes of {name!r} are {classes!r}; {form}")
        accepted[name] = tuple(listed)
    files = {f for s in samples for f in s.files}
    if not files & accepted.keys():
        raise InputError(
            f"--expected {file}: it labels none of the calibration files; those are {', '.join(sorted(files)[:5])}"
        )
    return {name: classes for name, classes in accepted.items() if name in files}


def measure_accuracy(results: Iterable[tuple[Sample, Array]], expected: Expected) -> Accuracy:
    """Top-1 of a model's first output, for each row of which the index of the largest element counts."""
    right = of = 0
    for sample, output in results:
        rows = output if output.ndim > 1 else output[None]
        for file, scores in zip(sample.files, rows, strict=False):
            if file in expected:
                of += 1
                right += int(scores.argmax()) in expected[file]
    return Accuracy(right, of)
