"""Methods that may be given a delta: nothing is searched without one, and a search leaves what it did not spend."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.found_domains import FindingLine, FoundDomains
from anonkit.dp_trees.release.delta_method import PUBLIC_COLUMNS, DeltaMethod
from anonkit.errors import ParameterError, PolicyError
from anonkit.methods import make_method
from anonkit.policy.declaration import Policy
from anonkit.published.noisy_tables import LAPLACE

COLUMNS: dict[str, Any] = {
    "job": {"role": "quasi_identifier"},
    "sex": {"role": "quasi_identifier", "categories": ["f", "m"]},
    "ill": {"role": "target", "categories": ["no", "yes"]},
}
POLICY = Policy.from_dict({"columns": COLUMNS})
DECLARED = Policy.from_dict({"columns": {**COLUMNS, "job": {"categories": ["clerk", "farmer"]}}})


def method(name: str = "dp-nb", **given: Any) -> DeltaMethod:
    """A method that may spend a delta."""
    made = make_method(name, {"epsilon": 1.0, "delta": 1e-6, **given})
    assert isinstance(made, DeltaMethod)
    return made


@pytest.mark.parametrize("delta", [-1e-9, 0.011, float("nan")])
def test_a_delta_that_covers_nothing_or_too_much_is_refused(delta: float) -> None:
    """One in a hundred at most."""
    with pytest.raises(ParameterError, match="delta"):
        method(delta=delta)
    assert method(delta=0.01).delta == 0.01


def test_what_would_be_searched_is_known_before_a_look_at_any_cell() -> None:
    """The columns without a domain; none without a delta, or where all are declared."""
    planned = method().with_domains_to_find(POLICY).found_domains
    assert planned is not None
    assert (planned.names, planned.is_plan, planned.lines) == (("job",), True, ())
    assert method(delta=0.0).with_domains_to_find(POLICY) is POLICY
    assert method().with_domains_to_find(DECLARED) is DECLARED


def test_a_rule_in_a_column_that_is_searched_is_refused() -> None:
    """Noise would decide what the rule can say."""
    rules = {"never": {"job": "clerk", "ill": "yes"}}
    policy = Policy.from_dict({"columns": COLUMNS, "constraints": [rules]})
    with pytest.raises(PolicyError, match="'job' is in a rule"):
        method().with_domains_to_find(policy)


@given(
    rates=st.lists(st.integers(1, 1 << 48), max_size=4),
    rows=st.integers(1, 4),
    adjacency=st.sampled_from(["add-or-remove", "replace"]),
    epsilon=st.floats(2, 20),
)
def test_what_a_search_spent_is_gone_and_no_more(rates: list[int], rows: int, adjacency: str, epsilon: float) -> None:
    """Epsilon for the unit of privacy, rounded downwards to a float; of delta the other half is left."""
    changed = rows * (2 if adjacency == "replace" else 1)
    lines = tuple(FindingLine(purpose="kind of job", mechanism=LAPLACE, rate=rate) for rate in rates)
    policy = replace(DECLARED, found_domains=FoundDomains(lines=lines, names=("job",)))
    made = method(epsilon=epsilon, rows_per_unit=rows, adjacency=adjacency)
    left, plain = made.without_search(policy)
    spent = changed * sum(Fraction(rate, 1 << 52) for rate in rates)
    assert made.epsilon_left(policy) == Fraction(epsilon) - spent
    assert Fraction(left.epsilon) + spent <= Fraction(epsilon)
    assert float(Fraction(epsilon) - spent) == pytest.approx(left.epsilon, rel=1e-15)
    assert (plain.found_domains, left.delta) == (None, 5e-7)
    assert (made.epsilon_left(DECLARED), made.delta_left(DECLARED)) == (Fraction(epsilon), Fraction(1e-6))


def test_the_promise_says_that_columns_are_public_where_domains_were_found() -> None:
    """And claims the given epsilon and delta."""
    policy = replace(DECLARED, found_domains=FoundDomains(names=("job",)))
    promise = method().approximate_promise(policy)
    assert (promise.epsilon, promise.delta) == (1.0, 1e-6)
    assert set(PUBLIC_COLUMNS) <= set(promise.assumptions)
    assert not set(PUBLIC_COLUMNS) & set(method().approximate_promise(DECLARED).assumptions)
