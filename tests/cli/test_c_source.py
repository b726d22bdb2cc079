"""`webnn-compile --targets c`: what it writes, what it refuses, and that compilers take it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from arm_programs import CC, RUN, need_arm
from cli.command import EXAMPLE, contents, refused, run
from onnx_models import model, node, random
from webnn_compile.c.render import identifier
from webnn_compile.errors import InputError

STRICT = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "-o", "model.o")


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("c") / "out"
    done = run(EXAMPLE, "--out", out, "--targets", "c", "--report", out.parent / "report.json")
    assert done.exit_code == 0, done.output
    printed = " ".join(done.stdout.split())
    assert "c 34 kernels, 49 calls in a run; memory beside the weights:" in printed
    assert "for --cpu generic, with vectors of four floats: on a processor with wider ones --cpu host or x8" in printed
    assert printed.endswith(f"{out}/resnet18_digits.h says how it is called.")
    return out


def test_files_and_report(digits: Path) -> None:
    suffixes = (".c", ".h", ".hpp", ".weights", "_library.c", "_library.h", "_self_test.h")
    assert sorted(p.name for p in digits.iterdir()) == [f"resnet18_digits{s}" for s in suffixes]
    report = json.loads((digits.parent / "report.json").read_text())["targets"]["c"]
    header = (digits / "resnet18_digits.h").read_text()
    assert f"#define RESNET18_DIGITS_ARENA_BYTES {report['bytes']['arena']}\n" in header
    assert f"#define RESNET18_DIGITS_WEIGHTS_BYTES {(digits / 'resnet18_digits.weights').stat().st_size}\n" in header
    assert "out0: logits, float32 1x10 */" in header


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++"])
def test_compilers_take_it(digits: Path, compiler: str, tmp_path: Path) -> None:
    """The header as C++, too."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    shutil.copytree(digits, tmp_path, dirs_exist_ok=True)
    (tmp_path / "use.cc").write_text('#include "resnet18_digits.h"\nauto *run = resnet18_digits_run;\n')
    flags = ("-std=c++17", "-Wall", "-Werror", "use.cc", "-c") if compiler == "g++" else (*STRICT, "resnet18_digits.c")
    done = subprocess.run([compiler, *flags], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_those_of_the_native_target(threads: int) -> None:
    x = random((1, 1, 32, 32), 5)
    got = webnn_compile.compile(EXAMPLE, "c", threads=threads).run({"image": x})["logits"]
    np.testing.assert_allclose(got, webnn_compile.compile(EXAMPLE).run({"image": x})["logits"], rtol=1e-4, atol=1e-4)


def test_the_processor_decides_the_vectors(tmp_path: Path) -> None:
    path = tmp_path / "dense.onnx"
    layers = [node("MatMul", ["x", "w"], ["h"]), node("MatMul", ["h", "v"], ["y"])]
    weights = {"w": random((64, 48)), "v": random((48, 48), 1)}
    onnx.save(model(layers, {"x": [32, 64]}, ["y"], weights), path)
    for cpu, vector in (("generic", "f32x4"), ("x86-64-v3", "f32x8"), ("x86-64-v4", "f32x16"), ("aarch64", "f32x4")):
        done = run(path, "--out", tmp_path / cpu, "--targets", "c", "--cpu", cpu)
        assert done.exit_code == 0
        assert ("takes half the time" in " ".join(done.stdout.split())) == (cpu == "generic")
        assert f"typedef float {vector} " in (tmp_path / cpu / "dense.c").read_text()


def test_names_become_identifiers() -> None:
    assert identifier("ResNet-18 (v2)") == "resnet_18_v2"
    assert identifier("18") == "model_18"
    assert identifier("string") == "model_string"
    assert identifier("\u00e9") == "model_"


def test_names_in_comments_end_none(tmp_path: Path) -> None:
    path = tmp_path / "a.onnx"
    names = "x*/ int y; /*", "y\n??/"
    onnx.save(model([node("Relu", [names[0]], [names[1]])], {names[0]: [2]}, [names[1]]), path)
    assert run(path, "--out", tmp_path / "out", "--targets", "c").exit_code == 0
    header = (tmp_path / "out" / "a.h").read_text()
    assert "in0: x* / int y; / *, float32 2\n" in header
    assert "out0: y_? ?/, float32 2 */" in header


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--targets", "c,wasm"), "--targets c,wasm: choose from webgpu, webgl, wasm, or native or c alone"),
        (("--targets", "c", "--verify"), "--verify is for bundles: leave it out with --targets c"),
        (("--targets", "c", "--precision", "f16"), "--precision f16 is for bundles: leave it out with --targets c"),
        (("--targets", "c", "--wasm-linker", "emcc"), "--wasm-linker emcc is for bundles: leave it out"),
        (("--targets", "c", "--gpu-tiles", "shared"), "--gpu-tiles shared is for bundles: leave it out"),
        (("--embed-weights",), "--embed-weights is for --targets c"),
        (("--targets", "native", "--embed-weights"), "--embed-weights is for --targets c"),
        (("--targets", "c", "--cpu", "z80"), "--cpu z80: choose one of generic, x86-64-v3, x86-64-v4, aarch64, host"),
        (("--targets", "native,c"), "--targets native,c: choose from webgpu, webgl, wasm, or native or c alone"),
        (("--targets", "native", "--coop-coep"), "--coop-coep is for bundles: leave it out with --targets native"),
        (("--cpu", "host"), "--cpu host is for --targets native or c: a bundle runs on any processor"),
    ],
)
def test_refused(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    refused(run(EXAMPLE, "--out", tmp_path / "out", *options), re.escape(message))
    assert not (tmp_path / "out").exists()


def test_a_folder_is_replaced_only_when_asked(digits: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(digits, out)
    before = contents(out)
    refused(run(EXAMPLE, "--out", out, "--targets", "c"), "already holds a C source of a model; give --force")
    refused(run(EXAMPLE, "--out", out, "--force"), "is not empty and holds no bundle")
    (out / "main.c").write_text("int main(void) { return 0; }\n")
    message = r"holds files that are no part of its C source of a model \(main.c\)"
    refused(run(EXAMPLE, "--out", out, "--targets", "c", "--force"), message)
    (out / "main.c").unlink()
    (out / "resnet18_digits.c").write_text("/* my own */\n")
    refused(run(EXAMPLE, "--out", out, "--targets", "c", "--force"), "is not empty and holds no C source of a model")
    (out / "resnet18_digits.c").write_bytes(before["resnet18_digits.c"])
    assert contents(out) == before
    assert run(EXAMPLE, "--out", out, "--targets", "c", "--force").exit_code == 0
    assert contents(out) == before


def program_of_the_documentation(digits: Path, folder: Path) -> list[str]:
    """Puts it and the model's source into the folder; the command that compiles them."""
    page = (Path(__file__).parents[2] / "docs" / "libraries.md").read_text()
    program = re.search(r"```c\n(.*?)```", page, re.DOTALL)
    command = re.search(r"\n(cc .* main\.c .*)\n", page)
    assert program is not None
    assert command is not None
    shutil.copytree(digits, folder, dirs_exist_ok=True)
    (folder / "main.c").write_text(program[1])
    return command[1].split()


def check_program(folder: Path, compile: list[str], run: list[str]) -> None:
    subprocess.run(compile, cwd=folder, check=True)
    printed = subprocess.run([*run, folder / "a.out"], cwd=folder, capture_output=True, text=True, check=True).stdout
    expected = webnn_compile.compile(EXAMPLE).run({"image": np.zeros((1, 1, 32, 32), np.float32)})["logits"]
    assert float(printed) == pytest.approx(float(expected[0, 0]), abs=1e-4)


def test_the_program_of_the_documentation(digits: Path, tmp_path: Path) -> None:
    command = program_of_the_documentation(digits, tmp_path)
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    check_program(tmp_path, command, [])


def test_weights_as_constants(digits: Path, tmp_path: Path) -> None:
    """The program of the documentation with them in place of the file, as a microcontroller has it."""
    command = program_of_the_documentation(digits, tmp_path)
    out = tmp_path / "embedded"
    assert run(EXAMPLE, "--out", out, "--targets", "c", "--embed-weights").exit_code == 0
    assert run(EXAMPLE, "--out", out, "--targets", "c", "--embed-weights", "--force").exit_code == 0
    shutil.copytree(out, tmp_path, dirs_exist_ok=True)
    main = (tmp_path / "main.c").read_text()
    main, files = re.subn(r"  FILE .*\n.*return 1;\n", "  (void)weights;\n", main)
    main, uses = re.subn(r"(prepare|run)\(weights", r"\1(resnet18_digits_weights", main)
    (tmp_path / "main.c").write_text(main)
    assert (files, uses) == (1, 2)
    (tmp_path / "resnet18_digits.weights").unlink()
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    check_program(tmp_path, [*command, "resnet18_digits_weights.c", "-O0"], [])


def test_arm(digits: Path, tmp_path: Path) -> None:
    """Compiled by Zig's Clang, run by an emulator."""
    need_arm()
    command = program_of_the_documentation(digits, tmp_path)
    assert run(EXAMPLE, "--out", tmp_path / "arm", "--targets", "c", "--cpu", "aarch64").exit_code == 0
    shutil.copytree(tmp_path / "arm", tmp_path, dirs_exist_ok=True)
    check_program(tmp_path, [*CC, *(w for w in command[1:] if w != "-march=native")], [*RUN])


def test_no_bundle_has_it() -> None:
    with pytest.raises(InputError, match="target c has no part in a bundle; choose from webgpu, webgl, wasm"):
        webnn_compile.build_bundle(EXAMPLE, targets="c")
