"""Facts are what a page says of itself: anything that is JSON may be there."""

from __future__ import annotations

from typing import Any

import pytest
from webnn_compile.tune.tab_facts import CLOCK, adapter_of_tab, clock_of_tab, name_of_tab, variants_of_tab

ODD: list[Any] = [None, "x", 7, [], [1], {}, True, -1, 10**400]


def test_facts_of_a_browser() -> None:
    facts = {"browser": "Firefox 140", "platform": "Linux", "clock": 1, "webgpu": {"adapter": "llvmpipe", "clock": 0.2}}
    facts["wasm"] = {"variants": ["plain"]}
    assert name_of_tab(facts, "webgpu") == "Firefox 140: llvmpipe"
    assert name_of_tab(facts, "wasm") == "Firefox 140 on Linux"
    assert (clock_of_tab(facts, "webgpu"), clock_of_tab(facts, "webgl"), clock_of_tab({}, "wasm")) == (0.2, 1.0, CLOCK)
    assert variants_of_tab(facts) == ("plain",)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd)[:10])
def test_facts_of_another_kind(odd: Any) -> None:
    for facts in ({"webgpu": odd, "clock": odd, "wasm": odd}, {"webgpu": {"clock": odd}, "wasm": {"variants": odd}}):
        clock: float = clock_of_tab(facts, "webgpu")
        assert 0 < clock <= 1000
        assert set(variants_of_tab(facts)) == {"relaxed", "plain"}
        assert isinstance(adapter_of_tab(facts, "webgpu"), str)
