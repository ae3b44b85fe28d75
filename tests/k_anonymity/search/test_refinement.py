"""The stated gain of a refinement is its gain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.domains.coded_columns import CodedColumn
from anonkit.k_anonymity.search.equivalence import AlphaK, AtLeastK, NumberedRows, Partition, Requirement
from anonkit.k_anonymity.search.hierarchy_levels import automatic_ladder, full_detail
from anonkit.k_anonymity.search.refinement import Guide, Refinable
from anonkit.k_anonymity.search.top_down_specialization import RefinableColumn, refinable_column
from tests.k_anonymity.search.coded_tables import coded, requirements, tables


@st.composite
def _states(draw: st.DrawFn) -> tuple[Refinable, list[RefinableColumn]]:
    """Draw a search in progress: a table, a guide of some rows, and columns refined a few steps."""
    table: list[CodedColumn] = draw(tables())
    n_rows = table[0].codes.size
    asked: Sequence[Requirement] = draw(requirements(n_rows, t_closeness=False))
    distinct = NumberedRows.of(table, asked)
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
        if state.retained.size == 0:
            break
        offers = columns[at].offers(state, 0.0)
        possible = np.flatnonzero(offers.prospects.separated)
        if possible.size:
            columns[at] = offers.take(int(draw(st.sampled_from(possible.tolist()))))
            state, _ = state.refined(columns[at].parts(state))
    return state, columns


def _told(state: Refinable, finer: Refinable) -> tuple[float, int]:
    """Return the gain of a refinement, from the definition, and how many more classes it makes of rows that stay."""
    gain, fresh, lost_rows = 0.0, 0, 0.0
    lost_sums = np.zeros(len(state.guide.sums))
    new_class = np.full(int(state.retained.max()) + 1, -1)
    new_class[finer.retained] = finer.partition.classes
    new = new_class[state.retained]
    for old in range(state.partition.n_classes):
        inside = state.partition.classes == old
        whole, parts = _sum(state.guide, inside), []
        for part in sorted(set(new[inside & (new >= 0)].tolist())):
            parts.append(_sum(state.guide, inside & (new == part)))
        stay = _sum(state.guide, inside & (new >= 0))
        gain += sum(_square(part) for part in parts) - _square(stay)
        fresh += max(sum(part[0] > 0 for part in parts) - 1, 0)
        gone, mean = whole[0] - stay[0], whole[1] / max(whole[0], 1.0)
        gain -= gone * float((mean**2).sum())
        lost_rows, lost_sums = lost_rows + gone, lost_sums + gone * mean
    pool = (float(state.pool.rows[0]), state.pool.sums[:, 0])
    gain += _square((pool[0] + lost_rows, pool[1] + lost_sums)) - _square(pool)
    return gain, fresh


def _sum(guide: Guide, entries: np.ndarray) -> tuple[float, np.ndarray]:
    return float(guide.rows[entries].sum()), guide.sums[:, entries].sum(axis=1)


def _square(part: tuple[float, np.ndarray]) -> float:
    return float((part[1] ** 2).sum()) / max(part[0], 1.0)


@given(_states())
def test_prospects_come_true(drawn: tuple[Refinable, list[RefinableColumn]]) -> None:
    """Every offer has the stated suppression, and the stated gain on the rows that stay, and divides something."""
    state, columns = drawn
    if state.retained.size == 0:
        return
    for column in columns:
        offers, charged = column.offers(state, 0.0), column.offers(state, 1.0)
        for choice in np.flatnonzero(offers.prospects.separated).tolist():
            taken = offers.take(choice)
            finer, suppressed = state.refined(taken.parts(state))
            assert suppressed == offers.prospects.violating[choice]
            gain, fresh = _told(state, finer)
            assert offers.prospects.gain[choice] == pytest.approx(gain, abs=1e-6)
            assert charged.prospects.gain[choice] == pytest.approx(gain - fresh, abs=1e-6)
            assert taken.n_groups > column.n_groups
            assert all(len(set(column.groups[taken.groups == group].tolist())) == 1 for group in taken.groups)


@pytest.mark.parametrize("ladder", [False, True])
def test_setting_an_outlying_row_apart_tells_nothing(ladder: bool) -> None:
    """A row far from all others that would be suppressed: no gain, whether the column is cut or has a hierarchy."""
    column = coded("a", [0] * 9 + [1], ordered=True)
    state = Refinable.start(
        Partition.whole(10), Guide(rows=np.ones(10), sums=np.array([[0.0] * 9 + [90.0]])), [AtLeastK(3)]
    )
    offers = refinable_column(column, np.arange(2, dtype=np.int32), full_detail(column) if ladder else None).offers(
        state, 0.0
    )
    assert offers.prospects.violating.tolist() == [1]
    assert offers.prospects.gain.max() <= 0.0


@given(_states())
def test_nothing_is_offered_once_every_value_is_apart(drawn: tuple[Refinable, list[RefinableColumn]]) -> None:
    """At full detail a column offers nothing more, whatever the path it came."""
    state, columns = drawn
    if state.retained.size == 0:
        return
    for column in columns:
        finest = column.finest()
        assert finest.is_finest
        finer, _ = state.refined(finest.parts(state))
        if finer.retained.size:
            assert not finest.offers(finer, 0.0).prospects.separated.any()


def test_requirements_with_huge_histograms_are_left_to_the_exact_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound a cut is taken to break nothing; refining still suppresses what breaks."""
    table = [coded("a", [0, 0, 1, 1], ordered=True)]
    asked = [AlphaK(np.array([0, 0, 1, 1]), 0.5)]
    distinct = NumberedRows.of(table, asked)
    guide = Guide(rows=np.ones(2), sums=np.zeros((0, 2)))
    state = Refinable.start(distinct.whole, guide, distinct.requirements)
    column = refinable_column(distinct.columns[0], np.arange(2, dtype=np.int32), None)
    assert column.offers(state, 0.0).prospects.violating.tolist() == [4]
    monkeypatch.setattr("anonkit.k_anonymity.search.refinement._HISTOGRAM_CELLS", 1)
    assert column.offers(state, 0.0).prospects.violating.tolist() == [0]
    assert state.refined(column.finest().parts(state))[1] == 4
