"""Columns of a table, whatever frame it comes in.

Sums of a randomized table: they add up, and refuse what cannot have been published.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.consumers.column_statistics import ClassStatistics, Columns, StoredStatistics
from anonkit.documents import read
from anonkit.domains.number_bins import UNKNOWN, Categories
from anonkit.errors import ReleaseFormatError, SourceError
from anonkit.estimators.number_estimates import PowerSums
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import PUBLISHED, BandResponse, TransformedResponse
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

from .conftest import CLASSES, COLOURS, HEIGHTS, colours_by_class, publish_table

TRR = TransformedResponse(multiplier=PUBLISHED["N(1,1)"][0], offset=PUBLISHED["N(1,1)"][1])
TARGET = PublishedTarget(name="class", domain=CLASSES, mechanism=RandomizedResponse.clear(2))
COLOUR = PublishedAttribute(name="colour", domain=COLOURS, mechanism=RandomizedResponse.equal(3, 0.5))
BAND = PublishedAttribute(name="height", domain=HEIGHTS, mechanism=BandResponse.square_wave(2.0, 12))
POWERS = PublishedAttribute(name="height", domain=None, mechanism=TRR)


def _again(table: PublishedTable, raw: Any) -> ClassStatistics:
    return ClassStatistics.of(table, read(StoredStatistics, raw))


def joint_table() -> PublishedTable:
    """Both attributes answered one per row, jointly with the class."""
    mechanisms = RandomizedResponse.from_epsilon(6, 2.0), BandResponse.square_wave(2.0, 12, segments=2)
    return PublishedTable(
        target=PublishedTarget(name="class", domain=CLASSES, mechanism=None),
        attributes=tuple(
            PublishedAttribute(name=each.name, domain=each.domain, mechanism=mechanism, joint_with_target=True)
            for each, mechanism in zip((COLOUR, BAND), mechanisms, strict=True)
        ),
        asked_column="asked",
    )


TABLES = [
    PublishedTable(target=TARGET, attributes=(COLOUR, BAND)),
    PublishedTable(target=TARGET, attributes=(COLOUR, POWERS)),
    joint_table(),
    PublishedTable(target=None, attributes=(COLOUR,)),
]


def summed(table: PublishedTable, released: dict[str, np.ndarray], *cuts: int) -> ClassStatistics:
    """Sum a table in batches that end at the cuts."""
    statistics = ClassStatistics(table)
    edges = [0, *cuts, len(next(iter(released.values())))]
    for start, stop in pairwise(edges):
        statistics.add(Columns({name: column[start:stop] for name, column in released.items()}))
    return statistics


def assert_same(first: ClassStatistics, second: ClassStatistics) -> None:
    """Equal counts, equal power sums."""
    assert np.array_equal(first.label_counts, second.label_counts)
    for name, sums in first.sums.items():
        other = second.sums[name]
        if isinstance(sums, PowerSums):
            assert isinstance(other, PowerSums)
            assert np.allclose(sums.sums, other.about(sums.origin).sums, rtol=1e-9)
            assert np.array_equal(sums.blanks, other.blanks)
        else:
            assert np.array_equal(sums, other)


@pytest.mark.parametrize("table", TABLES)
@given(cuts=st.lists(st.integers(1, 299), max_size=4))
def test_batches_add_up_to_the_whole(table: PublishedTable, cuts: list[int]) -> None:
    """For any division of a table into batches the sums are those of the whole."""
    released = publish_table(table, colours_by_class(300, 1), 1)
    assert_same(summed(table, released), summed(table, released, *sorted(cuts)))


@pytest.mark.parametrize("table", TABLES)
def test_parts_summed_elsewhere_merge(table: PublishedTable) -> None:
    """Two machines, one table; and the sums survive JSON."""
    released = publish_table(table, colours_by_class(300, 1), 1)
    halves = [
        summed(table, {name: column[part] for name, column in released.items()})
        for part in (slice(150), slice(150, None))
    ]
    halves[0].merge(halves[1])
    assert_same(halves[0], summed(table, released))
    assert_same(_again(table, json.loads(json.dumps(halves[0].stored.to_dict()))), halves[0])


def test_rows_answer_only_what_they_were_asked() -> None:
    """With one attribute per row the answers of both attributes together are the rows."""
    table = joint_table()
    statistics = summed(table, publish_table(table, colours_by_class(300, 1), 1))
    totals = [int(np.asarray(sums).sum()) for sums in statistics.sums.values()]
    assert sum(totals) == 300
    assert min(totals) > 100


def test_only_the_attributes_asked_for_are_summed() -> None:
    """A table of frequencies needs one column."""
    table = TABLES[0]
    statistics = ClassStatistics(table, only=("colour",))
    statistics.add(Columns({"colour": ["red"], "class": ["no"]}))
    assert list(statistics.sums) == ["colour"]


@pytest.mark.parametrize(
    "change",
    [
        {"colour": ["red", "marker-7"]},
        {"colour": ["red", None]},
        {"class": ["no", "marker-7"]},
        {"height": [3.5, 1e9]},
        {"height": [3.5, None]},
    ],
)
def test_values_that_cannot_have_been_published_are_refused(change: dict[str, Any]) -> None:
    """The message counts rows and names the column; it shows no cell."""
    data = {"colour": ["red", "blue"], "height": [3.5, 3.5], "class": ["no", "yes"], **change}
    with pytest.raises(SourceError, match="1 of 2 rows hold a value outside the published domain") as caught:
        ClassStatistics(TABLES[0]).add(Columns(data))
    assert "marker" not in str(caught.value)
    assert next(iter(change)) in str(caught.value)


def test_other_tables_do_not_merge() -> None:
    """Sums of tables with different parameters mean different things."""
    with pytest.raises(ReleaseFormatError, match="different parameters"):
        ClassStatistics(TABLES[0]).merge(ClassStatistics(TABLES[1]))


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"label_counts": [1], "sums": {}},
        {"label_counts": [1, 2], "sums": {"x": {}}},
        {"label_counts": [1, 2], "sums": {}},
    ],
)
def test_damaged_sums_are_refused(raw: dict[str, Any]) -> None:
    """Missing keys and wrong shapes are format errors."""
    with pytest.raises(ReleaseFormatError):
        _again(TABLES[0], raw)


def test_sums_of_another_shape_are_refused() -> None:
    """Counts of one answer too few do not fit the params."""
    raw = summed(TABLES[0], publish_table(TABLES[0], colours_by_class(50, 1), 1)).stored.to_dict()
    raw["sums"]["colour"]["counts"] = [[1, 2], [3, 4]]
    with pytest.raises(ReleaseFormatError, match="do not fit"):
        _again(TABLES[0], raw)


DOMAIN = Categories(values=("a", "b"), has_missing=True)
CELLS: dict[str, Any] = {"letter": ["b", None, "a", "zzz"], "number": [1.5, None, 3.0, -0.0]}


@pytest.mark.parametrize(
    "frame",
    [
        CELLS,
        pa.table(CELLS),
        pa.table(CELLS).to_batches()[0],
        pd.DataFrame(CELLS),
        pd.DataFrame(CELLS).astype({"letter": "category"}),
        pl.DataFrame(CELLS),
        pa.table(
            {"letter": pa.chunked_array([["b", None], ["a", "zzz"]]).dictionary_encode(), "number": CELLS["number"]}
        ),
    ],
    ids=["mapping", "arrow", "batch", "pandas", "pandas categorical", "polars", "dictionary"],
)
def test_every_frame_gives_the_same_columns(frame: Any) -> None:
    """Codes by value, missing its own code, unknown values marked, numbers with NaN for missing."""
    columns = Columns(frame)
    assert columns.n_rows == 4
    assert columns.codes("letter", DOMAIN).tolist() == [1, 2, 0, UNKNOWN]
    assert np.array_equal(columns.numbers("number"), [1.5, np.nan, 3.0, 0.0], equal_nan=True)
    assert "letter" in columns


def test_missing_without_a_code_is_unknown() -> None:
    """A domain that has no missing knows no missing cell."""
    assert Columns(CELLS).codes("letter", Categories(values=("a", "b"))).tolist() == [1, UNKNOWN, 0, UNKNOWN]


def test_a_column_of_nothing_is_missing_numbers() -> None:
    """A column without any value has no type and holds no number."""
    assert np.isnan(Columns({"x": [None, None]}).numbers("x")).all()


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"colour": ["marker-1"]}, "column 'color' is not in the table"),
        ({"color": ["marker-1", 2]}, "mixed types"),
        ({"color": ["marker-1"]}, "must hold numbers"),
    ],
)
def test_unreadable_columns_are_named_and_no_cell_is_shown(frame: Any, message: str) -> None:
    """The error names the column, never a value."""
    with pytest.raises(SourceError, match=message) as caught:
        Columns(frame).numbers("color")
    assert "marker" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [pd.Series([1]), [[1, 2]], 3, pd.DataFrame([[1, 2]], columns=["x", "x"])],
    ids=["series", "list", "int", "twice"],
)
def test_what_is_no_table_with_named_columns_is_refused(data: Any) -> None:
    """A single column, nested lists, a number, and two columns of one name."""
    with pytest.raises(SourceError):
        Columns(data)
