"""Which choices follow from records: the best for a device, or for all."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from onnx_models import model, node, random
from webnn_compile.choices import DEFAULT, VERSION, Decision, Replay
from webnn_compile.cpu.compile_for_cpu import plan_for_cpu
from webnn_compile.frontends.onnx import import_model
from webnn_compile.graph.passes import run_graph_passes
from webnn_compile.ir.nodes import Kernel
from webnn_compile.pipeline.lower_model import lower_model
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.pipeline.plan_kernels import PlannedKernel
from webnn_compile.records.keys import key_of_kernel, key_of_layer
from webnn_compile.records.record_use import use_of_records
from webnn_compile.records.recorded_choices import choose_from_records
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.target import WASM_PLAIN
from webnn_compile.tensor.layer_choices import LayerDecision


def lowered(columns: int = 24, name: str = "y") -> Lowered:
    proto = model([node("MatMul", ["x", "w"], [name])], {"x": [16, 32]}, [name], {"w": random((32, columns))})
    return lower_model(run_graph_passes(import_model(proto)))


def product(columns: int = 24, name: str = "y") -> list[Kernel]:
    return list(lowered(columns, name).kernels)


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
        (_, t), *_ = lowered(columns, name).tensors.outputs
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


def two_products() -> Lowered:
    """The product of which KEY is, twice, and another."""
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("MatMul", ["x", "v"], ["z"]), node("MatMul", ["x", "u"], ["a"])]
    weights = {"w": random((32, 24)), "v": random((32, 24), 1), "u": random((32, 8), 2)}
    proto = model(nodes, {"x": [16, 32]}, ["y", "z", "a"], weights)
    return lower_model(run_graph_passes(import_model(proto)))


@pytest.mark.parametrize("rows", [2, 999])
def test_queries_change_nothing(rows: int) -> None:
    """Neither the answers to later ones, in whatever order, nor the plan of a build."""
    built = two_products()
    keys = [key_of_kernel(k) for k in built.kernels]
    assert keys.count(KEY) == 2 < len(keys)
    recorded = choose_from_records([record({"rows": rows}, 0.5)], "wasm")
    kept = deepcopy(recorded)

    def plan(kernels: tuple[Kernel, ...]) -> list[PlannedKernel]:
        return list(plan_for_cpu(replace(built, kernels=kernels), [WASM_PLAIN], recorded.kernels).values())

    planned = plan(built.kernels)
    answers = [recorded.kernels(k) for k in built.kernels]
    assert [recorded.kernels(k) for k in reversed(built.kernels)] == answers[::-1]
    assert [isinstance(a, Replay) for a in answers] == [key == KEY for key in keys]
    layers = [recorded.layers(t) for _, t in built.tensors.outputs]
    assert [recorded.layers(t) for _, t in reversed(built.tensors.outputs)] == layers[::-1]
    assert plan(built.kernels) == planned
    assert plan(built.kernels[::-1]) == planned[::-1]
    assert {(k.choices == DEFAULT, k.refusal is None) for k in planned if key_of_kernel(k.naive) == KEY} == {
        (rows == 999, rows == 2)
    }
    assert recorded == kept


def test_a_refused_record() -> None:
    built = two_products()
    recorded = choose_from_records([record({"rows": 999}, 0.5)], "wasm")
    plan = plan_for_cpu(built, [WASM_PLAIN], recorded.kernels)
    assert [k.choices for k in plan.values()] == [DEFAULT] * len(plan)
    use = use_of_records(recorded, (), plan)
    assert list(use.refused) == [KEY]
    assert "rows=999 is none of" in use.refused[KEY]
    assert use.count("kernel") == (0, 2)
    assert use.estimate() == 1


def test_a_layer_is_used_where_all_of_its_recorded_decisions_are_legal() -> None:
    (_, t), *_ = lowered().tensors.outputs
    decisions = [LayerDecision(t, name, Decision((1, 2), 2)) for name in ("split_k", "stages")]
    for wanted, used in (({"split_k": 2}, 1), ({"split_k": 2, "stages": 2}, 1), ({"split_k": 2, "stages": 3}, 0)):
        recorded = choose_from_records([record(wanted, 0.5, key=key_of_layer(t))], "wasm")
        for order in (decisions, decisions[::-1]):
            use = use_of_records(recorded, order, {})
            assert use.count("layer") == (used, 1)
            assert list(use.refused.values()) == ["choices: stages=3 is none of [1, 2]"] * (1 - used)
        assert recorded.layers(t).choose("split_k", (1, 2)) == 2
        assert recorded.layers(t).choose("stages", (1, 2)) == (2 if wanted.get("stages") == 2 else 1)


def test_what_is_missing_and_outdated() -> None:
    gone = record({"rows": 2}, 0.5, key="kernel-gone", model="m.onnx", kernel="conv")
    old = record({"rows": 2}, 0.5, space=VERSION - 1)
    recorded = choose_from_records([record({"rows": 2}, 0.5, model="m.onnx"), gone, old], "wasm")
    use = use_of_records(recorded, (), plan_for_cpu(lowered(), [WASM_PLAIN], recorded.kernels))
    assert [b.kernel for b in use.missing("m.onnx")] == ["conv"]
    assert use.missing("other.onnx") == []
    assert recorded.outdated == ("matmul",)
    assert use.count("kernel") == (1, 1)
    assert use.estimate() == 0.5
