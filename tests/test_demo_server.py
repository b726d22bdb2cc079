"""The server of the demo and of the tests in browsers."""

from __future__ import annotations

from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from server import serve


def test_head_is_get_without_a_body(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("1;\n")
    with serve(tmp_path) as site:
        for method, body in (("HEAD", b""), ("GET", b"1;\n")):
            with urlopen(Request(f"{site.url}a.js", method=method)) as answer:
                assert (answer.headers["Content-Type"], answer.headers["Content-Length"]) == ("text/javascript", "3")
                assert answer.read() == body
        with pytest.raises(HTTPError, match="404"):
            urlopen(Request(f"{site.url}b.js", method="HEAD"))
