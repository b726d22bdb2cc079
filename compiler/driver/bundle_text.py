"""Text of a bundle: what fills the inputs of tokens, and the package that makes tokens in a page."""

from __future__ import annotations

from ..answers.formats import Decode
from ..bundle import JINJA, BundledText, TextPackage, find_package
from ..errors import InputError
from ..tokenizers.take_text import NAME, Extent
from ..tokenizers.tokenizer_file import TokenizerFile
from .options import Options
from .work import Work


def text_packages(options: Options) -> tuple[TextPackage, ...]:
    """The package for the options' tokenizers, and the one for a chat template, where there are any. Raises InputError
    where one is not found, or has not all that a tokenizer consists of."""
    if not options.takes_tokenizers:
        return ()
    package = find_package(options.tokenizers)
    own = () if options.text is None else (options.text.tokenizer,)
    for tokenizer in (*own, *(tokenizer for a in options.answers if (tokenizer := _of_answer(a.form)) is not None)):
        lacking = [f"{kind} ({part})" for part, kind in package.lacks(tokenizer.components)]
        if lacking:
            raise InputError(
                f"{tokenizer.source}: @huggingface/tokenizers {package.version} has no {', '.join(lacking)}; take a "
                "newer version of it, or make tokens yourself and pass them to run"
            )
    chats = options.generate is not None and options.text is not None and options.text.chat is not None
    return (package, find_package(options.tokenizers, JINJA)) if chats else (package,)


def _of_answer(form: object) -> TokenizerFile | None:
    return form.tokenizer if isinstance(form, Decode) else None


def bundled_text(work: Work) -> BundledText | None:
    if not work.text:
        return None
    (target,) = work.text
    tokenizer = target.tokenizer
    cut, padding = tokenizer.truncation, tokenizer.padding
    fields = {
        "most": target.most,
        "single": tokenizer.single,
        "pair": tokenizer.pair,
        "cut": {"left": cut.left, "strategy": cut.strategy},
        "padding": {"id": padding.id, "type": padding.type, "left": padding.left},
    }
    inputs = {role: v.name for role, v in target.inputs.items()}
    batch = None if target.batch is None else _extent(target.batch)
    return BundledText(NAME, inputs, batch, _extent(target.length), fields, tokenizer.shipped)


def _extent(extent: Extent) -> int | str:
    return extent if isinstance(extent, int) else extent.name
