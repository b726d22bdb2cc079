"""Code for Arm processors, of which the dots of bytes are an instruction where they have one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from arm_programs import CC, RUN, need_arm
from onnx_models import integer_product, random_integers
from webnn_compile.codegen.llvm import llvm
from webnn_compile.codegen.llvm_module import LlvmModule
from webnn_compile.codegen.render_host import render_host
from webnn_compile.cpu.compile_for_cpu import compile_for_cpu
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.native.emit import Processor, emit_object, header, target_machine
from webnn_compile.native.jit import arm_target
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.program.program import Program
from webnn_compile.system.cache import Cache
from webnn_compile.target import layouts_for

MAIN = """
#include <stdio.h>
#include <stdlib.h>
void run(const void *weights, const void *prepared, void *arena);
static unsigned char *read_file(const char *name, size_t *size) {
  FILE *file = fopen(name, "rb");
  if (!file || fseek(file, 0, SEEK_END)) exit(1);
  *size = ftell(file);
  rewind(file);
  unsigned char *data = aligned_alloc(64, (*size + 127) / 64 * 64);
  if (fread(data, 1, *size, file) != *size) exit(1);
  return data;
}
int main(int count, char **names) {
  size_t size;
  unsigned char *weights = read_file(names[1], &size), *arena = read_file(names[2], &size);
  run(weights, weights, arena);
  return fwrite(arena, 1, size, stdout) != size;
}
"""
"""Runs a program on files of its weights and of its arena, and writes what the arena is then."""


def program_of(proto: onnx.ModelProto, *, dots: bool) -> Program:
    target = arm_target(dots=dots)
    graph = run_graph_passes(import_model(proto))
    return compile_for_cpu(lower_model(graph, policy=layouts_for(target)), target)


def text_of(program: Program, processor: Processor) -> str:
    """The program for LLVM."""
    module = LlvmModule()
    render_host(program, module, Cache(None), apart=True)
    return module.text(header(processor, jit=False))


def product() -> onnx.ModelProto:
    w = random_integers(np.random.default_rng(0), (64, 32), np.int8)
    return integer_product("MatMulInteger", (12, 64), w, (3, 0))


@pytest.mark.parametrize("dots", [True, False])
def test_products_of_bytes(dots: bool) -> None:
    processor = Processor("aarch64-unknown-linux-gnu", "generic", "+dotprod" if dots else "")
    text = text_of(program_of(product(), dots=dots), processor)
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as parsed:
        parsed.verify()
        assembly = str(target_machine(processor, jit=False).emit_assembly(parsed))
    assert bool(re.search(r"\bsdot\s+v\d+\.4s, v\d+\.16b", assembly)) == dots


def test_numbers(tmp_path: Path) -> None:
    """In an emulator: extremes, and depths and columns that are no whole vectors."""
    need_arm()
    processor = Processor("aarch64-unknown-linux-gnu", "generic", "+dotprod")
    generator = np.random.default_rng(1)
    w = random_integers(generator, (68, 37), np.int8)
    w[:, 0] = -128
    proto = integer_product("MatMulInteger", (7, 68), w, (200, 0))
    x = random_integers(generator, (7, 68), np.uint8)
    x[0] = 255
    program = program_of(proto, dots=True)
    assert not program.prepare
    arena = bytearray(program.arena)
    (of_x,), (of_y,) = program.inputs, program.outputs
    arena[of_x.offset : of_x.offset + x.nbytes] = x.tobytes()
    (tmp_path / "weights").write_bytes(program.weights)
    (tmp_path / "arena").write_bytes(arena)
    (tmp_path / "main.c").write_text(MAIN)
    code = emit_object(text_of(program, processor), processor, Cache(None), jit=False)
    (tmp_path / "kernels.o").write_bytes(code)
    subprocess.run([*CC, "main.c", "kernels.o", "-o", "main"], cwd=tmp_path, check=True)
    command = [*RUN, "-cpu", "max", "./main", "weights", "arena"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout
    got = np.frombuffer(done, np.int32, 7 * 37, of_y.offset).reshape(7, 37)
    np.testing.assert_array_equal(got, (x.astype(np.int64) - 200) @ w.astype(np.int64))
