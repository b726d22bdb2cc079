"""`load({ verify })` of a decoder that gives tokens: its steps on a GPU are compared with wasm, now and then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
import pytest
from compiled import compile_site
from devices import open_bundle, value
from generation.test_generate import PROMPT, expected
from played_generation import SIZES
from playwright.sync_api import Page
from server import Site, serve
from small_decoder import small_decoder
from webnn_compile.generation.sample import Sampling


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = tmp_path_factory.mktemp("verify_tokens")
    onnx.save(small_decoder(), made / "decoder.onnx")
    with serve(compile_site(made / "decoder.onnx", made / "site", *SIZES, "--generate", "top=3")) as served:
        yield served


OPEN = """
  const { breakDevice } = await import('./broken_device.js');
  const { backend, every = 1, worker = false, rule, options, prompt } = argument;
  const device = rule ? breakDevice(rule, options) : undefined;
  const model = await bundle.load({ backend, worker, canaries: false, verify: { every } });
  const all = async (tokens) => {
    const got = [];
    for await (const token of tokens) got.push(token);
    return got;
  };
"""

DRAWN = {"temperature": 1.2, "topK": 9, "topP": 0.9, "minP": 0.01, "repetitionPenalty": 1.3, "seed": 3}
SAMPLING = Sampling(temperature=1.2, top_k=9, top_p=0.9, min_p=0.01, repetition_penalty=1.3, seed=3)


def argument(backend: str, **more: Any) -> dict[str, Any]:
    return {"backend": backend, "prompt": PROMPT, "drawn": DRAWN, **more}


@pytest.mark.parametrize("worker", [True, False], ids=["worker", "inline"])
def test_right_steps_pass(page: Page, site: Site, backend: str, worker: bool) -> None:
    """Each of them, of two sessions: the prompt's, in parts, and those of tokens that are drawn."""
    open_bundle(page, site, "bundle", backend)
    script = """
      const other = await model.session();
      const each = [model.generate({ ids: prompt, maxTokens: 50 })];
      each.push(other.generate({ ids: prompt, maxTokens: 50, ...argument.drawn }));
      const found = { tokens: await Promise.all(each.map(all)) };
      found.info = model.info();
      await model.dispose();
      return found;
    """
    found = value(page, OPEN + script, argument(backend, worker=worker))
    assert found["tokens"] == [expected(50, Sampling()), expected(50, SAMPLING)]
    steps = 49 + -(-len(PROMPT) // 4)
    own = found["info"]["verified"]
    assert own["runs"] == 2 * steps
    assert own["largest"] < 1e-4


def test_steps_between_are_launched_ahead(page: Page, site: Site, backend: str) -> None:
    """Also behind a break, a fork, a rewind, and a signal that aborts; runs count like steps."""
    open_bundle(page, site, "bundle", backend)
    script = """
      const found = { ahead: model.info().ahead ?? false };
      const runs = () => model.info().verified.runs;
      const drawn = { temperature: 1.2, repetitionPenalty: 1.5, seed: 5 };
      found.whole = await all(model.generate({ ids: prompt, maxTokens: 20, ...drawn }));
      found.first = runs();
      const parts = [];
      for await (const token of model.generate({ ids: prompt, ...drawn })) if (parts.push(token) === 7) break;
      const fork = await model.fork();
      const controller = new AbortController();
      const { signal } = controller;
      try {
        for await (const token of model.generate({ resume: true, signal, ...drawn }))
          if (parts.push(token) === 13) controller.abort();
      } catch ({ name }) {
        found.aborted = name;
      }
      parts.push(...(await all(model.generate({ resume: true, maxTokens: 7, ...drawn }))));
      found.parts = parts;
      found.forked = await all(fork.generate({ resume: true, maxTokens: 13, ...drawn }));
      await fork.rewind(fork.position - prompt.length + 1);
      found.rewound = await all(fork.generate({ ids: prompt.slice(-1), resume: true, maxTokens: 6 }));
      found.second = runs();
      const before = runs();
      await model.reset();
      const input_ids = { data: BigInt64Array.from(prompt.slice(0, 4), BigInt), shape: [1, 4] };
      for (let i = 0; i < 6; i++) {
        await model.run({ input_ids }, { sampling: { temperature: 9, seed: i } });
        await model.reset();
      }
      found.runs = runs() - before;
      found.largest = model.info().verified.largest;
      await model.dispose();
      return found;
    """
    found = value(page, OPEN + script, argument(backend, every=3))
    whole = expected(20, Sampling(temperature=1.2, repetition_penalty=1.5, seed=5))
    assert found["ahead"] == (backend == "webgpu")
    assert found["whole"] == found["parts"] == whole
    assert found["forked"] == whole[7:]
    assert found["rewound"] == expected(6, Sampling())
    assert found["aborted"] == "AbortError"
    assert found["first"] == -(-(19 - -len(PROMPT) // 4) // 3)
    # A step that was launched ahead when its turn came leaves it to the next.
    assert found["second"] - found["first"] in range(12, 16)
    assert found["runs"] == 2
    assert found["largest"] < 1e-4


BROKEN = """
  const found = [];
  const generate = async (session, more) => {
    const tokens = [];
    try {
      for await (const token of session.generate({ ids: prompt, maxTokens: 12, ...more })) tokens.push(token);
    } catch ({ name, code, message }) {
      return { tokens, name, code, message };
    }
    return { tokens };
  };
  const other = await model.session();
  for (const session of [model, other]) found.push(await generate(session, {}));
  found.push(await generate(other, argument.drawn));
  found.push(await generate(other, { ids: [1], resume: true }));
  device?.mend();
  const info = model.info();
  await model.dispose();
  return { found, info };
"""

RULES = {"factor": {}, "tail": {}, "later": {"right": 12}}
"""Rules and their options; of `later` the first launches of each kernel are right."""


@pytest.mark.parametrize("rule", RULES)
def test_wrong_steps_reject(page: Page, site: Site, backend: str, rule: str) -> None:
    """With what is wrong, on which adapter; nothing is given of what follows, until a step is right again."""
    open_bundle(page, site, "bundle", backend)
    got = value(page, OPEN + BROKEN, argument(backend, every=4, rule=rule, options=RULES[rule]))
    wrong = got["found"][:3]
    for one in wrong:
        assert (one["name"], one["code"]) == ("RunError", "wrong-results")
        assert f" is wrong on {backend} ({got['info']['adapter']}): it differs from that of wasm by " in one["message"]
        assert "load with { backend: 'wasm' }" in one["message"]
    assert [one["tokens"] for one in wrong[1:]] == [[], []]
    assert (wrong[0]["tokens"] == []) or rule == "later"
    assert got["found"][3]["code"] == "state-lost"
    assert got["info"]["verified"]["largest"] > 1e-3
