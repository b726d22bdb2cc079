"""Expected results of the kernels of a trial, and how far the results of right ones may be from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..driver.verify import CONDITION, largest_error, perturb
from .native_program import NativeProgram
from .trial_model import Piece

Array = np.ndarray

Compute: TypeAlias = Callable[[Piece, Sequence[Mapping[str, Array]]], Sequence[Mapping[str, Array]]]
"""The results of a piece by its default schedules, by the names of tensors, for each of several inputs."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Results by the names of tensors. `sensitivity` is how far they move with the rounding of the inputs, as
    `largest_error`: operands are drawn at random, and a quotient by a sum of them may amplify what candidates that add
    in another order round differently."""

    results: Mapping[str, Array]
    sensitivity: Mapping[str, float]


def reference_of(piece: Piece, inputs: Mapping[str, Array], compute: Compute, *, halves: bool = False) -> Reference:
    """The reference of a piece; of float16 between kernels with `halves`. Raises what `compute` raises."""
    own = {name: inputs[name] for name, _ in piece.model.tensors.inputs}
    moved = {name: perturb(value, halves=halves) for name, value in own.items()}
    results, others = compute(piece, (own, moved))
    return Reference(results, {name: largest_error(others[name], value) for name, value in results.items()})


def by_this_processor(piece: Piece, runs: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
    """A Compute."""
    model = NativeProgram(piece.model).compile(None)
    return [by_tensor(model.run(inputs)) for inputs in runs]


def by_tensor(results: Mapping[str, Array]) -> dict[str, Array]:
    """Results of a model of one piece by the names of tensors, without the number of the piece."""
    return {name.partition("_")[2]: value for name, value in results.items()}


def check_results(results: Mapping[str, Array], reference: Reference, tolerance: float) -> dict[int, str]:
    """The pieces whose results differ from the reference by more than `tolerance`, relative to its largest element,
    and more than CONDITION times its sensitivity. `results` are by the name of the piece and the tensor; intermediate
    results of a layer that not all candidates have are passed over, but one result at least must be known."""
    messages: dict[int, list[str]] = {}
    compared: set[int] = set()
    for name, value in results.items():
        piece, _, tensor = name.partition("_")
        errors = messages.setdefault(int(piece), [])
        if tensor in reference.results:
            compared.add(int(piece))
            error = largest_error(value, reference.results[tensor])
            if not error <= min(max(tolerance, CONDITION * reference.sensitivity[tensor]), 1.0):
                errors.append(f"{tensor} errs by {error:.3g}")
    wrong = {piece: errors[-1] for piece, errors in messages.items() if errors}
    return wrong | {piece: "none of its results has a reference" for piece in messages if piece not in compared}
