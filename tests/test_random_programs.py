"""Random programs, with control flow and of sizes that each run decides, against onnxruntime and the static build."""

from __future__ import annotations

from zlib import crc32

import pytest
import webnn_compile
from drivers import need_driver
from effort import FEW_PROGRAMS, PROGRAMS, effort_of
from hypothesis import HealthCheck, assume, given, seed, settings
from onnx_models import assert_close
from random_programs import Made, programs, references

TOLERANCE = 1e-4
"""Relative to the largest element: what a release must hold for whole networks."""


@pytest.mark.parametrize("kind", ["control flow", "sizes"])
@pytest.mark.parametrize("target", ["native", "wasm", "c", "opencl", "webgpu", "webgl"])
def test_random_programs(target: str, kind: str, request: pytest.FixtureRequest) -> None:
    need_driver(target)
    flows, effort = kind == "control flow", effort_of(request.config)
    most = PROGRAMS[effort].get(target, FEW_PROGRAMS[effort])

    @seed(crc32(f"{target} {kind}".encode()))
    @settings(max_examples=most, suppress_health_check=list(HealthCheck))
    @given(programs(structured=flows))
    def check(made: Made) -> None:
        wanted = references(made)
        assume(wanted is not None)
        compiled = webnn_compile.compile(made.proto, target, dims=made.dims)
        for feeds, want in zip(made.runs, wanted or [], strict=True):
            assert_close(compiled.run(feeds), want, TOLERANCE)
        if not flows:
            alone = webnn_compile.compile(made.proto, target, dims=made.lengths[0])
            assert_close(alone.run(made.runs[0]), (wanted or [])[0], TOLERANCE)

    check()
