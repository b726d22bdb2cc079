"""webnn-compile: compiles a trained neural network, ahead of time, into what a web browser runs."""

from __future__ import annotations

__version__ = "0.1.0"
