"""Links of the documentation lead somewhere, without a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from documentation import PAGES, ROOT, headings, links

OTHERS = [
    *ROOT.glob("*/README.md"),
    *ROOT.glob("examples/*/README.md"),
    *ROOT.glob("*/*/DESIGN.md"),
    *ROOT.glob("*/DESIGN.md"),
    ROOT / "ARCHITECTURE.md",
    ROOT / "SECURITY.md",
]


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_anchors_exist(page: Path) -> None:
    for link in links(page.read_text()):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        assert not anchor or anchor in headings(target.read_text()), link


def test_every_page_is_linked_from_the_readme_or_another_page() -> None:
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in PAGES for link in links(page.read_text())}
    assert [page.name for page in PAGES if page not in linked and page.name != "README.md"] == []


def test_the_readme_is_short_and_shows_a_picture() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 900
    pictures = [ROOT / link for link in links(text) if link.endswith((".png", ".webp"))]
    assert pictures
    assert all(picture.stat().st_size <= 60_000 for picture in pictures)
