"""Mondrian: boxes of at least k rows, nothing suppressed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.errors import GuaranteeError
from tests.conftest import USUAL_EIGHT
from tests.methods.test_rfka import ROWS, _classes, _quasi_identifiers


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.integers(2, 5))
def test_k_holds_on_every_release_and_no_row_is_lost(rows: list[Any], k: int) -> None:
    """For any table, every class has k rows and all rows are in the release."""
    frame = pd.DataFrame(rows, columns=["n", "c", "d", "y"]).convert_dtypes()
    release = anonkit.release(frame, method="mondrian", k=k, target="y")
    out = release.to_pandas()

    assert len(out) == len(frame)
    assert _classes(out, _quasi_identifiers(release)).min() >= k


def test_labels_cover_the_cells_they_stand_for() -> None:
    """A row's released interval holds its source value, a set its category."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"row": range(200), "n": rng.integers(0, 50, 200), "c": rng.choice(list("abc"), 200)})
    frame["y"] = np.where(frame["n"] > 25, "yes", "no")
    release = anonkit.release(frame, method="mondrian", k=10, target="y", insensitive=["row"], release_as_is=["row"])
    out = release.to_pandas().set_index("row").sort_index()

    for row, label in out["n"].items():
        value = frame["n"][row]
        low, high = -np.inf, np.inf
        if label.startswith("["):
            low, high = (float(end) for end in label.strip("[)").split(","))
        elif label.startswith(">="):
            low = float(label[2:])
        elif label.startswith("<"):
            high = float(label[1:])
        assert low <= value < high
    if "c" in out:
        for row, label in out["c"].items():
            assert label == "*" or frame["c"][row] in label.split("|")


def test_a_table_smaller_than_k_is_refused() -> None:
    """k cannot be reached."""
    with pytest.raises(GuaranteeError, match="the table has 3 rows"):
        anonkit.release(pd.DataFrame({"q": [1, 2, 3], "y": list("aba")}), method="mondrian", k=5, target="y")


def test_a_table_without_a_target_keeps_detail_only() -> None:
    """Without labels the boxes keep as much of the columns as k allows."""
    frame = pd.DataFrame({"q": list(range(40))})
    release = anonkit.release(
        frame, method="mondrian", k=5, policy=anonkit.Policy(columns={"q": anonkit.Column(name="q")})
    )
    assert release.to_pandas()["q"].nunique() > 1


@pytest.mark.slow
def test_the_utility_target_is_met_on_held_out_labels(adult: pa.Table) -> None:
    """Adult, eight quasi-identifiers, k = 10: AUC at least .878 with nothing suppressed, mean of three splits."""
    from benchmarks.held_out import SPLITS, held_out

    frame = adult.to_pandas()
    runs = [held_out(frame, list(USUAL_EIGHT), seed, method="mondrian", k=10) for seed in SPLITS]

    assert np.mean([score for score, _ in runs]) >= 0.878
    assert all(release.report["rows"]["suppressed"] == 0 for _, release in runs)
