"""Full-domain generalization: the lattice of levels, Datafly's climb, Incognito's nodes and losses."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from k_anonymity.search.coded_tables import arrays, coded, holds, requirements, tables

from anonkit.errors import ParameterError
from anonkit.k_anonymity.search import full_domain
from anonkit.k_anonymity.search.equivalence import AlphaK, AtLeastK, DistinctL, NumberedRows, TCloseness
from anonkit.k_anonymity.search.full_domain import (
    LOSSES,
    Lattice,
    Node,
    datafly,
    discernibility_loss,
    granularity_loss,
    incognito,
    satisfying_nodes,
)
from anonkit.k_anonymity.search.hierarchy_levels import Ladder


def _ladder(name: str, *levels: list[int]) -> Ladder:
    return Ladder(name, tuple(np.array(level, dtype=np.int32) for level in levels))


ZIP = coded("zip", [0, 0, 1, 1, 2, 2, 3, 3])
SEX = coded("sex", [0, 1, 0, 1, 0, 1, 0, 1])
LADDERS = {"zip": _ladder("zip", [0, 1, 2, 3], [0, 0, 1, 1]), "sex": _ladder("sex", [0, 1])}
"""Eight people: four zip codes of one man and one woman each, in two regions; nodes are (sex, zip)."""


def _lattice(k: int, max_suppressed: int = 0) -> Lattice:
    return Lattice([ZIP, SEX], LADDERS, [AtLeastK(k)], max_suppressed)


def test_the_lattice_has_every_combination_of_levels() -> None:
    """Columns in order of their names; one level more than the hierarchy has drops the column."""
    lattice = _lattice(2)
    assert (lattice.bottom, lattice.heights, lattice.n_nodes) == ((0, 0), (1, 2), 6)
    groups = lattice.groups((1, 1))
    assert groups["sex"] is None
    assert groups["zip"] is not None
    assert groups["zip"].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("k", "node", "nodes"),
    [
        (2, (0, 1), [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]),
        (4, (1, 1), [(0, 2), (1, 1), (1, 2)]),
        (5, (1, 2), [(1, 2)]),
    ],
)
def test_both_searches_by_hand(k: int, node: Node, nodes: list[Node]) -> None:
    """Four zip codes go first; regions and sexes are two each then, and sex comes first by name."""
    assert datafly(_lattice(k)) == node
    assert satisfying_nodes(_lattice(k)) == nodes


def test_losses_by_hand() -> None:
    """Of four zip codes a region covers one of three others; a dropped sex costs all of its column."""
    lattice = _lattice(2)
    assert granularity_loss(lattice, (0, 1)) == pytest.approx((0 + 1 / 3) / 2)
    assert granularity_loss(lattice, (1, 0)) == pytest.approx((1 + 0) / 2)
    assert discernibility_loss(lattice, (0, 1)) == 4 * 2**2
    assert discernibility_loss(lattice, (1, 2)) == 8**2
    assert granularity_loss(lattice, (0, 0)) == 1  # every row would have to go
    assert discernibility_loss(lattice, (0, 0)) == 8 * 8


def test_suppressed_rows_cost_as_much_as_the_table_has_rows() -> None:
    """One zip code with one woman only: with one row left out the others are released in full."""
    zips, sexes = coded("zip", [0, 0, 0, 0, 1, 1, 1]), coded("sex", [0, 0, 1, 1, 0, 0, 1])
    ladders = {"zip": _ladder("zip", [0, 1]), "sex": _ladder("sex", [0, 1])}
    lattice = Lattice([zips, sexes], ladders, [AtLeastK(2)], 1)
    assert datafly(lattice) == (0, 0)
    assert discernibility_loss(lattice, (0, 0)) == 3 * 2**2 + 1 * 7
    assert granularity_loss(lattice, (0, 0)) == pytest.approx(1 / 7)


def test_incognito_takes_the_node_of_least_loss() -> None:
    """Regions lose less than sex; where only one region is left, sex stays for k = 4."""
    found = incognito(_lattice(2), granularity_loss)
    assert found is not None
    assert (found.node, found.satisfying) == ((0, 1), 5)
    four = incognito(_lattice(4), granularity_loss)
    assert four is not None
    assert (four.node, four.loss) == ((0, 2), pytest.approx(1 / 2))


def test_nothing_is_found_where_not_even_one_class_meets_the_requirements() -> None:
    """Datafly hands back the top, which does not; Incognito nothing."""
    asked = [AtLeastK(2), DistinctL(np.zeros(8, dtype=np.int64), 2)]
    lattice = Lattice([ZIP, SEX], LADDERS, asked, 0)
    assert datafly(lattice) == lattice.heights
    assert not lattice.meets(lattice.heights)
    assert incognito(lattice, granularity_loss) is None


def test_models_that_are_not_monotone_are_searched_node_by_node() -> None:
    """k and distinct l prune whatever is left out; shares only where nothing is; values of people never."""
    values, people = np.array([0, 1] * 4), np.array([0, 0, 1, 1, 2, 2, 3, 3])

    def monotone(asked: Any, max_suppressed: int) -> bool:
        return Lattice([ZIP, SEX], LADDERS, [AtLeastK(2, people), asked], max_suppressed).is_monotone

    assert monotone(DistinctL(values, 2), 3)
    for asked in (TCloseness(values, 0.2), AlphaK(values, 0.5)):
        assert monotone(asked, 0)
        assert not monotone(asked, 1)
    assert not monotone(DistinctL(values, 2, units=people), 0)


@pytest.mark.parametrize("asked", [AtLeastK(2), AlphaK(np.zeros(2, dtype=np.int64), 1.0)])
def test_a_lattice_that_is_too_large_is_refused(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal of a walk or of a look at each node states the number of columns, and the remedy."""
    monkeypatch.setattr("anonkit.k_anonymity.search.full_domain.MAX_NODES", 60)
    columns = [coded(f"c{at}", [0, 1]) for at in range(6)]
    twins = [replace(column, codes=np.tile(column.codes, 2)) for column in columns]
    ladders = {column.name: _ladder(column.name, [0, 1]) for column in columns}
    if isinstance(asked, AlphaK):
        asked = replace(asked, sensitive=np.zeros(4, dtype=np.int64))
    with pytest.raises(ParameterError, match="more than 60 combinations of levels of 6 quasi-identifiers"):
        satisfying_nodes(Lattice(twins, ladders, [asked], 1))


@st.composite
def lattices(draw: st.DrawFn) -> tuple[Lattice, list[Any]]:
    """Draw a table with hierarchies, requirements of every kind, and a limit; return them with what is requested."""
    columns = draw(tables(max_rows=24))
    ladders = {}
    for column in columns:
        levels = [np.arange(column.size)]
        for _ in range(draw(st.integers(0, 2))):
            merged = draw(arrays(int(levels[-1].max()) + 1, 3))
            levels.append(np.unique(merged[levels[-1]], return_inverse=True)[1].reshape(-1))
        ladders[column.name] = Ladder(column.name, tuple(level.astype(np.int32) for level in levels))
    n_rows = columns[0].codes.size
    asked = draw(requirements(n_rows))
    return Lattice(columns, ladders, asked, draw(st.integers(0, n_rows // 3))), asked


@given(lattices(), st.sampled_from(sorted(LOSSES)))
def test_incognito_finds_what_looking_at_every_node_finds(drawn: tuple[Lattice, list[Any]], loss: str) -> None:
    """All nodes that meet the requirements, whatever was pruned, and the least loss of any of them."""
    lattice, _ = drawn
    every = [node for node in product(*(range(height + 1) for height in lattice.heights)) if lattice.meets(node)]
    best = incognito(lattice, LOSSES[loss])

    assert satisfying_nodes(lattice) == every
    assert (best is None) is (not every)
    if best is not None:
        assert best.node in every
        assert best.loss == min(LOSSES[loss](lattice, node) for node in every)


@settings(max_examples=60)
@given(lattices())
def test_what_datafly_returns_meets_the_requirements_by_their_definitions(drawn: tuple[Lattice, list[Any]]) -> None:
    """Every class that is left, row by row; else it is the top."""
    lattice, asked = drawn
    node = datafly(lattice)
    if not lattice.meets(node):
        assert node == lattice.heights
        return
    groups = lattice.groups(node)
    released = [of[c.codes] for c in lattice.columns if (of := groups[c.name]) is not None]
    _, gone = lattice.suppressed(node)
    kept = ~gone[NumberedRows.of(lattice.columns, lattice.requirements).entry]

    assert int((~kept).sum()) == lattice.n_suppressed(node) <= lattice.max_suppressed
    assert holds(released, kept, asked)


def _step_by_step(lattice: Lattice) -> Node:
    """Return what Sweeney's loop finds: of the values shown the most, one level up, until the node will do."""
    node = list(lattice.bottom)
    while (
        not (lattice.meets(tuple(node)) and lattice.shows_kept_columns(tuple(node))) and tuple(node) != lattice.heights
    ):
        shown = [
            (int(levels[level].max()) + 1) / weight if level < height else 0.0
            for levels, level, height, weight in zip(
                lattice.levels, node, lattice.heights, lattice.weights, strict=True
            )
        ]
        node[int(np.argmax(shown))] += 1
    return tuple(node)


@given(lattices(), st.data())
def test_datafly_finds_what_climbing_step_by_step_finds(drawn: tuple[Lattice, list[Any]], data: st.DataObject) -> None:
    """Datafly and climbing step by step agree for any requirements, with columns to be kept and weights."""
    lattice, asked = drawn
    names = [column.name for column in lattice.columns]
    again = Lattice(
        lattice.columns,
        {name: Ladder(name, levels) for name, levels in zip(names, lattice.levels, strict=True)},
        asked,
        lattice.max_suppressed,
        kept_columns=data.draw(st.sets(st.sampled_from(names))),
        detail_weights={name: data.draw(st.sampled_from([0.5, 1.0, 3.0])) for name in names},
    )
    assert datafly(again) == _step_by_step(again)


def test_few_nodes_of_many_columns_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2,000 columns not one node a step: some eleven by bisection, and the one that is returned."""
    random = np.random.default_rng(1)
    columns = [coded(f"c{at:04}", [*random.permutation(6), *random.integers(0, 6, 24)]) for at in range(2_000)]
    ladders = {column.name: _ladder(column.name, [0, 1, 2, 3, 4, 5]) for column in columns}
    lattice, looked = Lattice(columns, ladders, [AtLeastK(5)], 0), []
    suppressed = Lattice.suppressed
    monkeypatch.setattr(Lattice, "suppressed", lambda own, node: looked.append(node) or suppressed(own, node))
    assert lattice.meets(datafly(lattice))
    assert len(looked) <= 16


def test_nodes_of_many_columns_are_refused_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of 400 columns are finer in 79,800 nodes: the first hundred are enough to know."""
    monkeypatch.setattr("anonkit.k_anonymity.search.full_domain.MAX_NODES", 500)
    columns = [coded(f"c{at:03}", [0, 0, 1, 1]) for at in range(400)]
    ladders = {column.name: _ladder(column.name, [0, 1]) for column in columns}
    lattice, made = Lattice(columns, ladders, [AtLeastK(1)], 0), []
    step = full_domain._one_step
    monkeypatch.setattr(full_domain, "_one_step", lambda *given: made.append(given) or step(*given))
    with pytest.raises(ParameterError, match="more than 500 combinations"):
        satisfying_nodes(lattice)
    assert len(made) < 2_000
