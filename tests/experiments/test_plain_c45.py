"""C4.5 without noise, for the accuracy that privacy is compared with."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers.harness.experiment_tables import LearningTask
from papers.harness.plain_c45 import GainRatioTree, gain_ratio
from papers.harness.unprotected_models import PlainC45

from anonkit.errors import PolicyError
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy

ROWS = [(0, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 0), (1, 0, 1), (0, 2, 0)]
"""(a, b, class): a alone settles all rows but one, which b distinguishes."""
CODES, LABELS = np.array(ROWS)[:, :2], np.array(ROWS)[:, 2]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_a_gain_ratio_lies_between_0_and_1(rows: list[tuple[int, int]]) -> None:
    """The mutual information of two variables is at most the entropy of either: a bounded score after all."""
    codes, labels = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    assert -1e-9 <= gain_ratio(codes, labels, 4) <= 1 + 1e-9


def test_the_tree_splits_by_the_best_gain_ratio_until_classes_are_pure() -> None:
    """Every row that it has seen is predicted; by the shares in its leaf."""
    tree = GainRatioTree(min_rows=1).fit(CODES, LABELS, 2)
    assert tree.predict_proba(CODES).argmax(axis=1).tolist() == LABELS.tolist()


@pytest.mark.parametrize(
    ("limits", "shares"), [({"depth": 0}, 2 / 6), ({"min_rows": 7}, 2 / 6), ({"depth": 1}, 2 / 3), ({}, 1.0)]
)
def test_depth_and_least_rows_end_a_path(limits: dict[str, int], shares: float) -> None:
    """A leaf has the shares of the classes among its rows: of all, of those with a = 1, of the two with b = 0 too."""
    tree = GainRatioTree(**limits).fit(CODES, LABELS, 2)
    assert tree.predict_proba(np.array([[1, 0]]))[0, 1] == pytest.approx(shares)


def test_a_category_that_no_row_had_is_predicted_by_the_rows_above() -> None:
    """Below a = 1 no row has b = 2."""
    tree = GainRatioTree(min_rows=1).fit(CODES, LABELS, 2)
    assert tree.predict_proba(np.array([[1, 2]]))[0, 1] == pytest.approx(2 / 3)


def test_the_comparator_takes_categories_alone() -> None:
    """It scores rows that it has not seen; a number is refused, since this tree does not cut."""
    columns = {name: Column(name=name, categories=("0", "1", "2")) for name in "ab"}
    columns["y"] = Column(name="y", categories=("0", "1"), role=Role.TARGET)
    table = pa.table({name: [str(row[at]) for row in ROWS] for at, name in enumerate("aby")})
    task = LearningTask(train=table, test=table, policy=Policy(columns=columns), target="y")
    ((scores,), promise, epsilon) = PlainC45(min_rows=1).samples(task, 1)
    assert (scores["accuracy"], promise, epsilon) == (1.0, "none", None)
    numbers = Policy(columns={**columns, "b": Column(name="b", bounds=(0.0, 2.0))})
    with pytest.raises(PolicyError, match="categories"):
        PlainC45().samples(LearningTask(train=table, test=table, policy=numbers, target="y"), 1)
