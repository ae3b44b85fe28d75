"""The worth of a release to who predicts a number: R² and mean absolute error with intervals, beside the mean's."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from anonkit.utility.class_utility import RowsAsReleased
from anonkit.utility.consumer_models import MEAN, numbers_of, scored, scores_of_number_models
from anonkit.utility.number_utility import number_for_all_rows, number_utility

RANDOM = np.random.default_rng(7)
CAUSE = RANDOM.integers(0, 8, 400)
NUMBER = 10.0 * CAUSE + RANDOM.normal(0, 5, CAUSE.size)
TABLE = pa.table({"cause": CAUSE, "noise": RANDOM.integers(0, 5, CAUSE.size), "y": NUMBER})
NAMES = ["cause", "noise"]


def as_released(cause: np.ndarray, released: np.ndarray | None = None) -> RowsAsReleased:
    """Return rows that show a cause, all of them with a place."""
    every = np.ones(cause.size, dtype=bool)
    return RowsAsReleased(
        table=pa.table({"cause": cause}), released=every if released is None else released, placed=every
    )


MANY = RANDOM.integers(0, 8, 1_500)
LONG = pa.table(
    {"cause": MANY, "noise": RANDOM.integers(0, 5, MANY.size), "y": 10.0 * MANY + RANDOM.normal(0, 5, MANY.size)}
)


def test_what_explains_the_number_is_seen() -> None:
    """R² is near that of the true law, the error near that of its noise, and the mean explains nothing."""
    found = number_utility(LONG, NAMES, "y", 300)

    assert found is not None
    assert found["r2"] == pytest.approx(1 - 25 / LONG.column("y").to_numpy()[:300].var(), abs=0.03)
    assert found["mae"] == pytest.approx(5 * np.sqrt(2 / np.pi), rel=0.15)
    assert found["of_mean"]["r2"] == pytest.approx(0, abs=0.02)
    assert all(found["ci"][name][0] < found[name] < found["ci"][name][1] for name in ("r2", "mae"))


@pytest.mark.parametrize(
    "rows",
    [
        LONG.slice(0, 90),
        LONG.set_column(2, "y", pa.array([1.0] * LONG.num_rows)),
        LONG.set_column(2, "y", pa.array(["word"] * LONG.num_rows)),
    ],
)
def test_nothing_is_said_where_there_is_nothing_to_explain(rows: pa.Table) -> None:
    """Few rows, one number alone, no number: no score; neither without a feature."""
    assert number_utility(rows, NAMES, "y", 300) is None
    assert number_utility(LONG, [], "y", 300) is None
    assert number_utility(LONG, NAMES, "y", 299) is number_utility(LONG, NAMES, "y", 1_401) is None
    assert number_for_all_rows(rows, NAMES, "y", as_released(np.zeros(rows.num_rows))) is None


def test_a_release_without_detail_loses_and_one_with_all_of_it_does_not() -> None:
    """The difference says worse, or that none can be shown; a release without columns predicts the mean."""
    same = number_for_all_rows(TABLE, NAMES, "y", as_released(CAUSE))
    coarse = number_for_all_rows(TABLE, NAMES, "y", as_released(CAUSE // 4))
    empty = number_for_all_rows(
        TABLE, NAMES, "y", RowsAsReleased(table=pa.table({}), released=CAUSE >= 0, placed=CAUSE >= 0)
    )

    assert same is not None
    assert coarse is not None
    assert empty is not None
    assert coarse["difference"]["r2"]["shows"] == coarse["difference"]["mae"]["shows"] == "worse"
    assert abs(same["difference"]["r2"]["value"]) < 0.02
    assert empty["from_release"]["r2"] == pytest.approx(empty["of_mean"]["r2"], abs=1e-4)
    assert coarse["rows_left_out"] == 0


def test_rows_left_out_are_asked_about() -> None:
    """If whole causes are left out a model of the release is wrong about them, and the figures show it."""
    found = number_for_all_rows(TABLE, NAMES, "y", as_released(CAUSE, CAUSE < 4))
    nobody = number_for_all_rows(TABLE, NAMES, "y", as_released(CAUSE, CAUSE < 0))

    assert found is not None
    assert nobody is not None
    assert found["rows_left_out"] == int((CAUSE >= 4).sum())
    assert found["difference"]["r2"]["shows"] == "worse"
    assert nobody["from_release"]["r2"] < 0.05


def test_nobody_is_in_two_folds() -> None:
    """With people of many rows the figures are those of unknown people: what is true of one alone is not learned."""
    people = np.repeat(np.arange(40), 10)
    table = pa.table({"who": people, "y": np.repeat(RANDOM.normal(size=40), 10)})
    shown = RowsAsReleased(table=table.select(["who"]), released=people >= 0, placed=people >= 0)

    alone, by_person = (number_for_all_rows(table, ["who"], "y", shown, whose) for whose in (None, people))

    assert alone is not None
    assert by_person is not None
    assert alone["from_source"]["r2"] > 0.9
    assert by_person["from_source"]["r2"] < 0.5


def test_cells_as_numbers_by_their_type() -> None:
    """Numbers, decimals, days and texts that spell one; times of day, words and missing cells are none."""
    noon = datetime.datetime(1970, 1, 2, 12)
    columns = {
        "i": pa.array([1, None]),
        "d": pa.array([Decimal("1.5"), None]),
        "s": pa.array(["2.5", "N"]),
        "c": pa.array(["nan", "3e1"]).dictionary_encode(),
        "b": pa.array([True, False]),
        "t": pa.array([noon, None]),
        "o": pa.array([datetime.time(1), None]),
        "x": pa.array(["1.2.3", None]),
    }
    found = {name: numbers_of(pa.chunked_array([column])) for name, column in columns.items()}

    for name, first in {"i": 1.0, "d": 1.5, "s": 2.5, "t": 1.5}.items():
        assert found[name][0] == first
        assert np.isnan(found[name][1])
    assert found["c"][1] == 30
    assert all(np.isnan(found[name]).all() for name in ("b", "o", "x"))


def test_models_of_a_release_beside_the_mean() -> None:
    """Three models and the mean, each with intervals; nothing for few rows or one number."""
    train, test = TABLE.slice(0, 300), TABLE.slice(300)
    found = scores_of_number_models(train, test, "y")

    assert list(found) == [MEAN, "random forest", "boosted trees", "linear regression"]
    assert found[MEAN]["r2"] < 0.02 < 0.7 < found["linear regression"]["r2"]
    assert found["boosted trees"]["ci"]["mae"][0] < found["boosted trees"]["mae"]
    assert list(scores_of_number_models(train.select(["y"]), test, "y")) == [MEAN]
    assert scores_of_number_models(train.slice(0, 5), test, "y") == {}
    assert scores_of_number_models(train, test.slice(0, 1), "y") == {}
    assert scored(np.ones(3), np.ones(3)) == {}
    assert "ci" not in scored(np.ones(3), np.arange(3.0))
