"""E-values for the stated noise: their mean by enumeration, their power, and their resistance to forgers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from anonkit.checks import noise_laws
from anonkit.checks.noise_laws import EstimatedCount, Noise, SameRows, cached_within, chance_of_so_little, law_of_noise
from anonkit.mechanisms.discrete_gaussian import gaussian_counts
from anonkit.mechanisms.discrete_laplace import UniformStream, noisy_counts
from anonkit.randomness import Randomness

ONE = 1 << 52
LAWS = {
    "a Laplace draw": (Noise(ONE, 1),),
    "two rates": (Noise(ONE, 2), Noise(2 * ONE, 1)),
    "a Gaussian draw": (Noise(ONE // 4, 1, True),),
    "both": (Noise(ONE // 2, 1, True), Noise(2 * ONE, 1)),
}


def law(parts: tuple[Noise, ...], reach: int) -> np.ndarray:
    """Chances of -reach, ..., reach."""
    found = law_of_noise(tuple(sorted(parts)))
    assert found is not None
    half = found[1 : reach + 1] / 2
    return np.concatenate([half[::-1], found[:1], half])


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("before", [(), (Noise(ONE, 1),), (Noise(ONE // 8, 1),)])
def test_no_error_of_an_estimate_gives_an_e_value_a_mean_above_one(name: str, before: tuple[Noise, ...]) -> None:
    """All outcomes of the noise, for every error up to 40: each e-value, and their average, has a mean of at most 1."""
    reach, won = 90, noise_laws._ratios(tuple(sorted(LAWS[name])), before)
    values, chances = np.arange(-reach, reach + 1), law(LAWS[name], reach)
    for error in range(41):
        means = np.exp(won[:, np.minimum(np.abs(values + error), won.shape[1] - 1)]) @ chances
        assert (means <= 1 + 1e-9).all()
        assert error or means[-1] > 0.999


@pytest.mark.parametrize("noise", list(itertools.combinations_with_replacement(LAWS, 2)))
def test_two_counts_have_a_mean_of_one(noise: tuple[str, str]) -> None:
    """All differences of two counts: the mean of an e-value is one, but for the rounding against it."""
    parts, reach = (*LAWS[noise[0]], *LAWS[noise[1]]), 90
    won = noise_laws._ratios(tuple(sorted(parts)), None)
    means = np.exp(won[:, np.minimum(np.abs(np.arange(-reach, reach + 1)), won.shape[1] - 1)]) @ law(parts, reach)
    assert (means <= 1 + 1e-9).all()
    assert (means > 0.999).all()


@pytest.mark.quick_cases("20-noise0", "4096-noise1")
@pytest.mark.untraced
@pytest.mark.parametrize("noise", [("a Laplace draw",) * 3, ("a Gaussian draw", "two rates", "a Laplace draw")])
@pytest.mark.parametrize("points", [4096, 20])
def test_three_counts_have_a_mean_of_at_most_one(
    noise: tuple[str, ...], points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs of differences of three counts; also where true counts are looked at in blocks."""
    monkeypatch.setattr(noise_laws, "_POINTS", points)
    reach, all_parts = 14, tuple(LAWS[name] for name in noise)
    first, second, third = (law(parts, 3 * reach) for parts in all_parts)
    means = np.zeros(len(noise_laws._TIMES_SMALLER))
    for one, other in itertools.product(range(-reach, reach + 1), repeat=2):
        shift = np.arange(-reach, reach + 1)
        middle = 3 * reach
        chance = (first[middle + shift] * second[middle + shift + one] * third[middle + shift + other]).sum()
        means += chance * np.exp(noise_laws._ratio(SameRows(values=(7, 7 + one, 7 + other), noise=all_parts)))
    assert (means <= 1 + 1e-9).all()
    assert points == 20 or (means > 0.9).all()


@pytest.mark.untraced
@pytest.mark.parametrize("gaussian", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_true_counts_are_refused_as_rarely_as_is_said(gaussian: bool) -> None:
    """Of 400 releases of the stated noise no more than a share p has a chance below p, whichever kind of e-value."""
    rates, draw = ([ONE // 9, ONE // 7], noisy_counts) if not gaussian else ([ONE // 90, ONE // 70], gaussian_counts)
    words, true = UniformStream(Randomness.seeded(5)), np.full((400, 3, 4), 50)
    first, second = (draw(true, rate, words) for rate in rates)
    parts = [(Noise(rate, 1, gaussian),) for rate in rates]
    found = []
    for one, other in zip(first.tolist(), second.tolist(), strict=True):
        alike = [
            SameRows(values=(*own, *also), noise=(parts[0],) * 4 + (parts[1],) * 4)
            for own, also in zip(one, other, strict=True)
        ]
        # an estimate that its own noise chose: the least of four
        after = [
            EstimatedCount(value=value, noise=parts[1], estimate=min(own), noise_before=parts[0])
            for own, also in zip(one, other, strict=True)
            for value in also
        ]
        found.append((chance_of_so_little(alike), chance_of_so_little(after)))
    for share in (0.01, 0.05, 0.2):
        assert (np.mean(np.array(found) < share, axis=0) <= share + 4 * math.sqrt(share * (1 - share) / 400)).all()


@pytest.mark.parametrize("gaussian", [False, True])
def test_less_noise_than_stated_is_told(gaussian: bool) -> None:
    """A quarter of the deviation, 40 differences."""
    stated, smaller = (ONE // 10, ONE // 10 * 4) if not gaussian else (ONE // 200, ONE // 200 * 16)
    draw = gaussian_counts if gaussian else noisy_counts
    values = draw(np.zeros((8, 6), dtype=np.int64), smaller, UniformStream(Randomness.seeded(1))).tolist()
    parts = (Noise(stated, 1, gaussian),)
    assert chance_of_so_little([SameRows(values=tuple(row), noise=(parts,) * 6) for row in values]) < 1e-6
    following = [
        EstimatedCount(value=value, noise=parts, estimate=row[0], noise_before=(Noise(100 * ONE, 1),))
        for row in values
        for value in row[1:]
    ]
    assert chance_of_so_little(following) < 1e-3


@pytest.mark.parametrize("times", [2, 3])
def test_noise_too_wide_for_a_table_is_told_to_be_missing(times: int) -> None:
    """Deviations of two million rows are stated, and counts agree to the row."""
    wide = ((Noise(1 << 32, 1),),) * times
    assert law_of_noise(wide[0]) is None
    assert chance_of_so_little([SameRows(values=(5,) * times, noise=wide)] * 4) < 1e-6
    assert chance_of_so_little([SameRows(values=(0, *(2_000_000,) * (times - 1)), noise=wide)] * 4) > 1e-3


def test_counts_that_do_not_agree_are_no_little_noise() -> None:
    """Counts that disagree by any distance are no evidence of little noise."""
    parts = (Noise(ONE, 1),)
    for apart in (10**4, 10**9, 10**30):
        assert chance_of_so_little([SameRows(values=(0, apart, 0), noise=(parts,) * 3)]) == 1.0
        assert chance_of_so_little([EstimatedCount(value=0, noise=parts, estimate=apart, noise_before=parts)]) == 1.0


def test_nothing_shown_is_nothing_told() -> None:
    """No e-values, no evidence; and all of them together never less than the least number."""
    assert chance_of_so_little([]) == 1.0
    nothing = [SameRows(values=(0, 0), noise=((Noise(1 << 40, 1),),) * 2)] * 1000
    assert 0 < chance_of_so_little(nothing) < 1e-300


def test_bets_that_are_lost_are_no_evidence_however_many() -> None:
    """Six hundred counts far from each other: what is lost is beyond the range of an exponential."""
    parts = (Noise(ONE // 100, 1),)
    lost = [EstimatedCount(value=0, noise=parts, estimate=900, noise_before=parts)] * 600
    assert chance_of_so_little(lost) == 1.0


def test_tables_of_wide_laws_are_let_go() -> None:
    """The latest tables are kept and others rebuilt: the same tables, in bounded memory."""
    made: list[int] = []

    @cached_within(1)
    def table(number: int) -> np.ndarray | None:
        made.append(number)
        return None if number < 0 else np.full(1 << 15, float(number))  # a quarter of a megabyte

    for number in (0, 1, 0, 2, -1, 0, 3, 4, 0, 1, -1):
        found = table(number)
        assert (number < 0) is (found is None)
        assert found is None or found[-1] == number
    assert made == [0, 1, 2, -1, 3, 4, 1, -1]


def test_a_table_that_two_make_at_once_is_counted_once() -> None:
    """Two threads that build a table at once keep one; keyword arguments count as the same arguments."""
    made: list[int] = []

    @cached_within(1)
    def table(number: int) -> np.ndarray | None:
        made.append(number)
        return np.full(3, float(number)) if len(made) > 1 else table(number)

    assert table(1)[0] == 1
    assert table(1)[0] == table(number=1)[0]
    assert table(number=2)[0] == 2
    assert made == [1, 1, 1, 2]
