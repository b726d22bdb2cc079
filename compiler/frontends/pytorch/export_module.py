"""From a module or an exported program of PyTorch to an ONNX model, by torch.onnx.export(dynamo=True)."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..open_file import read_file

if TYPE_CHECKING:
    import onnx

_CLASSES = ("Module", "ExportedProgram")
_GUIDE = "https://docs.pytorch.org/docs/stable/export.html"
_LONGEST = 600
"""Characters of a reason: PyTorch's own have whole programs."""


def is_torch(model: object) -> bool:
    """Whether `model` is a module or an exported program. PyTorch is not imported for it."""
    return any(c.__module__.partition(".")[0] == "torch" and c.__name__ in _CLASSES for c in type(model).__mro__)


def export_module(
    module: Any,
    example_inputs: Sequence[Any] | Mapping[str, Any],
    dynamic_shapes: Any = None,
) -> onnx.ModelProto:
    """The ONNX model of a module in evaluation mode, which is left as it was.

    `example_inputs` are arguments of its `forward`, in order or by name; `dynamic_shapes` says which of their sizes
    vary, as torch.export.export takes it. Raises InputError where the export fails, and where PyTorch is missing.
    """
    torch = _torch()
    by_name = isinstance(example_inputs, Mapping)
    if not by_name and not isinstance(example_inputs, tuple | list):
        example_inputs = (example_inputs,)
    arguments = {"args": (), "kwargs": dict(example_inputs)} if by_name else {"args": tuple(example_inputs)}
    training = bool(getattr(module, "training", False))
    name = type(module).__name__
    try:
        if training:
            module.eval()
        return _exported(
            name,
            lambda: torch.onnx.export(module, **arguments, dynamic_shapes=dynamic_shapes, dynamo=True, verbose=False),
        )
    finally:
        if training:
            module.train()


def export_program(program: Any, name: str = "the exported program") -> onnx.ModelProto:
    """The ONNX model of what torch.export.export made. Raises InputError."""
    torch = _torch()
    return _exported(name, lambda: torch.onnx.export(program, dynamo=True, verbose=False))


def read_program(path: Path) -> onnx.ModelProto:
    """The ONNX model of a .pt2 file. Raises InputError.

    Files hold no pickled code: torch.export.load reads a graph of operators, and tensors.
    """
    torch = _torch()
    data = read_file(path, "a .pt2 file")
    with _quietly():
        try:
            program = torch.export.load(io.BytesIO(data))
        except Exception as error:
            raise InputError(
                f"{path.name} is no program of torch.export.save: {_reason(error)}; save it by that, or give the "
                "module itself to webnn_compile.compile"
            ) from None
    return export_program(program, path.name)


def _torch() -> Any:
    try:
        import onnxscript  # noqa: F401 - the exporter needs it
        import torch
        import torch.export
        import torch.onnx
    except ImportError as error:
        raise InputError(
            f"models of PyTorch need the package {error.name}: pip install 'webnn-compile[torch]', or export the model "
            "to ONNX where PyTorch is installed"
        ) from None
    return torch


def _exported(name: str, export: Callable[[], Any]) -> onnx.ModelProto:
    with _quietly():
        try:
            proto: onnx.ModelProto = export().model_proto
        except Exception as error:  # the exporter's own, and those of the module's code
            raise InputError(
                f"{name} cannot be exported from PyTorch: {_reason(error)}; change the module as {_GUIDE} says "
                "(branches on values by torch.cond, sizes by dynamic_shapes), or export the part that runs in the page"
            ) from None
    proto.graph.name = name
    return proto


def _reason(error: BaseException) -> str:
    """The first lines of the innermost cause: those around it list what the exporter tried."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = f"{type(error).__name__}: {lines[0] if lines else ''}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without the exporter's remarks about itself."""
    logger = logging.getLogger("torch")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
