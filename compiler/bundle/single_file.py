"""A bundle in one file: a page that runs from a disk, and a script that needs no other file."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping

from ..errors import InputError, InternalError
from ..program.weight_types import mostly_floats
from ..system.limits import format_size
from .manifest import Manifest
from .merge_script import merge_page
from .minify_style import minify_style

MOST_INLINE = 128 * 2**20
"""Bytes of the model's files. As text they take a third more, and the page, its worker and the model each hold a copy
while it loads."""

_STATUS = re.compile(r'(<p id="status"[^>]*>).*?(?=</p>)')
_ICON = re.compile(r'(?<=<link rel="icon" href=")\./page\.svg(?=">)')
_STYLE = '<link rel="stylesheet" href="./page.css">'
_MODULE = '<script type="module" src="./page.js"></script>\n'
PAGE_GLOBAL = "model"
"""The global of the page's script."""


def check_inline(manifest: Manifest, weight_types: Mapping[str, int]) -> None:
    """Raises InputError for a model that is too large; `weight_types` has the bytes of its weights by the type of
    elements."""
    size = sum(len(file.data) for file in manifest.files)
    if size > MOST_INLINE:
        raise InputError(
            f"--single-file: the model's files have {format_size(size)}, and {format_size(MOST_INLINE)} is the most: "
            "as text they take a third more, and a page holds several copies while it loads. Leave --single-file out"
            f"{', or take weights in fewer bits (--weights int8)' if mostly_floats(weight_types) else ''}"
        )


def render_single_page(page: str, sources: Mapping[str, str], script: str) -> str:
    """The bundle's own page with all that it needs; `script` defines the global `model`. Its policy allows just these
    scripts and styles, and no request."""
    style = minify_style(sources["page.css"])
    icon = f"data:image/svg+xml;base64,{b64encode(sources['page.svg'].encode()).decode()}"
    own = merge_page(sources, PAGE_GLOBAL)
    scripts = " ".join(map(_hash, (script, own)))
    policy = (
        f"default-src 'none'; script-src 'wasm-unsafe-eval' {scripts}; worker-src blob:; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = _replaced(page, _MODULE, "")
    page = _replaced(page, _STYLE, f"<style>{style}</style>")
    page = _replaced(page, '<meta charset="utf-8">\n', f'<meta charset="utf-8">\n{_meta(policy)}\n')
    page, icons = _ICON.subn(lambda _: icon, page)
    page, states = _STATUS.subn(lambda tag: f"{tag[1]}Loading.", page)
    if icons != 1 or states != 1:
        raise InternalError("runtime-js/bundle_page/index.html: no icon or status where --single-file looks for them")
    return _replaced(page, "</body>", f"<script>{script}</script>\n<script>{own}</script>\n</body>")


def _meta(policy: str) -> str:
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def _replaced(page: str, old: str, new: str) -> str:
    if page.count(old) != 1:
        raise InternalError(f"runtime-js/bundle_page/index.html: no single {old!r}, which --single-file replaces")
    return page.replace(old, new)


def _hash(text: str) -> str:
    """The source expression of an inline element."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
