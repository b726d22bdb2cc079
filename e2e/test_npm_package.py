"""A bundle as a package of npm: packed, installed, and imported by its name, under tools without configuration."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from compiled import PAGES, ROOT
from device_artifacts import tiny_device_artifact
from devices import C, W
from harness import RUN, open_page, outcome
from playwright.sync_api import Page, expect
from server import Site, serve
from test_bundlers import PROGRAMS, by_vite, by_webpack
from webnn_compile.bundle import Packaging, write_bundle

NEEDED = ("vite", "webpack", "react", "react-dom", "scheduler")


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that npm publishes of the package, in a folder."""
    missing = [name for name in NEEDED if not (ROOT / "node_modules" / name).exists()]
    if shutil.which("npm") is None or missing:
        message = (
            f"no {', '.join(missing) or 'npm'}: run `npm install` in the repository (needs Node.js 20.19 or later)"
        )
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    folder = tmp_path_factory.mktemp("npm")
    artifact = tiny_device_artifact("webgpu", "webgl", "wasm")
    write_bundle(artifact, folder / "bundle", shard_bytes=5000, packaging=Packaging("npm"))
    done = subprocess.run(["npm", "pack", "--offline"], cwd=folder / "bundle", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shutil.unpack_archive(folder / "bundle" / "tiny-1.0.0.tgz", folder)
    return folder / "package"


@pytest.fixture
def project(packed: Path, tmp_path: Path) -> Path:
    """A project with a page that imports the package, which is a folder of node_modules as npm makes it."""
    shutil.copytree(PAGES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "blank.html").rename(tmp_path / "index.html")
    (tmp_path / "package.json").write_text(json.dumps({"type": "module", "dependencies": {"tiny": "1.0.0"}}))
    script = tmp_path / "expose.js"
    script.write_text(script.read_text().replace("'./bundle/model.js'", "'tiny'"))
    shutil.copytree(packed, tmp_path / "node_modules" / "tiny")
    for name in NEEDED[2:]:
        (tmp_path / "node_modules" / name).symlink_to(ROOT / "node_modules" / name)
    return tmp_path


@contextlib.contextmanager
def developing(project: Path) -> Iterator[Site]:
    """vite's server for development, which makes modules of its own of packages."""
    command = [PROGRAMS / "vite", "--port", "0", "--host", "127.0.0.1", "--clearScreen", "false"]
    with subprocess.Popen(command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        try:
            assert running.stdout is not None
            lines = []
            for line in running.stdout:
                lines.append(line)
                if found := re.search(r"http://127\.0\.0\.1:\d+/", re.sub(r"\x1b\[[0-9;]*m", "", line)):
                    break
            else:
                pytest.fail("".join(lines))
            yield Site(found[0])
        finally:
            running.terminate()


def runs(page: Page) -> None:
    """In a worker and without one."""
    for worker in (True, False):
        options = {"backend": "wasm", "worker": worker}
        result = outcome(page, RUN, {"options": options, "values": [1] * 1024})
        assert "value" in result, result
        assert result["value"]["info"]["worker"] is worker


@pytest.mark.parametrize("bundler", [by_vite, by_webpack], ids=lambda bundler: bundler.__name__)
def test_production_build(page: Page, project: Path, bundler: Callable[[Path], Path]) -> None:
    with serve(bundler(project), prefix="app") as site:
        open_page(page, site, "")
        runs(page)


def test_development(page: Page, project: Path) -> None:
    with developing(project) as site:
        open_page(page, site, "")
        runs(page)
        page.goto("about:blank")


def test_a_component_of_react(page: Page, project: Path) -> None:
    """With the lines of the package's README, and effects that run twice."""
    readme = (project / "node_modules" / "tiny" / "README.md").read_text()
    (effect,) = re.findall(r"```js\n(useEffect.*?)```", readme, re.DOTALL)
    (project / "expose.jsx").write_text(
        f"""import {{ StrictMode, useEffect, useState }} from 'react';
        import {{ createRoot }} from 'react-dom/client';
        import {{ load }} from 'tiny';

        function Model() {{
          const [model, setModel] = useState();
          const [error, setError] = useState();
          const [output, setOutput] = useState('');
          {effect}
          const run = async () => {{
            const {{ output }} = await model.run({{ input: new Float32Array(1024).fill(1) }});
            setOutput(output.slice(0, 8).join());
          }};
          if (error) return <p id="failed">{{error.message}}</p>;
          return <button id="run" disabled={{!model}} onClick={{run}}>{{output || 'run'}}</button>;
        }}
        const root = document.body.appendChild(document.createElement('div'));
        createRoot(root).render(<StrictMode><Model /></StrictMode>);
        """
    )
    (project / "index.html").write_text((project / "index.html").read_text().replace("./expose.js", "./expose.jsx"))
    with developing(project) as site:
        page.goto(site.url)
        page.click("#run:enabled")
        expect(page.locator("#run")).not_to_have_text("run")
        got = [float(text) for text in (page.text_content("#run") or "").split(",")]
        page.goto("about:blank")
    assert got in [(W + slope * C).clip(0)[:8].tolist() for slope in (1, 2)]  # of the backend that it took
