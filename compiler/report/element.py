"""Elements of a page. Text and attributes are escaped where the tree is written, so that none can become markup."""

from __future__ import annotations

from xml.etree.ElementTree import Element, tostring

Child = Element | str | None


def element(tag: str, *children: Child, **attributes: object) -> Element:
    """An element of HTML or SVG. Names of attributes that are words of Python end in `_`, others have `_` for `-`.
    Attributes that are None or False are left out, those that are True have no value."""
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None and value is not False:
            made.set(name.rstrip("_").replace("_", "-"), "" if value is True else _visible(str(value)))
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif child:
            _add_text(made, _visible(child))
    return made


def write(tree: Element) -> str:
    """As HTML; SVG inside of it, too."""
    return tostring(tree, encoding="unicode", method="html")


def _add_text(made: Element, text: str) -> None:
    if len(made):
        made[-1].tail = (made[-1].tail or "") + text
    else:
        made.text = (made.text or "") + text


def _visible(text: str) -> str:
    """Text without what HTML does not allow, and without marks of direction; line ends stay."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
