"""`generate` of a decoder on GPUs: the tokens of the reference, and 8 bytes that come back for each."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import pytest
from compiled import compile_site
from devices import COUNT_BYTES, COUNT_CALLS, open_bundle, value
from effort import effort_of
from generation.test_generate import expected
from harness import measure_heap
from played_generation import AHEAD, KEPT, OPEN, SIZES, TOKENS, argument, check_ahead, check_kept, check_tokens
from playwright.sync_api import Page
from server import Site, serve
from small_decoder import WORDS, small_decoder
from webnn_compile.generation.sample import Sampling


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = tmp_path_factory.mktemp("generate")
    onnx.save(small_decoder(), made / "decoder.onnx")
    targets = ("--generate", "", "--targets", "webgpu,webgl")
    with serve(compile_site(made / "decoder.onnx", made / "site", *SIZES, *targets)) as served:
        yield served


def test_tokens_are_those_of_the_reference(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "bundle", backend)
    check_tokens(value(page, TOKENS, argument(backend=backend)))


def test_it_goes_on_stops_and_says_why_it_does_not_go_on(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "bundle", backend)
    check_kept(value(page, KEPT, argument(backend=backend)))


@pytest.mark.fresh_page
def test_eight_sessions_take_the_memory_that_is_planned(page: Page, site: Site, backend: str) -> None:
    """One copy of the weights, and the states of each; the buffers of what is read back, and of scalars, are shared.
    A step that is ahead keeps a copy of which tokens occurred."""
    open_bundle(page, site, "bundle", backend)
    page.evaluate(COUNT_BYTES)
    script = (
        OPEN
        + """
      const note = () => (found.bytes ??= []).push([bytesOnDevice(), model.info().memoryBytes]);
      note();
      const sessions = [model];
      while (sessions.length < 8) sessions.push(await model.session());
      note();
      const each = sessions.map((session, i) => session.generate({ ids: argument.prompts[i], maxTokens: 12 }));
      found.tokens = each.map(() => []);
      for (let turn = 0; turn < 12; turn++)
        for (const [i, { value }] of (await Promise.all(each.map((tokens) => tokens.next()))).entries())
          found.tokens[i].push(value);
      await Promise.all(sessions.map((session) => session.saveState()));
      note();
      for (const session of sessions.slice(1)) await session.dispose();
      note();
      await model.dispose();
      found.left = bytesOnDevice();
      return found;
    """
    )
    prompts = [[(7 * i + k) % WORDS for k in range(1 + i % 4)] for i in range(8)]
    found = value(page, script, argument(backend=backend, worker=False) | {"prompts": prompts})
    assert found["tokens"] == [expected(12, Sampling(), prompt) for prompt in prompts]
    for made, planned in found["bytes"]:
        assert planned <= made <= 1.05 * planned
    (alone, _), (eight, _), (used, _), (after, _) = found["bytes"]
    assert used >= eight > 5 * alone
    assert alone <= after <= 1.05 * alone
    assert found["left"] == 0


@pytest.mark.fresh_page
def test_tokens_create_nothing_and_leave_the_heap_flat(
    page: Page, site: Site, backend: str, request: pytest.FixtureRequest
) -> None:
    open_bundle(page, site, "bundle", backend)
    page.evaluate(COUNT_CALLS)
    warm, count = (1600, 5000) if effort_of(request.config) == "all" else (160, 480)
    script = (
        OPEN
        + """
      const drawn = { temperature: 1.2, topK: 9, topP: 0.9, repetitionPenalty: 1.1 };
      globalThis.steps = async (count) => {
        for (let i = 0; i < count; i += 80)
          for await (const _ of model.generate({ ids: [1], maxTokens: 80, ...drawn, seed: i }));
      };
      await steps(argument.warm);
    """
    )
    value(page, script, argument(backend=backend, worker=False) | {"warm": warm})
    heap = measure_heap(page)
    before = heap()
    created = value(
        page,
        """
      for (const name in calls) calls[name] = 0;
      await steps(argument);
      return Object.keys(calls).filter((name) => name.startsWith('create') && calls[name]);
    """,
        count,
    )
    assert created == (["createCommandEncoder"] if backend == "webgpu" else [])
    assert heap() - before < 200_000  # 40 bytes for each of 5,000 tokens


COUNT_UNIFORMS = """() => {
  globalThis.uniforms = 0;
  const buffers = new WeakSet();
  const { createBuffer } = globalThis.GPUDevice?.prototype ?? {};
  const { writeBuffer } = globalThis.GPUQueue?.prototype ?? {};
  if (createBuffer) {
    GPUDevice.prototype.createBuffer = function (descriptor) {
      const buffer = createBuffer.call(this, descriptor);
      if (descriptor.usage & 0x40) buffers.add(buffer);
      return buffer;
    };
    GPUQueue.prototype.writeBuffer = function (buffer, offset, data) {
      if (buffers.has(buffer)) uniforms += data.byteLength;
      return writeBuffer.call(this, buffer, offset, data);
    };
  }
  const { uniform1i } = WebGL2RenderingContext.prototype;
  WebGL2RenderingContext.prototype.uniform1i = function (...given) {
    uniforms += 4;
    return uniform1i.apply(this, given);
  };
}"""


def test_bytes_of_scalars_are_counted(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "bundle", backend)
    page.evaluate(COUNT_UNIFORMS)
    script = (
        OPEN
        + """
      await all(model.generate({ ids: prompt, maxTokens: 1 }));
      found.steps = [];
      for (let i = 0; i < 5; i++) {
        uniforms = 0;
        await all(model.generate({ resume: true, maxTokens: 1 }));
        found.steps.push([uniforms, model.info().perToken.uniforms]);
      }
      return found;
    """
    )
    steps = value(page, script, argument(backend=backend, worker=False))["steps"]
    assert [counted for counted, _ in steps] == [said for _, said in steps]
    assert sum(said for _, said in steps) > 0


COUNT_WAITING = """() => {
  globalThis.waiting = { now: 0, most: 0 };
  const { mapAsync } = globalThis.GPUBuffer?.prototype ?? {};
  if (!mapAsync) return;
  GPUBuffer.prototype.mapAsync = async function (...given) {
    waiting.most = Math.max(waiting.most, ++waiting.now);
    try {
      return await mapAsync.apply(this, given);
    } finally {
      waiting.now--;
    }
  };
}"""


def test_a_step_begins_before_the_token_of_the_last_has_come(page: Page, site: Site, backend: str) -> None:
    """A step that is not wanted is taken back: states are those of a session whose steps wait for each other."""
    open_bundle(page, site, "bundle", backend)
    page.evaluate(COUNT_WAITING)
    found = value(page, AHEAD, argument(backend=backend, worker=False))
    check_ahead(found, ahead=backend == "webgpu")
    if backend == "webgpu":
        assert found["most"] == 2


@pytest.mark.parametrize("when", ["between", "during"])
def test_tokens_go_on_behind_what_was_saved_before_a_loss(page: Page, site: Site, backend: str, when: str) -> None:
    """Tokens are those of a text that nothing disturbs, with a penalty for what occurred: none is missing, and none
    comes twice. A session of which nothing was saved begins anew."""
    open_bundle(page, site, "bundle", backend)
    script = (
        OPEN
        + """
      const drawn = { temperature: 1.2, repetitionPenalty: 1.5, seed: 5 };
      const total = 18;
      found.whole = await all(model.generate({ ids: prompt, maxTokens: total, ...drawn }));
      const begin = (session) => ({ session, ids: [...prompt], behind: true });
      const rest = (text) => {
        const { session, ids, behind } = text;
        text.behind = false;
        const options = { resume: true, maxTokens: prompt.length + total - ids.length, ...drawn };
        return session.generate({ ...options, ...(behind && { ids: ids.slice(session.position) }) });
      };
      const write = async (text, count) => {
        for await (const token of rest(text)) if (text.ids.push(token) && --count === 0) break;
      };
      const lost = async (text, count) => {
        const tokens = rest(text);
        while (count--) text.ids.push((await tokens.next()).value);
        if (argument.when === 'between') lose(model);
        let next = tokens.next();
        if (argument.when === 'during') lose(model);
        text.behind = true;
        const failed = await failure(async () => {
          // The step after the last one may have been over before the loss.
          for (; ; next = tokens.next()) text.ids.push((await next).value);
        });
        return { ...failed, position: text.session.position };
      };
      await model.reset();
      const saved = begin(model);
      const other = begin(await model.session());
      await write(saved, 4);
      await write(other, 2);
      await model.saveState();
      found.first = saved.ids.length - 1; // the last token that came is not in the states yet
      found.failed = [await lost(saved, 3), await lost(saved, 0), await lost(saved, 1)];
      found.alone = await failure(() => model.generate({ resume: true }).next());
      found.other = { ...(await failure(() => rest(other).next())), position: other.session.position };
      other.behind = true;
      await write(saved, 2);
      await model.saveState();
      found.second = saved.ids.length - 1;
      found.again = await lost(saved, 2);
      await write(saved);
      await write(other);
      found.texts = [saved, other].map(({ ids }) => ids.slice(prompt.length));
      await model.dispose();
      return found;
    """
    )
    given = argument(backend=backend, worker=False, restoreState=True)
    found = value(page, script, {**given, "when": when})
    assert found["texts"] == [found["whole"], found["whole"]]
    at = found["first"]
    assert [(one["code"], one["position"]) for one in found["failed"]] == [("state-lost", at)] * 3
    assert (found["again"]["code"], found["again"]["position"]) == ("state-lost", found["second"])
    assert found["alone"]["message"] == "ids: give one token at least"
    assert (found["other"]["code"], found["other"]["position"]) == ("state-lost", 0)
