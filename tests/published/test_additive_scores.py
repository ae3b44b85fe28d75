"""Published scores: JSON there and back, the sum of leaf and attribute values, and refusals of what does not fit."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from anonkit.errors import ReleaseFormatError
from anonkit.published.additive_scores import UNIT, AdditiveScores, places_of, region_of_nodes, scores_of, softmax
from tests.dp_trees.additive_model.test_synthetic_population import FOREST

SCORES = AdditiveScores(
    leaves=(np.array([[0, 0], [-500, 500], [700, -700]]),),
    region_of_leaf=np.array([-1, 0, 1]),
    regions=(1, 2),
    attributes=(np.arange(12).reshape(2, 3, 2), np.arange(16).reshape(2, 4, 2) * 10),
)


def _params() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps({**FOREST.to_params(), "scores": SCORES.stored.to_params()}))
    return read


def test_scores_survive_json() -> None:
    """The scores that are read predict the same."""
    found = scores_of(_params(), FOREST)
    assert found is not None
    codes = np.array([[0, 1, 2, 2], [0, 1, 2, 3]])
    places = places_of(FOREST, codes)
    assert (found.probabilities(places, codes) == SCORES.probabilities(places, codes)).all()
    assert scores_of(FOREST.to_params(), FOREST) is None


def test_a_row_adds_up_its_leaf_and_its_codes() -> None:
    """By hand: leaf 2 in region 1, codes 2 and 3."""
    codes = np.array([[2], [3]])
    by_hand = np.array([[700 + 10 + 140, -700 + 11 + 150]]) * UNIT
    places = places_of(FOREST, codes)
    assert SCORES.logarithms(places, codes) == pytest.approx(by_hand)
    assert SCORES.probabilities(places, codes) == pytest.approx(softmax(by_hand))


def test_nodes_lie_in_the_region_above_them() -> None:
    """A region holds all below it; what is above lies in none."""
    assert region_of_nodes([(1, 2), (3, 4), (), (), ()], (1, 2)).tolist() == [-1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"unit": 0.5},
        {"regions": [1]},
        {"regions": [1, 9]},
        {"leaves": []},
        {"leaves": [[[0, 0]]]},
        {"attributes": [[[[1, 1]]]]},
        {"attributes": "none"},
    ],
)
def test_scores_that_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    """Another unit, a leaf in no region, a table of another shape."""
    params = deepcopy(_params())
    params["scores"] |= change
    with pytest.raises(ReleaseFormatError):
        scores_of(params, FOREST)
