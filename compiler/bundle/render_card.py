"""The model card on the bundle's own page: facts that model.js has no need of, and code to copy."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..text.escape import html_text
from ..text.size import size, sizes_by_type
from .artifact import Artifact, DeviceArtifact
from .files import BundleFile, Kind
from .packaging import Packaging
from .render_package import package_name
from .render_snippets import render_script_snippet, render_snippets

_KINDS: tuple[tuple[Kind, str], ...] = (
    ("weights", "weights"),
    ("wasm", "WebAssembly"),
    ("program", "programs of GPUs and names of kernels"),
    ("tokenizer", "tokenizers"),
    ("check", "fetched by model.check, or where a GPU computes wrongly"),
)
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def render_card(
    page: str, artifact: Artifact, packaging: Packaging, files: Sequence[BundleFile], golden: BundleFile | None = None
) -> str:
    """The page with its places filled; `files` are those of the model, `golden` what it checks results by."""
    return fill_page(
        page,
        name=artifact.name,
        backends=" ".join(part.backend for part in artifact.backends),
        golden="" if golden is None else f"./{golden.name}",
        facts=facts_of(artifact, packaging, files),
        snippets=_snippets(artifact, packaging),
    )


def fill_page(
    page: str,
    *,
    name: str,
    backends: str,
    golden: str,
    facts: Iterable[tuple[str, str]],
    snippets: Mapping[str, str],
    functions: str = "",
) -> str:
    """The page with its places filled; `functions` is HTML."""
    places = {
        "name": html_text(name),
        "backends": backends,
        "golden": golden,
        "functions": functions,
        "facts": "\n".join(_row(*fact) for fact in facts),
        "snippets": "\n".join(_snippet(*s) for s in snippets.items()),
    }
    return _PLACE.sub(lambda place: places[place[1]], page)


def facts_of(artifact: Artifact, packaging: Packaging, files: Sequence[BundleFile]) -> Iterator[tuple[str, str]]:
    """Facts by name; `files` are those of the model."""
    yield from packaging.facts
    if packaging.licence:
        yield "Licence", packaging.licence
    types = sizes_by_type(artifact.weight_types, artifact.lossless)
    whole = size(len(artifact.weights))
    yield "Weights", f"{whole} ({types})" if len(artifact.weight_types) > 1 else types or whole
    if artifact.states:
        yield "Keeps between runs", _states(artifact)
    if (g := artifact.generation) is not None:
        yield "Gives tokens", f"of {g.vocabulary}, at most {g.longest} in a run, by model.generate"
    sizes = Counter[str]()
    for file in files:
        sizes[file.kind] += len(file.data)
    yield "Files", ", ".join(f"{what} {size(sizes[kind])}" for kind, what in _KINDS if sizes[kind])


def _states(artifact: Artifact) -> str:
    kept = [d for d in artifact.dimensions if d.after is not None and d.dropped_of is None]
    lengths = [
        f"{d.name} {d.least} to {d.most} before a run{', of which the newest stay' if d.window else ''}" for d in kept
    ]
    held = f"{size(sum(spec.bytes for spec in artifact.states))} for each session"
    programs = [part.program for part in artifact.backends if isinstance(part, DeviceArtifact)]
    halved = [f"{size(p.state_bytes)} on {p.backend}" for p in programs if p.halves_states]
    return ", ".join([f"{len(artifact.states)} states", held, *halved, *lengths])


def _snippets(artifact: Artifact, packaging: Packaging) -> Mapping[str, str]:
    if packaging.format == "iife":
        return render_script_snippet(artifact, packaging.global_of(artifact.name))
    if packaging.format == "npm":
        snippets = render_snippets(artifact, package_name(artifact.name))
        del snippets["Plain page"]  # has no packages
        return snippets
    return render_snippets(artifact, "./bundle/model.js")


def _row(head: str, text: str) -> str:
    return f'<tr><th scope="row">{html_text(head)}</th><td>{html_text(text)}</td></tr>'


def _snippet(head: str, code: str) -> str:
    lines = "\n".join(map(html_text, code.splitlines()))
    return f"<h3>{html_text(head)}</h3>\n<pre><code>{lines}</code></pre>"
