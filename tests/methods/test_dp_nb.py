"""`dp-nb`: its budget, its promise under audit, its model."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonkit
from anonkit.auditing.epsilon_audit import epsilon_from_counts, lower_bound
from anonkit.checks.account_lines import epsilon_of
from anonkit.checks.central_account import published_account
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.domains.number_bins import Categories
from anonkit.errors import ParameterError, PolicyError
from anonkit.mechanisms.accounting import LARGEST_EPSILON, Accounting
from anonkit.mechanisms.noisy_histograms import noisy_tables
from anonkit.methods.dp_nb import DPNB
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.promises.noise_promises import CentralDP
from anonkit.published.noisy_tables import GAUSSIAN, LAPLACE, noise_variance
from anonkit.randomness import Randomness

POLICY = bank_customers_policy()


@settings(max_examples=30)
@given(st.floats(0.01, LARGEST_EPSILON), st.sampled_from(["add-or-remove", "replace"]))
def test_the_tables_share_epsilon_and_never_exceed_it(epsilon: float, adjacency: str) -> None:
    """Five searches for spikes and eleven tables, whole units of 2**-52, close to what was requested."""
    method = DPNB(epsilon=epsilon, adjacency=adjacency)
    promise = method.guarantee(POLICY)
    assert 0.999 * epsilon < promise.epsilon <= epsilon
    assert len(method.account(POLICY).draws) == 5 + 11


def test_a_unit_pays_for_each_of_its_rows() -> None:
    """Three rows a person, replaced: every rate is a sixth."""
    policy = POLICY.with_roles(unit="education")
    one, six = (
        DPNB(epsilon=1.0, rows_per_unit=rows, adjacency=adjacency).account(policy)
        for rows, adjacency in ((1, "add-or-remove"), (3, "replace"))
    )
    assert six.draws[0].rate == pytest.approx(one.draws[0].rate / 6, rel=1e-9)
    with pytest.raises(ParameterError, match="rows_per_unit needs a unit column"):
        DPNB(epsilon=1.0, rows_per_unit=2).guarantee(POLICY)


def test_only_noisy_counts_are_published() -> None:
    """The params add up to the promise, and no true count is in them: two releases differ in nearly every cell."""
    first, second = (
        anonkit.release(bank_customers(2_000, seed=1), method="dp-nb", epsilon=0.5, policy=POLICY) for _ in range(2)
    )
    assert published_account(first.params).epsilon == first.report["budget"]["epsilon"] <= 0.5
    assert "in" not in first.report["rows"]
    pairs = zip(first.params["attributes"], second.params["attributes"], strict=True)
    same = [np.array(one["counts"]) == np.array(other["counts"]) for one, other in pairs]
    assert np.mean(np.concatenate([cells.ravel() for cells in same])) < 0.2


@pytest.mark.slow
def test_a_model_of_the_counts_beats_the_local_route(tmp_path: Path) -> None:
    """20,000 customers at epsilon 0.5: near plain naive Bayes, where randomized rows reach little."""
    output, test = tmp_path / "out.parquet", bank_customers(2_000, seed=2)
    anonkit.release(bank_customers(20_000, seed=1), method="dp-nb", epsilon=0.5, policy=POLICY, seed=1, output=output)
    made = anonkit.reconstruct(output, test=test, model=tmp_path / "model.json")
    assert made.scores is not None
    assert made.scores.accuracy > 0.76
    assert made.scores.accuracy > made.scores.majority + 0.2


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_an_audit_stays_below_the_claim_and_near_it(epsilon: float) -> None:
    """One row more or less in a table of classes and one of an attribute: the likelihood ratio shows 0.7 of epsilon.

    Each of 50,000 columns is a release of its own: a cell of each table that the row is in, with the planned rates.
    """
    policy = Policy(
        columns={
            "c": Column(name="c", categories=("u", "v")),
            "t": Column(name="t", role=Role.TARGET, categories=("0", "1")),
        }
    )
    rates = [draw.rate for draw in DPNB(epsilon=epsilon).account(policy).draws]
    domain = Categories(values=tuple(map(str, range(50_000))))

    def ratios(extra: int) -> np.ndarray:  # type: ignore[type-arg]
        noisy = noisy_tables(
            ("t", Categories(values=("0",)), np.array([0]), rates[0]),
            [(name, domain, np.full((1, 50_000), 3 + extra), rate) for name, rate in zip("tc", rates, strict=True)],
            Randomness.seeded(extra),
        )
        cells = [table.counts[0] for table in noisy.tables]
        terms = [(np.abs(cell - 3) - np.abs(cell - 4)) * rate for cell, rate in zip(cells, rates, strict=True)]
        return np.asarray(sum(terms) / 2**52)

    found = lower_bound(ratios(0), ratios(1))
    assert 0.7 * epsilon <= found.lower_bound <= epsilon


def test_what_has_no_public_domain_is_refused() -> None:
    """And so is a table without a target."""
    with pytest.raises(PolicyError, match="no public domain"):
        DPNB(epsilon=1.0).guarantee(Policy(columns={"c": Column(name="c"), "t": Column(name="t", role=Role.TARGET)}))
    with pytest.raises(PolicyError, match="no column to predict is named"):
        DPNB(epsilon=1.0).guarantee(Policy(columns={"c": Column(name="c", categories=("u",))}))


@settings(max_examples=8)
@given(
    epsilon=st.floats(0.05, 8),
    delta=st.floats(1e-12, 1e-3),
    adjacency=st.sampled_from(["add-or-remove", "replace"]),
    rows=st.integers(1, 3),
)
def test_with_a_delta_the_quieter_noise_is_drawn_and_the_claim_is_kept(
    epsilon: float, delta: float, adjacency: str, rows: int
) -> None:
    """The noise with the lower variance over all cells is chosen, and the account is at most the requested budget."""
    policy = POLICY.with_roles(unit="education")
    pure = DPNB(epsilon=epsilon, adjacency=adjacency, rows_per_unit=rows, spikes="declared")
    method = DPNB(epsilon=epsilon, delta=delta, spikes="declared", adjacency=adjacency, rows_per_unit=rows)
    sizes = [1, *(attribute.codes for attribute in method.schema(policy).attributes)]
    account = method.account(policy)
    assert isinstance(pure.guarantee(policy), CentralDP)

    def noise(one: Accounting, law: str) -> float:
        return sum(size * noise_variance(draw.rate, law) for size, draw in zip(sizes, one.draws, strict=True))

    laplace = noise(pure.account(policy), LAPLACE)
    if account.claim is not None:
        promise = method.guarantee(policy)
        assert (promise.epsilon, promise.delta) == (epsilon, delta)  # type: ignore[union-attr]
        assert epsilon_of(account.rho, Fraction(delta)) <= Fraction(epsilon)
        assert (
            noise(account, GAUSSIAN) < laplace * 1.05
        )  # the rule takes the noise for continuous, which it is not at 8
    else:
        assert method.guarantee(policy) == pure.guarantee(policy)


def test_delta_pays_with_many_attributes_and_not_with_few() -> None:
    """Forty attributes at 1e-9: half the noise and less; two attributes: Laplace noise, and delta is not spent."""
    names = [f"a{at}" for at in range(40)]
    many = {name: Column(name=name, categories=("u", "v", "w")) for name in names}
    target = {"t": Column(name="t", role=Role.TARGET, categories=("0", "1"))}
    spent = DPNB(epsilon=1.0, delta=1e-9).account(Policy(columns={**many, **target}))
    assert spent.claim == (1.0, 1e-9)
    pure = DPNB(epsilon=1.0).account(Policy(columns={**many, **target}))
    variance = noise_variance(spent.draws[1].rate, GAUSSIAN) / noise_variance(pure.draws[1].rate)
    assert variance < 0.45
    few = DPNB(epsilon=1.0, delta=1e-9).guarantee(Policy(columns={"a0": many["a0"], **target}))
    assert isinstance(few, CentralDP)
    for delta in (-1e-9, 0.5, True):
        with pytest.raises(ParameterError, match="delta"):
            DPNB(epsilon=1.0, delta=delta)


def test_an_audit_of_gaussian_tables_stays_below_the_claim() -> None:
    """The likelihood ratio of all tables that a row is in, with the planned rates, at a delta of 1e-3.

    The event, a ratio above e**0.6, is fixed beforehand: it is rare enough for a high bound and not too rare to count.
    """
    method = DPNB(epsilon=1.0, delta=1e-3)
    account = method.account(POLICY)
    assert account.claim == (1.0, 1e-3)
    n = 30_000
    rows = Categories(values=tuple(map(str, range(n))))

    def ratios(extra: int) -> np.ndarray:  # type: ignore[type-arg]
        noisy = noisy_tables(
            ("t", Categories(values=("0",)), np.array([0]), account.draws[0].rate),
            [(str(at), rows, np.full((1, n), extra), draw.rate) for at, draw in enumerate(account.draws)],
            Randomness.seeded(extra),
            GAUSSIAN,
        )
        return np.asarray(sum((1 - 2 * one.counts[0]) * one.rate for one in noisy.tables) / 2**52)

    rare, frequent = (int((ratios(extra) < -0.6).sum()) for extra in (0, 1))
    assert 0.5 <= epsilon_from_counts((frequent, n), (rare, n), delta=1e-3) <= 1.0
