"""Joined tables under differential privacy: the loss of a person with all rows, enumerated exactly, and audited."""

from __future__ import annotations

from contextlib import closing
from itertools import permutations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.bundle.private_files import PrivateFolder
from anonkit.domains.rows_of_people import sampled_rows
from anonkit.dp_trees.release import coded_rows, declared_schema
from anonkit.dp_trees.release.coded_rows import CodedRows
from anonkit.engines.local.local_engine import LocalEngine
from anonkit.methods import make_method
from anonkit.methods.dp_nb import count
from anonkit.pipeline.recipe_sources import JoinedTable, Orphans, SeveralTables, flat_view
from anonkit.policy.column_declarations import Column, Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import PersonRows
from anonkit.randomness import Randomness

ALPHA = 1e-3
PEOPLE = pa.table({"id": ["a", "b"]})
VISITS = [("a", "x", "yes"), ("a", "x", "yes"), ("a", "z", "no"), ("b", "x", "no"), ("b", "z", "yes")]
"""Rows of person a, then of person b: ward and label."""


def policy_of(tables: SeveralTables, most: int) -> Policy:
    """Return the policy of the view: public domains, and most rows of a person."""
    columns = {
        "ward": Column(name="ward", categories=("x", "z")),
        "label": Column(name="label", role=Role.TARGET, categories=("yes", "no")),
    }
    return tables.declared(Policy(columns=columns, cell_by_cell=True), PersonRows(most=most))


def tables_of(visits: list[tuple[str, str, str]], people: pa.Table = PEOPLE) -> SeveralTables:
    """Return two tables in memory."""
    who, ward, label = (list(column) for column in zip(*visits, strict=True))
    table = pa.table({"person": who, "ward": ward, "label": label})
    return SeveralTables(
        people=JoinedTable(name="people", source=people, key=("id",)),
        visits=JoinedTable(name="visits", source=table, key=("person",)),
        orphans=Orphans.DROP,
    )


def laws(visits: list[tuple[str, str, str]], method: Any, most: int, people: pa.Table = PEOPLE) -> dict[Any, float]:
    """Return the exact law of the true counts of dp-nb, by every order that the secret words of the rows can have."""
    tables = tables_of(visits, people)
    policy = policy_of(tables, most)
    found: dict[Any, float] = {}
    with LocalEngine() as engine, closing(PrivateFolder()) as private:
        source = engine.scan(flat_view(tables, policy, engine, private).path, policy)
        units = engine.encode(source, [tables.unit])[0].codes
        orders = list(permutations(range(units.size)))
        for words in orders:
            keep = sampled_rows(units, most, np.array(words, dtype=np.uint64))
            schema = method.schema(policy)
            batches = list(CodedRows(source=source, schema=schema, keep=keep)())
            counts = tuple(sum((count(batch, schema) for batch in batches), np.zeros(8, dtype=np.int64)).tolist())
            found[counts] = found.get(counts, 0.0) + 1 / len(orders)
    return found


def rates_of(method: Any, most: int) -> np.ndarray:
    """Return the rate of the noise on each of the eight counts: two of classes, six of class and ward or none."""
    draws = method.account(policy_of(tables_of(VISITS), most)).draws
    return np.repeat([draw.rate * 2.0**-52 for draw in draws], [2, 6])


def largest_loss(first: dict[Any, float], second: dict[Any, float], rates: np.ndarray) -> float:
    """Return the largest log ratio of the probabilities of one output, over a grid that holds the worst ones."""
    grid = np.array(list(product(range(4), repeat=8)))

    def law(counts: dict[Any, float]) -> np.ndarray:
        # the normalizing constants of discrete Laplace noise are the same for both tables
        return sum(p * np.exp(-(rates * np.abs(grid - np.array(true))).sum(axis=1)) for true, p in counts.items())

    return float(np.abs(np.log(law(first)) - np.log(law(second))).max())


@pytest.mark.parametrize("adjacency", ["add-or-remove", "replace"])
def test_no_output_tells_more_than_epsilon_of_a_person_with_all_visits(adjacency: str) -> None:
    """For all pairs of tables that differ in one person's visits the exact loss is at most epsilon, and near it."""
    most = 2
    method = make_method("dp-nb", {"epsilon": 1.0, "rows_per_unit": most, "adjacency": adjacency}, None)
    rates, law = rates_of(method, most), laws(VISITS, method, most)
    only_b = PEOPLE.slice(1)
    others = [[("a", "z", "no")] * 3, [("a", "z", "no"), ("a", "x", "no")]]
    if adjacency == "replace":
        losses = [largest_loss(law, laws(other + VISITS[3:], method, most), rates) for other in others]
        losses.append(
            largest_loss(
                laws([("a", "x", "yes")] * 3 + VISITS[3:], method, most),
                laws(others[0] + VISITS[3:], method, most),
                rates,
            )
        )
    else:
        gone = laws(VISITS[3:], method, most, only_b)
        losses = [largest_loss(laws(rows + VISITS[3:], method, most), gone, rates) for rows in [*others, VISITS[:3]]]

    assert max(losses) <= 1 + 1e-9
    assert max(losses) > 0.95


def test_the_same_account_is_too_small_when_a_row_more_is_used() -> None:
    """Paid for one row and used with three, a person loses more than epsilon: the enumeration can fail."""
    method = make_method("dp-nb", {"epsilon": 1.0, "rows_per_unit": 1}, None)
    full = laws([("a", "z", "no")] * 3 + VISITS[3:], method, 3)
    gone = laws(VISITS[3:], method, 3, PEOPLE.slice(1))

    assert largest_loss(full, gone, rates_of(method, 1)) > 2


def test_a_persons_visits_do_not_change_which_rows_of_others_are_drawn() -> None:
    """The law of the other person's counts is the same whoever else is in the tables."""
    method = make_method("dp-nb", {"epsilon": 1.0, "rows_per_unit": 1}, None)
    alone = laws(VISITS[3:], method, 1, PEOPLE.slice(1))
    beside = laws([("a", "x", "yes")] * 2 + VISITS[3:], method, 1)
    mine = np.array([1, 0, 1, 0, 0, 0, 0, 0])

    assert {tuple(np.array(counts) - mine): p for counts, p in beside.items()} == pytest.approx(alone)


def answers(visits: list[tuple[str, str, str]], name: str, n: int) -> np.ndarray:
    """Return n noisy numbers of rows of the label yes, as whole releases of a method publish them, shape (n,)."""
    tables = tables_of(visits)
    policy = policy_of(tables, 2).resolve(["id", "ward", "label"])
    method = make_method(name, {"epsilon": 1.0, "rows_per_unit": 2}, None)
    out = []
    with LocalEngine() as engine, closing(PrivateFolder()) as private:
        source = engine.scan(flat_view(tables, policy, engine, private).path, policy)
        for _ in range(n):
            draft = method.release(source, policy, engine=engine, rng=Randomness.secure())
            out.append(sum(batch.column(0).to_pylist().count("yes") for batch in draft.data.batches(["label"])))
    return np.array(out)


MANY = [("a", "x", "yes")] * 40
CALM, ODD = [*VISITS[3:]], [*MANY, *VISITS[3:]]


@pytest.mark.parametrize(
    "name", ["dp-nb", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dp-forest", "dp-marginals"))]
)
def test_an_audit_of_a_person_with_all_visits_finds_no_more_than_epsilon(name: str) -> None:
    """Tables with and without forty visits of a person: the lower bound on the loss stays below epsilon."""
    n = 80
    bound = lower_bound(answers(CALM, name, n), answers(ODD, name, n), alpha=ALPHA)

    assert bound.lower_bound <= 1


def test_the_audit_finds_a_cap_that_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were all rows of a person used, the same audit would show it."""
    calm = answers(CALM, "dp-nb", 80)
    everything = lambda engine, source, unit, most, key: np.ones(source.n_rows, dtype=bool)  # noqa: E731
    monkeypatch.setattr(declared_schema, "sampled_rows_of_units", everything)

    assert coded_rows.sampled_rows_of_units is not everything
    assert lower_bound(calm, answers(ODD, "dp-nb", 80), alpha=ALPHA).lower_bound > 1
