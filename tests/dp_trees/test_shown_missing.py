"""Missing cells in rows that are drawn from noisy counts: none where none are, and about as many where some are."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import binom

import anonkit

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.csv.gz"
NUMBERS: dict[str, dict[str, Any]] = {
    "age": {"bounds": [17, 90], "type": "integer"},
    "hours-per-week": {"bounds": [1, 99], "type": "integer"},
    "capital-gain": {"bounds": [0, 99_999], "type": "integer"},
}
CATEGORIES = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex")
SOME = ("marital-status", "hours-per-week")
RELEASES = 100


def _source() -> tuple[pa.Table, anonkit.Policy]:
    """5,000 rows in which one cell in twenty of two columns is missing."""
    with gzip.open(ADULT) as packed:
        frame = pd.read_csv(packed)
    columns = {**NUMBERS, **{name: {"categories": sorted(frame[name].unique())} for name in CATEGORIES}}
    target = {"income": {"role": "target", "categories": sorted(frame["income"].unique())}}
    frame = frame.sample(5_000, random_state=1).reset_index(drop=True)[[*columns, *target]]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    generator = np.random.default_rng(5)
    for name in SOME:
        missing = np.isin(np.arange(5_000), generator.permutation(5_000)[:250])
        cells = pa.array(table.column(name).to_numpy(), mask=missing)
        table = table.set_column(table.schema.get_field_index(name), name, cells)
    return table, anonkit.Policy.from_dict({"columns": {**columns, **target}})


@pytest.mark.slow
@pytest.mark.skipif(not ADULT.exists(), reason="needs the table of the census")
@pytest.mark.parametrize("method", ["dp-marginals", "dp-forest", "dp-nb"])
def test_missing_is_shown_about_as_often_as_it_is(method: str) -> None:
    """Of 100 releases at epsilon 1 none in 99 of a column without any, and of one with 5 % from 4 to 6 %."""
    table, policy = _source()
    shown: dict[str, list[float]] = {name: [] for name in (*NUMBERS, *CATEGORIES)}
    for seed in range(RELEASES):
        release = anonkit.release(
            table, method=method, epsilon=1.0, policy=policy, ledger=None, seed=seed, utility=False
        )
        rows = release.to_arrow()
        for name, shares in shown.items():
            shares.append(rows.column(name).null_count / rows.num_rows)
    without = [shares for name, shares in shown.items() if name not in SOME]
    wrong = sum(share > 0 for shares in without for share in shares)
    assert wrong <= binom.ppf(1 - 1e-3, len(without) * RELEASES, 0.01)
    for name in SOME:
        shares = np.array(shown[name])
        assert 0.04 <= shares.mean() <= 0.06
        assert ((shares >= 0.04) & (shares <= 0.06)).mean() >= 0.75, name
        assert (shares == 0).mean() <= 0.01, name
