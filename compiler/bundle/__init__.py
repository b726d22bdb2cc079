"""The bundle on disk: the only code that depends on its format."""

from ..program.program import TensorSpec
from .artifact import VARIANTS, Artifact, DeviceArtifact, HostArtifact, KernelInfo, WasmArtifact
from .manifest import Manifest, make_manifest
from .place_memory import MemoryLayout, place_memory
from .write_bundle import WrittenFile, check_free, render_bundle, write_bundle

__all__ = [
    "VARIANTS",
    "Artifact",
    "DeviceArtifact",
    "HostArtifact",
    "KernelInfo",
    "Manifest",
    "MemoryLayout",
    "TensorSpec",
    "WasmArtifact",
    "WrittenFile",
    "check_free",
    "make_manifest",
    "place_memory",
    "render_bundle",
    "write_bundle",
]
