"""Compares a compiled model with onnxruntime on random inputs (extra `verify`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np

from ..errors import InputError
from ..program.program import TensorSpec

Array = np.ndarray

TOLERANCE = 1e-4
"""Largest error allowed, relative to max(1, largest magnitude of the reference)."""
FAST_MATH_TOLERANCE = 1e-3
"""The same where convolutions are computed by Winograd's algorithm."""
HALF_TOLERANCE = 2e-2
"""The same where weights are float16, and perhaps the values between kernels."""
CONDITION = 4
"""Errors up to this multiple of the reference's own sensitivity are allowed: on inputs unlike its training data, or
where it is quantised, a network may amplify any rounding beyond TOLERANCE."""


class Runnable(Protocol):
    """A NativeModel, a WasmModel or a DeviceModel."""

    backend: str

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]: ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """`error` is the largest over all outputs, relative to max(1, largest magnitude of that output's reference)."""

    backend: str
    error: float
    output: str
    tolerance: float

    @property
    def ok(self) -> bool:
        return self.error <= self.tolerance


class Reference:
    """The same model in onnxruntime, with the inputs of all backends.

    Its sensitivity is the change of its outputs with optimisations on and every float input replaced by the next larger
    one, or by the nearest float16.
    """

    def __init__(
        self, model: Path, inputs: tuple[TensorSpec, ...], tolerance: float = TOLERANCE, *, halves: bool = False
    ) -> None:
        """`tolerance` without sensitivity. Raises InputError where onnxruntime is missing or rejects the model."""
        try:
            import onnxruntime
        except ImportError:
            raise InputError("--verify needs onnxruntime: pip install webnn-compile[verify]") from None
        generator = np.random.default_rng(0)
        self.inputs = {s.name: random_input(s, generator) for s in inputs}
        nearby = {name: _half(a) if halves else _next(a) for name, a in self.inputs.items()}
        levels = onnxruntime.GraphOptimizationLevel
        runs = ((levels.ORT_DISABLE_ALL, self.inputs), (levels.ORT_ENABLE_ALL, nearby))
        try:
            exact, perturbed = (_run(onnxruntime, model, level, feeds) for level, feeds in runs)
        except Exception as error:  # onnxruntime's exceptions share no base class
            raise InputError(f"--verify: onnxruntime cannot run {model.name}: {error}") from None
        self.outputs = exact
        sensitivity = max(largest_error(perturbed[name], value) for name, value in exact.items())
        self._tolerance = min(max(tolerance, CONDITION * sensitivity), 1.0)

    def compare(self, model: Runnable) -> Comparison:
        """Runs `model` on the same inputs."""
        worst = Comparison(model.backend, 0.0, next(iter(self.outputs)), self._tolerance)
        for name, value in model.run(self.inputs).items():
            error = largest_error(value, self.outputs[name])
            if not error <= worst.error:
                worst = Comparison(model.backend, error, name, self._tolerance)
        return worst


def _run(onnxruntime: ModuleType, model: Path, level: object, inputs: Mapping[str, Array]) -> dict[str, Array]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return {name: np.asarray(v) for name, v in zip(names, session.run(names, dict(inputs)), strict=True)}


def _next(a: Array) -> Array:
    """The next larger floats; integers and bools as they are."""
    return np.nextafter(a, np.array(np.inf, a.dtype)) if a.dtype.kind == "f" else a


def _half(a: Array) -> Array:
    """The nearest float16s; integers and bools as they are."""
    return a.astype(np.float16).astype(a.dtype) if a.dtype.kind == "f" else a


def random_input(spec: TensorSpec, generator: np.random.Generator) -> Array:
    """Standard normal floats; integers and bools 0 or 1, which are valid as indices almost everywhere."""
    if spec.dtype.is_float:
        return generator.standard_normal(spec.extents).astype(spec.dtype.numpy)
    return generator.integers(0, 2, spec.extents).astype(spec.dtype.numpy)


def largest_error(value: Array, reference: Array) -> float:
    """Relative to max(1, largest magnitude); infinite where shapes, or places of NaN or infinity, differ."""
    if value.shape != reference.shape:
        return float("inf")
    a, b = value.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    return float(np.abs(a[finite] - b[finite]).max() / max(1.0, float(np.abs(b[finite]).max())))
