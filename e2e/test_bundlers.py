"""A page that imports the bundle works after a production build by each bundler, as docs/deploying.md says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from compiled import PAGES, ROOT
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from device_artifacts import tiny_device_artifact
from documentation import documented_policy
from harness import RUN, open_page, outcome
from playwright.sync_api import Page
from server import serve
from tiny_artifact import tiny_weights
from webnn_compile.bundle import Packaging, public_key, write_bundle

DEPLOYING = (ROOT / "docs" / "deploying.md").read_text()
POLICY = documented_policy("deploying.md", "content-security-policy")
PROGRAMS = ROOT / "node_modules" / ".bin"
PAGE = "index.html"
LOAD = """
  const model = await bundle.load(argument);
  const { integrity } = model.info();
  await model.dispose();
  return integrity;
"""


def run(folder: Path, *command: str | Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def said(pattern: str) -> str:
    """The documentation's text about a bundler."""
    (found,) = re.findall(pattern, DEPLOYING)
    return str(found)


def page_of(folder: Path) -> Path:
    """dist/ with the page, whose script a bundler has put there as main.js, and nothing else."""
    (folder / "dist").mkdir(exist_ok=True)
    (folder / "dist" / PAGE).write_text((folder / PAGE).read_text().replace("./expose.js", "./main.js"))
    return folder / "dist"


def by_vite(folder: Path) -> Path:
    run(folder, PROGRAMS / "vite", "build", "--base", "./", "--logLevel", "warn")
    return folder / "dist"


def by_webpack(folder: Path, options: str = "") -> Path:
    """A warning is an error."""
    (folder / "build.mjs").write_text(
        f"""import webpack from '{(ROOT / "node_modules/webpack/lib/index.js").as_uri()}';
        const output = {{ path: {str(folder / "dist")!r}, filename: 'main.js' }};
        const optimization = {{ minimize: false }}; // takes long
        const input = {{ mode: 'production', context: {str(folder)!r}, entry: './expose.js' }};
        webpack({{ ...input, output, optimization, {options} }}, (error, stats) => {{
          if (!error && !stats.hasErrors() && !stats.hasWarnings()) return;
          console.error(error ?? stats.toString());
          process.exitCode = 1;
        }});"""
    )
    run(folder, "node", "build.mjs")
    return page_of(folder)


def by_webpack_with_modules_of_wasm(folder: Path) -> Path:
    """As Next and others set it."""
    return by_webpack(folder, "experiments: { asyncWebAssembly: true, topLevelAwait: true, layers: true }")


def by_esbuild(folder: Path) -> Path:
    command = said(r"\nesbuild (main\.js --bundle .*)\n")
    shutil.copy(folder / "expose.js", folder / "main.js")
    run(folder, "bash", "-fc", f"'{PROGRAMS / 'esbuild'}' {command}")
    return page_of(folder)


def by_rollup(folder: Path) -> Path:
    external = said(r"`(external: [^`]*)`")
    (folder / "rollup.config.mjs").write_text(
        f"export default {{ input: './expose.js', {external}, output: {{ file: './dist/main.js' }} }};"
    )
    run(folder, PROGRAMS / "rollup", "--config", "--silent")
    shutil.copytree(folder / "bundle", folder / "dist" / "bundle")
    return page_of(folder)


def by_parcel(folder: Path) -> Path:
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    (folder / "package.json").write_text(said(r'```json\n(\{ "@parcel.*\})\n```'))
    options = ("--no-cache", "--no-source-maps", "--public-url", "./", "--log-level", "warn")
    run(folder, PROGRAMS / "parcel", "build", PAGE, "--dist-dir", "dist", *options)
    return folder / "dist"


BUNDLERS: list[Callable[[Path], Path]] = [
    by_vite,
    by_webpack,
    by_webpack_with_modules_of_wasm,
    by_esbuild,
    by_rollup,
    by_parcel,
]


def build(folder: Path, bundler: Callable[[Path], Path], packaging: Packaging = Packaging()) -> Path:  # noqa: B008
    """A page with the bundle, as it is in production. Files are so small that vite makes data: URLs of them."""
    if not PROGRAMS.exists() or shutil.which("node") is None:
        message = "no bundlers: run `npm install` in the repository (needs Node.js 20.19 or later)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    (folder / "blank.html").rename(folder / PAGE)
    artifact = tiny_device_artifact("webgpu", "webgl", "wasm")
    write_bundle(artifact, folder / "bundle", packaging=packaging, shard_bytes=5000)
    return bundler(folder)


@pytest.mark.parametrize("bundler", BUNDLERS, ids=lambda bundler: bundler.__name__)
def test_production_build(page: Page, tmp_path: Path, bundler: Callable[[Path], Path]) -> None:
    """In a worker and without one, under the documented policy; but parcel's import map needs its hash there."""
    policy = POLICY.replace("'self'", "'self' 'unsafe-inline'", 1) if bundler is by_parcel else POLICY
    with serve(build(tmp_path, bundler), prefix="app", headers={"Content-Security-Policy": policy}) as site:
        open_page(page, site, "")
        w, c = tiny_weights(1024)
        for backend, worker, slope in (("wasm", True, 1), ("wasm", False, 1), ("webgl", True, 2)):
            options = {"backend": backend, "worker": worker}
            result = outcome(page, RUN, {"options": options, "values": [1] * 1024}).get("value")
            assert result is not None, outcome(page, RUN, {"options": options, "values": [1] * 1024})
            assert result["output"] == [max(0, value) for value in (w + slope * c).tolist()]
            assert (result["info"]["worker"], result["info"]["backend"]) == (worker, backend)
        paths = [path for path in site.requests if path != "/favicon.ico"]
        assert all(path.startswith("/app/") for path in paths)


@pytest.mark.parametrize("bundler", [by_vite, by_webpack, by_parcel], ids=lambda bundler: bundler.__name__)
def test_signed(page: Page, tmp_path: Path, bundler: Callable[[Path], Path]) -> None:
    """The list is checked, though its scripts are no more: with webpack and parcel they do not know where they lie."""
    key = tmp_path / "key.pem"
    key.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with serve(build(tmp_path, bundler, Packaging(sign=key)), prefix="app") as site:
        open_page(page, site, "")
        options = {"backend": "wasm", "publicKey": public_key(key)}
        assert outcome(page, LOAD, options)["value"] == "sha256, signed"
        other = outcome(page, LOAD, {**options, "publicKey": b64encode(bytes(range(32))).decode()})
        assert (other["name"], other["code"]) == ("IntegrityError", "altered")


def test_a_bundler_that_copies_nothing_is_named(page: Page, tmp_path: Path) -> None:
    """esbuild without its option: the script is whole, and alone."""

    def alone(folder: Path) -> Path:
        run(folder, PROGRAMS / "esbuild", "expose.js", "--bundle", "--format=esm", "--outfile=dist/main.js")
        return page_of(folder)

    with serve(build(tmp_path, alone)) as site:
        open_page(page, site, "")
        for worker, name in ((True, "WorkerError"), (False, "DownloadError")):
            refused = outcome(page, RUN, {"options": {"worker": worker}, "values": []})
            assert refused["name"] == name
            assert "esbuild and rollup must leave model.js external" in refused["message"]
