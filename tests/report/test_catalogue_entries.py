"""Entries for registries: for bounded losses alone, made of public facts, as YAML that is read back."""

from __future__ import annotations

import pyarrow as pa
import pytest
import yaml

import anonkit
from anonkit.policy.declaration import Policy
from anonkit.report.catalogue_entries import build_registry_entry, has_entry

POLICY = Policy.from_dict({"dataset": "people", "columns": {"sex": {"categories": ["f", "m"], "missing": "first"}}})
ROWS = pa.table({"sex": ["f", "m"] * 40})


def released(method: str, **parameters: object) -> anonkit.Release:
    """A release in memory."""
    return anonkit.release(ROWS, method=method, policy=POLICY, no_target=True, seed=1, ledger=None, **parameters)


def test_a_bounded_loss_has_an_entry() -> None:
    """With the promise in words, and the released columns."""
    release = released("dp-marginals", epsilon=1.0)
    entry = yaml.safe_load(build_registry_entry(name="people", report=release.report))
    assert entry["url_slug"] == "people"
    assert entry["deployment"]["basic"]["description"] == release.report["guarantee"]["statement"]
    assert entry["deployment"]["basic"]["data_product_type"] == "Synthetic data"


@pytest.mark.parametrize(("epsilon", "expected"), [(1.0, True), ("inf", False), (None, False)])
def test_no_other_promise_has_one(epsilon: object, expected: bool) -> None:
    """k-anonymity has no epsilon, a boundless loss no number."""

    class Promise:
        def to_dict(self) -> dict[str, object]:
            return {"parameters": {} if epsilon is None else {"epsilon": epsilon}}

    assert has_entry(Promise()) is expected  # type: ignore[arg-type]
