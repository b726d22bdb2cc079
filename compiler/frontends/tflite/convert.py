"""From a TFLite model to an ONNX model of the same operators, whose nodes and values keep the names of TFLite's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import onnx

from ...errors import InputError, UnsupportedError
from ..images import Images
from ..model_builder import ModelBuilder
from ..unsupported import named
from .call import Call, Scope
from .operators import CUSTOM, OPERATORS
from .operators.control_flow import called_by
from .operators.recurrent import KEPT
from .read_model import DAMAGES, Model, Operator, Subgraph, Tensor
from .types import onnx_type, stored_type


def convert(model: Model) -> onnx.ModelProto:
    """Inputs and outputs have the names of the signature, or else those of their tensors.

    Raises UnsupportedError, which names all that is not supported.
    """
    main = model.subgraphs[model.main]
    _check_operators(model)
    builder = ModelBuilder(model.name)
    scope = Scope(model, main, builder, Images(builder), _convert_operators, (model.main,))
    for number, i in enumerate(main.inputs):
        tensor, name = main.tensors[i], model.input_name(number)
        scope.values[i] = builder.input(name, onnx_type(tensor.dtype), declared(tensor, name))
    # What is an output keeps that name for itself.
    outputs = [(i, builder.name(name)) for i, name in model.outputs]
    try:
        _convert_operators(scope)
    except _Problems as problems:
        raise _unsupported(model, problems.lines) from None
    for i, name in outputs:
        value = scope.values.get(i)
        if value is None:
            raise UnsupportedError(f"{model.name}: nothing computes its output {name!r}")
        builder.node("Identity", [value], name, outputs=[name])
        builder.output(name, onnx_type(main.tensors[i].dtype), None)
    for name, value in scope.kept.items():
        builder.node("Identity", [value], name, outputs=[name])
        builder.output(name, onnx_type("float32"), None)
    return builder.model(model.description)


def _convert_operators(scope: Scope) -> None:
    """Adds the constants and operators of the scope's subgraph."""
    for i, tensor in enumerate(scope.subgraph.tensors):
        if tensor.data is not None and i not in scope.values and tensor.dtype != "string":
            scope.values[i] = scope.builder.constant(tensor.data, tensor.name, stored_type(tensor))
    problems: dict[str, None] = {}
    for operator in scope.subgraph.operators:
        handler = (CUSTOM if operator.is_custom else OPERATORS)[operator.kind]
        try:
            handler(Call(scope, operator))
        except DAMAGES as error:
            where = f"{operator.kind} ({_named(operator, scope.subgraph)!r})"
            raise InputError(
                f"{scope.model.name} is not a valid TFLite model: {where}: {type(error).__name__}: {error}; convert it "
                "again, or report this with the model"
            ) from error
        except (UnsupportedError, _Problems) as error:
            problems.update(dict.fromkeys(error.lines if isinstance(error, _Problems) else (str(error),)))
            # Other operators can still be checked: the model is refused at the end, so nothing computes these names.
            for i in operator.outputs:
                scope.values.setdefault(i, scope.builder.name(scope.subgraph.tensors[i].name))
    if problems:
        raise _Problems(list(problems))


def _check_operators(model: Model) -> None:
    kinds: dict[tuple[str, bool], list[str]] = {}
    for subgraph in _reached(model):
        for o in subgraph.operators:
            if o.kind not in (CUSTOM if o.is_custom else OPERATORS):
                kinds.setdefault((o.kind, o.is_custom), []).append(_named(o, subgraph))
    if kinds:
        by_count = sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
        raise _unsupported(model, [_kind(kind, is_custom, names) for (kind, is_custom), names in by_count])


def _reached(model: Model) -> list[Subgraph]:
    """The main subgraph, and those that its branches and loops call."""
    found: dict[int, Subgraph] = {}
    waiting = [model.main]
    while waiting:
        i = waiting.pop()
        if i in found or not 0 <= i < len(model.subgraphs):
            continue
        found[i] = model.subgraphs[i]
        try:
            waiting += [s for o in found[i].operators for s in called_by(o)]
        except DAMAGES as error:
            raise InputError(
                f"{model.name} is not a valid TFLite model: the subgraphs that its operators call cannot be read "
                f"({error}); convert it again"
            ) from None
    return [found[i] for i in sorted(found)]


def _kind(kind: str, is_custom: bool, names: list[str]) -> str:
    listed = named(names, "operator")
    return f"{kind}{' (custom)' if is_custom else ''}: {listed}{_advice(kind, is_custom)}"


_OF_STATE = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE")


def _advice(kind: str, is_custom: bool) -> str:
    """Advice for an operator that is not supported, where there is any."""
    if is_custom and kind.startswith("Flex"):
        return "; it is TensorFlow's own: convert the model without SELECT_TF_OPS"
    if kind in _OF_STATE:
        return "; it keeps values from one run to the next: convert the form of the model that takes and returns them"
    if kind.startswith("STABLEHLO"):
        return "; convert the model to TFLite's own operators"
    return ""


def _named(o: Operator, subgraph: Subgraph) -> str:
    named = (*o.outputs, *o.inputs)
    return subgraph.tensors[named[0]].name if named and named[0] >= 0 else ""


class _Problems(Exception):
    """All that is not supported in a subgraph, a line each. `convert` makes one UnsupportedError of it."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(*lines)
        self.lines = lines


def _unsupported(model: Model, lines: Sequence[str]) -> UnsupportedError:
    listed = "".join(f"\n  {line}" for line in lines)
    return UnsupportedError(
        f"{model.name} needs what is not supported, {len(lines)} in all:{listed}\n"
        "Replace or remove these in the model, or convert it in another way."
    )


def declared(tensor: Tensor, name: str) -> tuple[int | str, ...]:
    """Free dimensions are named after their input."""
    return tuple(f"{name}_{d}" if n < 0 else n for d, n in enumerate(tensor.signature))


def usual_sizes(model: Model) -> dict[str, int]:
    """By the name of a free dimension the size that the file itself has for it."""
    main = model.subgraphs[model.main]
    found = {}
    for number, i in enumerate(main.inputs):
        t, name = main.tensors[i], model.input_name(number)
        found.update({str(d): n for d, n in zip(declared(t, name), t.shape, strict=True) if isinstance(d, str)})
    return found


def count_operators(model: Model) -> dict[str, int]:
    return dict(Counter(o.kind for s in _reached(model) for o in s.operators).most_common())


def kept_states(model: Model) -> tuple[tuple[str, str], ...]:
    """The inputs and outputs, each two by name, that stand for variables of the main graph."""
    main = model.subgraphs[model.main]
    kept = {i for o in main.operators if o.kind in KEPT for i in o.inputs[KEPT[o.kind] :][:1]}
    return tuple((f"past.{t.name}", f"present.{t.name}") for i, t in enumerate(main.tensors) if i in kept)


def unsupported_kinds(model: Model) -> tuple[str, ...]:
    """The operators of the model that are not taken."""
    kinds = dict.fromkeys((o.kind, o.is_custom) for s in _reached(model) for o in s.operators)
    return tuple(kind for kind, is_custom in kinds if kind not in (CUSTOM if is_custom else OPERATORS))
