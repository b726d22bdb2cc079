"""Signed bundles in browsers: `load({ publicKey })` takes no file that its key has not signed."""

from __future__ import annotations

import shutil
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from compiled import PAGES
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from device_artifacts import tiny_device_artifact
from harness import open_page, outcome
from playwright.sync_api import Page
from server import Fault, Site, serve
from tiny_artifact import tiny_artifact
from webnn_compile.bundle import Packaging, public_key, write_bundle

LOAD = """
  const model = await bundle.load({ worker: false, ...argument });
  const result = { backend: model.backend, integrity: model.info().integrity };
  await model.dispose();
  return result;
"""


@dataclass(frozen=True)
class Signed:
    """A site with a signed bundle, and its key."""

    site: Site
    folder: Path
    key: str


@pytest.fixture(scope="module", params=["esm", "iife"])
def signed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Signed]:
    folder = tmp_path_factory.mktemp("signed")
    shutil.copytree(PAGES, folder / "site", dirs_exist_ok=True)
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "key.pem").write_bytes(pem)
    packaging = Packaging(request.param, sign=folder / "key.pem")
    write_bundle(tiny_device_artifact("webgl", "wasm"), folder / "site" / "bundle", packaging=packaging)
    with serve(folder / "site") as site:
        yield Signed(site, folder, public_key(folder / "key.pem"))


@pytest.fixture
def opened(page: Page, signed: Signed) -> Page:
    signed.site.faults = {}
    scripts = (signed.folder / "site" / "bundle").glob("load-*.js")
    open_page(page, signed.site, "blank.html" if any(scripts) else "classic.html")
    return page


@pytest.mark.parametrize("worker", [True, False])
def test_the_right_key(opened: Page, signed: Signed, worker: bool) -> None:
    result = outcome(opened, LOAD, {"publicKey": signed.key, "backend": "wasm", "worker": worker})
    assert result["value"] == {"backend": "wasm", "integrity": "sha256, signed"}
    assert outcome(opened, LOAD, {"backend": "wasm"})["value"]["integrity"] == "sha256"


def test_another_key(opened: Page, signed: Signed) -> None:
    signed.site.requests.clear()
    result = outcome(opened, LOAD, {"publicKey": b64encode(bytes(range(32))).decode(), "backend": "wasm"})
    assert (result["name"], result["code"]) == ("IntegrityError", "altered")
    assert "signature.txt is not signed by the publicKey of load" in result["message"]
    assert [path.rpartition("/")[2] for path in signed.site.requests] == ["signature.txt"], "something came before"


FAULTS: dict[str, str] = {
    "weights-*.bin": "its sha256 is not",
    "*.wasm": "its sha256 is not",
    "webgl-*.txt": "its sha256 is not",
    "signature.txt": "is not signed by the publicKey of load",
}


@pytest.mark.parametrize("file", FAULTS)
@pytest.mark.parametrize("fault", ["alter", "truncate"])
def test_a_changed_byte(opened: Page, signed: Signed, file: str, fault: Fault) -> None:
    signed.site.faults = {file: fault}
    backend = "webgl" if file.startswith("webgl") else "wasm"
    result = outcome(opened, LOAD, {"publicKey": signed.key, "backend": backend})
    assert result.get("name") == "IntegrityError", result
    assert (FAULTS[file] if fault == "alter" or file == "signature.txt" else "bytes, got") in result["message"]


def test_a_script_that_was_changed(opened: Page, signed: Signed) -> None:
    if not any((signed.folder / "site" / "bundle").glob("backend_*.js")):
        pytest.skip("a classic script has no others")
    signed.site.faults = {"backend_wasm-*.js": "alter"}
    result = outcome(opened, LOAD, {"publicKey": signed.key, "backend": "wasm"})
    assert (result["name"], result["code"]) == ("IntegrityError", "altered")
    assert "backend_wasm-" in result["message"]
    assert "is not a file that was signed with this bundle (bundlers' development servers rewrite" in result["message"]


@pytest.mark.parametrize(("fault", "got"), [("missing", "answered 404"), ("html", "sent text/html")])
def test_a_script_that_is_not_there(opened: Page, signed: Signed, fault: Fault, got: str) -> None:
    (script, *_) = [*(signed.folder / "site" / "bundle").glob("worker_wasm-*.js"), None]
    if script is None:
        pytest.skip("a classic script has no others")
    signed.site.faults = {script.name: fault}
    result = outcome(opened, LOAD, {"publicKey": signed.key, "backend": "wasm", "worker": True})
    assert (result["name"], result["code"]) == ("DownloadError", "http")
    assert result["message"].startswith(f"the server {got}")
    assert f"{script.name}: is the whole bundle there?" in result["message"]


def test_scripts_that_a_bundler_made_of_them(page: Page, signed: Signed, tmp_path: Path) -> None:
    """They have other names, and none lies where the list has one."""
    shutil.copytree(signed.folder / "site", tmp_path / "site")
    out = tmp_path / "site" / "bundle"
    names = [path.name for path in out.glob("*-*.js")]
    if not any(name.startswith("load-") for name in names):
        pytest.skip("a classic script is not bundled")
    for path in [*out.glob("*-*.js"), out / "model.js"]:
        text = path.read_text()
        path.unlink()
        for name in names:
            text = text.replace(name, f"app_{name}")
        (out / (f"app_{path.name}" if path.name in names else path.name)).write_text(text)
    with serve(tmp_path / "site") as site:
        open_page(page, site)
        result = outcome(page, LOAD, {"publicKey": signed.key, "backend": "wasm"})
    assert result["value"]["integrity"] == "sha256, signed"


def test_files_of_another_bundle_with_its_own_hashes(page: Page, signed: Signed, tmp_path: Path) -> None:
    """A folder in which all but the signature is of a bundle that the key has not signed."""
    shutil.copytree(PAGES, tmp_path / "site")
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "other.pem").write_bytes(pem)
    out = tmp_path / "site" / "bundle"
    write_bundle(tiny_artifact(), out, packaging=Packaging(sign=tmp_path / "other.pem"), shard_bytes=3000)
    shutil.copy(signed.folder / "site" / "bundle" / "signature.txt", out)
    with serve(tmp_path / "site") as site:
        open_page(page, site)
        result = outcome(page, LOAD, {"publicKey": signed.key})
    assert (result["name"], result["code"]) == ("IntegrityError", "altered")
    assert "is not a file that was signed with this bundle" in result["message"]


@pytest.mark.parametrize("key", ["", "AAAA", "no base64!", 5, None])
def test_what_is_no_key(opened: Page, key: object) -> None:
    result = outcome(opened, LOAD, {"publicKey": key, "backend": "wasm"})
    assert result["name"] == "TypeError"
    assert "publicKey: expected the 32 bytes of a key in base64, as webnn-compile --sign prints it" in result["message"]


def test_a_key_that_is_undefined_is_none(opened: Page) -> None:
    """As of a variable that is not set: nothing is loaded unchecked."""
    result = outcome(opened, "return bundle.load({ publicKey: undefined })")
    assert (result["name"], result["message"][:20]) == ("TypeError", "publicKey: expected ")


def test_a_browser_without_ed25519(opened: Page, signed: Signed) -> None:
    opened.evaluate(
        "() => { crypto.subtle.importKey = async () => { throw new DOMException('unknown', 'NotSupportedError') } }"
    )
    result = outcome(opened, LOAD, {"publicKey": signed.key, "backend": "wasm"})
    assert (result["name"], result["code"]) == ("UnsupportedError", "signature")
    assert "this browser has no Ed25519 (unknown)" in result["message"]


def test_outside_a_secure_context(opened: Page, signed: Signed) -> None:
    opened.evaluate("() => Object.defineProperty(crypto, 'subtle', { value: undefined })")
    result = outcome(opened, LOAD, {"publicKey": signed.key, "backend": "wasm"})
    assert (result["name"], result["code"]) == ("UnsupportedError", "signature")
    assert "not served over https" in result["message"]


def test_a_bundle_that_is_not_signed(page: Page, site: Site) -> None:
    open_page(page, site)
    result = outcome(page, LOAD, {"publicKey": b64encode(bytes(32)).decode()})
    assert result["name"] == "TypeError"
    assert 'load has no option "publicKey"' in result["message"]
