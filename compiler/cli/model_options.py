"""Options that decide which kernels a model has: what fills its inputs, what runs return in place of its outputs, and
how it is computed. Commands that compile and those that tune have the same."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from ..driver.options import ACTIVATIONS, GPU_TILES, Options
from ..frontends.model_inputs import ModelInputs
from ..generation.decoder import parse_generate
from ..quantization.settings import QuantizeOptions
from .content_options import Content, content_options
from .explained import explained
from .input_options import input_options
from .quantize_options import quantize_options

_OPTIONS = (
    click.option(
        "--generate",
        is_flag=False,
        flag_value="",
        metavar="[ids=INPUT,logits=OUTPUT,top=N]",
        help="A decoder gives tokens in place of logits: the next one is chosen on the device, by the options of each "
        "model.generate(...). INPUT and OUTPUT are found by their usual names; of N tokens that are the likeliest runs "
        "give the probabilities, too. It has to keep its caches between runs (--state).",
    ),
    click.option(
        "--fast-math",
        type=click.Choice(["on", "off"]),
        default="on",
        show_default=True,
        help="off: no convolution by Winograd's algorithm, which is faster and rounds otherwise.",
    ),
    click.option(
        "--activations",
        type=click.Choice(ACTIVATIONS),
        default="model",
        show_default=True,
        help="Products by weights that have scales of blocks (MatMulNBits, --weights int4): int8 quantises the other "
        "operand, too, which is several times as fast; f32 does not; model: MatMulNBits whose accuracy_level is 4.",
    ),
    click.option(
        "--gpu-tiles",
        type=click.Choice(GPU_TILES),
        default="registers",
        show_default=True,
        help="shared: webgpu stages large products in workgroup memory, which may suit the GPU of your users better.",
    ),
)


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options, and those of inputs, contents and fewer bits, to a command, which receives them as `computed`,
    Options with defaults besides."""

    @functools.wraps(command)
    def wrapped(
        inputs: ModelInputs,
        content: Content,
        generate: str | None,
        fast_math: str,
        activations: str,
        gpu_tiles: str,
        quantize: QuantizeOptions | None,
        **others: Any,
    ) -> None:
        with explained(debug=bool(others.get("debug"))):
            decoder = None if generate is None else parse_generate(generate)
        computed = Options(
            inputs,
            content.pictures,
            content.sounds,
            content.answers,
            content.labels,
            content.text,
            generate=decoder,
            tokenizers=content.tokenizers,
            fast_math=fast_math == "on",
            activations=activations,
            gpu_tiles=gpu_tiles,
            quantize=quantize,
        )
        command(computed=computed, **others)

    with_options = quantize_options(wrapped)
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return input_options(content_options(with_options))
