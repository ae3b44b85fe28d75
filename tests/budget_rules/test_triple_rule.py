"""The rule of triples: few public candidates, groups that rows suffice for, and a score that chance hardly reaches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.budget_rules.triple_rule import LITTLE, MOST_COUNTS, MOST_TRIPLES, TripleRule


@given(
    st.lists(st.integers(1, 70), max_size=45), st.integers(2, 16), st.integers(1, 10**7), st.sampled_from([0.1, 1.0])
)
def test_candidates_are_few_and_of_the_columns_with_fewest_values(
    values: list[int], classes: int, rows: int, epsilon: float
) -> None:
    """At most 5,000 triples, none of a column of one value, and 64 cells each at most."""
    rule = TripleRule(values=tuple(values), classes=classes, rows=float(rows), epsilon=epsilon)
    candidates = list(rule.triples)
    assert len(candidates) == rule.number <= MOST_TRIPLES
    assert len(candidates) * rows <= 1 << 30
    assert len(candidates) * 64 * classes <= MOST_COUNTS
    chosen = [values[at] for at in rule.columns]
    assert min(chosen, default=2) > 1
    others = [own for at, own in enumerate(values) if own > 1 and at not in rule.columns]
    assert max(chosen, default=0) <= min(others, default=70)
    if rule.most_groups:
        assert rule.most_groups in (2, 4)
        assert max(rule.cells(one) for one in candidates) <= rule.most_groups**3
        assert rule.least(rule.most_groups**3) > 0
        assert rule.epsilon * rule.rows >= 4_999


def test_few_rows_for_the_noise_have_no_triples_and_more_have_halves_before_quarters() -> None:
    """By public facts alone."""
    found = [
        TripleRule(values=(16,) * 30, classes=2, rows=rows, epsilon=1.0).most_groups
        for rows in (5_000.0, 6_000.0, 20_000.0)
    ]
    assert found == [0, 2, 4]
    assert TripleRule(values=(16, 1, 5), classes=2, rows=1e6, epsilon=1.0).most_groups == 0
    share = TripleRule(values=(2,) * 10, classes=2, rows=1e6, epsilon=1.0)
    assert share.choice_share < 0.001
    assert share.reading_share == pytest.approx(200 / 1e6)


def test_a_triple_must_exceed_chance_and_its_noise() -> None:
    """More cells, more of both; what is read of the best pair is little up to a twentieth of the rows."""
    rule = TripleRule(values=(16, 2, 3, 9), classes=2, rows=20_000.0, epsilon=1.0)
    assert [rule.group_number(at) for at in range(4)] == [4, 2, 3, 4]
    assert rule.cells((0, 1, 2)) == 24
    assert rule.chance(24) < rule.least(24) < rule.least(48) < rule.rows
    assert rule.chance(4 * 24) == pytest.approx(2 * rule.chance(24))
    assert rule.is_little(LITTLE * 20_000)
    assert not rule.is_little(LITTLE * 20_000 + 1)


def test_the_choice_has_a_share_whose_noise_is_within_its_margin() -> None:
    """Of a thousand candidates none that is a margin below the best is taken, but one time in fifty about."""
    rule = TripleRule(values=(2,) * 20, classes=2, rows=20_000.0, epsilon=1.0)
    assert rule.number == 1140
    assert rule.choice_share < 0.03
    assert rule.least(8) - rule.chance(8) > 0.04 * rule.rows
