"""Canaries: right drivers pass them, whatever the kernel is, and damaged kernels do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from gzip import compress
from itertools import product

import numpy as np
import onnx
import pytest
from onnx_models import model, node, random
from prepared_models import convolution
from webnn_compile.bundle.render_device import render_device
from webnn_compile.canaries import make_canaries
from webnn_compile.canaries.canary_values import canary_sums, checksum_of, is_right
from webnn_compile.errors import InputError
from webnn_compile.program.device_program import Canary, DeviceProgram
from webnn_compile.system.cache import Cache
from with_canaries import DRIVERS, OTHERS, checked_kernels, network, program_of, reasons, recurrent, wrong_kernels


@pytest.mark.parametrize("target", DRIVERS)
def test_right_drivers_pass(target: str) -> None:
    program = program_of(network(), target)
    used = {launch.kernel for launch in program.launches}
    assert len(program.canaries) == len(used)
    assert wrong_kernels(program) == []


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
@pytest.mark.parametrize("name", OTHERS)
def test_right_drivers_pass_on_other_models(name: str, target: str) -> None:
    """Nearly all kernels have one: few amplify rounding, where quanta are rounded."""
    make, options = OTHERS[name]
    program = program_of(make(), target, **options)
    used = {launch.kernel for launch in program.launches}
    assert len(used) - len(program.canaries) <= len(used) // 20
    assert wrong_kernels(program) == []


def test_steps_are_below_their_number() -> None:
    """A step beyond the last would read before the first row, from which each target gives something else."""
    program = program_of(recurrent(), "webgpu", dims={"n": (2, 38)})
    passed = [(program.kernels[program.launches[c.launch].kernel].scalars, c.scalars) for c in program.canaries]
    steps = [dict(zip((s.name for s in scalars), numbers, strict=True)) for scalars, numbers in passed]
    both = [numbers for numbers in steps if len(numbers) == 2]
    assert both
    for numbers in both:
        assert max(n for name, n in numbers.items() if name != "n") < numbers["n"]


def test_kernels_that_run_at_load_have_one() -> None:
    program = program_of(convolution(), "webgpu")
    assert program.prepare
    assert {c.launch for c in program.canaries} >= set(range(len(program.prepare)))


@pytest.mark.parametrize("target", DRIVERS)
def test_results_have_infinities(target: str) -> None:
    """A mask of attention: elements that are finite count by what they are."""
    nodes = [
        node("MatMul", ["x", "w"], ["product"]),
        node("Less", ["product", "limit"], ["hidden"]),
        node("Where", ["hidden", "infinity", "product"], ["y"]),
    ]
    constants = {"w": random((7, 13)), "limit": np.float32(0), "infinity": np.float32(-np.inf)}
    program = program_of(model(nodes, {"x": (5, 7)}, ["y"], constants), target)
    assert any(c.most is not None for c in program.canaries)
    assert wrong_kernels(program) == []


@pytest.mark.parametrize("target", ["webgpu", "webgl"])
def test_the_largest_float_counts_as_infinity(target: str) -> None:
    """A mask of nothing else and zeros: browsers read the text of that float in a shader as infinity."""
    nodes = [node("Less", ["x", "limit"], ["hidden"]), node("Where", ["hidden", "least", "zero"], ["y"])]
    constants = {"limit": np.float32(0), "least": np.finfo(np.float32).min, "zero": np.float32(0)}
    program = program_of(model(nodes, {"x": (5, 7)}, ["y"], constants), target)
    (canary,) = program.canaries
    assert (canary.most, canary.norm <= 6) == (1.0, True)
    assert wrong_kernels(program) == []


@pytest.mark.parametrize("seed", range(4))
def test_what_is_off_by_more_than_the_tolerance_is_wrong(seed: int) -> None:
    """By a factor, an element, the sign, the order or what is no number, whatever the sum with random signs is."""
    right = np.random.default_rng(seed).uniform(-1, 1, 500).astype(np.float32)
    total, norm = canary_sums(right)
    canary = Canary(0, checksum_of(total, norm), norm, 1e-4)
    for factor in (1, 1 + 2e-5, 1 - 2e-5):
        assert is_right(canary, *canary_sums(right * factor)), factor
    least = np.float32(3e-4 * norm)  # of an element that is off
    wrong = [right * f for f in (1.0003, 0.9997, -1, 0, 1e30, np.inf)]
    for place, number in product((0, 250, 499), (0, np.inf, -np.inf, np.nan, 3e38)):
        wrong.append(np.where(np.arange(500) == place, np.float32(number), right))
    wrong += [right[::-1], np.roll(right, 1), np.where(np.arange(500) == 7, right + least, right), right * 0 + 1]
    for result in wrong:
        with np.errstate(all="ignore"):
            assert not is_right(canary, *canary_sums(result)), result[:8]


def damaged(program: DeviceProgram, number: int, pattern: str, replacement: str) -> DeviceProgram:
    """The program with other text wherever a kernel has the pattern."""
    kernel = program.kernels[number]
    source, count = re.subn(pattern, replacement, kernel.source)
    assert count, kernel.source
    kernels = list(program.kernels)
    kernels[number] = replace(kernel, source=source, with_subgroups=None)
    return replace(program, kernels=tuple(kernels))


STORES = {"webgpu": r"(b\d+\[[^\n]*\]) = ([^\n]+);", "webgl": r"(o\d+(?:\.\w+)?) = ([^\n]+);"}
"""Statements that write a result."""


@pytest.mark.parametrize("target", STORES)
@pytest.mark.parametrize("replacement", [r"\1 = (\2) * 1.01;", r"\1 = (\2) * 0.0;"], ids=["a factor of 1.01", "zeros"])
def test_damaged_kernels_fail(target: str, replacement: str) -> None:
    """Each kernel of the network."""
    program = program_of(network(), target)
    for canary in program.canaries:
        number = program.launches[canary.launch].kernel
        name = program.kernels[number].name
        assert name in wrong_kernels(damaged(program, number, STORES[target], replacement)), name


def difference() -> onnx.ModelProto:
    """A kernel of 105 elements, not of whole workgroups."""
    return model([node("Sub", ["a", "b"], ["y"])], {"a": (3, 5, 7), "b": (3, 5, 7)}, ["y"])


ADDED: dict[str, tuple[list[onnx.NodeProto], dict[str, np.ndarray], str, str]] = {
    "a number": (
        [node("Neg", ["x"], ["n"]), node("Add", ["n", "added"], ["y"])],
        {"added": np.float32(0.01)},
        *(r"0\.01f", "0.0101f"),
    ),
    "weights beside products": (
        [node("Gemm", ["x", "w", "added"], ["y"])],
        {"w": random((37, 13)), "added": random((13,))},
        *(r"b2\[", "0.99f * b2["),
    ),
}


@pytest.mark.parametrize("name", ADDED)
def test_what_is_added_counts(name: str) -> None:
    """Beside operands, and sums of their products, of much the same size."""
    nodes, constants, pattern, replacement = ADDED[name]
    program = program_of(model(nodes, {"x": (5, 37)}, ["y"], constants), "webgpu")
    assert wrong_kernels(program) == []
    assert wrong_kernels(damaged(program, 0, pattern, replacement))


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [(r"< 105\)", "< 104)"), (r"b0\[(.*)\] - b1\[(.*)\]", r"b1[\1] - b0[\2]"), (r"b1\[t0\]", "b1[t0 ^ 1]")],
    ids=["the last element is missing", "operands are swapped", "neighbours are swapped"],
)
def test_small_mistakes_fail(pattern: str, replacement: str) -> None:
    program = program_of(difference(), "webgpu")
    assert wrong_kernels(program) == []
    assert wrong_kernels(damaged(program, 0, pattern, replacement)) == ["sub"]


INFINITE = {
    "webgpu": r"{ let kept = \2; \1 = select(kept, kept * 3e38f, abs(kept) > 65504.0f); }",
    "webgl": r"\1 = mix(\2, (\2) * 3e38, greaterThan(abs(\2), vec4(65504.0)));",
}
"""Results as of float16 in place of float32, which is infinite there."""


@pytest.mark.parametrize("target", INFINITE)
def test_sums_beyond_those_of_float16_are_tried(target: str) -> None:
    """They are so large where integers are held in float32, as quantised models have them."""
    program = program_of(
        model([node("MatMul", ["x", "w"], ["y"])], {"x": (5, 37)}, ["y"], {"w": random((37, 13))}), target
    )
    (kernel,) = {program.launches[c.launch].kernel for c in program.canaries}
    assert wrong_kernels(program) == []
    assert wrong_kernels(damaged(program, kernel, STORES[target], INFINITE[target]))


def test_one_kernel_has_one_canary_from_the_cache() -> None:
    cache = Cache(None)
    programs = [program_of(network(), "webgpu", cache=cache) for _ in range(2)]
    assert programs[0].canaries == programs[1].canaries
    kernels = [programs[0].launches[c.launch].kernel for c in programs[0].canaries]
    assert len(set(kernels)) == len(kernels)


def test_without_memory_there_are_those_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here of the program without its last kernels."""

    def lacks(*_: object) -> None:
        raise InputError("this machine has too little memory")

    cache = Cache(None)
    known = program_of(network(), "webgpu", cache=cache)
    monkeypatch.setattr(make_canaries, "NativeKernels", lacks)
    assert program_of(network(), "webgpu", cache=cache).canaries == known.canaries
    assert program_of(network(), "webgpu").canaries == ()
    assert set(reasons(network()).values()) == {make_canaries.NO_MEMORY}
    larger = network()
    larger.graph.node.append(node("Exp", ["y"], ["e"]))
    larger.graph.output[0].name = "e"
    found = program_of(larger, "webgpu", cache=cache)
    assert 0 < len(found.canaries) < len({launch.kernel for launch in found.launches})


def test_they_are_few_bytes() -> None:
    program = program_of(network(), "webgpu")
    size, without = (len(compress(render_device(p))) for p in (program, replace(program, canaries=())))
    assert checked_kernels(program)
    assert size - without < 30 * len(program.canaries)


def of_many_operations() -> onnx.ModelProto:
    conv = node("Conv", ["x", "w"], ["y"], pads=[3] * 4)
    return model([conv], {"x": (1, 160, 128, 128)}, ["y"], {"w": random((160, 160, 7, 7))})


def map_of(*ops: str, factor: float = 1) -> onnx.ModelProto:
    """One kernel: a factor, and functions of one operand behind it."""
    nodes = [node("Mul", ["x", "factor"], ["0"])]
    nodes += [node(op, [str(i)], [str(i + 1)]) for i, op in enumerate(ops)]
    return model(nodes, {"x": (5, 7)}, [str(len(ops))], {"factor": np.float32(factor)})


WITHOUT: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "elements": (
        lambda: model([node("Relu", ["x"], ["y"])], {"x": (1 << 24,)}, ["y"]),
        r"too large: 33,554,432 elements, at most 16,777,216",
    ),
    "operations": (of_many_operations, r"too large: 4\d,\d{3},\d{3},\d{3} operations, at most 40,000,000,000"),
    "zero": (lambda: map_of("Exp", "Neg", "Relu", factor=2), r"its result is zero on .*"),
    "not finite": (lambda: map_of("Exp", "Neg", "Log", factor=2), r"its result is not finite on .*"),
    "rounding": (lambda: map_of("Sin", factor=1e6), r"it amplifies rounding: .* moves by [\d.]+ .*, at most 0\.00125"),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_kernels_without_one_have_a_reason(name: str) -> None:
    """The second build has it from the cache."""
    make, reason = WITHOUT[name]
    cache = Cache(None)
    first, again = (reasons(make(), cache=cache) for _ in range(2))
    assert any(re.fullmatch(reason, why) for why in first.values()), first
    assert first == again


def test_kernels_with_one_have_no_reason() -> None:
    assert reasons(network()) == {}
