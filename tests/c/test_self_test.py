"""The test that the generated C carries: it is silent for a right compiler, and names a kernel that is not."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from constructs import CONSTRUCTS
from kernel_checks import assert_same
from onnx_models import model, node, random
from webnn_compile.c.lower import PASSES
from webnn_compile.c.render import CSource, render
from webnn_compile.cpu.compile_for_cpu import lower_kernel
from webnn_compile.execution.c_model import CModel
from webnn_compile.frontends.model_inputs import Dim
from webnn_compile.ir.lanes import lanes_of
from webnn_compile.ir.nodes import Expr
from webnn_compile.ir.rewrite import walk
from webnn_compile.passes.scalarize_vectors import scalarize_vectors
from webnn_compile.program.program import Program

MAIN = """#include "{name}.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {{
  static unsigned char weights[{size}];
  FILE *f = fopen("weights", "rb");
  if (!f || fread(weights, 1, sizeof weights, f) + 1 != sizeof weights) return 1;
  const char *failed = {name}_self_test(weights);
  puts(failed ? failed : "equal");
  return 0;
}}
"""


@dataclass(frozen=True)
class Compiled:
    program: Program
    source: CSource

    def check(self, folder: Path, code: str | None = None) -> str:
        """The result of the self test of the source, or of other `code`."""
        name, weights = self.source.name, self.program.weights
        files = {f"{name}.c": code or self.source.code, f"{name}.h": self.source.header}
        files[f"{name}_self_test.h"] = self.source.self_test
        files["main.c"] = MAIN.format(name=name, size=len(weights) + 1)
        for file, text in files.items():
            (folder / file).write_text(text)
        (folder / "weights").write_bytes(weights)
        strict = ("-std=c99", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror", "-pedantic")
        command = ["gcc", *strict, "-DMODEL_TEST", f"{name}.c", "main.c", "-lm"]
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr[:3000]
        return subprocess.run([folder / "a.out"], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def compiled(made: onnx.ModelProto, **options: object) -> Compiled:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    run = webnn_compile.compile(made, target="c", **options)  # type: ignore[call-overload]
    assert isinstance(run, CModel)
    return Compiled(run.program, render(run.program, tested=True))


def with_integers(made: onnx.ModelProto, name: str) -> onnx.ModelProto:
    """The model, of which this input is int64."""
    for value in made.graph.input:
        if value.name == name:
            value.type.tensor_type.elem_type = onnx.TensorProto.INT64
    return made


@pytest.fixture(scope="module")
def network() -> Compiled:
    """Convolution, product, softmax, a gather by an input, halves, truth values, a size of the caller's and one of the
    data's."""
    nodes = [
        node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", ["c"], ["p"]),
        node("Flatten", ["p"], ["f"]),
        node("MatMul", ["f", "w"], ["m"]),
        node("Softmax", ["m"], ["s"]),
        node("Gather", ["s", "i"], ["g"], axis=1),
        node("Cast", ["m"], ["h"], to=onnx.TensorProto.FLOAT16),
        node("Greater", ["m", "g"], ["b"]),
        node("NonZero", ["b"], ["n"]),
    ]
    inputs = {"x": ["batch", 3, 9, 9], "i": [1]}
    weights = {"k": random((16, 3, 3, 3), 1), "w": random((16, 24), 2)}
    made = with_integers(model(nodes, inputs, ["s", "h", "b", "n"], weights), "i")
    return compiled(made, dims={"batch": Dim(1, 3)})


def test_a_right_compiler(network: Compiled, tmp_path: Path) -> None:
    assert network.check(tmp_path) == "equal"


def test_a_wrong_kernel_is_named(network: Compiled, tmp_path: Path) -> None:
    """As a compiler could make it: of a vector, or of a sum, in turn for each kernel that has one."""
    code = network.source.code
    kernels = list(re.finditer(r"^static \w* ?void (k\d+_\w+)\(.*?^}", code, re.MULTILINE | re.DOTALL))
    found = [(k, re.search(r"(\w+) = \1 \+ ", k[0])) for k in kernels]
    planted = [(k, plus) for k, plus in found if plus]
    assert len(planted) >= 2
    for kernel, plus in planted[:2]:
        at = kernel.start() + plus.end()
        assert network.check(tmp_path, f"{code[: at - 2]}- {code[at:]}") == kernel[1]


def test_a_model_without_kernels(tmp_path: Path) -> None:
    assert compiled(model([node("Shape", ["x"], ["y"])], {"x": [2, 3]}, ["y"])).check(tmp_path) == "equal"


def test_a_model_with_states(tmp_path: Path) -> None:
    """The second of its two runs finds rows; a wrong sum over these is found."""
    nodes = [node("Concat", ["p", "x"], ["q"], axis=0), node("ReduceSum", ["q", "first"], ["y"])]
    made = model(nodes, {"x": ["S", 5], "p": ["P", 5]}, ["y", "q"], {"first": np.array([0])})
    own = compiled(made, dims={"S": (1, 2), "P": (0, 9)}, states=["p=q"])
    assert own.check(tmp_path) == "equal"
    sums = re.compile(r"void (k\d+_\w*reducesum)\(.*?^}", re.MULTILINE | re.DOTALL)
    wrong = sums.sub(lambda kernel: re.sub(r"(\w+) = \1 \+ ", r"\1 = \1 - ", kernel[0]), own.source.code)
    assert own.check(tmp_path, wrong) in sums.findall(own.source.code)


def test_the_fault_of_gcc_is_found(tmp_path: Path) -> None:
    """The self test finds the fault that SUMS_IN_ORDER avoids."""
    nodes = [
        node("Transpose", ["z"], ["t"], perm=[0, 2, 1]),
        node("Min", ["x", "t"], ["m"]),
        node("ReduceSum", ["m"], ["y"], keepdims=0),
    ]
    made = compiled(model(nodes, {"x": [3, 3, 4], "z": [3, 4, 3]}, ["y"]))
    assert made.check(tmp_path) == "equal"
    version = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=True).stdout
    if int(version.partition(".")[0]) == 12:
        unguarded = made.source.code.replace("static SUMS_IN_ORDER", "static")
        assert made.check(tmp_path, unguarded) == "k0_transpose_min_reducesum"


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_scalar_forms_keep_the_meaning(construct: str) -> None:
    kernel = lower_kernel(CONSTRUCTS[construct](), PASSES)
    scalar = scalarize_vectors(kernel)
    assert all(lanes_of(n) == 1 for n in walk(scalar.body) if isinstance(n, Expr))
    assert_same(kernel, scalar, "scalarize_vectors")


def test_made_up_sizes_are_sizes() -> None:
    """An input that is a size gets the largest one."""
    made = with_integers(model([node("Expand", ["x", "n"], ["y"])], {"x": [1], "n": [1]}, ["y"]), "n")
    text = compiled(made, dims={"n": Dim(1, 4)}).source.self_test
    assert "in1[0] = 4;" in text
