"""Which options of layers are tried together."""

from __future__ import annotations

from webnn_compile.choices import Decision
from webnn_compile.tune.problem import LayerTask
from webnn_compile.tune.propose import name_of
from webnn_compile.tune.tune_layers import _State, next_options


def state(key: str, *nodes: str) -> _State:
    task = LayerTask(key, key, {"stages": Decision((1, 4, 8), 1)}, (frozenset(nodes),))
    return _State(task, 1.0, {name_of({})})


def test_layers_of_one_kernel_are_tried_one_after_the_other() -> None:
    states = {s.task.key: s for s in (state("dense", "a"), state("parts", "a", "b"), state("conv", "c"))}
    assert next_options(states) == {"dense": {"stages": 4}, "conv": {"stages": 4}}
    states["dense"].note({"stages": 4}, None, 1.0)
    states["dense"].note({"stages": 8}, 0.5, 1.0)
    assert states["dense"].best == {"stages": 8}
    assert next_options(states) == {"parts": {"stages": 4}, "conv": {"stages": 4}}
