"""Sizes that a run decides: by the shapes of the arrays that it is given, or by an element of one."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.nodes import Scalar
from ..ir.sizes import Size


@dataclass(frozen=True, slots=True)
class Dimension:
    """A size of `scalar` * `multiple`, which is named in the shapes of inputs, or is the element of the input
    `value_of`. One of a state is the length that runs before have left there: a run leaves `after`. Positions, which
    go on from there, are less than `limit`. A run that would leave more than the `window` finds the newest rows alone:
    the others are counted by the dimension that is `dropped_of` this one, by its name, and add to positions. Runs of
    the `fast` size have kernels of their own."""

    name: str
    scalar: Scalar
    multiple: int = 1
    value_of: str | None = None
    after: Size | None = None
    limit: int | None = None
    fast: int | None = None
    window: int | None = None
    dropped_of: str | None = None

    @property
    def least(self) -> int:
        return self.scalar.low * self.multiple

    @property
    def most(self) -> int:
        return (self.scalar.extent - 1) * self.multiple

    @property
    def span(self) -> str:
        """As the command line reads it."""
        if self.least == self.most:
            return str(self.least)
        multiple = f",multiple={self.multiple}" if self.multiple > 1 else ""
        return f"{self.least}..{self.most}{multiple}{'' if self.fast is None else f',fast={self.fast}'}"
