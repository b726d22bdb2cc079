"""Sessions of models with states, as bundles in Node.js: what does not depend on a browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from decoders.tiny import DIMS, POSITIONS, WORDS, sentences, tiny_decoder
from node_sessions import play, written
from played_sessions import INTERLEAVED, KEPT, STEPS, WINDOWED, check_interleaved, check_kept, check_windowed
from state_rows import ROWS, Row
from windowed_decoder import OPTIONS, SMALL, sentence

MOST = DIMS["past"][1]
SIZES = [f"--dim={name}={size if isinstance(size, int) else '{}..{}'.format(*size)}" for name, size in DIMS.items()]
PLAYED = tuple(row for row in ROWS if row.name != "one that a branch reads, which it decides")
WASM = {"backend": "wasm"}


@pytest.fixture(scope="module")
def decoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tiny_decoder(), tmp_path_factory.mktemp("decoder"), *SIZES)


def test_eight_sessions_in_turns(decoder: Path) -> None:
    each = sentences(8, 40)
    found = play(decoder, INTERLEAVED, {"options": WASM, "sentences": each})
    check_interleaved(found, tiny_decoder(), each)


def test_states_are_saved_forked_rewound_and_full(decoder: Path) -> None:
    check_kept(play(decoder, KEPT, {"options": WASM}), tiny_decoder(), MOST)


def test_memory_is_the_planned_one_and_that_of_further_sessions(decoder: Path) -> None:
    script = (
        STEPS
        + """
      const before = model.info().memoryBytes;
      const sessions = [];
      for (let i = 0; i < 3; i++) sessions.push(await model.session());
      const most = model.info().memoryBytes;
      for (const session of sessions) await session.dispose();
      for (let i = 0; i < 3; i++) await model.session();
      await steps(200);
      return [before, most, model.info().memoryBytes];
    """
    ).replace("return model.info().memoryBytes;", "")
    before, most, after = play(decoder, script, {"options": WASM, "most": MOST, "words": WORDS})
    state = 2 * 2 * 2 * POSITIONS * 8 * 4
    assert most == after == before + 3 * -(-state // 65536) * 65536


def test_a_session_that_memory_has_no_room_for_is_refused(decoder: Path) -> None:
    script = """
      const model = await bundle.load(argument.options);
      const found = { sessions: 0 };
      try {
        for (; found.sessions < 100; found.sessions++) await model.session();
      } catch ({ name, code, message }) {
        Object.assign(found, { name, code, message });
      }
      await model.run({ input_ids: { data: BigInt64Array.of(1n), shape: [1, 1] } });
      return { ...found, position: model.position };
    """
    found = play(decoder, script, {"options": WASM})
    assert (found["sessions"], found["name"], found["code"]) == (64, "UnsupportedError", "memory")
    assert "no room for the states of one more session" in found["message"]
    assert found["position"] == 1


def test_what_only_counts_is_an_input_where_it_is_asked_for(tmp_path: Path) -> None:
    bundle = written(tiny_decoder(), tmp_path, *SIZES, "--given", "attention_mask")
    script = """
      const model = await bundle.load(argument.options);
      const ids = { data: BigInt64Array.of(1n, 2n), shape: [1, 2] };
      const mask = (length) => ({ data: new BigInt64Array(length).fill(1n), shape: [1, length] });
      await model.run({ input_ids: ids, attention_mask: mask(2) });
      const shapes = model.inputShapes({ seq: 2, past: model.position });
      const { logits } = await model.run({ input_ids: ids, attention_mask: mask(4) });
      const wrong = await model.run({ input_ids: ids, attention_mask: mask(2) }).catch(({ message }) => message);
      return { shapes, names: model.inputs.map(({ name }) => name), logits: Array.from(logits), wrong };
    """
    found = play(bundle, script, {"options": WASM})
    assert found["names"] == ["input_ids", "attention_mask"]
    assert found["shapes"] == {"input_ids": [1, 2], "attention_mask": [1, 4]}
    assert "expected a BigInt64Array" in found["wrong"]
    sessions = {"found": [[found["logits"]]], "positions": [2]}
    with pytest.raises(AssertionError):
        check_interleaved(sessions, tiny_decoder(), [[[1, 2]]])  # as if nothing had been before


def test_a_sequence_goes_on_with_the_newest_rows(tmp_path: Path) -> None:
    bundle, runs = written(SMALL, tmp_path, *OPTIONS), sentence()
    check_windowed(play(bundle, WINDOWED, {"options": WASM, "runs": runs, "save": 9}), runs, 9)
    assert '"past_sequence_length.dropped": Int32Array' in (bundle / "model.d.ts").read_text().replace("'", '"')


@pytest.mark.parametrize("row", PLAYED, ids=lambda r: r.name)
def test_models_of_each_kind_find_what_runs_have_left(row: Row, tmp_path: Path) -> None:
    sizes = [f"--dim={n}={d if isinstance(d, int) else '{}..{}'.format(*d)}" for n, d in row.dims.items()]
    bundle = written(row.model, tmp_path, *sizes, *(f"--state={pair}" for pair in row.pairs))
    script = """
      const model = await bundle.load({ ...argument.options, warmup: true });
      const kinds = { float32: Float32Array, int64: BigInt64Array };
      const data = (array) => ({ shape: array.shape, values: Array.from(array, Number) });
      const plain = (arrays) => Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, data(array)]));
      const found = [];
      for (const given of argument.runs) {
        const inputs = Object.entries(given).map(([name, { dtype, shape, values }]) =>
          [name, { data: kinds[dtype].from(values, dtype === 'int64' ? BigInt : Number), shape }]);
        const outputs = plain(await model.run(Object.fromEntries(inputs)));
        found.push({ outputs, states: plain(await model.saveState()) });
      }
      return found;
    """
    runs = list(row.runs(6))
    given = [
        {n: {"dtype": a.dtype.name, "shape": a.shape, "values": a.ravel().tolist()} for n, a in one.items()}
        for one, _, _ in runs
    ]
    for got, (_, results, states) in zip(play(bundle, script, {"options": WASM, "runs": given}), runs, strict=True):
        for arrays, wanted in ((got["outputs"], results), (got["states"], states)):
            assert arrays.keys() == wanted.keys()
            for name, want in wanted.items():
                shape = arrays[name].get("shape", want.shape)
                np.testing.assert_allclose(np.reshape(arrays[name]["values"], shape), want, rtol=1e-4, atol=1e-4)
