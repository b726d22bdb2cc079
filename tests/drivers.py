"""Requirements of a target on the machine that runs the tests."""

from __future__ import annotations

import functools
import importlib.util
import os

import pytest
from webnn_compile.errors import InputError


def need_driver(target: str, feature: str = "") -> None:
    """Skips the test, saying what is missing, where nothing here runs programs of `target`; on
    "webgpu", programs that need `feature`. Where CI is set, drivers are installed: there the test fails."""
    reason = missing(target, feature)
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


@functools.cache
def missing(target: str, feature: str = "") -> str:
    """Why programs of `target` cannot run here; empty where they can. What the adapter has is asked, not what we asked
    of it."""
    try:
        if target == "webgpu":
            if importlib.util.find_spec("wgpu") is None:
                return "the package wgpu is not installed"
            from webnn_compile.wgsl.device import open_device

            if feature and feature not in open_device().adapter.features:
                return f"the adapter of this machine has no {feature}"
            open_device()
        if target == "webgl":
            from webnn_compile.glsl.gles import context

            context()
        if target == "opencl":
            if importlib.util.find_spec("pyopencl") is None:
                return "the package pyopencl is not installed"
            from webnn_compile.opencl.device import devices

            devices()
        if target == "cuda":
            return _missing_for_cuda()
    except InputError as error:
        return str(error)
    return ""


def _missing_for_cuda() -> str:
    """A GPU, or else what its emulation needs, which takes its place."""
    if importlib.util.find_spec("cuda") is None:
        return "the package cuda-bindings is not installed"
    from webnn_compile.cuda.device import open_device
    from webnn_compile.cuda.nvrtc import compile_source

    compile_source("", 90)
    try:
        open_device()
    except InputError:
        import emulated_cuda

        if emulated_cuda.COMPILER is None:
            return "there is no NVIDIA GPU, and no g++ to emulate one"
        emulated_cuda.install()
    return ""
