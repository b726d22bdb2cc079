"""Puts a fault that was found into a folder: the model, what it is run on, and how to see it again."""

from __future__ import annotations

import shutil
from pathlib import Path

import onnx
from fuzz.case import Case, Outcome
from fuzz.draw_page import draw_page
from fuzz.draw_subject import draw_subject
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from webnn_compile.system.write_npz import write_npz


def again(case: Case) -> str:
    """The command that checks the seed again."""
    return f"make fuzz KIND={case.kind} SEED={case.seed} CASES=1"


def write_finding(folder: Path, original: Case, shrunk: Case, outcome: Outcome) -> Path:
    """Writes below `folder`; returns the folder of this finding, which has a README."""
    made = folder / f"{original.kind}-{original.seed}"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    lines = [f"fault: {outcome.fault}", f"seed: {original.seed}", f"again: {again(original)}"]
    if original.kind == "page":
        lines.append(f"smallest case: {draw_page(shrunk)}")
    else:
        subject = draw_subject(shrunk)
        (made / "model.onnx").write_bytes(subject.model)
        with (made / "feeds.npz").open("wb") as file:
            write_npz(file, {n or "unnamed": a for n, a in subject.feeds.items()})
        lines += [
            f"target: {subject.target}",
            f"mutations: {', '.join(subject.edits) or 'none'}",
            "",
            _text(subject.model),
        ]
    lines += ["", outcome.details]
    (made / "README.txt").write_text("\n".join(lines) + "\n", errors="backslashreplace")
    return made


def list_operators(case: Case) -> str:
    """The operators of the case's model, empty where it has none."""
    if case.kind == "page":
        return ""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(draw_subject(case).model)
    except DecodeError:
        return ""
    return ", ".join(sorted({str(n.op_type) for n in model.graph.node}))


def _text(data: bytes) -> str:
    """The model as text, without long data."""
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return f"{len(data)} bytes that are no message of protobuf"
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > 64:
            tensor.raw_data = tensor.raw_data[:64] + b"..."
    # ONNX has a printer that is easier to read: one that damaged models can crash.
    return text_format.MessageToString(model)[:8000]
