"""Calibration data: pictures, sounds and arrays in a folder."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..dtypes import U8
from ..errors import InputError
from ..graph.ir import Array, Value
from ..ir.sizes import Size, capacity, shown
from ..pictures.formats import FORMATS, PictureFormat
from ..pictures.prepare import open_picture, prepare
from ..pictures.take_pictures import PictureInput, fit_picture
from ..sounds.formats import SoundFormat
from ..sounds.prepare import open_sound
from ..sounds.prepare import prepare as prepare_sound
from ..sounds.take_sounds import fit_sound

PICTURES = (".bmp", ".jpeg", ".jpg", ".png", ".webp")
SOUNDS = (".wav",)
ARRAYS = (".npy", ".npz")


@dataclass(frozen=True, slots=True)
class Sample:
    """Arrays by input, for one run. `files` are those of its rows; of rows behind these the results do not count."""

    files: tuple[str, ...]
    inputs: Mapping[str, Array]


def read_samples(
    folder: Path,
    inputs: Sequence[Value],
    form: PictureFormat = FORMATS["imagenet"],
    sound: SoundFormat | None = None,
) -> list[Sample]:
    """The pictures and sounds (for a model with one input), .npz files (arrays by input) and .npy files of a folder.

    NAME.npy is an array of the input NAME, NAME.SAMPLE.npy one of several; where the model has one input any name will
    do. Arrays may hold several samples, one behind the other along the first axis.

    Raises InputError where there are none, and for a file that cannot be read or fits no input.
    """
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "does not exist"
        raise InputError(f"--calibrate {folder}: it {what}; give a folder of pictures, .wav, .npy or .npz files")

    def files(suffixes: Sequence[str]) -> list[Path]:
        return sorted(f for f in folder.iterdir() if f.suffix.lower() in suffixes and f.is_file())

    pictures, sounds = files(PICTURES), files(SOUNDS)
    samples = list(_pictures(pictures, inputs, form)) if pictures else []
    samples += _sounds(sounds, inputs, sound) if sounds else []
    for name, arrays in _arrays(files(ARRAYS), inputs):
        samples += _split(name, arrays, inputs)
    if not samples:
        raise InputError(
            f"--calibrate {folder}: it holds no calibration data; put pictures ({', '.join(PICTURES)}), sounds "
            f"({', '.join(SOUNDS)}) or arrays ({', '.join(ARRAYS)}) there"
        )
    return samples


def make_samples(runs: Sequence[Mapping[str, Array]], inputs: Sequence[Value]) -> list[Sample]:
    """Samples of arrays by input. Raises InputError for what fits no input, and where there are none."""
    samples = []
    for i, arrays in enumerate(runs):
        if missing := [v.name for v in inputs if v.name not in arrays]:
            raise InputError(
                f"calibration sample {i} has no array for input {missing[0]!r}; it has {', '.join(arrays)}"
            )
        samples += _split(f"calibration sample {i}", {n: np.asarray(a) for n, a in arrays.items()}, inputs)
    if not samples:
        raise InputError("there are no calibration samples; give a folder, or arrays by input for each run")
    return samples


def _pictures(files: Sequence[Path], inputs: Sequence[Value], form: PictureFormat) -> Iterator[Sample]:
    value = inputs[0]
    channels = next((axis for axis in (1, 3) if len(value.shape) == 4 and value.shape[axis] in (1, 3)), None)
    spatial = [n for axis, n in enumerate(value.shape) if axis not in (0, channels)]
    sides = [n for n in spatial if isinstance(n, int)]
    if len(inputs) != 1 or channels is None or len(sides) < 2:
        names = ", ".join(f"{v.name!r}: {v.dtype}{shown(v.shape)}" for v in inputs)
        raise InputError(
            f"{files[0].name} is a picture, which fits one input of shape [1, 3, height, width] or [1, height, width, "
            f"3] (or 1 channel), and this model has {names}; fix its shape by --shape, or give .npy files"
        )
    target, batch = _of_input(value, channels, form), _batch(value)
    for start in range(0, len(files), batch):
        group = files[start : start + batch]
        rows = [prepare(open_picture(f), target) for f in group]
        rows += rows[-1:] * (batch - len(rows))
        yield Sample(tuple(f.name for f in group), {value.name: np.concatenate(rows)})


def _sounds(files: Sequence[Path], inputs: Sequence[Value], form: SoundFormat | None) -> Iterator[Sample]:
    if len(inputs) != 1 or form is None:
        names = ", ".join(f"{v.name!r}: {v.dtype}{shown(v.shape)}" for v in inputs)
        what = (
            "say how it fills the input by --sound INPUT=FORMAT (in Python sound=)"
            if len(inputs) == 1
            else "give .npy files"
        )
        raise InputError(f"{files[0].name} is a sound, which fits one input, and this model has {names}; {what}")
    (value,) = inputs
    shape = (1, *value.shape[1:]) if value.shape and not isinstance(value.shape[0], int) else value.shape
    target = fit_sound(Value(value.name, shape, value.dtype), form)
    for file in files:
        yield Sample((file.name,), {value.name: prepare_sound(open_sound(file), target)})


def _batch(value: Value) -> int:
    """Samples of a run: as many as the input's first extent, and as few as possible where a run decides."""
    extent = value.shape[0] if value.shape else 1
    return extent if isinstance(extent, int) else 1


def _of_input(value: Value, channels: int, form: PictureFormat) -> PictureInput:
    """One picture of the input, in the format as far as it fits. Raises InputError."""
    if value.shape[channels] == 1:
        if len(form.mean) > 1 or len(form.std) > 1:
            raise InputError(f"input {value.name!r} has one channel: give one number for --mean and for --std")
        form = replace(form, colours="grey")
    if value.dtype == U8:
        form = replace(form, scale=1.0, mean=(0.0,), std=(1.0,))
    return fit_picture(Value(value.name, (1, *value.shape[1:]), value.dtype), form)


def _arrays(files: Iterable[Path], inputs: Sequence[Value]) -> Iterator[tuple[str, dict[str, Array]]]:
    """Arrays by input, and the name of their file, or of what they have in common."""
    names = [v.name for v in inputs]
    parts: dict[str, dict[str, Array]] = {}
    for file in files:
        loaded = _load(file)
        if not isinstance(loaded, np.ndarray):
            if missing := [n for n in names if n not in loaded]:
                raise InputError(
                    f"{file} holds no array named {missing[0]!r}, an input of the model, but "
                    f"{', '.join(loaded) or 'none'}; save it by numpy.savez"
                )
            yield file.name, {n: loaded[n] for n in names}
            continue
        stem, _, suffix = file.stem.partition(".")
        name, sample = next(((n, file.stem[len(n) + 1 :]) for n in names if _is_of(file.stem, n)), (stem, suffix))
        if len(names) == 1:
            yield file.name, {names[0]: loaded}
            continue
        if name not in names:
            raise InputError(
                f"{file} fits no input: the model has {', '.join(names)}; name the file {names[0]}.npy, or "
                f"{names[0]}.1.npy, {names[0]}.2.npy for several samples"
            )
        parts.setdefault(sample, {})[name] = loaded
    for sample, arrays in parts.items():
        if missing := [n for n in names if n not in arrays]:
            file_name = ".".join(filter(None, (missing[0], sample, "npy")))
            raise InputError(f"there is no calibration file {file_name} beside {', '.join(arrays)}; add it")
        yield sample or "arrays", arrays


def _is_of(stem: str, name: str) -> bool:
    return stem == name or stem.startswith(f"{name}.")


def _load(file: Path) -> Array | dict[str, Array]:
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return loaded
        with loaded:
            return {name: loaded[name] for name in loaded.files}
    except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{file} cannot be read as a file of NumPy ({error}); save it by numpy.save or savez"
        ) from None


def _split(file: str, arrays: Mapping[str, Array], inputs: Sequence[Value]) -> list[Sample]:
    """A sample for each run that the arrays are of."""
    parts = {v.name: _parts(file, arrays[v.name], v) for v in inputs}
    counts = {len(p) for p in parts.values()}
    if len(counts) > 1:
        each = ", ".join(f"{name}: {len(p)}" for name, p in parts.items())
        raise InputError(f"{file}: its arrays hold different numbers of samples ({each}); give as many of each input")
    (count,) = counts
    if not count:
        raise InputError(f"{file}: its arrays hold no sample: the first axis is empty; give at least one")
    names = [file] if count == 1 else [f"{file}[{i}]" for i in range(count)]
    return [Sample((name,), {v: parts[v][i] for v in parts}) for i, name in enumerate(names)]


def _parts(file: str, array: Array, value: Value) -> list[Array]:
    """The samples that an array consists of. Raises InputError where it does not fit the input."""
    kinds = {"f": "biuf"}.get(value.dtype.numpy.kind, value.dtype.numpy.kind + ("iu" if value.dtype.is_int else ""))
    shape = value.shape
    data = array[None] if array.ndim == len(shape) - 1 and _fits(array.shape, shape[1:]) else array
    batch = _batch(value)
    rows = data.shape[0] if data.ndim else 1
    several = data.ndim and isinstance(shape[0] if shape else None, int) and batch and rows % batch == 0
    if array.dtype.kind not in kinds or not (
        _fits(data.shape, shape) or (several and data.ndim == len(shape) and _fits(data.shape[1:], shape[1:]))
    ):
        raise InputError(
            f"{file} does not fit input {value.name!r}: it holds {array.dtype}{list(array.shape)}, and the input takes "
            f"{value.dtype}{shown(shape)}; convert the array"
        )
    data = np.ascontiguousarray(data.astype(value.dtype.numpy))
    if not rows and batch:
        return []
    return [data] if _fits(data.shape, shape) else np.split(data, rows // batch)


def _fits(extents: tuple[int, ...], shape: Sequence[Size]) -> bool:
    return len(extents) == len(shape) and all(
        e == n if isinstance(n, int) else e <= capacity(n) for e, n in zip(extents, shape, strict=True)
    )
