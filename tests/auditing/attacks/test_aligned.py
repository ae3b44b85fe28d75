"""The second draw of a randomized table is like the release's, with the same choice of attributes."""

from __future__ import annotations

import secrets

import numpy as np
import pyarrow as pa
import pytest

import anonkit
from anonkit.auditing.attacks.aligned import align
from anonkit.mechanisms.randomizers import ANSWERED_STREAM, answered_attribute

ROWS = 9_000
KEY = bytes(range(32))


@pytest.fixture(scope="module")
def asked() -> tuple[anonkit.Release, pa.Table]:
    """A release in which every row answers about one attribute, and its source."""
    customers = anonkit.datasets.bank_customers(ROWS, seed=1)
    policy = anonkit.datasets.bank_customers_policy()
    return anonkit.release(customers, method="rr", policy=policy, epsilon=8, ledger=None), customers


def _shown(release: anonkit.Release, customers: pa.Table) -> np.ndarray:
    aligned = align(release.params, release.to_arrow(), customers)
    assert aligned is not None
    names = [attribute["name"] for attribute in release.params["attributes"]]
    return np.column_stack([aligned.table.column(name).is_valid().to_numpy() for name in names])


def test_an_attack_is_scored_on_attributes_asked_as_the_release_asks(
    asked: tuple[anonkit.Release, pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given the key, the attribute that a row shows is that of the release's own choice, and no other."""
    monkeypatch.setattr(secrets, "token_bytes", lambda size: KEY[:size])
    shown = _shown(*asked)
    of_row = answered_attribute(KEY, ANSWERED_STREAM, 0, ROWS, shown.shape[1])
    elsewhere = shown.copy()
    elsewhere[np.arange(ROWS), of_row] = False
    assert not elsewhere.any()


def test_every_attribute_is_asked_equally_often(asked: tuple[anonkit.Release, pa.Table]) -> None:
    """Within five standard deviations of its share, in the release as in the second draw of it."""
    release, customers = asked
    names = [attribute["name"] for attribute in release.params["attributes"]]
    share = 1 / len(names)
    bound = 5 * np.sqrt(ROWS * share * (1 - share))
    released = release.to_arrow().column(release.params["asked_column"]).cast(pa.string()).to_pandas()
    for counts in (_shown(release, customers).sum(axis=0), released.value_counts().reindex(names).to_numpy()):
        assert np.abs(counts - ROWS * share).max() < bound
