"""What a refinement is said to bring is what it brings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.distinct_rows import DistinctRows
from anonkit.k_anonymity.search.equivalence import Requirement
from anonkit.k_anonymity.search.hierarchy_levels import automatic_ladder, full_detail
from anonkit.k_anonymity.search.refinable_column import RefinableColumn, refinable_column
from anonkit.k_anonymity.search.refinement import Refinable
from anonkit.k_anonymity.search.target_probabilities import Guide
from tests.k_anonymity.search.coded_tables import requirements, tables


@st.composite
def _states(draw: st.DrawFn) -> tuple[Refinable, list[RefinableColumn]]:
    """Draw a search in progress: a table, a guide of some rows, and columns refined a few steps."""
    table: list[CodedColumn] = draw(tables())
    n_rows = table[0].codes.size
    asked: Sequence[Requirement] = draw(requirements(n_rows, t_closeness=False))
    distinct = DistinctRows.of(table, asked)
    n_axes = draw(st.integers(0, 2))
    values = draw(st.lists(st.integers(-8, 8), min_size=n_rows * n_axes, max_size=n_rows * n_axes))
    known = np.array(draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows)))
    axes = np.array(values, dtype=float).reshape(n_axes, n_rows)[:, known]
    guide = Guide(rows=np.ones(int(known.sum())), sums=axes).over(distinct.entry[known], distinct.whole.classes.size)
    columns = []
    for column in distinct.columns:
        ladder = draw(st.sampled_from([None, full_detail(column), automatic_ladder(column)]))
        columns.append(refinable_column(column, np.arange(column.size, dtype=np.int32), ladder))
    state = Refinable.start(distinct.whole, guide, distinct.requirements)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(columns) - 1))
        if state.kept.size == 0:
            break
        offers = columns[at].offers(state, 0.0)
        possible = np.flatnonzero(offers.prospects.separated)
        if possible.size:
            columns[at] = offers.take(int(draw(st.sampled_from(possible.tolist()))))
            state, _ = state.refined(columns[at].parts(state))
    return state, columns


@settings(max_examples=150)
@given(_states())
def test_prospects_come_true(drawn: tuple[Refinable, list[RefinableColumn]]) -> None:
    """Every offer suppresses as many rows and explains as much more as it says, and divides something."""
    state, columns = drawn
    if state.kept.size == 0:
        return
    for column in columns:
        offers = column.offers(state, 0.0)
        for choice in np.flatnonzero(offers.prospects.separated).tolist():
            taken = offers.take(choice)
            finer, suppressed = state.refined(taken.parts(state))
            assert suppressed == offers.prospects.violating[choice]
            assert finer.explained - state.explained == pytest.approx(offers.prospects.gain[choice], abs=1e-6)
            assert taken.n_groups > column.n_groups
            assert all(len(set(column.groups[taken.groups == group].tolist())) == 1 for group in taken.groups)


@settings(max_examples=100)
@given(_states())
def test_chance_is_charged_for_every_class_that_becomes_two(drawn: tuple[Refinable, list[RefinableColumn]]) -> None:
    """The charge for chance counts the classes with a guide that are there more than before."""
    state, columns = drawn
    if state.kept.size == 0:
        return
    for column in columns:
        free, charged = column.offers(state, 0.0), column.offers(state, 1.0)
        for choice in np.flatnonzero(free.prospects.separated).tolist():
            finer, _ = state.refined(free.take(choice).parts(state))
            fresh = _guided_classes(finer) - _guided_classes(state)
            told = free.prospects.gain[choice] - charged.prospects.gain[choice]
            assert told == pytest.approx(fresh, abs=1e-6)


def _guided_classes(state: Refinable) -> int:
    return int((state.guide.over(state.partition.classes, state.partition.n_classes).rows > 0).sum())


@given(_states())
def test_nothing_is_offered_once_every_value_is_apart(drawn: tuple[Refinable, list[RefinableColumn]]) -> None:
    """At full detail a column offers nothing more, whatever the path it came."""
    state, columns = drawn
    if state.kept.size == 0:
        return
    for column in columns:
        finest = column.finest()
        assert finest.is_finest
        finer, _ = state.refined(finest.parts(state))
        if finer.kept.size:
            assert not finest.offers(finer, 0.0).prospects.separated.any()


def test_requirements_with_huge_histograms_are_left_to_the_exact_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound a cut is taken to break nothing; refining still suppresses what breaks."""
    from anonkit.k_anonymity.search.equivalence import AlphaK
    from tests.k_anonymity.search.coded_tables import coded

    table = [coded("a", [0, 0, 1, 1], ordered=True)]
    asked = [AlphaK(np.array([0, 0, 1, 1]), 0.5)]
    distinct = DistinctRows.of(table, asked)
    guide = Guide(rows=np.ones(2), sums=np.zeros((0, 2)))
    state = Refinable.start(distinct.whole, guide, distinct.requirements)
    column = refinable_column(distinct.columns[0], np.arange(2, dtype=np.int32), None)
    assert column.offers(state, 0.0).prospects.violating.tolist() == [4]
    monkeypatch.setattr("anonkit.k_anonymity.search.refinement._HISTOGRAM_CELLS", 1)
    assert column.offers(state, 0.0).prospects.violating.tolist() == [0]
    assert state.refined(column.finest().parts(state))[1] == 4
