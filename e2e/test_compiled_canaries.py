"""Canaries of compiled models: kernels that are right pass, and those of a broken GPU are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from compiled import compile_site
from devices import DEVICES, HAS_FEATURE, open_anew, pretend, value, write_site
from digits import MODEL, agrees, images, reference
from played_generation import SIZES
from playwright.sync_api import Page
from server import Site, serve
from small_decoder import small_decoder


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Digits, in halves too, and a decoder, which has states and sizes that vary."""
    folder: Path = write_site(tmp_path_factory.mktemp("compiled"), {})
    onnx.save(small_decoder(), folder / "decoder.onnx")
    options = {
        **{f"digits-{backend}": (MODEL, f"--targets={backend},wasm") for backend in DEVICES},
        "halves": (MODEL, "--targets=webgpu", "--precision=f16"),
        "decoder": (folder / "decoder.onnx", "--generate=", "--targets=webgpu,webgl", *SIZES),
    }
    for name, (model, *others) in options.items():
        compile_site(Path(model), folder / name, "--canaries=on", *map(str, others))
    with serve(folder) as served:
        yield served


TRY = """
  const model = await bundle.load({ backend: argument, canaries: 'all' });
  const { canaries } = model.info();
  await model.dispose();
  return canaries;
"""


@pytest.mark.parametrize("model", ["digits", "halves", "decoder"])
def test_compiled_kernels_pass(page: Page, compiled: Site, backend: str, model: str) -> None:
    open_anew(page, compiled, f"{model}-{backend}/bundle" if model == "digits" else f"{model}/bundle", backend)
    if model == "halves" and (backend == "webgl" or not page.evaluate(HAS_FEATURE, "shader-f16")):
        pytest.skip("halves are of WebGPU with shader-f16")
    found = value(page, TRY, backend)
    assert (found["skipped"], found["failed"]) == (0, [])
    assert found["checked"] >= 10


DIGITS = """
  const { breakDevice, countKernels } = await import('./broken_device.js');
  const { rule, kernel, api, image } = argument;
  const device = breakDevice(rule, { kernel, api, others: await countKernels(bundle.load, api) });
  try {
    const model = await bundle.load({ worker: false, canaries: 'all' });
    const { logits } = await model.run({ image: Float32Array.from(image) });
    const info = model.info();
    await model.dispose();
    const byName = await outcome(bundle.load({ backend: api, worker: false, canaries: 'all' }));
    return { info, logits: [...logits], byName, changed: device.changed };
  } finally {
    device.mend();
  }
"""


@pytest.mark.parametrize(("rule", "kernel"), [("factor", 1), ("factor", 7), ("tail", 3), ("tail", 12)])
def test_of_a_broken_gpu_no_result_is_given(page: Page, compiled: Site, backend: str, rule: str, kernel: int) -> None:
    """Other sources of the kernel are wrong, too."""
    open_anew(page, compiled, f"digits-{backend}/bundle", backend)
    pretend(page)
    given = {"rule": rule, "kernel": kernel, "api": backend, "image": images()[0]}
    found = value(page, DIGITS, given)
    assert found["changed"] >= 1
    assert found["byName"]["code"] == "wrong-results"
    assert found["info"]["backend"] == "wasm"
    assert [failed["backend"] for failed in found["info"]["canaries"]["failed"]] == [backend]
    assert agrees(found["logits"], reference()[0])
