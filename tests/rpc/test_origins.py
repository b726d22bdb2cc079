"""Origins are compared as browsers write them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from webnn_compile.cli.rpc_command import main
from webnn_compile.rpc.origins import origin_of


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://localhost:5173", "http://localhost:5173"),
        ("http://localhost:5173/", "http://localhost:5173"),
        ("HTTP://Example.ORG:80", "http://example.org"),
        ("https://example.org:443", "https://example.org"),
        ("http://example.org:443", "http://example.org:443"),
        ("http://[::1]:80", "http://[::1]"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("capacitor://localhost", "capacitor://localhost"),
    ],
)
def test_spelling(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url",
    [
        "",
        "*",
        "null",
        "localhost:5173",
        "//localhost",
        "http://",
        "http://a/b",
        "http://a?b",
        "http://u@a",
        "http://[",
        "http://a:b",
    ],
)
def test_what_is_no_origin(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 the message is the caller's
        origin_of(url)


def test_an_allowed_origin_that_is_none() -> None:
    result = CliRunner().invoke(main, ["serve", "--allow-origin", "localhost:5173"])
    assert result.exit_code == 2
    assert "--allow-origin localhost:5173: give scheme, host and port of the page, as http://localhost" in result.output
