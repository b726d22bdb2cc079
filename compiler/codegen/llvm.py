"""llvmlite, for all modules that make machine code. Importing this raises InputError where it is not installed."""

from __future__ import annotations

from ..system.need_llvm import need_llvm

need_llvm("code for a processor")

import llvmlite.binding as llvm  # noqa: E402
from llvmlite import __version__ as version  # noqa: E402

__all__ = ["llvm", "version"]
