"""Models by an address in place of a file: https://host/net.onnx, hf://owner/name/net.onnx (extra `hub`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Phase = Callable[[str], None]

HUB = "hf://"
"""The beginning of addresses of files on Hugging Face's hub."""


def is_address(model: object) -> bool:
    return isinstance(model, str) and model.startswith(("https://", "http://", HUB))


def located(model: str | Path, phase: Phase = lambda _: None) -> Path:
    """The file of a model that is given by path or address, which is fetched. Raises InputError where that fails."""
    if isinstance(model, Path) or not is_address(model):
        return Path(model)
    from .download_model import download_model

    return download_model(model, phase)
