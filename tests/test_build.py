"""From a model file to a bundle: phases, stages, the figures that are reported, and their table."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_models import model, node, random
from webnn_compile.cli.report import PLAIN_WIDTH, print_report
from webnn_compile.cpu.compile_for_cpu import RELAXED_PASSES
from webnn_compile.driver.build import Report, build
from webnn_compile.driver.options import Options, stages
from webnn_compile.errors import InputError
from webnn_compile.frontends.model_inputs import ModelInputs
from webnn_compile.glsl.compose import compose
from webnn_compile.graph.passes import GRAPH_PASSES
from webnn_compile.ir.printer import print_kernel
from webnn_compile.text.size import size

SHAPES = {"x": (1, 3, 6, 6)}


def save(folder: Path) -> Path:
    nodes = [node("Conv", ["x", "k"], ["c"], "conv"), node("Relu", ["c"], ["r"], "relu")]
    nodes += [node("Conv", ["r", "k2"], ["d"], "conv2"), node("Relu", ["d"], ["y[bold]"], "relu2")]
    weights = {"k": random((4, 3, 3, 3)), "k2": random((4, 4, 3, 3), 1)}
    onnx.save(model(nodes, {"x": ["n", 3, 6, 6]}, ["y[bold]"], weights), folder / "two.onnx")
    return folder / "two.onnx"


def made(folder: Path, **options: object) -> tuple[Report, list[str], list[str]]:
    """The report, the phases, and what was dumped."""
    phases: list[str] = []
    dumped: list[str] = []
    options.setdefault("targets", ("wasm",))
    given = Options(ModelInputs(SHAPES), **options)  # type: ignore[arg-type]
    return build(save(folder), folder / "out", given, phases.append, dumped.append), phases, dumped


def test_phases_come_in_order_and_are_timed(tmp_path: Path) -> None:
    report, phases, dumped = made(tmp_path)
    assert phases == [
        "import",
        "optimise",
        "schedule (relaxed SIMD)",
        "generate code (relaxed SIMD)",
        "schedule (plain SIMD)",
        "generate code (plain SIMD)",
        "write",
    ]
    assert list(report.seconds) == ["import", "optimise", "schedule", "generate code", "write"]
    assert dumped == []


def test_figures(tmp_path: Path) -> None:
    report, _, _ = made(tmp_path)
    assert report.model == "two.onnx"
    assert report.operators == Counter(Conv=2, Relu=2)
    assert report.wasm is not None
    assert {f.name: f.bytes for f in report.files} == {p.name: p.stat().st_size for p in (tmp_path / "out").iterdir()}
    wasm = {f.name.split("-")[0]: f.bytes for f in report.files if f.kind == "wasm"}
    assert wasm == report.wasm.code_bytes
    assert sum(f.bytes for f in report.files if f.kind == "weights") == len(report.wasm.program.weights)


def test_stages_are_the_passes() -> None:
    assert {p.__name__ for p in (*GRAPH_PASSES, *RELAXED_PASSES)} < set(stages("wasm"))
    for target, text in (("wasm", "llvm"), ("webgpu", "wgsl"), ("webgl", "glsl")):
        found = stages(target)
        assert (found[0], found[-1]) == ("import", text)
        assert set(stages(target, 0)) < set(stages(target, 1)) == set(found)
        assert len(set(found)) == len(found)
        for level in (0, 2):
            assert set(stages(target, level, "f16")) - set(stages(target, level)) == {"round_constants"}


@pytest.mark.parametrize("targets", [("wasm",), ("webgl",)])
@pytest.mark.parametrize("level", [0, 2])
def test_rounded_constants_are_dumped(level: int, targets: tuple[str, ...], tmp_path: Path) -> None:
    """The graph as --precision f16 has it: the largest of 1000 weights has become a float16."""
    weights = np.random.default_rng(7).standard_normal((10, 100)).astype(np.float32)
    largest = weights.max()
    halved = np.float32(np.float16(largest))
    assert f"{halved:g}" != f"{largest:g}"
    path = tmp_path / "one.onnx"
    onnx.save(model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 10]}, ["y"], {"w": weights}), path)
    dumped: list[str] = []
    options = Options(targets=targets, opt_level=level, precision="f16", dump="round_constants")
    build(path, tmp_path / "out", options, lambda _: None, dumped.append)
    (text,) = dumped
    assert re.search(rf"constant w: float32\[10, 100\] = 1000 elements, \S+ to {re.escape(f'{halved:g}')}\n", text)


def test_there_is_no_rounding_of_float32(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--dump after:round_constants: no stage of wasm at --opt-level 2"):
        made(tmp_path, dump="round_constants")


def test_each_kernel_is_dumped_once(tmp_path: Path) -> None:
    """For the first variant of the module, not for both."""
    report, _, dumped = made(tmp_path, dump="schedule_cpu")
    assert report.wasm is not None
    assert len(dumped) == len(report.wasm.program.kernels)


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
def test_shaders_are_dumped_as_they_are_shipped(target: str, tmp_path: Path) -> None:
    text = {"webgpu": "wgsl", "webgl": "glsl"}[target]
    report, _, dumped = made(tmp_path, targets=("webgpu", "webgl", "wasm"), dump=f"{target}:{text}")
    (shipped,) = [d.program.kernels for d in report.devices if d.program.backend == target]
    named = [re.search(r"^// (\w+)\n", d, re.MULTILINE) for d in dumped]
    assert sorted(n[1] for n in named if n is not None) == sorted(k.name for k in shipped)
    plain = [d.replace(n[0], "", 1) for d, n in zip(dumped, named, strict=True) if n is not None]
    assert sorted(plain) == sorted(k.source if k.declarations is None else compose(k) for k in shipped)


def test_both_texts_of_a_kernel_that_subgroups_make_are_dumped(tmp_path: Path) -> None:
    onnx.save(model([node("Softmax", ["x"], ["y"])], {"x": [1, 1000]}, ["y"]), tmp_path / "sum.onnx")

    def dumped(stage: str) -> list[str]:
        found: list[str] = []
        options = Options(targets=("webgpu",), dump=stage, force=True)
        build(tmp_path / "sum.onnx", tmp_path / "out", options, lambda _: None, found.append)
        return found

    kernels = len(dumped("vectorize_loops"))
    texts = dumped("wgsl")
    extra = [t for t in texts if "enable subgroups;" in t]
    assert len(extra) == len(texts) - kernels > 0
    assert len(dumped("reduce_by_tree")) == kernels
    assert len(dumped("reduce_by_subgroups")) < len(dumped("simplify"))


def test_a_dump_says_what_a_stage_left_unchanged(tmp_path: Path) -> None:
    """There is no dead code and no float16 in the model; without optimisation a schedule takes the form off alone."""
    _, _, graphs = made(tmp_path, dump="eliminate_dead_code", force=True)
    assert [g.startswith("(unchanged)\ngraph test\n") for g in graphs] == [True, True]
    for stage, unchanged in (("build_kernel", False), ("schedule_cpu", False), ("lower_float16", True)):
        _, _, kernels = made(tmp_path, dump=stage, force=True)
        assert {k.startswith("(unchanged)\n") for k in kernels} == {unchanged}, stage
    _, _, naive = made(tmp_path, dump="build_kernel", opt_level=0, force=True)
    _, _, loops = made(tmp_path, dump="schedule_cpu", opt_level=0, force=True)
    assert loops == [re.sub(r"(?<=-> \d) by .*", "", k) for k in naive]


def test_a_dump_without_a_target_is_of_one_that_is_built(tmp_path: Path) -> None:
    for targets, expected in (
        (("webgpu", "wasm"), "wasm"),
        (("webgl", "webgpu"), "webgl"),
        (("webgpu",), "webgpu"),
    ):
        options = Options(targets=targets, dump="simplify")
        options.check()
        assert options.dumped == (expected, "simplify")


def test_levels(tmp_path: Path) -> None:
    code = {}
    for level in (0, 1, 2):
        report, _, _ = made(tmp_path, opt_level=level, force=True)
        assert report.wasm is not None
        code[level] = [print_kernel(k) for k in report.wasm.program.kernels]
        assert report.graph_nodes == 4
    assert code[0] != code[1]
    assert code[1] != code[2]
    assert not any("..+4" in kernel for kernel in code[0])
    assert any("..+4" in kernel for kernel in code[1])


def test_nothing_is_written_where_the_options_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--wasm-linker gold"):
        made(tmp_path, linker="gold")
    assert not (tmp_path / "out").exists()


def test_table_off_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, _, _ = made(tmp_path)
    print_report(report, tmp_path / "out")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"two.onnx -> {tmp_path / 'out'}"
    assert "  output     y[bold]: float32[1x4x2x2]" in lines
    assert max(len(line) for line in lines[1:-2]) <= PLAIN_WIDTH
    assert not any("\x1b" in line or line != line.rstrip() for line in lines)


def test_many_tensors_are_not_all_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = [f"y{i}" for i in range(9)]
    proto = model([node("Split", ["x"], names, num_outputs=9)], {"x": [9]}, names, opset=18)
    onnx.save(proto, tmp_path / "many.onnx")
    report = build(tmp_path / "many.onnx", tmp_path / "out", Options(), lambda _: None, lambda _: None)
    print_report(report, tmp_path / "out", stderr=True)
    shown = " ".join(capsys.readouterr().err.split())
    assert "y5: float32[1], 3 more" in shown


@pytest.mark.parametrize(
    ("kinds", "end"), [("ABCDEF", "1 E, 1 F)"), ("ABCDEFG", "1 F, 1 G)"), ("ABCDEFGH", "1 F, 2 others)")]
)
def test_others_are_more_than_one_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kinds: str, end: str
) -> None:
    report, _, _ = made(tmp_path)
    print_report(dataclasses.replace(report, operators=Counter(kinds)), tmp_path / "out")
    assert end in " ".join(capsys.readouterr().out.split())


def test_model_without_weights_or_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(model([], {}, ["c"], {"c": np.float32(3)}), tmp_path / "none.onnx")
    report = build(tmp_path / "none.onnx", tmp_path / "out", Options(verify=True), lambda _: None, lambda _: None)
    assert all(c.error == 0 for c in report.comparisons)
    print_report(report, tmp_path / "out")
    shown = capsys.readouterr().out
    assert "  input      none\n" in shown
    assert "  operators  0 as imported (none); 0 when optimised\n" in shown


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (21_000_000, "21.0 MB"), (3 * 10**9, "3.0 GB")],
)
def test_size(count: int, text: str) -> None:
    assert size(count) == text
