"""A release in a notebook: a piece of HTML with the promise, the checks, the columns and the first released rows."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report.test_page import REPORTS, _k_anonymous, _Page

import anonkit
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check
from anonkit.randomness import SEEDED
from anonkit.report.charts import safe_text
from anonkit.report.document import FirstRows, dry_run_fragment, release_fragment
from anonkit.report.first_facts import verdict
from anonkit.report.promise_words import words_of

NO_ROWS = FirstRows(names=[], rows=[], n_columns=0)


def _text(fragment: str) -> str:
    """The visible text of a piece of HTML."""
    return _Page(fragment).text


@pytest.fixture(scope="module")
def release(small_customers: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> anonkit.Release:
    """A release on disk."""
    place = tmp_path_factory.mktemp("release") / "out.parquet"
    return anonkit.release(
        small_customers.slice(0, 200), method="mondrian", k=5, target="customer_value", ledger=None, output=place
    )


@pytest.mark.parametrize("kind", REPORTS)
def test_every_promise_is_shown_with_its_statement_and_limits(kind: str) -> None:
    """For any kind: headline, statement, figures, limits, every column and the number of checks."""
    report = REPORTS[kind]()
    text = _text(release_fragment(report, NO_ROWS))
    promise = report["guarantee"]
    assert promise["statement"] in text
    assert words_of(promise).headline(promise).text in text
    for figure, what in words_of(promise).figures(report):
        assert figure in text
        assert what in text
    for limit in promise["not_protected"]:
        assert limit in text
    for column in report["columns"]:
        assert column["name"] in text
    assert f"{len(report['verification']['checks'])} check" in text
    assert verdict(report).stressed in text


def test_what_failed_comes_first_and_unfolded() -> None:
    """A check that failed is said before the statement, and its table is open; so is a known seed."""
    failed = [Check(name="k_anonymity", passed=False, observed=3, required=10)]
    report = _k_anonymous(checks=failed, randomness=SEEDED)
    fragment = release_fragment(report, NO_ROWS)
    text = _text(fragment)
    assert text.index("Not for release") < text.index("The promise does not hold: 1 of 1 checks failed.")
    assert text.index("The promise does not hold") < text.index(report["guarantee"]["statement"])
    assert "<details open><summary>1 check of" in fragment
    assert "FAILED" in text
    assert "<details><summary>4 checks of" in release_fragment(_k_anonymous(), NO_ROWS)


@given(st.text(min_size=1, max_size=30))
def test_names_and_cells_are_text(text: str) -> None:
    """For any column name or cell the piece has the same markup and shows it."""
    quiet = _k_anonymous(columns=[{"name": "x", "role": "target", "action": "kept"}], dataset="x")
    loud = _k_anonymous(columns=[{"name": text, "role": "target", "action": "kept"}], dataset=text)
    plain = release_fragment(quiet, FirstRows(names=["x"], rows=[["x"]], n_columns=1))
    planted = release_fragment(loud, FirstRows(names=[text], rows=[[text]], n_columns=1))
    assert _tags(planted) == _tags(plain)
    shown = " ".join(safe_text(text).split())
    assert _text(planted).count(shown) >= 4  # title, list of columns, head and cell of the first row


def _escaped(text: str) -> str:
    return safe_text(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _tags(fragment: str) -> list[str]:
    return [tag for tag, _ in _Page(fragment).elements]


def test_nothing_runs_and_nothing_is_loaded(release: anonkit.Release) -> None:
    """No script, no handler, no reference: a notebook may be shared and printed."""
    page = _Page(release._repr_html_())
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "iframe", "img", "link", "object", "form", "a"})
    assert {name for _, attributes in page.elements for name in attributes} <= {"class", "scope", "open"}


def test_the_first_rows_are_those_of_the_file(release: anonkit.Release) -> None:
    """Five of them, in the order of the file, from disk and from memory alike; a long cell is cut."""
    from_disk = release._repr_html_()
    first = release.to_arrow().slice(0, 5).to_pylist()
    for row in first:
        for name, cell in row.items():
            assert name in from_disk
            assert _escaped(str(cell)[:39]) in from_disk
    assert from_disk.count("<tr><td>") == 5
    assert release.place is not None
    contents = {".parquet": release.place.file(".parquet").read_bytes()}
    in_memory = dataclasses.replace(release, place=None, contents=contents)
    assert in_memory._repr_html_() == from_disk
    cut = release_fragment(release.report, FirstRows(names=["a"], rows=[["y" * 500], [None], [b"abc"]], n_columns=3))
    assert f"<bdi>{'y' * 39}…</bdi>" in cut
    assert ">missing</i>" in cut
    assert "3 bytes" in cut
    assert "and 2 more columns" in cut


def test_a_wide_table_shows_some_of_its_columns(tmp_path: Path, release: anonkit.Release) -> None:
    """Twenty, and how many more there are; a table without rows shows their names."""
    pq.write_table(pa.table({f"c{at}": pa.array([], pa.int64()) for at in range(30)}), tmp_path / "a.parquet")
    wide = dataclasses.replace(release, place=None, contents={".parquet": (tmp_path / "a.parquet").read_bytes()})
    assert "and 10 more columns" in wide._repr_html_()
    assert "c19" in wide._repr_html_()
    assert "c20" not in wide._repr_html_()


def test_data_that_cannot_be_read_are_reported(tmp_path: Path, release: anonkit.Release) -> None:
    """Absent or damaged: the piece says so and shows the report all the same, and no error of a parser."""
    damaged = release.save(tmp_path / "out.parquet")
    (tmp_path / "out.parquet").write_bytes(b"PAR1 PLANTED PAR1")
    for _ in range(2):
        assert "The released rows cannot be read" in damaged._repr_html_()
        assert "PLANTED" not in damaged._repr_html_()
        assert release.report["guarantee"]["statement"] in _text(damaged._repr_html_())
        (tmp_path / "out.parquet").unlink(missing_ok=True)


def test_a_dry_run_shows_the_claim_alone(small_customers: pa.Table) -> None:
    """Two tables show the same: the output of a dry run was determined before the table was read."""
    given: dict[str, Any] = {"method": "mondrian", "k": 5, "target": "customer_value", "ledger": None, "dry_run": True}
    one, other = (anonkit.release(small_customers.slice(at, 150 + at), **given) for at in (0, 7))
    assert one._repr_html_() == other._repr_html_()
    assert "nothing was written" in one._repr_html_()
    assert one.report["guarantee"]["statement"] in _text(one._repr_html_())


def test_what_is_no_report_is_refused() -> None:
    """One clear line in place of an error of the template."""
    for broken in ({}, {**_k_anonymous(), "guarantee": {"kind": "k-anonymity"}}):
        for show in (lambda report: release_fragment(report, None), dry_run_fragment):
            with pytest.raises(ReleaseFormatError, match="not one of anonkit"):
                show(broken)
