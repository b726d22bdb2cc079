"""Gives every input of a model a shape without free dimensions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import onnx

from ...errors import InputError
from .read_model import Source

Declared = list[int | str | None] | None
"""A declared shape: extents, symbols, None for an unnamed free dimension; None where even the rank is free."""


def fix_shapes(
    model: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]], weights: Collection[str], source: Source
) -> None:
    """Writes shapes of extents into the inputs of `model`, from `shapes` and what these say about its symbols.

    Raises InputError where a given shape does not fit, and where dimensions stay free.
    """
    inputs = {v.name: v for v in model.graph.input if v.name not in weights and v.type.HasField("tensor_type")}
    for name in shapes:
        if name not in inputs:
            known = ", ".join(repr(n) for n in inputs) or "none"
            what = "a weight, not an input" if name in weights else "no input of the model"
            raise InputError(f"a shape is given for {name!r}, which is {what}; the inputs are: {known}")
    declared = {name: declared_shape(v.type.tensor_type) for name, v in inputs.items()}
    symbols: dict[str, tuple[int, str]] = {}
    for name, given in shapes.items():
        _match(name, tuple(given), declared[name], symbols)
    free: list[str] = []
    for name, value in inputs.items():
        shape = shapes[name] if name in shapes else _resolve(declared[name], symbols)
        if shape is None:
            free.append(name)
        else:
            _write(value.type.tensor_type, shape)
    if free:
        lines = "".join(f"\n  {name}: declared {_text(declared[name])}" for name in free)
        examples = {name: _example(declared[name], symbols) for name in free}
        flags = " ".join(f"--shape {name}={'x'.join(map(str, shape))}" for name, shape in examples.items())
        raise InputError(
            f"{source.name} has inputs with free dimensions:{lines}\n"
            f"Fix them, for example with {flags} (in Python: shapes={examples})"
        )


def declared_shape(tensor: onnx.TypeProto.Tensor) -> Declared:
    """As the model has it."""
    if not tensor.HasField("shape"):
        return None
    # Some exporters write 0 or -1 for a dimension that they do not know.
    return [d.dim_value if d.dim_value > 0 else d.dim_param or None for d in tensor.shape.dim]


def _match(name: str, given: tuple[int, ...], declared: Declared, symbols: dict[str, tuple[int, str]]) -> None:
    """Checks a given shape against the declared one, and learns what its symbols stand for."""
    shown = "x".join(map(str, given))
    if not all(0 <= extent < 2**63 for extent in given):
        raise InputError(f"the shape {shown} given for input {name!r} has an extent that is negative or above 2**63")
    if declared is None:
        return
    if len(given) != len(declared):
        raise InputError(
            f"the shape {shown} given for input {name!r} has {len(given)} dimensions, "
            f"but the model declares {_text(declared)}; give {len(declared)}"
        )
    for d, (extent, dim) in enumerate(zip(given, declared, strict=True)):
        if isinstance(dim, int) and dim != extent:
            raise InputError(
                f"the shape {shown} given for input {name!r} has {extent} in dimension {d}, "
                f"where the model declares {_text(declared)}; only free dimensions can be chosen"
            )
        if isinstance(dim, str):
            known, by = symbols.setdefault(dim, (extent, name))
            if known != extent:
                raise InputError(
                    f"the shape {shown} given for input {name!r} sets {dim} = {extent}, "
                    f"but that of {by!r} sets {dim} = {known}; give {dim} one value"
                )


def _resolve(declared: Declared, symbols: Mapping[str, tuple[int, str]]) -> tuple[int, ...] | None:
    """The declared shape with symbols replaced; None where something stays free."""
    if declared is None:
        return None
    shape = [symbols[d][0] if isinstance(d, str) and d in symbols else d for d in declared]
    known = tuple(d for d in shape if isinstance(d, int))
    return known if len(known) == len(shape) else None


def _write(tensor: onnx.TypeProto.Tensor, shape: Sequence[int]) -> None:
    tensor.ClearField("shape")
    tensor.shape.SetInParent()
    for extent in shape:
        tensor.shape.dim.add().dim_value = extent


def _text(declared: Declared) -> str:
    return "no shape" if declared is None else f"[{', '.join('?' if d is None else str(d) for d in declared)}]"


def _example(declared: Declared, symbols: Mapping[str, tuple[int, str]]) -> tuple[int, ...]:
    """A shape that fits the declared one: batch 1, and for what looks like an image 3 channels of 224 x 224."""
    dims = [None] * 4 if declared is None else declared
    usual = (1, 3, 224, 224) if len(dims) == 4 else (1,) + (128,) * len(dims)
    shape = []
    for d, extent in zip(dims, usual, strict=False):
        if isinstance(d, int):
            extent = d
        elif isinstance(d, str):
            extent = symbols[d][0] if d in symbols else 1 if "batch" in d.lower() else extent
        shape.append(extent)
    return tuple(shape)
