"""The independent recount against a plain one in pandas."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.checks.disclosure import measure
from anonkit.checks.table_scans import columns_of
from anonkit.errors import EngineError

CELLS = st.sampled_from(["a", "b", "", None])
ROWS = st.lists(st.tuples(CELLS, CELLS, st.sampled_from([1.0, 2.0, 5.0, None])), min_size=1, max_size=40)
Row = tuple[str | None, str | None, float | None]


def _arrow(rows: list[Row], numeric: bool) -> pa.Table:
    q, r, s = (list(column) for column in zip(*rows, strict=True))
    if not numeric:
        s = [None if value is None else str(value) for value in s]
    text = pa.string()
    return pa.table(
        {"q": pa.array(q, text), "r": pa.array(r, text), "s": pa.array(s, pa.float64() if numeric else text)}
    )


def _plain(given_rows: list[Row], numeric: bool, missing_is_value: bool) -> dict[str, float]:
    """Recount with loops what the definitions of the papers say; missing is one more, largest value, or none."""
    rows = [(q, r, math.inf if s is None else s) for q, r, s in given_rows]
    values = sorted({s for _, _, s in rows if missing_is_value or s != math.inf})
    valued = [s for _, _, s in rows if s in values]
    overall = np.array([valued.count(v) for v in values]) / max(len(valued), 1)
    out = {"l": math.inf, "entropy_l": math.inf, "t": 0.0, "alpha": 0.0, "k": math.inf}
    for key in {row[:2] for row in rows}:
        out["k"] = min(out["k"], sum(row[:2] == key for row in rows))
        members = [s for *k, s in rows if tuple(k) == key and s in values]
        if not members:
            out |= {"l": 0, "entropy_l": 0, "t": 1.0}
            continue
        p = np.array([members.count(v) for v in values]) / len(members)
        out["l"] = min(out["l"], float((p > 0).sum()))
        out["entropy_l"] = min(out["entropy_l"], math.exp(-sum(x * math.log(x) for x in p if x)))
        gap = p - overall
        moved = np.abs(np.cumsum(gap)).sum() / max(len(values) - 1, 1) if numeric else np.abs(gap).sum() / 2
        out["t"] = max(out["t"], float(moved))
        out["alpha"] = max(out["alpha"], float(p.max()))
    return out


@pytest.mark.untraced
@settings(max_examples=80, deadline=None)
@given(ROWS, st.booleans(), st.booleans())
def test_the_recount_equals_the_definitions(rows: list[Row], numeric: bool, missing_is_value: bool) -> None:
    """k, l, entropy l, t (ordered and equal distance) and alpha are what their papers define."""
    declared = ["s"] if missing_is_value else []
    found = measure(_arrow(rows, numeric), ["q", "r"], sensitive=["s"], missing_is_value=declared)
    plain = _plain(rows, numeric, missing_is_value)

    assert found.k == plain["k"]
    for name in ("l", "entropy_l", "t", "alpha"):
        assert found.sensitive["s"][name] == pytest.approx(plain[name]), name


@pytest.mark.slow
@pytest.mark.untraced
@settings(max_examples=40, deadline=None)
@given(ROWS, st.booleans())
def test_columns_counted_together_are_counted_as_alone(rows: list[Row], missing_is_value: bool) -> None:
    """Rows alike in all columns are one line to the recount: what it says of one column does not change by another."""
    table = _arrow(rows, True)
    declared = ["r", "s"] if missing_is_value else []
    both = measure(table, ["q"], sensitive=["r", "s"], missing_is_value=declared)
    classes = measure(table, ["q"]).class_sizes
    for name in ("r", "s"):
        alone = measure(table, ["q"], sensitive=[name], missing_is_value=declared)
        assert both.sensitive[name] == alone.sensitive[name]
        assert both.class_sizes == alone.class_sizes == classes
    people = measure(table.append_column("u", pa.array(range(len(rows)))), ["q"], sensitive=["r"], unit="u")
    assert people.class_sizes == both.class_sizes


def test_missing_is_no_sensitive_value_unless_declared() -> None:
    """A class of hiv and missing discloses hiv for all with a value: l is 1, and 2 if missing is declared a value."""
    table = pa.table({"q": ["x"] * 10, "s": ["hiv"] * 9 + [None]})
    assert measure(table, ["q"], sensitive=["s"]).sensitive["s"]["l"] == 1
    assert measure(table, ["q"], sensitive=["s"]).sensitive["s"]["alpha"] == 1
    assert measure(table, ["q"], sensitive=["s"], missing_is_value=["s"]).sensitive["s"]["l"] == 2


def test_recursive_diversity_by_hand() -> None:
    """One class with counts 3, 2, 1: c must exceed 3 / 3 for l = 2 and 3 / 1 for l = 3."""
    table = pa.table({"q": ["x"] * 6, "s": ["a", "a", "a", "b", "b", "c"]})
    found = measure(table, ["q"], sensitive=["s"]).sensitive["s"]

    assert found["recursive_c_2"] == pytest.approx(1.0)
    assert found["recursive_c_3"] == pytest.approx(3.0)


def test_people_are_counted_once() -> None:
    """With a unit column a class of three rows of two people counts two."""
    table = pa.table({"q": ["x", "x", "x"], "who": [1, 1, 2]})
    found = measure(table, ["q"], unit="who")

    assert (found.k, found.people) == (3, 2)


def test_no_quasi_identifier_makes_one_class_and_no_row_makes_none() -> None:
    """The edges: everything dropped, nothing there."""
    table = pa.table({"q": pa.array(["x", "y"])})
    assert measure(table, []).k == 2
    assert measure(table.slice(0, 0), ["q"]).k == 0
    assert measure(table.slice(0, 0), []).rows == 0


def test_every_format_is_counted_alike(tmp_path: Path) -> None:
    """Parquet file, Parquet folder, CSV, compressed CSV and JSON Lines give the same classes."""
    frame = pd.DataFrame({"zip": ["01234"] * 3 + ["NA"] * 2 + ["1234"], "n": [1, 1, 1, 2, 2, 3]})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    (tmp_path / "folder" / "part=a").mkdir(parents=True)
    pq.write_table(table, tmp_path / "x.parquet")
    pq.write_table(table, tmp_path / "folder" / "part=a" / "0.parquet")
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_csv(tmp_path / "y.csv.gz", index=False)
    frame.to_json(tmp_path / "x.jsonl", orient="records", lines=True)

    for name in ("x.parquet", "folder", "x.csv", "y.csv.gz", "x.jsonl"):
        assert measure(tmp_path / name, ["zip", "n"]).class_sizes == ((1, 1), (2, 1), (3, 1)), name


def test_a_column_that_is_not_there_is_an_error_without_cells(tmp_path: Path) -> None:
    """DuckDB's message is replaced."""
    with pytest.raises(EngineError, match="recounting the table failed"):
        measure(pa.table({"q": ["MARKER"]}), ["nope"])


def test_risks_follow_from_the_class_sizes() -> None:
    """Prosecutor, journalist and marketer risk by hand: classes of 1 and 3 rows."""
    table = pa.table({"q": ["x", "y", "y", "y"]})
    risk = measure(table, ["q"]).to_dict(0.2)

    assert risk["prosecutor"] == {"max": 1.0, "mean": 0.5, "share_at_risk": 1.0, "risk_threshold": 0.2}
    assert risk["marketer"] == {"success_rate": 0.5}
    assert risk["uniques"] == 1


def test_a_file_that_is_no_table_is_an_error_without_cells(tmp_path: Path) -> None:
    """The error of a reader quotes cells; the message is replaced."""
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 MARKER")
    with pytest.raises(EngineError, match="cannot be read") as found:
        columns_of(path)
    assert "MARKER" not in str(found.value)


def test_diversity_of_no_row_is_none_and_of_some_classes_is_that_of_those() -> None:
    """Classes whose cells are all missing have no value to be diverse in, and the others are measured alone."""
    table = pa.table({"q": ["x", "x", "y", "y"], "s": ["a", "b", None, None]})
    found = measure(table, ["q"], sensitive=["s"]).sensitive["s"]
    assert found["l"] == 0
    assert measure(table.slice(0, 2), ["q"], sensitive=["s"]).sensitive["s"]["l"] == 2
    assert measure(table.slice(0, 0), ["q"], sensitive=["s"]).sensitive["s"]["l"] == 0


@pytest.mark.quick_cases("n", "people", "s0", "class")
@pytest.mark.parametrize("sensitive", ["class", "classes", "t", "n", "people", "unit", "s0", "q0", "value", "target"])
def test_columns_may_have_any_names(sensitive: str) -> None:
    """Also those that the counting has for itself, in every role: classes, values and people are the same."""
    other, whose = ("cells", "domain") if sensitive != "class" else ("s", "numbered")
    cells = {"a": [1, 1, 2, 2, 2], "b": ["x", "y", "x", "x", None], "c": [1, 2, 3, 4, 4]}

    def measured(names: dict[str, str]) -> Any:
        table = pa.table({names[name]: values for name, values in cells.items()})
        found = measure(table, [names["a"]], sensitive=[names["b"]], unit=names["c"], target=names["b"])
        assert found.uniform is not None
        return found.k, found.people, found.sizes, found.sensitive[names["b"]], found.uniform.share

    plain = measured({"a": "a", "b": "b", "c": "c"})
    assert measured({"a": other, "b": sensitive, "c": whose}) == plain
    assert measured({"a": sensitive, "b": whose, "c": other}) == plain
    assert measured({"a": whose, "b": other, "c": sensitive}) == plain


@pytest.mark.quick_cases("0.999-*", "0.3-gzip", "1.0-zstd")
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.999, 1.0])
def test_a_compressed_file_is_counted_to_its_end_or_not_at_all(tmp_path: Path, compression: str, share: float) -> None:
    """Rows before a cut may be alike where the rows behind it are not: DuckDB before 2.0 counts them all the same."""
    rows = ["age,zip", *(f"{20 + at % 7},{at * 7919 % 1000003}" for at in range(3000)), "91,1"]
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, compression) as stream:
        stream.write("\n".join(rows).encode())
    whole = packed.getvalue().to_pybytes()
    path = tmp_path / f"in.csv.{'gz' if compression == 'gzip' else 'zst'}"
    path.write_bytes(whole[: int(len(whole) * share)])
    if share == 1:
        assert measure(path, ["age"]).k == 1
        return
    for look in (columns_of, lambda table: measure(table, ["age"])):
        with pytest.raises(EngineError, match=f"is not a whole {compression} file"):
            look(path)
    path.write_bytes(whole)
    assert measure(path, ["age"]).k == 1
