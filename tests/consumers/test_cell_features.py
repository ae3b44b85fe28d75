"""Labels that `apply` writes, of every step of the recoding, are read by the features of the earlier release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import anonkit
from anonkit.consumers.release_features import ReleaseFeatures
from anonkit.published.recoding import MASK, UnchangedAxis, recoding_from_dict, with_levels
from anonkit.published.recoding.recodings import labels_of

RELEASES: dict[str, dict[str, Any]] = {
    "rfka": {"target": "y", "trees": 5, "max_suppression": 0.3},
    "mondrian": {"target": "y"},
    "mondrian without a target": {"no_target": True},
    "datafly": {"target": "y", "max_suppression": 0.3},
    "incognito": {"target": "y", "max_suppression": 0.3},
    "greedy-hamdist": {"target": "y", "max_suppression": 0.3},
}


def _people(n_rows: int) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": generator.integers(18, 80, n_rows),
            "job": generator.choice(list("abcde"), n_rows, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
            "flag": generator.random(n_rows) < 0.4,
            "day": pd.date_range("2020-01-01", periods=n_rows, freq="D"),
            "amount": generator.gamma(2, 30, n_rows).round(2),
        }
    )
    frame.loc[generator.random(n_rows) < 0.1, "job"] = None
    return frame.assign(y=np.where(frame["age"] + 10 * (frame["job"] == "a") > 50, "p", "q"))


@pytest.mark.quick_cases("mondrian without a target")
@pytest.mark.parametrize("case", RELEASES)
def test_every_label_of_a_batch_is_read(case: str, tmp_path: Path) -> None:
    """A batch of any size has the columns of the release, and each of its labels has the features of its parts."""
    frame = _people(400)
    method = case.partition(" ")[0]
    release = anonkit.release(frame, method=method, k=5, ledger=None, utility=False, **RELEASES[case])
    release.save(tmp_path / "a.parquet")
    recoding = recoding_from_dict(release.params["recoding"])
    known = labels_of(with_levels(recoding))
    features = ReleaseFeatures(release).fit(release.to_pandas())
    stars = 0
    for size in (7, 12, 40, 200):
        batch = frame.sample(size, random_state=size)
        try:
            made = anonkit.apply(tmp_path / "a.params.json", batch, ledger=None, max_suppression=1.0)
        except anonkit.AnonkitError:
            assert size < 40, "no row of a large batch can be released"
            continue
        cells = made.to_pandas()
        assert list(cells.columns) == list(release.to_pandas().columns)
        for name in cells:
            shown = set(cells[name].astype(object).where(cells[name].notna(), None))
            stars += shown == {MASK}
            assert name not in known or shown <= {*known[name][1], MASK, None}
        assert np.isfinite(features.transform(cells)).all()
        assert np.isfinite(ReleaseFeatures(made).fit_transform(cells)).all()
    kept = [column for column in getattr(recoding, "columns", ()) if isinstance(column, UnchangedAxis)]
    assert stars or kept, "no batch has a column of stars alone"
