"""Models of the Python interface as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from ..bundle import check_function_names, function_name
from ..errors import InputError
from ..frontends.fetch_model import located
from ..frontends.pytorch import export_module, export_program, is_torch
from .given_options import ModelOptions


class TorchModel(Protocol):
    """A module of PyTorch, or an exported program of torch.export."""

    @property
    def state_dict(self) -> Any:
        """Its weights."""


Models = Mapping[str, str | Path | TorchModel] | list[Any] | tuple[str | Path | TorchModel, ...]
"""Several models, by name, or with the names of their files. Any, for a list of one type is none of several."""


_OWN_EXAMPLES = "; give those of one model by own={NAME: {'example_inputs': ...}}"


def exported(
    model: Any, example_inputs: Sequence[Any] | Mapping[str, Any] | None, dynamic_shapes: Any, advice: str = ""
) -> Any:
    """The ONNX model of a module, by its inputs; other models as they are. Raises InputError for inputs of others, with
    the `advice`."""
    if example_inputs is None and dynamic_shapes is None:
        return model
    if not is_torch(model) or example_inputs is None:
        raise InputError(
            "example_inputs= and dynamic_shapes= are for a module of PyTorch, the latter together with the former"
            + advice
        )
    return export_module(model, example_inputs, dynamic_shapes)


def model_file(model: Any, given: ModelOptions, folder: Path, advice: str = "") -> Path:
    """The file of a model; what is exported from PyTorch becomes one in `folder`, which has the module's name. `advice`
    is as of `exported`."""
    source = exported(model, given.get("example_inputs"), given.get("dynamic_shapes"), advice)
    if isinstance(source, str | Path):
        return located(source)
    if is_torch(source):
        source = export_program(source)
    path = folder / f"{source.graph.name}.onnx"
    path.write_bytes(source.SerializeToString())
    return path


def model_files(
    models: Mapping[str, Any] | Sequence[Any], general: ModelOptions, own: Mapping[str, ModelOptions], folder: Path
) -> dict[str, Path]:
    """The files of several models by name: those of a sequence have the names of their files or classes, made ones for
    scripts. Raises InputError for a name that scripts cannot have, for one twice, and, with the name of the model, for
    inputs of a model that is no module."""
    if not models:
        raise InputError("no model is given: give one or more, as a list, or by name")
    named = list(models.items()) if isinstance(models, Mapping) else [(_name(model), model) for model in models]
    check_function_names([name for name, _ in named])
    files = {}
    for name, model in named:
        below = folder / name  # modules may have one name
        below.mkdir()
        try:
            files[name] = model_file(model, {**general, **own.get(name, {})}, below, _OWN_EXAMPLES)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
    return files


def _name(model: Any) -> str:
    return function_name(Path(model).stem if isinstance(model, str | Path) else type(model).__name__)
