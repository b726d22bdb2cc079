"""Shaders of the cache: they come back as they were, and are known by all that their text depends on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from nests import naive, sum_of_rows
from webnn_compile.dtypes import F16, F32
from webnn_compile.glsl.backend import WebGl
from webnn_compile.gpu.cached_backend import CachedBackend
from webnn_compile.ir.construct import maximum
from webnn_compile.ir.nodes import Buffer, For, Load, Store, Var
from webnn_compile.passes.store_narrow import store_narrow
from webnn_compile.program.device_program import Placement
from webnn_compile.system.cache import Cache
from webnn_compile.target import WEBGPU
from webnn_compile.wgsl.backend import WebGpu


def test_a_text_with_subgroups_comes_back(tmp_path: Path) -> None:
    kernel = sum_of_rows(2, 1000).kernel
    known = [Cache(tmp_path), Cache(tmp_path)]
    first, again = (CachedBackend(WebGpu(), k).compile_kernel(kernel, (None, None)) for k in known)
    assert [k.hits for k in known] == [0, 1]
    assert first.kernel == again.kernel
    assert "subgroupAdd" in (again.kernel.with_subgroups or "")


def test_the_simplest_schedule_comes_back(tmp_path: Path) -> None:
    """With the layouts of the kernel whose place it takes, by which it is known, too."""
    kernel = sum_of_rows(2, 1000).kernel
    known = [Cache(tmp_path), Cache(tmp_path)]
    backends = [CachedBackend(WebGpu(), k) for k in known]
    compiled = backends[0].compile_kernel(kernel, (None, None))
    made = [backend.compile_simply(kernel, compiled).kernel for backend in backends]
    assert [k.hits for k in known] == [0, 1]
    assert made[0] == made[1]
    assert made[0].source != compiled.kernel.source


def test_what_a_shader_needs_of_a_device_comes_back(tmp_path: Path) -> None:
    x, y = Buffer("x", (8,), F32), Buffer("y", (8,), F32)
    i = Var("i", 8)
    kernel = naive("double", (x, y), For(i, Store(y, (i,), Load(x, (i,)) * 2.0)))
    for stored, features in ((kernel, ()), (store_narrow(kernel, {y: F16}), ("shader-f16",))):
        made = [CachedBackend(WebGpu(), Cache(tmp_path)).compile_kernel(stored, (None, None)).kernel for _ in range(2)]
        assert [k.features for k in made] == [features, features]
        assert made[0].source.startswith("enable f16;\n") == bool(features)


def test_a_shader_is_known_by_its_target_and_textures(tmp_path: Path) -> None:
    x, y = Buffer("x", (8, 8), F32), Buffer("y", (8, 8), F32)
    i, j = Var("i", 8), Var("j", 8)
    kernel = naive("relu", (x, y), For(i, For(j, Store(y, (i, j), maximum(Load(x, (i, j)), 0.0)))))
    known = Cache(tmp_path)
    for target in (WEBGPU, replace(WEBGPU, minimum_occupancy=1)):
        CachedBackend(WebGpu(target=target), known).compile_kernel(kernel, (None, None))
    flat, row = Placement(16, 1, 1), Placement(4, 4, 1)
    made = [CachedBackend(WebGl(), known).compile_kernel(kernel, (p, p)) for p in (flat, row)]
    assert (known.hits, known.misses) == (0, 4)
    assert [m.placements for m in made] == [(flat, flat), (row, row)]
