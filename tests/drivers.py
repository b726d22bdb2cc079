"""What a target needs of the machine that runs the tests."""

from __future__ import annotations

import functools
import importlib.util

import pytest
from webnn_compile.errors import InputError


def need_driver(target: str) -> None:
    """Skips the test, saying what is missing, where nothing here runs programs of `target`."""
    reason = missing(target)
    if reason:
        pytest.skip(reason)


@functools.cache
def missing(target: str) -> str:
    """Why programs of `target` cannot run here; empty where they can."""
    try:
        if target == "webgpu":
            if importlib.util.find_spec("wgpu") is None:
                return "the package wgpu is not installed"
            from webnn_compile.wgsl.device import open_device

            open_device()
        if target == "webgl":
            from webnn_compile.glsl.gles import context

            context()
    except InputError as error:
        return str(error)
    return ""
