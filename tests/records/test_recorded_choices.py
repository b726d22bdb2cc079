"""Which choices follow from records: the best for a device, or for all."""

from __future__ import annotations

from typing import Any

import pytest
from onnx_models import model, node, random
from webnn_compile.choices import DEFAULT, VERSION, Replay
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Kernel
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.records.keys import key_of_kernel, key_of_layer
from webnn_compile.records.recorded_choices import choose_from_records
from webnn_compile.records.tuning_record import TuningRecord


def product(columns: int = 24, name: str = "y") -> list[Kernel]:
    proto = model([node("MatMul", ["x", "w"], [name])], {"x": [16, 32]}, [name], {"w": random((32, columns))})
    return list(lower_model(run_graph_passes(import_model(proto))).kernels)


KEY = key_of_kernel(product()[0])


def record(choices: dict[str, Any], ratio: float | None, device: str = "A", **fields: Any) -> TuningRecord:
    values: dict[str, Any] = {"kind": "chosen", "key": KEY, "target": "wasm", "base": 2.0, "kernel": "matmul"}
    ms = None if ratio is None else 2.0 * ratio
    return TuningRecord(**{**values, "choices": choices, "device": device, "ms": ms, **fields})


def chosen(*records: TuningRecord, target: str = "wasm", device: str | None = None) -> dict[str, Any] | None:
    found = choose_from_records(records, target, device).kernels(product()[0])
    return dict(found.record) if isinstance(found, Replay) else None


def test_keys_are_of_the_computation_alone() -> None:
    assert key_of_kernel(product(name="other")[0]) == KEY
    assert key_of_kernel(product(columns=25)[0]) != KEY
    assert key_of_kernel(product()[0], ("a texture",)) != KEY

    def layer(columns: int, name: str) -> str:
        shapes = {"x": [16, 32]}
        proto = model([node("MatMul", ["x", "w"], [name])], shapes, [name], {"w": random((32, columns))})
        (_, t), *_ = lower_model(run_graph_passes(import_model(proto))).tensors.outputs
        return key_of_layer(t)

    assert layer(24, "y") == layer(24, "z") != layer(25, "y")


def test_the_best_of_one_device() -> None:
    assert chosen(record({"rows": 2}, 0.9), record({"rows": 4}, 0.8), record({"rows": 1}, 0.95)) == {"rows": 4}


@pytest.mark.parametrize(
    "records",
    [
        [],
        [record({"rows": 2}, 1.0)],
        [record({"rows": 2}, 0.5, kind="trial")],
        [record({"rows": 2}, None, kind="trial", failure="wrong")],
        [record({"rows": 2}, 0.5, target="webgl")],
        [record({"rows": 2}, 0.5, space=VERSION - 1)],
        [record({"rows": 2}, 0.5, key="kernel-other")],
        [record({}, 0.5)],
    ],
)
def test_else_the_default(records: list[TuningRecord]) -> None:
    """No record, or none of this kernel, target and space that was confirmed to be better."""
    assert chosen(*records) is None


def test_devices_count_by_the_geometric_mean() -> None:
    """One that gains much here and loses there is no better than one that gains a little on both."""
    two = [record({"rows": 2}, 0.5, "A"), record({"rows": 2}, 2.2, "B", kind="trial")]
    assert chosen(*two) is None
    both = [record({"rows": 4}, 0.9, "A", kind="trial"), record({"rows": 4}, 0.9, "B")]
    assert chosen(*two, *both) == {"rows": 4}
    assert chosen(*two, *both, device="a") == {"rows": 2}
    unmeasured = [record({"rows": 8}, 0.7, "A")]  # 1 on B: 0.84
    assert chosen(*both, *unmeasured) == {"rows": 8}


@pytest.mark.parametrize("failure", ["wrong", "lost", "timeout", "limits"])
def test_what_failed_on_one_device_is_chosen_for_none(failure: str) -> None:
    won = [record({"rows": 2}, 0.5, "A"), record({"rows": 4}, 0.9, "A")]
    failed = record({"rows": 2}, None, "B", kind="trial", failure=failure)
    assert chosen(*won, failed) == {"rows": 4}
    assert chosen(*won, failed, device="A") == {"rows": 2}


def test_a_refused_record_is_not_taken_again() -> None:
    recorded = choose_from_records([record({"rows": 999}, 0.5)], "wasm")
    choices = recorded.kernels(product()[0])
    assert isinstance(choices, Replay)
    assert recorded.count("kernel") == (1, 1)
    choices.refused("it is too large")
    assert recorded.kernels(product()[0]) is DEFAULT
    assert recorded.refused == {KEY: "it is too large"}
    assert recorded.count("kernel") == (0, 1)
    assert recorded.estimate() == 1


def test_what_is_missing_and_outdated() -> None:
    gone = record({"rows": 2}, 0.5, key="kernel-gone", model="m.onnx", kernel="conv")
    old = record({"rows": 2}, 0.5, space=VERSION - 1)
    recorded = choose_from_records([record({"rows": 2}, 0.5, model="m.onnx"), gone, old], "wasm")
    recorded.kernels(product()[0])
    assert [b.kernel for b in recorded.missing("m.onnx")] == ["conv"]
    assert recorded.missing("other.onnx") == []
    assert recorded.outdated == ("matmul",)
    assert recorded.estimate() == 0.5
