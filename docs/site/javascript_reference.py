"""The JavaScript reference: the declarations of model.d.ts with their comments, a heading for each."""

from __future__ import annotations

import re

HEAD = """# JavaScript reference

What `model.js` exports, and the types of `model.d.ts`; in a bundle these have the names and shapes of its model.
[JavaScript](../docs/javascript.md) tells what they are for.
"""
_DECLARATION = re.compile(r"^(?:export )?(?:type|interface|function|class) (\w+)", re.M)
_COMMENT = re.compile(r"/\*\*\s*((?:(?!\*/).)*?)\s*\*/\n\Z", re.S)


def declarations(types: str) -> dict[str, tuple[str, str]]:
    """The comment and the text of each declaration, by name, in the order of the file."""
    starts = [*_DECLARATION.finditer(types)]
    ends = [*(found.start() for found in starts[1:]), len(types)]
    result = {}
    for found, end in zip(starts, ends, strict=True):
        before = _COMMENT.search(types[: found.start()])
        comment = re.sub(r"\n \* ?", "\n", before[1]) if before else ""
        text = re.sub(r"(?:/\*\*(?:(?!\*/).)*\*/|// <[^\n]*)\s*\Z", "", types[found.start() : end].rstrip(), flags=re.S)
        result[found[1]] = (comment, text.rstrip())
    return result


def reference(types: str) -> str:
    """The page in Markdown: `load` and `Model` first."""
    found = declarations(types)
    order = ["load", "LoadOptions", "Model", *(name for name in found if name not in ("load", "LoadOptions", "Model"))]
    parts = [f"## {name}\n\n{found[name][0]}\n\n```ts\n{found[name][1]}\n```\n" for name in order]
    return HEAD + "\n" + "\n".join(parts)
