"""Hooks of MkDocs: pages that stand elsewhere in the repository, and links to files that the site does not have."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from javascript_reference import reference
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changes.md",
    "benchmarks/README.md": "benchmarks.md",
    "rpc/PROTOCOL.md": "protocol.md",
    "runtime-js/model.d.ts": "javascript-reference.md",
    **{
        str(file.relative_to(ROOT)): f"design/{file.parent.name}.md"
        for file in sorted(
            [*(ROOT / "compiler").glob("*/DESIGN.md"), ROOT / "runtime-js/DESIGN.md", ROOT / "rpc/DESIGN.md"]
        )
        if file.exists()
    },
}
"""By path in the repository the page of the site."""
SOURCES = {page: source for source, page in PAGES.items()}

_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that stand elsewhere."""
    for source, page in PAGES.items():
        text = (ROOT / source).read_text()
        content = reference(text) if source.endswith(".d.ts") else text
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links lead to pages of the site; those to other files of the repository become text."""
    here = page.file.src_uri
    source = SOURCES.get(here, f"docs/{here}")

    def relinked(found: re.Match[str]) -> str:
        picture, text, link = found.groups()
        name, mark, anchor = link.partition("#")
        if "://" in link or not name:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
        target = PAGES.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
        if target is None:
            return text
        return f"{picture}[{text}]({posixpath.relpath(target, posixpath.dirname(here) or '.')}{mark}{anchor})"

    return _LINK.sub(relinked, markdown)


def on_post_page(output: str, **_: Any) -> str:
    """The dialog of the search has a name, which the theme leaves out."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"')


on_post_template = on_post_page
