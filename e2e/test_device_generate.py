"""`generate` of a decoder on GPUs: the tokens of the reference, and 8 bytes that come back for each."""

from __future__ import annotations

from collections.abc import Iterator

import onnx
import pytest
from compiled import compile_site
from devices import open_bundle, value
from played_generation import KEPT, SIZES, TOKENS, argument, check_kept, check_tokens
from playwright.sync_api import Page
from server import Site, serve
from small_decoder import small_decoder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = tmp_path_factory.mktemp("generate")
    onnx.save(small_decoder(), made / "decoder.onnx")
    targets = ("--generate", "", "--targets", "webgpu,webgl")
    with serve(compile_site(made / "decoder.onnx", made / "site", *SIZES, *targets)) as served:
        yield served


def test_tokens_are_those_of_the_reference(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "bundle", backend)
    check_tokens(value(page, TOKENS, argument(backend=backend)))


def test_it_goes_on_stops_and_says_why_it_does_not_go_on(page: Page, site: Site, backend: str) -> None:
    open_bundle(page, site, "bundle", backend)
    check_kept(value(page, KEPT, argument(backend=backend)))
