"""A program's kernels, lowered on access: never, if their code is cached."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple
from typing import Any, overload

from ..choices import DEFAULT, Choices, key_of_choices
from ..ir.layout import Block, Layout
from ..ir.nodes import Kernel
from ..ir.printer import print_kernel
from ..system.cache import key_of
from ..system.recursion import deep_recursion
from ..target import Target


class LazyKernels(Sequence[Kernel]):
    """The results of functions, each called at most once."""

    def __init__(self, makers: Iterable[Callable[[], Kernel]]) -> None:
        self._makers = tuple(makers)
        self._kernels: dict[int, Kernel] = {}

    def __len__(self) -> int:
        return len(self._makers)

    @overload
    def __getitem__(self, at: int) -> Kernel: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Kernel]: ...

    def __getitem__(self, at: int | slice) -> Kernel | Sequence[Kernel]:
        if isinstance(at, slice):
            return [self[i] for i in range(len(self))[at]]
        number = range(len(self))[at]
        if number not in self._kernels:
            with deep_recursion():
                self._kernels[number] = self._makers[number]()
        return self._kernels[number]


def describe(naive: Kernel) -> str:
    """A text of all that the code of a naive kernel depends on besides its target."""
    layouts = [b.layout for b in naive.params]
    return f"{print_kernel(naive, named=False)}{layouts}"


def kernel_key(description: str, target: Target, opt_level: int, choices: Choices = DEFAULT) -> str:
    """The cache key of the compiled naive kernel of this description."""
    return key_of(description, target, opt_level, key_of_choices(choices))


LAYOUTS = "layouts"
"""The kind of cache entry that holds the layouts of a scheduled kernel's parameters."""

Layouts = tuple[Layout | None, ...]
"""The layouts of a kernel's parameters, by its schedule."""


def layouts_to_bytes(layouts: Iterable[Layout | None]) -> bytes:
    return json.dumps([None if x is None else astuple(x) for x in layouts]).encode()


def layouts_from_bytes(data: bytes) -> Layouts:
    return tuple(None if x is None else _layout(*map(_tuples, x)) for x in json.loads(data))


def _layout(shape: Any, order: Any, pad: Any, align: Any, blocks: Any) -> Layout:
    return Layout(shape, order, pad, align, tuple(Block(*b) for b in blocks))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
