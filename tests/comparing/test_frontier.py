"""Methods compared by how well a number is predicted: R² and error with intervals, in the JSON and on the page.

The advice of a comparison: the strongest protection of a kind whose models are certainly close to the best.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from anonkit.comparing.comparison import compare
from anonkit.comparing.frontier import MARGIN, advice, frontier_page, most_changed
from anonkit.comparing.model_scores import FrontierPoint, RowShares
from anonkit.policy.target_task import Task

ROWS = 4_000
NOISE = np.random.default_rng(1).normal(0, 0.3, ROWS)


def _point(value: float, auc: float, *, method: str = "mondrian", spread: float = 0.02, **more: Any) -> FrontierPoint:
    own = np.random.default_rng(round(value) + len(method)).normal(0, spread, ROWS)
    by_row = RowShares(value=auc, influence=NOISE + own, freedom=ROWS - 1)
    parameter = "epsilon" if "epsilon" in more else "k"
    loss = {"epsilon": more.pop("epsilon")} if parameter == "epsilon" else {}
    guarantee, protection = {"parameters": loss}, more.pop("kind", "k-anonymity")
    return FrontierPoint(
        method=method, parameter=parameter, value=loss.get("epsilon", value), scores={"forest": {"auc": auc}},
        attacks={},
        guarantee=guarantee, protection=protection, by_row=by_row, **more,
    )  # fmt: skip


def _advised(*points: FrontierPoint, task: Task = Task.CLASSIFICATION) -> list[dict[str, Any]]:
    return advice(SimpleNamespace(points=points, raw={"forest": {"auc": 0.91}}, task=task))  # type: ignore[arg-type]


def test_the_strongest_protection_near_the_best_is_advised() -> None:
    """k = 10 is within the margin for certain, k = 50 is not: the sentence says by how much, with the interval."""
    (found,) = _advised(_point(2, 0.900), _point(10, 0.893), _point(50, 0.86))
    assert (found["label"], found["best"], found["useful"]) == ("mondrian, k = 10", "mondrian, k = 2", True)
    assert found["less"] == pytest.approx(0.007)
    assert found["less_ci"][0] < 0.007 < found["less_ci"][1] < MARGIN
    assert "take mondrian, k = 10: AUC 0.893" in found["sentence"]
    assert "your rows have 0.910, guessing has 0.5" in found["sentence"]
    assert "loses no column" in found["sentence"]


def test_a_difference_that_may_exceed_the_margin_is_none_to_rest_on() -> None:
    """The same scores on less informative rows: the interval of the difference reaches beyond the margin."""
    (found,) = _advised(_point(2, 0.900), _point(10, 0.893, spread=0.9))
    assert (found["label"], found["less"], found["less_ci"]) == ("mondrian, k = 2", None, None)
    assert "no stronger protection here comes near" in found["sentence"]


def test_of_equal_protection_the_one_that_loses_fewer_columns_is_advised() -> None:
    """Unless its models are worse for certain; then columns are no reason."""
    move = {"name": "age", "measure": "share of the rows", "value": 0.25}
    loses = _point(10, 0.900, method="rfka", lost=("race", "sex"))
    keeps = _point(10, 0.8997, moved=(move,))
    (found,) = _advised(loses, keeps)
    assert found["label"] == "mondrian, k = 10"
    assert found["sentence"].endswith("loses no column, and changes age most (25% of its rows).")
    (found,) = _advised(loses, _point(10, 0.885))
    assert found["label"] == "rfka, k = 10"
    assert "loses 2 columns (race, sex)" in found["sentence"]


def test_kinds_of_promises_are_not_set_against_each_other() -> None:
    """One advice each; a smaller epsilon protects better; a release without a promise is never advised."""
    noisy = [_point(0, 0.87, method="dp-forest", epsilon=e, kind="central differential privacy") for e in (1.0, 4.0)]
    bare = _point(2, 0.95, method="trr", kind=None)
    first, second = _advised(_point(5, 0.9), *noisy, bare)
    assert (first["promise"], second["promise"]) == ("k-anonymity", "central differential privacy")
    assert second["label"] == "dp-forest, ε = 1"


def test_models_that_may_be_guessing_are_not_advised() -> None:
    """The sentence says that none serves; without a measured release there is no advice."""
    (found,) = _advised(_point(5, 0.505))
    assert found["useful"] is False
    assert "no release here serves models for certain" in found["sentence"]
    assert _advised(_point(5, 0.9, kind=None)) == []


def test_the_column_that_moved_most_is_by_shares_of_rows_first() -> None:
    """Standard deviations count where no column has shares."""
    number = {"name": "age", "measure": "standard deviations", "value": 3.0}
    share = {"name": "sex", "measure": "share of the rows", "value": 0.1}
    assert most_changed(_point(5, 0.9, moved=(share, number))) == "sex 10%"
    assert most_changed(_point(5, 0.9, moved=(number,))) == "age 3 sd"
    assert most_changed(_point(5, 0.9)) == "–"


@pytest.mark.slow
def test_a_number_is_compared_by_r2_beside_its_mean() -> None:
    """The task is seen from the values; releases are beside the rows as they are, models beside the mean."""
    random = np.random.default_rng(0)
    age = random.integers(18, 80, 240)
    source = pd.DataFrame(
        {"age": age, "place": random.integers(0, 9, 240), "pay": 10.0 * age + random.normal(size=240)}
    )

    found = compare(source, target="pay", methods=["mondrian"], k=[5], attacks=10).to_dict()
    (point,) = found["points"]
    page = frontier_page(found)

    assert (found["task"], point["auc"]) == ("regression", None)
    assert 0.5 < point["r2"] <= found["raw"]["r2"] <= 1
    assert point["models"]["the mean"]["r2"] < 0.1
    assert point["models"]["linear regression"]["ci"]["r2"][0] < point["r2"]
    assert "R², linear regression" in page
    assert "AUC" not in page


@pytest.mark.slow
def test_declared_classes_are_compared_by_auc() -> None:
    """Twenty-one numbers are classes where the owner says so."""
    random = np.random.default_rng(1)
    pay = np.arange(210) % 21
    source = pd.DataFrame({"age": pay + random.integers(0, 3, 210), "pay": pay})

    found = compare(source, target="pay", task="classification", methods=["datafly"], k=[5], attacks=10).to_dict()

    assert found["task"] == "classification"
    assert found["raw"]["auc"] > 0.6
    assert "AUC" in frontier_page(found)
