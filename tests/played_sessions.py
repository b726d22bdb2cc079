"""Sessions of a model with states in JavaScript: scripts for Node.js and for pages, and what they must find."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from decoders.tiny import WORDS, Passed
from windowed_decoder import ROWS, passed

OPEN = """
  const model = await bundle.load(argument.options);
  const words = (ids) => ({ input_ids: { data: BigInt64Array.from(ids, BigInt), shape: [1, ids.length] } });
  const say = async (session, ids, options) => (await session.run(words(ids), options)).logits;
  const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
  const failure = async (task) => {
    try {
      await task();
    } catch ({ name, code, message }) {
      return { name, code, message };
    }
    return undefined;
  };
"""
"""Loads `bundle` by `argument.options`."""

INTERLEAVED = (
    OPEN
    + """
  const sessions = [model];
  while (sessions.length < argument.sentences.length) sessions.push(await model.session());
  const found = sessions.map(() => []);
  const longest = Math.max(...argument.sentences.map((runs) => runs.length));
  for (let turn = 0; turn < longest; turn++) {
    const now = argument.sentences.map((runs, i) => runs[turn] && say(sessions[i], runs[turn]));
    for (const [i, logits] of (await Promise.all(now)).entries()) if (logits) found[i].push(Array.from(logits));
  }
  const { backend, memoryBytes } = model.info();
  const positions = sessions.map(({ position }) => position);
  await model.dispose();
  return { found, positions, backend, memoryBytes };
"""
)
"""The logits of each run of `argument.sentences`, a session for each of these."""

KEPT = (
    OPEN
    + """
  for (const ids of [[1, 2, 3], [4], [5, 6]]) await say(model, ids);
  const found = { start: model.position };
  const saved = await model.saveState();
  found.shapes = Object.fromEntries(Object.entries(saved).map(([name, { shape, length }]) => [name, [shape, length]]));
  const fork = await model.fork();
  const next = await say(model, [7]);
  found.forked = same(next, await say(fork, [7]));
  await model.rewind(1);
  found.rewound = [model.position, same(next, await say(model, [7]))];
  const other = await model.session();
  await other.loadState(saved);
  found.loaded = [other.position, same(next, await say(other, [7]))];
  await other.loadState(structuredClone(saved)); // without shapes
  found.cloned = [other.position, same(next, await say(other, [7]))];
  await other.dispose();
  found.disposed = await failure(() => say(other, [7]));
  const before = model.position;
  const steps = await model.profile(words([1]), { repeat: 2 });
  found.profiled = [steps.length > 0, model.position === before];
  await model.loadState(saved);
  found.again = same(next, await say(model, [7]));
  found.full = await failure(async () => {
    for (;;) await say(model, [1, 2, 3]);
  });
  found.end = model.position;
  const whole = await model.saveState();
  found.whole = Object.values(whole)[0].shape;
  await fork.loadState(whole);
  const beyond = await failure(() => say(fork, [1]));
  await fork.rewind(found.end - 6);
  found.fill = [beyond.code, same(next, await say(fork, [7]))];
  await model.reset();
  found.reset = model.position;
  found.first = Array.from(await say(model, [3, 1]));
  await model.dispose();
  found.over = [await failure(() => say(fork, [1])), await failure(() => model.saveState())];
  return found;
"""
)

STEPS = (
    OPEN
    + """
  await model.session();
  globalThis.model = model;
  globalThis.steps = async (count) => {
    let last;
    for (let i = 0; i < count; i++) {
      if (model.position >= argument.most) await model.reset();
      last = await say(model, [i % argument.words]);
    }
    return Array.from(last);
  };
  return model.info().memoryBytes;
"""
)
"""Leaves `steps(count)`, which returns the last logits of so many runs of one word each."""


def check_interleaved(
    found: Any, model: onnx.ModelProto, sentences: Sequence[Sequence[Sequence[int]]], tolerance: float = 2e-4
) -> None:
    """Each session is as if it were alone."""
    assert found["positions"] == [sum(map(len, runs)) for runs in sentences]
    for logits, runs in zip(found["found"], sentences, strict=True):
        passed = Passed.of(model)
        for got, ids in zip(logits, runs, strict=True):
            want = passed.run(ids)
            array = np.reshape(np.array(got, np.float32), (len(ids), WORDS))
            np.testing.assert_allclose(array, want, rtol=tolerance, atol=tolerance)
            assert (array.argmax(1) == want.argmax(1)).all()


def check_kept(found: Any, model: onnx.ModelProto, most: int) -> None:
    """`found` by `KEPT`, of caches with room for `most` rows before a run."""
    assert found["start"] == 6
    assert found["shapes"] == {f"past_key_values.{i}.{p}": [[1, 2, 6, 8], 96] for i in (0, 1) for p in ("key", "value")}
    assert found["forked"] is found["again"] is True
    assert found["rewound"] == found["loaded"] == found["cloned"] == [6, True]
    assert found["disposed"] == {"name": "RunError", "code": "disposed", "message": "the session was disposed of"}
    assert found["profiled"] == [True, True]
    assert (found["full"]["name"], found["full"]["code"]) == ("StateFullError", "state-full")
    assert most < found["end"] <= most + 3
    assert found["whole"] == [1, 2, found["end"], 8]
    assert found["fill"] == ["state-full", True]
    assert found["reset"] == 0
    want = Passed.of(model).run([3, 1])
    np.testing.assert_allclose(np.reshape(found["first"], want.shape), want, rtol=2e-4, atol=2e-4)
    assert [f["code"] for f in found["over"]] == ["disposed", "disposed"]


WINDOWED = (
    OPEN
    + """
  const other = await model.session();
  const found = { runs: [], dimensions: model.dimensions.map(({ name, window }) => [name, window ?? 0]) };
  let saved;
  for (const [i, ids] of argument.runs.entries()) {
    if (i === argument.save) saved = [await model.saveState(), await model.fork(), model.position];
    found.runs.push(Array.from(await say(model, ids)));
    await say(other, ids.slice(0, 1));
  }
  const rest = async (session) => {
    const logits = [];
    for (const ids of argument.runs.slice(argument.save)) logits.push(Array.from(await say(session, ids)));
    return logits;
  };
  found.positions = [model.position, other.position];
  const [state, fork, position] = saved;
  found.dropped = Object.entries(state).filter(([name]) => name.endsWith('.dropped')).map(([, array]) => array[0]);
  found.shape = Object.values(state)[0].shape;
  found.forked = await rest(fork);
  await other.loadState(structuredClone(state));
  found.loaded = [other.position === position, await rest(other)];
  await model.loadState(state);
  await say(model, [1]);
  await model.rewind(1);
  found.rewound = [model.position === position, await rest(model)];
  found.beyond = await failure(() => model.rewind(model.position));
  await model.reset();
  found.reset = [Array.from(await say(model, argument.runs[0])), model.position];
  await model.dispose();
  return found;
"""
)
"""The logits of `argument.runs` of a model whose newest rows stay, and once more from number `argument.save` on."""


def check_windowed(found: Any, runs: Sequence[Sequence[int]], save: int) -> None:
    """`found` by `WINDOWED` of the decoder SMALL, whose states have ROWS rows."""
    reference, want, position = passed(), [], 0
    for i, ids in enumerate(runs):
        if i == save:
            position = reference.position
            there = next(iter(reference.caches.values())).shape[2]
        want.append(reference.run(ids))
    assert found["dimensions"] == [["sequence_length", 0], ["past_sequence_length", ROWS]]
    assert found["positions"] == [reference.position, len(runs)]
    assert (found["dropped"], found["shape"][2]) == ([position - there], there)
    assert found["loaded"][0] is found["rewound"][0] is True
    for got in (found["runs"], found["runs"][:save] + found["forked"], [*found["runs"][:save], *found["loaded"][1]]):
        for one, logits in zip(got, want, strict=True):
            np.testing.assert_allclose(np.reshape(one, logits.shape), logits, rtol=2e-4, atol=2e-4)
    assert found["rewound"][1] == found["loaded"][1]
    assert found["beyond"]["name"] == "RangeError"
    assert found["reset"] == [found["runs"][0], len(runs[0])]
