# SPDX-License-Identifier: Apache-2.0
"""The simulated bank customers: the same rows however they are requested, in their domains, as hard as in the paper."""

from __future__ import annotations

import tomllib
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.datasets import (
    bank_customers,
    bank_customers_batches,
    bank_customers_policy,
    bank_customers_policy_toml,
)
from anonkit.errors import ParameterError
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy

ENUMERATED = ("education", "occupation", "marital_status", "income", "cards_held")
NUMERIC = ("age", "swipe_frequency", "swipe_amount", "deposit", "loan")
STABLE = ("age", *ENUMERATED, "customer_value")
PINNED = {
    "age": 33,
    "education": "middle school",
    "occupation": "farming",
    "marital_status": "single",
    "income": "4000 to 6999",
    "cards_held": "4",
    "swipe_frequency": 14,
    "swipe_amount": 4990,
    "deposit": 1600,
    "loan": 20200,
    "customer_value": "low",
}


def codes(table: pa.Table, name: str) -> np.ndarray:
    """Category codes of an enumerated column."""
    return table[name].combine_chunks().indices.to_numpy()


def log_likelihoods(train: pa.Table, test: pa.Table, names: tuple[str, ...]) -> np.ndarray:
    """Log of P(attributes | class) for the test rows under a plain naive Bayes of the train rows, shape (rows, 3)."""
    label = codes(train, "customer_value")
    out = np.zeros((test.num_rows, 3))
    for name in names:
        for value in range(3):
            if name in ENUMERATED:
                shares = np.bincount(codes(train, name)[label == value], minlength=8) / np.sum(label == value)
                out[:, value] += np.log(np.maximum(shares, 1e-12))[codes(test, name)]
            else:
                x = train[name].to_numpy()[label == value]
                out[:, value] -= (test[name].to_numpy() - x.mean()) ** 2 / (2 * x.var()) + np.log(x.std())
    return out


def accuracy(train: pa.Table, test: pa.Table, names: tuple[str, ...]) -> float:
    """Share of test rows that a plain naive Bayes puts into the right class."""
    prior = np.log(np.bincount(codes(train, "customer_value")) / train.num_rows)
    guess = (log_likelihoods(train, test, names) + prior).argmax(axis=1)
    return float(np.mean(guess == codes(test, "customer_value")))


@pytest.mark.parametrize(
    ("names", "expected"),
    [((*ENUMERATED, *NUMERIC), 0.812), (ENUMERATED, 0.713), (NUMERIC, 0.704), ((), 0.504)],
    ids=["all", "enumerated", "numeric", "majority"],
)
def test_naive_bayes_finds_it_as_hard_as_the_reference_simulation(names: tuple[str, ...], expected: float) -> None:
    """Naive Bayes of 50,000 rows reaches the reference accuracies within 0.6 points, on 100,000 other rows."""
    assert accuracy(bank_customers(50_000, 0), bank_customers(100_000, 1), names) == pytest.approx(expected, abs=0.006)


@settings(deadline=None)
@given(seed=st.integers(0, 2**64), n=st.integers(0, 400), more=st.integers(0, 400), rows=st.integers(1, 5))
def test_fewer_rows_are_the_first_of_more_rows(seed: int, n: int, more: int, rows: int) -> None:
    """Row i is the same whatever the number of rows."""
    longer = bank_customers(n + more, seed, customer_id=True, rows_per_customer=rows)

    assert longer.slice(0, n).equals(bank_customers(n, seed, customer_id=True, rows_per_customer=rows))


@pytest.mark.slow
@settings(deadline=None)
@given(n=st.integers(0, 500), size=st.integers(1, 600), rows=st.integers(1, 5))
def test_the_rows_do_not_depend_on_the_batches(n: int, size: int, rows: int) -> None:
    """Batches of any size hold the rows of the table, in order, each batch full but the last."""
    batches = list(bank_customers_batches(n, 3, size, rows_per_customer=rows))

    table = bank_customers(n, 3, rows_per_customer=rows)
    assert pa.Table.from_batches(batches, schema=table.schema).equals(table)
    assert all(batch.num_rows == size for batch in batches[:-1])


def test_batches_are_drawn_on_request() -> None:
    """The first batch of a trillion rows is there at once."""
    first = next(bank_customers_batches(10**12, 5, 100))

    assert pa.Table.from_batches([first]).equals(bank_customers(100, 5))


def test_the_population_of_a_seed_stays_what_it_is() -> None:
    """The first customer of seed 0 is pinned: published figures stay reproducible."""
    assert bank_customers(1, 0).to_pylist() == [PINNED]


def test_seeds_are_different_populations() -> None:
    """Two seeds share no stretch of rows."""
    one, other = (set(map(tuple, bank_customers(2_000, seed).to_pandas().to_numpy().tolist())) for seed in (0, 1))

    assert not one & other


def test_every_value_is_in_the_declared_domain_and_every_category_occurs() -> None:
    """The policy's bounds and categories hold for all rows, and categories are in the declared order."""
    table, policy = bank_customers(200_000), bank_customers_policy()

    assert policy.resolve(table.column_names) == policy
    for name, column in policy.columns.items():
        if column.categories is None:
            low, high = column.bounds or (0, 0)
            assert low <= pc.min(table[name]).as_py() <= pc.max(table[name]).as_py() <= high
        else:
            assert tuple(table[name].chunk(0).dictionary.to_pylist()) == column.categories
            assert len(table[name].unique()) == len(column.categories)


def test_the_policy_says_who_is_what() -> None:
    """Eight quasi-identifiers, two sensitive attributes, one target, and who declares the domains public."""
    policy = bank_customers_policy()

    assert len(policy.quasi_identifiers) == 8
    assert policy.sensitive == ("deposit", "loan")
    assert policy.target == "customer_value"
    assert policy.unit is None
    assert policy.declared_by
    assert Policy.from_dict(tomllib.loads(bank_customers_policy_toml())) == policy


def test_a_csv_of_the_table_is_read_back_under_its_policy(tmp_path) -> None:
    """Written as CSV and read with the policy file, every cell has the type and value it had."""
    from anonkit.engines import open_engine

    table = bank_customers(500, customer_id=True)
    kinds = {name: pa.int64() if name in NUMERIC else pa.string() for name in table.column_names}
    plain = table.cast(pa.schema(list(kinds.items())))
    pacsv.write_csv(plain, tmp_path / "bank.csv")
    (tmp_path / "policy.toml").write_text(bank_customers_policy_toml(customer_id=Role.IDENTIFIER))

    with open_engine("local") as engine:
        source = engine.scan(tmp_path / "bank.csv", Policy.load(tmp_path / "policy.toml"))
        assert pa.Table.from_batches(source.batches()).equals(plain.combine_chunks())


def test_attributes_are_independent_given_the_class() -> None:
    """Within each class no two attributes are correlated beyond chance (five standard errors)."""
    table = bank_customers(150_000)
    label = codes(table, "customer_value")
    columns = {name: codes(table, name) for name in ENUMERATED} | {name: table[name].to_numpy() for name in NUMERIC}

    for value in range(3):
        inside = {name: column[label == value] for name, column in columns.items()}
        for one, other in combinations(inside, 2):
            assert abs(np.corrcoef(inside[one], inside[other])[0, 1]) < 5 / np.sqrt(np.sum(label == value))


def test_numeric_attributes_are_gaussian_given_the_class() -> None:
    """Mean/sd is 2.0 to 3.6, half of the rows are within 0.6745 sd of the mean, and nothing piles up at the bounds."""
    table, policy = bank_customers(100_000), bank_customers_policy()
    label = codes(table, "customer_value")

    for name in NUMERIC:
        low, high = policy.column(name).bounds or (0, 0)
        for value in range(3):
            x = table[name].to_numpy()[label == value]
            assert 2.0 <= x.mean() / x.std() <= 3.6
            assert np.mean(np.abs(x - x.mean()) < 0.6745 * x.std()) == pytest.approx(0.5, abs=0.04)
            assert np.mean((x == low) | (x == high)) < 0.02


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 300), rows=st.integers(2, 7))
def test_a_customer_with_several_rows_stays_the_same_person(n: int, rows: int) -> None:
    """Rows of one `customer_id` share person and class, and are the customers of the table with one row each."""
    statements = bank_customers(n, 1, rows_per_customer=rows)
    people = -(-n // rows)

    firsts = statements.take(list(range(0, n, rows)))
    assert firsts.select(["customer_id", *STABLE]).equals(
        bank_customers(people, 1, customer_id=True).select(["customer_id", *STABLE])
    )
    assert statements.group_by(["customer_id", *STABLE]).aggregate([]).num_rows == people


def test_statements_of_a_customer_differ() -> None:
    """The monthly attributes are drawn anew for every row."""
    deposits = bank_customers(400, rows_per_customer=4)["deposit"].to_numpy().reshape(-1, 4)

    assert np.mean(deposits[:, 0] == deposits[:, 1]) < 0.1


@pytest.mark.parametrize("role", [Role.IDENTIFIER, Role.UNIT])
def test_the_policy_covers_the_customer_number(role: Role) -> None:
    """With a role for `customer_id` the policy fits the table that has it."""
    policy = bank_customers_policy(customer_id=role)

    assert policy.resolve(bank_customers(1, customer_id=True).column_names).column("customer_id").role is role


def test_no_rows_is_a_table_too() -> None:
    """An empty table has the schema of a full one."""
    assert bank_customers(0, customer_id=True).schema == bank_customers(1, customer_id=True).schema


@pytest.mark.parametrize(
    "wrong", [{"n": -1}, {"n": 1, "seed": -1}, {"n": 1, "batch_size": 0}, {"n": 1, "rows_per_customer": 0}]
)
def test_parameters_out_of_range_are_refused_at_once(wrong: dict[str, int]) -> None:
    """The error comes with the call, not with the first batch, and names the parameter."""
    with pytest.raises(ParameterError, match=f"{list(wrong)[-1]} "):
        bank_customers_batches(**wrong)
