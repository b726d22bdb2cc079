"""Runs on a GPU with outputs that are not finite: wrong ones reject, those that the model itself gives do not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import onnx
import pytest
from compiled import PAGES, compile_site
from counting_model import COUNTING, counting_model
from devices import open_bundle, value
from onnx import TensorProto, helper
from playwright.sync_api import Page
from server import Site, serve


def script_of(backend: str, runs: str) -> str:
    """Loads the model on `backend`, an expression, of a device that is broken by a rule, where there is one; {found,
    info, warnings} of statements that put something into `found` for each of the inputs."""
    return f"""
      const {{ breakDevice }} = await import('./broken_device.js');
      const device = argument.rule ? breakDevice(argument.rule) : undefined;
      const warnings = [];
      const {{ warn }} = console;
      console.warn = (message) => warnings.push(message);
      try {{
        const model = await bundle.load({{ backend: {backend}, worker: false, canaries: false, ...argument.load }});
        const found = [];
        {runs}
        const info = model.info();
        await model.dispose();
        return {{ found, info, warnings }};
      }} finally {{
        console.warn = warn;
        device?.mend();
      }}
    """


RUNS = script_of(
    "argument.backend",
    """
    for (const x of argument.inputs) {
      const run = model.run({ x: Float32Array.from(x, Number) });
      const shown = (y) => [...y].map(String);
      found.push(await outcome(run.then((all) => Object.values(all).map(shown))));
    }
    """,
)
"""The outcomes of runs; numbers go and come as text."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A logarithm and a product by 1000 of four numbers, for all backends below all/, for GPUs alone below gpus/."""
    folder = tmp_path_factory.mktemp("finite")
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    nodes = [helper.make_node("Log", ["x"], ["log"]), helper.make_node("Mul", ["x", "k"], ["large"])]
    ports = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "log", "large")}
    k = helper.make_tensor("k", TensorProto.FLOAT, [], [1000.0])
    graph = helper.make_graph(nodes, "finite", [ports.pop("x")], list(ports.values()), [k])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "finite.onnx")
    for name, options in {"all": (), "gpus": ("--targets", "webgpu,webgl")}.items():
        compile_site(folder / "finite.onnx", folder / name, *options)
    with serve(folder) as served:
        yield served


def runs(page: Page, site: Site, backend: str, *inputs: list[Any], where: str = "all", **more: Any) -> Any:
    """{found, info, warnings} of runs in turn; `more`: `rule`, `load` options and those of `run`."""
    open_bundle(page, site, f"{where}/bundle", backend)
    site.requests.clear()
    return value(page, RUNS, {"backend": backend, "inputs": inputs, **more})


def scripts(site: Site) -> int:
    """How many scripts were fetched that judge outputs."""
    return len([path for path in site.requests if "verify_runs" in path])


RIGHT, LARGE, ZERO = [1, 2, 3, 4], [1, 100, 3, 4], [1, 0, 3, 4]


def test_an_overflow_is_named(page: Page, site: Site, backend: str) -> None:
    """In each run, with the output, the adapter and how many elements it concerns; smaller numbers are given out."""
    got = runs(page, site, backend, LARGE, RIGHT, [70, 80, 90, 100], rule="overflow")
    first, second, third = got["found"]
    adapter = got["info"]["adapter"]
    for one, count in ((first, 1), (third, 4)):
        assert (one["name"], one["code"]) == ("RunError", "wrong-results")
        assert one["message"] == (
            f'output "large" is wrong on {backend} ({adapter}): {count} of 4 elements are not finite, '
            "and on wasm they are; load with { backend: 'wasm' }"
        )
    assert second["value"][1] == ["1000", "2000", "3000", "4000"]
    assert scripts(site) == 1


def test_what_the_model_gives_passes_and_is_asked_once(page: Page, site: Site, backend: str) -> None:
    got = runs(page, site, backend, RIGHT, ZERO, ZERO, ["NaN", 1, 1, 1])
    assert [one["value"][0][1] for one in got["found"][1:3]] == ["-Infinity", "-Infinity"]
    assert got["info"]["verified"] == {"every": 0, "runs": 0, "largest": 0, "nonFinite": "expected"}
    assert (scripts(site), got["warnings"]) == (1, [])
    assert sum(".wasm" in path for path in site.requests) <= 1


@pytest.mark.parametrize(
    ("load", "inputs"),
    [
        ({}, [[1, 2, "NaN", 4], ["Infinity", 2, 3, 4]]),
        ({"verify": False}, [LARGE]),
        ({"verify": "non-finite"}, [RIGHT]),
    ],
    ids=["inputs", "off", "finite"],
)
def test_other_runs_are_no_faults(
    page: Page, site: Site, backend: str, load: dict[str, Any], inputs: list[list[Any]]
) -> None:
    """wasm is not loaded for inputs that are not finite, and by `verify: false`."""
    got = runs(page, site, backend, *inputs, rule="overflow", load=load)
    assert all("value" in one for one in got["found"])
    assert "verified" not in got["info"]
    assert not [path for path in site.requests if ".wasm" in path]
    assert scripts(site) == (inputs[0] not in (LARGE, RIGHT))


ON_DEVICE = script_of(
    "'webgpu'",
    """
    const settled = () => new Promise((resolve) => setTimeout(resolve, 5));
    for (const [x, until] of argument.inputs) {
      const ends = performance.now() + 20000;
      const waits = () => performance.now() < ends && !(until === 'told' ? model.info().verified : warnings.length);
      let run;
      do {
        const array = Float32Array.from(x, Number);
        run = await outcome(model.run({ x: array }, { output: 'gpu-buffer' }).then((all) => {
          for (const one of Object.values(all)) one.destroy(); // what is the caller's is searched before
          return Object.keys(all);
        }));
        if (until === 'changed') {
          array.fill(1);
          await settled();
        }
      } while (until === 'changed' && waits());
      if (until === 'device') await model.device.queue.onSubmittedWorkDone();
      while ((until === 'warned' || until === 'told') && waits()) await settled();
      found.push(run);
    }
    """,
)
"""Outcomes of runs whose outputs stay on the device and are destroyed at once; after each it is waited until there is a
warning, until `info` says something, or until the device has nothing to do. A run whose input is `changed` after it is
made again until there is a warning."""


def on_device(page: Page, site: Site, *inputs: tuple[list[Any], str], where: str = "all", **more: Any) -> Any:
    open_bundle(page, site, f"{where}/bundle", "webgpu")
    site.requests.clear()
    return value(page, ON_DEVICE, {"inputs": inputs, **more})


def test_what_stays_on_the_device_is_searched_there(page: Page, site: Site) -> None:
    """No run waits; the one after a wrong one rejects, and those after that go on."""
    got = on_device(page, site, (RIGHT, "device"), (LARGE, "warned"), (RIGHT, ""), (RIGHT, "device"), rule="overflow")
    first, second, third, fourth = got["found"]
    message = (
        f'output "large" is wrong on webgpu ({got["info"]["adapter"]}): 1 of 4 elements are not finite, '
        "and on wasm they are; load with { backend: 'wasm' }"
    )
    assert [one["value"] for one in (first, second, fourth)] == [["log", "large"]] * 3
    assert (third["name"], third["code"], third["message"]) == ("RunError", "wrong-results", message)
    assert got["warnings"] == [message]
    assert "verified" not in got["info"]
    assert scripts(site) == 1


def test_what_the_model_leaves_on_the_device_passes(page: Page, site: Site) -> None:
    got = on_device(page, site, (ZERO, "told"), (ZERO, "device"), (LARGE, "device"))
    assert all("value" in one for one in got["found"])
    assert got["info"]["verified"] == {"every": 0, "runs": 0, "largest": 0, "nonFinite": "expected"}
    assert got["warnings"] == []
    assert scripts(site) == 1


def test_of_inputs_that_have_changed_the_next_ones_are_kept(page: Page, site: Site) -> None:
    """By the time that the first run is repeated its array has other numbers."""
    got = on_device(page, site, (LARGE, "changed"), (RIGHT, ""), rule="overflow")
    assert got["found"][-1]["code"] == "wrong-results"
    assert len(set(got["warnings"])) == 1


@pytest.mark.parametrize("inputs", [[1, 2, "NaN", 4], RIGHT], ids=["inputs", "finite"])
def test_other_runs_on_the_device_are_no_faults(page: Page, site: Site, inputs: list[Any]) -> None:
    got = on_device(page, site, (inputs, "device"), (inputs, "device"), rule="overflow")
    assert all("value" in one for one in got["found"])
    assert (got["warnings"], "verified" in got["info"]) == ([], False)
    assert not [path for path in site.requests if ".wasm" in path]


def test_on_a_device_that_is_not_searched(page: Page, site: Site) -> None:
    got = on_device(page, site, (LARGE, "device"), (LARGE, "device"), rule="overflow", load={"verify": False})
    assert all("value" in one for one in got["found"])
    assert scripts(site) == 0


def test_on_the_device_without_wasm_there_is_one_warning(page: Page, site: Site) -> None:
    got = on_device(page, site, (LARGE, "warned"), (LARGE, "device"), rule="overflow", where="gpus")
    assert all("value" in one for one in got["found"])
    (warning,) = got["warnings"]
    assert warning.startswith('output "large" has elements that are not finite on webgpu (')
    assert got["info"]["verified"]["nonFinite"] == "unchecked"


def test_without_wasm_there_is_one_warning(page: Page, site: Site, backend: str) -> None:
    got = runs(page, site, backend, LARGE, ZERO, rule="overflow", where="gpus")
    assert got["found"][0]["value"][1][1] == "Infinity"
    (warning,) = got["warnings"]
    assert warning.startswith(f'output "large" has elements that are not finite on {backend} (')
    assert warning.endswith("compile with wasm among the --targets, and the run is repeated there")
    assert got["info"]["verified"]["nonFinite"] == "unchecked"


def test_in_a_worker_and_beside_samples(page: Page, site: Site, backend: str) -> None:
    """The reference of samples says so, too."""
    got = runs(page, site, backend, ZERO, load={"worker": True, "verify": {"every": 2}})
    assert got["found"][0]["value"][0][1] == "-Infinity"
    assert got["info"]["verified"]["nonFinite"] == "expected"
    assert got["info"]["verified"]["runs"] == 1


@pytest.fixture(scope="module")
def sequences(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The counting model below runs/, and below tokens/ with what chooses tokens: its logits are beyond 65504 once the
    sum is 84."""
    folder = tmp_path_factory.mktemp("sequences")
    onnx.save(counting_model(20), folder / "counting.onnx")
    for name, options in {"runs": (), "tokens": ("--generate", "")}.items():
        compile_site(folder / "counting.onnx", folder / name, *COUNTING, *options)
    shutil.copytree(PAGES, folder, dirs_exist_ok=True)
    with serve(folder) as served:
        yield served


OPEN_BROKEN = """
  const { breakDevice } = await import('./broken_device.js');
  const device = breakDevice('overflow');
  const model = await bundle.load({ backend: argument, worker: false, canaries: false });
"""


def test_a_run_with_states_is_judged_on_those_that_it_found(page: Page, sequences: Site, backend: str) -> None:
    """A wrong one counts for nothing: the session goes on as it was before."""
    open_bundle(page, sequences, "runs/bundle", backend)
    script = """
      const found = [];
      for (const ids of [[1], [39, 39], [39], [1], [7]]) {
        const data = BigInt64Array.from(ids, BigInt);
        const running = model.run({ ids: { data, shape: [1, ids.length] } });
        found.push([await outcome(running.then(({ logits }) => logits[39])), model.position]);
      }
      device.mend();
      const info = model.info();
      await model.dispose();
      return { found, info };
    """
    got = value(page, OPEN_BROKEN + script, backend)
    first, second, third, fourth, fifth = got["found"]
    right = [(one["value"], position) for one, position in (first, second, fourth)]
    assert right == [(780, 1), (780 * 79, 3), (780 * 80, 4)]
    for (one, position), before in ((third, 3), (fifth, 4)):
        assert (one["name"], one["code"], position) == ("RunError", "wrong-results", before)
        assert one["message"].startswith(f'output "logits" is wrong on {backend} ({got["info"]["adapter"]}): ')
    assert "verified" not in got["info"]


def test_tokens_of_logits_that_are_not_finite_reject(page: Page, sequences: Site, backend: str) -> None:
    """Also where a step was launched before the token ahead of it had come."""
    open_bundle(page, sequences, "tokens/bundle", backend)
    script = """
      const tokens = [];
      const generate = async (options) => {
        for await (const token of model.generate(options)) tokens.push(token);
      };
      const found = [await outcome(generate({ ids: [1] }))];
      found.push(await outcome(generate({ ids: [39, 39, 39], temperature: 1, seed: 3 })));
      await outcome(generate({ ids: [1], maxTokens: 2 }));
      device.mend();
      const info = model.info();
      await model.dispose();
      return { found, info, tokens };
    """
    got = value(page, OPEN_BROKEN + script, backend)
    for one in got["found"]:
        assert (one["name"], one["code"]) == ("RunError", "wrong-results")
        assert one["message"].startswith(f'output "logprob" is wrong on {backend} ({got["info"]["adapter"]}): ')
    assert got["tokens"] == [39, 39, 39, 39, 39]
    assert got["info"].get("ahead", False) == (backend == "webgpu")
