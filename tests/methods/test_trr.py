"""TRR: numbers of published moments and no guarantee."""

from __future__ import annotations

import pyarrow as pa
import pytest

import anonkit
from anonkit.consumers import moments
from anonkit.datasets import bank_customers_policy
from anonkit.errors import PolicyError
from anonkit.methods import make_method
from anonkit.methods.trr import TRR
from anonkit.policy.column_declarations import Column, Missing
from anonkit.policy.declaration import Policy

NUMBERS = Policy(columns={"n": Column(name="n", bounds=(0, 100))})


def test_nothing_is_promised_and_the_reason_is_given() -> None:
    """The report has the reason and the paper's own measure, with what it does not say."""
    release = anonkit.release(pa.table({"n": [1, 2, 3]}), method="trr", no_target=True, policy=NUMBERS)
    assert release.report["guarantee"]["kind"] == "none"
    assert "zeros, signs and outliers" in release.report["guarantee"]["statement"]
    widths = release.report["published_measures"]["breach_width"]
    assert [widths[key] for key in ("99.9%", "99%", "95%", "50%")] == [6.58, 5.15, 3.92, 1.35]
    assert "not the protection" in widths["how"]


def test_centring_restores_what_the_published_form_drowns() -> None:
    """Mean 90 with a spread of a few: the standard error of the mean is many times smaller when centred."""
    table = pa.table({"n": [88, 89, 90, 91, 92] * 400})
    policy = Policy(columns={"n": Column(name="n", bounds=(80, 100))})
    errors = []
    for preset in (None, "paper"):
        release = anonkit.release(table, method="trr", no_target=True, preset=preset, policy=policy, seed=1)
        errors.append(float(moments(release.to_arrow(), release.params, "n").error[0]))
    assert errors[0] * 5 < errors[1]


def test_the_owner_is_warned_of_what_cannot_be_reconstructed() -> None:
    """Judged by public bounds and the row count alone; centring has nothing to warn of."""
    policy = Policy(columns={"n": Column(name="n", bounds=(1000, 1010))})
    table = pa.table({"n": [1001, 1004, 1009] * 100})
    loud = anonkit.release(table, method="trr", no_target=True, center=False, policy=policy).report["notes"]
    quiet = anonkit.release(table, method="trr", no_target=True, policy=policy).report["notes"]
    assert any("far from zero" in note for note in loud)
    assert not any("far from zero" in note for note in quiet)


def test_categories_are_refused() -> None:
    """The hint names the method that takes both."""
    with pytest.raises(PolicyError, match="has categories, which trr cannot transform"):
        make_method("trr", {}).guarantee(bank_customers_policy())


def test_absence_is_randomized_too() -> None:
    """With missing declared, a present bit goes through randomized response of its own."""
    policy = Policy(columns={"n": Column(name="n", bounds=(0, 100), missing=Missing.CATEGORY)})
    table = pa.table({"n": pa.array([None] * 2_000, pa.int64())})
    shown = anonkit.release(table, method="trr", no_target=True, policy=policy, seed=1).to_arrow().column("n")
    assert shown.null_count / 2_000 == pytest.approx(0.75, abs=0.05)


def test_the_published_form_is_the_paper_preset() -> None:
    """Centre 0, scale 1, no bounds."""
    mechanism = make_method("trr", {}, "paper").published(NUMBERS).attributes[0].mechanism  # type: ignore[attr-defined]
    assert (mechanism.centre, mechanism.scale, mechanism.bounds) == (0.0, 1.0, None)
    assert TRR().noise == "N(1,1)"
