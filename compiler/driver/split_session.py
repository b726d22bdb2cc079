"""A model in onnxruntime whose custom operators are computed beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..custom.evaluate_operator import describe_reference, evaluate_operator
from ..frontends.onnx.split_custom import CustomNode, Port, Segment, SplitModel

Array = np.ndarray


class SplitSession:
    """Like a session of onnxruntime: a session for each segment, made when it first runs, by `open_session`."""

    def __init__(self, split: SplitModel, open_session: Callable[[bytes], Any]) -> None:
        self._split = split
        self._open = open_session
        self._sessions: dict[Segment, Any] = {}

    @property
    def references(self) -> Mapping[str, str]:
        """Describes how each custom operator is computed."""
        return {s.operator.name: describe_reference(s.operator) for s in self._split.steps if isinstance(s, CustomNode)}

    def get_inputs(self) -> Sequence[Port]:
        """Inputs of the model."""
        return self._split.inputs

    def get_outputs(self) -> Sequence[Port]:
        """Outputs of the model."""
        return self._split.outputs

    def run(self, names: Sequence[str], inputs: Mapping[str, Array]) -> list[Array]:
        """The outputs of these names. Raises InputError for a fault of a custom operator."""
        values: dict[str, Array] = {**self._split.constants, **inputs}
        for step in self._split.steps:
            if isinstance(step, CustomNode):
                operands = [values[name] if name else None for name in step.inputs]
                results = evaluate_operator(
                    step.operator, step.name, step.opset, operands, step.attributes, len(step.outputs)
                )
                values.update(zip(step.outputs, results, strict=True))
            elif step.makes:
                values.update(zip(step.makes, self._run(step, values), strict=True))
        return [values[name] for name in names]

    def _run(self, segment: Segment, values: Mapping[str, Array]) -> list[Array]:
        feeds = {name: values[name] for name in segment.reads}
        if segment not in self._sessions:
            self._sessions[segment] = self._open(self._split.model_of(segment, feeds))
        return list(self._sessions[segment].run(list(segment.makes), feeds))
