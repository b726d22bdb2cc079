"""The part of a bundle for one target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..bundle import DeviceArtifact, WasmArtifact


class BundlePart(Protocol):
    """A WasmBuild or a DeviceBuild."""

    @property
    def artifact(self) -> DeviceArtifact | WasmArtifact: ...
