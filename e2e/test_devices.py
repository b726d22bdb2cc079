"""Device programs run on WebGPU and WebGL 2: results, what `info` tells, element types, profiles, the host's part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from device_artifacts import Tensor, copy_device_artifact, host_artifact, tiny_device_artifact
from devices import COUNT_CALLS, DEVICES, expected, open_bundle, pretend, value, write_site
from harness import open_page, outcome
from playwright.sync_api import Page
from server import Site, serve

NAMES = ["float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "bool"]
TENSORS = [Tensor(name, name, (3,)) for name in NAMES]
LARGE = [Tensor("large", "float32", (9001,)), Tensor("empty", "float32", (0, 4))]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    bundles = {"tiny": tiny_device_artifact("webgpu", "webgl", "wasm")}
    for backend in DEVICES:
        bundles[f"types-{backend}"] = copy_device_artifact(TENSORS, backend)
        bundles[f"large-{backend}"] = copy_device_artifact(LARGE, backend)
        bundles[f"host-{backend}"] = host_artifact(backend)
    with serve(write_site(tmp_path_factory.mktemp("devices"), bundles)) as served:
        yield served


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_result_and_info(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "tiny", backend)
    script = """
      const seen = [];
      const model = await bundle.load({ ...argument, onProgress: (p) => seen.push(p) });
      const results = [await head(model, 1), await head(model, -2)];
      const has = model.device !== undefined;
      await model.dispose();
      return { results, info: model.info(), seen, backend: model.backend, has };
    """
    found = value(page, script, {"backend": backend, "worker": worker})
    assert found["results"] == [expected(1), expected(-2)]
    info = found["info"]
    assert (info["backend"], found["backend"], info["worker"], info["passedOver"]) == (backend, backend, worker, [])
    assert (info["kernels"], info["crossings"], info["weightBytes"]) == (2, 0, 8192)
    assert info["memoryBytes"] == 16384  # without what only `prepare` needs
    assert isinstance(info["adapter"], str)
    names = ("swiftshader", "llvmpipe", "fallback")
    assert info["software"] == any(name in info["adapter"].lower() for name in names)
    assert len(info["limits"]) == 4
    assert found["has"] == (backend == "webgpu" and not worker)
    seen = found["seen"]
    assert [p for p in seen if p["phase"] == "compile"][-1] == {"phase": "compile", "loaded": 3, "total": 3}
    assert seen[-1] == {"phase": "ready", "loaded": 8192, "total": 8192}


@pytest.mark.parametrize("name", ["tiny", "host"])
def test_500_runs_create_nothing(page: Page, site: Site, backend: str, name: str) -> None:
    """Without a host of its own, and with one that computes between launches."""
    open_bundle(page, site, name if name == "tiny" else f"{name}-{backend}", backend)
    page.evaluate(COUNT_CALLS)
    script = """
      const alive = count(gpuObjects);
      const total = () => Object.values(alive).reduce((a, b) => a + b, 0);
      const model = await bundle.load({ backend: argument, worker: false });
      const [{ dtype, shape }] = model.inputs;
      const length = shape.reduce((a, b) => a * b, 1);
      const input = dtype === 'int64' ? new BigInt64Array(length) : new Float32Array(length);
      const run = async (i) => {
        input.fill(dtype === 'int64' ? BigInt(i) : i);
        return Number((await model.run({ input })).output[0]);
      };
      const first = await run(2);
      const held = total();
      for (const name in calls) calls[name] = 0;
      for (let i = 0; i < 500; i++) await run(i % 7);
      const created = Object.keys(calls).filter((name) => name.startsWith('create') && calls[name]);
      return { first, last: await run(2), held, now: total(), created };
    """
    found = value(page, script, backend)
    assert found["last"] == found["first"] == (expected(2)[0] if name == "tiny" else 10)
    assert found["now"] == found["held"] > 0
    assert found["created"] == (["createCommandEncoder"] if backend == "webgpu" else [])


def test_the_worker_is_the_default(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "tiny", backend)
    assert value(page, "return (await bundle.load({ backend: argument })).info().worker", backend) is True


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_queued_runs_keep_their_inputs(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "tiny", backend)
    script = """
      const model = await bundle.load(argument);
      const input = new Float32Array(1024);
      const runs = [];
      for (let i = 0; i < 5; i++) runs.push(model.run({ input: input.fill(i) }));
      input.fill(99);
      return (await Promise.all(runs)).map(({ output }) => [...output].slice(0, 8));
    """
    found = value(page, script, {"backend": backend, "worker": worker})
    assert found == [expected(i) for i in range(5)]


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_every_type_comes_back(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, f"types-{backend}", backend)
    script = """
      const model = await bundle.load({ worker: argument });
      const given = {
        float32: Float32Array.of(1.5, -2, 2 ** -100), float16: Uint16Array.of(0x3800, 0xc000, 0x7bff),
        int8: Int8Array.of(-128, 0, 127), uint8: Uint8Array.of(0, 128, 255), int16: Int16Array.of(-32768, 0, 32767),
        uint16: Uint16Array.of(0, 1, 65535), int32: Int32Array.of(-(2 ** 31), 0, 2 ** 31 - 1),
        uint32: Uint32Array.of(0, 1, 2 ** 32 - 1), int64: BigInt64Array.of(-(2n ** 31n), -1n, 2n ** 31n - 1n),
        bool: Uint8Array.of(0, 1, 200),
      };
      const outputs = await model.run(given);
      return Object.entries(given).map(([name, array]) => {
        const back = outputs[`${name} out`];
        return [name, back.constructor === array.constructor, Array.from(array, String), Array.from(back, String)];
      });
    """
    for name, same_class, given, back in value(page, script, worker):
        assert same_class, name
        assert back == (["0", "1", "1"] if name == "bool" else given), name


def test_rows_of_textures_and_empty_tensors(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, f"large-{backend}", backend)
    script = """
      const model = await bundle.load({ worker: false });
      const large = Float32Array.from({ length: 9001 }, (_, i) => i);
      const outputs = await model.run({ large, empty: new Float32Array(0) });
      return [outputs['large out'].every((x, i) => x === i), outputs['large out'].length, outputs['empty out'].length];
    """
    assert value(page, script) == [True, 9001, 0]


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_wide_integer_is_refused_and_named(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, f"host-{backend}", backend)
    script = """
      const model = await bundle.load({ worker: argument });
      const input = new BigInt64Array(64);
      input[7] = 2n ** 31n;
      const refused = await outcome(model.run({ input }));
      input[7] = 5n;
      return { refused, after: String((await model.run({ input })).output[7]) };
    """
    found = value(page, script, worker)
    assert found["after"] == str((5 + 1) * 3 + 1)
    assert found["refused"]["name"] == "RangeError"
    assert found["refused"]["message"] == (
        'input "input": element 7 is 2147483648, which does not fit into int32, the widest integer of this backend; '
        "load({ backend: 'wasm' }) has 64 bits"
    )


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_steps_of_the_host(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, f"host-{backend}", backend)
    script = """
      const model = await bundle.load({ worker: argument });
      const input = BigInt64Array.from({ length: 64 }, (_, i) => BigInt(i - 9));
      const runs = [await model.run({ input }), await model.run({ input })];
      const times = (await model.profile({ input })).map(({ name }) => name);
      return { runs: runs.map(({ output }) => Array.from(output, Number)), times, info: model.info() };
    """
    found = value(page, script, worker)
    assert found["runs"] == [[(i - 9 + 1) * 3 + 1 for i in range(64)]] * 2
    assert found["times"] == ["add", "multiply", "add"]
    assert (found["info"]["crossings"], found["info"]["kernels"]) == (1, 3)


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_a_host_that_stopped_runs_no_more(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, f"host-{backend}", backend)
    script = """
      const model = await bundle.load({ worker: argument });
      const run = (first) => outcome(model.run({ input: new BigInt64Array(64).fill(first) }));
      return [await run(999n), await run(1n)];
    """
    for refused in value(page, script, worker):
        assert (refused["name"], refused["code"]) == ("RunError", "trap")
        assert refused["message"].startswith("the compiled model stopped: ")


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_profile_names_kernels_and_nodes(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "tiny", backend)
    script = """
      const model = await bundle.load(argument);
      const times = await model.profile({ input: fill(1) });
      return { times, after: await head(model, 3) };
    """
    found = value(page, script, {"backend": backend, "worker": worker})
    times: list[dict[str, Any]] = found["times"]
    assert [(t["name"], t["nodes"], t["ops"]) for t in times] == [
        ("multiply", ["Mul_0"], ["Mul"]),
        ("add_relu", ["Add_1", "Relu_2"], ["Add", "Relu"]),
    ]
    assert all(t["ms"] >= 0 and t["clock"] in ("gpu", "wall") and t["flops"] == 1020 for t in times)  # to three digits
    assert found["after"] == expected(3)


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_outputs_go_into_an_array_of_the_callers(page: Page, site: Site, backend: str, worker: bool) -> None:
    """The array of an input, too; for outputs that stay on the device `into` is refused."""
    open_bundle(page, site, "tiny", backend)
    script = """
      const model = await bundle.load(argument);
      const room = fill(1);
      const { output } = await model.run({ input: room }, { into: { output: room } });
      const same = output === room;
      const longer = new Float32Array(new ArrayBuffer(8192), 16, 1500);
      const second = (await model.run({ input: fill(3) }, { into: { output: longer } })).output;
      const both = { output: 'gpu-buffer', into: { output: room } };
      const refused = model.device && (await outcome(model.run({ input: fill(3) }, both))).message;
      const placed = second.buffer === longer.buffer;
      return [same, [...output.slice(0, 8)], placed, second.length, [...longer.slice(0, 8)], refused];
    """
    same, first, placed, length, second, refused = value(page, script, {"backend": backend, "worker": worker})
    assert (same, first, placed, length, second) == (True, expected(1), True, 1024, expected(3))
    assert refused in (None, "into: outputs go to arrays or, with output 'gpu-buffer', to new buffers: leave one out")


@pytest.mark.fresh_page
def test_profile_as_often_as_asked(page: Page, site: Site, backend: str) -> None:
    """Each launch is repeated, and the times are those of one."""
    open_bundle(page, site, "tiny", backend)
    script = """
      let launches = 0;
      const count = (prototype, name) => {
        const own = prototype[name];
        prototype[name] = function (...given) {
          launches++;
          return own.apply(this, given);
        };
      };
      count(WebGL2RenderingContext.prototype, 'drawArrays');
      if (globalThis.GPUComputePassEncoder) count(GPUComputePassEncoder.prototype, 'dispatchWorkgroups');
      const model = await bundle.load({ backend: argument, worker: false });
      const counts = [];
      for (const repeat of [1, 20]) {
        launches = 0;
        await model.profile({ input: fill(1) }, { repeat });
        counts.push(launches);
      }
      return { counts, after: await head(model, 3) };
    """
    found = value(page, script, backend)
    once, often = found["counts"]
    assert once
    assert often == 20 * once
    assert found["after"] == expected(3)


def test_profile_by_the_clock_of_the_page(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "tiny", backend)
    page.evaluate(
        """() => {
          const has = GPUSupportedFeatures?.prototype.has;
          if (has) GPUSupportedFeatures.prototype.has = function (name) {
            return name !== 'timestamp-query' && has.call(this, name);
          };
          const { getExtension } = WebGL2RenderingContext.prototype;
          WebGL2RenderingContext.prototype.getExtension = function (name) {
            return name.startsWith('EXT_disjoint') ? null : getExtension.call(this, name);
          };
        }"""
    )
    script = """
      const model = await bundle.load({ backend: argument, worker: false });
      return (await model.profile({ input: fill(1) })).map(({ clock }) => clock);
    """
    assert value(page, script, backend) == ["wall", "wall"]


@pytest.mark.parametrize(
    ("name", "software"),
    [("llvmpipe, or similar", True), ("ANGLE (Google, Vulkan (SwiftShader Device))", True), ("Mali-G78", False)],
)
def test_info_tells_a_cpu_from_a_gpu_by_its_name(page: Page, site: Site, name: str, software: bool) -> None:
    open_bundle(page, site, "tiny", "webgl")
    page.evaluate(
        """(name) => {
          const { getParameter } = WebGL2RenderingContext.prototype;
          WebGL2RenderingContext.prototype.getParameter = function (what) {
            return [0x1f01, 0x9246].includes(what) ? name : getParameter.call(this, what);
          };
        }""",
        name,
    )
    info = value(page, "return (await bundle.load({ backend: 'webgl', worker: false })).info()")
    assert (info["adapter"], info["software"]) == (name, software)


def test_warmup(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "tiny", backend)
    script = "return head(await bundle.load({ backend: argument, warmup: true }), 4)"
    assert value(page, script, backend) == expected(4)


def test_no_eval_and_no_wasm_under_the_strictest_policy(page: Page, site: Site, backend: str, tmp_path: Any) -> None:
    open_bundle(page, site, "tiny", backend)  # skips where the backend is missing
    bundles = {"tiny": tiny_device_artifact(backend, "wasm"), "alone": tiny_device_artifact(backend)}
    folder = write_site(tmp_path, bundles)
    policy = "default-src 'self'; script-src 'self'; worker-src 'self'"
    with serve(folder, headers={"Content-Security-Policy": policy}) as strict:
        open_page(page, strict, "bundles.html?tiny")
        script = "return head(await bundle.load({ backend: argument }), 1)"
        assert value(page, script, backend) == expected(1)
        page.goto(strict.url + "alone/")
        page.get_by_text(f"Ready, on {backend}.").wait_for()
        page.click("#run")
        page.get_by_text(f"Done, on {backend}.").wait_for()
        assert not any(path.endswith(".wasm") for path in strict.requests)


def test_without_webgpu_webgl_is_taken(page: Page, site: Site) -> None:
    open_bundle(page, site, "tiny", "webgl")
    pretend(page)
    page.evaluate("() => Object.defineProperty(Navigator.prototype, 'gpu', { get: () => undefined })")
    info = value(page, "return (await bundle.load({ worker: false })).info()")
    assert info["backend"] == "webgl"
    assert info["passedOver"] == [{"backend": "webgpu", "reason": "there is no WebGPU here"}]
    refused = outcome(page, "return bundle.load({ backend: 'webgpu', worker: false })")
    assert (refused["name"], refused["code"]) == ("UnsupportedError", "backend")
