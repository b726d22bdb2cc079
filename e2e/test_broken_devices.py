"""The test double of broken GPUs (pages/broken_device.js): each rule changes results, or nothing where a model gives it
no cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from compiled import compile_site
from devices import open_bundle, value, write_site
from digits import MODEL, agrees, images, reference
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import Page
from server import Site, serve

LENGTH = 3000
OUTPUTS = ("share", "tiny", "large", "negated")


def arithmetic() -> onnx.ModelProto:
    """Where devices differ: exp and sums of a whole row, denormal numbers, numbers beyond float16, halos of zeros."""
    nodes = [
        helper.make_node("Softmax", ["x"], ["share"], axis=-1),
        helper.make_node("Mul", ["d", "d"], ["tiny"]),
        helper.make_node("Mul", ["b", "b"], ["large"]),
        helper.make_node("Conv", ["x3", "w"], ["sums"], pads=[2, 2]),
        helper.make_node("Neg", ["sums"], ["negated"]),
        helper.make_node("Unsqueeze", ["x", "axis"], ["x3"]),
    ]
    nodes = [nodes[5], *nodes[:5]]
    shape = [1, LENGTH]
    constants = {"w": np.float32([[[0.5, -1, 2, 0.25, 1]]]), "axis": np.int64([1])}
    graph = helper.make_graph(
        nodes,
        "arithmetic",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "d", "b")],
        [helper.make_empty_tensor_value_info(name) for name in OUTPUTS],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


RUN = """
  const { breakDevice } = await import('./broken_device.js');
  const { rule, options = {}, runs, load } = argument;
  const device = rule ? breakDevice(rule, options) : undefined;
  try {
    const model = await bundle.load({ worker: false, ...load });
    const found = [];
    for (const inputs of runs) {
      const given = Object.entries(inputs).map(([name, values]) => [name, Float32Array.from(values)]);
      const outputs = Object.entries(await model.run(Object.fromEntries(given)));
      found.push(Object.fromEntries(outputs.map(([name, data]) => [name, Array.from(data, String)])));
    }
    await model.dispose();
    return { found, changed: device?.changed, kernels: device?.kernels };
  } finally {
    device?.mend();
  }
"""
"""Loads and runs, broken by `argument.rule`: outputs of each run, their numbers as text, since JSON has no infinity."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = write_site(tmp_path_factory.mktemp("broken"), {})
    onnx.save(arithmetic(), folder / "arithmetic.onnx")
    for name, model in {"digits": MODEL, "arithmetic": folder / "arithmetic.onnx"}.items():
        compile_site(model, folder / name, "--targets", "webgpu,webgl", "--golden=off")
    with serve(folder) as served:
        yield served


def numbers(found: dict[str, list[str]]) -> dict[str, Any]:
    return {name: np.array(texts, np.float32) for name, texts in found.items()}


def run_broken(page: Page, model: str, backend: str, rule: str, **options: Any) -> dict[str, Any]:
    """{changed, kernels, found: outputs of each run} of a model whose GPU is broken by the rule; '' for none."""
    runs = [{"image": image} for image in images()[: options.pop("runs", 1)]] if model == "digits" else [ROWS]
    given = {"rule": rule, "options": options, "runs": runs, "load": {"backend": backend, "canaries": False}}
    result: dict[str, Any] = value(page, RUN, given)
    return {**result, "found": [numbers(found) for found in result["found"]]}


_rng = np.random.default_rng(7)
ROWS = {
    "x": _rng.uniform(-4, 4, LENGTH).astype(np.float32).tolist(),
    "d": _rng.uniform(1e-20, 5e-20, LENGTH).astype(np.float32).tolist(),
    "b": _rng.uniform(100, 400, LENGTH).astype(np.float32).tolist(),
}

OF_DIGITS = {
    "factor": {"kernel": 3},
    "tail": {"kernel": 3},
    "race": {"kernel": 3},
    "large": {"above": 30_000},
    "later": {"kernel": 1, "right": 3, "runs": 3},
}
"""Rules that change the classes of digits, and their options; of `later` a launch at load and two runs are right."""


@pytest.mark.parametrize("rule", OF_DIGITS)
def test_a_rule_changes_results(page: Page, site: Site, backend: str, rule: str) -> None:
    open_bundle(page, site, "digits/bundle", backend)
    broken = run_broken(page, "digits", backend, rule, **OF_DIGITS[rule])
    *first, last = [list(found["logits"]) for found in broken["found"]]
    expected = reference()
    assert not agrees(last, expected[len(first)])
    assert all(agrees(found, expected[i]) for i, found in enumerate(first))
    assert broken["changed"] >= 1
    assert agrees(list(run_broken(page, "digits", backend, "")["found"][0]["logits"]), expected[0])  # it is mended


@pytest.mark.parametrize("rule", ["barrier", "exp"])
def test_a_rule_without_cause_changes_nothing(page: Page, site: Site, backend: str, rule: str) -> None:
    """Digits have no exp, and no kernel in which invocations wait."""
    open_bundle(page, site, "digits/bundle", backend)
    broken = run_broken(page, "digits", backend, rule)
    assert broken["changed"] == 0
    assert broken["kernels"] > 10
    assert agrees(list(broken["found"][0]["logits"]), reference()[0])


def test_rules_of_arithmetic(page: Page, site: Site, backend: str) -> None:
    """Each changes the output that depends on it, and no other one."""
    open_bundle(page, site, "arithmetic/bundle", backend)
    (whole,) = run_broken(page, "arithmetic", backend, "")["found"]
    assert ((whole["tiny"] > 0) & (whole["tiny"] < 1.2e-38)).all() or not whole["tiny"].any()
    rules = {"exp": "share", "overflow": "large", "denormals": "tiny", "barrier": "share"}
    for rule, output in rules.items():
        broken = run_broken(page, "arithmetic", backend, rule)
        (found,) = broken["found"]
        same = {name for name in OUTPUTS if np.array_equal(found[name], whole[name])}
        if rule == "barrier" and backend == "webgl":
            assert (broken["changed"], same) == (0, set(OUTPUTS))  # it has none
        elif rule == "denormals" and not whole["tiny"].any():
            assert same == set(OUTPUTS)  # this device has none
        else:
            assert same == set(OUTPUTS) - {output}, rule
    assert np.isinf(run_broken(page, "arithmetic", backend, "overflow")["found"][0]["large"]).any()


@pytest.mark.parametrize("model", ["digits", "arithmetic"])
def test_memory_that_is_not_zeroed_changes_nothing(page: Page, site: Site, backend: str, model: str) -> None:
    """The runtime zeroes halos itself."""
    open_bundle(page, site, f"{model}/bundle", backend)
    (whole,), (found,) = (run_broken(page, model, backend, rule)["found"] for rule in ("", "garbage"))
    for name, expected in whole.items():
        np.testing.assert_array_equal(found[name], expected)


def test_in_workers(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "digits/bundle", backend)
    script = """
      const { breakWorkers } = await import('./broken_device.js');
      breakWorkers('factor', { kernel: 3 });
      const model = await bundle.load({ backend: argument.backend, worker: true, canaries: false });
      const { logits } = await model.run({ image: Float32Array.from(argument.image) });
      await model.dispose();
      return [...logits];
    """
    assert not agrees(value(page, script, {"backend": backend, "image": images()[0]}), reference()[0])


def test_rules_wrap_what_there_is(page: Page, site: Site) -> None:
    """Each call that a rule names exists where the browser has its type, and is the browser's own again once mended."""
    open_bundle(page, site, "digits/bundle")
    script = """
      const { breakDevice, rules, STEPS } = await import('./broken_device.js');
      const own = (call) => {
        const [type, name] = call.split('.');
        return globalThis[type].prototype[name];
      };
      const found = {};
      for (const [rule, { wraps }] of Object.entries(rules)) {
        const calls = wraps.filter((call) => globalThis[call.split('.')[0]]);
        const before = calls.map((call) => own(call));
        const steps = rule === 'loss' ? [...STEPS.webgpu, ...STEPS.webgl] : [undefined];
        const during = new Set();
        for (const call of steps) {
          const device = breakDevice(rule, { call });
          calls.forEach((one, i) => { if (own(one) !== before[i]) during.add(one); });
          device.mend();
        }
        found[rule] = {
          absent: calls.filter((_, i) => typeof before[i] !== 'function'),
          missed: calls.filter((call) => !during.has(call)),
          left: calls.filter((call, i) => own(call) !== before[i]),
        };
      }
      return found;
    """
    found = value(page, script)
    assert set(found) >= {"factor", "tail", "barrier", "denormals", "exp", "race", "garbage", "overflow", "large"}
    bad = {rule: one for rule, one in found.items() if one != {"absent": [], "missed": [], "left": []}}
    assert not bad
