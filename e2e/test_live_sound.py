"""The example that listens: probabilities are those of Python, by shared memory and by messages, and the page hears a
microphone and its test signal."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from check_pages import Seen, check_pages, need_axe
from compiled import ROOT
from documentation import blocks
from harness import browser_name
from playwright.sync_api import Browser, Page, expect
from server import ISOLATION, Site, serve
from shared_pages import SharedPages, need_browser
from silero import RATE, SHAPES, model_path
from silero import chunks as spoken
from webnn_compile.cli.command import main as compile_command

EXAMPLE = ROOT / "examples" / "live-sound"
READY = "body[data-state=ready]"
SPOKEN = 100
"""Chunks of speech: the audio context plays them at once, and the ring has room for 128."""

HEAR = """async ([samples, rate, most]) => {
  const { connect } = await import('./connect.js');
  const worker = new Worker('./worker.js', { type: 'module' });
  const next = () => new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message));
  });
  const { info } = await next();
  const context = new OfflineAudioContext(1, samples.length, rate);
  const buffer = context.createBuffer(1, samples.length, rate);
  buffer.copyToChannel(Float32Array.from(samples), 0);
  const source = new AudioBufferSourceNode(context, { buffer });
  const { shared } = await connect(source, worker);
  const scores = [];
  let lost = 0;
  const all = new Promise((resolve) => {
    worker.onmessage = ({ data }) => {
      scores.push([...data.scores]);
      lost = data.lost;
      if (scores.length === most) resolve();
    };
  });
  source.start();
  await context.startRendering();
  await all;
  worker.terminate();
  return { scores, shared, lost, backend: info.backend, worker: info.worker };
}"""
"""Scores, by the worker, of each chunk of samples that an audio context plays as fast as it can."""

MICROPHONE = """() => {
  navigator.mediaDevices.getUserMedia = async () => {
    const context = new AudioContext();
    const stream = context.createMediaStreamDestination();
    const whistle = new OscillatorNode(context, { frequency: 1500 });
    whistle.connect(new GainNode(context, { gain: 0.2 })).connect(stream);
    whistle.start();
    return stream.stream;
  };
}"""
"""In place of a microphone, a whistle without an end."""


def compiled(folder: Path, model: Path, *options: str) -> Path:
    """The example's page with a model in place of its own."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("bundle"))
    command = [str(model), "--out", str(folder / "bundle"), "--targets", "wasm", *options]
    compile_command.main(command, standalone_mode=False)
    return folder


def documented(part: str) -> list[str]:
    """The options of the command in the example's README that has this text, without its model and its folder."""
    texts = [b.text.replace("\\\n", " ") for b in blocks(EXAMPLE / "README.md") if b.language == "sh"]
    (command,) = (line for text in texts for line in text.splitlines() if part in line)
    return command.split("--out bundle ")[1].replace("'", "").split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("live-sound") / "page"
    return compiled(made, EXAMPLE / "listener.onnx", *documented("listener.onnx"))


@pytest.fixture(scope="module", params=["shared memory", "messages"])
def site(request: pytest.FixtureRequest, folder: Path) -> Iterator[Site]:
    with serve(folder, headers=ISOLATION if request.param == "shared memory" else None) as served:
        yield served


def heard(page: Page, site: Site, samples: np.ndarray[Any, Any], count: int, rate: int = RATE) -> dict[str, Any]:
    page.goto(site.url)
    page.wait_for_selector(READY)
    found: dict[str, Any] = page.evaluate(HEAR, [samples.ravel().tolist(), rate, count])
    return found


@pytest.mark.fresh_page
def test_probabilities_are_those_of_python(page: Page, site: Site, folder: Path) -> None:
    sys.path.insert(0, str(EXAMPLE))
    try:
        from sounds import make_clip
    finally:
        sys.path.remove(str(EXAMPLE))
    samples, labels = make_clip(np.random.default_rng(77), 60)
    session = onnxruntime.InferenceSession(str(EXAMPLE / "listener.onnx"), providers=["CPUExecutionProvider"])
    kept = {i.name: np.zeros(i.shape, np.float32) for i in session.get_inputs()[1:]}
    expected = []
    for chunk in samples:
        scores, *after = session.run(None, {"samples": chunk[None], **kept})
        kept = dict(zip(kept, after, strict=True))
        expected.append(scores[0])
    found = heard(page, site, samples, len(samples))
    assert found["shared"] == page.evaluate("crossOriginIsolated")
    assert (found["backend"], found["worker"], found["lost"]) == ("wasm", False, 0)
    np.testing.assert_allclose(found["scores"], expected, atol=1e-5)
    assert ((np.array(found["scores"]) > 0.5) == (labels > 0.5)).mean() > 0.95


@pytest.mark.fresh_page
def test_what_a_page_without_room_loses_is_counted(page: Page, folder: Path) -> None:
    """A ring is full where the worker does not read; what is in it stays whole."""
    with serve(folder, headers=ISOLATION) as site:
        page.goto(site.url)
        found = page.evaluate(
            """async () => {
              const { createRing, openRing } = await import('./ring.js');
              const memory = createRing(16);
              const [writer, reader] = [openRing(memory), openRing(memory)];
              const [taken, part] = [[], new Float32Array(5)];
              let next = 0;
              const write = (count) => writer.write(Float32Array.from({ length: count }, () => next++));
              for (let turn = 0; turn < 9; turn++) {
                write(7);
                while (await Promise.race([reader.wait(5), new Promise((r) => setTimeout(r, 20, false))])) {
                  reader.take(part);
                  taken.push(...part);
                }
              }
              write(9);
              write(7);
              return { taken, lost: reader.lost };
            }"""
        )
    assert found == {"taken": list(range(60)), "lost": 7}


@pytest.mark.fresh_page
def test_the_page_hears_its_signal_and_a_microphone(page: Page, site: Site) -> None:
    if browser_name(page) == "firefox":
        pytest.skip("Firefox plays nothing where there is no device for sound")
    page.goto(site.url)
    page.wait_for_selector(READY)
    page.click("#signal")
    for name in ("voice", "whistle", "clap"):
        page.wait_for_selector(f"#scores li.heard[data-name={name}]")
    way = "shared memory" if page.evaluate("crossOriginIsolated") else "messages"
    expect(page.locator("#facts")).to_contain_text("32 ms of sound in ")
    expect(page.locator("#facts")).to_contain_text(f"samples come by {way}")
    page.evaluate(MICROPHONE)
    page.click("#microphone")
    page.wait_for_timeout(500)
    page.wait_for_selector("#scores li.heard[data-name=whistle]")
    assert page.locator("#scores li.heard[data-name=clap]").count() == 0
    page.click("#stop")
    expect(page.locator("#status")).to_have_text("Nothing leaves this page")
    page.evaluate("() => { navigator.mediaDevices.getUserMedia = async () => { throw new Error('Denied'); }; }")
    page.click("#microphone")
    expect(page.locator("#status")).to_have_text("Denied")


def test_the_page_as_people_see_it(shared_pages: SharedPages, browser: Browser, site: Site, update: bool) -> None:
    need_axe()
    if browser is not need_browser(shared_pages, "chromium"):
        pytest.skip("screenshots are Chromium's")
    check_pages(browser, [Seen("", site.url, READY)], update)


@pytest.mark.fresh_page
def test_silero_by_the_same_page(page: Page, tmp_path: Path) -> None:
    model = model_path()
    folder = compiled(tmp_path / "page", model, *documented("silero_vad.onnx"))
    samples = np.concatenate([np.zeros(64, np.float32), *(chunk[0, :512] for chunk in spoken(SPOKEN))])
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    state, expected = np.zeros(SHAPES["state"], np.float32), []
    for at in range(0, SPOKEN * 512, 512):
        given = {"input": samples[None, at : at + 576], "state": state, "sr": np.array(RATE)}
        probability, state = session.run(None, given)
        expected.append(probability[0])
    with serve(folder, headers=ISOLATION) as site:
        found = heard(page, site, samples[64:], SPOKEN)
    np.testing.assert_allclose(found["scores"], expected, atol=1e-4)
