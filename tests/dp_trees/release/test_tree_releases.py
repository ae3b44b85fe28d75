"""Published trees of the papers: thresholds, parameters, and the claim of a rate of which half is lost."""

from __future__ import annotations

import math
from typing import Any

import pytest

from anonkit.dp_trees.release.tree_releases import friedman_schuster, one_deviation
from anonkit.errors import ParameterError
from anonkit.methods import make_method
from anonkit.methods.diffp_id3 import DiffPID3
from tests.dp_trees.release.test_tree_families import POLICY
from tests.dp_trees.tables import MIXED


def test_thresholds_are_those_of_the_papers() -> None:
    """t |C| sqrt(2) / epsilon with the largest domain and the number of classes; one deviation without them."""
    assert friedman_schuster(0.5, MIXED) == pytest.approx(7 * 2 * math.sqrt(2) / 0.5)
    assert one_deviation(0.5, MIXED) == pytest.approx(math.sqrt(2) / 0.5)


@pytest.mark.parametrize(("stop", "kind"), [("depth", "central-dp"), ("noisy", "central-dp"), ("pure", "none")])
def test_the_stop_rule_decides_whether_anything_is_promised(stop: str, kind: str) -> None:
    """A look without noise promises nothing."""
    assert DiffPID3(epsilon=1.0, stop=stop).guarantee(POLICY).kind == kind


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"depth": 21}, {"stop": "never"}, {"max_rows": 0}, {"bins": 1}])
def test_parameters_outside_their_range_are_refused(wrong: dict[str, object]) -> None:
    """The name and the range."""
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        DiffPID3(**{"epsilon": 1.0, **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("edprf", {"rate": "published"}, "permute-and-flip"),
        ("diffprf", {"rate": "published", "score": "gini"}, "choices of splits"),
        ("diffprf", {"rate": "published", "rows": "published-bootstrap", "score": "gini"}, "the copies add up"),
        ("diffgen", {"rate": "published"}, "choices of splits"),
        ("diffgen", {}, None),
    ],
)
def test_a_rate_of_which_half_is_lost_is_stated(name: str, given: dict[str, Any], said: str | None) -> None:
    """The claim of the paper is beside the promise, the larger loss first."""
    claim = make_method(name, {"epsilon": 1.0, **given}).published_claim()  # type: ignore[attr-defined]
    assert (claim is None) if said is None else said in claim
