"""--quantize, --weights and what goes with them: which models are computed in fewer bits, and how."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..errors import InputError
from ..pictures.formats import FORMATS
from ..quantization.settings import ACTIVATIONS, METHODS, WEIGHT_BITS, QuantizeOptions, Static, parse_weights
from .explained import FILE, TEXT, explained


class Numbers(click.ParamType[tuple[float, ...]]):
    """0.485,0.456,0.406, or one number."""

    name = "numbers"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return tuple(float(n) for n in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not of the form 0.485,0.456,0.406", param, ctx)


def _check_quantize(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value not in (None, "int8"):
        raise click.BadParameter(f"{value!r} is not 'int8'; weights alone may be others: --weights {value}")
    return value


_OPTIONS = (
    click.option(
        "--quantize",
        type=TEXT,
        metavar="int8",
        callback=_check_quantize,
        help="int8: layers compute in eight bits, by ranges that are measured on the data of --calibrate.",
    ),
    click.option(
        "--weights",
        type=TEXT,
        metavar="f16|int8|int4|nf4[:block=N]",
        help="Weights alone in fewer bits, with a scale for each channel, or for N weights (32 where they have four "
        "bits); layers compute in float32.",
    ),
    click.option(
        "--calibrate",
        type=FILE,
        metavar="FOLDER",
        help="Pictures, sounds (.wav, with --sound), .npz files, or .npy files by input (NAME.npy, NAME.1.npy...), on "
        "which ranges and errors are measured.",
    ),
    click.option(
        "--mean",
        type=Numbers(),
        metavar="R,G,B",
        default=FORMATS["imagenet"].mean,
        show_default="ImageNet's: 0.485,0.456,0.406",
        help="Of pictures: an input is (pixel / 255 - mean) / std. Without --picture.",
    ),
    click.option(
        "--std",
        type=Numbers(),
        metavar="R,G,B",
        default=FORMATS["imagenet"].std,
        show_default="ImageNet's: 0.229,0.224,0.225",
        help="Of pictures, as --mean.",
    ),
    click.option(
        "--calibration-method",
        type=click.Choice(METHODS),
        default=METHODS[0],
        show_default=True,
        help="How the range of a value follows from calibration data.",
    ),
    click.option(
        "--activation-type",
        type=click.Choice(ACTIVATIONS),
        default=ACTIVATIONS[0],
        show_default=True,
        help="The type of values between layers.",
    ),
    click.option(
        "--weight-bits",
        type=click.Choice([str(n) for n in WEIGHT_BITS]),
        default=str(WEIGHT_BITS[0]),
        show_default=True,
        help="7: weights are from -63 to 63, so that sums of two products fit 16 bits: x86 processors without VNNI "
        "multiply them faster in browsers, and other tools exactly.",
    ),
    click.option("--per-tensor", is_flag=True, help="One scale for all weights of a layer, in place of one a channel."),
    click.option(
        "--keep",
        type=TEXT,
        metavar="NODE",
        multiple=True,
        help="Leave nodes of this name in float32; * and ? stand for any characters. Repeat for several.",
    ),
    click.option(
        "--equalize", is_flag=True, help="Equalise the weights of channels between layers where that reduces errors."
    ),
    click.option("--correct-bias", is_flag=True, help="Correct biases by mean errors where that reduces errors."),
    click.option(
        "--accuracy-drop",
        type=float,
        metavar="POINTS",
        help="Leave the worst layers in float32 until top-1 on the calibration data is lower by at most so many "
        "percentage points.",
    ),
    click.option(
        "--expected", type=FILE, metavar="FILE.json", help='What these show: {"accepted": {"cat.jpg": [281, 282]}}.'
    ),
    click.option("--save-quantized", type=FILE, metavar="FILE.onnx", help="Write the quantised model as ONNX, too."),
)


_STATIC = (
    "--calibration-method, --activation-type, --weight-bits, --per-tensor, --equalize, --correct-bias, --accuracy-drop "
    "and --expected"
)
_BOTH = "--calibrate, --mean, --std, --keep and --save-quantized"


def quantize_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options to a command, which receives them as `quantize`, QuantizeOptions or None."""

    @functools.wraps(command)
    def wrapped(
        quantize: str | None,
        weights: str | None,
        calibrate: Path | None,
        mean: tuple[float, ...],
        std: tuple[float, ...],
        calibration_method: str,
        activation_type: str,
        weight_bits: str,
        per_tensor: bool,
        keep: tuple[str, ...],
        equalize: bool,
        correct_bias: bool,
        accuracy_drop: float | None,
        expected: Path | None,
        save_quantized: Path | None,
        **others: Any,
    ) -> None:
        static = Static(
            calibration_method,
            activation_type,
            per_channel=not per_tensor,
            weight_bits=int(weight_bits),
            equalize=equalize,
            correct_bias=correct_bias,
            accuracy_drop=accuracy_drop,
        )
        scaling = replace(FORMATS["imagenet"], mean=mean, std=std)
        with explained(debug=bool(others.get("debug"))):
            if quantize is not None and weights is not None:
                raise InputError("--quantize and --weights exclude each other: int8 has weights of eight bits")
            if quantize is None:
                _refuse(_STATIC, "--quantize int8", given=static != Static() or expected is not None)
            if quantize is None and weights is None:
                scaled = scaling != FORMATS["imagenet"]
                _refuse(_BOTH, "--quantize or --weights", given=bool(keep or calibrate or save_quantized or scaled))
            chosen = None
            if quantize is not None or weights is not None:
                how = static if weights is None else parse_weights(weights)
                chosen = QuantizeOptions(
                    how,
                    calibrate,
                    keep,
                    expected,
                    scaling,
                    save=save_quantized,
                )
        command(quantize=chosen, **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _refuse(options: str, needed: str, *, given: bool) -> None:
    if given:
        raise InputError(f"{options} are for {needed}: give that, too")
