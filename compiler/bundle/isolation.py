"""Files that make a page cross-origin isolated, which browsers require for threads: headers in the formats of hosts."""

from __future__ import annotations

from collections.abc import Mapping

from .files import BundleFile

HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def isolation_files(sources: Mapping[str, str]) -> list[BundleFile]:
    """`_headers` for hosts such as Netlify and Cloudflare, lines for nginx, a service worker for all others."""
    rules = "".join(f"  {name}: {value}\n" for name, value in HEADERS.items())
    lines = "".join(f"add_header {name} {value} always;\n" for name, value in HEADERS.items())
    note = "# For the page's server block; a location with an add_header of its own needs these lines too.\n"
    return [
        BundleFile("_headers", f"/*\n{rules}".encode(), "isolation"),
        BundleFile("nginx.conf", f"{note}{lines}".encode(), "isolation"),
        BundleFile("isolate.js", sources["isolate.js"].encode(), "isolation"),
    ]


def isolate_page(page: str) -> str:
    """The page with the service worker's script first in its head."""
    return page.replace("<head>\n", '<head>\n<script src="./isolate.js"></script>\n', 1)
