"""The worth of a table to a forest: a score if it can be computed, and else none.

The error of a release in the joint distribution of two columns, against tables whose error is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonkit.utility import class_utility, number_utility
from anonkit.utility.bagged_trees import BaggedTrees
from anonkit.utility.class_utility import RowsAsReleased, pair_marginals, prediction_for_all_rows, predictive_utility

SIDE = np.tile(np.arange(4), 50)
TABLE = pa.table({"a": SIDE, "b": SIDE, "c": np.repeat(["x", "y"], 100)})
EVERY = np.ones(200, dtype=bool)


def test_a_release_of_everything_has_no_error() -> None:
    """Every pair is published exactly."""
    found = pair_marginals(TABLE, TABLE, EVERY)

    assert found is not None
    assert (found["pairs"], found["mean_total_variation"], found["worst"]) == (3, 0.0, 0.0)


def test_a_column_that_is_not_released_stands_for_anything() -> None:
    """Equal columns of four values: without one of them the pair is spread over 16 cells instead of 4."""
    found = pair_marginals(TABLE, TABLE.select(["a", "c"]), EVERY)

    assert found is not None
    assert found["worst_pair"] == ["a", "b"]
    assert found["worst"] == 0.75
    assert found["mean_total_variation"] == pytest.approx(0.25)


def test_cells_are_spread_over_what_they_stand_for() -> None:
    """Halves of a column of four values, beside an equal one: each cell is spread over two of four."""
    shown = TABLE.set_column(0, "a", pa.array(np.where(SIDE < 2, "0|1", "2|3")))

    found = pair_marginals(TABLE, shown, EVERY)

    assert found is not None
    assert found["worst"] == 0.5


def test_rows_left_out_are_an_error() -> None:
    """Without the rows of two of four values half of the distribution is missing."""
    found = pair_marginals(TABLE, TABLE, SIDE < 2)

    assert found is not None
    assert found["worst"] == 0.5


def test_many_values_are_compared_in_parts() -> None:
    """Numbers in twenty parts of about as many rows, categories by the twenty commonest; missing is a part too."""
    random = np.random.default_rng(0)
    words = pa.array([f"w{at}" for at in random.integers(0, 60, 2000)]).dictionary_encode()
    table = pa.table({"n": pa.array([None, *random.normal(size=1999)]), "w": words})

    same, without = (pair_marginals(table, shown, np.ones(2000, dtype=bool)) for shown in (table, table.select(["w"])))

    assert same is not None
    assert without is not None
    assert same["worst"] == 0.0
    assert 0.0 < without["worst"] < 0.5


def test_nothing_is_said_of_less_than_two_columns() -> None:
    """One column, columns of one value, and a release of no row have no pair."""
    assert pair_marginals(TABLE.select(["a"]), TABLE, EVERY) is None
    assert pair_marginals(pa.table({"a": SIDE, "b": [1] * 200}), TABLE, EVERY) is None
    assert pair_marginals(TABLE, TABLE, ~EVERY) is None


RNG = np.random.default_rng(0)
NUMBERS = RNG.integers(0, 10, 400)


MANY = RNG.integers(0, 10, 500)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_target_that_follows_from_a_feature_is_predicted(classes: int) -> None:
    """Nearly always right, beside the share of the commonest class; the labels of the rows scored teach nothing."""
    labels = np.array([f"c{value % classes}" for value in MANY])
    table = pa.table({"x": MANY, "y": labels})
    found = predictive_utility(table, ["x"], "y", 300)
    assert found is not None
    assert min(found["auc"], found["accuracy"], found["balanced_accuracy"]) > 0.95
    names, counts = np.unique(labels[300:], return_counts=True)
    assert found["majority"] == round(float((labels[:300] == names[counts.argmax()]).mean()), 4)
    random = table.set_column(1, "y", pa.array([*RNG.permutation(labels[:300]), *labels[300:]]))
    other = predictive_utility(random, ["x"], "y", 300)
    assert other is not None
    assert other["accuracy"] < 0.75


@pytest.mark.parametrize(
    ("target", "scored"),
    [
        (["a"] * 500, 300),
        (["a"] * 490 + ["b"] * 10, 300),
        (["b"] * 10 + ["a"] * 490, 300),
        ([str(at) for at in range(500)], 300),
        (["a", "b"] * 20 + [None] * 460, 300),
        (["a", "b"] * 250, 299),
        (["a", "b"] * 250, 401),
    ],
    ids=["one class", "none scored", "none learned", "many classes", "few with a class", "few scored", "few learned"],
)
def test_where_a_score_says_nothing_there_is_none(target: list[str | None], scored: int) -> None:
    """One class, a class of few rows on either side, a class a row, too few rows with a target on either side."""
    assert predictive_utility(pa.table({"x": MANY, "y": target}), ["x"], "y", scored) is None
    assert predictive_utility(pa.table({"y": ["a", "b"] * 250}), [], "y", 300) is None


def test_rows_without_a_target_are_not_scored() -> None:
    """Blanks among the first rows leave fewer to score, and none of the rows behind them takes their place."""
    table = pa.table({"x": MANY, "y": np.where(MANY < 5, "a", "b")})
    blank = table.set_column(1, "y", pa.array([None] * 5 + table.column("y").to_pylist()[5:]))
    assert predictive_utility(blank, ["x"], "y", 300) is None
    assert predictive_utility(blank, ["x"], "y", 305) is not None


def _as_it_is(table: pa.Table) -> RowsAsReleased:
    every = np.ones(table.num_rows, dtype=bool)
    return RowsAsReleased(table=table.select(["x", "z"]), released=every, placed=every)


LABELS = [f"c{value // 3}" if RNG.random() < 0.7 else f"c{RNG.integers(4)}" for value in NUMBERS]
SOURCE = pa.table({"x": NUMBERS, "z": RNG.integers(0, 5, 400), "y": LABELS})


def test_a_release_that_is_its_source_differs_by_nothing() -> None:
    """The same folds of the same rows and the same models: 0, an interval that holds 0."""
    found = prediction_for_all_rows(SOURCE, ["x", "z"], "y", _as_it_is(SOURCE))
    assert found is not None
    assert found["from_source"] == found["from_release"]
    assert set(found["difference"]) == {"auc", "balanced_accuracy", "accuracy"}
    for difference in found["difference"].values():
        assert difference == {"value": 0.0, "ci": [0.0, 0.0], "shows": "no difference that these rows can show"}


def test_the_figures_of_the_source_are_the_same_whatever_the_release() -> None:
    """A release without a feature guesses the commonest class, and changes nothing of what is beside it."""
    every = np.ones(400, dtype=bool)
    empty = RowsAsReleased(table=SOURCE.select([]), released=every, placed=every)
    half = RowsAsReleased(table=SOURCE.select(["z"]), released=np.arange(400) % 2 == 0, placed=every)
    found = [prediction_for_all_rows(SOURCE, ["x", "z"], "y", one) for one in (_as_it_is(SOURCE), empty, half)]
    assert all(one is not None and one["from_source"] == found[0]["from_source"] for one in found if found[0])
    assert found[1] is not None
    assert found[2] is not None
    assert (found[1]["from_release"]["auc"], found[1]["from_release"]["accuracy"]) == (0.5, found[1]["majority"])
    assert found[1]["difference"]["auc"]["shows"] == "worse"
    assert (found[0] or {})["rows_left_out"] == 0
    assert (found[2]["rows"], found[2]["rows_left_out"]) == (400, 200)


def test_rows_without_a_place_are_guessed_by_the_shares_of_the_classes() -> None:
    """A class that is left out whole is never guessed; without any row to predict, a model is worth a coin."""
    every = np.ones(400, dtype=bool)
    gone = np.array([label != "c0" for label in LABELS])
    learned = prediction_for_all_rows(
        SOURCE, ["x", "z"], "y", RowsAsReleased(table=SOURCE.select(["x", "z"]), released=gone, placed=gone)
    )
    blind = prediction_for_all_rows(
        SOURCE, ["x", "z"], "y", RowsAsReleased(table=SOURCE.select(["x", "z"]), released=every, placed=~every)
    )
    nobody = prediction_for_all_rows(
        SOURCE, ["x", "z"], "y", RowsAsReleased(table=SOURCE.select(["x", "z"]), released=~every, placed=every)
    )
    assert learned is not None
    assert blind is not None
    assert nobody is not None
    assert learned["rows_left_out"] == LABELS.count("c0")
    assert learned["from_release"]["accuracy"] <= 1 - LABELS.count("c0") / 400
    assert blind["from_release"]["auc"] == nobody["from_release"]["auc"] == 0.5


def test_nobody_is_learned_from_and_asked_about() -> None:
    """Of 50 people with eight equal rows and random labels a model knows nothing; by rows it would know them all."""
    who = np.repeat(np.arange(50), 8)
    label = np.repeat(RNG.permutation(np.arange(50) % 2), 8)
    table = pa.table({"x": who, "z": who, "y": label})
    by_rows = prediction_for_all_rows(table, ["x", "z"], "y", _as_it_is(table))
    by_people = prediction_for_all_rows(table, ["x", "z"], "y", _as_it_is(table), who)
    assert by_rows is not None
    assert by_people is not None
    assert by_rows["from_source"]["auc"] > 0.9
    assert by_people["from_source"]["auc"] < 0.75
    few = np.where(label == 1, 0, who)  # all rows of a class are one person's
    assert prediction_for_all_rows(table, ["x", "z"], "y", _as_it_is(table), few) is None


def test_a_fold_of_one_class_alone_says_nothing() -> None:
    """Five people hold the rare class beside the usual one: dealt to folds by the latter, two of them share a fold."""
    who = np.append(np.arange(200), np.arange(5))
    label = ["usual"] * 200 + ["zz rare"] * 5
    table = pa.table({"x": who, "z": who % 7, "y": label})
    assert prediction_for_all_rows(table, ["x", "z"], "y", _as_it_is(table)) is not None
    assert prediction_for_all_rows(table, ["x", "z"], "y", _as_it_is(table), who) is None


def test_figures_carry_intervals() -> None:
    """Each of the three measures has its 95 % interval, and lies in it."""
    table = pa.concat_tables([SOURCE, SOURCE])
    found = predictive_utility(table, ["x", "z"], "y", 300)
    assert found is not None
    assert set(found["ci"]) == {"auc", "balanced_accuracy", "accuracy"}
    assert all(low <= found[name] <= high for name, (low, high) in found["ci"].items())


@pytest.mark.parametrize(("rows", "drawn"), [(620, 320), (4_000, 2_048)])
def test_a_tree_learns_from_no_more_rows_than_the_protocol_says(
    rows: int, drawn: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as there are to learn from, 2,048 at most: of numbers too."""
    given: list[int] = []

    def counted(grow: Callable[..., BaggedTrees]) -> Callable[..., BaggedTrees]:
        def grown(*args: Any, **named: Any) -> BaggedTrees:
            forest = grow(*args, **named)
            given.extend(sample.size for sample in forest.estimators_samples_)
            return forest

        return grown

    monkeypatch.setattr(class_utility, "grow_trees", counted(class_utility.grow_trees))
    monkeypatch.setattr(number_utility, "grow_number_trees", counted(number_utility.grow_number_trees))
    values = np.arange(rows) % 7
    table = pa.table({"x": values, "class": [f"c{value % 2}" for value in values], "number": values * 1.5})
    told = (
        predictive_utility(table, ["x"], "class", 300),
        number_utility.number_utility(table, ["x"], "number", 300),
    )
    for found in told:
        assert found is not None
        assert "each of 2,048 drawn rows at most" in found["protocol"]
    assert given == [drawn] * (2 * class_utility.TREES)
