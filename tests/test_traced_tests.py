"""The choice of the tests that run while branches are measured."""

from __future__ import annotations

import ast
from pathlib import Path

from coverage import CoverageData
from hypothesis import given
from hypothesis import strategies as st
from traced_tests import LIST, fewest, listed, made, reached_branches

TESTS = st.dictionaries(
    st.sampled_from([f"test_{letter}" for letter in "abcdefgh"]), st.frozensets(st.integers(0, 12)), max_size=8
)


@given(reached=TESTS, seconds=st.dictionaries(st.sampled_from(["test_a", "test_b"]), st.floats(0, 9)))
def test_the_chosen_tests_reach_whatever_any_reaches(
    reached: dict[str, frozenset[int]], seconds: dict[str, float]
) -> None:
    """Every branch, and no test twice."""
    chosen = fewest(reached, seconds)

    assert frozenset().union(*(reached[test] for test in chosen)) == frozenset().union(*reached.values())
    assert len(chosen) == len(set(chosen))


def test_of_two_tests_the_quicker_one_is_chosen() -> None:
    """If one reaches all that the other does. A test that alone reaches a branch is chosen in any case."""
    reached = {"slow": frozenset({1, 2}), "quick": frozenset({1, 2}), "alone": frozenset({3})}

    assert fewest(reached, {"slow": 5.0, "quick": 1.0, "alone": 60.0}) == ["alone", "quick"]


def test_branches_are_those_of_a_test_and_its_fixtures(tmp_path: Path) -> None:
    """Branches of imports alone belong to no test; those that a test reaches as well belong to it."""
    data = CoverageData(str(tmp_path / "coverage"))
    for context, branches in (
        ("", {(1, 2), (8, 9)}),
        ("tests/x.py::test_a[|]|setup", {(1, 2), (2, 3)}),
        ("tests/x.py::test_a[|]|run", {(3, 4)}),
        ("tests/x.py::test_b|run", {(1, 2)}),
    ):
        data.set_context(context)
        data.add_arcs({"x.py": branches})
    data.write()

    found = reached_branches(tmp_path / "coverage")

    assert {test: len(branches) for test, branches in found.items()} == {
        "tests/x.py::test_a[|]": 3,
        "tests/x.py::test_b": 1,
    }


def test_the_list_names_tests_that_are_there(repository: Path) -> None:
    """Each once, in order, and in a file that the measured run reads."""
    names = LIST.read_text(encoding="utf-8").splitlines()
    assert names == sorted(set(names))
    functions = {
        file: {node.name for node in ast.parse((repository / file).read_text(encoding="utf-8")).body
               if isinstance(node, ast.FunctionDef)}
        for file in {name.split("::")[0] for name in names}
    }  # fmt: skip
    assert {name for name in names if name.split("::")[1].split("[")[0] not in functions[name.split("::")[0]]} == set()
    assert {
        file for file in functions if not any(Path(file).is_relative_to(part) for part in made("MEASURED"))
    } == set()
    assert listed() == frozenset(names)
