"""Looks of pages: what counts as another one."""

from __future__ import annotations

import pytest
from PIL import Image
from screenshots import FOLDER, SHARE, STORED, differing_share


def stored(name: str) -> Image.Image:
    return Image.open(FOLDER / f"{name}.webp").convert("RGB")


def as_taken(image: Image.Image) -> Image.Image:
    return image.resize((image.width * STORED, image.height * STORED), Image.Resampling.BICUBIC)


def moved(image: Image.Image, down: int) -> Image.Image:
    above = Image.new("RGB", image.size, image.getpixel((0, 0)))
    above.paste(image, (0, down))
    return above


@pytest.mark.parametrize("name", ["example-light", "bundle-dark", "report-phone", "docs-light"])
def test_the_same_page_is_within_the_tolerance_and_one_that_has_changed_is_not(name: str) -> None:
    image = stored(name)
    assert differing_share(as_taken(image), image) == 0
    lines = moved(image, 20 // STORED)
    assert differing_share(as_taken(lines), image) > SHARE
    blank = Image.new("RGB", image.size, image.getpixel((0, 0)))
    assert differing_share(as_taken(blank), image) > SHARE
    inverted = image.point(lambda value: 255 - value)
    assert differing_share(as_taken(inverted), image) > 0.5
    assert differing_share(as_taken(image.crop((0, 0, image.width - 8, image.height))), image) == 1
