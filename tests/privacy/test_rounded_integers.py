"""Integers that came as floats: from 2^53 on two of them are one, and that of one row decides it for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anonkit
from anonkit.errors import GuaranteeError
from anonkit.policy.column_declarations import Column, ColumnType, Role
from anonkit.policy.declaration import Policy

FIRST = 2**53
N = 100
COLUMNS = {
    "who": Column(name="who", role=Role.UNIT),
    "code": Column(name="code", categories=("a", "b")),
    "label": Column(name="label", role=Role.TARGET, categories=("no", "yes")),
}
NOISE: dict[str, dict[str, Any]] = {
    "dp-marginals": {"epsilon": 1.0},
    "dp-tables": {"epsilon": 1.0},
    "dp-nb": {"epsilon": 1.0},
}


def _frame(who: Any, code: Any = None) -> pd.DataFrame:
    """Return the rows of a hundred people, two each."""
    codes = ["a", "b"] * N if code is None else code
    return pd.DataFrame({"who": who, "code": codes, "label": ["no", "yes"] * N})


def _ids(kind: str) -> pd.Series:
    return pd.Series([FIRST + at // 2 for at in range(2 * N)], dtype=kind)


def _released(source: Any, policy: Policy, method: str = "dp-marginals", **more: Any) -> anonkit.Release:
    return anonkit.release(source, method=method, policy=policy, ledger=None, utility=False, **NOISE[method], **more)


def _forms(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, folder / "in.parquet")
    return {"pandas": frame, "Arrow": table, "Parquet": folder / "in.parquet"}


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", ["pandas", "Arrow", "Parquet"])
@pytest.mark.parametrize("method", NOISE)
def test_a_unit_of_floats_is_refused_under_noise(
    method: str, form: str, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A row without a person makes floats of the numbers of all others in pandas: 100 people become 51."""
    if engine == "spark":
        request.getfixturevalue("spark")
    policy = Policy(columns=COLUMNS)
    nobody = pd.concat([_frame(_ids("int64")), pd.DataFrame({"who": [None], "code": ["a"], "label": ["no"]})])
    assert nobody["who"].astype("float64").nunique() < 60
    with pytest.raises(GuaranteeError, match="column 'who' holds floating-point numbers") as refused:
        _released(_forms(nobody.astype({"who": "float64"}), tmp_path)[form], policy, method, engine=engine)
    assert str(FIRST)[:6] not in str(refused.value)
    assert refused.value.exit_code == 1


@pytest.mark.parametrize("kind", ["int64", "Int64", "str"])
def test_units_of_whole_numbers_and_texts_are_taken(kind: str) -> None:
    """Integer units and string units of any size are allowed."""
    assert _released(_frame(_ids("int64").astype(kind)), Policy(columns=COLUMNS)).report["rows"]["out"] > 0


def test_the_type_decides_and_no_cell() -> None:
    """Floats that are no integers, or small, are refused too, and so are those of a table without rows."""
    for who in ([0.5] * (2 * N), [1.0] * (2 * N)):
        with pytest.raises(GuaranteeError, match="'who' holds floating-point numbers"):
            _released(_frame(who), Policy(columns=COLUMNS))
    with pytest.raises(GuaranteeError, match="'who' holds floating-point numbers"):
        _released(_frame(_ids("float64")).iloc[:0], Policy(columns=COLUMNS))


def test_one_of_several_columns_of_a_unit_is_refused() -> None:
    """A floating-point column in a unit of two columns is refused."""
    frame = _frame(_ids("float64")).assign(branch="x")
    columns = {**COLUMNS, "branch": Column(name="branch", role=Role.UNIT)}
    with pytest.raises(GuaranteeError, match="'who' holds floating-point numbers"):
        _released(frame, Policy(columns=columns))


@pytest.mark.parametrize(
    ("kind", "values", "refused"),
    [
        ("float64", (FIRST - 2, FIRST - 1), False),
        ("float64", (FIRST, FIRST + 1), True),
        ("float64", (-FIRST - 1, 0), True),
        ("int64", (FIRST, FIRST + 1), False),
        ("float32", (2**24, 1), True),
        ("float32", (2**24 - 1, 1), False),
    ],
)
def test_declared_whole_numbers_that_floats_do_not_hold_are_refused(
    kind: str, values: tuple[int, int], refused: bool
) -> None:
    """By the declared categories and the type of the column, whatever is in it."""
    policy = Policy(columns={**COLUMNS, "code": Column(name="code", categories=tuple(map(str, values)))})
    frame = _frame(_ids("int64"), pd.Series([values[0], values[1]] * N, dtype=kind))
    if not refused:
        assert _released(frame, policy).report["rows"]["out"] > 0
        return
    with pytest.raises(GuaranteeError, match="column 'code' holds floating-point numbers"):
        _released(frame, policy)


def test_whole_numbers_between_bounds_are_refused_where_floats_do_not_hold_the_bounds() -> None:
    """`type = "integer"` with bounds beyond 2^53: a rounded number is in the next bin; a measure is rounded anyway."""
    bounds = (0.0, float(2**60))
    for kind, refused in ((ColumnType.INTEGER, True), (None, False)):
        policy = Policy(columns={**COLUMNS, "code": Column(name="code", type=kind, bounds=bounds)})
        frame = _frame(_ids("int64"), pd.Series([float(FIRST)] * (2 * N)))
        if refused:
            with pytest.raises(GuaranteeError, match="column 'code' holds floating-point numbers"):
                _released(frame, policy)
        else:
            assert _released(frame, policy).report["rows"]["out"] > 0


def test_classes_of_rows_take_floats() -> None:
    """k-anonymity counts what it was given, and says so of the table itself."""
    made = anonkit.release(
        _frame(_ids("float64")), method="mondrian", k=5, policy=Policy(columns=COLUMNS), ledger=None, utility=False
    )
    assert made.report["rows"]["out"] > 0
