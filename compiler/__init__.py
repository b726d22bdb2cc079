"""webnn-compile: compiles a trained neural network, ahead of time, into what a web browser runs."""

from __future__ import annotations

from .compile_model import TARGETS, build_bundle, compile
from .errors import InputError, InternalError, UnsupportedError, WebnnCompileError
from .frontends.model_inputs import Dim
from .library.load import LoadedModel, load

__version__ = "0.1.0"

__all__ = [
    "TARGETS",
    "Dim",
    "InputError",
    "InternalError",
    "LoadedModel",
    "UnsupportedError",
    "WebnnCompileError",
    "build_bundle",
    "compile",
    "load",
]
