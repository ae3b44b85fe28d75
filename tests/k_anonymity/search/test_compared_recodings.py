"""Share of a guide that classes explain, adjusted for how many they are."""

from __future__ import annotations

import numpy as np
import pytest

from anonkit.k_anonymity.search.refinement import compared


def _guide(seed: int, n_rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    share = generator.random(n_rows)
    return np.column_stack([1 - share, share]), generator.integers(0, 5, n_rows)


def explained_share(guide: np.ndarray, classes: np.ndarray) -> float:
    """Return the share of one recoding."""
    return compared(guide, classes, np.zeros(classes.size, dtype=int)).first


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_adjusted_share_of_a_regression_on_the_classes(seed: int) -> None:
    """One less the mean squares within classes over those of all rows; rows without a guide count for nothing."""
    guide, classes = _guide(seed)
    guide[::7] = np.nan
    known = ~np.isnan(guide[:, 0])
    truth, own = guide[known, 1], classes[known]
    within = sum(float(((truth[own == at] - truth[own == at].mean()) ** 2).sum()) for at in range(5))
    expected = 1 - (within / (truth.size - 5)) / truth.var(ddof=1)

    assert explained_share(guide, classes) == pytest.approx(expected, abs=1e-4)


def test_it_is_one_for_classes_that_tell_everything_and_nothing_without_a_guide() -> None:
    """A class a value explains all; no guide, one value of it, or a class a row explain nothing."""
    classes = np.repeat([0, 1], 20)
    told = np.eye(2)[classes]

    assert explained_share(told, classes) == pytest.approx(1)
    assert explained_share(np.empty((40, 0)), classes) == 0
    assert explained_share(np.full((40, 2), 0.5), classes) == 0
    assert explained_share(_guide(0, 40)[0], np.arange(40)) == 0


def test_classes_by_chance_explain_nothing_on_average() -> None:
    """The number of classes is no advantage."""
    found = []
    for seed in range(60):
        guide, _ = _guide(seed)
        found.append(explained_share(guide, np.random.default_rng(900 + seed).integers(0, 12, 60)))

    assert abs(float(np.mean(found))) < 0.05


@pytest.mark.quick_cases("1")
@pytest.mark.parametrize("seed", range(3))
def test_the_error_is_that_of_the_difference_over_rows(seed: int) -> None:
    """Rows drawn anew differ by as much; of one recoding with itself there is none."""
    guide, classes = _guide(seed, 400)
    classes = (classes > 2) & (guide[:, 1] > 0.4)
    other = np.random.default_rng(seed).integers(0, 2, 400)
    found = compared(guide, classes, other)
    generator, drawn = np.random.default_rng(9), []
    for _ in range(300):
        rows = generator.integers(400, size=400)
        one = compared(guide[rows], classes[rows], other[rows])
        drawn.append(one.first - one.second)

    assert found.error == pytest.approx(float(np.std(drawn)), rel=0.35)
    assert compared(guide, other, other).error == 0


def test_the_order_of_rows_does_not_matter() -> None:
    """The sums are exact."""
    guide, classes = _guide(5)
    order = np.random.default_rng(1).permutation(60)

    other = classes // 2
    assert compared(guide, classes, other) == compared(guide[order], classes[order], other[order])
