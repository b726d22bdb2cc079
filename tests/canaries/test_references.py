"""References: the functions with which a page compares launches give the results of the native ones, which canaries
have, on operands in the orders of devices."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_models import model, node, random
from prepared_models import convolution
from test_quantised_models import quantised
from webnn_compile import build_bundle
from webnn_compile.bundle.packaging import Packaging
from webnn_compile.canaries.canary_values import canary_sums, canary_values, is_right
from webnn_compile.canaries.make_references import make_references
from webnn_compile.canaries.tolerances import EXACT, SUMS
from webnn_compile.driver.build import build_files
from webnn_compile.driver.options import Options
from webnn_compile.errors import InputError
from webnn_compile.execution.arrange import arrange
from webnn_compile.gpu.plan_for_device import DevicePlan
from webnn_compile.program.device_program import Canary, DeviceProgram
from webnn_compile.program.program import Program
from webnn_compile.program.references import ReferenceArgument, ReferenceKernel
from webnn_compile.system.cache import Cache
from webnn_compile.wasm.build_module import build_host
from webnn_compile.wasm.execute import WasmInstance
from with_canaries import network, planned, rows

Array = np.ndarray


def integers() -> onnx.ModelProto:
    """Sums and choices of integers alone, 105 of them."""
    nodes = [node("Mul", ["a", "b"], ["p"]), node("Max", ["p", "a"], ["y"])]
    return model(nodes, {"a": (3, 5, 7), "b": (5, 7)}, ["y"], dtype=onnx.TensorProto.INT32)


MODELS: dict[str, tuple[Callable[[], onnx.ModelProto], dict[str, Any]]] = {
    "a network": (network, {}),
    "float16": (network, {"precision": "f16"}),
    "constants prepared at load": (convolution, {}),
    "quantised": (lambda: quantised("qdq-u8s8"), {}),
    "sizes that vary": (rows, {"dims": {"n": (1, 2), "rows": (3, 90)}}),
}


def made(plan: DevicePlan, program: DeviceProgram, cache: Cache) -> tuple[Program, tuple[ReferenceKernel, ...]]:
    references = make_references(plan, program, cache)
    assert references is not None
    return references


class Reference:
    """References in an instance of their module."""

    def __init__(self, program: DeviceProgram, module: bytes, heap_base: int, arena: int) -> None:
        self._program = program
        self._base = -(-heap_base // 64) * 64
        self._instance = WasmInstance(module, pages=-(-(self._base + arena) // 65536), relaxed=False)

    def run(self, number: int, reference: ReferenceKernel, canary: Canary) -> Array:
        """Elements of the result's storage, on the operands of a canary."""
        launch = self._program.launches[canary.launch]
        memory = self._instance.memory[self._base :]
        for i, (argument, value) in enumerate(zip(reference.arguments, launch.arguments, strict=True)):
            v = self._program.values[value]
            order = _order(argument)
            place = len(launch.arguments) - 1 - i
            elements = canary_values(v.dtype, order.size, place, canary.floats, integers=canary.integers)
            whole = np.zeros(argument.size, argument.dtype.numpy)
            if i < len(launch.arguments) - 1:
                whole[order[order > 0] - 1] = elements[order > 0]
            memory[argument.offset :][: whole.nbytes] = whole.view(np.uint8)
        for offset, scalar in zip(reference.scalars, canary.scalars, strict=True):
            memory[offset:][:4].view(np.int32)[0] = scalar
        self._instance.call(f"segment_{number}", self._base, self._base)
        result = reference.arguments[-1]
        bytes_ = self._instance.memory[self._base + result.offset :][: result.size * result.dtype.bytes]
        order = _order(result)
        return np.where(order > 0, bytes_.view(result.dtype.numpy)[order - 1], 0)


def _order(argument: ReferenceArgument) -> Array:
    """For each element of a storage its number in the reference's array, from 1; 0 for padding."""
    packed = np.arange(1, argument.size + 1)
    if argument.packed is not None:
        size = prod(argument.packed_limits)
        order = arrange(np.arange(1, size + 1), argument.packed, argument.packed_limits)
        packed = np.zeros(size, int)
        packed[order[order > 0] - 1] = np.arange(1, order.size + 1)[order > 0]
    if argument.dimensions is None:
        return packed
    return arrange(packed, argument.dimensions, argument.limits)


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
@pytest.mark.parametrize("name", MODELS)
def test_references_give_the_results_of_canaries(name: str, target: str) -> None:
    make, options = MODELS[name]
    cache = Cache(None)
    plan, program = planned(make(), target, cache=cache, **options)
    own, references = made(plan, program, cache)
    used = {launch.kernel for launch in program.launches}
    assert len(references) == len(used)
    linked = build_host(own, cache=cache)
    computed = Reference(program, linked.module, linked.heap_base, own.arena)
    canaries = {program.launches[c.launch].kernel: c for c in program.canaries}
    compared = 0
    for number, reference in enumerate(references):
        canary = canaries.get(reference.kernel)
        if canary is None:
            continue
        result = computed.run(number, reference, canary)
        kernel = program.kernels[reference.kernel].name
        near = replace(canary, tolerance=max(canary.tolerance, 1e-6))
        assert is_right(near, *canary_sums(result, canary.most)), kernel
        # A tenth of a step, and more only where a result has as many digits as a float64.
        exact = canary.tolerance * canary.norm <= 0.1 or canary.tolerance == EXACT
        assert exact if reference.tolerance == 0 else canary.tolerance >= SUMS, kernel
        compared += 1
    assert compared >= len(used) * 0.9


def test_integers_are_exact() -> None:
    plan, program = planned(integers(), "webgpu")
    _, references = made(plan, program, Cache(None))
    assert [r.tolerance for r in references] == [0]


def test_one_kernel_has_one_reference() -> None:
    """Several launches of it have the same, as those of a network of equal layers."""
    nodes = [node("MatMul", [f"x{i}", "w"], [f"x{i + 1}"]) for i in range(3)]
    plan, program = planned(model(nodes, {"x0": (5, 9)}, ["x3"], {"w": random((9, 9))}), "webgpu")
    _, references = made(plan, program, Cache(None))
    kernels = [r.kernel for r in references]
    assert len(program.launches) > len(kernels) == len(set(kernels))


def test_a_bundle_has_them_in_one_more_file(tmp_path: Path) -> None:
    """Which the manifest names, and nothing else changes."""
    onnx.save(convolution(), tmp_path / "model.onnx")
    without, having = (
        build_bundle(tmp_path / "model.onnx", "webgl", check_kernels=on, golden=False) for on in (False, True)
    )
    (part,) = having.fields["backends"]
    file = part.pop("references")
    assert having.fields == without.fields
    names = {f.name for f in without.files}
    (own,) = [f for f in having.files if f.name not in names]
    assert (own.name, own.kind, len(own.data)) == (file["file"], "check", file["bytes"])


def test_a_program_of_which_no_kernel_has_one(tmp_path: Path) -> None:
    """There is no file of them; `check` is there, and refuses by name."""
    onnx.save(model([node("Neg", ["x"], ["y"])], {"x": (2**28,)}, ["y"]), tmp_path / "model.onnx")
    options = Options(targets=("webgpu",), check_kernels=True)
    files = build_files(tmp_path / "model.onnx", options, lambda _: None).files
    assert not [f for f in files if f.kind == "check"]
    (script,) = [f for f in files if f.name.startswith("check_launches-")]
    assert b"no kernel of this model has one on" in script.data


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": ("wasm",)}, "--targets wasm has none: add webgpu or webgl"),
        ({"targets": ("webgl",), "host": "js"}, "--host js makes a bundle without it: leave one out"),
        ({"packaging": Packaging(single_file=True)}, "leave it out with --single-file"),
        ({"targets": ("c",)}, "--check-kernels is for bundles"),
    ],
)
def test_options_that_cannot_be_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Options(check_kernels=True, **options).check()
