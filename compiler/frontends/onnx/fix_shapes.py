"""Fixes the shape of every input of a model: of extents, and of sizes that are known at run time only."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import onnx

from ...errors import InputError
from ...ir.nodes import Scalar
from ...ir.sizes import Size, size
from ...program.dimensions import Dimension
from ...text.nearest import did_you_mean
from ..model_inputs import Dim, Extent, ModelInputs
from .read_model import Source

Declared = list[int | str | None] | None
"""A declared shape: extents, symbols, None for an unnamed free dimension; None where even the rank is free."""

UNNAMED = frozenset({"", "?", "*", "-1"})
"""Texts in place of a symbol, of dimensions that need not be equal: Paddle2ONNX wrote ? for each that is free."""


@dataclass(frozen=True, slots=True)
class InputShapes:
    """The shape `of` each input by name, the elements of inputs that are sizes themselves, and the `dimensions` that
    are decided at run time."""

    of: Mapping[str, tuple[Size, ...]]
    elements: Mapping[str, tuple[Size, ...]]
    dimensions: tuple[Dimension, ...]


class FreeDimensions(InputError):
    """Inputs of these `names` have dimensions of which nothing says how long they are; all inputs are `declared` so."""

    def __init__(self, source: str, names: Sequence[str], declared: Mapping[str, Declared]) -> None:
        lines = "".join(f"\n  {name}: declared {_text(declared[name])}" for name in names)
        super().__init__(f"{source} has inputs with free dimensions:{lines}")
        self.names, self.declared = tuple(names), declared


def fix_shapes(model: onnx.ModelProto, chosen: ModelInputs, weights: Collection[str], source: Source) -> InputShapes:
    """Writes shapes into the inputs of `model`, from the chosen ones and what these say about its symbols. Those known
    at run time only are written as symbols.

    Raises InputError where what is given does not fit, and where dimensions stay free.
    """
    inputs = {v.name: v for v in model.graph.input if v.name not in weights and v.type.HasField("tensor_type")}
    for name in chosen.shapes:
        if name not in inputs:
            names = ", ".join(repr(n) for n in inputs) or "none"
            what = "a weight, not an input" if name in weights else "no input of the model"
            raise InputError(
                f"a shape is given for {name!r}, which is {what}; the inputs are: {names}{did_you_mean(name, inputs)}"
            )
    declared = {name: declared_shape(v.type.tensor_type) for name, v in inputs.items()}
    symbols = _Symbols(chosen.dims)
    for name, shape in chosen.shapes.items():
        symbols.bind(name, tuple(shape), declared[name])
    values = _value_inputs(inputs, chosen.dims, declared)
    symbols.check_names(declared, chosen.shapes, values, source)
    shapes: dict[str, tuple[Size, ...]] = {}
    free: list[str] = []
    for name, value in inputs.items():
        dims: Declared = [*chosen.shapes[name]] if name in chosen.shapes else declared[name]
        sizes = None if dims is None else symbols.resolve(dims)
        if sizes is None:
            free.append(name)
        else:
            shapes[name] = sizes
            _write(value.type.tensor_type, sizes, dims or [])
    if free:
        raise FreeDimensions(source.name, free, declared)
    elements = {name: (symbols.size(name),) for name in values}
    return InputShapes(shapes, elements, symbols.dimensions(values))


def declared_shapes(model: onnx.ModelProto) -> dict[str, Declared]:
    """The shapes of all inputs that are tensors, by name."""
    tensors = {v.name: v.type.tensor_type for v in model.graph.input if v.type.HasField("tensor_type")}
    return {name: declared_shape(tensor) for name, tensor in tensors.items()}


def declared_shape(tensor: onnx.TypeProto.Tensor) -> Declared:
    """As the model has it."""
    if not tensor.HasField("shape"):
        return None
    # Some exporters write 0 or -1 for an unknown dimension.
    return [d.dim_value if d.dim_value > 0 else symbol_of(d) for d in tensor.shape.dim]


def symbol_of(dimension: onnx.TensorShapeProto.Dimension) -> str | None:
    """The name of a free dimension; None for one without."""
    return None if dimension.dim_param in UNNAMED else dimension.dim_param


def _value_inputs(
    inputs: Mapping[str, onnx.ValueInfoProto], dims: Mapping[str, Dim], declared: Mapping[str, Declared]
) -> list[str]:
    """The inputs that are sizes: those that `dims` names, and that have one integer element."""
    symbols = {d for shape in declared.values() for d in shape or () if isinstance(d, str)}
    integers = (onnx.TensorProto.INT64, onnx.TensorProto.INT32)
    return [
        name
        for name, v in inputs.items()
        if name in dims
        and name not in symbols
        and v.type.tensor_type.elem_type in integers
        and declared[name] in ([], [1])
    ]


class _Symbols:
    """The values of named dimensions: numbers, or scalars of a run."""

    def __init__(self, dims: Mapping[str, Dim]) -> None:
        self._dims = dict(dims)
        self._by = dict.fromkeys(dims, "--dim")
        self._scalars: dict[str, Scalar] = {}

    def bind(self, name: str, shape: tuple[Extent, ...], declared: Declared) -> None:
        """Checks a given shape against the declared one, and records the values of its symbols."""
        shown = "x".join(map(str, shape))
        if not all(isinstance(extent, str) or 0 <= extent < 2**63 for extent in shape):
            raise InputError(
                f"the shape {shown} given for input {name!r} has an extent that is negative or above 2**63"
            )
        if declared is None:
            return
        if len(shape) != len(declared):
            raise InputError(
                f"the shape {shown} given for input {name!r} has {len(shape)} dimensions, "
                f"but the model declares {_text(declared)}; give {len(declared)}"
            )
        for d, (extent, dim) in enumerate(zip(shape, declared, strict=True)):
            if isinstance(dim, int) and dim != extent:
                raise InputError(
                    f"the shape {shown} given for input {name!r} has {extent} in dimension {d}, "
                    f"where the model declares {_text(declared)}; only free dimensions can be chosen"
                )
            if isinstance(dim, str) and isinstance(extent, int):
                value = self._dims.setdefault(dim, Dim(extent, extent))
                by = self._by.setdefault(dim, f"that of {name!r}")
                if value != Dim(extent, extent):
                    raise InputError(
                        f"the shape {shown} given for input {name!r} sets {dim} = {extent}, "
                        f"but {by} sets {dim} = {value}; give {dim} one value"
                    )

    def check_names(
        self,
        declared: Mapping[str, Declared],
        shapes: Mapping[str, tuple[Extent, ...]],
        values: Collection[str],
        source: Source,
    ) -> None:
        """InputError for a size that no shape mentions."""
        mentioned = dict.fromkeys(
            n
            for shape in (*declared.values(), *shapes.values())
            for d in shape or ()
            if isinstance(d, str)
            for n in (d, *names_in(d))
        )
        for name in self._dims:
            if name not in mentioned and name not in values:
                names = ", ".join(n for n in mentioned if n.isidentifier()) or "none"
                raise InputError(
                    f"--dim {name}: {source.name} has no dimension of this name, and no input of one integer; its "
                    f"named dimensions: {names}. --shape NAME=1x3xANYx64 gives a name to one without"
                )

    def resolve(self, dims: Sequence[int | str | None]) -> tuple[Size, ...] | None:
        """A shape with symbols replaced; None where something stays free."""
        sizes: list[Size] = []
        for d in dims:
            n = d if isinstance(d, int) else None if d is None else self._value(d)
            if n is None:
                return None
            sizes.append(n)
        return tuple(sizes)

    def size(self, name: str) -> Size:
        """The size that a symbol stands for."""
        d = self._dims[name]
        return d.least if d.least == d.most else size(self._scalar(name) * d.multiple)

    def _scalar(self, name: str) -> Scalar:
        if name not in self._scalars:
            d = self._dims[name]
            shown = name if d.multiple == 1 else f"{name}/{d.multiple}"
            self._scalars[name] = Scalar(shown, d.most // d.multiple + 1, low=d.least // d.multiple)
        return self._scalars[name]

    def dimensions(self, values: Collection[str]) -> tuple[Dimension, ...]:
        """The dimensions that a run decides, and the inputs of `values` that have one value: a run with another
        is refused."""
        for name in values:
            self._scalar(name)
        return tuple(
            Dimension(name, s, d.multiple, name if name in values else None, fast=d.fast)
            for name, s in self._scalars.items()
            for d in (self._dims[name],)
        )

    def _value(self, text: str) -> Size | None:
        """The value of a symbol, or of an expression of symbols, which exporters write too; None where a name is not
        known."""
        if text in self._dims:
            return self.size(text)
        try:
            return self._of(ast.parse(text, mode="eval").body)
        except (SyntaxError, ValueError):
            return None

    def _of(self, e: ast.expr) -> Size | None:
        match e:
            case ast.Constant(int() as value) if not isinstance(value, bool):
                return value
            case ast.Name(name):
                return self.size(name) if name in self._dims else None
            case ast.BinOp(left, op, right):
                a, b = self._of(left), self._of(right)
                if a is None or b is None:
                    return None
                match op:
                    case ast.Add():
                        return size(a + b)
                    case ast.Sub():
                        return size(a - b)
                    case ast.Mult():
                        return size(a * b)
                    case ast.FloorDiv() | ast.Div() if isinstance(b, int) and b > 0:
                        return size(a // b)
        return None


def names_in(text: str) -> list[str]:
    """The symbols of an expression."""
    try:
        return [n.id for n in ast.walk(ast.parse(text, mode="eval")) if isinstance(n, ast.Name)]
    except (SyntaxError, ValueError):
        return []


def _write(tensor: onnx.TypeProto.Tensor, shape: Sequence[Size], names: Sequence[int | str | None]) -> None:
    tensor.ClearField("shape")
    tensor.shape.SetInParent()
    for extent, name in zip(shape, names, strict=True):
        if isinstance(extent, int):
            tensor.shape.dim.add().dim_value = extent
        else:
            tensor.shape.dim.add().dim_param = str(name)


def _text(declared: Declared) -> str:
    return "no shape" if declared is None else f"[{', '.join('?' if d is None else str(d) for d in declared)}]"
