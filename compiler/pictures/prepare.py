"""The elements of a picture by Pillow: what compiled models compute, for calibration, references and tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..errors import InputError
from ..ops.sampling.picture import LONGEST, NARROWEST
from .formats import PictureFormat
from .take_pictures import PictureInput, grey

if TYPE_CHECKING:
    from PIL.Image import Image


def open_picture(file: Path) -> Image:
    """The picture in a file as a page shows it: upright, in red, green and blue, over white where it is transparent.
    Raises InputError for what is none, and without Pillow."""
    pillow = _pillow()
    try:
        with pillow.open(file) as opened:
            image = upright(opened)
            if not image.has_transparency_data:
                return image.convert("RGB")
            image = image.convert("RGBA")
            white = pillow.new("RGBA", image.size, "white")
            return cast("Image", pillow.alpha_composite(white, image).convert("RGB"))
    except Exception as error:  # decoders raise errors of many classes for damaged files
        raise InputError(f"{file} cannot be read as a picture ({error}); remove it, or save it again") from None


def prepare_words(words: np.ndarray, target: PictureInput) -> np.ndarray:
    """The input that a picture [height, width] fills, of int32 words of red, green, blue and alpha, red lowest."""
    pixels = np.ascontiguousarray(words).view(np.uint8).reshape(*words.shape, 4)
    return prepare(_pillow().fromarray(pixels[:, :, :3].copy()), target)


def prepare(image: Image, target: PictureInput) -> np.ndarray:
    """The input that a picture fills: an array of its shape and dtype. A picture with more than the format's `most`
    rows or columns is reduced before."""
    form, rows, columns = target.format, target.rows, target.columns
    image = image.convert("L" if form.colours == "grey" else "RGB")
    image = reduce_picture(image, form.most)
    width, height = image.size
    down, across = (height, rows, target.whole[0]), (width, columns, target.whole[1])
    (high, top), (wide, left) = place(down, across, form), place(across, down, form)
    bilinear = _pillow().Resampling.BILINEAR
    # Rounded to bytes between the axes: which one is first is not the same in all versions of Pillow.
    strip = image.resize((wide, height), bilinear)
    pixels = np.asarray(strip.resize((wide, high), bilinear)).reshape(high, wide, -1)
    result = np.empty((rows, columns, target.channels), np.uint8)
    result[:] = form.fill if target.channels == 3 else grey(form.fill)
    (to_rows, of_rows), (to_columns, of_columns) = _overlap(high, top, rows), _overlap(wide, left, columns)
    result[to_rows, to_columns] = pixels[of_rows, of_columns]
    return target.elements(result[:, :, ::-1] if form.colours == "bgr" else result)


def reduce_picture(image: Image, most: int) -> Image:
    """A picture of at most so many rows and columns: the means of squares, of as many pixels as it takes."""
    side = -(-max(image.size) // most)
    return image.reduce(side) if side > 1 else image


def place(side: tuple[int, int, int], other: tuple[int, int, int], form: PictureFormat) -> tuple[int, int]:
    """How long a side becomes, and the first of its pixels that is taken, below zero where there is room before. Sides
    are pixels, those of the result, and those of which a crop takes the middle."""
    (n, count, whole), (others, other_count, other_whole) = side, other
    match form.resize:
        case "crop":
            resized = min(max(other_whole * n // others, whole), LONGEST)
            return resized, round((resized - count) / 2)
        case "letterbox" | "letterbox-top-left":
            resized = min(max((2 * n * other_count + others) // (2 * others), count // NARROWEST, 1), count)
            return resized, 0 if form.resize == "letterbox-top-left" else -((count - resized) // 2)
    return count, 0


def _overlap(length: int, first: int, count: int) -> tuple[slice, slice]:
    """The elements of the result that are of the resized picture, and those of that."""
    begin, end = max(-first, 0), min(length - first, count)
    return slice(begin, end), slice(begin + first, end + first)


def upright(image: Image) -> Image:
    """The picture turned as its Exif data say."""
    from PIL.ImageOps import exif_transpose

    return exif_transpose(image)


def _pillow() -> Any:
    """Pillow's module of images. Raises InputError where it is not installed."""
    try:
        from PIL import Image
    except ImportError:
        raise InputError("pictures need the package pillow: pip install 'webnn-compile[quantize]'") from None
    return Image
