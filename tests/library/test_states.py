"""Libraries of models with states: from Python, against onnxruntime, and from C and C++, which do without `compile`."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
import webnn_compile
from library_builds import CHECK, SANITIZED, STRICT, build_library, write_library
from onnx_models import assert_close, model, node, random
from state_rows import ROWS, Row
from webnn_compile.errors import InputError
from webnn_compile.generation.generating import Generating
from webnn_compile.program.states import StateFullError
from windowed_decoder import MOST, SMALL, passed, sentence
from windowed_decoder import ROWS as WINDOW

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

KINDS = [
    next(r for r in ROWS if r.name == name)
    for name in (
        "a cell",
        "rows of four behind others, in the middle of three dimensions, and along the first",
        "a window of the last rows",
        "rows that the data choose, so that a run decides how many",
        "integers that count",
    )
]
GROWING = KINDS[1]


def options_of(row: Row) -> list[str]:
    dims = [f"{d}={n[0]}..{n[1]}" if isinstance(n, tuple) else f"{d}={n}" for d, n in row.dims.items()]
    return [word for d in dims for word in ("--dim", d)] + [word for s in row.pairs for word in ("--state", s)]


@pytest.mark.parametrize("target", ["native", "c"])
@pytest.mark.parametrize("row", KINDS, ids=lambda r: r.name)
def test_python(row: Row, target: str, tmp_path: Path) -> None:
    loaded = webnn_compile.load(build_library(row.model, target, tmp_path, *options_of(row)), threads=2)
    sessions, every = [loaded, loaded.session()], [row.runs(8, seed) for seed in range(2)]
    for _ in range(8):
        for session, runs in zip(sessions, every, strict=True):
            given, results, states = next(runs)
            for name, found in session.run(given).items():
                np.testing.assert_allclose(found, results[name], rtol=1e-4, atol=1e-4)
            saved = session.save_state()
            assert saved.keys() == states.keys()
            for name, want in states.items():
                assert saved[name].dtype == want.dtype
                np.testing.assert_allclose(saved[name], want, rtol=1e-4, atol=1e-4)


def test_sessions_of_a_library(tmp_path: Path) -> None:
    """They are those of models that are compiled here."""
    loaded = webnn_compile.load(build_library(GROWING.model, "native", tmp_path, *options_of(GROWING)))
    given = [g for g, _, _ in GROWING.runs(6)]
    for g in given[:3]:
        loaded.run(g)
    saved, fork, here = loaded.save_state(), loaded.fork(), loaded.position
    wanted = [loaded.run(g) for g in given[3:]]
    loaded.rewind(loaded.position - here)
    other = loaded.session()
    other.load_state(saved)
    for session in (fork, loaded, other):
        assert session.position == here
        for g, want in zip(given[3:], wanted, strict=True):
            for name, found in session.run(g).items():
                np.testing.assert_array_equal(found, want[name])
    loaded.reset()
    assert loaded.position == 0
    x = np.ones((1, 3, 3, 4), np.float32)
    while loaded.position <= 40:
        loaded.run({"x": x})
    other.load_state(loaded.save_state())
    for session in (loaded, other):
        with pytest.raises(StateFullError, match="P is 42, and the model was compiled for at most 40"):
            session.run({"x": x})
        assert session.position == 42
        session.rewind(2)
        session.run({"x": x})


def test_positions_end(tmp_path: Path) -> None:
    """Positions of a table, whose number the library alone knows, are a limit, too."""
    dims = ("batch_size=1", "past_sequence_length=0..511", "sequence_length=1..64")
    options = [word for d in dims for word in ("--dim", d)]
    loaded = webnn_compile.load(build_library(SMALL, "native", tmp_path, *options))
    ids = np.ones((1, 64), np.int64)
    while loaded.position + 64 <= 500:
        loaded.run({"input_ids": ids})
    with pytest.raises(StateFullError, match=r"libnet\.so: the state is full: .* or more positions than it has"):
        loaded.run({"input_ids": ids})
    assert loaded.position == 448
    loaded.run({"input_ids": ids[:, :52]})


@pytest.mark.parametrize("target", ["native", "c"])
def test_rows_beyond_the_window_are_dropped(target: str, tmp_path: Path) -> None:
    dims = ("batch_size=1", f"past_sequence_length=0..{WINDOW}", f"sequence_length=1..{MOST}")
    options = [word for d in dims for word in ("--dim", d)]
    loaded = webnn_compile.load(build_library(SMALL, target, tmp_path, *options, "--state-window", str(WINDOW)))
    reference = passed()
    for ids in sentence(0):
        found = loaded.run({"input_ids": np.array([ids])})["logits"][0]
        np.testing.assert_allclose(found, reference.run(ids), rtol=2e-4, atol=2e-4)
        assert loaded.position == reference.position
        there = next(iter(reference.caches.values())).shape[2]
        saved = loaded.save_state()
        assert saved.pop("past_sequence_length.dropped") == loaded.position - there
        for name, a in saved.items():
            np.testing.assert_allclose(a, reference.caches[name], rtol=2e-4, atol=2e-4)


def maxima() -> onnx.ModelProto:
    """The largest of each column of all rows so far, and of the columns of a mask that has one for each row."""
    nodes = [
        node("Concat", ["p", "x"], ["q"], axis=1),
        node("Mul", ["q", "mask"], ["masked"]),
        node("ReduceMax", ["masked"], ["y"], axes=[1]),
    ]
    return model(nodes, {"x": ["B", "S", 4], "p": ["B", "P", 4], "mask": ["B", "P + S", 1]}, ["y", "q"], {})


MAXIMA = ("--dim", "B=1..2", "--dim", "S=1..3", "--dim", "P=0..4", "--state", "p=q")

C_PROGRAM = (
    r"""
#include "net_library.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
"""
    + CHECK
    + r"""
int main(void) {
  net_model *model;
  net_context *context;
  float x[2 * 3 * 4], mask[2 * 7], y[2 * 4];
  const void *inputs[] = {x, mask};
  void *outputs[] = {y};
  int64_t shape[3], rows, two[] = {1, 2}, three[] = {1, 3}, batch[] = {2, 1};
  void *state = calloc(net_state_bytes(), 1), *fork = malloc(net_state_bytes());
  for (int i = 0; i < 24; i++) x[i] = (float)i;
  for (int i = 0; i < 14; i++) mask[i] = 1;
  CHECK(net_create_from_file("net.weights", &model), OK);
  CHECK(net_context_create(model, 1, &context), OK);
  if (net_dimension_count() != 2 || net_length_count() != 1 || net_state_length(1) || net_state_count() != 1) return 2;
  if (net_position(state) || net_position(NULL)) return 3;
  CHECK(net_rewind(NULL, 0), STATE_FEWER);
  CHECK(net_context_run_sized(context, NULL, two, inputs, outputs), WRONG_ARGUMENT);
  CHECK(net_context_run_sized(context, (char *)state + 4, two, inputs, outputs), WRONG_ARGUMENT);
  CHECK(net_context_run_sized(context, state, two, inputs, outputs), OK);
  if (net_position(state) != 2 || y[0] != 4 || y[3] != 7) return 4;
  CHECK(net_input_shape(1, three, state, shape), OK);
  if (shape[0] != 1 || shape[1] != 5 || shape[2] != 1) return 5;
  CHECK(net_input_shape(1, three, NULL, shape), WRONG_ARGUMENT);
  CHECK(net_get_lengths(state, &rows), OK);
  CHECK(net_set_lengths(state, &rows), OK);
  CHECK(net_context_run_sized(context, state, batch, inputs, outputs), STATE_OTHER);
  memcpy(fork, state, net_state_bytes());
  CHECK(net_context_run_sized(context, state, three, inputs, outputs), OK);
  y[0] = 77;
  CHECK(net_context_run_sized(context, state, three, inputs, outputs), STATE_FULL);
  if (y[0] != 77 || net_position(state) != 5 || net_position(fork) != 2) return 6;
  CHECK(net_rewind(state, 6), STATE_FEWER);
  CHECK(net_rewind(state, -1), STATE_FEWER);
  CHECK(net_rewind(state, 4), OK);
  for (int i = 0; i < 24; i++) x[i] = -1;
  CHECK(net_context_run_sized(context, state, two, inputs, outputs), OK);
  if (y[0] != 0 || y[3] != 3) return 7;
  CHECK(net_context_output_shape(context, 0, shape), OK);
  if (shape[0] != 1 || shape[1] != 1 || shape[2] != 4) return 8;
  /* Other states, and how many rows they have. */
  float *cache = net_state_data(fork, 0);
  if (net_state(0)->shape[1] != 7 || net_state_data(fork, 1) || net_state_data(NULL, 0)) return 9;
  for (int i = 0; i < 4; i++) cache[i] = 50;
  rows = -1;
  CHECK(net_set_lengths(fork, &rows), WRONG_ARGUMENT);
  rows = 8;
  CHECK(net_set_lengths(fork, &rows), WRONG_ARGUMENT);
  rows = 7;
  CHECK(net_set_lengths(fork, &rows), OK);
  CHECK(net_context_run_sized(context, fork, two, inputs, outputs), STATE_FULL);
  rows = 1;
  CHECK(net_set_lengths(fork, &rows), OK);
  CHECK(net_context_run_sized(context, fork, two, inputs, outputs), OK);
  if (y[0] != 50 || y[3] != 50) return 10;
  CHECK(net_get_lengths(fork, &rows), OK);
  if (rows != 3 || net_position(fork) != 3) return 11;
  memset(state, 0, net_state_bytes());
  CHECK(net_context_run_sized(context, state, batch, inputs, outputs), OK);
  printf("%s %d %d %d\n", net_state_length(0)->name, (int)net_state_length(0)->most,
         (int)net_state_length(0)->multiple, net_state_length(0)->dropped);
  printf("%s\n%s\n", net_state(0)->name, net_message(NET_STATE_FULL));
  net_context_destroy(context);
  net_destroy(model);
  free(state);
  free(fork);
  return 0;
}
"""
)


@pytest.mark.parametrize("target", ["native", "c"])
def test_c(target: str, tmp_path: Path) -> None:
    """The source under sanitizers, and the library that exports what its header declares."""
    out = write_library(maxima(), target, tmp_path, *MAXIMA)
    (out / "main.c").write_text(C_PROGRAM)
    linked = ("net.c", "net_library.c", "-lm", *SANITIZED) if target == "c" else ("-L.", "-lnet", "-Wl,-rpath,$ORIGIN")
    subprocess.run(["cc", "-std=c99", *STRICT, "main.c", *linked, "-o", "main"], cwd=out, check=True)
    done = subprocess.run(["./main"], cwd=out, capture_output=True, text=True)
    full = "the state is full: the run needs more rows than the model was compiled for, or more positions than it has"
    assert (done.returncode, done.stdout.splitlines()) == (0, ["P 4 1 -1", "p", full]), done.stdout + done.stderr
    if target == "native":
        listed = subprocess.run(["nm", "-D", "--defined-only", out / "libnet.so"], capture_output=True, text=True)
        exported = {line.split()[2] for line in listed.stdout.splitlines() if " T net_" in line}
        declared = set(re.findall(r"_API [^;(]*?(net_\w+)\(", (out / "net_library.h").read_text()))
        assert {"net_position", "net_rewind", "net_state_data"} < declared <= exported


REFUSED = """
    <ir_version: 10, opset_import: ["" : 18]>
    g (float[2, 3] x, bool fits, float[P, 3] p) => (float[1, 3] y, float[2, 3] z, float[Q, 3] q) <int64[1] axis = {0}> {
      q = Concat <axis = 0> (p, x)
      y = ReduceSum(q, axis)
      z = If(fits) <
        then_branch = t () => (float[2, 3] v) { v = Neg(x) },
        else_branch = e () => (float[2, 3] w) { w = Add(x, wide) }
      >
    }"""


def test_a_run_that_drops_rows_and_fails(tmp_path: Path) -> None:
    """It leaves the newest rows, and those alone."""
    made = onnx.parser.parse_model(REFUSED)
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((5, 3), np.float32), "wide"))
    out = build_library(made, "c", tmp_path, "--state", "p=q", "--dim", "P=0..12", "--state-window", "8")
    assert (out / "net.c").read_text().endswith("}\n")
    loaded = webnn_compile.load(out)
    compiled = webnn_compile.compile(made, states=["p=q"], dims={"P": (0, 12)}, state_window=8)
    for i in range(16):
        feeds = {"x": random((2, 3), i), "fits": np.array(i not in (4, 5, 9, 12))}
        for one in (loaded, compiled):
            if feeds["fits"]:
                continue
            with pytest.raises(InputError, match="this run takes its else_branch"):
                one.run(feeds)
        if feeds["fits"]:
            assert_close(loaded.run(feeds), compiled.run(feeds))
        assert loaded.position == compiled.position
        assert_close(loaded.save_state(), compiled.save_state())


LOST = """
    <ir_version: 10, opset_import: ["" : 18]>
    g (float[1, 8] x, int64 rate, float[1, 4] h) => (float[1, 4] y, float[1, 4] h2) <int64 most = {16000}> {
      c = Equal(rate, most)
      u = If(c) <
        then_branch = t () => (float[1, 4] v) { v = MatMul(x, wide) },
        else_branch = e () => (float[1, 4] w) { w = MatMul(x, narrow) }
      >
      h2 = Add(u, h)
      y = Neg(h2)
    }"""

LOST_PROGRAM = r"""
#include "net_library.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  net_model *model;
  net_context *context;
  float x[8] = {1}, first[4], y[4];
  int64_t rate = 16000;
  const void *inputs[] = {x, &rate};
  void *outputs[] = {y}, *firsts[] = {first}, *state = calloc(net_state_bytes(), 1);
  if (net_create_from_file("net.weights", &model) || net_context_create(model, 1, &context)) return 1;
  if (net_context_run(context, state, inputs, firsts) != NET_OK) return 2;
  rate = 8000;
  if (net_context_run(context, state, inputs, outputs) != NET_REFUSED || net_position(state) != 1) return 3;
  rate = 16000;
  if (net_context_run(context, state, inputs, outputs) != NET_STATE_LOST) return 4;
  printf("%s\n", net_message(NET_STATE_LOST));
  memset(state, 0, net_state_bytes());
  if (net_context_run(context, state, inputs, outputs) != NET_OK || memcmp(first, y, sizeof y)) return 5;
  net_context_destroy(context);
  net_destroy(model);
  free(state);
  return 0;
}
"""


def test_a_run_without_results_leaves_the_states_undefined(tmp_path: Path) -> None:
    made = onnx.parser.parse_model(LOST)
    weights = {"wide": random((8, 4), 1), "narrow": random((4, 4), 2)}
    made.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in weights.items())
    out = build_library(made, "c", tmp_path, "--state", "h=h2")
    (out / "main.c").write_text(LOST_PROGRAM)
    command = ("cc", "-std=c99", *STRICT, *SANITIZED, "main.c", "net.c", "net_library.c", "-lm", "-o", "main")
    subprocess.run(command, cwd=out, check=True)
    done = subprocess.run(["./main"], cwd=out, capture_output=True, text=True)
    text = "a run ended without results and left the states undefined: set the state to zero first\n"
    assert (done.returncode, done.stdout) == (0, text), done.stderr
    loaded = webnn_compile.load(out)
    x = random((1, 8))
    first = loaded.run({"x": x, "rate": np.array(16000)})
    with pytest.raises(InputError, match="this run takes its else_branch"):
        loaded.run({"x": x, "rate": np.array(8000)})
    with pytest.raises(InputError, match="left the states undefined"):
        loaded.run({"x": x, "rate": np.array(16000)})
    loaded.reset()
    np.testing.assert_array_equal(loaded.run({"x": x, "rate": np.array(16000)})["y"], first["y"])


CPP_PROGRAM = r"""
#include "net.hpp"
#include <iostream>

namespace net = webnn::net;

int main() {
  const net::Model model("net.weights");
  net::Context context(model);
  net::State state;
  float x[12], mask[7], y[4];
  for (float &n : x) n = 3;
  for (float &n : mask) n = 1;
  context.run(state, {1, 3}, {x, mask}, {y});
  net::State fork = state;
  state.rewind(2);
  for (float &n : x) n = 2;
  std::cout << state.input_shape(1, {1, 2})[1] << ' ';
  context.run(state, {1, 2}, {x, mask}, {y});
  std::cout << state.position() << ' ' << fork.position() << ' ' << y[0] << '\n';
  fork.reset();
  context.run(fork, {1, 1}, {x, mask}, {y});
  std::cout << fork.position() << ' ' << y[0] << ' ' << (net_position(fork.data()) == 1) << '\n';
  try {
    fork.rewind(5);
  } catch (const net::Error &error) {
    std::cout << (error.status == NET_STATE_FEWER) << ' ' << error.what() << '\n';
  }
}
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no C++ compiler")
def test_cpp(tmp_path: Path) -> None:
    out = write_library(maxima(), "native", tmp_path, *MAXIMA)
    (out / "main.cpp").write_text(CPP_PROGRAM)
    command = ("c++", "-std=c++11", *STRICT, "main.cpp", "-L.", "-lnet", "-Wl,-rpath,$ORIGIN", "-o", "main")
    subprocess.run(command, cwd=out, check=True)
    done = subprocess.run(["./main"], cwd=out, capture_output=True, text=True, check=True)
    fewer = "1 the states do not have so many rows to drop, or rows come in multiples of another number"
    assert done.stdout.splitlines() == ["3 3 3 3", "1 2 1", fewer]


def test_states_of_one_size(tmp_path: Path) -> None:
    """A model whose sizes are all known has runs without any, and no rows to drop."""
    (row,) = (r for r in KINDS if r.name == "a cell")
    out = write_library(row.model, "c", tmp_path, *options_of(row))
    header = (out / "net_library.h").read_text()
    assert re.search(r"net_context_run\(net_context \*context,\s+void \*state,\s+const void", header)
    assert "rewind" not in header + (out / "net.hpp").read_text()
    (out / "main.c").write_text(
        r"""
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  unsigned char *weights = malloc(NET_WEIGHTS_BYTES + 1), *prepared = malloc(NET_PREPARED_BYTES + 1);
  void *arena = malloc(NET_ARENA_BYTES), *state = calloc(NET_STATE_BYTES, 1);
  float x[NET_IN0_LENGTH], first[NET_OUT0_LENGTH], y[NET_OUT0_LENGTH];
  FILE *file = fopen("net.weights", "rb");
  if (!file || fread(weights, 1, NET_WEIGHTS_BYTES, file) != NET_WEIGHTS_BYTES) return 1;
  fclose(file);
  net_prepare(weights, prepared);
  for (int i = 0; i < NET_IN0_LENGTH; i++) x[i] = (float)i / 10;
  for (int i = 0; i < 3; i++)
    if (net_run(weights, prepared, arena, state, x, i ? y : first)) return 2;
  if (net_position(state) != 3 || !memcmp(first, y, sizeof y)) return 3;
  memset(state, 0, NET_STATE_BYTES);
  if (net_position(state) || net_run(weights, prepared, arena, state, x, y)) return 4;
  if (memcmp(first, y, sizeof y)) return 5;
  free(weights), free(prepared), free(arena), free(state);
  return 0;
}
"""
    )
    subprocess.run(["cc", "-std=c99", *STRICT, *SANITIZED, "main.c", "net.c", "-lm", "-o", "main"], cwd=out, check=True)
    subprocess.run(["./main"], cwd=out, check=True)


def test_tokens(tmp_path: Path) -> None:
    """A library that was written with --generate gives those of the model that is compiled here."""
    sizes = {"batch_size": 1, "past_sequence_length": (0, 60), "sequence_length": (1, MOST)}
    reference = webnn_compile.compile(SMALL, generate="top=3", dims=sizes)
    dims = ("batch_size=1", "past_sequence_length=0..60", f"sequence_length=1..{MOST}")
    options = [word for d in dims for word in ("--dim", d)]
    loaded = webnn_compile.load(build_library(SMALL, "native", tmp_path, *options, "--generate", "top=3"))
    assert isinstance(loaded, Generating)
    assert loaded.generation == reference.generation
    prompt = [3, 1, 4, 1, 5, 9, 2, 6, 5]
    for chosen in ({}, {"temperature": 0.9, "top_k": 9, "top_p": 0.8, "repetition_penalty": 1.2, "seed": 4}):
        found = list(loaded.generate(prompt, max_tokens=20, logprobs=True, **chosen))
        wanted = list(reference.generate(prompt, max_tokens=20, logprobs=True, **chosen))
        assert [t.id for t in found] == [t.id for t in wanted]
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose([p for _, p in one.top], [p for _, p in other.top], rtol=1e-5, atol=1e-5)
    fork = loaded.fork()
    assert list(fork.generate([7], max_tokens=3, resume=True)) == list(loaded.generate([7], max_tokens=3, resume=True))
