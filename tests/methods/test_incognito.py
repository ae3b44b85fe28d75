"""Incognito: the combination of levels that loses least."""

from __future__ import annotations

from pathlib import Path

import pytest

import anonkit
from anonkit.errors import GuaranteeError, ParameterError
from anonkit.methods import make_method
from tests.methods.test_datafly import POLICY, TABLE


def test_the_release_by_hand() -> None:
    """For k = 8, of four zip codes, years and two sexes, a cell loses 4/9 in the mean.

    Eight people share a prefix and a sex, or a zip code. With the years dropped, the first loses a third of the zip
    code, the second all of the sex: 1 1/3 of three columns against 2.
    """
    release = anonkit.release(TABLE, method="incognito", k=8, policy=POLICY, max_suppression=0.0, seed=1)
    shown = release.to_arrow()

    assert shown.column_names == ["zip", "sex", "ill"]
    assert set(shown.column("zip").to_pylist()) == {"0213*", "0214*"}
    assert release.report["search"] == {"name": "incognito", "loss": "granularity"}
    assert release.owner["search"]["nodes"] == 3 * 2 * 2
    assert release.owner["search"]["loss"] == pytest.approx(4 / 9)


@pytest.mark.slow
def test_it_never_loses_more_than_datafly() -> None:
    """On the same table, k and limit, by its own measure."""
    for k in (2, 4, 8, 16):
        found = anonkit.release(TABLE, method="incognito", loss="discernibility", k=k, policy=POLICY, seed=1)
        greedy = anonkit.release(TABLE, method="datafly", k=k, policy=POLICY, seed=1)
        losses = [each.report["utility"]["discernibility"] for each in (found, greedy)]
        assert losses[0] <= losses[1]


def test_a_model_without_monotonicity_is_met_too(tmp_path: Path) -> None:
    """t-closeness with rows left out: every class of the written file is close."""
    place = tmp_path / "out.parquet"
    anonkit.release(
        TABLE, method="incognito", k=4, t=0.1, sensitive=["ill"], max_suppression=0.2, policy=POLICY, output=place,
        ledger=None,
    )  # fmt: skip
    report = anonkit.load(place).report
    assert {"k_anonymity", "t_closeness:ill"} <= {check["name"] for check in report["verification"]["checks"]}
    assert anonkit.validate(place).passed


def test_an_unknown_loss_and_an_unreachable_model_are_refused() -> None:
    """Before and after the search."""
    with pytest.raises(ParameterError, match="loss"):
        make_method("incognito", {"loss": "beauty"})
    with pytest.raises(GuaranteeError, match="even with every quasi-identifier dropped"):
        anonkit.release(TABLE, method="incognito", k=2, l=3, sensitive=["ill"], policy=POLICY)
