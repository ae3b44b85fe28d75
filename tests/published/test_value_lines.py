"""Rows that show each value of a statement in a line, with its cell and its unit."""

from __future__ import annotations

from mechanisms.stated_tables import drawing, stating

from anonkit.published.statements.noise_statement import (
    Count,
    ModeScore,
    RankScore,
    Sum,
    Value,
)
from anonkit.published.statements.value_lines import lines_table, reserved_names


def test_lines_show_every_number_with_its_cell_and_its_unit() -> None:
    """Counts, a sum in the unit of its number, the edge of a quantile, and a chosen label in its own column."""
    statement = stating(
        drawing(Count(by=("sex",)), name="rows"),
        drawing(Sum(of="age"), name="ages", sex=1),
        drawing(RankScore(of="age", numerator=1, denominator=2), name="median"),
        drawing(ModeScore(of="sex"), name="mode"),
    )
    numbers = ((3, -1, 0), (-2,), (2,), (2,))
    values = tuple(Value(draw=draw.name, numbers=own) for draw, own in zip(statement.draws, numbers, strict=True))
    table = lines_table(statement, values).to_pydict()

    assert table["draw"] == ["rows", "rows", "rows", "ages", "median", "mode"]
    assert table["sex"] == ["F", "M", "other or missing", "M", None, "other or missing"]
    assert table["value"] == [3.0, -1.0, 0.0, -30.0, 60.0, None]
    assert table["of"] == [None, None, None, "age", "age", "sex"]
    assert reserved_names(statement) == set()
