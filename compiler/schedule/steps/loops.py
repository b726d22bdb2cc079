"""Finding loops in a statement, and the error for a loop that a step cannot transform."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import ScheduleError
from ...ir.nodes import For, Stmt, Var
from ...ir.printer import print_node
from ...ir.rewrite import rewrite_statements, statements


def on_loops(stmt: Stmt, var: Var, change: Callable[[For], Stmt]) -> Stmt:
    """`change` applied to every loop over `var`; ScheduleError if there is none."""
    is_reached = False

    def rule(n: object) -> Stmt | None:
        nonlocal is_reached
        if isinstance(n, For) and n.var is var:
            is_reached = True
            return change(n)
        return None

    result = rewrite_statements(stmt, rule)
    if not is_reached:
        raise ScheduleError(f"there is no loop over {var.name} in\n{print_node(stmt)}")
    return result


def find_loop(stmt: Stmt, var: Var) -> For:
    """The first loop over `var`; ScheduleError if there is none."""
    for n in statements(stmt):
        if isinstance(n, For) and n.var is var:
            return n
    raise ScheduleError(f"there is no loop over {var.name} in\n{print_node(stmt)}")


def illegal(step: str, loop: For, why: str) -> ScheduleError:
    """The error of an illegal step: names the step, marks the loop."""
    text = print_node(loop).splitlines()
    return ScheduleError(f"{step}: {why}\n--> " + "\n    ".join(text))
