"""Inputs that are on the device already, and outputs that stay there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from device_artifacts import Tensor, copy_device_artifact, tiny_device_artifact
from devices import DEVICES, expected, open_bundle, value, write_site
from playwright.sync_api import Page
from server import Site, serve

WIDTH, HEIGHT = 5, 4
PICTURES = {"planar": (1, 3, HEIGHT, WIDTH), "interleaved": (1, HEIGHT, WIDTH, 3)}
PAINT = f"""
  const data = new ImageData({WIDTH}, {HEIGHT});
  for (let i = 0; i < data.data.length; i++) data.data[i] = i % 4 === 3 ? 255 : (i * 37) % 256;
  const options = {{ colorSpaceConversion: 'none', premultiplyAlpha: 'none' }};
  const image = await createImageBitmap(data, options);
"""


def pixels(layout: str) -> list[float]:
    """The page's picture as an input."""
    rgb = [[(4 * p + c) * 37 % 256 / 255 for c in range(3)] for p in range(WIDTH * HEIGHT)]
    if layout == "interleaved":
        return [channel for pixel in rgb for channel in pixel]
    return [rgb[p][c] for c in range(3) for p in range(WIDTH * HEIGHT)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    bundles = {"tiny": tiny_device_artifact("webgpu", "webgl", "wasm")}
    for backend in DEVICES:
        for layout, shape in PICTURES.items():
            artifact = copy_device_artifact([Tensor("x", "float32", shape)], backend)
            bundles[f"{layout}-{backend}"] = replace(artifact, name=layout)
    with serve(write_site(tmp_path_factory.mktemp("values"), bundles)) as served:
        yield served


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
@pytest.mark.parametrize("layout", PICTURES)
@pytest.mark.parametrize("backend", DEVICES)
def test_an_image_is_an_input(page: Page, site: Site, backend: str, layout: str, worker: bool) -> None:
    open_bundle(page, site, f"{layout}-{backend}", backend)
    script = (
        PAINT
        + """
      const model = await bundle.load({ worker: argument });
      const results = [await model.run({ x: image }), await model.run({ x: image })];
      const small = await createImageBitmap(new ImageData(2, 2));
      return { results: results.map((r) => [...r['x out']]), refused: await outcome(model.run({ x: small })) };
    """
    )
    found = value(page, script, worker)
    for result in found["results"]:
        assert result == pytest.approx(pixels(layout), abs=1e-6)
    assert found["refused"]["name"] == "TypeError"
    assert found["refused"]["message"] == 'input "x": expected an ImageBitmap of 5 x 4 pixels, got 2 x 2'


@pytest.mark.parametrize("layout", PICTURES)
def test_a_texture_is_an_input(page: Page, site: Site, layout: str) -> None:
    open_bundle(page, site, f"{layout}-webgpu", "webgpu")
    script = (
        PAINT
        + """
      const model = await bundle.load({ worker: false });
      const { device } = model;
      const { COPY_DST, RENDER_ATTACHMENT, TEXTURE_BINDING } = GPUTextureUsage;
      const usage = COPY_DST | RENDER_ATTACHMENT | TEXTURE_BINDING;
      const texture = device.createTexture({ size: [image.width, image.height], format: 'rgba8unorm', usage });
      device.queue.copyExternalImageToTexture({ source: image }, { texture }, [image.width, image.height]);
      return [...(await model.run({ x: texture }))['x out']];
    """
    )
    assert value(page, script) == pytest.approx(pixels(layout), abs=1e-6)


def test_buffers_in_and_out(page: Page, site: Site) -> None:
    """One model's output is another's input, on one device and without a download."""
    open_bundle(page, site, "tiny", "webgpu")
    script = """
      const first = await bundle.load({ backend: 'webgpu', worker: false });
      const second = await bundle.load({ device: first.device });
      const { output } = await first.run({ input: fill(1) }, { output: 'gpu-buffer' });
      const kept = await second.run({ input: output });
      output.destroy();
      await second.dispose();
      const alive = await head(first, 1);  // the device is the caller's
      return { first: alive, second: [...kept.output].slice(0, 8), info: second.info(), type: output.constructor.name };
    """
    found = value(page, script)
    assert (found["type"], found["first"]) == ("GPUBuffer", expected(1))
    weights = {v: expected(v) for v in (0, 1)}
    slope = [b - a for a, b in zip(weights[0], weights[1], strict=True)]
    assert len(slope) == 8
    assert (found["info"]["backend"], found["info"]["worker"]) == ("webgpu", False)
    assert found["second"] == twice()


def twice() -> list[float]:
    from devices import C, W

    once = (W + 2 * C).clip(0)
    result: list[float] = (once * W + 2 * C).clip(0)[:8].tolist()
    return result


def test_a_lost_device_of_the_caller_is_not_replaced(page: Page, site: Site) -> None:
    open_bundle(page, site, "tiny", "webgpu")
    script = """
      const device = await (await navigator.gpu.requestAdapter()).requestDevice();
      const model = await bundle.load({ device });
      const before = await head(model, 1);
      device.destroy();
      return { before, refused: await outcome(head(model, 1)) };
    """
    found = value(page, script)
    assert found["before"] == expected(1)
    assert (found["refused"]["name"], found["refused"]["code"]) == ("DeviceLostError", "lost")


REFUSED = {
    "{ backend: 'webgl', worker: false } buffer": "a GPUBuffer needs the backend webgpu, this model runs on webgl",
    "{ backend: 'webgpu' } buffer": "a GPUBuffer cannot go to the worker: load with { worker: false }",
    "{ backend: 'webgpu', worker: false } small": (
        "a GPUBuffer must have 4096 bytes (32 bits an element) and the usage COPY_SRC"
    ),
    "{ backend: 'webgpu', worker: false } image": (
        "an ImageBitmap fills a float32 input of shape [1, 3, height, width] or [1, height, width, 3] only"
    ),
    "{ backend: 'wasm' } image": "an ImageBitmap needs the backend webgpu or webgl, this model runs on wasm",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_an_input(page: Page, site: Site, case: str) -> None:
    open_bundle(page, site, "tiny", "webgpu")
    options, which = case.rsplit(" ", 1)
    script = f"""
      const device = await (await navigator.gpu.requestAdapter()).requestDevice();
      const usage = GPUBufferUsage.COPY_SRC;
      const given = {{
        buffer: () => device.createBuffer({{ size: 4096, usage }}),
        small: () => device.createBuffer({{ size: 64, usage }}),
        image: () => createImageBitmap(new ImageData(2, 2)),
      }};
      const model = await bundle.load({options});
      return outcome(model.run({{ input: await given.{which}() }}));
    """
    refused = value(page, script)
    assert (refused["name"], refused["message"]) == ("TypeError", f'input "input": {REFUSED[case]}')


def test_outputs_stay_on_the_device_only_where_they_can(page: Page, site: Site) -> None:
    open_bundle(page, site, "tiny", "webgl")
    script = """
      const refused = [];
      for (const options of [{ backend: 'webgl', worker: false }, { backend: 'wasm' }]) {
        const model = await bundle.load(options);
        refused.push(await outcome(model.run({ input: fill(1) }, { output: 'gpu-buffer' })));
        refused.push(await outcome(model.run({ input: fill(1) }, { output: 'texture' })));
        refused.push(await outcome(model.run({ input: fill(1) }, { outputs: 'array' })));
      }
      return refused;
    """
    messages = [r["message"] for r in value(page, script)]
    needs = (
        "output 'gpu-buffer' needs the backend webgpu without a worker: load({ backend: 'webgpu', worker: false }); "
    )
    others = [
        "output: expected 'array' or 'gpu-buffer', got texture",
        'run has no option "outputs"; it has: output, into, signal',
    ]
    assert messages == [
        f"{needs}this model runs on webgl",
        *others,
        f"{needs}this model runs on wasm in a worker",
        *others,
    ]
