"""What published trees share: thresholds, slack, stop rules."""

from __future__ import annotations

import math

import pytest

from anonkit.datasets import bank_customers_policy
from anonkit.errors import ParameterError
from anonkit.methods.diffp_id3 import DiffPID3
from anonkit.tree_families import friedman_schuster, one_deviation, slack_of
from anonkit.trees.scores import GINI, INFORMATION_GAIN
from tests.trees.tables import MIXED

POLICY = bank_customers_policy()


def test_thresholds_are_those_of_the_papers() -> None:
    """t |C| sqrt(2) / epsilon with the largest domain and the number of classes; one deviation without them."""
    assert friedman_schuster(0.5, MIXED) == pytest.approx(7 * 2 * math.sqrt(2) / 0.5)
    assert one_deviation(0.5, MIXED) == pytest.approx(math.sqrt(2) / 0.5)


def test_only_scores_that_move_one_way_have_slack() -> None:
    """The published rate divides them by two; information gain needs the two."""
    assert slack_of(GINI, "published") == 2
    assert slack_of(GINI, "full") == slack_of(INFORMATION_GAIN, "published") == 1


@pytest.mark.parametrize(("stop", "kind"), [("depth", "central-dp"), ("noisy", "central-dp"), ("pure", "none")])
def test_the_stop_rule_decides_whether_anything_is_promised(stop: str, kind: str) -> None:
    """A look without noise promises nothing."""
    assert DiffPID3(epsilon=1.0, stop=stop).guarantee(POLICY).kind == kind


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"depth": 21}, {"stop": "never"}, {"max_rows": 0}, {"bins": 1}])
def test_parameters_outside_their_range_are_refused(wrong: dict[str, object]) -> None:
    """The name and the range."""
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        DiffPID3(**{"epsilon": 1.0, **wrong})  # type: ignore[arg-type]
