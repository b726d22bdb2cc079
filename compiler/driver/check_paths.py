"""Checks of what a build writes against what it reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..bundle import BUNDLE, FolderKind, check_free
from ..system.put_files import check_distinct
from .options import Options


def check_paths(models: Sequence[tuple[Path, Options]], out: Path, kind: FolderKind = BUNDLE) -> None:
    """Raises InputError where a build of these models cannot write a folder of this kind to `out`, or a file that an
    option names would lie in that, or replace another option's or one that is read."""
    from ..frontends.onnx.read_model import external_files

    outputs = [output for _, options in models for output in options.outputs]
    read = [path for model, options in models for path in (model, *options.read, *options.records)]
    if any(path.exists() for _, path in outputs):  # else none of them is read
        read += [path for model in dict.fromkeys(model for model, _ in models) for path in external_files(model)]
    check_distinct(outputs, read)
    check_free(out, kind, force=models[0][1].force, others=outputs)
