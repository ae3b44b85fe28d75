"""Methods compared by how well a number is predicted: R² and error with intervals, in the JSON and on the page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from anonkit.comparing.comparison import compare
from anonkit.comparing.frontier import frontier_page


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
