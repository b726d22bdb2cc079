"""Libraries of models whose sizes vary, and of those with loops and branches: from Python, C and C++, against
onnxruntime."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from library_builds import CHECK, SANITIZED, SOURCES, STRICT, build_library, write_library
from onnx import TensorProto, helper
from onnx_models import Array, assert_close, model, node, onnxruntime_results, random
from webnn_compile.errors import InputError
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.library.render import render_library

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

Feeds = dict[str, Array]


@dataclass(frozen=True)
class Sample:
    """A model, the `--dim` options that it is built with, and inputs for some of its sizes."""

    proto: onnx.ModelProto
    dims: tuple[str, ...]
    runs: Sequence[Feeds]


CARRIED = {"i": TensorProto.INT64, "before": TensorProto.BOOL, "a": TensorProto.FLOAT}
"""Inputs of a loop's body, with their types."""


def graph(nodes: Sequence[onnx.NodeProto], inputs: Mapping[str, int], outputs: Sequence[str]) -> onnx.GraphProto:
    """A body of scalars, and of floats without a declared shape; `inputs` by their types."""
    types = {name: (t, None if t == TensorProto.FLOAT else []) for name, t in inputs.items()}
    declared = [helper.make_tensor_value_info(name, *of) for name, of in types.items()]
    return helper.make_graph(nodes, "body", declared, [helper.make_empty_tensor_value_info(name) for name in outputs])


def attention() -> Sample:
    """Sizes in several shapes, at inner axes, one that only comes in multiples, and the sum of two."""
    nodes = [
        node("MatMul", ["x", "w"], ["h"]),
        node("MatMul", ["h", "keys"], ["s"]),
        node("Softmax", ["s"], ["p"]),
        node("Neg", ["past"], ["back"]),
    ]
    shapes = {"x": ["B", "S", 8], "keys": ["B", 6, "S + P"], "past": ["P"]}
    runs = [
        {"x": random((b, s, 8), s), "keys": random((b, 6, s + p), p), "past": random((p,))}
        for b, s, p in ((3, 17, 4), (1, 1, 0), (2, 5, 2), (1, 16, 4))
    ]
    proto = model(nodes, shapes, ["p", "back"], {"w": random((8, 6))})
    return Sample(proto, ("B=1..3", "S=1..17", "P=0..5,multiple=2"), runs)


def lstm() -> Sample:
    weights = {"w": random((2, 20, 3)), "r": random((2, 20, 5), 1), "b": random((2, 40), 2)}
    made = node("LSTM", ["x", "w", "r", "b"], ["y", "h", "c"], hidden_size=5, direction="bidirectional")
    runs = [{"x": random((s, 2, 3), s)} for s in (17, 1, 6)]
    return Sample(model([made], {"x": ["S", 2, 3]}, ["y", "h", "c"], weights), ("S=1..17",), runs)


def branch() -> Sample:
    then = graph([node("Exp", ["x"], ["e"])], {}, ["e"])
    otherwise = graph([node("Softmax", ["x"], ["d"], axis=0)], {}, ["d"])
    nodes = [
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["positive"]),
        node("If", ["positive"], ["y"], then_branch=then, else_branch=otherwise),
    ]
    runs = [{"x": sign * np.abs(random((s, 3), s))} for s in (9, 1, 4) for sign in (1, -1)]
    return Sample(model(nodes, {"x": ["S", 3]}, ["y"], {"zero": np.float32(0)}), ("S=1..9",), runs)


def loop() -> Sample:
    """As many rows as data decides, of inputs whose sizes are fixed."""
    nodes = [
        node("Add", ["a", "x"], ["b"]),
        node("ReduceMax", ["b"], ["most"], keepdims=0),
        node("Less", ["most", "limit"], ["more"]),
        node("Tanh", ["b"], ["row"]),
    ]
    made = node("Loop", ["trips", "", "x"], ["last", "rows"], body=graph(nodes, CARRIED, ["more", "b", "row"]))
    runs = [{"x": np.array([1, 0.5, -2], np.float32), "limit": np.array(limit, np.float32)} for limit in (5, 100, 0, 3)]
    return Sample(model([made], {"x": [3], "limit": []}, ["last", "rows"], {"trips": np.int64(7)}), (), runs)


def static_loop() -> Sample:
    """A library like those without loops."""
    nodes = [node("Tanh", ["a"], ["b"]), node("Identity", ["before"], ["more"]), node("Neg", ["b"], ["row"])]
    made = node("Loop", ["trips", "", "x"], ["last", "rows"], body=graph(nodes, CARRIED, ["more", "b", "row"]))
    return Sample(model([made], {"x": [3, 5]}, ["last", "rows"], {"trips": np.int64(4)}), (), [{"x": random((3, 5))}])


def nonzero() -> Sample:
    """A size that a run chooses, and one that it finds out."""
    nodes = [node("Greater", ["x", "zero"], ["c"]), node("NonZero", ["c"], ["places"]), node("Relu", ["x"], ["y"])]
    runs = [{"x": random((s, 4), s)} for s in (8, 1, 3)] + [{"x": np.zeros((5, 4), np.float32)}]
    return Sample(model(nodes, {"x": ["S", 4]}, ["places", "y"], {"zero": np.float32(0)}), ("S=1..8",), runs)


def element() -> Sample:
    """A size that is the element of an input."""
    zero = np.zeros(1, np.int64)
    nodes = [node("Unsqueeze", ["k", "axis"], ["ends"]), node("Slice", ["x", "starts", "ends"], ["y"])]
    made = model(nodes, {"x": [9, 2], "k": []}, ["y"], {"axis": zero, "starts": zero}, dtype=TensorProto.INT64)
    return Sample(made, ("k=1..9",), [{"x": np.arange(18).reshape(9, 2), "k": np.array(k)} for k in (9, 1, 4)])


SAMPLES: dict[str, Callable[[], Sample]] = {
    f.__name__: f for f in (attention, lstm, branch, loop, static_loop, nonzero, element)
}


def written(sample: Sample, target: str, folder: Path) -> Path:
    return write_library(sample.proto, target, folder, *options_of(sample))


def built(sample: Sample, target: str, folder: Path) -> Path:
    return build_library(sample.proto, target, folder, *options_of(sample))


def options_of(sample: Sample) -> list[str]:
    return [word for d in sample.dims for word in ("--dim", d)]


@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("name", SAMPLES)
def test_python(name: str, target: str, tmp_path: Path) -> None:
    sample = SAMPLES[name]()
    loaded = webnn_compile.load(built(sample, target, tmp_path), threads=2)
    for feeds in sample.runs:
        assert_close(loaded.run(feeds), onnxruntime_results(sample.proto, feeds))


C_PROGRAM = r"""
#include "net_library.h"
#include <stdio.h>
#include <stdlib.h>

static void check(int status) {
  if (status == NET_OK) return;
  printf("%s\n", net_message(status));
  exit(1);
}

static void *transfer(void *data, size_t bytes, const char *kind, int number, const char *mode) {
  char name[16];
  sprintf(name, "%s%d", kind, number);
  FILE *file = fopen(name, mode);
  if (!file || (*mode == 'r' ? fread(data, 1, bytes, file) : fwrite(data, 1, bytes, file)) != bytes) exit(2);
  fclose(file);
  return data;
}

static size_t bytes_of(const net_tensor *t, const int64_t *shape) {
  size_t bytes = t->bytes;
  for (int i = 0; i < t->rank; i++) bytes = bytes / (size_t)t->shape[i] * (size_t)shape[i];
  return bytes;
}

int main(int argc, char **argv) {
  net_model *model;
  net_context *context;
  void *inputs[8], *outputs[8];
  int64_t sizes[8], shape[8];
  check(net_create_from_file("net.weights", &model));
  check(net_context_create(model, 1, &context));
  if (argc != 1 + net_dimension_count()) return 3;
  for (int i = 0; i < net_dimension_count(); i++) sizes[i] = atoi(argv[1 + i]);
  for (int i = 0; i < net_input_count(); i++) {
    size_t bytes = net_input(i)->bytes;
#ifdef SIZED
    check(net_input_shape(i, sizes, shape));
    bytes = bytes_of(net_input(i), shape);
#endif
    inputs[i] = transfer(malloc(bytes + !bytes), bytes, "in", i, "rb");
  }
  for (int i = 0; i < net_output_count(); i++) outputs[i] = malloc(net_output(i)->bytes);
#ifdef SIZED
  check(net_context_run_sized(context, sizes, (const void *const *)inputs, outputs));
#else
  (void)sizes;
  check(net_context_run(context, (const void *const *)inputs, outputs));
#endif
  for (int i = 0; i < net_output_count(); i++) {
    check(net_context_output_shape(context, i, shape));
    for (int j = 0; j < net_output(i)->rank; j++) printf("%d ", (int)shape[j]);
    printf("\n");
    free(transfer(outputs[i], bytes_of(net_output(i), shape), "out", i, "wb"));
  }
  for (int i = 0; i < net_input_count(); i++) free(inputs[i]);
  net_context_destroy(context);
  net_destroy(model);
  return 0;
}
"""

CPP_PROGRAM = r"""
#include "net.hpp"
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

namespace net = webnn::net;

int main(int, char **argv) {
  const net::Model model("net.weights");
  net::Context context(model);
  std::vector<std::vector<char>> given, made;
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  for (std::size_t i = 0; i < net::inputs().size(); i++) {
    std::ifstream file("in" + std::to_string(i), std::ios::binary);
    given.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    given.back().push_back(0);
  }
  for (const net::Tensor &t : net::outputs()) made.emplace_back(t.bytes);
  for (std::vector<char> &data : given) inputs.push_back(data.data());
  for (std::vector<char> &data : made) outputs.push_back(data.data());
#ifdef SIZED
  std::vector<std::int64_t> sizes;
  for (const net::Dimension &d : net::dimensions()) {
    sizes.push_back(std::atoi(*++argv));
    if (sizes.back() < d.least || sizes.back() > d.most || sizes.back() % d.multiple) return 1;
  }
  for (std::size_t i = 0; i < given.size(); i++) {
    const net::Tensor t = net::inputs()[i];
    const std::vector<std::int64_t> shape = net::input_shape(int(i), sizes);
    for (std::size_t j = 0; j < shape.size(); j++)
      if (t.dimensions[j] >= 0 && t.dimensions[j] < int(sizes.size()) && shape[j] != sizes[t.dimensions[j]]) return 2;
  }
  context.run(sizes, inputs, outputs);
#else
  (void)argv;
  context.run(inputs, outputs);
#endif
  for (std::size_t i = 0; i < made.size(); i++) {
    std::size_t bytes = made[i].size();
    const net::Tensor t = net::outputs()[i];
    const std::vector<std::int64_t> shape = context.output_shape(int(i));
    for (std::size_t j = 0; j < shape.size(); j++) {
      bytes = bytes / t.shape[j] * shape[j];
      std::cout << shape[j] << ' ';
    }
    std::cout << '\n';
    std::ofstream("out" + std::to_string(i), std::ios::binary).write(made[i].data(), bytes);
  }
}
"""


def check_program(sample: Sample, folder: Path, command: Sequence[str]) -> None:
    """Checks a program that `command` compiles in the folder of the library."""
    sized = ["-DSIZED"] if sample.dims else []
    subprocess.run([*command, *sized, "-o", "program"], cwd=folder, check=True)
    for feeds in sample.runs:
        for i, port in enumerate(sample.proto.graph.input):
            (folder / f"in{i}").write_bytes(feeds[port.name].tobytes())
        done = subprocess.run(["./program", *sizes_of(sample, feeds)], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        shapes = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
        wanted = onnxruntime_results(sample.proto, feeds)
        found = {
            name: np.fromfile(folder / f"out{i}", a.dtype).reshape(shapes[i])
            for i, (name, a) in enumerate(wanted.items())
        }
        assert_close(found, wanted)


def sizes_of(sample: Sample, feeds: Feeds) -> list[str]:
    """Sizes of the dimensions, in the order in which the inputs' shapes name them."""
    sizes: dict[str, int] = {}
    for port in sample.proto.graph.input:
        for dim, extent in zip(port.type.tensor_type.shape.dim, feeds[port.name].shape, strict=True):
            if dim.dim_param.isidentifier():
                sizes.setdefault(dim.dim_param, extent)
    if "k" in feeds:
        sizes["k"] = int(feeds["k"])
    return [str(n) for n in sizes.values()]


PROGRAMS = ("attention", "loop", "nonzero", "element")


@pytest.mark.parametrize("name", PROGRAMS)
def test_c_under_sanitizers(name: str, tmp_path: Path) -> None:
    """The source, and the program that uses it."""
    sample = SAMPLES[name]()
    folder = written(sample, "c", tmp_path)
    (folder / "main.c").write_text(C_PROGRAM)
    check_program(sample, folder, ["cc", "-std=c99", *STRICT, *SANITIZED, "main.c", *SOURCES, "-lm"])


@pytest.mark.parametrize("name", PROGRAMS[:2])
def test_cpp(name: str, tmp_path: Path) -> None:
    """A program that uses the shared library."""
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    sample = SAMPLES[name]()
    folder = written(sample, "native", tmp_path)
    (folder / "main.cpp").write_text(CPP_PROGRAM)
    strict = ("-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic")
    check_program(sample, folder, ["c++", *strict, "main.cpp", "-L.", "-lnet", "-Wl,-rpath,$ORIGIN"])


STATUSES = (
    r"""
#include "net_library.h"
#include <stdio.h>
#include <string.h>
"""
    + CHECK
    + r"""
int main(void) {
  net_model *model;
  net_context *context;
  float x[3 * 17 * 8] = {0}, keys[3 * 6 * 21] = {0}, past[4] = {0}, p[3 * 17 * 21] = {7}, back[4] = {7};
  const void *inputs[] = {x, keys, past}, *none[] = {x, NULL, past};
  void *outputs[] = {p, back};
  int64_t shape[3], right[] = {2, 5, 2}, wrong[][3] = {{2, 18, 2}, {0, 5, 2}, {2, 5, 3}, {2, 5, -2}, {2, 5, 6}};
  CHECK(net_create_from_file("net.weights", &model), OK);
  CHECK(net_context_create(model, 1, &context), OK);
  CHECK(net_context_output_shape(context, 0, shape), OK);
  if (shape[0] || shape[1] || shape[2]) return 2;
  for (int i = 0; i < 5; i++) {
    CHECK(net_context_run_sized(context, wrong[i], inputs, outputs), WRONG_SIZES);
    CHECK(net_input_shape(0, wrong[i], shape), WRONG_SIZES);
  }
  if (p[0] != 7 || back[0] != 7) return 3;
  CHECK(net_context_run_sized(context, NULL, inputs, outputs), WRONG_ARGUMENT);
  CHECK(net_context_run_sized(context, right, none, outputs), WRONG_ARGUMENT);
  CHECK(net_input_shape(3, right, shape), WRONG_ARGUMENT);
  CHECK(net_input_shape(0, NULL, shape), WRONG_ARGUMENT);
  CHECK(net_input_shape(0, right, NULL), WRONG_ARGUMENT);
  CHECK(net_input_shape(1, right, shape), OK);
  if (shape[0] != 2 || shape[1] != 6 || shape[2] != 7) return 4;
  CHECK(net_context_run_sized(context, right, inputs, outputs), OK);
  CHECK(net_context_run_sized(context, wrong[0], inputs, outputs), WRONG_SIZES);
  CHECK(net_context_output_shape(context, 0, shape), OK);
  if (shape[0] != 2 || shape[1] != 5 || shape[2] != 7) return 5;
  CHECK(net_context_output_shape(context, 2, shape), WRONG_ARGUMENT);
  CHECK(net_context_output_shape(NULL, 0, shape), WRONG_ARGUMENT);
  if (net_dimension_count() != 3 || net_dimension(3) || net_dimension(-1)) return 6;
  const net_range *d = net_dimension(2);
  const net_tensor *t = net_input(1);
  printf("%s %d %d %d %d\n", d->name, (int)d->least, (int)d->most, (int)d->multiple, d->input);
  printf("%d %d %d %d\n", (int)t->shape[2], t->dimensions[0], t->dimensions[1], t->dimensions[2]);
  printf("%s\n", net_message(NET_WRONG_SIZES));
  net_context_destroy(context);
  net_destroy(model);
  return 0;
}
"""
)


@pytest.mark.parametrize("target", ["native", "c"])
def test_statuses(target: str, tmp_path: Path) -> None:
    """Sizes that a model does not take compute nothing, and leave the shapes of the last run."""
    folder = built(attention(), target, tmp_path)
    (folder / "main.c").write_text(STATUSES)
    subprocess.run(
        ["cc", "-std=c99", *STRICT, "main.c", "-L.", "-lnet", "-Wl,-rpath,$ORIGIN", "-o", "main"],
        cwd=folder,
        check=True,
    )
    done = subprocess.run(["./main"], cwd=folder, capture_output=True, text=True)
    takes = "sizes that the model was not compiled for: it takes B: 1..3; S: 1..17; P: 0..4,multiple=2"
    assert (done.returncode, done.stdout.splitlines()) == (0, ["P 0 4 2 -1", "21 0 -1 3", takes])
    listed = subprocess.run(["nm", "-D", "--defined-only", folder / "libnet.so"], capture_output=True, text=True)
    exported = {line.split()[2] for line in listed.stdout.splitlines() if " T net_" in line}
    declared = set(re.findall(r"_API [^;(]*?(net_\w+)\(", (folder / "net_library.h").read_text()))
    assert len(declared) == 15
    assert declared <= exported


def test_an_element_that_is_no_such_size(tmp_path: Path) -> None:
    """By a caller that says one size, and gives an input that says another."""
    sample = element()
    folder = written(sample, "c", tmp_path)
    (folder / "main.c").write_text(C_PROGRAM)
    subprocess.run(
        ["cc", "-std=c99", *STRICT, "-DSIZED", "main.c", *SOURCES, "-lm", "-o", "main"], cwd=folder, check=True
    )
    (folder / "in0").write_bytes(bytes(144))
    (folder / "in1").write_bytes(np.int64(4).tobytes())
    done = subprocess.run(["./main", "5"], cwd=folder, capture_output=True, text=True)
    message = "sizes that the model was not compiled for: it takes k: 1..9, as that input has it\n"
    assert (done.returncode, done.stdout) == (1, message)


def test_arrays_that_do_not_fit(tmp_path: Path) -> None:
    loaded = webnn_compile.load(built(attention(), "native", tmp_path))
    assert [d.name for d in loaded.dimensions] == ["B", "S", "P"]
    assert [t.extents for t in loaded.outputs] == [(3, 17, 21), (4,)]
    keys, past = random((1, 6, 7)), random((2,))
    for feeds, message in (
        ({"x": random((1, 18, 8)), "keys": keys, "past": past}, r"makes S 18, and the model was compiled for 1 to 17"),
        ({"x": random((2, 5, 8)), "keys": keys, "past": past}, r"makes B 1, but input 'x' of shape .* makes it 2"),
        (
            {"x": random((1, 6, 8)), "keys": keys, "past": past},
            r"input 'keys': expected float32\[1, 6, 8\], since B is 1, S is 6, P is 2, got float32\[1, 6, 7\]",
        ),
        ({"x": random((1, 5, 9)), "keys": keys, "past": past}, r"input 'x': expected float32\[B, S, 8\], got"),
    ):
        with pytest.raises(InputError, match=message):
            loaded.run(feeds)


@pytest.mark.parametrize("threads", ["threads.c", "openmp.c"])
def test_models_whose_sizes_are_fixed_have_the_interface_that_they_had(threads: str) -> None:
    sample = static_loop()
    compiled = webnn_compile.compile(sample.proto)
    assert isinstance(compiled, NativeModel)
    library = render_library(compiled.program, "net", [], "", [], threads)
    for text in (library.source, library.header, library.cpp):
        assert re.findall(r"(?i)dimension|sized|_sizes|_range|_shape|/\* (?:if|unless|end)\b", text) == []
    assert "int net_context_run(net_context *context, const void *const *inputs" in library.header
