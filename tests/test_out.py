"""Results in arrays of the caller's, and what does not fit there."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import webnn_compile
from drivers import need_driver
from onnx_models import model, node, random
from webnn_compile.errors import InputError

W = random((4, 5), 1)
NODES = [node("MatMul", ["x", "w"], ["m"]), node("Neg", ["m"], ["y"]), node("ReduceSum", ["m"], ["s"], keepdims=0)]


def compiled(rows: int | str, **options: Any) -> Any:
    return webnn_compile.compile(model(NODES, {"x": [rows, 4]}, ["y", "s"], {"w": W}), **options)


TARGETS = ("native", "c", "wasm", "opencl")


@pytest.mark.parametrize("target", TARGETS)
def test_given_arrays_hold_the_results(target: str) -> None:
    """Exact ones, larger ones, ones that are not contiguous, and that of an input; others are new."""
    need_driver(target)
    made = compiled(5, target=target)
    x = random((5, 4))
    right = made.run({"x": x})
    whole, larger, turned = np.empty((5, 5), np.float32), np.empty((7, 6), np.float32), np.empty((5, 5), np.float32).T
    for room in (whole, larger, turned):
        found = made.run({"x": x}, out={"y": room})
        assert np.shares_memory(found["y"], room)
        assert (found["y"] is room) == (room.shape == (5, 5))
        np.testing.assert_array_equal(found["y"], right["y"])
        np.testing.assert_array_equal(found["s"], right["s"])
    square = compiled(4, target=target)
    given = np.zeros((4, 5), np.float32)
    given[:, :4] = random((4, 4))
    expected = square.run({"x": given[:, :4]})["y"]
    np.testing.assert_array_equal(square.run({"x": given[:, :4]}, out={"y": given})["y"], expected)


@pytest.mark.parametrize("target", TARGETS)
def test_given_arrays_of_the_largest_size(target: str) -> None:
    need_driver(target)
    made = compiled("n", target=target, dims={"n": (1, 8)})
    out = {"y": np.full((8, 5), np.nan, np.float32), "s": np.zeros((), np.float32)}
    for n in (8, 1, 3):
        x = random((n, 4), n)
        found, right = made.run({"x": x}, out=out), made.run({"x": x})
        assert found["y"].shape == (n, 5)
        for name, a in found.items():
            assert np.shares_memory(a, out[name])
            np.testing.assert_array_equal(a, right[name])


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ({"z": None}, r"out=\['z'\]: expected a mapping of names of outputs to arrays; outputs: \['y', 's'\]"),
        ([], "out=list: expected a mapping"),
        ({"y": [1.0]}, r"out\['y'\]: expected room for float32\[5, 5\], got list"),
        ({"y": np.zeros((5, 5))}, r"expected room for float32\[5, 5\], got float64\[5, 5\]"),
        ({"y": np.zeros((5, 4), np.float32)}, r"got float32\[5, 4\]"),
        ({"y": np.zeros(25, np.float32)}, r"got float32\[25\]"),
    ],
)
def test_what_does_not_fit(out: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compiled(5).run({"x": random((5, 4))}, out=out)


@pytest.mark.parametrize("target", TARGETS)
def test_what_cannot_be_written(target: str) -> None:
    need_driver(target)
    room = np.zeros((5, 5), np.float32)
    room.flags.writeable = False
    with pytest.raises(InputError, match=r"^out\['y'\]: the array is read-only; give one that can be written$"):
        compiled(5, target=target).run({"x": random((5, 4))}, out={"y": room})


def test_results_that_stay_on_the_device() -> None:
    need_driver("opencl")
    with pytest.raises(InputError, match=r"^out=: arrays of the processor's memory; leave output='device' out"):
        compiled(5, target="opencl").run({"x": random((5, 4))}, output="device", out={})


def test_a_call_does_little_in_python() -> None:
    """The overhead of a small model's run besides its kernels: 27 us more where types are compared by their names,
    views and functions made anew."""
    made = compiled(5)
    given = {"x": random((5, 4))}
    out = {n: np.empty_like(a) for n, a in made.run(given).items()}
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        made.run(given)
        made.run(given, out=out)
    finally:
        sys.setprofile(None)
    assert calls < 60
