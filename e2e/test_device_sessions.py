"""Sessions of models with states on GPUs: storages of their own over one copy of the weights, and lost devices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from bundle_runs import TO_ARRAY, as_data
from compiled import compile_site
from decoders.tiny import DIMS, WORDS, Passed, sentences, tiny_decoder
from devices import open_bundle, value
from played_sequences import SCRIPT, check_played, options_of
from played_sessions import INTERLEAVED, KEPT, OPEN, STEPS, WINDOWED, check_interleaved, check_kept, check_windowed
from playwright.sync_api import Page
from server import Site, serve
from state_rows import ROWS, Row
from state_sequences import KINDS, Kind
from windowed_decoder import OPTIONS, SMALL
from windowed_decoder import sentence as long_sentence

MOST = DIMS["past"][1]


def sizes_of(dims: Any) -> list[str]:
    return [f"--dim={name}={size if isinstance(size, int) else '{}..{}'.format(*size)}" for name, size in dims.items()]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("sessions")
    onnx.save(tiny_decoder(), folder / "tiny.onnx")
    with serve(
        compile_site(folder / "tiny.onnx", folder / "site", *sizes_of(DIMS), "--targets", "webgpu,webgl")
    ) as made:
        yield made


@pytest.mark.parametrize("worker", [True, False])
def test_eight_sessions_in_turns(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "bundle", backend)
    each = sentences(8, 20)
    found = value(page, INTERLEAVED, {"options": {"backend": backend, "worker": worker}, "sentences": each})
    assert found["backend"] == backend
    check_interleaved(found, tiny_decoder(), each)


@pytest.mark.parametrize("worker", [True, False])
def test_states_are_saved_forked_rewound_and_full(page: Page, site: Site, backend: str, worker: bool) -> None:
    open_bundle(page, site, "bundle", backend)
    check_kept(value(page, KEPT, {"options": {"backend": backend, "worker": worker}}), tiny_decoder(), MOST)


@pytest.fixture(scope="module")
def windowed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("windowed")
    onnx.save(SMALL, folder / "small.onnx")
    with serve(compile_site(folder / "small.onnx", folder / "site", *OPTIONS)) as made:
        yield made


@pytest.mark.parametrize("worker", [True, False])
def test_a_sequence_goes_on_with_the_newest_rows(page: Page, windowed: Site, backend: str, worker: bool) -> None:
    """Some runs are compared with wasm, on copies of the rows that are left."""
    open_bundle(page, windowed, "bundle", backend)
    runs = long_sentence()
    options = {"backend": backend, "worker": worker, "verify": {"every": 4}}
    argument = {"options": options, "runs": runs, "save": 9}
    check_windowed(value(page, WINDOWED, argument), runs, 9)


@pytest.mark.parametrize("when", ["before", "during"])
def test_states_are_lost_with_the_device(page: Page, site: Site, backend: str, when: str) -> None:
    """No run is done once more. Each session says so until it is made anew, but for those that had not begun."""
    open_bundle(page, site, "bundle", backend)
    script = (
        OPEN
        + """
      const other = await model.session();
      const fresh = await model.session();
      for (const ids of [[1, 2, 3], [4]]) for (const session of [model, other]) await say(session, ids);
      const saved = await other.saveState();
      const found = {};
      if (argument.when === 'before') lose(model);
      const running = failure(() => say(model, [5]));
      if (argument.when === 'during') lose(model);
      found.failed = await running;
      found.position = model.position;
      found.again = await failure(() => say(model, [5]));
      found.saved = await failure(() => model.saveState());
      found.rewound = await failure(() => model.rewind(1));
      found.other = await failure(() => say(other, [5]));
      await other.loadState(saved);
      found.loaded = [Array.from(await say(other, [5])), other.position];
      found.fresh = Array.from(await say(fresh, [7]));
      await model.reset();
      found.reset = [Array.from(await say(model, [6, 7])), model.position];
      await model.dispose();
      return found;
    """
    )
    found = value(page, script, {"options": {"backend": backend, "worker": False}, "when": when})
    for name in ("failed", "again", "saved", "rewound", "other"):
        assert (found[name]["name"], found[name]["code"]) == ("StateLostError", "state-lost"), name
        assert "reset() or loadState() first" in found[name]["message"]
    assert found["position"] == 4
    assert (found["loaded"][1], found["reset"][1]) == (5, 2)
    runs = {"loaded": [[1, 2, 3], [4], [5]], "reset": [[6, 7]], "fresh": [[7]]}
    for name, ids in runs.items():
        passed = Passed.of(tiny_decoder())
        want = [passed.run(one) for one in ids][-1]
        got = found[name] if name == "fresh" else found[name][0]
        np.testing.assert_allclose(np.reshape(got, want.shape), want, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("worker", [False])
@pytest.mark.parametrize("when", ["before", "during"])
def test_states_come_back_as_they_were_saved(page: Page, site: Site, backend: str, when: str, worker: bool) -> None:
    """A run that is lost counts for nothing, and none is done twice."""
    open_bundle(page, site, "bundle", backend)
    script = (
        OPEN
        + """
      const other = await model.session();
      for (const ids of [[1, 2, 3], [4]]) for (const session of [model, other]) await say(session, ids);
      (await model.saveState())['past_key_values.0.key'].fill(0); // the caller's, not the session's
      const fork = await model.fork();
      const found = { changed: await say(model, [9]).then(() => model.position) };
      if (argument.when === 'before') lose(model);
      const running = failure(() => say(model, [5]));
      if (argument.when === 'during') lose(model);
      found.failed = await running;
      found.position = model.position;
      found.next = [Array.from(await say(model, [5])), model.position];
      found.fork = await failure(() => say(fork, [5]));
      found.forked = [Array.from(await say(fork, [5])), fork.position];
      found.other = [await failure(() => say(other, [5])), other.position];
      found.begun = [Array.from(await say(other, [6, 7])), other.position];
      await model.reset();
      await say(model, [1]);
      lose(model);
      found.reset = [await failure(() => say(model, [2])), model.position];
      await model.dispose();
      return found;
    """
    )
    options = {"backend": backend, "worker": worker, "restoreState": True}
    found = value(page, script, {"options": options, "when": when})
    said = "the states are as saveState(), loadState() or reset() left them last, at position"
    for name, at in (("failed", 4), ("fork", 4)):
        assert (found[name]["name"], found[name]["code"]) == ("StateLostError", "state-lost")
        assert f"{said} {at}" in found[name]["message"]
    for name in ("other", "reset"):
        assert (found[name][0]["code"], found[name][1]) == ("state-lost", 0)
        assert f"{said} 0" in found[name][0]["message"]
    assert (found["changed"], found["position"]) == (5, 4)
    assert (found["next"][1], found["forked"][1], found["begun"][1]) == (5, 5, 2)
    for name, ids in {"next": [[1, 2, 3], [4], [5]], "forked": [[1, 2, 3], [4], [5]], "begun": [[6, 7]]}.items():
        passed = Passed.of(tiny_decoder())
        want = [passed.run(one) for one in ids][-1]
        np.testing.assert_allclose(np.reshape(found[name][0], want.shape), want, rtol=2e-4, atol=2e-4)


@pytest.mark.fresh_page
def test_steps_create_nothing_and_sessions_free_what_they_had(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "bundle", backend)
    script = (
        "const alive = count(gpuObjects);"
        + STEPS.replace("return model.info().memoryBytes;", "")
        + """
      const alone = model.info().memoryBytes;
      const objects = () => Object.values(alive).reduce((a, b) => a + b, 0);
      await steps(80);
      const before = objects();
      await steps(150);
      const after = objects();
      const used = async () => {
        const sessions = [await model.session(), await model.fork()];
        for (const session of sessions) await say(session, [1, 2]);
        await sessions[1].saveState();
        const bytes = model.info().memoryBytes;
        for (const session of sessions) await session.dispose();
        return bytes;
      };
      await used();
      const once = objects();
      const bytes = await used();
      const third = await model.session();
      await third.dispose();
      return { before, after, once, twice: objects(), bytes: bytes - alone };
    """
    )
    given = {"options": {"backend": backend, "worker": False}, "most": MOST, "words": WORDS}
    found = value(page, script, given)
    assert found["before"] == found["after"]
    assert found["once"] == found["twice"]
    assert found["bytes"] >= 2 * 2 * 2 * 2 * 64 * 8 * 4  # of two sessions, in whole rows of textures


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.name)
def test_random_sequences(page: Page, tmp_path: Path, backend: str, kind: Kind) -> None:
    onnx.save(kind.model, tmp_path / "kind.onnx")
    with serve(
        compile_site(tmp_path / "kind.onnx", tmp_path / "site", *options_of(kind), "--targets", backend)
    ) as made:
        open_bundle(page, made, "bundle", backend)
        check_played(kind, 2, True, lambda argument: value(page, SCRIPT, argument), {"backend": backend})


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_models_of_each_kind_find_what_runs_have_left(page: Page, tmp_path: Path, backend: str, row: Row) -> None:
    """Every third run is compared with wasm, on copies of what it finds."""
    onnx.save(row.model, tmp_path / "row.onnx")
    options = [*sizes_of(row.dims), *(f"--state={pair}" for pair in row.pairs), "--targets", f"{backend},wasm"]
    script = (
        TO_ARRAY
        + """
      const model = await bundle.load({ backend: argument.backend, warmup: true, verify: { every: 3 } });
      const data = (array) => ({ shape: array.shape, values: Array.from(array, Number) });
      const plain = (arrays) => Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, data(array)]));
      const sessions = [model, await model.session()];
      const found = [];
      for (const given of argument.runs) {
        for (const session of sessions) {
          const outputs = plain(await session.run(toInputs(given)));
          found.push({ outputs, states: plain(await session.saveState()) });
        }
      }
      await model.dispose();
      return found;
    """
    )
    runs = list(row.runs(5))
    with serve(compile_site(tmp_path / "row.onnx", tmp_path / "site", *options)) as made:
        open_bundle(page, made, "bundle", backend)
        given = {"backend": backend, "runs": [as_data(one) for one, _, _ in runs]}
        found = value(page, script, given)
    for got, (_, results, states) in zip(found, [run for run in runs for _ in range(2)], strict=True):
        for arrays, wanted in ((got["outputs"], results), (got["states"], states)):
            assert arrays.keys() == wanted.keys()
            for name, want in wanted.items():
                shape = arrays[name].get("shape") or want.shape
                np.testing.assert_allclose(np.reshape(arrays[name]["values"], shape), want, rtol=2e-4, atol=2e-4)
