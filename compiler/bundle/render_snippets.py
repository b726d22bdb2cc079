"""Code that uses a bundle, to be copied, with the names of its model."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from ..ir.sizes import capacity, shown
from ..program.program import TensorSpec
from ..text.escape import js_literal, line_comment
from .artifact import Artifact, BundledAnswer
from .render_types import ARRAYS

EFFECT = """\
useEffect(() => {
  const abort = new AbortController();
  const loading = load({ signal: abort.signal });
  loading.then(setModel, (error) => abort.signal.aborted || setError(error));
  return () => {
    abort.abort();
    loading.then((model) => model.dispose(), () => {});
  };
}, []);
"""
"""The model in React, loaded in an effect: the page may be rendered on a server, and components come and go."""


_ANSWERS = {
    "classify": "[{ label, score, index }, ...], the likeliest first",
    "detect": "[{ label, score, index, box: { x, y, width, height } }, ...]",
    "mask": "{ width, height, classes, toImageData() }, a class for each pixel",
    "keypoints": "[{ label, score, index, x, y }, ...]",
    "embedding": "Float32Array, a vector",
    "text": "a string",
    "labels": "[label, ...]",
    "scores": "[{ LABEL: score, ... }, ...], for each row",
}
"""Results in words, by the kind of an answer: `Answers` of model.d.ts has the types."""


def render_run(artifact: Artifact, model: str = "model", outputs: str = "outputs") -> str:
    """A run of `model`, and its results in `outputs`; of one that gives tokens these."""
    if artifact.generation is not None:
        prompt, shown = (
            ("ids: [1, 2, 3]", "token") if artifact.text is None else ("text: 'A sentence'", "piece of text")
        )
        return (
            f"for await (const token of {model}.generate({{ {prompt}, maxTokens: 50 }})) {{\n"
            f"  console.log(token); // {line_comment(f'a {shown} as soon as it is there')}\n}}\n"
        )
    given = [_input(artifact, spec) for spec in artifact.inputs if spec.name not in artifact.text_inputs]
    if artifact.text is not None:
        given = [f"{artifact.text.name}: 'A sentence.',", *given]
    inputs = "".join(f"  {line}\n" for line in given)
    results = "".join(f"{outputs}{_output(item)}\n" for item in artifact.results)
    return f"const {outputs} = await {model}.run({{\n{inputs}}});\n{results}"


def render_page(artifact: Artifact, module: str) -> str:
    """A script of a page, for a bundle that is imported as `module`."""
    code = f"{_load(module)}\nconst model = await load(); // downloads the weights\n{render_run(artifact)}"
    return f'<script type="module">\n{indent(code, "  ")}</script>\n'


def _load(module: str) -> str:
    return f"import {{ load }} from {module!r};\n"


def render_snippets(artifact: Artifact, module: str) -> dict[str, str]:
    """By place of use, for a bundle that is imported as `module`."""
    run, load = render_run(artifact), _load(module)
    effect = indent(EFFECT, "  ")
    returned = "" if artifact.generation is not None else "return outputs;\n"
    inside = indent(f"const model = await loading;\n{run}{returned}", "  ")
    return {
        "Plain page": render_page(artifact, module),
        "vite and other bundlers": f"{load}\nconst loading = load();\n\nexport async function run() {{\n{inside}}}\n",
        "React": (
            f"import {{ useEffect, useState }} from 'react';\n{load}\nexport function useModel() {{\n"
            f"  const [model, setModel] = useState();\n  const [error, setError] = useState();\n{effect}"
            f"  return {{ model, error }};\n}}\n\n// where the model is there:\n{run}"
        ),
    }


def render_functions_snippets(artifacts: Sequence[Artifact], module: str) -> dict[str, str]:
    """Code for a bundle of several models, which is imported as `module`: all are loaded, or each by itself."""
    runs = "".join(render_run(a, f"models.{a.name}", f"of_{a.name}") for a in artifacts)
    page = f"{_load(module)}\nconst models = await load(); // downloads the weights of all\n{runs}"
    first = artifacts[0].name
    alone = f"import {{ {first} }} from {module!r};\n\nconst model = await {first}.load();\n"
    return {
        "Plain page": f'<script type="module">\n{indent(page, "  ")}</script>\n',
        "One of the models": alone,
    }


def render_script_snippet(artifact: Artifact, name: str) -> dict[str, str]:
    """Code for a classic script that defines the global `name`."""
    run = indent(render_run(artifact), "    ")
    script = f"  {name}.load().then(async (model) => {{\n{run}  }});\n"
    return {"Plain page": f'<script src="./bundle/model.js"></script>\n<script>\n{script}</script>\n'}


def _input(artifact: Artifact, spec: TensorSpec) -> str:
    key = spec.name if spec.name.isidentifier() and spec.name.isascii() else js_literal(spec.name)
    if spec.name in artifact.pictures:
        return f"{key}: document.querySelector('img'), // or a canvas, a video, a Blob, ..."
    if (rate := artifact.sounds.get(spec.name)) is not None:
        return f"{key}: new Float32Array({rate}), // a second of samples, or a Blob, an AudioBuffer, ..."
    extents = [capacity(n) for n in spec.shape]
    length = 1
    for n in extents:
        length *= n
    array = f"new {ARRAYS[spec.dtype]}({length})"
    value = f"{{ data: {array}, shape: {extents} }}" if spec.is_dynamic else array
    return f"{key}: {value}, // {line_comment(_described(str(spec.dtype), spec))}"


def _output(item: TensorSpec | BundledAnswer) -> str:
    about = (
        f"{_ANSWERS[item.kind]}{', each in a list of the batch' if item.many else ''}"
        if isinstance(item, BundledAnswer)
        else _described(ARRAYS[item.dtype], item)
    )
    return f"{_member(item.name)}; // {line_comment(about)}"


def _member(name: str) -> str:
    return f".{name}" if name.isidentifier() and name.isascii() else f"[{js_literal(name)}]"


def _described(kind: str, spec: TensorSpec) -> str:
    return f"{kind}, shape {shown(spec.shape)}"
