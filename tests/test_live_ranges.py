"""Live ranges: of random programs with aliases they are what a definition step by step says, and a plan of memory made
from them keeps every value until its last read."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
import webnn_compile
from onnx_models import model, node
from onnx_models import random as random_array
from webnn_compile.errors import InternalError
from webnn_compile.program.live_ranges import Access, LiveRange, live_ranges, owner_of
from webnn_compile.program.plan_memory import Request, plan_memory

Program = tuple[list[Access[int]], dict[int, int], list[int], list[int]]


def program(seed: int) -> Program:
    """Steps over numbers of values, aliases, inputs and outputs. An alias is a view of a value that is written before,
    or the result that takes its place: then nothing reads that value later."""
    r = random.Random(seed)
    inputs = list(range(r.randint(0, 3)))
    written, dead, aliases, steps = list(inputs), set[int](), dict[int, int](), []
    value = len(inputs)
    for _ in range(r.randint(1, 12)):
        readable = [v for v in written if v not in dead]
        reads = tuple(r.choices(readable, k=r.randint(0, 3))) if readable else ()
        results = tuple(range(value, value + r.randint(1, 2)))
        value += len(results)
        if reads and r.random() < 0.3:  # in place
            owner = owner_of(reads[0], aliases)
            if owner not in inputs:
                dead.update(v for v in written if owner_of(v, aliases) == owner)
                aliases[results[0]] = r.choice([reads[0], owner])
        steps.append(Access(reads, results))
        written += results
        if r.random() < 0.3:  # a view
            aliases[value] = r.choice([v for v in written if v not in dead])
            written.append(value)
            value += 1
    alive = [v for v in written if v not in dead]
    return steps, aliases, inputs, r.sample(alive, min(len(alive), r.randint(0, 2)))


def contents(
    steps: list[Access[int]], aliases: dict[int, int], inputs: list[int], outputs: list[int]
) -> list[set[int]]:
    """By step, from the one before the first to the one after the last: the owners whose memory is accessed then, or
    was accessed before and will be again."""
    accessed = [set(inputs), *({*s.reads, *s.writes} for s in steps), set(outputs)]
    owners = [{owner_of(v, aliases) for v in values} for values in accessed]
    return [
        {v for at in owners[: i + 1] for v in at} & {v for at in owners[i:] for v in at} for i in range(len(owners))
    ]


@pytest.mark.parametrize("seed", range(200))
def test_ranges_are_those_of_the_definition(seed: int) -> None:
    steps, aliases, inputs, outputs = program(seed)
    found = live_ranges(steps, aliases, inputs, outputs)
    want = contents(steps, aliases, inputs, outputs)
    for number, live in enumerate(want, -1):
        assert {v for v, r in found.items() if r.first <= number <= r.last} == live, number
    assert set(found) == {owner_of(v, aliases) for v in (*inputs, *(v for s in steps for v in s.writes))}


@pytest.mark.parametrize("seed", range(200))
def test_memory_planned_by_them_keeps_what_is_read(seed: int) -> None:
    """Each owner of memory gets what its last writer put there, as a run writes the plan's bytes."""
    steps, aliases, inputs, outputs = program(seed)
    r = random.Random(seed)
    found = live_ranges(steps, aliases, inputs, outputs)
    sizes = {v: r.randint(1, 200) for v in found}
    plan = plan_memory([Request(sizes[v], a.first, a.last) for v, a in found.items()])
    where = dict(zip(found, plan.offsets, strict=True))
    memory = [-1] * plan.peak
    owned: dict[int, int] = {}

    def write(v: int, token: int) -> None:
        owner = owner_of(v, aliases)
        owned[owner] = token
        memory[where[owner] : where[owner] + sizes[owner]] = [token] * sizes[owner]

    def check(values: tuple[int, ...]) -> None:
        for owner in (owner_of(v, aliases) for v in values):
            assert set(memory[where[owner] : where[owner] + sizes[owner]]) == {owned[owner]}

    for v in inputs:
        write(v, v)
    for token, step in enumerate(steps, 1000):
        check(step.reads)
        for v in step.writes:
            write(v, token)
        check(step.writes)
    check(tuple(outputs))


def test_values_that_do_not_live_together_share_memory() -> None:
    """A chain: each range ends where the next but one begins."""
    chain = [Access((i,), (i + 1,)) for i in range(5)]
    ranges = live_ranges(chain, {}, [0], [5])
    assert ranges == {0: LiveRange(-1, 0), **{i: LiveRange(i - 1, i) for i in range(1, 6)}}
    assert all(a.last < c.first for (a, _), (_, c) in pairwise(pairwise(ranges.values())))


def test_what_nothing_reads_is_live_where_it_is_written() -> None:
    assert live_ranges([Access((), (1,)), Access((), (2,))], {}, [0]) == {
        0: LiveRange(-1, -1),
        1: LiveRange(0, 0),
        2: LiveRange(1, 1),
    }


def test_aliases_of_aliases_keep_their_owner() -> None:
    steps: list[Access[str]] = [Access((), ("a",)), Access((), ("x",)), Access(("view of view",), ("y",))]
    aliases = {"view": "a", "view of view": "view"}
    assert live_ranges(steps, aliases)["a"] == LiveRange(0, 2)


@pytest.mark.parametrize(("found", "width"), [(9, 64), (40, 16)])
def test_how_long_a_result_is_stays_known(found: int, width: int) -> None:
    """To the end of the run, whatever is computed after it."""
    weights = {f"w{i}": random_array((width, width)) for i in range(8)}
    nodes = [node("NonZero", ["x"], ["n"]), node("Exp", ["a"], ["e"])]
    nodes += [node("MatMul", ["e", w], [f"m{w}"]) for w in weights]
    nodes += [node("MatMul", [f"m{w}", w], [f"k{w}"]) for w in weights]
    nodes += [node("Concat", [f"k{w}" for w in weights], ["y"], axis=1)]
    compiled = webnn_compile.compile(model(nodes, {"x": [found], "a": [1, width]}, ["n", "y"], weights))
    x = (np.arange(found) % 2).astype(np.float32)
    result = compiled.run({"x": x, "a": np.ones((1, width), np.float32)})["n"]
    np.testing.assert_array_equal(result, np.nonzero(x))


def test_a_value_that_was_never_written_is_a_fault() -> None:
    with pytest.raises(InternalError, match="step 1 reads b, which no step before it writes"):
        live_ranges([Access((), ("a",)), Access(("b",), ("c",)), Access((), ("b",))], {})
