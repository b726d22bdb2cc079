"""The part of a bundle for one target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..bundle import DeviceArtifact, WasmArtifact
    from ..pipeline.plan_kernels import KernelPlan
    from .profiles import Named


class BundlePart(Protocol):
    """A WasmBuild or a DeviceBuild; `plan` has the choices of its kernels, `timed` are the steps that a profile has."""

    @property
    def artifact(self) -> DeviceArtifact | WasmArtifact: ...

    @property
    def plan(self) -> KernelPlan: ...

    @property
    def timed(self) -> Sequence[Named]: ...
