"""Packages of `make packages`: the same bytes from the same commit, wherever and whenever, and a bill of materials."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from made_tokenizers import need_package
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from webnn_compile.compile_page.components import components

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
AUTHOR = {f"GIT_{who}_{what}": "someone" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
DATES = {f"GIT_{who}_DATE": "2026-02-03T04:05:06Z" for who in ("AUTHOR", "COMMITTER")}


def build(folder: Path, umask: int, **env: str) -> dict[str, bytes]:
    """Packages from a commit of the working tree's tracked files in `folder`."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if name.startswith(("compiler/", "rpc/", "runtime-js/", "release/", "examples/vite")) or "/" not in name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_file():
                shutil.copyfile(ROOT / name, folder / name)
    git = ["git", "-c", "init.defaultBranch=main", "-c", "core.hooksPath="]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], cwd=folder, check=True, env=os.environ | AUTHOR | DATES, umask=umask)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    stale = folder / "build" / "lib" / "webnn_compile"
    stale.mkdir(parents=True)
    for left in (stale, folder / "compiler"):
        (left / f"left_behind_{umask}.py").write_text("")
    usual = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    command = [sys.executable, "-m", "release", "--out", "out"]
    done = subprocess.run(command, cwd=folder, env=usual | env, umask=umask, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], dict[str, bytes]]:
    need_package()
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    here = build(tmp_path_factory.mktemp("one"), 0o022, LC_ALL="C", TZ="UTC")
    far = build(
        tmp_path_factory.mktemp("of another name"), 0o077, LC_ALL="C.UTF-8", TZ="Asia/Tokyo", PYTHONHASHSEED="7"
    )
    return here, far


@pytest.fixture(scope="module")
def bill(builds: tuple[dict[str, bytes], dict[str, bytes]]) -> dict[str, Any]:
    (text,) = (data for name, data in builds[0].items() if name.endswith(".cdx.json"))
    found: dict[str, Any] = json.loads(text)
    return found


def test_equal_commits_are_equal_packages(builds: tuple[dict[str, bytes], dict[str, bytes]]) -> None:
    """Builds in different folders, with another umask, locale, time zone and other files in their way."""
    here, far = builds
    assert {name.rpartition(".")[2] for name in here} == {"whl", "tgz", "json"}
    assert {name: sha256(data).hexdigest() for name, data in here.items()} == {
        name: sha256(data).hexdigest() for name, data in far.items()
    }


def test_the_wheel_has_the_date_of_the_commit(
    builds: tuple[dict[str, bytes], dict[str, bytes]], tmp_path: Path, bill: dict[str, Any]
) -> None:
    (data,) = (data for name, data in builds[0].items() if name.endswith(".whl"))
    (tmp_path / "wheel").write_bytes(data)
    entries = ZipFile(tmp_path / "wheel").infolist()
    assert {entry.date_time for entry in entries} == {(2026, 2, 3, 4, 5, 6)}
    files = {"webnn_compile/tokenizers_js/dist/tokenizers.min.mjs", "webnn_compile/jinja_js/dist/index.js"}
    assert files <= {entry.filename for entry in entries}
    assert not [entry.filename for entry in entries if "left_behind_" in entry.filename]
    assert bill["metadata"]["timestamp"] == "2026-02-03T04:05:06+00:00"


def test_the_bill_is_valid_and_of_this_wheel(
    builds: tuple[dict[str, bytes], dict[str, bytes]], bill: dict[str, Any]
) -> None:
    from cyclonedx.schema import SchemaVersion  # here: importing it takes two seconds in each process of the tests
    from cyclonedx.validation.json import JsonStrictValidator

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is None
    (wheel,) = (data for name, data in builds[0].items() if name.endswith(".whl"))
    described = bill["metadata"]["component"]
    assert described["hashes"] == [{"alg": "SHA-256", "content": sha256(wheel).hexdigest()}]
    assert (described["name"], described["version"]) == (PROJECT["name"], PROJECT["version"])
    assert described["licenses"] == [{"license": {"id": PROJECT["license"]}}]


def test_the_bill_has_what_the_wheel_requires(bill: dict[str, Any]) -> None:
    listed = {part["name"]: part for part in bill["components"] if not part["bom-ref"].startswith("pkg:npm/")}
    for text in PROJECT["dependencies"]:
        wanted = Requirement(text)
        part = listed[wanted.name]
        assert part.get("scope", "required") == "required", text
        assert part["licenses"], text
        assert any(str(wanted.specifier) in p["value"] for p in part["properties"]), text
    for texts in PROJECT["optional-dependencies"].values():
        assert {Requirement(text).name for text in texts} - {"webnn-compile"} <= set(listed)
    assert listed["playwright"]["scope"] == "optional"
    copied = {p["name"]: (p["version"], p["group"]) for p in bill["components"] if p["bom-ref"].startswith("pkg:npm/")}
    packages = {
        name: ROOT / "node_modules" / "@huggingface" / name / "package.json" for name in ("tokenizers", "jinja")
    }
    packed = {name: json.loads(path.read_text())["version"] for name, path in packages.items()}
    assert copied == {name: (version, "@huggingface") for name, version in packed.items()}


def test_each_dependency_has_a_licence_whether_installed_or_not(bill: dict[str, Any]) -> None:
    from cyclonedx.spdx import is_expression, is_supported_id  # here: it takes a second in each process of the tests

    from release.licences import LICENCES

    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    wanted = {canonicalize_name(Requirement(text).name) for texts in groups for text in texts} - {PROJECT["name"]}
    assert wanted == set(LICENCES)
    known = {text for text in LICENCES.values() if is_supported_id(text) or is_expression(text)}
    assert set(LICENCES.values()) - known == {"LicenseRef-NVIDIA-Proprietary"}  # none of SPDX's list
    listed = {canonicalize_name(p["name"]): p["licenses"] for p in bill["components"] if p["bom-ref"] != "page"}
    assert {name: list(listed[name][0].values()) for name in ("torch", "cryptography")} == {
        "torch": [{"id": "BSD-3-Clause"}],
        "cryptography": ["Apache-2.0 OR BSD-3-Clause"],
    }
    for name, text in LICENCES.items():  # as installed packages state it, where they state an expression
        try:
            stated = metadata.metadata(name).get("License-Expression")
        except metadata.PackageNotFoundError:
            continue
        assert stated in (None, text), name


def test_the_bill_has_what_the_compile_page_ships(bill: dict[str, Any]) -> None:
    (page,) = (part for part in bill["components"] if part["bom-ref"] == "page")
    listed = {part["name"]: (part.get("version", ""), bool(part["licenses"])) for part in page["components"]}
    assert listed == {part.title: (part.version, True) for part in components()}
