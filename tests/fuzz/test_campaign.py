"""Findings are shrunk, written and counted once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import onnx
import pytest
from fuzz.campaign import Campaign, draw_cases
from fuzz.case import KINDS, Case, Outcome
from fuzz.draw_page import draw_page
from fuzz.draw_subject import draw_subject
from fuzz.mutate_model import GROUPS, mutate_model


@dataclass
class HerePool:
    """As a Pool, in this process."""

    check: Callable[[Case], Outcome]

    def check_all(self, cases: Iterable[Case]) -> Iterator[tuple[Case, Outcome]]:
        return ((case, self.check(case)) for case in cases)


def campaign(check: Callable[[Case], Outcome], folder: Path) -> Campaign:
    return Campaign(HerePool(check), folder, clock=lambda: 0.0)  # type: ignore[arg-type]


def operators(case: Case) -> list[str]:
    return [n.op_type for n in onnx.ModelProto.FromString(draw_subject(case).model).graph.node]


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "page"])
def test_a_seed_gives_one_subject(kind: str) -> None:
    for seed in range(5):
        first, second = (draw_subject(Case(kind, seed)) for _ in range(2))
        assert (first.model, first.target, first.edits) == (second.model, second.target, second.edits)
        assert {n: a.tobytes() for n, a in first.feeds.items()} == {n: a.tobytes() for n, a in second.feeds.items()}
    assert draw_subject(Case(kind, 0)).model != draw_subject(Case(kind, 1)).model


def test_a_seed_gives_one_page() -> None:
    assert draw_page(Case("page", 3)) == draw_page(Case("page", 3)) != draw_page(Case("page", 4))


def test_a_graph_shrinks_to_the_operator_at_fault(tmp_path: Path) -> None:
    seed = next(s for s in range(500) if "Softmax" in operators(Case("graphs", s))[2:-2])

    def check(case: Case) -> Outcome:
        return Outcome("fault", "of Softmax") if "Softmax" in operators(case) else Outcome("agrees")

    (finding,) = campaign(check, tmp_path).run([Case("graphs", seed)])
    small = onnx.load(finding.folder / "model.onnx")
    assert [n.op_type for n in small.graph.node] == ["Softmax"]
    assert [len(small.graph.input), len(small.graph.output), len(small.graph.initializer)] == [1, 1, 0]
    dims = small.graph.input[0].type.tensor_type.shape.dim
    assert {d.dim_value for d in dims} == {1}


def test_every_mutation_stands_a_parameter_of_no_dtype() -> None:
    model = onnx.ModelProto.FromString(draw_subject(Case("graphs", 2)).model)
    model.graph.initializer.add(name="odd", data_type=-1, dims=[2], raw_data=bytes(8))
    data = model.SerializeToString()
    names: set[str] = set()
    for seed in range(2000):
        names.update(mutate_model(onnx.ModelProto.FromString(data), {}, [seed]))
    assert names == {m.__name__ for group in GROUPS for m in group}


def test_mutations_that_do_not_matter_are_left_out(tmp_path: Path) -> None:
    seed = next(s for s in range(50) if len(draw_subject(Case("protobuf", s)).edits) == 5)
    matters = draw_subject(Case("protobuf", seed)).edits[2]

    def check(case: Case) -> Outcome:
        return Outcome("fault", "of one") if matters in draw_subject(case).edits else Outcome("refused")

    (finding,) = campaign(check, tmp_path).run([Case("protobuf", seed)])
    assert f"mutations: {matters}\n" in (finding.folder / "README.txt").read_text()


def test_parts_of_a_page_that_do_not_matter_are_left_out(tmp_path: Path) -> None:
    seed = next(s for s in range(99) if len(draw_page(Case("page", s)).parts) == 4)
    matters = draw_page(Case("page", seed)).parts[1]

    def check(case: Case) -> Outcome:
        return Outcome("fault", "of one") if matters in draw_page(case).parts else Outcome("loads")

    (finding,) = campaign(check, tmp_path).run([Case("page", seed)])
    assert f"parts=({matters},)" in (finding.folder / "README.txt").read_text()


def test_one_fault_is_one_finding(tmp_path: Path) -> None:
    def check(case: Case) -> Outcome:
        return Outcome("fault", "the same") if case.seed % 2 else Outcome("refused")

    made = campaign(check, tmp_path)
    (finding,) = made.run(Case("page", s) for s in range(6))
    assert finding.seeds == [1, 3, 5]
    assert "page: 6 cases: 3 refused, 3 fault" in made.summary()
    assert "again: make fuzz KIND=page SEED=1 CASES=1" in made.summary()


def test_one_fault_of_two_operators_is_two_findings(tmp_path: Path) -> None:
    def check(case: Case) -> Outcome:
        wrong = {"Softmax", "Conv"} & set(operators(case))
        return Outcome("fault", "another result") if wrong else Outcome("agrees")

    chosen = [next(s for s in range(99) if op in (n := operators(Case("graphs", s))) and other not in n)
              for op, other in (("Softmax", "Conv"), ("Conv", "Softmax"))]  # fmt: skip
    found = campaign(check, tmp_path).run(Case("graphs", s) for s in chosen)
    assert [f.seeds for f in found] == [[s] for s in chosen]


def test_every_kind_has_its_share() -> None:
    drawn = list(islice(draw_cases(KINDS, 100), 60))
    assert {c.kind for c in drawn} == set(KINDS)
    assert len(set(drawn)) == 60
    assert min(c.seed for c in drawn) == 100


def test_the_command(tmp_path: Path) -> None:
    """Exit code 0 where nothing is found; the seeds in question are of cut files, which are refused."""
    folder = Path(__file__).parent
    options = ["--kind", "bytes", "--seed", "0", "--cases", "2", "--workers", "1", "--out", str(tmp_path)]
    done = subprocess.run([sys.executable, folder, *options], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "bytes: 2 cases: " in done.stdout
    assert "0 faults found" in done.stdout
