"""Models on GPUs that are broken by each rule of pages/broken_device.js: what is wrong is found and
replaced.

Canaries find kernels that are computed wrongly whenever they are launched. By their nature they do not find a race
between launches, of which they make one at a time on operands of their own, nor what goes wrong in later runs, until
they are tried again: `load({ verify })` finds these. A device that flushes denormals, or has no numbers beyond float16,
passes where that changes no result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
from compiled import compile_site, shared_file
from devices import open_bundle, pretend, value, write_site
from digits import MODEL
from effort import BROKEN_MODELS, effort_of
from exported import RANGES, path_of
from playwright.sync_api import Page
from server import Site, serve
from silero import RATE, SHAPES, model_path

from benchmarks.cases import GENERATED

DEVICES = ("webgpu", "webgl")
CANARIES = ("factor", "tail", "large", "barrier", "exp", "denormals", "overflow")
"""Rules of kernels, and of memory; the last four where they change results."""
VERIFIED = ("race", "later")
QUANTA = 0.3
"""How far results of a quantised model may be apart, as a rounding moves a whole step: that of an input changes 0.1 to
0.2 of the largest logit of MobileNetV2 (and another input about 1)."""


def made(folder: Path, model: str) -> tuple[Path, Sequence[str], float]:
    """The file of a model, options of its build, and how far its backends may be apart; skips where it is absent."""
    if model in GENERATED:
        onnx.save(GENERATED[model](), folder / f"{model}.onnx")
        return folder / f"{model}.onnx", (), 1e-3
    if model == "encoder":
        sizes = [option for n in ("batch", "length") for option in ("--dim", f"{n}={RANGES[n][0]}..{RANGES[n][1]}")]
        return path_of("text_encoder_dynamo"), sizes, 1e-3
    if model == "silero":
        shapes = [o for name, shape in SHAPES.items() for o in ("--shape", f"{name}={'x'.join(map(str, shape))}")]
        return model_path(), ("--fix", f"sr={RATE}", *shapes), 1e-3
    if model == "quantised":
        return shared_file("models/mobilenetv2_imagenet_int8_qdq.onnx"), ("--dim", "batch_size=1"), QUANTA
    if model == "resnet18":
        return shared_file("models/resnet18_imagenet.onnx"), ("--dim", "N=1"), 1e-3
    return MODEL, (), 1e-3


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "model" in metafunc.fixturenames:
        metafunc.parametrize("model", BROKEN_MODELS[effort_of(metafunc.config)], scope="module")


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory, model: str) -> Iterator[tuple[Site, float]]:
    """A site with the model below bundle/, and how far results may be apart."""
    folder = write_site(tmp_path_factory.mktemp("broken"), {})
    path, options, tolerance = made(folder, model)
    compile_site(path, folder, *options, "--canaries=on")
    with serve(folder) as served:
        yield served, tolerance


HELPERS = """async () => {
  const { breakDevice, STEPS } = await import('./broken_device.js');
  const numbersOf = (outputs) =>
    Object.fromEntries(Object.entries(outputs).map(([name, data]) => [name, Array.from(data, Number)]));
  globalThis.STEPS = STEPS;
  /** Inputs of the model, other ones for each run. */
  const inputsOf = (model, run) => {
    const sizes = model.dimensions.map(({ name, most }) => [name, Math.min(most, 7)]);
    const shapes = model.inputShapes(Object.fromEntries(sizes));
    const whole = (name, i) => BigInt(name.endsWith('mask') ? 1 : (7 * i + run) % 40);
    return Object.fromEntries(model.inputs.map(({ name, dtype }) => {
      const length = shapes[name].reduce((product, size) => product * size, 1);
      const data = dtype === 'int64'
        ? BigInt64Array.from({ length }, (_, i) => whole(name, i))
        : Float32Array.from({ length }, (_, i) => Math.sin(i / (7 + 2 * run)));
      return [name, { data, shape: shapes[name] }];
    }));
  };
  /** Loads and runs, on a GPU that is broken from before the load, or from after it (`late`) on. */
  globalThis.attempt = async ({ rule, options, load, runs = 1, late = false }) => {
    await new Promise((done) => { indexedDB.deleteDatabase('webnn-compile').onsuccess = done; });
    const broken = () => (rule ? breakDevice(rule, options) : undefined);
    let device = late ? undefined : broken();
    let model;
    try {
      model = await bundle.load({ worker: false, ...load });
      if (late) device = broken();
      const found = [];
      for (let run = 0; run < runs; run++) found.push(await outcome(model.run(inputsOf(model, run)).then(numbersOf)));
      return { found, info: model.info(), changed: device?.changed ?? 0 };
    } finally {
      device?.mend();
      await model?.dispose();
    }
  };
}"""


@pytest.fixture
def opened(page: Page, case: tuple[Site, float], backend: str) -> Page:
    """The page of the model, whose adapters have the names of hardware; for WebGL there is no WebGPU."""
    open_bundle(page, case[0], "bundle", backend)
    pretend(page)
    if backend == "webgl":
        page.evaluate("() => Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined })")
    page.evaluate(HELPERS)
    return page


def attempt(page: Page, rule: str = "", load: Any = None, runs: int = 1, late: bool = False, **options: Any) -> Any:
    """{found, info, changed}: outcomes of runs, and how often the rule made a difference to the API."""
    given = {"rule": rule, "options": options, "load": load or {}, "runs": runs, "late": late}
    return value(page, "return attempt(argument)", given)


def agree(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether outputs are those of another run, of the same inputs."""
    for name, numbers in expected.items():
        scale = max(1, *map(abs, numbers))
        if not all(abs(a - b) <= tolerance * scale for a, b in zip(found[name], numbers, strict=True)):
            return False  # NaN, too
    return True


def reference(page: Page, runs: int = 1) -> list[Any]:
    """Outputs of each run on wasm."""
    return [one["value"] for one in attempt(page, load={"backend": "wasm"}, runs=runs)["found"]]


@pytest.mark.parametrize("rule", CANARIES)
def test_wrong_kernels_are_found_and_replaced(
    opened: Page, case: tuple[Site, float], backend: str, model: str, rule: str
) -> None:
    """Where the rule changes results, another backend takes the place of the broken one; else it may stay."""
    (expected,), tolerance = reference(opened), case[1]
    named = {"backend": backend, "canaries": False, "verify": False}
    options = {"above": 5_000} if (rule, model) == ("large", "encoder") else {}  # its buffers are small
    without = attempt(opened, rule, named, api=backend, **options)
    wrong = not agree(without["found"][0]["value"], expected, tolerance)
    if rule in ("factor", "tail", "large"):
        assert wrong
    if not without["changed"]:
        assert not wrong
        return
    got = attempt(opened, rule, {"canaries": "all"}, api=backend, **options)
    canaries = got["info"]["canaries"]
    assert agree(got["found"][0]["value"], expected, tolerance)
    if wrong:
        assert canaries["failed"]
    assert {one["backend"] for one in canaries["failed"]} <= {backend}
    actions = {one["action"] for one in canaries["failed"]}  # a source without subgroups may be as wrong, or right
    assert (got["info"]["backend"] != backend) == ("other-backend" in actions)


def test_another_schedule_takes_the_place_of_the_only_one_that_is_wrong(
    opened: Page, case: tuple[Site, float], backend: str, model: str
) -> None:
    """Kernels that a load compiles first, each in its turn: where the backend stays, it is right."""
    (expected,) = reference(opened)
    actions = set()
    for kernel in range(4):
        got = attempt(opened, "factor", {"canaries": "all"}, api=backend, kernel=kernel)
        actions |= {one["action"] for one in got["info"]["canaries"]["failed"]}
        if got["info"]["backend"] == backend:
            assert agree(got["found"][0]["value"], expected, case[1])
    assert "other-schedule" in actions


def test_every_kernel_of_digits_is_watched(opened: Page, case: tuple[Site, float], backend: str, model: str) -> None:
    """A factor of 2 % in any kernel is found."""
    if model != "digits":
        pytest.skip("kernels of large models have no canaries")
    got = attempt(opened, "factor", {"canaries": "all"}, api=backend, factor=1.02)
    healthy = attempt(opened, load={"canaries": "all"})["info"]
    assert healthy["backend"] == backend
    assert len(got["info"]["canaries"]["failed"]) == healthy["canaries"]["checked"] >= 19


@pytest.mark.parametrize("rule", VERIFIED)
def test_races_and_late_errors_are_found_by_comparing_runs(
    opened: Page, case: tuple[Site, float], backend: str, model: str, rule: str
) -> None:
    """Not by canaries at load: each is a launch by itself, and the first ones."""
    options = {"right": 8} if rule == "later" else {}
    runs = 12 if rule == "later" else 1
    load = {"backend": backend, "canaries": "all", "verify": {"every": 1}}
    got = attempt(opened, rule, load, runs, api=backend, **options)
    assert got["info"]["canaries"]["failed"] == []
    expected = reference(opened, runs)
    codes = [one.get("code") for one in got["found"]]
    assert codes[-1] == "wrong-results"
    right = [one for one in zip(got["found"], expected, strict=True) if "value" in one[0]]
    assert all(agree(one["value"], own, case[1]) for one, own in right)


def test_memory_that_is_not_zeroed(opened: Page, case: tuple[Site, float], backend: str, model: str) -> None:
    got = attempt(opened, "garbage", {"canaries": "all"})
    assert (got["info"]["backend"], got["info"]["canaries"]["failed"]) == (backend, [])
    assert agree(got["found"][0]["value"], reference(opened)[0], case[1])


@pytest.mark.parametrize("late", [False, True], ids=["load", "run"])
def test_a_loss_at_each_step(opened: Page, case: tuple[Site, float], backend: str, model: str, late: bool) -> None:
    """The load, or the run, goes on with another device."""
    (expected,) = reference(opened)
    lost = 0
    for call in opened.evaluate("(backend) => STEPS[backend]", backend):
        got = attempt(opened, "loss", {"backend": backend}, late=late, call=call)
        assert agree(got["found"][0]["value"], expected, case[1]), call
        lost += got["changed"]
    assert lost >= 3


def test_a_device_that_is_lost_again_and_again(
    opened: Page, case: tuple[Site, float], backend: str, model: str
) -> None:
    """The next backend takes its place."""
    call = {"webgpu": "GPUDevice.createBuffer", "webgl": "WebGL2RenderingContext.framebufferTextureLayer"}[backend]
    got = attempt(opened, "loss", {}, call=call, times=10**6)
    assert got["info"]["backend"] != backend
    assert agree(got["found"][0]["value"], reference(opened)[0], case[1])
