"""Trees audited from outside: what neighbouring tables publish never discloses more than the claim, and uses it.

Thousands of forests are grown at once: the table occurs many times in one counter, and every copy has trees of its own
(`Replicas`). The audit sees published nodes only and knows no mechanism.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chi2_contingency, chisquare

import anonkit
from anonkit.auditing.epsilon_audit import lower_bound
from anonkit.datasets import bank_customers, bank_customers_policy
from anonkit.dp_trees.grower import grow
from anonkit.dp_trees.plan import Plan, TreeRows
from anonkit.dp_trees.release.tree_releases import TreeMethod
from anonkit.dp_trees.split_selection import SCORES
from anonkit.dp_trees.taxonomy_specialization import specialize
from anonkit.methods import make_method
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.published.statements.noise_statement import Bootstrap
from anonkit.published.tree_model import Node, PublishedForest
from anonkit.randomness import Randomness
from tests.dp_trees.tables import counter_of

PRESETS: dict[str, dict[str, Any]] = {
    "edprf": {"trees": 1, "depth": 2, "bins": 4},
    "edprf, labels": {"trees": 1, "depth": 2, "bins": 4, "leaf": "label"},
    "edprf, published rate": {"trees": 1, "depth": 2, "bins": 4, "leaf": "label", "rate": "published"},
    "edprf, many trees": {"trees": 5, "depth": 2, "bins": 4},
    "diffprfs": {"trees": 1, "depth": 1, "bins": 4},
    "diffprfs, three trees": {"trees": 3, "depth": 1, "bins": 4},
    "diffprfs, many trees": {"trees": 4, "depth": 1, "bins": 4, "score": "gini"},
    "diffprfs, as published": {"trees": 3, "depth": 1, "bins": 4, "rows": "published-bootstrap", "stop": "depth"},
    "diffprfs, two children": {
        "trees": 1,
        "depth": 2,
        "bins": 16,
        "branches": "two",
        "rows": "disjoint",
        "stop": "depth",
    },
    "diffprf": {"trees": 1, "depth": 1, "bins": 4},
    "c45-arithmetic": {"depth": 1, "bins": 4},
    "c45-halving": {"depth": 1, "bins": 4},
    "c45-arithmetic, as published": {
        "depth": 1,
        "bins": 4,
        "tables": "published",
        "choice": "exponential",
        "min_rows": 2,
    },
    "sulq-id3": {"depth": 1, "bins": 4, "stop": "depth"},
    "pinq-id3": {"depth": 1, "bins": 4},
    "diffp-id3": {"depth": 1, "bins": 4, "stop": "depth"},
    "diffp-id3, entropy": {"depth": 1, "bins": 4, "score": "entropy", "max_rows": 64},
    "diffp-c45": {"depth": 1, "bins": 4, "score": "max-class"},
}
QUICK = ("edprf", "edprf, many trees", "diffprfs", "diffp-id3", "c45-halving")

POLICY = Policy(
    columns={
        "a": Column(name="a", categories=("0", "1")),
        "n": Column(name="n", bounds=(0.0, 4.0)),
        "y": Column(name="y", role=Role.TARGET, categories=("0", "1")),
    }
)
ONE_VALUE = Policy(columns={"a": Column(name="a", categories=("0",), missing=Missing.FIRST), "y": POLICY.columns["y"]})

Table = tuple[np.ndarray, np.ndarray]
"""Codes of shape (attributes, rows), and labels."""


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Many forests at once: copy r of the table is given to trees r * t, r * t + 1, ... as the method's rows say."""

    kind: ClassVar[str] = "replicas"
    base: TreeRows
    forests: int
    n_rows: int

    @property
    def trees(self) -> int:
        """All trees of all forests."""
        return self.base.trees * self.forests

    @property
    def times(self) -> int:
        """As in one forest."""
        return self.base.times

    @property
    def bootstrap(self) -> Bootstrap | None:
        """As in one forest."""
        return self.base.bootstrap

    def path_units(self, epsilon: Fraction) -> int:
        """As in one forest."""
        return self.base.path_units(epsilon)

    def groups(self, key: bytes, first_row: int, n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """Give each copy its own trees."""
        forest = (first_row + np.arange(n_rows)) // self.n_rows
        for trees, copies in self.base.groups(key, first_row, n_rows):
            yield trees + self.base.trees * forest, copies

    def to_params(self) -> Mapping[str, Any]:
        """Nothing reads it."""
        return {"kind": self.kind, "trees": self.trees}


def method_of(name: str, epsilon: float) -> TreeMethod:
    """The preset, as small as an audit needs it."""
    made = make_method(name.partition(",")[0], {"epsilon": epsilon, **PRESETS[name]})
    assert isinstance(made, TreeMethod)
    return made


def forests_of(plan: Plan, table: Table, forests: int, seed: int) -> list[tuple[tuple[Node, ...], ...]]:
    """Grow so many independent forests; each is a tuple of trees."""
    codes, labels = table
    rows = Replicas(base=plan.choices.rows, forests=forests, n_rows=max(1, labels.size))
    many = replace(plan, choices=replace(plan.choices, rows=rows))
    counter = counter_of(np.tile(codes, forests), np.tile(labels, forests))
    grown: PublishedForest = grow(many, counter, Randomness.seeded(seed))
    t = plan.choices.rows.trees
    return [grown.trees[at : at + t] for at in range(0, len(grown.trees), t)]


def leaf_of(tree: tuple[Node, ...], row: np.ndarray, plan: Plan) -> Node:
    """Walk a row to its leaf."""
    node = tree[0]
    while node.attribute is not None:
        one = plan.schema.attributes[node.attribute]
        node = tree[node.children[one.branches(node.at)[row[node.attribute]]]]
    return node


def symbols(forests: list[tuple[tuple[Node, ...], ...]], row: np.ndarray, label: int, plan: Plan) -> np.ndarray:
    """The attacker's symbols: the split of each root, and counts, or the label, where the target's row would be."""
    shown = []
    for trees in forests:
        leaves = [leaf_of(tree, row, plan) for tree in trees]
        counts = sum(node.leaf.counts[label] if node.leaf.counts is not None else 0 for node in leaves)  # type: ignore[union-attr]
        votes = sum(node.leaf.label == label for node in leaves)  # type: ignore[union-attr]
        rows = sum((node.rows or 0) for node in leaves) + sum((tree[0].rows or 0) for tree in trees)
        root = trees[0][0]
        split = -1 if root.attribute is None else 16 * root.attribute + root.at
        shown.append(f"{split} {np.clip(counts, -6, 12)} {votes} {np.clip(rows, -6, 20)}")
    return np.array(shown)


def table_of(rows: list[tuple[int, int, int]]) -> Table:
    """Rows (a, n, y) as codes."""
    data = np.array(rows, dtype=np.uint8).reshape(len(rows), 3)
    return data[:, :2].T.copy(), data[:, 2].astype(np.int64)


def without(table: Table, at: int) -> Table:
    """The table without one row."""
    return np.delete(table[0], at, axis=1), np.delete(table[1], at)


MIXED = table_of([(0, 0, 0), (0, 1, 0), (1, 2, 1), (1, 3, 1), (0, 3, 1), (1, 0, 0)])
ALONE = table_of([(0, 0, 0), (0, 0, 0), (0, 0, 0), (1, 3, 1)])
FAR = table_of([(0, 0, 0)] * 9 + [(1, 2, 1)] * 9 + [(0, 0, 0)])
TIED = table_of([(0, 0, 0), (0, 0, 1), (1, 3, 0), (1, 3, 1), (0, 0, 1)])

PAIRS: dict[str, tuple[Table, Table, int]] = {
    "first row removed": (MIXED, without(MIXED, 0), 0),
    "middle row removed": (MIXED, without(MIXED, 3), 3),
    "last row removed": (MIXED, without(MIXED, 5), 5),
    "a record alone in its node": (ALONE, without(ALONE, 3), 3),
    "the only record": (table_of([(1, 2, 1)]), table_of([]), 0),
    "leaves far from a tie": (FAR, without(FAR, 18), 18),
    "leaves near a tie": (TIED, without(TIED, 4), 4),
}
"""Tables, their neighbours without one row, and which row: the pairs that broke peers."""


def bound(name: str, pair: str, epsilon: float, forests: int) -> tuple[float, float]:
    """The lower bound that the audit finds, and the claim."""
    method = method_of(name, epsilon)
    plan = method.plan(POLICY)
    table, neighbour, at = PAIRS[pair]
    row, label = table[0][:, at], int(table[1][at])
    grown = [forests_of(plan, one, forests, seed) for seed, one in enumerate((table, neighbour))]
    samples = [symbols(each, row, label, plan) for each in grown]
    return lower_bound(samples[0], samples[1]).lower_bound, plan.accounting.epsilon


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("pair", ["first row removed", "a record alone in its node"])
def test_no_pair_of_tables_tells_more_than_the_claim(name: str, pair: str) -> None:
    """The short audit: some thousands of forests of the presets that differ most."""
    found, claim = bound(name, pair, 1.0, 3_000 // method_of(name, 1.0).plan(POLICY).choices.rows.trees)
    assert found <= claim


@pytest.mark.slow
@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("pair", PAIRS)
def test_no_pair_tells_more_than_the_claim_in_many_forests(name: str, pair: str) -> None:
    """The long audit: every preset, every pair that broke a peer, at a small and a usual epsilon."""
    for epsilon in (0.3, 2.0):
        found, claim = bound(name, pair, epsilon, 8_000)
        assert found <= claim


ONE_ROW = (np.zeros((1, 1), dtype=np.uint8), np.zeros(1, dtype=np.int64))
NO_ROW = (np.zeros((1, 0), dtype=np.uint8), np.zeros(0, dtype=np.int64))


def roots(plan: Plan, table: Table, forests: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy rows and class counts of trees that are a leaf, shape (forests, trees) each."""
    leaves = [[tree[0] for tree in trees] for trees in forests_of(plan, table, forests, seed)]
    rows = np.array([[node.rows or 0 for node in each] for each in leaves])
    counts = np.array([[node.leaf.counts[0] for node in each] for each in leaves])  # type: ignore[union-attr, index]
    return rows, counts


def spent(name: str, epsilon: float, forests: int) -> tuple[float, float]:
    """The bound on a table whose only attribute has one value: a tree is a leaf, and all is spent on it."""
    plan = method_of(name, epsilon).plan(ONE_VALUE)
    shown = []
    for seed, table in enumerate((ONE_ROW, NO_ROW)):
        rows, counts = (np.clip(one.sum(axis=1), -2, 3) for one in roots(plan, table, forests, seed))
        shown.append(np.array([f"{r} {c}" for r, c in zip(rows, counts, strict=True)]))
    return lower_bound(shown[0], shown[1]).lower_bound, plan.accounting.epsilon


@pytest.mark.parametrize("name", QUICK)
def test_the_budget_is_used(name: str) -> None:
    """On tables of one row and of none the audit finds 0.7 of the claim, where one tree sees every row once."""
    trees = method_of(name, 2.0).plan(POLICY).choices.rows.trees
    found, claim = spent(name, 2.0, 8_000 // trees)
    assert found <= claim
    if trees == 1 and name != "diffprfs":
        assert found >= 0.7 * claim


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in PRESETS if PRESETS[name].get("trees", 1) == 1 and "leaf" not in PRESETS[name]]
)
def test_the_budget_of_every_preset_is_used(name: str) -> None:
    """The same with many forests; copies of a bootstrap show their price in the far tail only."""
    found, claim = spent(name, 2.0, 40_000)
    assert found <= claim
    if not name.startswith("diffprf"):
        assert found >= 0.7 * claim
    else:
        assert found >= 0.5 * claim


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["diffprfs, as published", "diffprfs, three trees"])
def test_copies_of_a_row_add_up_over_the_trees_of_a_bootstrap(name: str) -> None:
    """A row and no row: what is high in all trees at once shows 0.7 of a claim that copies make larger than epsilon.

    Each tree is clipped before the sum, so that one loud tree does not drown the others, and few of many forests are
    needed to choose the event: a forest with the row has it far more often, but it is rare in both.
    """
    plan = method_of(name, 2.0).plan(ONE_VALUE)
    shown: list[list[np.ndarray]] = [[], []]
    for part in range(25):
        for at, table in enumerate((ONE_ROW, NO_ROW)):
            rows, counts = roots(plan, table, 16_000, 2 * part + at)
            shown[at].append(np.minimum(np.clip(rows, -1, 3), np.clip(counts, -1, 3)).sum(axis=1))
    found = lower_bound(np.concatenate(shown[0]), np.concatenate(shown[1]), pilot=0.3).lower_bound
    claim = plan.accounting.epsilon
    assert 0.7 * claim <= found <= claim


def test_a_replaced_label_loses_no_more_than_twice_the_claim() -> None:
    """Replace-one is two steps of add-or-remove: the price that `--adjacency replace` pays."""
    plan = method_of("edprf, labels", 1.0).plan(POLICY)
    changed = (TIED[0], np.append(TIED[1][:-1], 0))
    row = TIED[0][:, 4]
    samples = [symbols(forests_of(plan, one, 4_000, seed), row, 1, plan) for seed, one in enumerate((TIED, changed))]
    assert lower_bound(samples[0], samples[1]).lower_bound <= 2 * plan.accounting.epsilon


def test_a_plan_with_twice_the_rate_is_caught() -> None:
    """The audit has teeth: a leaf that spends twice its claim is refuted."""
    found, claim = spent("edprf", 2.0, 8_000)
    assert found > claim / 2


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["diffgen", "dt-diff"])
@pytest.mark.parametrize("pair", PAIRS)
def test_specialization_tells_no_more_than_the_claim(name: str, pair: str) -> None:
    """Grown one by one, since its steps look at the whole table."""
    plan = make_method(name, {"epsilon": 2.0, "steps": 1, "bins": 4}).plan(POLICY)  # type: ignore[attr-defined]
    table, neighbour, at = PAIRS[pair]
    row, label = table[0][:, at], int(table[1][at])
    samples = []
    for seed, one in enumerate((table, neighbour)):
        grown = [specialize(plan, counter_of(*one), Randomness.seeded(2 * run + seed)).trees for run in range(2_000)]
        samples.append(symbols(grown, row, label, plan))  # type: ignore[arg-type]
    assert lower_bound(samples[0], samples[1]).lower_bound <= plan.accounting.epsilon


# --- laws --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["edprf", "diffp-id3"])
def test_the_root_splits_by_the_law_of_its_mechanism(name: str) -> None:
    """The exact distribution of a small tree: scores by hand, probabilities by enumeration."""
    from tests.mechanisms.test_private_selection import law_of_exponential, law_of_permute_and_flip

    plan = method_of(name, 5.0).plan(POLICY)
    codes, labels = MIXED
    score, tables = SCORES["gini"], []
    for at, attribute in enumerate(plan.schema.attributes):
        counts = np.zeros((1, attribute.codes, 2), dtype=np.int64)
        np.add.at(counts[0], (codes[at], labels), 1)
        tables.append(int(score.of(attribute.children(counts), 1 << 28)[0, 0]))
    (draw,) = plan.split_draws(0)
    law = law_of_permute_and_flip if name == "edprf" else law_of_exponential
    expected = law(tables, draw.rate / 2**52)
    roots = [trees[0][0].attribute for trees in forests_of(plan, MIXED, 8_000, 5)]
    found = np.bincount(np.array(roots, dtype=np.int64), minlength=2)
    assert min(expected) > 0.01
    assert chisquare(found, expected * 8_000).pvalue > 1e-3


@pytest.mark.slow
def test_the_order_of_rows_and_columns_moves_no_law() -> None:
    """Reversed rows, and columns in another order, publish the same distribution."""
    method = method_of("edprf, many trees", 2.0)
    shuffled = {name: POLICY.columns[name] for name in ("y", "n", "a")}
    laws = []
    for seed, (policy, table) in enumerate(
        [(POLICY, MIXED), (POLICY, (MIXED[0][:, ::-1], MIXED[1][::-1])), (replace(POLICY, columns=shuffled), MIXED)]
    ):
        plan = method.plan(policy)
        grown = forests_of(plan, table, 1_500, seed)
        roots = [plan.schema.attributes[trees[0][0].attribute or 0].name for trees in grown]
        laws.append([roots.count("a"), roots.count("n")])
    assert chi2_contingency(laws).pvalue > 1e-3


# --- processes ---------------------------------------------------------------------------------------------------


def _published(customers: pa.Table) -> str:
    release = anonkit.release(
        customers, method="edprf", epsilon=0.1, depth=2, policy=bank_customers_policy(), ledger=None
    )
    return str(release.params["trees"])


def test_forked_workers_and_releases_of_one_second_differ() -> None:
    """No two releases share their noise, whatever process makes them, whenever."""
    customers = bank_customers(100, seed=1)
    found = {_published(customers), _published(customers)}
    for _ in range(2):
        readable, writable = os.pipe()
        if (child := os.fork()) == 0:
            os.write(writable, _published(customers)[:4_000].encode())
            os._exit(0)
        os.close(writable)
        with os.fdopen(readable, "rb") as pipe:
            found.add(pipe.read().decode())
        os.waitpid(child, 0)
    assert len(found) == 4


def test_the_claims_that_hold_are_those_of_the_formulas() -> None:
    """25 trees at the published budget: the claim of 1 is 1.02 in truth."""
    method = make_method("diffprfs", {"epsilon": 1.0, "rows": "published-bootstrap", "stop": "depth"})
    assert isinstance(method, TreeMethod)
    assert method.plan(POLICY).accounting.epsilon == pytest.approx(25 * math.expm1(1 / 25), rel=1e-3)
