"""The next batch has the columns of the earlier release, and features are read off every label that it may show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import anonkit
from anonkit.consumers import ReleaseFeatures
from anonkit.errors import GuaranteeError
from anonkit.policy.declaration import Policy

COLUMNS: dict[str, Any] = {"age": {}, "pay": {}, "job": {}, "day": {}, "zip": {"type": "text"}}


def people(n: int, seed: int, *, stranger: bool = False) -> pd.DataFrame:
    """Rows of a table, and of a batch with values that it has not."""
    rng = np.random.default_rng(seed)
    days = pd.to_datetime("2019-01-01") + pd.to_timedelta(rng.integers(0, 1_500, n), "D")
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "pay": np.round(rng.normal(3_000, 800, n), 2),
            "job": rng.choice([*"abcde"], n),
            "day": pd.Series(days).dt.date,
            "zip": rng.choice([f"{10_000 + at}" for at in range(60)], n),
            "y": rng.choice(["no", "yes"], n),
        }
    )
    if stranger:
        frame.loc[::6, "age"] = 130
        frame.loc[::7, "pay"] = -5_000.0
        frame.loc[::5, "day"] = pd.to_datetime("2031-05-05").date()
    return frame


METHODS: dict[str, dict[str, Any]] = {
    "datafly": {"max_suppression": 0.3}, "mondrian": {}, "rfka": {}, "greedy-hamdist": {"max_suppression": 0.3},
    "incognito": {"max_suppression": 0.3},
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_batch_keeps_every_column_and_features_take_every_label(method: str, tmp_path: Path) -> None:
    """Also where so few rows come that a column shows `*` alone; a batch of the batch has them, too."""
    path, needs_target = tmp_path / "out.parquet", method == "greedy-hamdist"
    role = "target" if needs_target else "insensitive"
    policy = Policy.from_dict({"columns": {**COLUMNS, "y": {"role": role}}})
    policy = Policy(columns=policy.columns, without_target=not needs_target)
    first = anonkit.release(
        people(400, 0), method=method, policy=policy, k=10, output=path, ledger=None, **METHODS[method]
    )
    shown = first.to_pandas()
    features = ReleaseFeatures(path).fit(shown)
    uniform = 0
    for at, batch in enumerate((people(200, 1), people(30, 3), people(200, 5, stranger=True))):
        out = tmp_path / f"batch{at}.parquet"
        if method == "incognito" and len(batch) < 100:  # its one recoding leaves each of so few rows alone
            with pytest.raises(GuaranteeError, match="30 of 30 rows"):
                anonkit.apply(path, batch, output=out, ledger=None, max_suppression=0.6)
            assert not out.exists()
            continue
        anonkit.apply(path, batch, output=out, ledger=None, max_suppression=0.6)
        rows = anonkit.validate(out) and pd.read_parquet(out)
        assert anonkit.validate(out).passed
        assert list(rows.columns) == list(shown.columns)
        found = features.transform(rows)
        assert found.shape == (len(rows), len(features.get_feature_names_out()))
        assert np.isfinite(found).all()
        uniform += sum((rows[name].astype(str) == "*").all() for name in rows)
        again = anonkit.apply(out, batch, ledger=None, max_suppression=0.6).to_pandas()
        assert list(again.columns) == list(shown.columns)
    assert uniform > 0 or method not in ("datafly", "mondrian")
