"""E-values for the stated noise: their mean by enumeration, their power, and their resistance to forgers.

The noise that shows: its law, true releases that pass, and rates that are not those that were used.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.checks import central_noise
from anonkit.checks.central_noise import (
    CountDifference,
    EstimatedCount,
    Noise,
    SameRows,
    _tail,
    _together,
    cached_within,
    chance_of_so_little,
    far_tail,
    law_of_noise,
    noise_checks,
)
from anonkit.checks.central_params import facts_of
from anonkit.mechanisms.exact_samplers import UniformStream, discrete_laplace, gaussian_counts, noisy_counts
from anonkit.randomness import Randomness

ONE = 1 << 52


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_law_of_one_draw_is_that_of_the_formula(epsilon: float) -> None:
    """P(|y|) of a discrete Laplace variable."""
    found, q = law_of_noise((Noise(int(epsilon * ONE), 1),)), math.exp(-epsilon)
    assert found is not None
    wanted = [(1 - q) / (1 + q) * q**y * (1 if y == 0 else 2) for y in range(20)]
    assert found[:20] == pytest.approx(wanted, abs=1e-12)
    assert found.sum() == pytest.approx(1, abs=1e-9)


def test_the_law_of_a_sum_is_its_convolution() -> None:
    """Three draws of one rate and one of another, against a convolution by hand."""
    reach = np.arange(-400, 401)

    def single(epsilon: float) -> np.ndarray:
        return np.asarray(math.tanh(epsilon / 2) * np.exp(-epsilon * np.abs(reach)))

    total = single(0.7)
    for _ in range(2):
        total = np.convolve(total, single(0.7), mode="same")
    total = np.convolve(total, single(0.3), mode="same")
    found = law_of_noise((Noise(int(0.7 * ONE), 3), Noise(int(0.3 * ONE), 1)))
    assert found is not None
    assert found[1:30] == pytest.approx(2 * total[401:430], abs=1e-9)


@given(st.integers(1, 8), st.floats(0.01, 3), st.integers(0, 10**6))
@settings(max_examples=20)
def test_tails_are_chances(times: int, epsilon: float, value: int) -> None:
    """In (0, 1], and fall with the size of the difference."""
    parts = (Noise(int(epsilon * ONE), times),)
    assert (
        0
        < _tail(CountDifference(value=value + 1, parts=parts))
        <= _tail(CountDifference(value=value, parts=parts))
        <= 1
    )


@pytest.mark.parametrize(("rate", "times"), [(0.1, 43), (2.0, 1), (1e-5, 2)])
def test_one_impossible_difference_is_refused_however_many_likely_ones_are_beside_it(rate: float, times: int) -> None:
    """Far beyond the table of the law its chance decreases further, below what any product can outweigh."""
    parts = (Noise(int(rate * ONE), times),)
    far = _tail(CountDifference(value=10**8, parts=parts))
    assert 0 < far < 1e-200
    assert _together([far, *[1.0] * 50]) < 1e-6


@pytest.mark.parametrize("size", [30, 60])
def test_the_bound_of_afar_tail_is_no_smaller_than_the_tail(size: int) -> None:
    """Of one draw, by the formula."""
    q = math.exp(-1.0)
    found = _tail(CountDifference(value=size, parts=(Noise(ONE, 1),)))
    assert 2 * q**size / (1 + q) <= found < 1e-6


def test_a_noise_too_wide_for_a_table_is_bounded() -> None:
    """By Chebyshev's inequality."""
    parts = (Noise(1 << 20, 4),)
    assert law_of_noise(parts) is None
    assert _tail(CountDifference(value=1 << 30, parts=parts)) == 1.0


def test_chances_are_put_together_as_fisher_does() -> None:
    """Against the formula for two: p (1 - ln p) of their product."""
    product = 0.03 * 0.2
    assert _together([0.03, 0.2]) == pytest.approx(product * (1 - math.log(product)))
    assert _together([1.0] * 50) == 1.0


def tables(rates: int, stated: int, seed: int) -> dict[str, Any]:
    """The params of noisy tables of 12 attributes and 3 classes, drawn at a rate and stated at another."""
    words, codes = UniformStream(Randomness.seeded(seed)), [2, 3, 5, 9] * 3
    rng = np.random.default_rng(seed)
    classes = np.array([200, 50, 0])
    shown = [rng.multinomial(1, np.ones(size) / size, classes.sum()).sum(axis=0) for size in codes]
    counts = [np.stack([rng.multinomial(n, one / one.sum()) for n in classes]) for one in shown]
    domain = {"categories": ["a", "b", "c"], "has_missing": False}
    return {
        "format": "anonkit-noisy-tables-1",
        "method": "dp-nb",
        "parameters": {},
        "target": {"name": "y", "domain": domain},
        "class_counts": noisy_counts(classes, rates, words).tolist(),
        "class_rate": stated,
        "attributes": [
            {
                "name": f"a{at}",
                "type": "category",
                "domain": {"categories": [str(code) for code in range(own.shape[1])], "has_missing": False},
                "rate": stated,
                "counts": noisy_counts(own, rates, words).tolist(),
            }
            for at, own in enumerate(counts)
        ],
    }


def chances(params: dict[str, Any]) -> list[float]:
    """The probabilities that the two checks compute."""
    return [float(check.observed or 0) for check in noise_checks(params, facts_of(params))]


@pytest.mark.slow
def test_true_tables_are_refused_as_rarely_as_is_said() -> None:
    """The chances of 200 true tables are at least uniform: no more than a share p of them is below p."""
    found = np.array([chances(tables(ONE // 2, ONE // 2, seed)) for seed in range(200)])
    for share in (0.01, 0.05, 0.2):
        allowed = 200 * share + 4 * math.sqrt(200 * share * (1 - share))
        assert ((found < share).sum(axis=0) <= allowed).all()


def test_ten_times_the_noise_that_is_there_is_refused_and_a_tenth_too() -> None:
    """A louder release than it says, and counts that differ by more than it says."""
    louder, quieter = (tables(*rates, 1) for rates in ((ONE, ONE // 10), (ONE // 10, ONE)))
    found = [[check.passed for check in noise_checks(one, facts_of(one))] for one in (louder, quieter)]
    assert found == [[False, True], [True, False]]


def test_tables_of_other_rows_are_told_whichever_pairs_agree() -> None:
    """The first two tables are of other rows than the rest: disjoint pairs of neighbours agree."""
    params, other = tables(ONE, ONE, 1), tables(ONE, ONE, 2)
    for attribute in other["attributes"]:
        attribute["counts"] = [[count + 100 for count in row] for row in attribute["counts"]]
    params["attributes"] = [params["attributes"][0]]
    params["attributes"] += [own for own in other["attributes"] if len(own["counts"][0]) == 2]
    assert [check.passed for check in noise_checks(params, facts_of(params))] == [True, False]


def test_the_law_is_that_of_the_sampler() -> None:
    """Sums of five draws, against the tabulated law."""
    rate = ONE // 3
    drawn = np.abs(discrete_laplace(5 * 20_000, rate, UniformStream(Randomness.seeded(3))).reshape(-1, 5).sum(axis=1))
    found = law_of_noise((Noise(rate, 5),))
    assert found is not None
    for reach in (0, 2, 5, 10, 20):
        share = float(found[: reach + 1].sum())
        assert (drawn <= reach).mean() == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 20_000))


@pytest.mark.parametrize(("deviation", "times"), [(0.4, 2), (1.3, 3), (6.0, 4)])
@pytest.mark.parametrize("rate", [0, ONE // 3])
def test_the_law_of_gaussian_noise_is_its_convolution(deviation: float, times: int, rate: int) -> None:
    """Narrow laws and wide ones, alone and beside a Laplace draw, against a convolution by hand."""
    gaussian = round(ONE / (2 * deviation**2))
    reach = np.arange(-300, 301).astype(float)
    parts, total = (Noise(gaussian, times, True),), np.ones(1)
    laws = [np.exp(-(reach**2) / (2 * deviation**2))] * times
    if rate:
        parts, laws = (*parts, Noise(rate, 1)), [*laws, np.exp(-np.abs(reach) * rate / ONE)]
    for law in laws:
        total = np.convolve(total, law / law.sum())
    found, middle = law_of_noise(tuple(sorted(parts))), total.size // 2
    assert found is not None
    wanted = np.concatenate([[total[middle]], total[middle + 1 :] + total[:middle][::-1]])
    assert found[:40] == pytest.approx(wanted[:40], abs=1e-12)
    for size in (5, 20, 60):
        assert far_tail(size, parts) >= wanted[size:].sum() * (1 - 1e-9)


def test_an_impossible_gaussian_difference_has_next_to_no_chance() -> None:
    """Forty deviations off, alone and beside a narrower Laplace draw."""
    for parts in ((Noise(ONE // 200, 1, True),), (Noise(ONE // 200, 1, True), Noise(10 * ONE, 1))):
        assert far_tail(400, parts) < 1e-200


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
    reach, won = 90, central_noise._ratios(tuple(sorted(LAWS[name])), before)
    values, chances = np.arange(-reach, reach + 1), law(LAWS[name], reach)
    for error in range(41):
        means = np.exp(won[:, np.minimum(np.abs(values + error), won.shape[1] - 1)]) @ chances
        assert (means <= 1 + 1e-9).all()
        assert error or means[-1] > 0.999


@pytest.mark.parametrize("noise", list(itertools.combinations_with_replacement(LAWS, 2)))
def test_two_counts_have_a_mean_of_one(noise: tuple[str, str]) -> None:
    """All differences of two counts: the mean of an e-value is one, but for the rounding against it."""
    parts, reach = (*LAWS[noise[0]], *LAWS[noise[1]]), 90
    won = central_noise._ratios(tuple(sorted(parts)), None)
    means = np.exp(won[:, np.minimum(np.abs(np.arange(-reach, reach + 1)), won.shape[1] - 1)]) @ law(parts, reach)
    assert (means <= 1 + 1e-9).all()
    assert (means > 0.999).all()


@pytest.mark.quick_cases("20-noise0", "4096-noise1")
@pytest.mark.parametrize("noise", [("a Laplace draw",) * 3, ("a Gaussian draw", "two rates", "a Laplace draw")])
@pytest.mark.parametrize("points", [4096, 20])
def test_three_counts_have_a_mean_of_at_most_one(
    noise: tuple[str, ...], points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs of differences of three counts; also where true counts are looked at in blocks."""
    monkeypatch.setattr(central_noise, "_POINTS", points)
    reach, all_parts = 14, tuple(LAWS[name] for name in noise)
    first, second, third = (law(parts, 3 * reach) for parts in all_parts)
    means = np.zeros(len(central_noise._TIMES_SMALLER))
    for one, other in itertools.product(range(-reach, reach + 1), repeat=2):
        shift = np.arange(-reach, reach + 1)
        middle = 3 * reach
        chance = (first[middle + shift] * second[middle + shift + one] * third[middle + shift + other]).sum()
        means += chance * np.exp(central_noise._ratio(SameRows(values=(7, 7 + one, 7 + other), noise=all_parts)))
    assert (means <= 1 + 1e-9).all()
    assert points == 20 or (means > 0.9).all()


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
