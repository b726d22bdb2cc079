"""Measurements and counts of benchmarks; no time is asserted."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_models import model, node, random
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.errors import InputError, UnsupportedError
from webnn_compile.frontends.model_inputs import ModelInputs, model_inputs
from webnn_compile.frontends.onnx import import_model
from webnn_compile.native.emit import header, host
from webnn_compile.native.jit import JitModule, host_target
from webnn_compile.native.measure_peak import ACCUMULATORS, ITERATIONS, peak_text
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.target import WASM_PLAIN
from webnn_compile.wasm import binary

from benchmarks import busy
from benchmarks.cases import Case, find_case, write_case
from benchmarks.count_operations import count_operations
from benchmarks.engines import BASELINES, DEFAULT, ENGINES, baselines
from benchmarks.folders import HERE, ROOT, WORK
from benchmarks.generate import bert, lstm, mobilenetv2
from benchmarks.kernels import describe
from benchmarks.native import compile_natively, lower, medians, time_kernels
from benchmarks.peak import peak_module
from benchmarks.peers import versions
from benchmarks.plan_tfjs import write_plan


def tiny(folder: Path) -> Path:
    nodes = [node("Conv", ["x", "k"], ["c"], pads=[1] * 4), node("Relu", ["c"], ["r"])]
    nodes += [node("GlobalAveragePool", ["r"], ["g"]), node("Flatten", ["g"], ["f"]), node("MatMul", ["f", "w"], ["y"])]
    weights = {"k": random((8, 3, 3, 3)), "w": random((8, 5), 1)}
    onnx.save(model(nodes, {"x": [1, 3, 12, 12]}, ["y"], weights), folder / "benchmarks-tiny.onnx")
    return folder / "benchmarks-tiny.onnx"


def tiny_case(folder: Path) -> Case:
    case = Case("tiny", tiny(folder), ModelInputs(), folder / "case")
    write_case(case)
    return case


@pytest.mark.parametrize(
    ("make", "inputs", "shape"),
    [
        (mobilenetv2, {"input": np.zeros((1, 3, 224, 224), np.float32)}, (1, 1000)),
        (bert, dict.fromkeys(("input_ids", "attention_mask"), np.ones((1, 128), np.int64)), (1, 128, 256)),
        (
            partial(bert, tokens=None, longest=50),
            dict.fromkeys(("input_ids", "attention_mask"), np.ones((1, 31), np.int64)),
            (1, 31, 256),
        ),
        (partial(lstm, 7, 16), {"input": random((7, 1, 16))}, (7, 1, 16)),
    ],
)
def test_generated_models_run(make: object, inputs: dict[str, np.ndarray], shape: tuple[int, ...]) -> None:
    made = make()  # type: ignore[operator]
    onnx.checker.check_model(made)
    (found,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, inputs)
    assert found.shape == shape
    assert np.isfinite(found).all()
    assert found.std() > 0
    assert make().SerializeToString() == made.SerializeToString()  # type: ignore[operator]


def test_a_case_keeps_its_inputs_and_outputs(tmp_path: Path) -> None:
    case = tiny_case(tmp_path)
    inputs, outputs = case.inputs(), case.outputs()
    assert inputs["x"].shape == (1, 3, 12, 12)
    session = onnxruntime.InferenceSession(str(case.model))
    np.testing.assert_allclose(session.run(None, inputs)[0], outputs["y"], rtol=1e-5, atol=1e-6)
    write_case(case)
    np.testing.assert_array_equal(case.inputs()["x"], inputs["x"])


def test_a_case_of_sizes_that_vary(tmp_path: Path) -> None:
    """Its inputs have its own sizes and no constants; a model for these alone gives the same."""
    path = tmp_path / "net.onnx"
    onnx.save(model([node("Mul", ["x", "by"], ["y"])], {"x": ["n", 3], "by": [1]}, ["y"]), path)
    given = model_inputs(dims={"n": (1, 9)}, constants={"by": np.float32([2])})
    case = Case("varying", path, given, tmp_path / "case", {"n": 4})
    write_case(case)
    assert case.inputs().keys() == {"x"}
    assert case.all_inputs().keys() == {"x", "by"}
    for fixed in (True, False):
        compiled = compile_natively(case, 1, fast_math=True, fixed=fixed)
        assert compiled.program.inputs[0].is_dynamic != fixed
        np.testing.assert_array_equal(compiled.run(case.inputs())["y"], case.outputs()["y"])


def test_a_model_that_is_nowhere() -> None:
    with pytest.raises(InputError, match="no such file, and none of"):
        find_case("nonsense", {})


def test_operations_of_a_product() -> None:
    """4 x 8 results of 16 products each, of which the first is not added to anything but the bias of zero."""
    graph = import_model(model([node("MatMul", ["x", "w"], ["y"])], {"x": [4, 16]}, ["y"], {"w": random((16, 8))}))
    for opt_level in (0, 2):
        (kernel,) = compile_for_cpu(lower_model(graph, opt_level=opt_level), WASM_PLAIN, opt_level=opt_level).kernels
        assert count_operations(kernel) == 2 * 4 * 8 * 16


def test_indices_are_no_operations() -> None:
    graph = import_model(model([node("Transpose", ["x"], ["y"], perm=[1, 0])], {"x": [4, 6]}, ["y"]))
    (kernel,) = compile_for_cpu(lower_model(graph), WASM_PLAIN).kernels
    assert count_operations(kernel) == 0


def test_kernels_are_timed_one_by_one(tmp_path: Path) -> None:
    case = tiny_case(tmp_path)
    lowered = lower(case, host_target(), fast_math=True)
    times = time_kernels(case, lowered, runs=3)
    program = compile_for_cpu(lowered, host_target())
    assert [len(each) for each in times] == [len(program.steps)] * 3
    rows = describe(lowered, host_target(), medians(times))
    assert [r.name for r in rows] == [s.name for s in program.steps]
    assert sum(r.flops for r in rows) >= 2 * 12 * 12 * 8 * 27
    assert all(r.bytes > 0 for r in rows)


def test_medians_are_of_each_launch() -> None:
    assert medians([[1, 9], [2, 5], [6, 7]]) == [2, 7]


def test_natively_compiled_cases_are_right(tmp_path: Path) -> None:
    case = tiny_case(tmp_path)
    for threads in (1, 2):
        found = compile_natively(case, threads, fast_math=False).run(case.inputs())
        np.testing.assert_allclose(found["y"], case.outputs()["y"], rtol=1e-4, atol=1e-5)


def test_the_peak_does_its_work() -> None:
    """The measured work is not optimised away: sums are right."""
    lanes = host_target().lanes
    values = np.full(1 << 24, 0.5, np.float32)
    results = np.zeros(ACCUMULATORS * lanes, np.float32)
    code = JitModule(peak_text(header(host(), jit=True), lanes))
    at, to = (int(a.ctypes.data_as(ctypes.c_void_p).value or 0) for a in (values, results))
    code.call("multiply", at, to)
    np.testing.assert_array_equal(results, 0.5 + 0.25 * ITERATIONS)
    code.call("read", at, to)
    assert (results > 0.5).all()
    assert len(set(results.tolist())) == 1


def test_the_peak_module_exports_its_functions() -> None:
    linked = peak_module()
    parts = {s.number: s.body for s in binary.sections(linked.module, "peak")}
    assert b"multiply" in parts[binary.EXPORT]
    assert b"read" in parts[binary.EXPORT]


def test_engines_have_baselines_with_as_many_threads() -> None:
    assert set(DEFAULT) <= set(ENGINES)
    for name, engine in ENGINES.items():
        for other in baselines(engine):
            assert ENGINES[other].threads == engine.threads
            assert (ENGINES[other].page is None) == (engine.page is None)
        assert (name in BASELINES) == engine.ours


def test_others_are_other_processes() -> None:
    before = busy.snapshot()
    sum(range(3_000_000))
    found = busy.others(before, busy.snapshot())
    assert found is None or found >= 0
    assert busy.others(None, before) is None


def test_versions_are_exact_and_locked_without_addresses() -> None:
    lock = json.loads((HERE / "package-lock.json").read_text())
    assert lock["packages"][""]["dependencies"] == versions()
    assert all(v[0].isdigit() for v in versions().values())
    assert "://" not in json.dumps({name: p | {"funding": None} for name, p in lock["packages"].items()})


def planned(nodes: list[onnx.NodeProto], folder: Path, **weights: np.ndarray) -> dict[str, object]:
    write_plan(import_model(model(nodes, {"x": [1, 3, 8, 8]}, ["y"], weights)), folder)
    return json.loads((folder / "tfjs.json").read_text())


def test_plan_of_a_convolution(tmp_path: Path) -> None:
    """With bias and activation, weights as TensorFlow has them; flattening puts the order of channels right."""
    bounds = {"low": np.array(0, np.float32), "high": np.array(6, np.float32)}
    nodes = [
        node("Conv", ["x", "k", "b"], ["c"], strides=[2, 2], pads=[1] * 4),
        node("Clip", ["c", "low", "high"], ["r"]),
    ]
    nodes += [node("Flatten", ["r"], ["y"])]
    plan = planned(nodes, tmp_path, k=random((4, 3, 3, 3)), b=random((4,), 1), **bounds)
    convolution, order, shape = plan["steps"]  # type: ignore[misc]
    assert (convolution["op"], convolution["activation"], convolution["pad"]) == ("conv", "relu6", 1)
    assert convolution["out"] == "r"
    assert (order["op"], order["order"]) == ("transpose", [0, 3, 1, 2])
    assert (shape["op"], shape["shape"]) == ("reshape", [1, 64])
    assert plan["weights"][convolution["in"][1]]["shape"] == [3, 3, 3, 4]  # type: ignore[index]
    assert [v["last"] for v in plan["inputs"]] == [True]  # type: ignore[attr-defined]
    stored = np.frombuffer((tmp_path / "tfjs.bin").read_bytes(), np.float32)
    np.testing.assert_array_equal(stored[:108].reshape(3, 3, 3, 4), random((4, 3, 3, 3)).transpose(2, 3, 1, 0))


def test_plan_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"operator Softplus .* is not mapped"):
        planned([node("Softplus", ["x"], ["y"])], tmp_path)
    with pytest.raises(UnsupportedError, match="of 3 groups"):
        planned([node("Conv", ["x", "k"], ["y"], group=3)], tmp_path, k=random((6, 1, 3, 3)))


def test_one_command(tmp_path: Path) -> None:
    """Ours alone, natively: tables, and JSON with every time."""
    out = tmp_path / "r.json"
    command = [sys.executable, "-m", "benchmarks", "run", str(tiny(tmp_path)), "--engines", "native,native-2"]
    command += ["--rounds", "2", "--runs", "4", "--json", str(out), "--chart", str(tmp_path / "c.svg")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    assert "Kernels of " in done.stdout
    found = json.loads(out.read_text())
    assert [m["engine"] for m in found["measurements"]] == ["native", "native-2"]
    for measurement in found["measurements"]:
        assert [len(r["times_ms"]) for r in measurement["rounds"]] == [4, 4]
        assert all(r["error"] < 1e-4 for r in measurement["rounds"])
    assert found["profiles"][0]["gflops"] > 0
    assert (tmp_path / "c.svg").exists()
    assert WORK.is_relative_to(ROOT / "build")


def test_a_bad_name_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks", "run", "nonsense", "--engines", "native"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("error: model 'nonsense': no such file")
    assert "Traceback" not in done.stderr
