"""ID3 on estimated counts, on a table small enough to work out by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from anonkit.consumers.tree_growth import StoppingRule, grow, leaf_shares


@dataclass(frozen=True)
class ExactCounts:
    """Counts of yes/no records without noise."""

    records: np.ndarray
    classes: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Records per class."""
        return np.bincount(self.classes, minlength=2).astype(float)

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Records with yes in each attribute, and with no."""
        yes = np.stack([np.bincount(self.classes[column], minlength=2) for column in self.records.T]).astype(float)
        return yes, self.counts - yes

    def below(self, test: int, passed: bool) -> ExactCounts:
        """Records on one side."""
        rows = self.records[:, test] == passed
        return ExactCounts(self.records[rows], self.classes[rows])


def shares_of(root: object, records: np.ndarray) -> np.ndarray:
    """Shares of the leaves of records."""
    return leaf_shares(root, len(records), lambda test, rows: records[rows, test])  # type: ignore[arg-type]


def table() -> tuple[np.ndarray, np.ndarray]:
    """A thousand records of four attributes whose class is the conjunction of two, with a tenth of errors."""
    rng = np.random.default_rng(0)
    records = rng.random((1_000, 4)) < 0.5
    return records, ((records[:, 1] & records[:, 2]) ^ (rng.random(1_000) < 0.1)).astype(np.int64)


def test_exact_counts_give_the_tree_of_scikit_learn() -> None:
    """Without noise the shares of the leaves are those of an entropy tree of the same depth."""
    records, classes = table()
    root = grow(ExactCounts(records, classes), StoppingRule(max_depth=2, min_rows=1))
    theirs = DecisionTreeClassifier(criterion="entropy", max_depth=2).fit(records, classes)
    assert np.allclose(shares_of(root, records), theirs.predict_proba(records))
    assert root.test in (1, 2)


@pytest.mark.parametrize("rule", [StoppingRule(max_depth=0), StoppingRule(min_rows=1_001)])
def test_a_node_with_too_little_is_a_leaf(rule: StoppingRule) -> None:
    """At the depth, and below the least rows."""
    records, classes = table()
    root = grow(ExactCounts(records, classes), rule)
    assert root.test is None
    assert np.allclose(shares_of(root, records), np.bincount(classes) / 1_000)


def test_an_empty_leaf_answers_as_its_parent() -> None:
    """A side whose estimates are all negative has no shares of its own."""

    class Sides(ExactCounts):
        def below(self, test: int, passed: bool) -> ExactCounts:
            rows = super().below(test, passed)
            return rows if passed else ExactCounts(rows.records[:0], rows.classes[:0])

    records, classes = table()
    root = grow(Sides(records, classes), StoppingRule(max_depth=1))
    assert root.test is not None
    failed = ~records[:, root.test]
    assert np.allclose(shares_of(root, records)[failed], np.bincount(classes) / 1_000)
