"""Whether LLVM is here: shaders need none of it, and a page cannot have it."""

from __future__ import annotations

import importlib.util

from ..errors import InputError

PACKAGE = "llvmlite"


def has_llvm() -> bool:
    return importlib.util.find_spec(PACKAGE) is not None


def need_llvm(what: str) -> None:
    """Raises InputError where llvmlite is not installed."""
    if not has_llvm():
        raise InputError(
            f"{what} needs LLVM, and the package {PACKAGE} is not installed: pip install {PACKAGE}; bundles for GPUs "
            "alone do without it: --host js --targets webgpu,webgl"
        )
