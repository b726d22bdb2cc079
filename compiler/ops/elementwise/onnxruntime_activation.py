"""Activations that onnxruntime has in opsets before ONNX's own: the importer moves them to the domain of operators of
its own."""

from __future__ import annotations

from .activation import OPERATORS as ACTIVATIONS

OPERATORS = {"ThresholdedRelu": ACTIVATIONS["ThresholdedRelu"]}
