"""The bundle on disk: the only code that depends on its format."""

from ..program.program import TensorSpec
from .artifact import (
    BYTE_VARIANTS,
    VARIANTS,
    Artifact,
    BundledAnswer,
    BundledGeneration,
    BundledText,
    DeviceArtifact,
    HostArtifact,
    KernelInfo,
    WasmArtifact,
)
from .files import BundleFile
from .folder import FolderKind, Others, WrittenFile, check_free, write_folder
from .functions import BundledFunction, check_function_names, check_functions_packaging, function_name, write_functions
from .manifest import SHARD_BYTES, Manifest, make_manifest
from .packaging import ESM, FORMATS, Packaging
from .place_memory import MemoryLayout, place_memory
from .sign_files import check_signature, public_key
from .text_packages import JINJA, TextPackage, find_package
from .write_bundle import BUNDLE, render_bundle, render_files, write_bundle

__all__ = [
    "BUNDLE",
    "BYTE_VARIANTS",
    "ESM",
    "FORMATS",
    "JINJA",
    "SHARD_BYTES",
    "VARIANTS",
    "Artifact",
    "BundleFile",
    "BundledAnswer",
    "BundledFunction",
    "BundledGeneration",
    "BundledText",
    "DeviceArtifact",
    "FolderKind",
    "HostArtifact",
    "KernelInfo",
    "Manifest",
    "MemoryLayout",
    "Others",
    "Packaging",
    "TensorSpec",
    "TextPackage",
    "WasmArtifact",
    "WrittenFile",
    "check_free",
    "check_function_names",
    "check_functions_packaging",
    "check_signature",
    "find_package",
    "function_name",
    "make_manifest",
    "place_memory",
    "public_key",
    "render_bundle",
    "render_files",
    "write_bundle",
    "write_folder",
    "write_functions",
]
