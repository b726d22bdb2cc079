"""Programs in C over a library or its source: every status, allocations, sanitizers."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest
import webnn_compile
from cli.command import run

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")

PROGRAM = r"""
#include "small_library.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(status, expected) \
  do { \
    int found = status; \
    if (found != SMALL_##expected) { \
      printf("line %d: %s\n", __LINE__, small_message(found)); \
      return 1; \
    } \
  } while (0)

int main(int argc, char **argv) {
  small_model *model = (void *)argv, *other;
  small_context *context = (void *)argv;
  char path[4096];
  snprintf(path, sizeof path, "%s/small.weights", argv[argc - 1]);
  CHECK(small_create_from_file("nowhere", &model), NO_FILE);
  if (model || errno != ENOENT) return 2;
  CHECK(small_create_from_file(argv[0], &model), WRONG_WEIGHTS);
  CHECK(small_create_from_file(NULL, &model), WRONG_ARGUMENT);
  CHECK(small_create_from_file(path, NULL), WRONG_ARGUMENT);
  CHECK(small_create_from_file(path, &model), OK);

  FILE *file = fopen(path, "rb");
  fseek(file, 0, SEEK_END);
  const size_t bytes = (size_t)ftell(file);
  char *weights = malloc(bytes);
  rewind(file);
  if (fread(weights, 1, bytes, file) != bytes) return 3;
  fclose(file);
  CHECK(small_create(weights, bytes - 64, &other), WRONG_WEIGHTS);
  CHECK(small_create(NULL, bytes, &other), WRONG_ARGUMENT);
  weights[bytes / 2] ^= 1;
  CHECK(small_create(weights, bytes, &other), WRONG_WEIGHTS);
  if (other) return 4;
  weights[bytes / 2] ^= 1;
  CHECK(small_create(weights, bytes, &other), OK);

  CHECK(small_context_create(NULL, 1, &context), WRONG_ARGUMENT);
  CHECK(small_context_create(model, 0, &context), WRONG_ARGUMENT);
  if (context) return 5;
  float image[1024] = {0}, logits[10], again[10];
  const void *inputs[] = {image}, *none[] = {NULL};
  void *outputs[] = {logits}, *others[] = {again};
  CHECK(small_context_create(model, 2, &context), OK);
  CHECK(small_context_run(NULL, inputs, outputs), WRONG_ARGUMENT);
  CHECK(small_context_run(context, none, outputs), WRONG_ARGUMENT);
  CHECK(small_context_run(context, inputs, NULL), WRONG_ARGUMENT);
  CHECK(small_context_run(context, inputs, outputs), OK);
  small_context_destroy(context);
  CHECK(small_context_create(other, 1, &context), OK);
  CHECK(small_context_run(context, inputs, others), OK);
  if (memcmp(logits, again, sizeof logits)) return 6;
  small_context_destroy(context);
  small_destroy(other);
  small_destroy(model);
  small_context_destroy(NULL);
  small_destroy(NULL);
  free(weights);

  if (small_input_count() != 1 || small_output_count() != 1) return 7;
  if (small_input(1) || small_output(-1)) return 8;
  if (strcmp(small_message(99), "an unknown status")) return 9;
  const small_tensor *t = small_input(0);
  printf("%s %s %d %d %d\n", t->name, t->type, t->rank, (int)t->shape[3], (int)t->bytes);
  return 0;
}
"""

POOL = r"""
#include "small_library.h"
#include <stdlib.h>
#include <unistd.h>
%s
static int counts[1000];

static void body(void *arguments, int32_t begin, int32_t end) {
  for (int i = begin; i < end; i++) counts[i] += *(int *)arguments;
}

static void *use(void *data) {
  Team *t;
  int one = 1;
  if (TeamCreate(3, &t)) exit(1);
  TeamBegin(t);
  for (int i = 1; i < 300; i++) {
    parallel_for(body, &one, data ? 0 : i);
    if (i %% 100 == 0) usleep(50000);
  }
  TeamEnd(t);
  TeamDestroy(t);
  return NULL;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, NULL, use, (void *)1);
  use(NULL);
  pthread_join(other, NULL);
  for (int i = 0; i < 299; i++)
    if (counts[i] != 299 - i) return 2;
  return 0;
}
"""

COUNTING = r"""
#include "small_library.h"
#include <stdio.h>
#include <stdlib.h>

/* In place of the C library's, for the model's library, too. */
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
static long taken;
void *malloc(size_t bytes) { return taken++, __libc_malloc(bytes); }
void *calloc(size_t n, size_t bytes) { return taken++, __libc_calloc(n, bytes); }

int main(void) {
  small_model *model;
  small_context *context;
  if (small_create_from_file("small.weights", &model) || small_context_create(model, 2, &context)) return 1;
  const long before = taken;
  static float image[1024], logits[10];
  for (int i = 0; i < 1000; i++) {
    const void *inputs[] = {image};
    void *outputs[] = {logits};
    if (small_context_run(context, inputs, outputs)) return 2;
  }
  printf("%d %ld\n", before > 0, taken - before);
  return 0;
}
"""

SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unknown-pragmas")


def check_program(folder: Path, command: list[str | Path], runner: tuple[str, ...] = ()) -> None:
    subprocess.run([*command, "-o", "program"], cwd=folder, check=True)
    done = subprocess.run([*runner, "./program", folder], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "image float32 4 32 4096\n"), done.stdout + done.stderr


def test_every_status_of_the_library(small: Path, tmp_path: Path) -> None:
    assert run(small / "small.onnx", "--out", tmp_path / "lib", "--targets", "native").exit_code == 0
    (tmp_path / "lib" / "main.c").write_text(PROGRAM)
    check_program(tmp_path / "lib", ["cc", *STRICT, "main.c", "-L.", "-lsmall", "-Wl,-rpath,$ORIGIN"])


def test_a_run_allocates_nothing(small: Path, tmp_path: Path) -> None:
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("there is no __libc_malloc")
    assert run(small / "small.onnx", "--out", tmp_path / "lib", "--targets", "native").exit_code == 0
    (tmp_path / "lib" / "main.c").write_text(COUNTING)
    command = ["cc", "main.c", "-L.", "-lsmall", "-Wl,-rpath,$ORIGIN", "-o", "count"]
    subprocess.run(command, cwd=tmp_path / "lib", check=True)
    done = subprocess.run(["./count"], cwd=tmp_path / "lib", capture_output=True, text=True, check=True)
    assert done.stdout == "1 0\n"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_every_status_of_the_source_under_sanitizers(small: Path, compiler: str, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    assert run(small / "small.onnx", "--out", tmp_path / "lib", "--targets", "c").exit_code == 0
    (tmp_path / "lib" / "main.c").write_text(PROGRAM.replace("context_create(model, 2,", "context_create(model, 1,"))
    sources = ["main.c", "small.c", "small_library.c"]
    check_program(tmp_path / "lib", [compiler, *STRICT, *SANITIZED, *sources, "-lm"])


def test_threads_of_the_library_under_the_thread_sanitizer(small: Path, tmp_path: Path) -> None:
    """Its pool of threads, with loops of one chunk and of many, and one that starts while others sleep."""
    folder = tmp_path / "lib"
    assert run(small / "small.onnx", "--out", folder, "--targets", "native").exit_code == 0
    pool = (Path(webnn_compile.__file__).parent / "library" / "threads.c").read_text()
    (folder / "pool.c").write_text(POOL % pool.replace("name_", "small_").replace("NAME_", "SMALL_"))
    command = ["gcc", "-g", "-O1", "-fsanitize=thread", "-pthread", "pool.c", "-o", "pool"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./pool"], cwd=folder, capture_output=True, text=True)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("the thread sanitizer does not start on this system")
    assert (done.returncode, done.stderr) == (0, "")


NAMES = (
    "run",
    "prepare",
    "team",
    "timer",
    "pthread",
    "class",
    "int",
    "main",
    "random",
    "name_net",
    "read",
    "namespace",
)


@pytest.mark.parametrize("target", ["native", "c"])
def test_names_that_mean_something_elsewhere(small: Path, target: str, tmp_path: Path) -> None:
    """Functions of the C library, words of C and C++, and those of the texts that libraries are made of."""
    includes, uses = [], []
    for name in NAMES:
        shutil.copy(small / "small.onnx", tmp_path / f"{name}.onnx")
        out = tmp_path / name
        done = run(tmp_path / f"{name}.onnx", "--out", out, "--targets", target)
        assert done.exit_code == 0, done.output
        (header,) = out.glob("*.hpp")
        includes.append(f'#include "{name}/{header.name}"')
        uses.append(f"  (void)sizeof(webnn::{header.stem}::Model);")
        if target == "c":
            sources = [p.name for p in out.glob("*.c")]
            subprocess.run(["cc", *STRICT, "-O0", "-c", *sources], cwd=out, check=True)
    texts = [f"#include <{header}>" for header in ("cstdlib", "cstdio", "ctime", "pthread.h")]
    program = "\n".join([*texts, *includes, "int main() {", *uses, "}", ""])
    (tmp_path / "all.cpp").write_text(program)
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    command = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "all.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
