"""The published C4.5, which gives the counts of every attribute a whole level: what it claims, and what it loses.

By enumeration of all small tables the loss of everything that is drawn is exactly the promise; by a statistical audit
of the very draws it is above the claim of the paper and not above the promise. Who sees the tree alone sees a function
of these draws: `tests/privacy/test_trees.py` audits that.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations_with_replacement as repeated
from typing import Any

import numpy as np
import pytest

from anonkit.auditing.epsilon_audit import epsilon_from_counts
from anonkit.dp_trees.grower import grow
from anonkit.dp_trees.plan import Leaves, Plan
from anonkit.dp_trees.release.tree_releases import GrownTrees
from anonkit.dp_trees.split_selection import Chosen, NoisyCounts, Tables, Terms
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.methods import make_method
from anonkit.published.tree_model import TreeSchema
from anonkit.randomness import Randomness
from tests.dp_trees.tables import attribute, counter_of, schema_of

PUBLISHED = ("c45-arithmetic", pytest.param("c45-halving", marks=pytest.mark.slow))
SMALL = schema_of(attribute("a", 2), attribute("b", 3))
ROWS = list(itertools.product(range(2), range(3), range(2)))
"""Every row (a, b, class) of the small schema."""


def plan_of(name: str, schema: TreeSchema, depth: int, **more: Any) -> Plan:
    """The plan of the paper's preset at a claimed epsilon of 1."""
    method = make_method(name, {"epsilon": 1.0, "depth": depth, **more}, "paper")
    assert isinstance(method, GrownTrees)
    return method.plan_of(schema)


@dataclass(frozen=True, kw_only=True)
class NotedSelection:
    """The selection of a plan, which notes the exact counts before noise, and takes attributes in an order."""

    selection: NoisyCounts
    order: Sequence[int]
    seen: list[np.ndarray] = field(default_factory=list)

    def draws(self, level: int, units: int, terms: Terms) -> Any:
        """Those of the selection."""
        return self.selection.draws(level, units, terms)

    def choose(self, tables: Tables, units: int, terms: Terms, words: UniformStream) -> Chosen:
        """Take the first attribute of the order that every node still has."""
        level = len(self.seen)
        self.seen.append(np.concatenate([counts.ravel() for _, _, counts in tables.counts]))
        chosen = np.full(tables.nodes, self.order[level])
        return Chosen(attribute=chosen, split=np.zeros_like(chosen))


def exact_counts(plan: Plan, rows: Sequence[tuple[int, ...]], order: Sequence[int]) -> list[np.ndarray]:
    """Every count that a path's draws noise: those of the tables level by level, then those of the leaves."""
    told = NotedSelection(selection=plan.choices.selection, order=order)  # type: ignore[arg-type]
    leaves: list[np.ndarray] = []

    @dataclass(frozen=True, kw_only=True)
    class Seen(type(plan.choices.leaf)):  # type: ignore[misc]
        def fill(self, at: Leaves, words: UniformStream) -> Any:
            leaves.append(at.totals.ravel())
            return super().fill(at, words)

    data = np.array(rows, dtype=np.int64).reshape(-1, 3)
    watched = replace(plan, choices=replace(plan.choices, selection=told, leaf=Seen(), min_rows=0))
    grow(watched, counter_of(data[:, :2].T.astype(np.uint8), data[:, 2]), Randomness.seeded(1))
    return [*told.seen, *leaves]


@pytest.mark.parametrize("rows_before", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PUBLISHED)
def test_the_promise_is_exactly_the_largest_loss_over_all_small_tables(name: str, rows_before: int) -> None:
    """All tables of so many rows, every row more, every order of attributes: discrete Laplace loses rate x change.

    The largest log-ratio of the joint law of all noisy counts is the sum of the changes times their rates, which is
    reached where all noise lies beyond both tables. Its maximum is the promise, and above the claim of 1.
    """
    plan = plan_of(name, SMALL, depth=2)
    rates = [plan.split_draws(0)[0].rate, plan.split_draws(1)[0].rate, plan.leaf_draws(2)[0].rate]
    tables = [rows for size in range(rows_before + 1) for rows in repeated(ROWS, size)]
    worst = 0
    for order in itertools.permutations(range(2)):
        known = {
            rows: exact_counts(plan, rows, order) for size in range(rows_before + 2) for rows in repeated(ROWS, size)
        }
        for rows, more in itertools.product(tables, ROWS):
            pair = known[rows], known[tuple(sorted((*rows, more)))]
            changes = [int(np.abs(first - second).sum()) for first, second in zip(*pair, strict=True)]
            assert changes == [2, 1, 1]  # both tables of the root, the one that is left below it, the leaf
            worst = max(worst, sum(rate * change for rate, change in zip(rates, changes, strict=True)))
    assert worst == plan.accounting.path_units
    assert Fraction(worst, 1 << 52) <= Fraction(plan.accounting.epsilon)
    assert plan.accounting.epsilon > 1.1


WIDE = schema_of(*(attribute(f"a{at}", 2) for at in range(4)))
DRAWN = 20_000


def cells_of_the_row(plan: Plan, *, there: bool, seed: int) -> np.ndarray:
    """The noisy counts that one row is in, drawn anew in many nodes: one of each attribute's table, one of the leaf."""
    noisy: list[np.ndarray] = []

    def kept(children: np.ndarray) -> np.ndarray:
        noisy.append(children[:, 0, 1, 0])
        return np.zeros(children.shape[:2])

    selection = replace(plan.choices.selection, measure=kept)  # type: ignore[type-var]
    counts = np.zeros((DRAWN, 2, 2), dtype=np.int64)
    counts[:, 1, 0] = int(there)
    everywhere = [(at, np.arange(DRAWN), counts) for at in range(len(plan.schema.attributes))]
    words = UniformStream(Randomness.seeded(seed))
    selection.choose(  # type: ignore[attr-defined]
        Tables(attributes=plan.schema.attributes, nodes=DRAWN, counts=everywhere),
        plan.split_units(0),
        plan.terms,
        words,
    )
    leaves = Leaves(
        level=1, units=plan.leaf_units(1), schema=plan.schema, nodes=np.arange(DRAWN), totals=counts[:, 1],
        histograms=lambda nodes, attributes: (),
    )  # fmt: skip
    leaf = [content.counts[0] for content in plan.choices.leaf.fill(leaves, words)]  # type: ignore[index]
    return np.array([*noisy, leaf])


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("tables", ["published", "share"])
def test_an_audit_of_the_draws_refutes_the_claim_and_not_the_promise(name: str, tables: str) -> None:
    """One row more in an empty node: all its counts are 1 or more. Clopper-Pearson limits at alpha 1e-3, fixed seeds.

    With the level divided over the tables the same audit refutes nothing.
    """
    plan = plan_of(name, WIDE, depth=1, tables=tables)
    often, rarely = (
        int((cells_of_the_row(plan, there=there, seed=seed) >= 1).all(axis=0).sum())
        for seed, there in enumerate((True, False))
    )
    found = epsilon_from_counts((often, DRAWN), (rarely, DRAWN), alpha=1e-3)
    assert found <= plan.accounting.epsilon
    assert (found > 1.0) == (tables == "published")
    if tables == "published":
        assert found > 0.8 * plan.accounting.epsilon
