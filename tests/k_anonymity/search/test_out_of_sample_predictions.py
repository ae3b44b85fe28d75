"""When a forest has trees enough, and what permuting a feature costs a tree, against the plain definitions.

The forest that guides a local recoding.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier

from anonkit.domains.coded_columns import UNLABELLED, CodedColumn
from anonkit.k_anonymity.search import out_of_sample_predictions
from anonkit.k_anonymity.search.importance import ClassifyingForest, RegressionForest
from anonkit.k_anonymity.search.out_of_sample_predictions import GRID, ForestSize, soft_labels, soft_numbers

N = 60


def _numbers(n: int = N) -> CodedColumn:
    return CodedColumn(name="x", codes=np.arange(n, dtype=np.int32), values=[float(i) for i in range(n)], ordered=True)


def _soft(labels: list[int], seed: int = 0) -> np.ndarray:
    return soft_labels([_numbers(len(labels))], np.arange(len(labels)), np.array(labels), seed).sums


def test_no_row_learns_from_its_own_label() -> None:
    """Turning the label of a row round changes what the forest says of others, never what it says of that row."""
    labels = [int(i > N // 2) for i in range(N)]
    before = _soft(labels)
    changed = 0
    for row in (0, N // 2, N - 1):
        after = _soft([1 - label if at == row else label for at, label in enumerate(labels)])
        assert after[row] == before[row]
        changed += int((after != before).sum())
    assert changed


def test_the_forest_finds_what_there_is_to_find() -> None:
    """Rows far from the border between two classes are predicted to be of their class."""
    told = _soft([int(i >= N // 2) for i in range(N)])[:, 0] / GRID
    assert told[: N // 2 - 6].max() < 0.3
    assert told[N // 2 + 6 :].min() > 0.7


def test_an_unlabelled_row_is_told_by_its_neighbours() -> None:
    """Rows without a label get probabilities like the labelled rows around them."""
    told = _soft([UNLABELLED if i % 3 == 0 else int(i >= N // 2) for i in range(N)])[:, 0] / GRID
    assert told[::3][: N // 6 - 3].max() < 0.3
    assert told[::3][N // 6 + 3 :].min() > 0.7


@pytest.mark.parametrize("labels", [[UNLABELLED] * N, [1] * N, [UNLABELLED, 4] * (N // 2)])
def test_without_two_classes_there_is_no_guide(labels: list[int]) -> None:
    """No label, or one class, informs about nothing."""
    assert _soft(labels).shape == (N, 0)


@pytest.mark.slow_cases("40-32")
@pytest.mark.parametrize(("n_classes", "n_guides"), [(2, 1), (3, 3), (40, 32)])
def test_two_classes_need_one_guide_and_rare_classes_share_one(n_classes: int, n_guides: int) -> None:
    """Two classes are described by one probability, many by one each, up to a limit."""
    assert _soft([i % n_classes for i in range(120)]).shape == (120, n_guides)


def test_probabilities_are_whole_numbers_and_sum_to_the_rows_of_an_entry() -> None:
    """Guides are integers on the grid; those of three classes sum to the number of rows."""
    entry = np.repeat(np.arange(20), 3)
    labels = np.where(np.arange(60) % 4 == 0, UNLABELLED, np.arange(60) // 5 % 3)
    told = soft_labels([_numbers(20)], entry, labels, 0).sums
    assert (told == np.rint(told)).all()
    assert np.abs(told.sum(axis=1) / GRID - 3).max() < 1e-5


def test_a_class_that_only_one_row_holds_is_no_error() -> None:
    """The fold that holds the only row of a class is learned from rows of the other class alone."""
    assert np.isfinite(_soft([0] * (N - 1) + [1])).all()


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter() -> None:
    """Shuffling the rows of the same entries gives the same sums."""
    rng = np.random.default_rng(0)
    entry, labels = rng.integers(0, 20, 200), rng.integers(-1, 3, 200)
    shuffle = rng.permutation(200)
    column = [_numbers(20)]
    before, after = (soft_labels(column, entry[rows], labels[rows], 3) for rows in (np.arange(200), shuffle))
    assert (before.sums == after.sums).all()


def test_the_order_of_entries_that_are_alike_does_not_matter() -> None:
    """Entries of one combination of codes, distinguished by what a requirement looks at, may change places."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 80)
    column = CodedColumn(name="x", codes=np.repeat(np.arange(20), 4).astype(np.int32), values=range(20), ordered=True)
    swapped = np.arange(80).reshape(20, 4)[:, ::-1].ravel()
    before, after = (soft_labels([column], entry, labels, 0).sums for entry in (np.arange(80), swapped))
    assert (before == after[swapped]).all()


def test_what_is_told_of_each_row_stands_beside_what_is_true() -> None:
    """Row by row: the entry, its label, and its predictions, which sum up to the guide of its entry."""
    labels = np.arange(N) % 3
    found = soft_labels([_numbers()], np.arange(N), labels, 0)
    order = np.argsort(found.entry)
    assert (found.truth[order] == GRID * np.eye(3)[labels]).all()
    assert np.abs(found.predictions[order] - found.sums).max() <= 1
    assert set(found.fold) == set(range(5))


def test_numbers_are_told_of_each_row_too() -> None:
    """0 is the smallest target and the grid's whole the largest; a row without one is not among them."""
    numbers = np.append(np.linspace(3.0, 5.0, N - 1), np.nan)
    found = soft_numbers([_numbers()], np.arange(N), numbers, 0)
    order = np.argsort(found.entry)
    assert found.truth[order][[0, -1], 0].tolist() == [0, GRID]
    assert np.abs(found.predictions[order] - found.sums[:-1]).max() <= 1


@pytest.mark.quick_cases("20000-3-50", "3-3-18")
@pytest.mark.parametrize(("rows", "folds", "rounds"), [(3, 3, 18), (19_999, 5, 70), (20_000, 3, 50)])
def test_many_rows_are_told_of_in_fewer_parts_by_fewer_rounds(
    rows: int, folds: int, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three parts and 50 rounds from 20,000 labelled rows on; parts are alike in size, never more than rows."""
    asked: list[int] = []

    class Recorded(HistGradientBoostingClassifier):  # type: ignore[misc]
        def fit(self, *args: Any) -> Any:
            asked.append(self.max_iter)
            return super().fit(*args)

    monkeypatch.setattr("sklearn.ensemble.HistGradientBoostingClassifier", Recorded)
    labels = np.arange(rows) // 3 % 2
    labels[-1] = 1
    told = soft_labels([_numbers(3)], np.append(np.arange(rows) % 3, 0), np.append(labels, UNLABELLED), 0)
    sizes = np.bincount(told.fold)
    assert sizes.size == folds
    assert sizes.max() - sizes.min() <= 1
    assert set(asked) == {rounds}


@pytest.mark.slow
def test_numbers_are_told_of_in_five_parts_however_many() -> None:
    """Fewer have been tried with classes alone."""
    told = soft_numbers([_numbers(3)], np.arange(20_000) % 3, np.arange(20_000) % 7 * 1.0, 0)
    assert np.unique(told.fold).size == 5


THREADS = """
import sys
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_info
from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.out_of_sample_predictions import soft_labels, soft_numbers

def threads():
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"}

def noted(model, fit):
    def fitted(self, *given):
        sys.stdout.write(f"{model.__name__} {threads()}\\n")
        return fit(self, *given)
    model.fit = fitted

print("before", threads())
for model in (HistGradientBoostingClassifier, HistGradientBoostingRegressor):
    noted(model, model.fit)
rows = np.arange(60)
column = CodedColumn(name="x", codes=rows.astype(np.int32), values=[float(row) for row in rows], ordered=True)
soft_labels([column], rows, (rows > 30).astype(np.int64), 0)
soft_numbers([column], rows, rows.astype(np.float64), 0)
print("after", threads())
"""


@pytest.mark.slow
def test_forests_work_in_one_thread_each() -> None:
    """While one is fitted no OpenMP library has more; afterwards all have what the process was given."""
    told = subprocess.run(
        [sys.executable, "-c", THREADS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
    ).stdout.splitlines()
    fitted = {"HistGradientBoostingClassifier {1}", "HistGradientBoostingRegressor {1}"}
    assert (told[0], set(told[1:-1]), told[-1]) == ("before {2}", fitted, "after {2}")


def _table(seed: int, n_rows: int = 400, noise: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    rows = random.integers(0, 6, (n_rows, 4)).astype(np.float32)
    return rows, ((rows[:, 0] + rows[:, 1] > 5) ^ (random.random(n_rows) < noise)).astype(np.int64)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31 - 1), st.booleans(), st.sampled_from([None, 40]))
def test_rows_whose_route_does_not_ask_are_not_predicted_anew(seed: int, of_number: bool, oob_rows: int | None) -> None:
    """A tree loses by a permuted feature exactly what predicting every row again says it loses."""
    rows, labels = _table(seed, 120)
    size = ForestSize(trees=3, oob_rows=oob_rows)
    numbers = labels + rows[:, 2] / 10.0
    forest = (
        RegressionForest.grow(rows, numbers, size, seed)
        if of_number
        else ClassifyingForest.grow(rows, labels, size, seed)
    )
    for number, tree in enumerate(forest.model.estimators_):
        oob = np.flatnonzero(forest.out_of_bag()[number])
        draw = np.random.default_rng((seed, number))
        take = oob.size if oob_rows is None else min(oob_rows, oob.size)
        chosen = np.sort(draw.permutation(oob)[:take])
        splits = tree.tree_.feature

        def wrong(cells: np.ndarray, tree: object = tree, chosen: np.ndarray = chosen) -> float:
            predicted = tree.predict(cells)  # type: ignore[attr-defined]
            if of_number:
                return float(((predicted - numbers[chosen]) ** 2).sum() / numbers.var())
            return float((predicted != labels[chosen]).sum())

        expected = np.zeros(rows.shape[1])
        for feature in np.unique(splits[splits >= 0]).tolist():
            permuted = rows[chosen]
            permuted[:, feature] = draw.permutation(permuted[:, feature])
            expected[feature] = (wrong(permuted) - wrong(rows[chosen])) * oob.size / take
        np.testing.assert_allclose(forest.votes.losses[number], expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("of_number", [False, True])
def test_a_forest_stops_when_it_is_settled_and_is_the_beginning_of_the_whole_one(of_number: bool) -> None:
    """Fewer trees than allowed, an integral number of batches, each of them as it is in the forest that goes on."""
    rows, labels = _table(1)
    target = labels.astype(np.float64) if of_number else labels
    grow = RegressionForest.grow if of_number else ClassifyingForest.grow
    size = ForestSize(trees=600)
    stopped, whole = grow(rows, target, size, 5), grow(rows, target, replace(size, until_settled=False), 5)  # type: ignore[operator]
    assert 100 <= stopped.n_trees < 600
    assert stopped.n_trees % 50 == 0
    assert whole.n_trees == 600
    assert stopped.votes.losses.tolist() == whole.votes.losses[: stopped.n_trees].tolist()


@pytest.mark.slow
def test_what_a_settled_forest_tells_is_what_all_trees_tell() -> None:
    """Probabilities within a few hundredths of those of the whole forest, and the order of what matters the same."""
    rows, labels = _table(2)
    size = ForestSize(trees=1000)
    stopped, whole = (
        ClassifyingForest.grow(rows, labels, size, 0),
        ClassifyingForest.grow(rows, labels, replace(size, until_settled=False), 0),
    )
    change = stopped.class_probabilities() - whole.class_probabilities()
    assert (change**2).sum(axis=1).mean() < 0.01 * 0.5  # of the variance of two even classes
    ours, theirs = stopped.permutation_importance()[0], whole.permutation_importance()[0]
    assert set(np.argsort(-ours)[:2].tolist()) == set(np.argsort(-theirs)[:2].tolist()) == {0, 1}


def test_a_forest_on_noise_settles_too() -> None:
    """The bound is a share of the variance of the target, not of its explained part."""
    random = np.random.default_rng(3)
    rows, labels = random.integers(0, 6, (400, 4)).astype(np.float32), random.integers(0, 2, 400)
    assert ClassifyingForest.grow(rows, labels, replace(ForestSize(), trees=1000), 0).n_trees < 1000


def test_a_rule_that_is_never_met_grows_all_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds, the last batch being smaller where it has to be."""
    monkeypatch.setattr(out_of_sample_predictions, "_MOVED", 0.0)
    rows, labels = _table(4, 100)
    assert ClassifyingForest.grow(rows, labels, ForestSize(trees=120), 0).n_trees == 120


def test_half_of_a_small_table_is_drawn() -> None:
    """So that a row of it is out of bag for more than half of the trees."""
    rows, labels = _table(5, 100)
    forest = ClassifyingForest.grow(rows, labels, ForestSize(trees=2), 0)
    assert {drawn.size for drawn in forest.model.estimators_samples_} == {50}
