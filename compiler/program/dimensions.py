"""Sizes that a run decides: by the shapes of the arrays that it is given, or by an element of one."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.nodes import Scalar
from ..ir.sizes import Size


@dataclass(frozen=True, slots=True)
class Dimension:
    """A size of `scalar` * `multiple`, which is named in the shapes of inputs, or is the element of the input
    `value_of`. One of a state is the length that runs before have left there: a run leaves `after`, which may be no
    more than `limit`. Runs of the `fast` size have kernels of their own."""

    name: str
    scalar: Scalar
    multiple: int = 1
    value_of: str | None = None
    after: Size | None = None
    limit: int | None = None
    fast: int | None = None

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
