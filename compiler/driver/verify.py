"""Compares a compiled model with onnxruntime on random inputs (extra `verify`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..custom.table import NO_OPERATORS, CustomOperators
from ..errors import InputError
from ..execution.sessions import StatefulModel
from ..frontends.onnx.number_labels import numbered_file
from ..frontends.onnx.perturb_weights import perturb_weights
from ..frontends.onnx.split_custom import SplitModel
from ..ir.nodes import Scalar
from ..pictures.prepare import prepare_words
from ..pictures.take_pictures import PictureInput
from ..program.dimensions import Dimension
from ..program.program import TensorSpec
from ..sounds.prepare import prepare_samples
from ..sounds.take_sounds import SoundInput
from ..tokenizers.take_text import TextInput
from ..values.draw_inputs import draw_inputs
from .draw_runs import NOTHING_KEPT, Kept, draw_runs
from .split_session import SplitSession

Array = np.ndarray

TOLERANCE = 1e-4
"""Largest error allowed, relative to max(1, largest magnitude of the reference)."""
FAST_MATH_TOLERANCE = 1e-3
"""Tolerance where convolutions are computed by Winograd's algorithm."""
HALF_TOLERANCE = 2e-2
"""Tolerance where weights are float16, and perhaps the values between kernels."""
CONDITION = 4
"""Errors up to this multiple of the reference's own sensitivity are allowed: on inputs unlike its training data, or
where it is quantised, a network may amplify any rounding beyond TOLERANCE."""


def tolerance_of(*, halves: bool, winograd: bool) -> float:
    """Tolerance of a model, or a part of one, where weights are float16 or where Winograd's algorithm is used."""
    return HALF_TOLERANCE if halves else FAST_MATH_TOLERANCE if winograd else TOLERANCE


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


@dataclass(frozen=True, slots=True)
class _Run:
    """Arrays of one run, by name. `states` are those that it finds, by the names of their inputs; None for those that
    the run before has left."""

    inputs: dict[str, Array]
    outputs: dict[str, Array]
    states: dict[str, Array] | None


class Reference:
    """A model in onnxruntime, with the inputs of all backends: the runs of `draw_runs`, through which onnxruntime is
    passed the states, and the inputs that a compiled model makes itself.

    Its sensitivity is the change of its outputs with optimisations on and every float input replaced by the next larger
    one, or by the nearest float16. Where a model quantises between layers, optimisations compute in int8, which on some
    processors saturates: there it is the change with larger weights. `by` says by custom operator what computes it.
    """

    def __init__(
        self,
        model: Path | bytes,
        inputs: Sequence[TensorSpec],
        tolerance: float = TOLERANCE,
        *,
        halves: bool = False,
        dimensions: Sequence[Dimension] = (),
        constants: Mapping[str, Array] | None = None,
        pictures: Sequence[PictureInput] = (),
        sounds: Sequence[SoundInput] = (),
        text: Sequence[TextInput] = (),
        custom: CustomOperators = NO_OPERATORS,
        kept: Kept = NOTHING_KEPT,
    ) -> None:
        """`tolerance` without sensitivity; `constants` are inputs of the model that the compiled one lacks, `pictures`
        and `sounds` those that take pixels and samples there, `text` says which take tokens, `kept` what outlives a
        run. Operators of `custom`, which onnxruntime lacks, are computed by their references, or else by their
        definitions. Raises InputError where onnxruntime is missing or rejects the model, and for pictures without
        Pillow."""
        try:
            import onnxruntime
        except ImportError:
            raise InputError("--verify needs the package onnxruntime: pip install 'webnn-compile[verify]'") from None
        levels = onnxruntime.GraphOptimizationLevel
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        generator = np.random.default_rng(0)
        self.runs: list[_Run] = []
        self.by: Mapping[str, str] = {}
        sensitivity = 0.0
        try:
            source = numbered_file(model)
            exact = _session(onnxruntime, options, source, levels.ORT_DISABLE_ALL, custom)
            moved = perturb_weights(source)
            other = (
                _session(onnxruntime, options, source, levels.ORT_ENABLE_ALL, custom)
                if moved is None
                else _session(onnxruntime, options, moved, levels.ORT_DISABLE_ALL, custom)
            )
            self.by = exact.references if isinstance(exact, SplitSession) else {}
            fixed = _fixed(exact, constants or {})

            def draw(scalars: Mapping[Scalar, int]) -> tuple[dict[str, Array], dict[str, Array]]:
                """The inputs of the compiled model, and what its source has in their place."""
                feeds = draw_inputs(inputs, dimensions, scalars, generator)
                feeds |= {p.value.name: _draw_words(feeds[p.value.name].shape, generator) for p in pictures}
                for one in text:
                    feeds |= one.draw(feeds[one.inputs["ids"].name].shape, generator)
                own = feeds | {p.value.name: prepare_words(feeds[p.value.name], p) for p in pictures}
                return feeds, own | {s.value.name: prepare_samples(feeds[s.value.name], s) for s in sounds}

            for runs in draw_runs(dimensions, kept, generator):
                begin: dict[str, Array] | None = runs.states
                states = near = runs.states
                for sizes in runs.sizes:
                    scalars = kept.sizes(dimensions, sizes, states)
                    if scalars is None:
                        break
                    feeds, own = draw(scalars)
                    nearby = {name: perturb(a, halves=halves) for name, a in (own | near).items()}
                    also = fixed | kept.inputs(scalars, states)
                    try:
                        outputs = kept.results(states, _run(exact, own | states | also))
                    except Exception:  # onnxruntime's exceptions share no base class
                        if not self.runs or not kept.pairs:
                            raise
                        break  # where the states are longer than the model has positions, say
                    perturbed = kept.results(near, _run(other, nearby | also))
                    sensitivity = max(sensitivity, *(largest_error(perturbed[n], a) for n, a in outputs.items()))
                    self.runs.append(_Run(feeds, outputs, begin))
                    begin, states, near = None, kept.left(outputs), kept.left(perturbed)
        except InputError:
            raise
        except Exception as error:  # onnxruntime's exceptions share no base class
            name = "the quantised model" if isinstance(model, bytes) else model.name
            raise InputError(f"--verify: onnxruntime cannot run {name}: {error}") from None
        self._tolerance = min(max(tolerance, CONDITION * sensitivity), 1.0)
        self._kept = kept

    @property
    def described(self) -> str:
        """The results, in words."""
        return "onnxruntime's" + (" and custom operators'" if self.by else "")

    def compare(self, model: Runnable) -> Comparison:
        """Runs `model` on the same inputs."""
        worst = Comparison(model.backend, 0.0, next(iter(self.runs[0].outputs)), self._tolerance)
        for run in self.runs:
            for name, value in self._results(model, run).items():
                error = largest_error(value, run.outputs[name])
                if not error <= worst.error:
                    worst = Comparison(model.backend, error, name, self._tolerance)
        return worst

    def _results(self, model: Runnable, run: _Run) -> dict[str, Array]:
        """The outputs of a run, and what it leaves, by the names of the source's outputs."""
        if not self._kept.pairs:
            return model.run(run.inputs)
        assert isinstance(model, StatefulModel)
        if run.states is not None:
            # States of float16 are float32 in a compiled model.
            dtypes = {s.name: s.dtype.numpy for s in model.kept.states}
            model.load_state({name: a.astype(dtypes[name]) for name, a in run.states.items()})
        results, left = model.run(run.inputs), model.save_state()
        return results | {s.after: left[s.before] for s in self._kept.pairs}


def _session(onnxruntime: Any, options: Any, model: Path | bytes, level: object, custom: CustomOperators) -> Any:
    def session(source: bytes | str) -> Any:
        options.graph_optimization_level = level
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])

    if custom:
        return SplitSession(SplitModel(model, custom), session)
    return session(model if isinstance(model, bytes) else str(model))


def _run(session: Any, inputs: dict[str, Array]) -> dict[str, Array]:
    """The outputs for `inputs`, both by the names of a compiled model, which has the tensors of sequences and optionals
    one by one (`frontends/onnx/list_inputs`)."""
    feeds = {port.name: _fed(port, inputs) for port in session.get_inputs()}
    names = [o.name for o in session.get_outputs()]
    results: dict[str, Array] = {}
    for name, value in zip(names, session.run(names, feeds), strict=True):
        if isinstance(value, list):
            results |= {f"{name}.{i}": np.asarray(v) for i, v in enumerate(value)}
        elif value is not None:
            results[name] = np.asarray(value)
    return results


def _fed(port: Any, inputs: Mapping[str, Array]) -> Array | list[Array] | None:
    """An input of the file, of those of the compiled model."""
    if port.name in inputs:
        return inputs[port.name]
    names = takewhile(inputs.__contains__, (f"{port.name}.{i}" for i in count()))
    tensors = [inputs[name] for name in names]
    if "seq(" in port.type and (tensors or not port.type.startswith("optional(")):
        return tensors
    return tensors[0] if tensors else None


def _fixed(session: Any, constants: Mapping[str, Array]) -> dict[str, Array]:
    """`constants` in the types and ranks of the session's inputs."""
    numpy_names = {"float": "float32", "double": "float64"}
    values = {}
    for port in session.get_inputs():
        if port.name in constants:
            name = port.type.removeprefix("tensor(").removesuffix(")")
            value = constants[port.name].astype(numpy_names.get(name, name))
            values[port.name] = value.reshape((1,) * len(port.shape)) if value.size == 1 else value
    return values


def _draw_words(shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    """A picture: all values of all bytes."""
    return generator.integers(0, 2**32, shape, np.uint32).view(np.int32)


def perturb(a: Array, *, halves: bool) -> Array:
    """The next larger floats, or the nearest float16s; integers and bools as they are."""
    if a.dtype.kind != "f":
        return a
    return a.astype(np.float16).astype(a.dtype) if halves else np.nextafter(a, np.array(np.inf, a.dtype))


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
