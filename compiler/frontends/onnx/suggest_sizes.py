"""Which sizes a model whose inputs have free dimensions can be compiled for: found by trying."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...text.escape import shell_word
from ..model_inputs import Dim, DimLike, Extent, ModelInputs
from .fix_shapes import Declared, FreeDimensions

_BATCH = re.compile(r"batch", re.IGNORECASE)
_PAST = re.compile(r"past|cache", re.IGNORECASE)
_TOTAL = re.compile(r"total|kv_?len|attention_mask|past.*\+|\+.*past", re.IGNORECASE)
_FOLLOWS = re.compile(rf"{_TOTAL.pattern}|cache_dim|sequence_length_out|^s\d+$", re.IGNORECASE)
"""Names of sizes that may follow from others; s53 is one to which PyTorch gives a name."""

_WORK = 30_000
"""Nodes that are imported in all, about: small models are tried in more ways than large ones."""

_LENGTHS = (128, 16, 32, 224, 1)
"""Sizes that are tried, in this order, for dimensions of which nothing is known."""

_IMAGE = (224, 224)
"""Rows and columns that are tried first for an image."""

_IMAGES = ((256, 256), (48, 320), (32, 320))
"""Rows and columns that are tried last: of networks that halve an image more often, and of lines of text."""

MOST = 128
"""The largest size of the ranges that are suggested."""


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes for each kind of dimension."""

    batch: Dim
    past: Dim
    length: Dim
    first: Dim | None = None
    """Size of an input's first dimension, whatever its name."""
    sums: bool = False
    """Whether totals are given as the sum of what is past and the rest."""
    follow: bool = False
    """Whether totals are left to follow from other sizes."""
    image: tuple[int, int] = _IMAGE

    def of(self, symbol: str, *, first: bool) -> Dim:
        if first and self.first is not None:
            return self.first
        if _BATCH.search(symbol) or (first and symbol in ("n", "N", "b", "B")):
            return self.batch
        return self.past if _PAST.search(symbol) and not _TOTAL.search(symbol) else self.length


def suggest_sizes(
    free: FreeDimensions, chosen: ModelInputs, nodes: int, fits: Callable[[ModelInputs], bool]
) -> tuple[ModelInputs | None, ModelInputs | None]:
    """Fixed sizes, and ranges of sizes, with which the model `fits`; None for what is not found. `nodes` are those of
    the model: the more it has, the fewer ways are tried."""
    tries = max(2, min(12, _WORK // max(nodes, 1)))

    def first_of(plans: Iterator[ModelInputs | None]) -> ModelInputs | None:
        distinct: list[ModelInputs] = []
        for plan in plans:
            if plan is not None and plan not in distinct:
                distinct.append(plan)
        return next((plan for plan in distinct[:tries] if fits(plan)), None)

    fixed = first_of(_plan(free, chosen, sizes) for sizes in _fixed())
    return fixed, first_of(_plan(free, chosen, sizes) for sizes in _ranges())


def may_follow(symbol: str) -> bool:
    """Whether a size of this name is one that follows from others in models that exporters make."""
    return _FOLLOWS.search(symbol) is not None


def flags_of(inputs: ModelInputs) -> str:
    """The options of a command line for these, but for constants that are no single number."""
    constants = [f"--fix {shell_word(n)}={a.item()}" for n, a in inputs.constants.items() if a.size == 1]
    shapes = [f"--shape {shell_word(name)}={_joined(shape)}" for name, shape in inputs.shapes.items()]
    dims = [f"--dim {shell_word(name)}={dim}" for name, dim in inputs.dims.items()]
    return " ".join([*constants, *shapes, *dims])


def shape_option(name: str, shape: Sequence[Extent | None]) -> str:
    """The option for an input of this declared shape, with a ? for each extent that is no number and has no name that
    an option could give."""
    extents = tuple(d if isinstance(d, int) or (d and d.isidentifier()) else "?" for d in shape)
    return f"--shape {shell_word(f'{name}={_joined(extents)}')}"


def arguments_of(inputs: ModelInputs) -> str:
    """The arguments of the function `compile` that say the same as `flags_of`."""
    constants = {name: a.item() for name, a in inputs.constants.items() if a.size == 1}
    dims = {name: _argument(d) for name, d in inputs.dims.items()}
    arguments: dict[str, Mapping[str, object]] = {"constants": constants, "shapes": dict(inputs.shapes), "dims": dims}
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items() if value)


def _argument(dim: Dim) -> DimLike:
    if dim.least == dim.most:
        return dim.least
    return str(dim) if dim.multiple > 1 or dim.fast is not None else (dim.least, dim.most)


def _joined(shape: tuple[Extent, ...]) -> str:
    separator = "," if any(isinstance(d, str) and "x" in d.lower() for d in shape) else "x"
    return separator.join(map(str, shape))


def _fixed() -> Iterator[_Sizes]:
    one = Dim(1, 1)
    for length in _LENGTHS:
        same = Dim(length, length)
        yield _Sizes(one, same, same, follow=True)
        yield _Sizes(one, same, same, first=one)
        for sums in (True, False):
            yield _Sizes(one, same, same, sums=sums)
        yield _Sizes(one, Dim(0, 0), same)
    for image in _IMAGES:
        same = Dim(_LENGTHS[0], _LENGTHS[0])
        yield _Sizes(one, same, same, image=image)


def _ranges() -> Iterator[_Sizes]:
    one, batch = Dim(1, 1), Dim(1, 8)
    past, length = Dim(0, MOST), Dim(1, MOST)
    yield _Sizes(batch, past, length, follow=True)
    yield _Sizes(one, past, length, follow=True)
    for sums in (False, True):
        yield _Sizes(batch, past, length, sums=sums)
    yield _Sizes(batch, past, Dim(32, 256, 32))
    for sums in (False, True):
        yield _Sizes(one, past, length, sums=sums)
    yield _Sizes(one, past, length, first=one)
    yield _Sizes(one, past, Dim(32, 256, 32), first=one)
    yield _Sizes(batch, Dim(0, 0), length)
    yield _Sizes(one, Dim(0, 0), length, first=one)


def _plan(free: FreeDimensions, chosen: ModelInputs, sizes: _Sizes) -> ModelInputs | None:
    """`chosen` with these sizes for all free dimensions; None where a total is to be a sum, and the model lacks
    one of its terms, or is to follow from others, and there is none."""
    shapes, dims = dict(chosen.shapes), dict(chosen.dims)
    numbers = {
        d: extent
        for name, shape in chosen.shapes.items()
        for d, extent in zip(free.declared.get(name) or (), shape, strict=False)
        if isinstance(extent, int) and isinstance(d, str)
    }
    all_declared: dict[str, Declared] = {
        n: [*chosen.shapes[n]] if n in chosen.shapes else d for n, d in free.declared.items()
    }
    symbols = _symbols(all_declared)
    past = next((s for s in symbols if _PAST.search(s) and not _TOTAL.search(s)), None)
    rest = next((s for s in symbols if s != past and not _BATCH.search(s) and not _TOTAL.search(s)), None)
    total = f"{past}+{rest}" if sizes.sums and past is not None and rest is not None else None
    if (sizes.sums and total is None) or (sizes.follow and not any(map(may_follow, symbols))):
        return None
    varies = sizes.length.least < sizes.length.most
    for name in free.names:
        declared = all_declared[name]
        extents: list[Extent] = []
        for axis, d in enumerate([None] * 4 if declared is None else declared):
            # Images are N, C, H, W, or N, H, W, C where that is what is declared.
            channels = 1 if not _channels_last(declared) else 3
            usual = {0: 1, channels: 3}.get(axis) if len(declared or "four") == 4 else None
            if isinstance(d, int):
                extents.append(d)
            elif d in numbers:
                extents.append(numbers[d])
            elif d is None or (not d.isidentifier() and not _has_names(d, symbols)):
                batch = axis == 0 or _between_numbers(declared, axis)
                number = 1 if batch else usual or _image(declared, channels, axis, sizes) or sizes.length.most
                extents.append(number)
            elif total is not None and _TOTAL.search(d):
                extents.append(total)
            else:
                extents.append(d)
                if d.isidentifier() and not (sizes.follow and may_follow(d)) and d not in dims:
                    dim = sizes.of(d, first=axis == 0)
                    fixed = axis not in (0, channels) and not varies
                    image = _image(declared, channels, axis, sizes) if fixed else None
                    dims[d] = Dim(usual, usual) if usual and not varies else Dim(image, image) if image else dim
        if declared is None or any(a != b for a, b in zip(extents, declared, strict=True)):
            shapes[name] = tuple(extents)
    for symbol in (past, rest) if total is not None else ():
        if symbol is not None and symbol not in dims:
            dims[symbol] = sizes.of(symbol, first=False)
    return replace(chosen, shapes=shapes, dims=dims)


def _image(declared: Declared, channels: int, axis: int, sizes: _Sizes) -> int | None:
    """The rows or the columns, whichever `axis` is, of what looks like an image."""
    rows = 2 if channels == 1 else 1
    return sizes.image[min(axis - rows, 1)] if declared is None or len(declared) == 4 else None


def _between_numbers(declared: Declared, axis: int) -> bool:
    """Whether it is the batch of a state, [layers, batch, units], of which the rest is fixed."""
    return axis == 1 and declared is not None and [isinstance(d, int) for d in declared] == [True, False, True]


def _channels_last(declared: Declared) -> bool:
    """Whether the last extent alone of an image is fixed, beside that of the batch."""
    return declared is not None and [isinstance(d, int) for d in declared[1:]] == [False, False, True]


def _symbols(declared: Mapping[str, Declared]) -> list[str]:
    names = (d for shape in declared.values() for d in shape or () if isinstance(d, str) and d.isidentifier())
    return list(dict.fromkeys(names))


def _has_names(text: str, symbols: list[str]) -> bool:
    """Whether an expression is of symbols that have a size of their own."""
    names = re.findall(r"[A-Za-z_]\w*", text)
    return bool(names) and all(n in symbols for n in names)
