"""Models that take sounds: nodes before the model make an input of a sound's samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..dtypes import F16, F32, I64, ONNX_NUMBERS
from ..errors import InputError
from ..graph.ir import Array, Attribute, Graph, Node, Value
from ..graph.names import Names, value_names
from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size, shown, size
from ..ops.call import OWN_DOMAIN
from ..program.dimensions import Dimension
from .formats import LOGS, MOST, WINDOWS, SoundFormat
from .mel_bands import mel_bands

OPSET = 13
"""Version of ai.onnx's operators behind a sound's."""


@dataclass(frozen=True, slots=True)
class SoundInput:
    """An input that sounds of a format fill. `samples` are those that a run takes, at least, at most, and of which it
    takes a multiple; `frames` are those of a spectrum, else 0, and stand one behind the other unless `bands_first`."""

    value: Value
    format: SoundFormat
    samples: Dimension
    frames: int = 0
    bands_first: bool = False

    @property
    def varies(self) -> bool:
        """Whether the input is as long as the sound."""
        return any(isinstance(n, Expr) for n in self.value.shape)

    @property
    def length(self) -> int:
        """Samples that the longest sound has."""
        return self.samples.most

    def describe(self) -> str:
        """Which sounds fill the input, and what becomes of others."""
        seconds = f"{self.length / self.format.rate:.3g} seconds"
        return f"a sound of any length, cut after {seconds}" + (
            "" if self.varies else ", with silence behind a shorter one"
        )

    @property
    def window(self) -> Array:
        """Factors of the samples of a frame, float64."""
        return WINDOWS[self.format.window](self.format.frame) * self.format.scale


def fit_sound(
    value: Value, form: SoundFormat, dimensions: Sequence[Dimension] = (), names: Names | None = None
) -> SoundInput:
    """The input that sounds of a format fill, of a model with these dimensions; one of its samples has a name of
    `names`. Raises InputError for an input of another shape or type."""
    names = Names(d.name for d in dimensions) if names is None else names
    what = f"--sound {value.name}: the input is {value.dtype}{shown(value.shape)}, and a sound"
    if value.dtype not in (F32, F16):
        raise InputError(f"{what} fills one of float32 or float16")
    axes = [d for d, n in enumerate(value.shape) if n != 1]
    if form.features == "waveform":
        target = _fit_waveform(value, form, axes, what, names, dimensions)
    else:
        target = _fit_spectrum(value, form, axes, what, names)
    if target.length > MOST:
        raise InputError(f"{what} of {target.length} samples is too long: at most {MOST} fill an input")
    return target


def _fit_waveform(
    value: Value, form: SoundFormat, axes: list[int], what: str, names: Names, dimensions: Sequence[Dimension]
) -> SoundInput:
    if len(axes) != 1:
        hint = ": fix the others by --shape or --dim" if any(isinstance(n, Expr) for n in value.shape) else ""
        raise InputError(f"{what} in the format fills one of a single dimension besides those of 1, its samples{hint}")
    n = value.shape[axes[0]]
    if isinstance(n, int):
        _check_seconds(form, n, what)
        return SoundInput(value, form, _samples(names, value, n))
    own = next((d for d in dimensions if d.value_of is None and size(n) == size(d.scalar * d.multiple)), None)
    if own is None or own.most < 1:
        raise InputError(f"{what} fills a dimension of one size: fix it by --shape or --dim")
    if own.least < 1:
        raise InputError(f"{what} has at least one sample: give its least size by --dim {own.name}=1..{own.most}")
    return SoundInput(value, form, own)


def _fit_spectrum(value: Value, form: SoundFormat, axes: list[int], what: str, names: Names) -> SoundInput:
    shape, bands = value.shape, form.bands
    of = f"{what} of this format has {bands} {'mels' if form.features == 'mel' else 'frequencies'} in each frame"
    free = [n for n in shape if isinstance(n, Expr)]
    if free:
        raise InputError(f"{of}: fix the input's shape by --shape or --dim, here {shown(free)}")
    extents = [n for n in shape if isinstance(n, int) and n != 1]
    layout = _layout(extents, bands, form)
    if layout is None or len(axes) > 2:
        hint = f', or [{bands} * frames] where "layout" says their order' if len(extents) == 1 else ""
        raise InputError(
            f"{of}: it fills an input of [frames, {bands}] or [{bands}, frames], with any dimensions of 1 besides{hint}"
        )
    if layout == "":
        raise InputError(f'{of}, and the shape leaves their order open: give "layout" as time-mel or mel-time')
    count = int(np.prod(extents)) // bands
    begin = (count - 1 + form.drop_last) * form.hop + form.frame - 2 * form.before
    length = max(begin, 1) if form.seconds is None else round(form.seconds * form.rate)
    if form.seconds is not None:
        have = (length + 2 * form.before - form.frame) // form.hop + 1 - form.drop_last
        if have != count:
            raise InputError(
                f"{of}: {form.seconds:g} seconds have {have} frames, the input {count}; leave seconds out of the format"
            )
    last = (count - 1) * form.hop + form.frame - 1 - form.before
    if form.pad == "reflect" and (form.before >= length or last > 2 * (length - 1)):
        raise InputError(f"{of}: {count} frames are too few to be mirrored; give another pad than reflect")
    return SoundInput(value, form, _samples(names, value, length), count, layout == "mel-time")


def _layout(extents: list[int], bands: int, form: SoundFormat) -> str | None:
    """The order of frames and bands in an input; "" where its shape leaves it open, None where it does not fit."""
    if len(extents) == 2 and bands in extents:
        orders = [o for o, n in (("mel-time", extents[0]), ("time-mel", extents[1])) if n == bands]
    elif len(extents) == 1 and extents[0] % bands == 0:
        orders = ["time-mel"] if extents[0] == bands else ["time-mel", "mel-time"]
    elif not extents and bands == 1:
        orders = ["time-mel"]
    else:
        return None
    if form.layout is not None and (form.layout in orders or len(orders) > 1):
        return form.layout
    return orders[0] if len(orders) == 1 and form.layout is None else "" if form.layout is None else None


def _check_seconds(form: SoundFormat, samples: int, what: str) -> None:
    if form.seconds is not None and round(form.seconds * form.rate) != samples:
        raise InputError(
            f"{what} of {form.seconds:g} seconds at {form.rate} Hz does not fit it: leave seconds out of the format"
        )


def _samples(names: Names, value: Value, most: int) -> Dimension:
    """The dimension of a sound's samples, as many as each run has."""
    scalar = Scalar(names.fresh(f"{value.name}_samples"), most + 1, low=1)
    return Dimension(scalar.name, scalar)


def sound_inputs(graph: Graph, formats: Mapping[str, SoundFormat]) -> tuple[SoundInput, ...]:
    """The inputs that sounds fill. Raises InputError for names of no inputs, and for formats that do not fit."""
    unknown = [name for name in formats if name not in {v.name for v in graph.inputs}]
    if unknown:
        names = ", ".join(v.name for v in graph.inputs)
        raise InputError(f"--sound {unknown[0]}: the model has no such input; it has {names}")
    sizes = Names(d.name for d in graph.dimensions)
    return tuple(fit_sound(v, formats[v.name], graph.dimensions, sizes) for v in graph.inputs if v.name in formats)


def take_sounds(graph: Graph, inputs: Sequence[SoundInput]) -> Graph:
    """The model with sounds in place of inputs: float32 samples, as many as each run has, up to those of the
    longest."""
    for target in inputs:
        graph = _take_sound(graph, target)
    return graph


def _take_sound(graph: Graph, target: SoundInput) -> Graph:
    value, names = target.value, value_names(graph)
    multiple = target.samples.multiple
    count: Size = target.samples.scalar if multiple == 1 else target.samples.scalar * multiple
    samples = Value(value.name, (count,), F32)
    if target.frames:
        shape: tuple[Size, ...] = (target.frames, target.format.bands)
        op, attributes = "Spectrogram", _spectrum_attributes(target)
    else:
        shape = (count if target.varies else target.length,)
        op, attributes = "Waveform", _waveform_attributes(target)
    made = Value(names.fresh(f"{value.name}.elements"), shape[::-1] if target.bands_first else shape, F32)
    nodes = [Node(op, names.fresh(f"{value.name}.sound"), (samples,), (made,), attributes, 1, OWN_DOMAIN)]
    constants: dict[Value, Array] = {}
    if made.shape != value.shape:
        extents = np.array([-1 if isinstance(n, Expr) else n for n in value.shape], np.int64)
        to = Value(names.fresh(f"{value.name}.shape"), extents.shape, I64, tuple(map(int, extents)))
        constants[to] = extents
        shaped = Value(names.fresh(f"{value.name}.shaped"), value.shape, F32)
        nodes.append(Node("Reshape", names.fresh(f"{value.name}.reshape"), (made, to), (shaped,), {}, OPSET))
        made = shaped
    if value.dtype != F32:
        cast = Value(names.fresh(f"{value.name}.cast"), value.shape, value.dtype)
        nodes.append(Node("Cast", cast.name, (made,), (cast,), {"to": ONNX_NUMBERS[value.dtype]}, OPSET))
        made = cast
    changed = graph.with_values({value: made})
    new = () if target.samples in graph.dimensions else (target.samples,)
    return replace(
        changed,
        inputs=tuple(samples if v is value else v for v in graph.inputs),
        nodes=(*nodes, *changed.nodes),
        constants={**changed.constants, **constants},
        dimensions=(*graph.dimensions, *new),
    )


def _waveform_attributes(target: SoundInput) -> dict[str, Attribute]:
    return {
        "length": 0 if target.varies else target.length,
        "scale": float(target.format.scale),
        "normalised": int(target.format.normalise),
    }


def _spectrum_attributes(target: SoundInput) -> dict[str, Attribute]:
    form = target.format
    attributes: dict[str, Attribute] = {
        "frames": target.frames,
        "bands_first": int(target.bands_first),
        "window": tuple(target.window.tolist()),
        "transform": form.transform,
        "hop": form.hop,
        "before": form.before,
        "length": target.length,
        "reflected": int(form.pad == "reflect"),
        "centred": int(form.remove_mean),
        "preemphasis": float(form.preemphasis),
        "power": form.power,
        "offset": float(form.offset),
        "floor": float(form.floor),
        "factor": LOGS[form.log] * (2 / form.power if form.log == "dB" else 1),
        "span": float(form.span),
        "mean": float(form.mean),
        "std": float(form.std),
        "silent": int(form.silent_frames),
    }
    if form.features == "mel":
        bands = mel_bands(form)
        attributes |= {
            "bands": form.mels,
            "first": tuple(bands.first.tolist()),
            "rising": tuple(bands.rising.tolist()),
            "falling": tuple(bands.falling.tolist()),
        }
    return attributes
