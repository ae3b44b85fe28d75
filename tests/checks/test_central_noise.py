"""The noise that shows: its law, true releases that pass, and rates that are not those that were used."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.checks.central_noise import CountDifference, _tail, _together, noise_checks
from anonkit.checks.central_params import facts_of
from anonkit.checks.noise_laws import Noise, far_tail, law_of_noise
from anonkit.mechanisms.discrete_laplace import UniformStream, discrete_laplace, noisy_counts
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
