"""Reads files of operators: Python, which is executed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from ..errors import InputError, WebnnCompileError
from .operator import CustomOperator, line_of
from .table import CustomOperators, table_of

OperatorsLike = str | Path | CustomOperator | Sequence[str | Path | CustomOperator]
"""A file of operators, an operator, or several of both."""


def operators_of(given: OperatorsLike) -> CustomOperators:
    """The table of operators, and of those of files. Executes the files. Raises InputError for what is none of these,
    and for a file that cannot be read, does not run, or defines no operator."""
    several = (given,) if isinstance(given, str | Path | CustomOperator) else tuple(given)
    found: list[CustomOperator] = []
    for one in several:
        if isinstance(one, str | Path):
            found += load_operators(Path(one))
        elif isinstance(one, CustomOperator):
            found.append(one)
        else:
            raise InputError(
                f"operators= has an object of type {type(one).__name__}: give files, and functions that are decorated "
                "by webnn_compile.custom.operator"
            )
    return table_of(found)


def load_operators(path: Path) -> list[CustomOperator]:
    """Operators that a file of Python defines or imports, as values of its names, in their order.

    Executes the file. Raises InputError with its line for what does not run, for an operator whose name is bound again
    later, and for a file that defines none.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: this file of operators cannot be read: {error.strerror or error}") from None
    try:
        tree = ast.parse(source, str(path))
        code = compile(tree, str(path), "exec")
    except SyntaxError as error:
        raise InputError(f"{path}:{error.lineno or 1}: this file of operators is no Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes, before Python 3.12; nested too deeply
        raise InputError(f"{path}: this file of operators is no Python: {error or type(error).__name__}") from None
    names = _executed(path, code)
    operators = list(dict.fromkeys(v for v in names.values() if isinstance(v, CustomOperator)))
    _check_names(path, tree, operators)
    if not operators:
        raise InputError(
            f"{path} defines no operator: put @operator(DOMAIN, NAME) of webnn_compile.custom before a function"
        )
    return operators


def _executed(path: Path, code: object) -> dict[str, object]:
    """The names that a file binds. It is a module while it runs, which dataclasses look for, and none afterwards."""
    module = ModuleType(f"webnn_compile.custom.file_{id(code)}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)  # type: ignore[arg-type]
    except WebnnCompileError:
        raise
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise InputError(
            f"{path}:{line_of(error, str(path)) or 1}: this file of operators failed with {what}"
        ) from error
    finally:
        del sys.modules[module.__name__]
    return dict(module.__dict__)


def _check_names(path: Path, tree: ast.Module, operators: Sequence[CustomOperator]) -> None:
    """Raises InputError where a decorated function is lost, since its name is bound again."""
    kept = {o.line for o in operators if o.file == str(path)}
    bound: dict[str, int] = {}
    for statement in reversed(tree.body):
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        again = bound.setdefault(statement.name, statement.lineno)
        decorators = [d for d in statement.decorator_list if isinstance(d, ast.Call)]
        if again != statement.lineno and decorators and not any(d.lineno in kept for d in decorators):
            raise InputError(
                f"{path}:{statement.lineno}: the function {statement.name!r} is lost, since line {again} binds the "
                "name again; rename one"
            )
