"""Histograms with noise, and rows drawn from them.

Private domains: the loss of a threshold about one unit, counted outcome by outcome; cells of sizes; bounds.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.budget_rules.tree_rule import table_weights
from anonkit.checks.account_lines import finding_delta
from anonkit.errors import ReleaseFormatError
from anonkit.estimators.consistent_counts import consistent_counts
from anonkit.mechanisms import noisy_histograms as finding
from anonkit.mechanisms.accounting import units_of
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.mechanisms.noisy_histograms import (
    N_SIZES,
    common_values,
    delta_of_threshold,
    ends_of_size,
    found_bounds,
    is_numeric,
    noisy_tables,
    rows_by_class,
    rows_of,
    sizes_of,
    threshold_within,
)
from anonkit.randomness import Randomness
from tests.published.jobs_and_ages import CLASSES, JOBS, jobs_and_ages

ONE = 1 << 52


def words(seed: int = 1) -> UniformStream:
    """A reproducible stream."""
    return UniformStream(Randomness.seeded(seed))


def passing(count: int, rate: float, threshold: int) -> float:
    """The chance that a noisy count reaches the threshold; values without rows are not noised at all."""
    if count == 0:
        return 0.0
    q, gap = math.exp(-rate), threshold - count
    return q**gap / (1 + q) if gap > 0 else 1 - q ** (1 - gap) / (1 + q)


def law(table: tuple[int, ...], rate: float, threshold: int) -> dict[tuple[bool, ...], float]:
    """The chance of every set of values that may be released."""
    chances = [passing(count, rate, threshold) for count in table]
    return {
        told: math.prod(p if one else 1 - p for p, one in zip(chances, told, strict=True))
        for told in itertools.product((False, True), repeat=len(table))
    }


@pytest.mark.parametrize(("rows", "replaced"), [(1, False), (1, True), (2, False), (2, True)])
@pytest.mark.parametrize(("rate", "threshold"), [(0.4, 4), (1.1, 5), (0.2, 3)])
def test_the_loss_of_all_neighbours_is_within_epsilon_and_delta(
    rate: float, threshold: int, rows: int, replaced: bool
) -> None:
    """All tables of three values with up to four rows each, all neighbours, all sets of values that may be released."""
    delta = float(delta_of_threshold(threshold, int(rate * ONE), rows, replaced=replaced))
    epsilon = rate * rows * (2 if replaced else 1)
    own = [one for one in itertools.product(range(rows + 1), repeat=3) if sum(one) <= rows]
    tables = list(itertools.product(range(4), repeat=3))
    laws = {table: law(table, rate, threshold) for table in itertools.product(range(4 + rows), repeat=3)}
    worst = 0.0
    for table in tables:
        mine = [tuple(a + b for a, b in zip(table, more, strict=True)) for more in own]
        pairs = itertools.product(mine, repeat=2) if replaced else [(one, table) for one in mine]
        for first, second in pairs:
            for left, right in ((first, second), (second, first)):
                p, q = laws[left], laws[right]
                worst = max(worst, sum(max(0.0, p[told] - math.exp(epsilon) * q[told]) for told in p))
    assert worst <= delta * (1 + 1e-12)
    assert worst > delta / (4 if replaced else 2.5)  # delta is used


@settings(max_examples=15)
@given(
    rate=st.floats(0.001, 2), delta=st.floats(1e-15, 1e-3), rows=st.integers(1, 12), replaced=st.booleans()
)  # fmt: skip
def test_the_least_threshold_is_taken_and_two_codes_agree_on_its_delta(
    rate: float, delta: float, rows: int, replaced: bool
) -> None:
    """One less would spend more; every way in which a unit's rows can be dealt to values is within it."""
    units = int(rate * ONE)
    threshold = threshold_within(Fraction(delta), units, rows, replaced=replaced)
    spent = delta_of_threshold(threshold, units, rows, replaced=replaced)
    assert spent <= delta
    assert threshold == rows + 1 or delta_of_threshold(threshold - 1, units, rows, replaced=replaced) > delta
    line = {"purpose": "categories of x", "mechanism": "thresholded-laplace", "rate": units, "threshold": threshold}
    told = {"accounting": [{**line, "delta": float(spent)}]}
    assert finding_delta(told, rows, replaced=replaced) == pytest.approx(float(spent), rel=1e-8)
    for parts in range(1, rows + 1):
        dealt = [rows // parts + (at < rows % parts) for at in range(parts)]
        assert sum(passing(count, units / ONE, threshold) for count in dealt) <= float(spent) * (1 + 1e-9)
    for change in ({"threshold": rows}, {"delta": float(spent) / 2}, {"rate": 0}):
        with pytest.raises(ReleaseFormatError):
            finding_delta({"accounting": [{**told["accounting"][0], **change}]}, rows, replaced=replaced)


def test_only_values_that_occur_are_told_and_as_often_as_the_law_says() -> None:
    """10,000 columns of a value with three rows and one without any."""
    counts, rate = np.tile([3, 0], 10_000), int(0.7 * ONE)
    told = common_values(counts, rate, 5, words())
    assert not (told % 2).any()
    share = passing(3, 0.7, 5)
    assert abs(told.size / 10_000 - share) < 4 * math.sqrt(share / 10_000)


@settings(max_examples=60)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**6), 10**6).map(float))
def test_every_number_is_in_the_cell_of_its_size(number: float) -> None:
    """Within its ends, but for what is nearly 0, or so large that the last cell has it."""
    (cell,) = sizes_of(np.array([number])).tolist()
    low, high = ends_of_size(cell)
    assert 0 <= cell < N_SIZES
    inside = low <= number < high if number > 0 else low < number <= high
    assert inside or abs(number) < 2**-20 or abs(number) >= 2**41 or number == low == 0
    (mirrored,) = sizes_of(np.array([-number])).tolist()
    assert mirrored == N_SIZES - 1 - cell


@pytest.mark.parametrize(
    ("numbers", "low", "high"), [([2019.0, 2024.0], 2016, 2032), ([-3.0, 5.0], -4, 5.5), ([0.0, 0.0], -1, 1)]
)
def test_bounds_are_those_of_the_outermost_cells_that_stand_out(numbers: list[float], low: float, high: float) -> None:
    """With many rows and little noise: around the numbers, and no wider than a cell or two."""
    found = found_bounds(np.array(sorted(set(numbers))), np.full(len(set(numbers)), 10**6), (ONE, ONE), words())
    assert found is not None
    assert low <= found[0] <= min(numbers) <= max(numbers) <= found[1] <= high


def test_a_column_in_which_nothing_stands_out_has_no_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the second look is drawn all the same; where the second finds nothing, the first one's bounds stay."""
    asked: list[int] = []
    real = finding.noisy_counts

    def noisy(counts: np.ndarray, rate: int, words_: UniformStream) -> np.ndarray:
        asked.append(counts.size)
        return real(counts, rate, words_)

    monkeypatch.setattr(finding, "noisy_counts", noisy)
    empty = (np.empty(0), np.empty(0, dtype=np.int64))
    assert found_bounds(*empty, (10 * ONE, 10 * ONE), words()) is None
    assert asked == [N_SIZES, 64]
    one = (np.array([3.0]), np.array([50]))
    assert found_bounds(*one, (ONE, ONE // 1000), words()) == (2.0, 4.0)


def test_texts_that_are_no_numbers_decide_by_a_noisy_count() -> None:
    """None: nearly always numbers; many: never."""
    drawn = [is_numeric(0, ONE, words(seed)) for seed in range(50)]
    assert sum(drawn) >= 48
    assert not any(is_numeric(60, ONE, words(seed)) for seed in range(50))


def test_larger_tables_get_more_of_the_budget() -> None:
    """A table of eight columns gets twice what one column gets."""
    one, eight = table_weights([1, 8])
    assert float(eight / one) == pytest.approx(2)


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_drawn_rows_have_the_tables_they_are_drawn_from(seed: int) -> None:
    """Every cell of class x attribute is met within one row of the consistent counts, rounding of the sizes apart."""
    tables = jobs_and_ages(seed)
    randomness = Randomness.seeded(seed)
    drawn = rows_of(tables, rows_by_class(tables, UniformStream(randomness)), randomness)
    for table, codes in zip(tables.tables, drawn.codes, strict=True):
        found = np.zeros(table.counts.shape)
        np.add.at(found, (drawn.labels, codes), 1)
        assert np.abs(found - consistent_counts(tables, table)).max() <= 2
    assert abs(drawn.labels.size - np.maximum(tables.class_sizes[0], 0).sum()) <= 1


def test_nothing_to_count_draws_nothing_or_what_the_noise_says() -> None:
    """Empty tables give a handful of rows, never a failure."""
    empty = noisy_tables(
        ("t", CLASSES, np.zeros(2, dtype=np.int64), units_of(0.5)),
        [("job", JOBS, np.zeros((2, 4), dtype=np.int64), units_of(0.5))],
        Randomness.seeded(3),
    )
    assert rows_by_class(empty, UniformStream(Randomness.seeded(3))).sum() < 60
