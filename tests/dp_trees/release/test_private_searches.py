"""Domains found in a table by draws whose number and cost are public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.found_domains import FindingLine, FoundDomains
from anonkit.dp_trees.release.private_searches import PUBLIC_COLUMNS, DeltaMethod, DomainSearch, undeclared_columns
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.errors import ParameterError, PolicyError
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.methods import make_method
from anonkit.methods.dp_nb import DPNB
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.published.noisy_tables import LAPLACE
from anonkit.randomness import Randomness
from tests.promises.test_private_domains import SMALL


def test_what_is_declared_is_not_searched() -> None:
    """Without a delta, or with every domain declared, no cell is looked at: there is no engine here."""
    bare = Policy(columns={"a": Column(name="a")})
    nothing: Any = None
    assert undeclared_columns(SMALL) == []
    assert undeclared_columns(bare) == ["a"]
    assert DPNB(epsilon=1.0, delta=1e-6).with_found_domains(SMALL, nothing, nothing, nothing) is SMALL
    assert DPNB(epsilon=1.0).with_found_domains(bare, nothing, nothing, nothing) is bare


SEARCHED = Policy(
    columns={
        "job": Column(name="job"),
        "age": Column(name="age"),
        "code": Column(name="code"),
        "ill": Column(name="ill", role=Role.TARGET),
    }
)


def people(n: int, jobs: Sequence[str] = ("clerk", "farmer"), seed: int = 1) -> pa.Table:
    """People with a job, an age, a code that begins with zero, and one of two classes."""
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "job": pa.array(draw.choice(jobs, n).tolist(), pa.string()),
            "age": draw.integers(18, 90, n),
            "code": pa.array(draw.choice(["01234", "05678"], n).tolist(), pa.string()),
            "ill": pa.array(draw.choice(["no", "yes"], n).tolist(), pa.string()),
        }
    )


def found_in(
    table: pa.Table, *, epsilon: float = 2.0, used: np.ndarray | None = None, policy: Policy = SEARCHED
) -> tuple[Policy, FoundDomains]:
    """The policy with the domains that a search finds, and its cost."""
    with LocalEngine() as engine:
        search = DomainSearch(
            engine.scan(table, policy), engine, used, row_units=units_of(epsilon), delta=Fraction(1, 10**5),
            rows_per_unit=1, replaced=False, words=UniformStream(Randomness.seeded(1)),
        )  # fmt: skip
        searched = search.found(policy)
    assert searched.found_domains is not None
    return searched, searched.found_domains


def test_what_many_rows_have_is_found_and_what_one_has_is_not() -> None:
    """Codes with leading zeros are words, numbers get bounds around them, one astronaut stays unknown."""
    table = people(4_000)
    jobs = ["astronaut", *table.column("job").to_pylist()[1:]]
    searched, found = found_in(table.set_column(0, "job", pa.array(jobs)))
    assert searched.column("job").categories == ("clerk", "farmer")
    assert searched.column("code").categories == ("1234", "5678")
    assert searched.column("ill").categories == ("no", "yes")
    low, high = searched.column("age").bounds or (0, 0)
    assert low <= 18 < 89 <= high
    assert (found.names, found.left_out, found.undecided) == (("job", "age", "code", "ill"), (), None)


@given(st.integers(0, 60), st.sampled_from([("a", "b"), ("1", "2"), ("x",)]), st.floats(0.1, 8))
def test_a_search_costs_what_is_allowed_and_nearly_the_same_whatever_the_cells_are(
    n: int, jobs: tuple[str, ...], epsilon: float
) -> None:
    """No more epsilon and delta than were given; a column of numbers or of words is all the difference."""
    _, found = found_in(people(n, jobs), epsilon=epsilon)
    assert found.row_epsilon <= Fraction(epsilon)
    assert found.row_epsilon > Fraction(epsilon) * Fraction(99, 100)
    assert sum(line.delta for line in found.lines) <= Fraction(1, 10**5)
    by_column = [line.purpose.rpartition(" of ")[2] for line in found.lines]
    assert [by_column.count(name) for name in ("job", "age", "code", "ill")][1:] == [2, by_column.count("code"), 1]
    assert found_in(people(n, jobs, seed=2), epsilon=epsilon)[1].lines[0] == found.lines[0]


def test_rows_that_are_not_used_are_not_searched() -> None:
    """Nothing stands out of the few that are: the target is left out, and why is said without a cell."""
    used = np.arange(4_000) < 3
    searched, found = found_in(people(4_000), used=used)
    assert searched.target is None
    assert "ill" in found.left_out
    assert "stand out from the noise" in str(found.undecided)
    assert "clerk" not in str(found.undecided)


def test_where_only_the_target_stands_out_nothing_is_decided() -> None:
    """Its classes were found, and the draws are charged all the same."""
    table = pa.table({"job": [f"person {at}" for at in range(3_000)], "ill": ["no", "yes"] * 1_500})
    policy = Policy(columns={name: SEARCHED.columns[name] for name in ("job", "ill")})
    searched, found = found_in(table, policy=policy)
    assert (searched.column("ill").categories, found.left_out) == (("no", "yes"), ("job",))
    assert "no column but the target" in str(found.undecided)
    assert found.row_epsilon > 1


@pytest.mark.parametrize("kind", [pa.float64(), pa.int16(), pa.decimal128(21, 2)], ids=str)
def test_a_column_of_a_type_of_numbers_is_bounded_without_a_look_at_its_kind(kind: pa.DataType) -> None:
    """Its type is public."""
    table = people(2_000)
    _, found = found_in(table.set_column(1, "age", table.column("age").cast(kind)))
    assert [line.purpose for line in found.lines if line.purpose.endswith("age")] == ["sizes of age", "bounds of age"]


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
