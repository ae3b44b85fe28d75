"""dbt's tests, rendered without dbt and answered by DuckDB: what counts as a value there counts in a recount."""

from __future__ import annotations

import json
import re
from functools import cache
from types import SimpleNamespace
from typing import Any

import duckdb
import jinja2
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.checks.counted_as import ReadValues, folding
from anonkit.checks.disclosure import measure
from anonkit.integrations.dbt import PACKAGE
from anonkit.promises.no_values import NO_VALUES

MACROS = PACKAGE / "macros"


class RefusedError(Exception):
    """dbt would not compile the test."""


def _refuse(rule: str) -> None:
    raise RefusedError(rule)


def listed() -> list[str]:
    """The list of marks as dbt's package has it."""
    told: list[str] = []
    environment = jinja2.Environment(autoescape=False)
    source = (MACROS / "no_values.sql").read_text(encoding="utf-8") + "{{ no_values() }}"
    environment.from_string(source).render({"return": lambda values: told.extend(values)})
    return told


def rendered(test: str, **arguments: Any) -> str:
    """The SQL of a test, as dbt makes it for DuckDB."""
    return _rendered(test, json.dumps(arguments))


@cache
def _rendered(test: str, given: str) -> str:
    arguments = json.loads(given)
    source = "".join((MACROS / f"{name}.sql").read_text(encoding="utf-8") for name in ("cells", test))
    source = re.sub(r"\{% test (\w+)\(", r"{% macro test_\1(", source).replace("endtest", "endmacro")
    asked = ", ".join(f"{name}=given.{name}" for name in arguments)
    environment = jinja2.Environment(extensions=["jinja2.ext.do"], autoescape=False)
    template = environment.from_string(
        source.replace("anonkit.no_values()", "no_values").replace("anonkit.", "") + f"{{{{ test_{test}({asked}) }}}}"
    )
    return template.render(
        given=SimpleNamespace(**arguments),
        no_values=listed(),
        target=SimpleNamespace(type="duckdb"),
        dbt=SimpleNamespace(type_string=lambda: "varchar"),
        adapter=SimpleNamespace(quote=lambda name: f'"{name}"'),
        exceptions=SimpleNamespace(raise_compiler_error=_refuse),
    )


def failures(rows: pa.Table, test: str, **arguments: Any) -> list[tuple[Any, ...]]:
    """Return the rows that the test returns: none where it passes."""
    query = rendered(test, model="rows", columns=["q"], **arguments)
    _opened().register("rows", rows)
    return [tuple(row) for row in _opened().execute(query).fetchall()]


@cache
def _opened() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def test_the_list_of_dbt_is_the_published_one() -> None:
    """In its order."""
    assert listed() == list(NO_VALUES)


TEXTS = st.sampled_from(["hiv", "HIV ", "Unknown", "?", None, "flu", "Straße", "STRASSE", "Ärzte", "ärzte", "ﬀ", "ff"])


@given(st.lists(st.tuples(st.sampled_from("ab"), TEXTS), min_size=1, max_size=12), st.integers(1, 4), st.booleans())
def test_no_diversity_passes_that_a_recount_does_not_find(rows: list[Any], l: int, missing: bool) -> None:  # noqa: E741
    """If SQL can fold all strings both counts agree; else only the others are counted."""
    table = pa.table({"q": [q for q, _ in rows], "s": pa.array([s for _, s in rows], pa.string())})
    own = measure(table, ["q"], sensitive=["s"], missing_is_value=["s"] if missing else []).sensitive["s"]
    passes = not failures(table, "l_diverse", sensitive="s", l=l, missing_is_value=missing)
    if "ﬀ" in [s for _, s in rows]:
        assert own["l"] >= l or not passes
    else:
        assert passes == (own["l"] >= l)


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("ab"), TEXTS), min_size=1, max_size=12), st.floats(0.05, 0.95))
def test_no_closeness_passes_that_a_recount_does_not_find(rows: list[Any], t: float) -> None:
    """A text that SQL may not fold fails."""
    table = pa.table({"q": [q for q, _ in rows], "s": pa.array([s for _, s in rows], pa.string())})
    own = measure(table, ["q"], sensitive=["s"]).sensitive["s"]["t"]
    passes = not failures(table, "t_close", sensitive="s", t=t)
    uncertain = "ﬀ" in [s for _, s in rows]
    assert passes == (own <= t + 1e-9 and not uncertain)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.floats(0, 9)), min_size=1, max_size=9),
    st.sampled_from([0.5, 2.0, 20.0]),
)
def test_two_numbers_are_values_where_their_range_is_above_the_width(rows: list[Any], width: float) -> None:
    """For l = 2 that is greedy packing."""
    table = pa.table({"q": [q for q, _ in rows], "s": pa.array([s for _, s in rows], pa.float64())})
    own = measure(table, ["q"], sensitive=["s"], reading=ReadValues(widths={"s": width})).sensitive["s"]["l"]
    assert (failures(table, "l_diverse", sensitive="s", l=2, width=width) == []) == (own >= 2)


def test_what_cannot_be_counted_in_sql_does_not_pass() -> None:
    """A number without a width fails, a width with l = 3 does not compile, and codes have the width 0."""
    numbers = pa.table({"q": ["a"] * 3, "s": [1.0, 5.0, 9.0]})
    assert failures(numbers, "l_diverse", sensitive="s", l=2) == [(-1, 0)]
    assert failures(numbers, "l_diverse", sensitive="s", l=3, width=0) == []
    with pytest.raises(RefusedError, match="l above 2"):
        failures(numbers, "l_diverse", sensitive="s", l=3, width=1.5)
    with pytest.raises(RefusedError, match="0 or more"):
        failures(numbers, "l_diverse", sensitive="s", l=2, width=-1)
    with pytest.raises(RefusedError, match="list of texts"):
        failures(numbers, "l_diverse", sensitive="s", l=2, categories="unknown")


def test_declared_categories_are_values_in_dbt_too() -> None:
    """Declared categories are values in dbt too, even if they are on the list of marks."""
    table = pa.table({"q": ["a", "a"], "s": ["Unknown", "hiv"]})
    assert failures(table, "l_diverse", sensitive="s", l=2) == [(1, 1)]
    assert failures(table, "l_diverse", sensitive="s", l=2, categories=["unknown"]) == []


@given(st.text(max_size=6))
def test_a_text_that_sql_calls_certain_is_folded_alike(text: str) -> None:
    """A string with any letters is folded alike, or SQL calls it uncertain."""
    cells = rendered("l_diverse", model="rows", columns=["q"], sensitive="s", l=1).partition("with cells as (")[2]
    query = cells.partition("),\nclasses as")[0]
    _opened().register("rows", pa.table({"q": ["a"], "s": [text]}))
    folded, uncertain = _opened().execute(f"SELECT f, uncertain FROM ({query})").fetchall()[0]
    if not uncertain:
        assert folded == (None if folding(text) in NO_VALUES else folding(text))
