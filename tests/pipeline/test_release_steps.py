"""The steps that a method names are those that its release goes through: progress says "3 of 6"."""

from __future__ import annotations

import pyarrow as pa
import pytest

from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.ledger.account import Account, Where
from anonkit.methods import make_method, method_class, method_names
from anonkit.pipeline.release_path import release_table
from anonkit.pipeline.repeated_release import release_steps
from anonkit.pipeline.request_form import ReleaseRequest
from anonkit.policy.declaration import Policy


def _numbers() -> tuple[pa.Table, Policy]:
    ages = [18 + at % 60 for at in range(200)]
    table = pa.table({"age": ages, "pay": [at * 31 % 9_000 for at in range(200)], "ill": ["no", "yes"] * 100})
    columns = {
        "age": {"role": "quasi_identifier", "bounds": [18, 80]},
        "pay": {"role": "quasi_identifier", "bounds": [0, 9_000]},
        "ill": {"role": "target", "categories": ["no", "yes"]},
    }
    return table, Policy.from_dict({"columns": columns})


@pytest.mark.quick_cases("datafly", "dp-nb")
@pytest.mark.parametrize("name", method_names())
def test_every_method_names_its_steps(name: str) -> None:
    """In their order, none left out and none made up."""
    table, policy = _numbers() if name == "trr" else (bank_customers(300, seed=1), bank_customers_policy())
    method = make_method(name, dict(getattr(method_class(name), "example", {})))
    gone: list[str] = []

    def progress(step: str, share: float) -> None:
        if step not in gone[-1:]:
            gone.append(step)

    release_table(
        table, ReleaseRequest(method=method, policy=policy, account=Account(ledger=Where.NOWHERE), progress=progress)
    )
    assert tuple(gone) == release_steps(method)
