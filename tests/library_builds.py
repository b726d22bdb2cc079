"""Libraries that tests build of a model, and what their programs in C have in common."""

from __future__ import annotations

import subprocess
from pathlib import Path

import onnx
from cli.command import run

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unknown-pragmas")
SANITIZED = ("-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
SOURCES = ("net.c", "net_library.c")

CHECK = r"""
#define CHECK(call, expected) \
  do { \
    int found = call; \
    if (found != NET_##expected) { \
      printf("line %d: %s\n", __LINE__, net_message(found)); \
      return 1; \
    } \
  } while (0)
"""
"""Ends `main` where a function does not return NET_expected."""


def write_library(proto: onnx.ModelProto, target: str, folder: Path, *options: str) -> Path:
    """The folder that `webnn-compile` writes for it, below `folder`."""
    onnx.save(proto, folder / "net.onnx")
    done = run(folder / "net.onnx", "--out", folder / "lib", "--targets", target, *options)
    assert done.exit_code == 0, done.output
    return folder / "lib"


def build_library(proto: onnx.ModelProto, target: str, folder: Path, *options: str) -> Path:
    """The folder of `write_library`, with the shared library in it."""
    out = write_library(proto, target, folder, *options)
    if target == "c":
        shared = ["cc", "-std=c99", *STRICT, "-O1", "-fopenmp", "-shared", "-fPIC", *SOURCES, "-o", "libnet.so", "-lm"]
        subprocess.run(shared, cwd=out, check=True)
    return out
