"""Any table, any method: both engines release the same, or refuse in the same words."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from awkward import awkward_tables
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.engines import LocalEngine
from anonkit.errors import AnonkitError
from anonkit.methods import METHODS, make_method
from anonkit.policy.declaration import Policy

K_ANONYMOUS = ("rfka", "greedy-hamdist", "mondrian", "datafly", "incognito", "mdav")
PARAMETERS: dict[str, dict[str, Any]] = {
    "rfka": {"k": 3, "trees": 2, "max_suppression": 0.6},
    "greedy-hamdist": {"k": 3, "max_suppression": 0.6},
    "mondrian": {"k": 3},
    "datafly": {"k": 3, "max_suppression": 0.6},
    "incognito": {"k": 3, "max_suppression": 0.6},
    "mdav": {"k": 3, "max_suppression": 0.6},
    "safepub": {"epsilon": 20.0, "delta": 1e-3, "k": 3},
    "errph": {"p_keep": 0.5, "bins": 4},
    "ppnb": {"p_keep": 0.5},
    "trr": {},
    "c45-arithmetic": {"epsilon": 1.0, "depth": 2},
}
"""Every other method has an epsilon."""
ROLES = ("quasi_identifier", "quasi_identifier", "sensitive", "insensitive", "identifier", "unit")
HELD = (2, 10_000)
"""Rows a search may hold: fewer than there are, and all."""
VOLATILE = ("created", "utility")


@dataclass(frozen=True)
class Case:
    """A table, how it is stored, and what is requested."""

    table: pa.Table
    pieces: int
    """Files; none when the table stays in memory."""
    method: str
    roles: dict[str, str]
    missing: str
    held: int

    def __repr__(self) -> str:
        asked = f"{self.method}, {self.roles}, {self.missing}, {self.held} rows held, {self.pieces} files"
        return f"{asked}\n{self.table.schema}\n{self.table.to_pydict()}"

    @property
    def policy(self) -> Policy:
        """The roles, and one rule for missing cells."""
        columns = {name: {"role": role, "missing": self.missing} for name, role in self.roles.items()}
        return Policy.from_dict({"columns": columns})

    def place(self, folder: Path) -> Any:
        """Return the table, or the folder it was written to."""
        if not self.pieces:
            return self.table
        n = self.table.num_rows
        for at in range(self.pieces):
            start, stop = n * at // self.pieces, n * (at + 1) // self.pieces
            pq.write_table(self.table.slice(start, stop - start), folder / f"{at}.parquet", row_group_size=7)
        return folder


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a table in which every row occurs several times, and a release of it."""
    table = draw(awkward_tables(max_rows=8)).given
    roles = {name: draw(st.sampled_from(ROLES)) for name in table.column_names}
    roles[table.column_names[0]] = "quasi_identifier"
    for name in [name for name, role in roles.items() if role == "unit"][1:]:
        roles[name] = "quasi_identifier"
    labels = draw(st.lists(st.sampled_from(("yes", "no")), min_size=table.num_rows, max_size=table.num_rows))
    table, roles = table.append_column("label", [pa.array(labels, pa.string())]), {**roles, "label": "target"}
    return Case(
        table=pa.concat_tables([table] * draw(st.sampled_from((1, 3, 4)))),
        pieces=draw(st.integers(0, 3)),
        method=draw(st.sampled_from(list(METHODS))),
        roles=roles,
        missing=draw(st.sampled_from(("category", "category", "category", "drop", "error"))),
        held=draw(st.sampled_from(HELD)),
    )


@pytest.fixture(scope="module")
def engines(spark: Any) -> Iterator[tuple[Any, LocalEngine]]:
    """Both engines."""
    from anonkit.engines.spark.spark_engine import SparkEngine

    with SparkEngine(session=spark) as on_spark, LocalEngine() as local:
        yield on_spark, local


def _outcome(case: Case, source: Any, engine: Any) -> Any:
    engine.search_rows = case.held
    try:
        policy = case.policy
        made = anonkit.release(
            source,
            method=case.method,
            policy=policy,
            engine=engine,
            domains_from_data=case.method not in K_ANONYMOUS,
            seed=5,
            ledger=None,
            **PARAMETERS.get(case.method, {"epsilon": 1.0}),
        )
    except AnonkitError as error:
        return type(error), error.message, error.hint
    table = made.to_arrow()
    columns = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in table.columns]
    rows = sorted(map(repr, zip(*(map(str, column) for column in columns), strict=True)))
    report = {name: block for name, block in made.report.items() if name not in VOLATILE}
    return table.schema, rows, made.params, report


def _same_outcome(case: Case, engines: tuple[Any, LocalEngine]) -> None:
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        source = case.place(Path(folder))
        outcomes = [_outcome(case, source, engine) for engine in engines]
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_parameters_that_it_is_given(name: str) -> None:
    """A method that does not know one would be refused by both engines alike, whatever the table is."""
    assert make_method(name, PARAMETERS.get(name, {"epsilon": 1.0})).name == name


@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_both_engines_do_the_same_with_a_random_table(case: Case, engines: tuple[Any, LocalEngine]) -> None:
    """The same rows, types, params and report under a test seed, or the same refusal."""
    _same_outcome(case, engines)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_both_engines_do_the_same_with_many_random_tables(case: Case, engines: tuple[Any, LocalEngine]) -> None:
    """As above, many times."""
    _same_outcome(case, engines)
