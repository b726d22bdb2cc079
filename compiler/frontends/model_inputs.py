"""The user's options for an import: shapes, sizes of named dimensions, constants, and operators of the user's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..custom.table import NO_OPERATORS, CustomOperators
from ..errors import InputError

Extent = int | str
"""An extent of a shape: a number, or the name of a dimension."""

NUMBERS = "biuf"
"""Kinds of NumPy's dtypes of which constants are."""


@dataclass(frozen=True, slots=True)
class Dim:
    """The values that a size may have: from `least` to `most`, and a multiple of `multiple`. Runs of the `fast` one
    have kernels of their own."""

    least: int
    most: int
    multiple: int = 1
    fast: int | None = None

    def check(self, name: str) -> Dim:
        """Itself, with both ends multiples. Raises InputError where there is no such value, or the fast one is none."""
        if not 0 <= self.least <= self.most < 2**31 or self.multiple < 1:
            raise InputError(
                f"the size {name!r} is given as {self}: give a least and a most value, of at least 0 and less than "
                "2**31, and a multiple of at least 1"
            )
        least = -(-self.least // self.multiple) * self.multiple
        most = self.most // self.multiple * self.multiple
        if least > most:
            raise InputError(f"the size {name!r} is given as {self}: no multiple of {self.multiple} is in that range")
        if self.fast is not None and (self.fast % self.multiple or not least <= self.fast <= most):
            raise InputError(
                f"the size {name!r} is given as {self}: no run may have {self.fast}; give one of the range"
            )
        return Dim(least, most, self.multiple, None if least == most else self.fast)

    def __str__(self) -> str:
        span = str(self.least) if self.least == self.most else f"{self.least}..{self.most}"
        span = span if self.multiple == 1 else f"{span},multiple={self.multiple}"
        return span if self.fast is None else f"{span},fast={self.fast}"


DimLike = Dim | int | str | tuple[int, int] | tuple[int, int, int]
"""A size, or the least and the most one, and perhaps what it is a multiple of; or a text as `parse_dim` reads it."""


@dataclass(frozen=True, slots=True)
class ModelInputs:
    """`shapes` by input, of numbers and names; `dims` by the name of a dimension, or of an input that is a size;
    `constants` by input. `operators` are those that the user defines, `signature` is the one to take of a model that
    has several; empty for its default. `states`, INPUT=OUTPUT with wildcards, outlive a run; None for those of usual
    names. Inputs in `given` are inputs of each run, though they follow from states. Of states that grow `window` rows
    stay; None for all."""

    shapes: Mapping[str, tuple[Extent, ...]] = field(default_factory=dict)
    dims: Mapping[str, Dim] = field(default_factory=dict)
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    operators: CustomOperators = NO_OPERATORS
    signature: str = ""
    states: tuple[str, ...] | None = None
    given: tuple[str, ...] = ()
    window: int | None = None

    def without_operators(self) -> ModelInputs:
        """The rest, which other processes can be given."""
        return replace(self, operators=NO_OPERATORS)


def model_inputs(
    shapes: Mapping[str, Sequence[Extent]] | None = None,
    dims: Mapping[str, DimLike] | None = None,
    constants: Mapping[str, object] | None = None,
    operators: CustomOperators = NO_OPERATORS,
    signature: str = "",
    states: Sequence[str] | None = None,
    given: Sequence[str] = (),
    window: int | None = None,
) -> ModelInputs:
    """Raises InputError for what is no range of sizes, no pair of a state, or no number of rows."""
    return ModelInputs(
        {name: tuple(shape) for name, shape in (shapes or {}).items()},
        {name: _dim(name, value).check(name) for name, value in (dims or {}).items()},
        {name: np.asarray(value) for name, value in (constants or {}).items()},
        operators,
        signature,
        None if states is None else check_pairs(states),
        tuple(given),
        None if window is None else check_window(window),
    )


NO_STATES = "none"


def check_pairs(pairs: Sequence[str]) -> tuple[str, ...]:
    """Raises InputError for what is not IN=OUT, each with as many wildcards, or "none" alone."""
    for text in pairs:
        before, equals, after = text.partition("=")
        if text == NO_STATES and len(pairs) == 1:
            return ()
        if not (before and equals and after) or before.count("*") != after.count("*"):
            raise InputError(
                f"state {text!r}: give INPUT=OUTPUT, such as past_key_values.*=present.*, in which * stands for the "
                "same text on both sides; 'none' alone for no states"
            )
    return tuple(pairs)


def check_window(rows: int) -> int:
    """Raises InputError for what is no number of rows."""
    if not isinstance(rows, int) or not 0 < rows < 2**31:
        raise InputError(
            f"state window {rows!r}: give how many rows of the states stay, at least 1 and less than 2**31"
        )
    return rows


def parse_dim(text: str) -> Dim | None:
    """Parses 64, 1..512, 8..512,multiple=8 or 1..512,fast=1; None for anything else."""
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?(?:,multiple=(\d+))?(?:,fast=(\d+))?", text, re.ASCII)
    if match is None:
        return None
    fast = None if match[4] is None else int(match[4])
    return Dim(int(match[1]), int(match[2] or match[1]), int(match[3] or 1), fast)


def _dim(name: str, value: DimLike) -> Dim:
    if isinstance(value, Dim):
        return value
    if isinstance(value, int):
        return Dim(value, value)
    if isinstance(value, str) and (parsed := parse_dim(value)) is not None:
        return parsed
    if isinstance(value, tuple | list) and len(value) in (2, 3) and all(isinstance(n, int) for n in value):
        return Dim(*value)
    raise InputError(
        f"dims={{{name!r}: {value!r}}}: give a number, (least, most), (least, most, multiple), or a text "
        "such as '1..512,fast=1'"
    )
