"""Profiles: what the files of a release show of a rule, on tables made for one requirement each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import anonkit
from anonkit.errors import ParameterError
from anonkit.pipeline.profiles.profile_evidence import EvidenceState
from anonkit.pipeline.profiles.release_profile import PROFILES, release_profile


@pytest.mark.slow_cases("rfka-parameters0")
@pytest.mark.parametrize(
    ("method", "parameters"),
    [("rfka", {"k": 10}), ("rr", {"epsilon": 2.0}), ("dp-nb", {"epsilon": 1.0}), ("dp-tables", {"epsilon": 1.0})],
)
def test_every_profile_reads_every_kind_of_release(method: str, parameters: dict[str, Any], tmp_path: Path) -> None:
    """Each requirement has words, open points are named, the note says that it is no verdict, and no seed passes."""
    people = anonkit.datasets.bank_customers(400, seed=1)
    policy = anonkit.datasets.bank_customers_policy()
    place = tmp_path / "out.parquet"
    anonkit.release(
        people,
        method=method,
        policy=policy,
        output=place,
        utility=False,
        ledger=None,
        seed=3,
        domains_from_data=False,
        **parameters,
    )
    for name in PROFILES:
        found = release_profile(place, name).to_dict()
        assert sum(found["counts"].values()) == len(found["items"]) >= 1
        assert all(item["evidence"].endswith(".") and item["requirement"] for item in found["items"])
        assert "no verdict of law" in found["note"]
    pyramid = {item.requirement: item.state for item in release_profile(place, "nist-800-226").items}
    assert pyramid["Epsilon"] is (EvidenceState.AGAINST if method == "rfka" else EvidenceState.EVIDENCE)
    assert pyramid.get("Secure randomness") is (None if method == "rfka" else EvidenceState.AGAINST)


def test_an_unknown_profile_is_refused_with_the_nearest() -> None:
    """Before anything is read."""
    with pytest.raises(ParameterError, match="'hippa-safe-harbor'") as refused:
        release_profile("nothing.parquet", "hippa-safe-harbor")
    assert refused.value.hint == "did you mean 'hipaa-safe-harbor'?"
