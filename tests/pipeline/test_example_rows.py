"""Example rows of a source with what became of them: true where they belong together, and for the owner alone."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

import anonkit
from anonkit.engines import LocalEngine
from anonkit.errors import ParameterError
from anonkit.ledger.intersection_check import SourceRows
from anonkit.pipeline.example_rows import example_rows
from anonkit.policy.declaration import Policy
from anonkit.randomness import Randomness
from tests.pipeline.test_dossier import DECLARED, FAMILIES, ONCE, WHO, people


@pytest.mark.quick_cases("dp-nb")
@pytest.mark.parametrize("method", ["datafly", "dp-nb"])
def test_examples_show_what_the_release_shows(method: str) -> None:
    """A recoded row has a row in the release that looks like it, or is said to be left out; noise has no such rows."""
    spec, parameters = FAMILIES[method]
    declared = Policy.from_dict(spec)
    release = anonkit.release(people(), method=method, policy=declared, ledger=None, utility=False, **parameters)
    with closing(LocalEngine()) as engine:
        policy = declared.resolve(people().column_names)
        rows = SourceRows(table=engine.scan(people(), policy), engine=engine, policy=policy)
        shown = example_rows(rows, release.to_arrow(), release.params, Randomness.seeded(1), 60)

    assert all("who" not in row for row in shown["before"])
    assert len(shown["before"]) == 60
    if method == "dp-nb":
        assert shown["corresponds"] is False
        assert len(shown["after"]) == min(60, release.to_arrow().num_rows)
        return
    names = [name for name in release.to_arrow().column_names if name not in ("sum", "label")]
    there = Counter(tuple(row[name] for name in names) for row in release.to_arrow().to_pylist())
    told = Counter(tuple(row[name] for name in names) for row in shown["after"] if row is not None)
    assert told == there
    assert shown["after"].count(None) == 60 - release.to_arrow().num_rows


def test_examples_stand_on_the_page_and_nowhere_else(tmp_path: Path) -> None:
    """They are cells of people: in the page when they are requested, never in the JSON."""
    anonkit.release(
        people(), method="mondrian", k=3, policy=Policy.from_dict(DECLARED), output=tmp_path / "out" / "x.parquet",
        owner_report=tmp_path / "own", examples=60, ledger=None,
    )  # fmt: skip

    assert ONCE in (tmp_path / "own" / "x.dossier.html").read_text(encoding="utf-8")
    assert WHO not in (tmp_path / "own" / "x.dossier.html").read_text(encoding="utf-8")
    assert ONCE not in (tmp_path / "own" / "owner.report.json").read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match="example rows are only in the dossier"):
        anonkit.release(people(), policy=Policy.from_dict(DECLARED), examples=3, ledger=None)
