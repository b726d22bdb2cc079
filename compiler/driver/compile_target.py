"""The interface of a target: facts, and how a model is lowered, compiled and bundled for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import InputError
from ..pipeline.lowered import Lowered

if TYPE_CHECKING:
    from ..execution.c_model import CModel
    from ..execution.device_model import DeviceModel
    from ..execution.native_model import NativeModel
    from ..execution.wasm_model import WasmModel
    from ..pipeline.weights import Weights
    from .bundle_part import BundlePart
    from .optimise_model import Optimised
    from .work import Work
    from .write_alone import Writer

    CompiledModel = NativeModel | CModel | WasmModel | DeviceModel
    """A model that runs in this process."""


FAST_HALVES = "f16-fast"
PRECISIONS = ("f32", "f16", FAST_HALVES)
"""In the last two large weights are float16, and results between kernels on targets with `halves`."""


@dataclass(frozen=True, kw_only=True)
class CompileTarget(ABC):
    """A row of the table of targets, by its `name`.

    `preference`: a page uses the bundled target with the highest that its device can run; None for targets that are not
    bundled. `writer`: what a build for it alone writes in place of a bundle. `webassembly`: its part of a bundle is
    WebAssembly. `halves`: results between kernels are float16 under `--precision f16`.
    `precisions` are those that it supports. `threads`: in this process it runs on several threads. `stages`: the
    names for `--dump` of a kernel's stages, from the naive one to the text of its code. `about` says what runs it,
    `probe` on what it would run in this process, or raises InputError, which says what is missing.
    """

    name: str
    preference: int | None = None
    writer: Callable[[], Writer] | None = None
    webassembly: bool = False
    halves: bool = False
    precisions: tuple[str, ...] = PRECISIONS
    threads: bool = False
    stages: Callable[[], tuple[str, ...]] = tuple
    about: str = ""
    probe: Callable[[], str] | None = None

    def check_precision(self, precision: str) -> None:
        """InputError for one that it does not support."""
        if precision not in self.precisions:
            allowed = ", ".join(self.precisions)
            raise InputError(
                f"precision {precision!r} is not known for the target {self.name}; choose one of {allowed}"
            )

    @abstractmethod
    def lower(self, model: Optimised, work: Work) -> Lowered:
        """Naive kernels by the layout policy of the target."""

    @abstractmethod
    def compile(self, lowered: Lowered, work: Work) -> CompiledModel:
        """A model that runs in this process. Raises InputError where this machine lacks a requirement."""

    @abstractmethod
    def bundle(self, lowered: Lowered, weights: Weights, work: Work, model: Optimised | None = None) -> BundlePart:
        """The target's part of a bundle. Its constants are added to `weights` unless they are there. `model` is what
        was lowered, where other programs may be made of it."""
