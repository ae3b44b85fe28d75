"""Neighbouring tables released with the same outcomes of all draws: the exact loss, and that nothing else leaves.

The lemmas are in docs/proofs/central.md; how a release is replayed is in `transcripts.py`.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from anonkit.budget_rules.model_queries import TABLE
from anonkit.dp_trees.plan import PoissonBootstrap
from anonkit.dp_trees.release.declared_schema import CentralMethod
from anonkit.errors import GuaranteeError
from anonkit.mechanisms.accounting import Accounting
from anonkit.methods import method_class, method_names
from anonkit.policy.column_declarations import Column, Missing, Role
from anonkit.policy.declaration import Policy
from anonkit.published.statements.noise_statement import Draw
from tests.mechanisms.test_private_selection import law_of_exponential, law_of_permute_and_flip
from tests.privacy.mutation import Mutant, in_place
from tests.proofs.transcripts import Drawn, Replay, law, loss_of, replay

POLICY = Policy(
    columns={
        "age": Column(name="age", bounds=(0.0, 8.0)),
        "job": Column(name="job", categories=("cook", "nurse", "clerk")),
        "hue": Column(name="hue", categories=("red", "green"), missing=Missing.FIRST),
        "ill": Column(name="ill", role=Role.TARGET, categories=("no", "yes")),
    }
)
PEOPLE = Policy(columns={"who": Column(name="who", role=Role.UNIT), **POLICY.columns})
NUMBER = Policy(columns={**POLICY.columns, "age": replace(POLICY.columns["age"], role=Role.TARGET)})
NUMBER.columns["ill"] = replace(POLICY.columns["ill"], role=Role.QUASI_IDENTIFIER)

Row = tuple[Any, ...]
ROWS: list[Row] = [
    (0, "cook", "red", "no"), (1, "nurse", "green", "yes"), (5, "clerk", "green", "no"), (7, "cook", "red", "yes"),
    (3, "nurse", "red", "yes"), (8, "clerk", "green", "no"), (2, "cook", "green", "no"), (6, "nurse", None, "yes"),
]  # fmt: skip
ONE_MORE: list[Row] = [(0, "cook", "red", "yes"), (8, "clerk", None, "no"), (4, None, "green", "yes")]
"""Rows that come: with the majority, against it, with missing cells."""
UNUSED: Row = (4, "cook", "red", "perhaps")
"""A row of no declared class."""


def table(rows: Sequence[Row], who: Sequence[str] | None = None) -> pa.Table:
    """Rows as a table, with their persons if these are given."""
    columns = {
        name: pa.array([row[at] for row in rows], kind)
        for at, (name, kind) in enumerate(
            (("age", pa.int64()), ("job", pa.string()), ("hue", pa.string()), ("ill", pa.string()))
        )
    }
    return pa.table(columns if who is None else {"who": pa.array(who, pa.string()), **columns})


@dataclass(frozen=True)
class Pair:
    """Neighbours, and how they are released."""

    tables: tuple[pa.Table, pa.Table]
    policy: Policy = POLICY
    options: dict[str, Any] = field(default_factory=dict)


def _pairs() -> Iterator[tuple[str, Pair]]:
    whole = table(ROWS)
    for at, row in enumerate(ONE_MORE):
        yield f"row {at} more", Pair((table([*ROWS, row]), whole))
    yield "the only row", Pair((table(ONE_MORE[:1]), table([])))
    replaced = (table([*ROWS, ONE_MORE[0]]), table([*ROWS, ONE_MORE[1]]))
    yield "a row replaced", Pair(replaced, options={"adjacency": "replace"})
    names = ["a", "a", "b", "c", "c", "d", "d", "d"]
    more = (table([*ROWS, *ONE_MORE], [*names, "e", "e", "e"]), table(ROWS, names))
    yield "a person more", Pair(more, PEOPLE, {"rows_per_unit": 2})
    others = (table(ROWS, names), table([*ROWS[:5], *ONE_MORE], names))
    yield "a person with other rows", Pair(others, PEOPLE, {"rows_per_unit": 2, "adjacency": "replace"})


PAIRS = dict(_pairs())
METHODS_AS: dict[str, tuple[str, dict[str, Any]]] = {
    "dp-nb": ("dp-nb", {"bins": 4}),
    "dp-tables": ("dp-tables", {"bins": 4, "points": 8, "aggregate": (
        "job, ill", "ill", "mean(age) by hue", "sum(age)", "quantile(age, 0.25, 0.5) by ill")}),
    "dp-marginals": ("dp-marginals", {"bins": 2, "epsilon": 40.0, "n_rows": 400}),
    "dp-marginals, columns": ("dp-marginals", {"bins": 4}),
    "dp-tree": ("dp-tree", {}),
    "dp-tree, cells": ("dp-tree", {"as_": "cells", "n_rows": 8, "epsilon": 3.0}),
    "dp-forest, weights": ("dp-forest", {"epsilon": 40.0}),
    "dp-forest, three trees": ("dp-forest", {"epsilon": 6.0, "trees": 3, "depth": 3}),
    "edprf": ("edprf", {"depth": 3, "trees": 2}),
    "edprf, labels": ("edprf", {"depth": 3, "trees": 2, "leaf": "label", "as_": "cells"}),
    "diffprfs, disjoint": ("diffprfs", {"rows": "disjoint", "trees": 2, "depth": 2}),
    "diffprfs, shared": ("diffprfs", {"rows": "shared", "trees": 2, "depth": 2, "score": "gini", "stop": "depth"}),
    "diffprf, entropy": ("diffprf", {"rows": "disjoint", "trees": 2, "depth": 2, "score": "entropy", "max_rows": 4}),
    "diffprf, max-class": ("diffprf", {"rows": "shared", "trees": 2, "depth": 2, "score": "max-class"}),
    "c45-arithmetic": ("c45-arithmetic", {"depth": 2}),
    "c45-arithmetic, as published": (
        "c45-arithmetic", {"depth": 2, "tables": "published", "choice": "exponential", "min_rows": 2}),
    "c45-halving, pruned": ("c45-halving", {"depth": 2, "stop": "noisy", "pruning": "pessimistic"}),
    "sulq-id3": ("sulq-id3", {"depth": 2, "stop": "depth"}),
    "pinq-id3": ("pinq-id3", {"depth": 2, "stop": "depth"}),
    "diffp-id3": ("diffp-id3", {"depth": 2, "stop": "depth"}),
    "diffp-c45": ("diffp-c45", {"depth": 2, "stop": "depth", "score": "max-class"}),
    "diffp-c45, entropy": ("diffp-c45", {"depth": 2, "score": "entropy", "epsilon": 8.0}),
    "diffgen": ("diffgen", {"steps": 3}),
    "diffgen, as published": ("diffgen", {"steps": 3, "rate": "published", "as_": "cells"}),
    "diffgen, gain": ("diffgen", {"steps": 3, "score": "information-gain"}),
    "dt-diff": ("dt-diff", {"steps": 3}),
    "dt-diff, even": ("dt-diff", {"steps": 3, "weights": "even", "as_": "cells"}),
}  # fmt: skip
FIRST = {method: name for name, (method, _) in reversed(METHODS_AS.items())}
QUICK = [(name, list(PAIRS)[at % len(PAIRS)]) for at, name in enumerate(reversed(FIRST.values()))]
"""One form of every method, in the gate; the others are slow."""


def replayed(name: str, pair: Pair, seed: int) -> Replay:
    """The releases of a pair by a method."""
    method, options = METHODS_AS[name]
    return replay(pair.tables, seed, method=method, policy=pair.policy, **{"epsilon": 1.0, **options, **pair.options})


def refuse_more_than_the_claim(found: Replay) -> None:
    """Fail where something leaves that was not drawn, or draws disclose more than the report states."""
    first, second = found.leaves
    assert first == second, "what leaves must follow from the outcomes of the draws"
    claim = found.releases[0].report["guarantee"]["parameters"]["epsilon"]
    assert found.loss <= claim + 1e-9
    assert found.charge <= claim + 1e-9


def test_every_central_method_is_replayed() -> None:
    """A method that is added is replayed, too."""
    central = {name for name in method_names() if issubclass(method_class(name), CentralMethod)}
    assert {method for method, _ in METHODS_AS.values()} == central


@pytest.mark.parametrize(("name", "pair"), QUICK)
def test_what_leaves_follows_from_the_draws_and_these_lose_no_more_than_the_claim(name: str, pair: str) -> None:
    """Data, params, report, page and messages of neighbours are the same bytes; the exact loss is within epsilon."""
    refuse_more_than_the_claim(replayed(name, PAIRS[pair], seed=len(name)))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", METHODS_AS)
def test_no_outcome_of_many_tells_more_than_the_claim(name: str) -> None:
    """Every method, every pair, outcomes of three seeds; and the dearest outcome costs a good part of the claim."""
    dearest = 0.0
    for pair, seed in itertools.product(PAIRS.values(), range(3)):
        found = replayed(name, pair, seed)
        refuse_more_than_the_claim(found)
        dearest = max(dearest, found.charge / found.releases[0].report["guarantee"]["parameters"]["epsilon"])
    assert dearest > 0.3


@pytest.mark.parametrize(
    "name",
    ["dp-forest, three trees", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dp-nb", "dp-tree"))],
)
def test_a_number_to_predict_leaves_through_draws_alone(name: str) -> None:
    """Its noisy histogram is a draw like the others, and bins, means and drawn numbers follow from it."""
    refuse_more_than_the_claim(replayed(name, Pair(PAIRS["row 0 more"].tables, NUMBER), seed=3))


@pytest.mark.parametrize("seed", range(3))
def test_a_calibration_leaves_through_draws_alone(seed: int) -> None:
    """Rows too few for weights and enough for slope and intercepts, of eight attributes, and any row more."""
    names = ("was", "wants", "learned", "father's", "mother's")
    wider = {name: replace(POLICY.columns["job"], name=name) for name in names}
    first, second = PAIRS[f"row {seed} more"].tables
    for name in names:
        first, second = (rows.append_column(name, rows["job"]) for rows in (first, second))
    found = replay(
        (first, second), seed, method="dp-forest", policy=Policy(columns={**POLICY.columns, **wider}),
        epsilon=4.0, n_rows=500,
    )  # fmt: skip
    assert "calibration" in found.releases[0].params
    refuse_more_than_the_claim(found)


@pytest.mark.parametrize("seed", range(3))
def test_a_reading_of_dependence_leaves_through_its_draw_alone(seed: int) -> None:
    """The use of weights follows from a noisy number of both tables, which are a row apart."""
    wider = {name: replace(POLICY.columns["job"], name=name) for name in ("was", "wants")}
    first, second = PAIRS[f"row {seed} more"].tables
    for name in wider:
        first, second = (rows.append_column(name, rows["job"]) for rows in (first, second))
    found = replay(
        (first, second), seed, method="dp-forest", policy=Policy(columns={**POLICY.columns, **wider}),
        epsilon=4.0, n_rows=5_000,
    )  # fmt: skip
    assert found.releases[0].params["rule"]["dependence"] is not None
    refuse_more_than_the_claim(found)


@pytest.mark.parametrize("seed", range(3))
def test_a_choice_of_a_pair_leaves_through_its_draw_alone(seed: int) -> None:
    """The choice of the pair that leads the tree is private on both tables, which are a row apart."""
    first, second = PAIRS[f"row {seed} more"].tables
    found = replay((first, second), seed, method="dp-tree", policy=POLICY, epsilon=8.0, n_rows=900)
    assert found.releases[0].params["rule"]["interaction"] is not None
    refuse_more_than_the_claim(found)


@pytest.mark.parametrize(("seed", "names"), [(1, []), (5, ["a", "b", "c"])])
def test_a_choice_of_a_triple_leaves_through_its_draw_alone(seed: int, names: list[str]) -> None:
    """Of none too: a reading of the best pair, the choice, and the table of three columns, on both tables."""
    bits = [(a, b, c, a ^ b ^ c) for a, b, c in itertools.product((0, 1), repeat=3)]
    sources = tuple(
        pa.table({name: pa.array([str(row[at]) for row in rows]) for at, name in enumerate("abct")})
        for rows in ([*bits, (0, 1, 1, 1)], bits)
    )
    policy = Policy(
        columns={
            name: Column(name=name, categories=("0", "1"), role=Role.TARGET if name == "t" else Role.QUASI_IDENTIFIER)
            for name in "abct"
        }
    )
    found = replay(sources, seed, method="dp-marginals", policy=policy, epsilon=40.0, n_rows=400)
    assert found.releases[0].params["triple"]["names"] == names
    refuse_more_than_the_claim(found)


@pytest.mark.parametrize("name", ["dp-nb", pytest.param("edprf", marks=pytest.mark.slow)])
def test_a_row_that_is_not_used_is_lost_in_nothing(name: str) -> None:
    """A row of no declared class changes no draw but the noisy number of rows, which these methods have not."""
    found = replayed(name, Pair((table([*ROWS, UNUSED]), table(ROWS))), seed=2)
    refuse_more_than_the_claim(found)
    assert found.charge == 0


def _written(kind: str, rows: pa.Table, folder: Path) -> Any:
    """The table as another kind of source."""
    folder.mkdir()
    if kind == "pandas":
        return rows.to_pandas()
    path = folder / f"source.{kind}"
    if kind == "parquet":
        pq.write_table(rows, path)
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()), encoding="utf-8")
    else:
        lines = [",".join("" if cell is None else str(cell) for cell in row.values()) for row in rows.to_pylist()]
        path.write_text("\n".join([",".join(rows.column_names), *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "pandas"])
@pytest.mark.parametrize("row", [(None, None, None, "no"), (999, "astronaut", "blue", "yes"), UNUSED])
def test_an_odd_row_of_any_source_leaves_through_draws_alone(kind: str, row: Row, tmp_path: Path) -> None:
    """Cells that are missing, of no domain or of no class, in every kind of table: types, files and messages too."""
    sources = tuple(_written(kind, table(rows), tmp_path / str(len(rows))) for rows in ([*ROWS, row], ROWS))
    for name in ("dp-nb", "dp-tree", "edprf"):
        refuse_more_than_the_claim(replayed(name, Pair(sources), seed=3))  # type: ignore[arg-type]


@pytest.mark.parametrize("copies", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_copies_of_a_bootstrap_lose_the_path_of_a_tree_each(copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given how often each tree takes the rows, the loss is at most trees x copies x path: the sum is then averaged."""
    own = PoissonBootstrap.groups

    def fixed(self: PoissonBootstrap, key: bytes, first: int, n_rows: int) -> Iterator[tuple[Any, Any]]:
        for trees, drawn in own(self, key, first, n_rows):
            yield trees, np.full_like(drawn, copies)

    monkeypatch.setattr(PoissonBootstrap, "groups", fixed)
    options = {"trees": 2, "depth": 1, "epsilon": 1.0, "score": "gini"}
    found = replay(PAIRS["row 1 more"].tables, 4, method="diffprfs", policy=POLICY, **options)
    first, second = found.leaves
    path = PoissonBootstrap(trees=2).path_units(1) / 2**52  # type: ignore[arg-type]
    assert first == second
    assert found.loss <= found.charge <= 2 * copies * path + 1e-9


# --- the replay can fail -----------------------------------------------------------------------------------------

MUTANTS: dict[str, tuple[str, Mutant]] = {
    "a leaf is counted at twice its rate": (
        "edprf",
        Mutant(where="dp_trees.plan:NoisyClassCounts.fill", old="[0].rate", new="[0].rate * 2", refused_by="loss"),
    ),
    "splits are chosen at eight times the rate": (
        "edprf",
        Mutant(where="dp_trees.split_selection:JointSelection.choose", old="rate = self.draws(0, units, terms)[0].rate",
               new="rate = 8 * self.draws(0, units, terms)[0].rate", refused_by="loss"),
    ),
    "a node is a leaf where its rows have one class": (
        "edprf",
        Mutant(where="dp_trees.grower:_Grower._ends", old="if self.choices.noiseless_purity:", new="if True:",
               refused_by="draws"),
    ),
    "a node is a leaf where its exact rows are few": (
        "c45-arithmetic, as published",
        Mutant(where="dp_trees.split_selection:NoisyCounts.choose",
               old="rows.append((at, nodes, children.sum(axis=-1)))",
               new="rows.append((at, nodes, tables.attributes[at].children(counts).sum(axis=-1)))", refused_by="draws"),
    ),
    "splits are drawn by the gain ratio of exact counts": (
        "c45-arithmetic, as published",
        Mutant(where="dp_trees.split_selection:NoisyCounts.choose",
               old="self.measure(children.astype(np.float64))",
               new="self.measure(tables.attributes[at].children(counts).astype(np.float64))", refused_by="loss"),
    ),
    "a histogram is published without noise": (
        "dp-tree",
        Mutant(where="dp_trees.additive_model.stacked:learn", old="histograms=histograms,",
               new="histograms=sums.tables(exact),", refused_by="bytes"),
    ),
    "the exact number of rows divides the budget": (
        "dp-tree",
        Mutant(where="dp_trees.release.stacked_trees:StackedMethod.release",
               old="rows = float(noisy_counts(np.array([exact]), counting.rate, words)[0])",
               new="rows = 0 * float(noisy_counts(np.array([exact]), counting.rate, words)[0]) + 40 * (exact > 8)",
               refused_by="draws"),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_replay_finds_what_leaves_besides_the_draws(mutant: str) -> None:
    """With one line changed some pair is released unlike its neighbour, or loses more than it says."""
    name, changed = MUTANTS[mutant]
    with in_place(changed), pytest.raises((AssertionError, GuaranteeError)):
        _refuse_some(name)


def _refuse_some(name: str) -> None:
    for pair, seed in itertools.product(PAIRS.values(), range(6)):
        refuse_more_than_the_claim(replayed(name, pair, seed))


# --- laws the replay rests on ------------------------------------------------------------------------------------


def test_the_laws_of_the_replay_are_those_of_enumeration() -> None:
    """Of both private choices, against all orders and all outcomes of their coins."""
    draws = random.Random(1)
    for _ in range(20):
        scores = [draws.randint(-4, 4) for _ in range(draws.randint(1, 5))]
        for kind, enumerated in (
            ("permute-and-flip", law_of_permute_and_flip),
            ("exponential", law_of_exponential),
        ):
            assert law(kind, np.array(scores), 0.7) == pytest.approx(enumerated(scores, 0.7), abs=1e-12)


def test_the_loss_of_noise_is_that_of_its_law() -> None:
    """Counts 2 and 4 before noise, 1 and 4 in the neighbour: one outcome loses the rate, another wins it."""
    rate = 1 << 51
    for outcome, wanted in ((5, 0.5), (0, -0.5), (2, 0.5)):
        drawn = [Drawn("noise", (rate, (2,)), np.array(exact), np.array([outcome, 4])) for exact in ([2, 4], [1, 4])]
        seen, most = loss_of(*drawn)
        assert (seen, most) == (wanted, 0.5)


# --- which tree takes a row --------------------------------------------------------------------------------------


def test_a_row_in_a_tree_drawn_for_it_loses_the_path_of_that_tree() -> None:
    """All ways to deal three rows and one more to two trees, and all noisy counts: the mixture loses the path."""
    rate, outcomes = 0.8, range(-3, 5)

    def chance(rows: int) -> dict[tuple[int, int], float]:
        found: dict[tuple[int, int], float] = {}
        for dealt in itertools.product((0, 1), repeat=rows):
            counts = dealt.count(0), dealt.count(1)
            for seen in itertools.product(outcomes, repeat=2):
                weight = np.exp(-rate * sum(abs(s - c) for s, c in zip(seen, counts, strict=True)))
                found[seen] = found.get(seen, 0.0) + weight / 2**rows
        return found

    without, with_row = chance(3), chance(4)
    losses = [abs(float(np.log(with_row[seen] / without[seen]))) for seen in without]
    assert 0.5 * rate < max(losses) <= rate + 1e-12


def test_rows_dealt_by_position_lose_more_than_a_path() -> None:
    """The enumeration can fail: dealt in turn, a first row that goes moves all others to the other tree."""
    labels = [1, 0, 1, 0]
    with_row, without = ([sum(rows[tree::2]) for tree in (0, 1)] for rows in (labels, labels[1:]))
    assert sum(abs(a - b) for a, b in zip(with_row, without, strict=True)) > 1


def test_the_loss_of_copies_is_reached_by_outcomes_that_are_large_in_every_tree() -> None:
    """Noisy counts of two trees with and without a row, copied by the published weights: the worst ratio is claimed."""
    bootstrap = PoissonBootstrap(trees=2).bootstrap
    path = Draw(name="count", query=TABLE, law="discrete-laplace", rate=1 << 50)
    claim = float(Accounting(draws=(path,), bootstrap=bootstrap).row_loss)
    shares = np.array(bootstrap.weights) / 2**bootstrap.word_bits
    copies, rate = np.arange(shares.size), path.rate * 2.0**-52
    losses = []
    for seen in range(-15, 25):
        ratio = float((shares * np.exp(-rate * (np.abs(seen - copies) - abs(seen)))).sum())
        losses.append(2 * abs(float(np.log(ratio))))
    assert claim - 1e-9 <= max(losses) <= claim + 1e-9
