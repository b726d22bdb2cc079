"""A compiled model that gives answers in this process, as in a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..errors import InputError
from ..graph.ir import Array
from ..program.pass_states import PassingStates
from ..program.shown_model import Shown
from .give_answers import Given


class Runnable(Protocol):
    backend: str

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Array]: ...


class Answering(PassingStates):
    """`model` computes what answers are made of."""

    def __init__(self, model: Runnable, given: Sequence[Given]) -> None:
        self.model: Runnable = model
        self.backend = model.backend
        self._given = {name: answer for answer in given for name in answer.outputs.values()}

    def shown(self) -> Shown:
        shown = super().shown()
        kinds = {name: answer for name, answer in self._given.items() if name in shown.outputs}
        answers = {answer.name: answer.fitted.kind for answer in kinds.values()}
        others = {name: what for name, what in shown.outputs.items() if name not in kinds}
        return replace(shown, outputs={**answers, **others})

    def run(self, inputs: Mapping[str, Any], *, out: None = None) -> dict[str, Any]:
        """Answers, and arrays of the other outputs, by name. Raises InputError for inputs that do not fit."""
        if out is not None:
            raise InputError("out= is for models without answers")
        arrays = self.model.run(inputs)
        shapes = {name: np.shape(given) for name, given in inputs.items()}
        results: dict[str, Any] = {}
        for name, array in arrays.items():
            answer = self._given.get(name)
            if answer is None:
                results[name] = array
            elif answer.name not in results:
                parts = {part: arrays[own] for part, own in answer.outputs.items()}
                results[answer.name] = answer.fitted.read(parts, shapes)
        return results
