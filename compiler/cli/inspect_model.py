"""`webnn-compile MODEL --inspect`: what is in the file of a model, before anything is compiled."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.table import Table

from ..driver.left_to_host import OnHost, left_to_host
from ..driver.report_data import describe_usual
from ..errors import InputError, UnsupportedError
from ..frontends.describe_quantisation import describe_quantisation
from ..frontends.fetch_model import located
from ..frontends.importers import describe_model, find_importer
from ..frontends.model_card import ModelCard, Port
from ..frontends.model_inputs import ModelInputs
from ..frontends.onnx.suggest_sizes import shape_option
from ..system.watch_limits import within
from ..text.size import size
from .limit_options import Limits
from .report import shown_names
from .target_table import WIDTH
from .terminal import is_terminal, say, show_table

LOOK = 10.0
"""Seconds for what GPUs leave to WebAssembly, where `--max-seconds` does not say how many everything may take."""


def inspect_models(files: Iterable[str | Path], inputs: ModelInputs, limits: Limits) -> None:
    """Prints the card of each model, of which `inputs` have the signature and the user's operators. Raises InputError
    for what is no model, and for what takes more than the limits."""
    with limits.watched(lambda: "inspect"):
        for file in files:
            _inspect_model(located(file, lambda line: say(line, err=True)), inputs, limits)


def _inspect_model(path: Path, inputs: ModelInputs, limits: Limits) -> None:
    card = describe_model(path, inputs)
    files = [f for f in path.rglob("*") if f.is_file()] if path.is_dir() else [path]
    say(f"{card.name}: {find_importer(path).name}, {size(sum(f.stat().st_size for f in files))}")
    width = None if is_terminal() else WIDTH
    facts = Table(box=None, show_header=False, pad_edge=False)
    parts, left = _left_to_host(path, inputs, card, limits)
    show_table(facts, [*_facts(card), *_quantised(path, inputs), *left], width=width)
    operators = Table(box=None, pad_edge=False, header_style="bold")
    operators.add_column("operator", no_wrap=True)
    operators.add_column("nodes", justify="right")
    operators.add_column("targets")
    on_host = {op for part in parts for op in part.origin.ops}
    own = dict.fromkeys(on_host, "all; on GPUs partly in WebAssembly")
    own |= {o.name: f"all, by {Path(o.file).name}" for o in inputs.operators}
    rows = (
        (name, count, "not supported" if name in card.unsupported else own.get(name, "all"))
        for name, count in card.operators.items()
    )
    say("")
    show_table(operators, rows, width=width)


def _facts(card: ModelCard) -> Iterator[tuple[str, str]]:
    for name, value in card.facts():
        if name != "Operators":
            yield name, value
    if card.licence:
        yield "Licence", card.licence
    if card.weights:
        yield "Weights", ", ".join(f"{size(n)} of {dtype}" for dtype, n in card.weights.items())
    if len(card.signatures) > 1:
        taken, *others = card.signatures
        yield "Signatures", f"{taken}, which is taken, {', '.join(others)}: --signature NAME takes another"
    for what, ports in (("Input", card.inputs), ("Output", card.outputs)):
        for port in ports:
            yield what, f"{port.name}: {port.dtype}{'' if port.shape is None else _shape(port)}"
    befores, afters = ([names[i] for names in card.states] for i in (0, 1))
    states = describe_usual([p.name for p in card.inputs] + befores, [p.name for p in card.outputs] + afters)
    if states:
        yield "States", f"{states}: kept between runs; --state none leaves them inputs and outputs"
    free = "; ".join(filter(None, (_named(card.inputs), _unnamed(card.inputs))))
    if free:
        yield "Free sizes", free


def _named(inputs: Sequence[Port]) -> str:
    """The options for sizes that have names."""
    names = dict.fromkeys(str(d) for port in inputs for d in port.shape or () if not isinstance(d, int) and d)
    if not names:
        return ""
    fixed = " ".join(f"--dim {shlex.quote(f'{name}=1')}" for name in names)
    left = f"--dim {shlex.quote(f'{next(iter(names))}=1..8')}"
    fix, one = ("fixes it", "it") if len(names) == 1 else ("fix them", "one")
    return f"{', '.join(names)}: {fixed} {fix}, {left} leaves {one} to each run"


def _unnamed(inputs: Sequence[Port]) -> str:
    """The options for sizes without names."""
    shapes = " ".join(shape_option(p.name, p.shape) for p in inputs if p.shape and None in p.shape)
    return shapes and f"those without a name: {shapes}, with a number, or a name for --dim, in place of each ?"


def _quantised(path: Path, inputs: ModelInputs) -> Iterator[tuple[str, str]]:
    line = describe_quantisation(path, inputs)
    if line:
        yield "Quantised", line


def _left_to_host(
    path: Path, inputs: ModelInputs, card: ModelCard, limits: Limits
) -> tuple[list[OnHost], list[tuple[str, str]]]:
    """Parts of the model that GPUs leave to the host, and facts about them, or about what keeps the model from being
    compiled. Operators that are not supported stand in the table."""
    if card.unsupported:
        return [], []
    parts: list[OnHost] = []
    refused: InputError | UnsupportedError | None = None
    try:
        with within(LOOK if limits.max_seconds is None else None, None, lambda: "inspect"):
            try:
                parts = left_to_host(path, inputs, limits.compile_memory)
            except (InputError, UnsupportedError) as error:
                refused = error
    except InputError:
        return [], [
            ("On GPUs", f"what they leave to WebAssembly was not determined in {LOOK:g} s: --max-seconds allows more")
        ]
    if refused is not None:
        if any(not isinstance(d, int) for port in card.inputs for d in port.shape or ()):
            return [], [("On GPUs", "what they leave to WebAssembly depends on sizes: give them beside --inspect")]
        first, *others = str(refused).split("\n")
        return [], [("Refused", first), *(("", line) for line in others)]
    facts = []
    for part in parts:
        where = f"{shown_names(part.origin.nodes)} ({shown_names(part.origin.ops)})"
        facts.append(("On GPUs", f"in WebAssembly for {', '.join(part.targets)}: {where}: {part.reason}"))
    return parts, facts


def _shape(port: Port) -> str:
    return f"[{', '.join('?' if d is None else str(d) for d in port.shape or ())}]"
