"""Bundles that take sounds: from whatever a page has, on every backend, as the Python reference prepares them."""

from __future__ import annotations

import json
import re
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from compiled import compile_site
from devices import need_backend, value
from harness import open_page, refusal
from onnx_models import model, node
from playwright.sync_api import Page, expect
from server import Site, serve
from webnn_compile.dtypes import F32
from webnn_compile.graph.ir import Value
from webnn_compile.sounds.formats import SOUNDS
from webnn_compile.sounds.prepare import Sound, open_sound, prepare
from webnn_compile.sounds.take_sounds import SoundInput, fit_sound

SHAPE = (1, 24, 40)
FORMAT = {"like": "whisper", "rate": 8000, "frame": 200, "hop": 80, "mels": 24, "fmax": 4000}
RATE = 44100
COUNTS = {"short": 300, "tone": 12000, "long": 30000}
"""Samples of files: less than a frame, half of the longest sound, more than that."""

SCRIPT = """
  const context = new OfflineAudioContext(2, 1, 44100);
  const file = await fetch(`./sounds/${argument.name}.wav`).then((response) => response.blob());
  const decoded = await context.decodeAudioData(await file.arrayBuffer());
  const [left, right] = [decoded.getChannelData(0), decoded.getChannelData(1)];
  const buffer = context.createBuffer(2, left.length, 44100);
  buffer.copyToChannel(left, 0);
  buffer.copyToChannel(right, 1);
  const sources = { AudioBuffer: buffer, Blob: file, arrays: { data: [left, right], rate: 44100 } };
  const model = await bundle.load({ backend: argument.backend });
  const results = {};
  for (const [kind, sound] of Object.entries(sources)) results[kind] = [...(await model.run({ x: sound })).y];
  const { backend } = model.info();
  await model.dispose();
  return { results, backend, samples: decoded.length };
"""


def target() -> SoundInput:
    return fit_sound(Value("x", SHAPE, F32), SOUNDS.of(FORMAT, "f"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with a model that returns what it is given, and sounds."""
    folder = tmp_path_factory.mktemp("sounds")
    onnx.save(model([node("Identity", ["x"], ["y"])], {"x": SHAPE}, ["y"]), folder / "net.onnx")
    (folder / "format.json").write_text(json.dumps(FORMAT))
    compile_site(folder / "net.onnx", folder / "site", "--sound", f"x={folder / 'format.json'}")
    (folder / "site" / "sounds").mkdir()
    generator = np.random.default_rng(0)
    for name, count in COUNTS.items():
        t = np.arange(count) / RATE
        tones = np.stack([0.3 * np.sin(2 * np.pi * 440 * t), 0.2 * np.sin(2 * np.pi * 1500 * t + 1)], axis=1)
        samples = tones + generator.normal(0, 0.03, (count, 2))
        with wave.open(str(folder / "site" / "sounds" / f"{name}.wav"), "wb") as file:
            file.setparams((2, 2, RATE, 0, "NONE", ""))
            file.writeframes(np.round(samples * 2**15).astype("<i2").tobytes())
    (folder / "site" / "sounds" / "text.wav").write_text("RIFF, but no sound, for as long as a header is")
    return folder / "site"


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Site]:
    with serve(folder) as made:
        yield made


def expected(folder: Path, name: str) -> np.ndarray:
    return prepare(open_sound(folder / "sounds" / f"{name}.wav"), target()).ravel()


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
def test_whatever_a_page_has(page: Page, site: Site, folder: Path, backend: str) -> None:
    open_page(page, site, "bundles.html?bundle")
    need_backend(page, backend)
    for name, count in COUNTS.items():
        got = value(page, SCRIPT, {"name": name, "backend": backend})
        assert (got["backend"], got["samples"]) == (backend, count)
        for kind, elements in got["results"].items():
            # Chromium divides samples above zero by 32767.
            np.testing.assert_allclose(elements, expected(folder, name), atol=1e-3, err_msg=f"{kind} {name}")


def test_samples_at_the_rate_of_the_model(page: Page, site: Site) -> None:
    open_page(page, site, "bundles.html?bundle")
    got = value(
        page,
        """
        const model = await bundle.load({ backend: 'wasm' });
        const { inputs, dimensions } = model;
        const { y } = await model.run({ x: Float32Array.from({ length: 3000 }, (_, i) => Math.sin(i * i / 3000)) });
        await model.dispose();
        return { inputs, dimensions, y: [...y] };
        """,
    )
    assert got["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["x_samples"], "sound": 8000}]
    assert got["dimensions"] == [{"name": "x_samples", "least": 1, "most": 3200, "multiple": 1}]
    want = prepare(Sound(np.sin(np.arange(3000.0) ** 2 / 3000), 8000), target())
    np.testing.assert_allclose(got["y"], want.ravel(), atol=2e-4)


def test_the_page_of_the_bundle_takes_a_file(page: Page, site: Site, folder: Path) -> None:
    page.goto(f"{site.url}bundle/index.html")
    expect(page.locator("#inputs td")).to_have_text("a sound")
    page.get_by_label("x: a sound").set_input_files(folder / "sounds" / "tone.wav")
    page.get_by_label("Runs").fill("1")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_have_text(re.compile("^Done"))
    shown = page.locator("#outputs td").inner_text().splitlines()[1]
    got = [float(text) for text in shown.removesuffix(", …").split(", ")]
    np.testing.assert_allclose(got, expected(folder, "tone")[:10], atol=2e-4)


def test_the_page_of_the_bundle_records(page: Page, site: Site) -> None:
    """A stream of a tone stands for the microphone."""
    page.goto(f"{site.url}bundle/index.html")
    page.evaluate(
        """
        () => {
          navigator.mediaDevices.getUserMedia = async () => {
            const context = new AudioContext();
            const tone = context.createOscillator();
            const { stream } = tone.connect(context.createMediaStreamDestination());
            tone.start();
            return stream;
          };
        }
        """
    )
    page.get_by_label("Runs").fill("1")
    page.get_by_role("button", name="Record x").click()
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Stop x").click()
    expect(page.get_by_role("button", name="Record x")).to_be_visible()
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("status")).to_have_text(re.compile("^Done"))
    page.evaluate("() => { navigator.mediaDevices.getUserMedia = async () => { throw new Error('refused') } }")
    page.get_by_role("button", name="Record x").click()
    expect(page.get_by_role("status")).to_have_text("Error: refused")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("3", "expected a sound (AudioBuffer or Blob), { data, rate } with the samples"),
        ("new Float32Array(0)", "the sound has no samples"),
        ("{ data: new Float32Array(4), rate: 44.1 }", "its rate must be a whole number of samples in a second"),
        ("Float32Array.of(0, NaN)", "sample 1 is NaN: replace it"),
        ("new Blob(['no sound'])", "the file is no sound that can be decoded here"),
        ("await fetch('./sounds/text.wav').then((r) => r.blob())", "the file is no sound that can be decoded here"),
    ],
)
def test_mistakes(page: Page, site: Site, expression: str, message: str) -> None:
    assert message in refusal(page, site, expression)
