"""Which kernels compute in float16, and why others do not, under `--precision f16-fast`."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

from ..pipeline.lowered import Lowered
from ..tensor import Tensor


@dataclass(frozen=True, slots=True)
class HalfLayer:
    """A kernel whose result is a float16: the `error` of float16 arithmetic, root mean square over that of the result,
    and the `largest` magnitude on the way to it, on sample inputs. `kept` says why it computes in float32."""

    kernel: str
    nodes: tuple[str, ...]
    error: float
    largest: float
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`halves` are the results that are computed in float16."""

    halves: frozenset[Tensor] = frozenset()
    layers: tuple[HalfLayer, ...] = ()
    note: str = ""


FLOATS = Arithmetic()
"""All arithmetic is float32."""

ChooseArithmetic = Callable[[Lowered, Set[Tensor]], Arithmetic]
"""The arithmetic of a model, of which these tensors are stored as float16."""


def in_floats(_: Lowered, __: Set[Tensor]) -> Arithmetic:
    """For devices, and precisions, without arithmetic of float16."""
    return FLOATS
