"""States of models whose backend is given up after the load: gone until they are made anew."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from broken_later import GONE, open_unbroken
from compiled import compile_site
from decoders.tiny import DIMS, Passed, tiny_decoder
from devices import DEVICES, open_anew, pretend, value, write_site
from generation.test_generate import PROMPT
from generation.test_generate import expected as expected_tokens
from harness import BEFORE_WORKERS
from onnx_models import model as model_of
from onnx_models import node
from played_generation import SIZES
from playwright.sync_api import Page
from server import Site, serve
from small_decoder import small_decoder
from test_device_sessions import sizes_of
from webnn_compile.generation.sample import Sampling


@pytest.fixture(scope="module")
def decoders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("late-decoders")
    made = folder / "site"
    onnx.save(tiny_decoder(), folder / "tiny.onnx")
    onnx.save(small_decoder(), folder / "small.onnx")
    options = {
        **{f"tiny-{backend}": ("tiny.onnx", f"--targets={backend},wasm", *sizes_of(DIMS)) for backend in DEVICES},
        "generate": ("small.onnx", "--targets=webgpu,wasm", "--generate=", *SIZES),
    }
    for name, (model, *others) in options.items():
        compile_site(folder / model, made / name, "--canaries=on", *others)
    for name, op, constant in (("first", "Add", 1), ("second", "Mul", 3)):
        numbers = {"c": np.full(1, constant, np.float32)}
        onnx.save(model_of([node(op, ["x", "c"], ["y"])], {"x": (4,)}, ["y"], numbers), folder / f"{name}.onnx")
    both = (str(folder / "second.onnx"), "--targets=webgpu,wasm", "--canaries=on")
    compile_site(folder / "first.onnx", made / "pair", *both)
    with serve(write_site(made, {})) as served:
        yield served


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_states_are_gone_until_they_are_made_anew(page: Page, decoders: Site, backend: str, worker: bool) -> None:
    """Sessions that have not run yet, or begin anew, are right; what was saved is loaded. Nothing is computed on other
    states than those of its session."""
    open_anew(page, decoders, f"tiny-{backend}/bundle", backend)
    pretend(page)
    script = BEFORE_WORKERS % GONE if worker else GONE
    page.evaluate(script, 30)
    script = """
      const model = await bundle.load({ canaries: false, worker: argument.worker, restoreState: argument.restore });
      const words = (ids) => ({ input_ids: { data: BigInt64Array.from(ids, BigInt), shape: [1, ids.length] } });
      const say = async (session, ids) => Array.from((await session.run(words(ids))).logits);
      const other = await model.session();
      const fresh = await model.session();
      const idle = await model.session();
      for (const ids of [[1, 2, 3], [4]]) for (const session of [model, other]) await say(session, ids);
      const saved = await other.saveState();
      const found = { first: model.backend };
      found.refused = await outcome(say(model, [30]));
      found.position = model.position;
      found.again = await outcome(say(model, [5]));
      found.saved = await outcome(model.saveState());
      found.other = await outcome(say(other, [5]));
      found.fresh = await say(fresh, [7]);
      found.backend = model.backend;
      found.still = await outcome(say(model, [5]));
      found.forked = await outcome(model.fork());
      await other.loadState(saved);
      found.loaded = [await say(other, [5]), other.position];
      await model.reset();
      found.reset = [await say(model, [6, 7]), model.position];
      const fork = await other.fork();
      found.fork = await say(fork, [8]);
      found.unmoved = await say(other, [8]);
      const late = await model.session();
      found.late = await say(late, [7]);
      await idle.dispose();
      await fork.dispose();
      await model.dispose();
      return found;
    """
    found = value(page, script, {"backend": backend, "worker": worker, "restore": False})
    assert (found["first"], found["backend"]) == (backend, "wasm")
    for name in ("refused", "again", "saved", "other", "still", "forked"):
        assert (found[name].get("name"), found[name].get("code")) == ("StateLostError", "state-lost"), name
        assert "reset() or loadState() first" in found[name]["message"]
    assert (found["loaded"][1], found["reset"][1]) == (5, 2)
    runs = {
        "loaded": [[1, 2, 3], [4], [5]],
        "reset": [[6, 7]],
        "fresh": [[7]],
        "late": [[7]],
        "fork": [[1, 2, 3], [4], [5], [8]],
        "unmoved": [[1, 2, 3], [4], [5], [8]],
    }
    for name, ids in runs.items():
        passed = Passed.of(tiny_decoder())
        want = [passed.run(one) for one in ids][-1]
        got = found[name][0] if name in ("loaded", "reset") else found[name]
        np.testing.assert_allclose(np.reshape(got, want.shape), want, rtol=2e-4, atol=2e-4, err_msg=name)


def test_generating_rejects_and_goes_on_from_what_was_saved(page: Page, decoders: Site) -> None:
    """No token comes twice, and none is left out."""
    open_unbroken(page, decoders, "generate/bundle", "webgpu")
    script = """
      const model = await bundle.load({ canaries: 'all', worker: false, restoreState: true });
      const take = async (session, options, count) => {
        const tokens = [];
        for await (const token of session.generate({ maxTokens: count, ...options })) tokens.push(token);
        return tokens;
      };
      const found = { first: model.backend };
      const tokens = await take(model, { ids: argument }, 8);
      await model.saveState();
      const going = model.generate({ resume: true });
      tokens.push((await going.next()).value);
      const other = await model.session();
      await giveUp(model, () => take(other, { ids: [5] }, 1));
      while (!found.refused) {
        // A step may have been launched ahead while all was right.
        const { value, ...refused } = await outcome(going.next());
        if (value) tokens.push(value.value);
        else found.refused = refused;
      }
      const ids = [...argument, ...tokens].slice(model.position);
      tokens.push(...(await take(model, { ids, resume: true }, 20 - tokens.length)));
      const { backend } = model;
      return { ...found, backend, tokens, other: await take(other, { ids: argument }, 20) };
    """
    found = value(page, script, PROMPT)
    assert (found["first"], found["backend"]) == ("webgpu", "wasm")
    assert (found["refused"]["name"], found["refused"]["code"]) == ("StateLostError", "state-lost")
    assert found["tokens"] == found["other"] == expected_tokens(20, Sampling())


def test_of_two_models_each_has_its_own(page: Page, decoders: Site) -> None:
    open_unbroken(page, decoders, "pair/bundle", "webgpu")
    script = """
      const models = await bundle.load({ canaries: 'all', worker: false });
      const run = async ({ run }) => Object.values(await run({ x: Float32Array.of(1, 2, 3, 4) }))[0];
      const first = [await run(models.first), await run(models.second)];
      await giveUp(models.first, () => run(models.first));
      broken.length = 0;
      const second = [await run(models.first), await run(models.second)];
      const info = models.info();
      await models.dispose();
      const values = [...first, ...second].map((array) => [...array]);
      return { values, backends: [info.first.backend, info.second.backend] };
    """
    found = value(page, script)
    assert found["backends"] == ["wasm", "webgpu"]
    np.testing.assert_allclose(found["values"], [[2, 3, 4, 5], [3, 6, 9, 12]] * 2)
