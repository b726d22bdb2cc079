"""A compiled model as a folder of static files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..program.device_program import HostCall, Launch
from .artifact import Artifact, DeviceArtifact, WasmArtifact
from .compress_files import compressed
from .files import SIGNATURE, TEXT, BundleFile, foreign_files, hashed_file, is_bundle
from .folder import FolderKind, WrittenFile, write_folder
from .isolation import isolate_page, isolation_files
from .link_runtime import keep_parts, link_runtime, read_runtime, relink
from .manifest import SHARD_BYTES, Manifest, make_manifest
from .merge_modules import exported_names, merge_modules
from .packaging import ESM, Packaging
from .render_card import render_card
from .render_entry import render_entry
from .render_package import package_files
from .render_script import render_page_script, render_script, render_script_page, render_whole
from .render_types import render_types, types_of_script
from .sign_files import sign_files
from .single_file import PAGE_GLOBAL, check_inline, render_single_page
from .text_packages import text_package_files

PACKAGE = b'{ "type": "module", "main": "./model.js", "types": "./model.d.ts" }\n'
"""In Node.js scripts are modules where the nearest package.json says so, which may be that of a CommonJS project. Tools
find the types where the folder itself is imported."""

PAGE = ("page.js", "page.css", "page.svg")

BUNDLE = FolderKind("bundle", is_bundle, foreign_files)


def write_bundle(
    artifact: Artifact,
    out: Path,
    *,
    force: bool = False,
    isolation: bool = False,
    packaging: Packaging = ESM,
    shard_bytes: int = SHARD_BYTES,
) -> list[WrittenFile]:
    """Write the bundle into the folder `out` atomically: it is written beside `out` and renamed.

    Same artifact, same bytes. `force` replaces a folder that holds a bundle and nothing else.
    InputError when `out` is taken or cannot be written, or the model exceeds wasm32's 4 GiB.
    """
    files = render_bundle(artifact, isolation=isolation, packaging=packaging, shard_bytes=shard_bytes)
    return write_folder(files, out, BUNDLE, force=force)


def render_bundle(
    artifact: Artifact, *, isolation: bool = False, packaging: Packaging = ESM, shard_bytes: int = SHARD_BYTES
) -> list[BundleFile]:
    """The files of the bundle, model.js first; no two have one name. `isolation` adds the files for threads."""
    return render_files(artifact, make_manifest(artifact, shard_bytes), isolation=isolation, packaging=packaging)


def optional_parts(artifact: Artifact) -> Iterator[str]:
    """The parts that this model needs of files whose lines are parts."""
    if artifact.dimensions:
        yield "sizes"
    if artifact.states:
        yield from ("states", "showState", "webgpuStates")
    if any(d.window is not None for d in artifact.dimensions):
        yield "newest"
    if artifact.pictures or artifact.sounds:
        yield "fileInputs"
    if artifact.pictures:
        yield "pictures"
    if artifact.sounds:
        yield from ("recordSound", "sounds")
    if artifact.answers:
        yield from ("answers", "showAnswer", *(answer.kind for answer in artifact.answers))
    if artifact.golden:
        yield "selfTest"
    if artifact.generation is not None:
        yield from ("ahead", "generate", "offerGenerating")
        if artifact.text is not None:
            yield "pieces"
        if artifact.generation.chat:
            yield "chat"
    if artifact.tokenizers:
        yield "tokenizers"
    if artifact.text is not None:
        yield from ("texts", "askText")
    modules = [part for part in artifact.backends if isinstance(part, WasmArtifact)]
    if modules:
        yield from ("listVariants", "mailboxes", "startThreads")
    if any(part.in_bytes for part in modules):
        yield "bytes"
    devices = [part for part in artifact.backends if isinstance(part, DeviceArtifact)]
    if devices:
        yield from ("finite", "hasNonFinite")
    # Outputs of compute kernels may stay on the device.
    if any(k.declarations is None for part in devices for k in part.program.kernels):
        yield "buffers"
    if any(part.host is not None for part in devices):
        yield "host"
    has_canaries = any(part.program.canaries for part in devices)
    if has_canaries or any(part.canaries for part in modules):
        yield "canaries"
    if has_canaries and len(artifact.backends) > 1:
        yield "next"
    checked = any(part.references is not None for part in devices)
    if checked or has_canaries:
        yield "trials"
    if any(k.with_subgroups is not None for part in devices for k in part.program.kernels):
        yield "subgroups"
    if any(part.program.alternatives for part in devices):
        yield "alternatives"
    if checked:
        yield from ("check", "checkCheckOptions", "copied", "kernelCheck")
    if not all(isinstance(step, Launch | HostCall) for part in devices for step in part.program.steps):
        yield "playStructure"
    # Compute kernels take scalars from a buffer; fragment shaders have them among their declarations.
    if any(k.scalars and k.declarations is None for part in devices for k in part.program.kernels):
        yield "createUniforms"


def render_files(
    artifact: Artifact, manifest: Manifest, *, isolation: bool = False, packaging: Packaging = ESM
) -> list[BundleFile]:
    """The files of a bundle, from an artifact whose manifest is known."""
    if packaging.single_file:
        artifact = replace(artifact, golden=b"")  # a page from a disk can fetch no file
    if packaging.sign is not None:
        manifest = manifest.signed()
    parts = [*optional_parts(artifact), *packaging.parts]
    sources = keep_parts(read_runtime(), [part.backend for part in artifact.backends], parts)
    golden = hashed_file("golden", TEXT, artifact.golden, "page") if artifact.golden else None
    sources["index.html"] = render_card(sources["index.html"], artifact, packaging, manifest.files, golden)
    if isolation:
        sources["index.html"] = isolate_page(sources["index.html"])
    types = render_types(artifact, sources["model.d.ts"])
    render = _script_files if packaging.format == "iife" else _module_files
    if packaging.single_file:
        render = _whole_files
    files = [*render(artifact, manifest, sources, types, packaging), *([golden] if golden is not None else [])]
    if isolation:
        files += isolation_files(sources)
    if not packaging.single_file:
        files += manifest.files
    files = list({file.name: file for file in files}.values())
    unsigned = [] if packaging.sign is None else [BundleFile(SIGNATURE, b"", "program")]
    if packaging.format == "npm":
        elsewhere = (*manifest.files, *unsigned) if packaging.base_url else ()
        files = package_files(artifact, [*files, *unsigned], packaging.licence, elsewhere)
    return finished(files, packaging)


def finished(files: Sequence[BundleFile], packaging: Packaging) -> list[BundleFile]:
    """The files, those that are compressed, and the signature of all."""
    whole = [*files, *compressed(files, packaging.compress)]
    return whole if packaging.sign is None else sign_files(whole, packaging.sign)


def _module_files(
    artifact: Artifact, manifest: Manifest, sources: Mapping[str, str], types: str, packaging: Packaging
) -> Iterator[BundleFile]:
    """ES modules."""
    merged = merge_modules(sources)
    runtime = link_runtime(merged, ("load.js", *PAGE))
    packages = packaging.text_packages
    entry = render_entry(manifest, runtime, _classes(sources), packaging.base_url, packages)
    yield BundleFile("model.js", entry.encode(), "entry")
    yield BundleFile("model.d.ts", types.encode(), "types")
    yield BundleFile("package.json", PACKAGE, "entry")
    yield BundleFile("index.html", relink(merged["index.html"], runtime.__getitem__).encode(), "page")
    yield from (*runtime.values(), *text_package_files(packages))


def _script_files(
    artifact: Artifact, manifest: Manifest, sources: Mapping[str, str], types: str, packaging: Packaging
) -> Iterator[BundleFile]:
    """One classic script, and another one for the bundle's own page."""
    name = packaging.global_of(artifact.name)
    looks = link_runtime(sources, ("page.css", "page.svg"))
    script = render_page_script(sources, name)
    entry = render_script(manifest, sources, _classes(sources), name, packaging.base_url, packaging.text_packages)
    yield BundleFile("model.js", entry.encode(), "entry")
    yield BundleFile("model.d.ts", types_of_script(types, name).encode(), "types")
    yield BundleFile("index.html", render_script_page(sources["index.html"], looks, script).encode(), "page")
    yield from (script, *looks.values())


def _whole_files(
    artifact: Artifact, manifest: Manifest, sources: Mapping[str, str], types: str, packaging: Packaging
) -> Iterator[BundleFile]:
    """A script and a page, each with all of the model."""
    check_inline(manifest, artifact.weight_types)
    name = packaging.global_of(artifact.name) if packaging.format == "iife" else None
    classes = _classes(sources)

    def whole(name: str | None) -> str:
        return render_whole(manifest, sources, classes, name, packaging.text_packages)

    page = render_single_page(sources["index.html"], sources, whole(PAGE_GLOBAL))
    yield BundleFile("model.js", whole(name).encode(), "entry")
    own = types if name is None else types_of_script(types, name, alone=True)
    yield BundleFile("model.d.ts", own.encode(), "types")
    if name is None:
        yield BundleFile("package.json", PACKAGE, "entry")
    yield BundleFile("index.html", page.encode(), "page")


def _classes(sources: Mapping[str, str]) -> list[str]:
    return [name for name in exported_names(sources["errors.js"]) if name[0].isupper()]
