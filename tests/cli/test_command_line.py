"""The command line: its help, its options, and what it prints."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from cli.command import EXAMPLE, PROGRAM, SHAPE, contents, network, run
from onnx_models import model, node, random
from webnn_compile import __version__
from webnn_compile.driver.options import stages

PHASES = ("import", "optimise", "schedule (relaxed SIMD)", "generate code (relaxed SIMD)", "write")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help(flag: str) -> None:
    result = run(flag)
    assert result.exit_code == 0
    for option in ("out", "shape", "targets", "opt-level", "verify", "dump", "report", "wasm-linker", "force", "debug"):
        assert f"--{option} " in result.output
    assert "webnn-compile resnet18.onnx --out bundle/ --shape input=1x3x224x224" in result.output


def test_version() -> None:
    assert run("--version").output.strip().endswith(__version__)


def test_bundle_and_table(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "bundle"
    result = run(path, "--out", out, *SHAPE)
    assert result.exit_code == 0, result.output
    names = {p.name for p in out.iterdir()}
    assert {"model.js", "model.d.ts", "index.html"} <= names
    assert sorted(p.name for p in out.parent.iterdir()) == ["bundle"]
    text = result.output
    assert f"net.onnx -> {out}" in text
    assert re.search(r"^  input +x: float32\[1x3x8x8\]$", text, re.MULTILINE)
    assert re.search(r"^  output +probabilities: float32\[1x5\], r: float32\[1x8x8x8\]$", text, re.MULTILINE)
    assert re.search(
        r"^  operators +7 as imported \(1 Conv, 1 BatchNormalization, .*; \d when\s+optimised$",
        text,
        re.MULTILINE | re.DOTALL,
    )
    for label in ("weights", "webgpu", "webgl", "wasm", "time"):
        assert re.search(rf"^  {label} +\S", text, re.MULTILINE), label
    for name in names:
        kind = name.split("-")[0].split(".")[-1]
        assert name in text or kind not in ("wasm", "bin", "html"), name
    assert re.search(rf"^  {len(names)} files in all +[\d.]+ kB$", text, re.MULTILINE)
    assert "Try it: webnn-serve " in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_phases_are_lines_on_standard_error(path: Path, tmp_path: Path) -> None:
    command = [PROGRAM, path, "--out", tmp_path / "out", *SHAPE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert [line for line in lines if not line.endswith(" ...")] == []
    assert {f"{phase} ..." for phase in PHASES} <= set(lines)
    assert " ..." not in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("columns", [40, 100])
def test_a_terminal_shows_a_spinner_and_a_table_that_fits(columns: int, path: Path, tmp_path: Path) -> None:
    keep = {name: value for name, value in os.environ.items() if name not in ("CI", "NO_COLOR", "COLUMNS")}
    main_end, program_end = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, path, "--out", tmp_path / "out", *SHAPE],
        stdout=program_end,
        stderr=program_end,
        stdin=program_end,
        env={**keep, "TERM": "xterm-256color", "COLUMNS": str(columns)},
    )
    os.close(program_end)
    shown = b""
    while True:
        try:
            part = os.read(main_end, 4096)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(main_end)
    assert process.wait() == 0
    text = shown.decode()
    assert "\x1b[?25l" in text, "the cursor is hidden while the spinner turns"
    assert "\x1b[?25h" in text, "and comes back"
    assert "import ..." not in text
    table = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text[text.index("net.onnx -> ") :]).splitlines()
    rows = [line for line in table[1:] if line.startswith("  ") and ".wasm" not in line]
    assert rows
    assert max(len(line) for line in rows) <= columns


def test_report(path: Path, tmp_path: Path) -> None:
    result = run(path, "--out", tmp_path / "out", *SHAPE, "--report", tmp_path / "report.json", "--verify")
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["model"] == "net.onnx"
    assert data["operators"]["model"]["Conv"] == 1
    assert sum(data["operators"]["model"].values()) == 7
    assert data["operators"]["optimised"] < 7
    assert data["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 3, 8, 8]}]
    assert [o["name"] for o in data["outputs"]] == ["probabilities", "r"]
    assert data["bytes"]["weights"] >= 4 * (8 * 27 + 40)
    assert set(data["targets"]) == {"webgpu", "webgl", "wasm"}
    for target in data["targets"].values():
        assert target["kernels"] > 0
        assert {op for launch in target["launches"] for op in launch["operators"]} >= {"Conv", "Softmax"}
        assert {n for launch in target["launches"] for n in launch["nodes"]} >= {"conv", "relu", "dense"}
    assert data["targets"]["wasm"]["bytes"]["arena"] > 0
    assert set(data["targets"]["wasm"]["bytes"]["code"]) == {"relaxed", "plain"}
    assert data["targets"]["webgl"]["bytes"]["code"] > 0
    assert data["targets"]["webgpu"]["bytes"]["device"] > data["bytes"]["weights"]
    assert data["targets"]["webgpu"]["crossings"] == 0
    assert list(data["seconds"]) == ["import", "optimise", "schedule", "generate code", "shaders", "verify", "write"]
    assert all(s >= 0 for s in data["seconds"].values())
    assert [v["backend"] for v in data["verified"]] == ["native", "wasm-relaxed", "wasm"]
    assert all(v["error"] <= v["tolerance"] for v in data["verified"])
    sizes = {f["name"]: f["bytes"] for f in data["files"]}
    assert sizes == {p.name: p.stat().st_size for p in (tmp_path / "out").iterdir()}


def test_the_weights_have_one_row(tmp_path: Path) -> None:
    """The files of weights are a row, however many: the report lists them."""
    onnx.save(
        model([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 1024]}, ["y"], {"w": random((1024, 1200))}),
        tmp_path / "net.onnx",
    )
    out, report = tmp_path / "out", tmp_path / "report.json"
    result = run(tmp_path / "net.onnx", "--out", out, "--targets", "wasm", "--compress", "gz", "--report", report)
    assert result.exit_code == 0, result.output
    shards = sorted(p.name for p in out.glob("weights-*.bin"))
    packed = list(out.glob("*.gz"))
    assert len(shards) > 1
    assert len(packed) > 1
    rows = re.split(r"\n\n", result.output)[-2]
    assert re.search(rf"^  {len(shards)} files of weights +4\.9 MB$", rows, re.MULTILINE)
    assert re.search(rf"^  {len(packed)} files compressed as \.gz +[\d.]+ kB$", rows, re.MULTILINE)
    assert not [name for name in shards if name in rows]
    assert "1 kernel, 1 launch in a run" in result.output
    files = json.loads(report.read_text())["files"]
    assert sorted(f["name"] for f in files if f["kind"] == "weights" and f["name"].endswith(".bin")) == shards


def test_a_model_without_weights(tmp_path: Path) -> None:
    onnx.save(model([node("Relu", ["x"], ["y"])], {"x": [4]}, ["y"]), tmp_path / "net.onnx")
    result = run(tmp_path / "net.onnx", "--out", tmp_path / "out", "--targets", "wasm")
    assert re.search(r"^  weights +none$", result.output, re.MULTILINE)


def test_report_of_products_in_few_bits(tmp_path: Path) -> None:
    weights = {
        "s": np.float32(0.02),
        "z": np.uint8(120),
        "t": np.float32(0.01),
        "w": np.random.default_rng(0).integers(-99, 99, (32, 32)).astype(np.int8),
        "v": random((32, 8)),
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        node("DequantizeLinear", ["w", "t"], ["e"]),
        node("MatMul", ["d", "e"], ["a"], "whole"),
        node("MatMul", ["a", "v"], ["y"], "real"),
    ]
    onnx.save(model(nodes, {"x": [8, 32]}, ["y"], weights), tmp_path / "model.onnx")
    result = run(tmp_path / "model.onnx", "--out", tmp_path / "o", "--report", tmp_path / "r.json", "--targets", "wasm")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "products: 1 of int16 and int8 in int32, 1 of float32 and float32 in float32" in text
    report = json.loads((tmp_path / "r.json").read_text())
    wasm = report["targets"]["wasm"]
    assert ["contraction of int16 and int8 in int32"] in [n["forms"] for n in wasm["launches"]]
    types = report["bytes"]["weight_types"]
    # For pairs and for fours; a scale and a zero point, each in a part of its own.
    assert (types["int8"], types["float32"]) == (2 * 1024, 1088)
    assert sum(types.values()) == report["bytes"]["weights"]
    assert re.search(r"weights 3\.. kB: 2\.0 kB int8, 1\.1 kB float32", text)
    products = {"int16 and int8 in int32": 1, "float32 and float32 in float32": 1}
    assert wasm["products"] == products
    entry = (tmp_path / "o" / "model.js").read_text()
    assert 'products: { "int16 and int8 in int32": 1, "float32 and float32 in float32": 1 }' in entry


def test_report_of_weights_in_words(tmp_path: Path) -> None:
    """Words are named by the type of the elements that they hold."""
    generator = np.random.default_rng(0)
    weights = {"b": generator.integers(0, 256, (256, 8, 16)).astype(np.uint8), "s": random((256 * 8,))}
    nodes = [node("MatMulNBits", ["x", "b", "s"], ["y"], domain="com.microsoft", K=256, N=256, bits=4, block_size=32)]
    onnx.save(
        model(nodes, {"x": [1, 256]}, ["y"], weights, imports=[onnx.helper.make_opsetid("com.microsoft", 1)]),
        tmp_path / "model.onnx",
    )
    for activations in ("f32", "int8"):
        options = ("--targets", "webgl,wasm", "--activations", activations, "--force")
        result = run(tmp_path / "model.onnx", "--out", tmp_path / "o", *options)
        assert result.exit_code == 0, result.output
        text = " ".join(result.output.split())
        assert "weights 41.0 kB: 32.8 kB uint4, 8.2 kB float32 webgl" in text
        assert text.count("products:") == 2
        if activations == "f32":
            # WebGL widens them in registers, WebAssembly at load.
            assert "products: 1 of float32 and uint4 in float32" in text.split(" wasm ")[0]
            assert "products: 1 of float32 and float32 in float32" in text.split(" wasm ")[1]
        else:
            assert text.count("1 of int8 and uint4 in int32 and float32") == 2


def test_report_of_sizes_that_vary(path: Path, tmp_path: Path) -> None:
    arguments = ("--dim", "batch=2..8,multiple=2", "--targets", "wasm", "--verify")
    result = run(path, "--out", tmp_path / "out", *arguments, "--report", tmp_path / "report.json")
    assert result.exit_code == 0, result.output
    assert "sizes      batch: 2..8,multiple=2\n" in result.output
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["dimensions"] == [{"name": "batch", "least": 2, "most": 8, "multiple": 2}]
    assert data["inputs"] == [{"name": "x", "dtype": "float32", "shape": ["batch", 3, 8, 8]}]
    assert all(v["error"] <= v["tolerance"] for v in data["verified"])


@pytest.mark.parametrize("level", ["0", "1", "2"])
def test_every_level_computes_the_same(level: str, path: Path, tmp_path: Path) -> None:
    result = run(path, "--out", tmp_path / "out", *SHAPE, "--opt-level", level, "--verify")
    assert result.exit_code == 0, result.output
    assert re.findall(r"verified +(\S+): largest error \d\.\de-\d\d, of \w+; 1\.0e-04 is allowed", result.output) == [
        "native",
        "wasm-relaxed",
        "wasm",
    ]


@pytest.mark.parametrize(("level", "stage"), [(level, stage) for level in (0, 2) for stage in stages("wasm", level)])
def test_dump_after_every_stage(level: int, stage: str, path: Path, tmp_path: Path) -> None:
    options = (*SHAPE, "--targets", "wasm", "--opt-level", str(level), "--dump", f"after:{stage}")
    result = run(path, "--out", tmp_path / "out", *options)
    assert result.exit_code == 0, result.output
    text = result.output
    if stage == "llvm":
        assert text.count("define ") > 1
        assert 'target triple = "wasm32' in text
    elif stage in ("import", "fold_constants", "convert_float16", "merge_duplicates", "share_transposes"):
        assert re.search(r"graph test\n  input x: float32\[1, 3, 8, 8\]\n", text)
        assert "  output probabilities: float32[1, 5]\n" in text
    elif stage in ("build_kernel", "schedule_cpu", "unroll_loops", "lower_float16"):
        assert len(re.findall(r"^  for \w+", text, re.MULTILINE)) > 3
    else:
        assert len(text.splitlines()) > 30


@pytest.mark.parametrize(
    ("stage", "text"),
    [
        ("webgpu:schedule_simt", r"^  for \w+ < \d+ block:$"),
        ("webgpu:wgsl", r"^@compute @workgroup_size"),
        ("webgpu:wgsl", r"^// \w+$"),
        ("webgl:schedule_fragment", r"^  for \w+ < \d+ block:$"),
        ("webgl:glsl", r"^void main\(\) \{$"),
        ("webgl:glsl", r"^#version 300 es\n// \w+$"),
    ],
)
def test_dump_of_a_device(stage: str, text: str, path: Path, tmp_path: Path) -> None:
    options = (*SHAPE, "--targets", "webgpu,webgl", "--dump", f"after:{stage}")
    result = run(path, "--out", tmp_path / "out", *options)
    assert result.exit_code == 0, result.output
    assert len(re.findall(text, result.output, re.MULTILINE)) > 2


def test_the_list_of_stages(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(path, "--out", out, "--targets", "webgl,wasm", "--opt-level", "0", "--dump", "list")
    assert result.exit_code == 0, result.output
    assert result.output == "".join(f"{t}: {', '.join(stages(t, 0))}\n" for t in ("webgl", "wasm"))
    assert not out.exists()
    assert run("--targets", "webgl,wasm", "--opt-level", "0", "--dump", "list").output == result.output


def test_what_a_build_needs(path: Path) -> None:
    assert "Missing argument 'MODEL...'" in run("--out", "out").output
    assert "Missing option '--out'" in run(path).output
    assert "Missing option '--out'" in run(path, "--dump", "after:import").output


def test_a_dump_is_all_that_goes_to_standard_output(path: Path, tmp_path: Path) -> None:
    command = [PROGRAM, path, "--out", tmp_path / "out", *SHAPE, "--dump", "after:import"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("graph test\n")
    assert done.stdout.rstrip().splitlines()[-1].startswith("  output r: float32[1, 8, 8, 8]")
    assert "net.onnx -> " in done.stderr


def test_force_replaces_a_bundle(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(path, "--out", out, *SHAPE).exit_code == 0
    before = contents(out)
    assert run(path, "--out", out, "--shape", "x=2x3x8x8", "--force").exit_code == 0
    after = contents(out)
    assert after["model.js"] != before["model.js"]
    assert len(after) == len(before)


def test_same_bytes_from_processes_with_different_hashes(tmp_path: Path) -> None:
    found = []
    for seed in ("1", "2"):
        out = tmp_path / seed
        env = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([PROGRAM, EXAMPLE, "--out", out, "--no-cache"], env=env, check=True, capture_output=True)
        found.append(contents(out))
    assert found[0] == found[1]


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """Names of the model and of the folder may be bytes that are no UTF-8, in a file system that allows them."""
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/net\xff.onnx"))
    try:
        onnx.save(network(), odd)
    except OSError:
        pytest.skip("this file system wants text")
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/out\xfe"))
    result = run(odd, "--out", out, *SHAPE, "--report", tmp_path / "report.json")
    assert result.exit_code == 0, result.output
    assert "net\ufffd.onnx -> " in result.output
    assert "<title>net\ufffd</title>" in (out / "index.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "report.json").read_text())["model"] == "net\ufffd.onnx"
