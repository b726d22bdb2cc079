"""Proposals of a search: all of a small space, and better candidates of a large one by what was measured."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from webnn_compile.choices import Choices
from webnn_compile.errors import ScheduleError
from webnn_compile.records.tuning_record import TuningRecord, parse_line
from webnn_compile.tune.cost_model import FEWEST, predict
from webnn_compile.tune.propose import History, name_of, propose
from webnn_compile.tune.walk import Path, Walk, first, last


def small(choices: Choices) -> str:
    """Seven leaves, one of them illegal, two of equal code."""
    a = choices.choose("a", [1, 2, 3])
    if a == 1:
        return f"1 {choices.choose('b', ['x', 'y', 'z'])}"
    c = choices.choose("c", [True, False])
    if a == 3 and c:
        raise ScheduleError("3 and c")
    return "same" if a == 2 else f"{a} {c}"


def test_all_of_a_small_space_in_order() -> None:
    found = propose(small, History(), 100, Random(0))
    assert [path for path, _ in found.candidates] == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 1, "b": "z"},
        {"a": 2, "c": True},
        {"a": 3, "c": False},
    ]
    assert [path for path, _ in found.illegal] == [{"a": 3, "c": True}]
    assert found.exhausted
    assert not found.large


def test_no_candidate_twice() -> None:
    history = History()
    seen: list[str] = []
    while True:
        found = propose(small, history, 2, Random(0))
        seen += [code for _, code in found.candidates]
        tried = (*history.tried, *((path, 1.0) for path, _ in found.candidates), *((p, None) for p, _ in found.illegal))
        history = History(tried, history.hashes | set(seen))
        if found.exhausted:
            break
    assert seen == ["1 x", "1 y", "1 z", "same", "3 False"]


def test_a_walk_from_the_worst_options() -> None:
    walk = Walk({}, last)
    assert small(walk) == "3 False"
    found = propose(small, History(pick=last), 2, Random(0))
    assert [path for path, _ in found.candidates] == [{"a": 3, "c": False}, {"a": 2, "c": False}]


def test_a_walk_by_a_record_of_a_file() -> None:
    """JSON has no tuples; options are."""
    made = TuningRecord("chosen", "k", "wasm", "d", {"tile": (4, 2), "winograd": (2, 2)}, ms=1.0, base=2.0)
    read = parse_line(made.to_line())
    assert read is not None
    walk = Walk(read.choices, first)
    assert walk.choose("tile", [(8, 1), (4, 2)]) == (4, 2)
    assert walk.choose("winograd", [None, (2, 2)]) == (2, 2)


def test_fixed_decisions_are_the_default_ones_and_in_no_record() -> None:
    walk = Walk({"a": 2, "c": False}, first, frozenset("c"))
    assert small(walk) == "same"
    assert walk.path == {"a": 2}


SIZES = {f"d{i}": list(range(8)) for i in range(5)}
BEST = {"d0": 3, "d1": 6, "d2": 0, "d3": 7, "d4": 2}


def large(choices: Choices) -> str:
    path = {name: choices.choose(name, options) for name, options in SIZES.items()}
    if path["d0"] == 7 and path["d1"] == 7:
        raise ScheduleError("too large")
    return name_of(path)


def cost(path: Path) -> float:
    """Decisions of which three matter much, and two together."""
    distance = [abs(path[name] - best) for name, best in BEST.items()]
    return float(1.0 + 0.2 * distance[0] + 0.1 * distance[1] + 0.02 * distance[2] * distance[3] + 0.01 * distance[4])


DEFAULT = cost(dict.fromkeys(SIZES, 0))


def search(trials: int, seed: int) -> tuple[float, list[dict[str, Any]]]:
    history, tried = History(), []
    while len(tried) < trials:
        found = propose(large, history, 6, Random(seed * 1000 + len(tried)))
        assert found.candidates
        assert found.large
        tried += [dict(path) for path, _ in found.candidates]
        known = (*history.tried, *((path, cost(path) / DEFAULT) for path, _ in found.candidates))
        history = History(known, history.hashes | {code for _, code in found.candidates}, large=True)
    return min(map(cost, tried)), tried


@pytest.mark.parametrize("seed", range(3))
def test_a_large_space_is_searched_better_than_at_random(seed: int) -> None:
    best, tried = search(90, seed)
    assert len({name_of(path) for path in tried}) == len(tried)
    random = Random(seed)
    by_chance = min(cost({n: random.choice(o) for n, o in SIZES.items()}) for _ in range(90))
    assert best < by_chance
    assert best < 1.12


def test_neighbours_of_the_default_are_among_the_first() -> None:
    """A default that is hard to beat: its neighbours are more likely better than what chance finds."""
    found = propose(large, History(), 12, Random(4))
    changed = [sum(option != 0 for option in path.values()) for path, _ in found.candidates]
    assert sum(n <= 3 for n in changed) >= 4
    assert sum(n > 3 for n in changed) >= 2
    worst = propose(large, History(pick=last), 12, Random(4))
    assert not any(sum(option != 7 for option in path.values()) <= 2 for path, _ in worst.candidates)


def test_hopeless_candidates_are_not_built() -> None:
    """Candidates are not built that measurements predict to take twice the best one's time."""
    random = Random(1)
    paths = [{n: random.choice(o) for n, o in SIZES.items()} for _ in range(120)]
    history = History(tuple((p, 1.0 if p["d0"] < 2 else 50.0) for p in paths), large=True)
    found = propose(large, history, 6, Random(2))
    assert found.candidates
    assert all(path["d0"] < 2 for path, _ in found.candidates)
    hopeless = History(tuple((p, 1.0 if p == paths[0] else 50.0) for p in paths), large=True)
    found = propose(large, hopeless, 6, Random(2))
    assert len(found.candidates) == 1
    assert not found.exhausted


def test_the_cost_model_ranks_what_was_not_measured() -> None:
    random = Random(3)
    paths = [{n: random.choice(o) for n, o in SIZES.items()} for _ in range(240)]
    measured, others = paths[:160], paths[160:]
    predicted = predict([(p, cost(p)) for p in measured], others)
    ranked = sorted(range(len(others)), key=lambda i: predicted[i])
    third = len(ranked) // 3
    best, worst = ([cost(others[i]) for i in part] for part in (ranked[:third], ranked[-third:]))
    assert sum(best) < 0.8 * sum(worst)
    assert predict([(p, cost(p)) for p in measured[: FEWEST - 1]], others) == [1.0] * len(others)


def test_the_cost_model_takes_options_of_all_kinds() -> None:
    paths: list[dict[str, Any]] = [{"tile": (4, i % 3), "staged": bool(i % 2), "winograd": None} for i in range(20)]
    paths += [{"order": (0, 1, 2)}, {"vectors": -1}]
    assert len(predict([(p, 1.0 + i / 10) for i, p in enumerate(paths)], [{"tile": (9, 9)}, {}])) == 2


def test_without_scikit_learn_nothing_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a page, where it is no module."""
    random = Random(4)
    paths = [{n: random.choice(o) for n, o in SIZES.items()} for _ in range(5 * FEWEST)]
    measured = [(p, cost(p)) for p in paths]
    assert predict(measured, paths) != [1.0] * len(paths)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert predict(measured, paths) == [1.0] * len(paths)
