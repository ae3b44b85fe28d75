"""A promise of noise whose choices followed from the private table says so, in every file, and is validated so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import anonkit
from anonkit.datasets.bank_card_customers import bank_customers, bank_customers_policy
from anonkit.errors import PolicyError
from anonkit.methods import METHODS, example_of, method_class
from anonkit.policy.declaration import Policy
from anonkit.promises.guarantee import LOOKED_AT


@pytest.mark.quick_cases("dp-nb", "rr")
@pytest.mark.parametrize("method", METHODS)
def test_a_release_says_that_the_private_table_was_looked_at(method: str, tmp_path: Path) -> None:
    """Every method of noise, and none of classes, which are about the table that is released anyway."""
    numbers_alone = ("education", "occupation", "marital_status", "income", "cards_held") if method == "trr" else ()
    policy = replace(bank_customers_policy().with_roles(insensitive=numbers_alone), looked_at_table=True)
    release = anonkit.release(
        bank_customers(400, seed=1),
        method=method,
        policy=policy,
        output=tmp_path / "out.parquet",
        ledger=None,
        utility=False,
        **example_of(method_class(method)),
    )

    says = LOOKED_AT in release.report["guarantee"]["assumptions"]
    assert says is (release.report["budget"]["epsilon"] is not None)
    assert (LOOKED_AT in release.params["assumptions"]) is says
    assert anonkit.validate(tmp_path / "out.parquet").passed


def test_a_policy_file_says_it_by_true_or_false() -> None:
    """Anything else is refused."""
    assert Policy.from_dict({"looked_at_table": True}).looked_at_table
    assert not Policy.from_dict({}).looked_at_table
    with pytest.raises(PolicyError, match="looked_at_table"):
        Policy.from_dict({"looked_at_table": "yes"})
