"""The wheel's bill of materials, as CycloneDX 1.6 in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import Message
from hashlib import sha256
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5
from zipfile import ZipFile

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from webnn_compile.compile_page.components import components

from .licences import LICENCES


def write_bill(wheel: Path, source: Path, epoch: int) -> Path:
    """Writes NAME-VERSION.cdx.json beside the wheel: the wheel and its hash, the packages that it requires, with ranges
    of versions, the script that it has a copy of, and what `webnn-compile-page` fetches and ships, with versions.

    `source` is the tree that the wheel was built from, `epoch` its date. Equal wheels have equal bills.
    """
    digest, described = sha256(wheel.read_bytes()).hexdigest(), read_metadata(wheel)
    name, version = described["Name"], described["Version"]
    root = Component(
        name=name,
        version=version,
        type=ComponentType.APPLICATION,
        bom_ref=f"pkg:pypi/{name}@{version}",
        purl=PackageURL("pypi", name=name, version=version),
        description=described["Summary"],
        licenses=licences(described["License-Expression"]),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest)],
    )
    requirements = map(Requirement, described.get_all("Requires-Dist") or ())
    required = (of_requirement(r) for r in requirements if r.name != name)  # without extras of extras
    copied = sorted((source / "compiler").glob("*_js/package.json"))
    parts = [*merged(required), *map(of_npm, copied), of_page()]
    bom = Bom(components=parts, serial_number=uuid5(NAMESPACE_URL, f"sha256:{digest}"))
    bom.metadata = BomMetaData(component=root, timestamp=datetime.fromtimestamp(epoch, UTC))
    bom.register_dependency(root, parts)
    to = wheel.with_name(f"{'-'.join(wheel.name.split('-')[:2])}.cdx.json")
    # Indented and sorted here: the order of the library's output is that of its sets.
    to.write_text(json.dumps(json.loads(JsonV1Dot6(bom).output_as_string()), indent=1, sort_keys=True) + "\n")
    return to


def read_metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def of_requirement(requirement: Requirement) -> Component:
    """A package that the wheel requires, or that one of its extras does: these are optional. Raises KeyError for one
    without a licence in LICENCES."""
    optional = "extra" in str(requirement.marker or "")
    return Component(
        name=requirement.name,
        bom_ref=f"pkg:pypi/{requirement.name.lower()}",
        purl=PackageURL("pypi", name=requirement.name.lower()),
        scope=ComponentScope.OPTIONAL if optional else ComponentScope.REQUIRED,
        licenses=licences(LICENCES[canonicalize_name(requirement.name)]),
        properties=[Property(name="webnn-compile:requirement", value=str(requirement))],
    )


def merged(required: Iterable[Component]) -> Iterator[Component]:
    """One component of each package, required where any requirement is, with all requirements."""
    found: dict[str, Component] = {}
    for component in required:
        first = found.setdefault(component.name, component)
        first.properties.update(component.properties)
        if component.scope is ComponentScope.REQUIRED:
            first.scope = component.scope
    return iter(found.values())


def of_npm(described_by: Path) -> Component:
    """A package of npm that the wheel has a copy of, by its package.json."""
    described = json.loads(described_by.read_text(encoding="utf-8"))
    group, _, name = described["name"].partition("/")
    version = described["version"]
    address = PackageURL("npm", namespace=group, name=name, version=version)
    return Component(
        name=name,
        group=group,
        version=version,
        bom_ref=str(address),
        purl=address,
        licenses=licences(described["license"]),
    )


def of_page() -> Component:
    """The folder that `webnn-compile-page` writes: its parts of others are no files of the wheel."""
    shipped = [
        Component(
            name=part.title,
            version=part.version or None,
            bom_ref=f"page/{part.title}",
            purl=PackageURL.from_string(part.package) if part.package else None,
            licenses=licences(part.licence),
            properties=[Property(name="webnn-compile:files", value=part.files)],
        )
        for part in components()
    ]
    return Component(
        name="compile page",
        type=ComponentType.APPLICATION,
        bom_ref="page",
        scope=ComponentScope.OPTIONAL,
        description="Written by webnn-compile-page, which fetches the parts of others.",
        components=shipped,
    )


def licences(text: str) -> list[License]:
    return [LicenseFactory().make_from_string(text)]
