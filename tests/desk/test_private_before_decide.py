"""Under noise no page before Decide follows from a cell of the private table."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from desk.conftest import MARKER
from desk.visitor import Visitor
from pyarrow import csv

from anonkit.desk.background_jobs import JobState

_BY_CHANCE = re.compile(r'name="form" value="[^"]*"|/cancel/[\w-]+|\d{4}-\d\d-\d\dT[\d:]+\+00:00')
"""Form tokens, handles of jobs and times."""
_SCORE = re.compile(r"AUC 0\.\d{3}, on simulated rows")


def pages(at: Visitor, folder: Path) -> dict[str, str]:
    """Return all pages before Decide, without what no two desks have in common."""
    found = {}
    for path in ("/table", "/roles", "/roles/1", "/roles/5", "/promise", "/compare"):
        found[path] = _BY_CHANCE.sub("", at.get(path)).replace(str(folder), "FOLDER")
        assert at.status == 200, path
    return found


def changed(table: Path) -> Path:
    """Return a table of the same name in which every number of one row, and one text, are others."""
    rows = csv.read_csv(table).to_pylist()
    rows[7] = {name: value + 1 if isinstance(value, int) else value for name, value in rows[7].items()}
    rows[7]["occupation"] = "services"
    other = table.parent / "other" / table.name
    other.parent.mkdir()
    import pyarrow as pa

    csv.write_csv(pa.Table.from_pylist(rows), other)
    assert other.read_bytes() != table.read_bytes()
    return other


def _walked(sits_at: Callable[..., Visitor], table: Path, declared: Path, *, compares: bool) -> list[dict[str, str]]:
    both = []
    for source in (table, changed(table)):
        folder = source.parent / "out"
        at = sits_at(source, folder, policy=declared, approach="noise")
        assert at.wait("columns").state is JobState.DONE
        at.post("/roles", at="roles", role_1="sensitive")
        at.wait("columns")
        at.post("/promise", at="promise", receiver="anyone", by="answers")
        if compares:
            at.post("/start/compare", at="compare")
            assert at.wait("compare").state is JobState.DONE, at.desk.jobs.of_kind("compare")
        both.append(pages(at, source.parent))
    return both


def test_a_changed_row_changes_no_page_before_decide(
    sits_at: Callable[..., Visitor], table: Path, declared: Path
) -> None:
    """Byte for byte, but for tokens, handles and times: they show names, declared domains and simulated rows alone."""
    first, second = _walked(sits_at, table, declared, compares=False)
    assert first == second
    assert all(MARKER not in page for page in first.values())
    assert "<svg" in first["/table"]


@pytest.mark.slow
def test_a_changed_row_changes_no_comparison(sits_at: Callable[..., Visitor], table: Path, declared: Path) -> None:
    """The releases that are compared are of simulated rows."""
    first, second = _walked(sits_at, table, declared, compares=True)
    assert "dp-forest" in first["/compare"]
    assert set(first) == set(second)
    for path in first:
        if path != "/compare":  # noise is drawn anew for every release that is compared, and its score is in the strip
            assert _SCORE.sub("", first[path]) == _SCORE.sub("", second[path])
    assert all(MARKER not in page for page in (*first.values(), *second.values()))
