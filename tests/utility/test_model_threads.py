"""Models that score a release do not wait for each other's threads on busy cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_info

from anonkit.utility import consumer_models

N = 400


@pytest.mark.parametrize(
    ("boosted", "score", "target"),
    [
        ("_boosted_classifier", consumer_models.scores_of_models, "y"),
        ("_boosted_regressor", consumer_models.scores_of_number_models, "z"),
    ],
    ids=["classes", "numbers"],
)
def test_models_of_few_rows_work_in_one_thread(
    boosted: str, score: Any, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While boosted trees are fitted no OpenMP library has more; afterwards all have what they had."""

    def threads() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "openmp"]

    HistGradientBoostingRegressor(max_iter=1).fit(np.zeros((30, 1)), np.arange(30.0))  # its library is loaded
    before, seen = threads(), []
    make = getattr(consumer_models, boosted)

    def noted() -> Any:
        model = make()
        fit = model.fit
        monkeypatch.setattr(
            model, "fit", lambda *given, **weights: (seen.extend(threads()), fit(*given, **weights))[1], raising=False
        )
        return model

    monkeypatch.setattr(consumer_models, boosted, noted)
    rows = pa.table({"x": list(range(N)), "y": ["ab"[at % 2] for at in range(N)], "z": [at % 7 for at in range(N)]})

    assert score(rows, rows.slice(100), target)
    assert seen
    assert set(seen) == {1}
    assert threads() == before
