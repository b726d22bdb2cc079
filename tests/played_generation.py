"""`generate` of a decoder in JavaScript: a script for Node.js and for pages, and what it must find."""

from __future__ import annotations

from typing import Any

import numpy as np
from chat_templates import messages_of
from decoders.tiny import Passed
from generation.test_generate import PROMPT, SAMPLED, expected
from small_decoder import POSITIONS, WORDS, small_decoder
from webnn_compile.generation.sample import Sampling

NAMES = {"top_k": "topK", "top_p": "topP", "min_p": "minP", "repetition_penalty": "repetitionPenalty"}
OPTIONS = {NAMES.get(name, name): value for name, value in SAMPLED.items()}
STOP, END = "vu\n", 0
"""A string of the text that `WRITING` gives, and a token behind the prompt."""

SIZES = ("--dim", "sequence_length=1..4")

OPEN = """
  const model = await bundle.load(argument.options);
  const { prompt, sampled } = argument;
  const all = async (tokens) => {
    const list = [];
    for await (const token of tokens) list.push(token);
    return list;
  };
  const first = async (tokens, count) => {
    const list = [];
    for await (const token of tokens) if (list.push(token) === count) break;
    return list;
  };
  const failure = async (task) => {
    try {
      await task();
    } catch ({ name, code, message }) {
      return { name, code, message };
    }
    return undefined;
  };
  const found = {};
"""

TOKENS = (
    OPEN
    + """
  found.greedy = await all(model.generate({ ids: prompt, maxTokens: 60 }));
  found.sampled = await all(model.generate({ ids: BigInt64Array.from(prompt, BigInt), maxTokens: 60, ...sampled }));
  found.backend = model.backend;
  found.perToken = model.info().perToken;
  const prompts = [prompt, [1, 2], [30]];
  const sessions = [model, await model.session(), await model.session()];
  const each = sessions.map((session, i) => session.generate({ ids: prompts[i], maxTokens: 6 }));
  found.turns = prompts.map(() => []);
  for (let turn = 0; turn < 6; turn++) {
    const now = await Promise.all(each.map((tokens) => tokens.next()));
    now.forEach(({ value }, i) => found.turns[i].push(value));
  }
  found.ends = (await Promise.all(each.map((tokens) => tokens.next()))).map(({ done }) => done);
  await model.dispose();
  return found;
"""
)
"""Tokens of `prompt`, the likeliest and `sampled`, and of three sessions in turns."""

KEPT = (
    OPEN
    + """
  const whole = (found.whole = await all(model.generate({ ids: prompt, maxTokens: 20 })));
  const rest = (count) => all(model.generate({ resume: true, maxTokens: 20 - count }));
  found.left = [...(await first(model.generate({ ids: prompt }), 5)), ...(await rest(5))];
  found.aborted = [];
  for (const count of [0, 1, 2, 5]) {
    const abort = new AbortController();
    const tokens = model.generate({ ids: prompt, signal: abort.signal });
    const list = [];
    for (let i = 0; i < count; i++) list.push((await tokens.next()).value);
    const waiting = tokens.next();
    await null; // a step is under way where the model is in a worker
    abort.abort(new Error('enough'));
    const reason = await failure(() => waiting);
    found.aborted.push([reason?.message, ...list, ...(await rest(count))]);
  }
  const late = new AbortController();
  const before = model.generate({ ids: prompt, signal: late.signal });
  const list = [(await before.next()).value];
  late.abort();
  found.late = [(await failure(() => before.next())).name, ...list, ...(await rest(1))];
  found.dead = (await failure(() => model.generate({ ids: prompt, signal: AbortSignal.abort() }).next())).name;

  const given = await all(model.generate({ ids: prompt, maxTokens: 3 }));
  found.behind = [given, await all(model.generate({ ids: [7, 8], resume: true, maxTokens: 5 }))];

  const stop = whole[10];
  found.stop = await all(model.generate({ ids: prompt, stop: [stop, 36] }));
  found.afterwards = await all(model.generate({ ids: [7], resume: true, maxTokens: 4 }));

  await all(model.generate({ ids: prompt, maxTokens: 4 }));
  const forks = [await model.fork(), await model.fork()];
  found.forks = [];
  for (const one of [...forks, model]) found.forks.push(await all(one.generate({ resume: true, maxTokens: 5 })));

  await all(model.generate({ ids: prompt, maxTokens: 6 }));
  await model.rewind(model.position - prompt.length + 1);
  found.rewound = await all(model.generate({ ids: prompt.slice(-1), resume: true, maxTokens: 6 }));
  await model.rewind(1);
  found.nothing = await failure(() => model.generate({ resume: true }).next());

  const one = model.generate({ ids: prompt });
  await one.next();
  found.second = await failure(() => model.generate({ ids: prompt }).next());
  await model.rewind(0);
  found.changed = await failure(() => one.next());
  found.free = (await all(model.generate({ ids: prompt, maxTokens: 2 }))).length;

  found.logprobs = await all(model.generate({ ids: prompt, maxTokens: 4, temperature: 1.5, seed: 4, logprobs: true }));

  const full = [];
  found.full = await failure(async () => {
    for await (const token of model.generate({ ids: prompt })) full.push(token);
  });
  found.filled = [full.length, model.position];
  const some = await first(model.generate({ ids: prompt }), 3);
  const at = model.position;
  const ones = (length) => new Array(length).fill(1);
  found.long = [await failure(() => model.generate({ ids: ones(argument.positions + 1) }).next())];
  const behind = { ids: ones(argument.positions - at), resume: true };
  found.long.push(await failure(() => model.generate(behind).next()), model.position - at);
  found.kept = [...some, ...(await all(model.generate({ resume: true, maxTokens: 2 })))];
  await model.reset();
  const ids = { input_ids: { data: BigInt64Array.from(prompt.slice(0, 4), BigInt), shape: [1, 4] } };
  const run = async (options) => {
    await model.reset();
    return (await model.run(ids, options)).token[0];
  };
  found.runs = [await run(), await run({ sampling: { temperature: 9, seed: 7 } })];
  found.ran = [await failure(() => run({ sampling: { seed: -1 } })), await failure(() => model.run({}))];
  found.wrong = [];
  for (const options of argument.wrong) found.wrong.push(await failure(() => model.generate(options)));
  found.inputs = model.inputs.map(({ name }) => name);
  found.shapes = model.inputShapes({ sequence_length: 2 });
  found.profiled = (await model.profile(ids)).length > 0;
  await model.dispose();
  found.over = await failure(() => model.generate({ ids: prompt }).next());
  return found;
"""
)
"""All else that `generate` does; `wrong` are options that it refuses."""

WRONG: tuple[tuple[dict[str, Any], str, str], ...] = (
    ({}, "RangeError", "ids: give one token at least"),
    ({"ids": []}, "RangeError", "ids: give one token at least"),
    ({"ids": "one"}, "TypeError", "ids: expected an array of tokens, got string"),
    ({"ids": [0.5]}, "RangeError", "ids: 0.5 is no token; the model has 37"),
    ({"ids": [WORDS]}, "RangeError", "ids: 37 is no token; the model has 37"),
    ({"ids": [1], "stop": [-1]}, "RangeError", "stop: -1 is no token"),
    ({"ids": [1], "temperature": -1}, "RangeError", "temperature: expected a number from 0, got -1"),
    ({"ids": [1], "topK": 1.5}, "RangeError", "topK: expected a whole number from 0 to 2147483647, got 1.5"),
    ({"ids": [1], "topP": 1.5}, "RangeError", "topP: expected a number from 0 to 1, got 1.5"),
    ({"ids": [1], "seed": "x"}, "TypeError", "seed: expected a whole number from 0 to 4294967295, got string"),
    ({"ids": [1], "maxTokens": -1}, "RangeError", "maxTokens: expected a whole number from 0, got -1"),
    ({"ids": [1], "resume": 1}, "TypeError", "resume: expected true or false, got number"),
    ({"ids": [1], "signal": {}}, "TypeError", "signal: expected an AbortSignal, got an object"),
    ({"ids": [1], "inputs": [1]}, "TypeError", "inputs: expected an object of arrays, got a plain array"),
    ({"ids": [1], "beams": 2}, "TypeError", 'generate has no option "beams"'),
)


AHEAD = (
    OPEN
    + """
  const plain = await model.session();
  const drawn = { temperature: 1.2, repetitionPenalty: 1.5, seed: 5 };
  const list = (arrays) => Object.entries(arrays).map(([name, array]) => [name, Array.from(array)]);
  const step = async (session, options) => {
    const [token] = await all(session.generate({ maxTokens: 1, ...drawn, ...options }));
    return token;
  };
  found.ahead = model.info().ahead ?? false;
  found.same = [];
  for (let count = 1; count < 9; count++) {
    const tokens = await first(model.generate({ ids: prompt, ...drawn }), count);
    found.most = globalThis.waiting?.most;
    const steps = [await step(plain, { ids: prompt })];
    while (steps.length < count) steps.push(await step(plain, { resume: true }));
    const [saved, wanted] = [list(await model.saveState()), list(await plain.saveState())];
    found.same.push([JSON.stringify(saved) === JSON.stringify(wanted), model.position, plain.position]);
    found.same.push([tokens.join() === steps.join(), 0, 0]);
    const behind = { ids: [count], resume: true };
    found.same.push([(await step(model, behind)) === (await step(plain, behind)), 0, 0]);
    if (globalThis.waiting) waiting.most = 0;
  }
  const tokens = model.generate({ ids: prompt, ...drawn });
  const given = [(await tokens.next()).value];
  const fork = await model.fork();
  await model.saveState();
  for (let i = 0; i < 4; i++) given.push((await tokens.next()).value);
  await tokens.return();
  const rest = await all(fork.generate({ resume: true, maxTokens: 4, ...drawn }));
  const again = await all(plain.generate({ ids: prompt, maxTokens: 5, ...drawn }));
  found.between = [given.slice(1).join() === rest.join(), given.join() === again.join()];
  return found;
"""
)
"""Steps that are not wanted are taken back: states are those of a session whose steps wait for each other."""


def check_ahead(found: Any, *, ahead: bool) -> None:
    assert all(same and one == other for same, one, other in found["same"])
    assert found["between"] == [True, True]
    assert found["ahead"] == ahead


def argument(**options: Any) -> dict[str, Any]:
    """An argument of the scripts."""
    return {
        "options": options,
        "prompt": PROMPT,
        "positions": POSITIONS,
        "sampled": OPTIONS,
        "wrong": [given for given, _, _ in WRONG],
    }


def check_tokens(found: Any, top: int = 0) -> None:
    """Tokens are those of the reference, a step gives 39 bytes to the model and takes 8, and `top` tokens besides."""
    assert found["greedy"] == expected(60, Sampling())
    assert found["sampled"] == expected(60, Sampling(**SAMPLED))
    assert found["turns"] == [expected(6, Sampling(), prompt) for prompt in (PROMPT, [1, 2], [30])]
    assert found["ends"] == [True] * 3
    ids, options, counts, flags = 8, 16, 12, 3
    uniforms = found["perToken"].pop("uniforms")
    assert found["perToken"] == {"given": ids + options + counts + flags, "received": 8 + 8 * top}
    assert uniforms == 0 if found["backend"] == "wasm" else 4 <= uniforms <= 4096


def check_kept(found: Any) -> None:
    """Checks the result of `KEPT`."""
    whole = expected(20, Sampling())
    assert found["whole"] == found["left"] == whole
    assert found["aborted"] == [["enough", *whole]] * 4
    assert found["late"] == ["AbortError", *whole]
    assert found["dead"] == "AbortError"
    given, behind = found["behind"]
    assert given == whole[:3]
    assert behind == expected(5, Sampling(), [*PROMPT, *given, 7, 8])
    stop = whole[10]
    before = whole[: whole.index(stop)]
    assert found["stop"] == before
    assert found["afterwards"] == expected(4, Sampling(), [*PROMPT, *before, stop, 7])
    assert found["forks"] == [whole[4:9]] * 3
    assert found["rewound"] == whole[:6]
    assert found["nothing"]["message"] == "ids: give one token at least"
    assert (found["second"]["name"], found["second"]["code"]) == ("RunError", "busy")
    assert "take a session() of its own" in found["second"]["message"]
    assert found["changed"]["code"] == "busy"
    assert "the states were changed" in found["changed"]["message"]
    assert found["free"] == 2
    _check_logprobs(found["logprobs"])
    assert found["full"]["code"] == "state-full"
    assert f"the model has {POSITIONS} positions" in found["full"]["message"]
    assert found["filled"] == [POSITIONS - len(PROMPT) + 1, POSITIONS]
    *long, moved = found["long"]
    assert all(one["code"] == "state-full" and f"the model has {POSITIONS} positions" in one["message"] for one in long)
    assert (moved, found["kept"]) == (0, whole[:5])
    drawn = expected(1, Sampling(temperature=9, seed=7), PROMPT[:4])
    assert found["runs"] == [*expected(1, Sampling(), PROMPT[:4]), *drawn]
    assert drawn != found["runs"][:1]
    range_error, missing = found["ran"]
    assert range_error["message"] == "seed: expected a whole number from 0 to 4294967295, got -1"
    assert 'input "input_ids" is missing' in missing["message"]
    for failure, (_, name, message) in zip(found["wrong"], WRONG, strict=True):
        assert failure["name"] == name
        assert failure["message"].startswith(message)
    assert found["inputs"] == ["input_ids"]
    assert found["shapes"] == {"input_ids": [1, 2]}
    assert found["profiled"] is True
    assert found["over"]["code"] == "disposed"


def _check_logprobs(tokens: Any) -> None:
    reference, ids = Passed.of(small_decoder()), PROMPT
    for token in tokens:
        logits = reference.run(ids)[-1].astype(np.float64)
        logprobs = logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
        np.testing.assert_allclose(token["logprob"], logprobs[token["token"]], atol=1e-4)
        assert [one["token"] for one in token["top"]] == np.argsort(-logits)[: len(token["top"])].tolist()
        np.testing.assert_allclose(
            [one["logprob"] for one in token["top"]], np.sort(logprobs)[::-1][: len(token["top"])], atol=1e-4
        )
        ids = [token["token"]]


WRITING = (
    OPEN
    + """
  const text = 'The quick brown 🚀';
  const drawn = { temperature: 1.1, topP: 0.95, seed: 3 };
  const pieces = await all(model.generate({ text, maxTokens: 60, ...drawn }));
  found.whole = pieces.join('');
  found.pieces = pieces.length;
  found.first = (await all(model.generate({ text, maxTokens: 23, ...drawn }))).join('');
  found.rest = (await all(model.generate({ text: '', resume: true, maxTokens: 37, ...drawn }))).join('');
  found.stopped = (await all(model.generate({ text, maxTokens: 60, stop: [argument.stop], ...drawn }))).join('');
  await all(model.generate({ text, maxTokens: 5 }));
  const more = await all(model.generate({ text: ' again', resume: true, maxTokens: 12 }));
  found.behind = more.join('');
  found.wrong = [];
  const refused = [{ text: 5 }, { text, ids: [1] }, { text, logprobs: true }, { text, stop: [''] }];
  for (const options of [...refused, { ids: [1], stop: ['a'] }])
    found.wrong.push((await failure(() => model.generate(options)))?.message);
  found.end = await all(model.generate({ ids: prompt, maxTokens: 20, end: [argument.end] }));
  await model.dispose();
  return found;
"""
)
"""Text of a model that takes it, on its own and in two parts, up to `stop`."""


def check_writing(found: Any, made: Any, stop: str, end: int) -> None:
    """The text is that of `made`, the same model in this process."""
    prompt, sampled = "The quick brown 🚀", {"temperature": 1.1, "top_p": 0.95, "seed": 3}
    whole = "".join(made.generate(text=prompt, max_tokens=60, **sampled))
    assert found["whole"] == whole
    assert found["pieces"] > 20
    assert stop in whole
    assert found["stopped"] == whole[: whole.index(stop)]
    assert found["stopped"] == "".join(made.generate(text=prompt, max_tokens=60, stop=[stop], **sampled))
    assert found["first"] + found["rest"] == whole
    list(made.generate(text=prompt, max_tokens=5))
    assert found["behind"] == "".join(made.generate(text=" again", resume=True, max_tokens=12))
    tokens = list(made.generate(PROMPT, max_tokens=20))
    assert end in tokens
    assert found["end"] == tokens[: tokens.index(end)] == list(made.generate(PROMPT, max_tokens=20, end=[end]))
    assert found["wrong"] == [
        "text: expected a string, got number",
        *["text: leave ids and logprobs out: pieces of text are no tokens"] * 2,
        "stop: a string of it is empty",
        "stop: a is no token",
    ]


TALK = messages_of([("user", "hello don't"), ("assistant", "fox"), ("user", " 3.14 ")])

CHATTING = (
    OPEN
    + """
  const { talk } = argument;
  found.takes = model.info().messages;
  found.answer = (await all(model.generate({ messages: talk, maxTokens: 20 }))).join('');
  found.position = model.position;
  found.more = (await all(model.generate({ text: '', resume: true, maxTokens: 5 }))).join('');
  found.again = (await all(model.generate({ messages: talk.slice(0, 1), maxTokens: 8, stop: ['\\n'] }))).join('');
  found.wrong = [];
  for (const more of [{ text: 'x' }, { ids: [1] }, { resume: true }, { messages: talk.slice(1) }, { messages: 'x' }])
    found.wrong.push((await failure(() => model.generate({ messages: talk, ...more })))?.message);
  found.name = (await failure(() => model.generate({ messages: talk.slice(1) }))).name;
  await model.dispose();
  return found;
"""
)


def check_chatting(found: Any, made: Any) -> None:
    """Answers to `talk` are those of `made`, the same model in this process."""
    assert found["takes"] is True
    assert found["answer"] == "".join(made.generate(messages=TALK, max_tokens=20))
    assert found["answer"]
    assert found["position"] == made.position
    assert found["more"] == "".join(made.generate(text="", resume=True, max_tokens=5))
    assert found["again"] == "".join(made.generate(messages=TALK[:1], max_tokens=8, stop=["\n"]))
    assert found["name"] == "RangeError"
    assert found["wrong"] == [
        *["messages: leave text, ids and resume out: a template makes the whole conversation"] * 3,
        "messages: the model's chat template refuses them: "
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "messages: expected an array of one message at least, each { role, content } of two strings, got string",
    ]
