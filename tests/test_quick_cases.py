"""Of tests with many cases some run in the gate: those that are named, and never none."""

from __future__ import annotations

from pathlib import Path

import pytest
from quick_cases import QuickCases

TEST = """
import pytest

@pytest.mark.{mark}({names})
@pytest.mark.parametrize("case", ["first", "second", "third"])
def test_it(case):
    pass
"""


class _Seen:
    """The collected tests: the name of each, and whether it is slow."""

    def __init__(self) -> None:
        self.items: dict[str, bool] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = {item.name: item.get_closest_marker("slow") is not None for item in session.items}


def _collected(folder: Path, names: str, test: str = "", mark: str = "quick_cases") -> tuple[int, dict[str, bool]]:
    path, seen = folder / f"test_{folder.name}.py", _Seen()
    path.write_text(TEST.format(names=names, mark=mark), encoding="utf-8")
    (folder / "pytest.ini").write_text(f"[pytest]\nmarkers =\n  {mark}\n  slow\n", encoding="utf-8")
    asked = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--collect-only", f"--rootdir={folder}", f"{path}{test}"]
    return int(pytest.main(["-c", str(folder / "pytest.ini"), *asked], plugins=[QuickCases(), seen])), seen.items


@pytest.mark.parametrize("names", ['"second"', '"s*"'])
def test_what_is_not_named_is_slow(names: str, tmp_path: Path) -> None:
    """Every case is there, for `make test-slow` too."""
    code, items = _collected(tmp_path, names)
    assert code == pytest.ExitCode.OK
    assert items == {"test_it[first]": True, "test_it[second]": False, "test_it[third]": True}


@pytest.mark.parametrize("names", ["", '"second", "fourth"'])
def test_a_name_that_no_case_has_is_refused(names: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A case that was renamed does not leave the gate unseen, nor a test whose cases are all slow."""
    code, _ = _collected(tmp_path, names)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "names cases that it has not" in capfd.readouterr().err


def test_a_single_case_can_be_selected(tmp_path: Path) -> None:
    """By its id, as any other."""
    assert _collected(tmp_path, '"second"', "::test_it[third]") == (0, {"test_it[third]": True})


def test_what_is_named_as_slow_is_slow(tmp_path: Path) -> None:
    """The others run in the gate; a name is no pattern there."""
    code, items = _collected(tmp_path, '"second"', mark="slow_cases")
    assert code == pytest.ExitCode.OK
    assert items == {"test_it[first]": False, "test_it[second]": True, "test_it[third]": False}


@pytest.mark.parametrize("names", ["", '"s*"', '"first", "second", "third"'])
def test_some_case_stays_in_the_gate(names: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A mark without a case, with a case that is not there, or with all of them is refused."""
    code, _ = _collected(tmp_path, names, mark="slow_cases")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "names cases that it has not" in (said := capfd.readouterr().err) or "leaves no case in the gate" in said
