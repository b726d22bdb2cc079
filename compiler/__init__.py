"""webnn-compile: compiles a trained neural network, ahead of time, into what a web browser runs."""

from __future__ import annotations

from .bundle import Packaging
from .compile_model import TARGETS, build_bundle, compile, quantize
from .driver.given_options import ModelOptions
from .driver.load_model import load
from .errors import InputError, InternalError, UnsupportedError, WebnnCompileError
from .execution.load_library import LoadedModel
from .frontends.model_inputs import Dim
from .program.states import StateFullError

__version__ = "0.1.0"

__all__ = [
    "TARGETS",
    "Dim",
    "InputError",
    "InternalError",
    "LoadedModel",
    "ModelOptions",
    "Packaging",
    "StateFullError",
    "UnsupportedError",
    "WebnnCompileError",
    "build_bundle",
    "compile",
    "load",
    "quantize",
]
