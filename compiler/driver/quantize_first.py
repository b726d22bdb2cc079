"""Quantises the model of a build before anything else sees it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Union

from ..system.put_files import OutputFile
from .report_data import Report
from .work import Work

if TYPE_CHECKING:
    import onnx

Source = Union[Path, "onnx.ModelProto"]
"""Model that a build compiles: a file, or one that was quantised."""


def quantize_first(model: Path, work: Work, report: Report) -> tuple[Source, Work]:
    """The model that is compiled in place of `model`, and what its build has to do: nothing more to quantise, and no
    input to fix that is fixed by now. `report` lists what is to be saved of it, which is written with the build."""
    options = work.options
    if options.quantize is None:
        return model, work
    from ..quantization.quantize_model import inputs_left, quantize_model

    settings, save = options.quantize, options.quantize.save
    if len(options.pictures) == 1:
        settings = replace(settings, picture=next(iter(options.pictures.values())))
    if len(options.sounds) == 1:
        settings = replace(settings, sound=next(iter(options.sounds.values())))
    with work.timed("quantise"):
        quantized, report.quantization = quantize_model(
            model, options.inputs, settings, work.cache, options.compile_memory
        )
    if save is not None:
        report.saved.append(OutputFile("--save-quantized", save, quantized.SerializeToString()))
    return quantized, replace(
        work, options=replace(options, inputs=inputs_left(quantized, options.inputs), quantize=None)
    )
