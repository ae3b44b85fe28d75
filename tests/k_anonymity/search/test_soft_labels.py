"""The forest that guides a local recoding."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from anonkit.domains.coded_columns import UNLABELLED, CodedColumn
from anonkit.k_anonymity.search.soft_labels import GRID, soft_labels, soft_numbers

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
from anonkit.k_anonymity.search.soft_labels import soft_labels, soft_numbers

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
