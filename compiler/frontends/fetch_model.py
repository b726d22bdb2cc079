"""Models by an address in place of a file: https://host/net.onnx, hf://owner/name/net.onnx (extra `hub`)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ..errors import InputError

Phase = Callable[[str], None]

HUB = "hf://"
"""The beginning of addresses of files on Hugging Face's hub."""


def is_address(model: object) -> bool:
    return isinstance(model, str) and model.startswith(("https://", "http://", HUB))


def not_fetched(model: object) -> str:
    """Why an address of another kind is not fetched; empty for what is no such address."""
    if not isinstance(model, str) or is_address(model) or not re.match(r"[a-zA-Z][\w+.-]+://", model):
        return ""
    return f"{model}: addresses of models begin with https://, http:// or {HUB}; download it, and give the file's path"


def located(model: str | Path, phase: Phase = lambda _: None) -> Path:
    """The file of a model that is given by path or address, which is fetched. Raises InputError where that fails."""
    if isinstance(model, Path) or not is_address(model):
        if reason := not_fetched(model):
            raise InputError(reason)
        return Path(model)
    from .download_model import download_model

    return download_model(model, phase)
