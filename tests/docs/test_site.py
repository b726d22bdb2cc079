"""The documentation's site: it is built without a warning, and loads nothing from other hosts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documentation import ROOT, built_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_site(tmp_path_factory)


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"']?((?:https?:)?//[^\"' >]+)", page.read_text()
        )
        assert loaded == [], page


def test_the_references_have_what_is_exported(site: Path) -> None:
    import webnn_compile

    python = (site / "python-reference.html").read_text()
    names = [name for name in webnn_compile.__all__ if f'id="webnn_compile.{name}"' not in python]
    assert names == []
    javascript = (site / "javascript-reference.html").read_text()
    types = (ROOT / "runtime-js" / "model.d.ts").read_text()
    exported = re.findall(r"^export (?:type|interface|function|class) (\w+)", types, re.M)
    assert [name for name in exported if f'id="{name.lower()}"' not in javascript] == []
    assert "Downloads the files beside model.js, checks them and starts the model" in javascript


def test_the_search_has_a_name(site: Path) -> None:
    """The theme gives its dialog none, for screen readers."""
    for name in ("index.html", "404.html"):
        assert (
            '<div class="md-search" data-md-component="search" role="dialog" aria-label="Search">'
            in (site / name).read_text()
        )
