"""The discrete Gaussian sampler: its law by enumeration and by samples, the width of its numbers, its range."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.errors import ParameterError
from anonkit.mechanisms import exact_samplers as gaussian
from anonkit.mechanisms import exact_samplers as noise
from anonkit.mechanisms.exact_samplers import UniformStream, discrete_gaussian, gaussian_counts
from anonkit.randomness import Randomness
from tests.mechanisms.test_exact_laws import Script, enumerated
from tests.mechanisms.test_exact_samplers import agrees, words

ONE = 1 << 52


def rate_of(deviation: float) -> int:
    """The rate of a standard deviation."""
    return round(ONE / (2 * deviation**2))


@pytest.mark.parametrize("deviation", [0.3, 0.7, 1.0, 2.5, 12.0])
def test_the_noise_has_the_law_of_the_formula(deviation: float) -> None:
    """P(y) is proportional to exp(-y**2 / (2 sigma**2)), narrow laws and wide ones."""
    drawn = discrete_gaussian(60_000, rate_of(deviation), words())
    reach = max(1, int(2.5 * deviation))
    masses = {y: math.exp(-(y**2) / (2 * deviation**2)) for y in range(-200, 201)}
    total = math.fsum(masses.values())
    assert agrees(drawn, lambda y: masses[y] / total, -reach, reach)


@settings(max_examples=50)
@given(y=st.integers(-(1 << 31), 1 << 31), middle=st.integers(1, 1 << 21))
def test_proposal_and_coin_together_have_the_exponent_of_the_law(y: int, middle: int) -> None:
    """(2 m - 1) |y| + (|y| - m) (|y| - m + 1) is y**2 + m (m - 1) for all y, and the coin's exponent is not below 0."""
    beyond = abs(y) - middle
    assert (2 * middle - 1) * abs(y) + beyond * (beyond + 1) == y**2 + middle * (middle - 1)
    assert beyond * (beyond + 1) >= 0


@pytest.mark.parametrize("deviation", [0.4, 1.2, 2.2])
def test_the_code_of_the_sampler_has_its_law(deviation: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every proposal with both falls of its coin, weighted as they are drawn: what is kept has the Gaussian law."""
    rate, reach = rate_of(deviation), 12
    scale = rate / ONE

    def run(script: Script) -> int | None:
        asked: list[int] = []

        def proposals(n: int, own: int, words_: UniformStream) -> np.ndarray:
            if asked:
                return np.full(n, 99)
            asked.append(own)
            masses = [math.exp(-own / ONE * abs(y)) for y in range(-reach, reach + 1)]
            return np.full(n, script.one_of([mass / sum(masses) for mass in masses]) - reach)

        def coins(steps: np.ndarray, own: int, words_: UniformStream) -> np.ndarray:
            assert own == rate
            if len(asked) == 2:
                return np.ones(steps.size, dtype=bool)
            asked.append(0)
            kept = math.exp(-scale * int(steps[0]))
            return np.full(steps.size, bool(script.one_of([1 - kept, kept])))

        monkeypatch.setattr(gaussian, "discrete_laplace", proposals)
        monkeypatch.setattr(gaussian, "bernoulli_exp_exactly", coins)
        return int(gaussian.discrete_gaussian(1, rate, script)[0])

    found = {y: float(chance) for y, chance in enumerated(run, draws=2).items() if y != 99}
    kept = sum(found.values())
    law = {y: math.exp(-(y**2) / (2 * deviation**2)) for y in range(-reach, reach + 1)}
    assert kept > 0.6  # else the sampler would be slow
    for y, mass in law.items():
        assert found.get(y, 0) / kept == pytest.approx(mass / sum(law.values()), rel=1e-6, abs=1e-15)


@settings(max_examples=50)
@given(data=st.data())
def test_the_coins_of_any_exponent_add_up_to_it_exactly(data: st.DataObject) -> None:
    """For any steps and rate, up to 121 bits: the fractional coin and the number of integer ones are those of both."""
    rate = data.draw(st.integers(1, (1 << 58) - 1))
    steps = data.draw(st.integers(0, (1 << 63) - 1) | st.integers(0, 1 << 20))
    seen: list[tuple[int, int]] = []

    def coins(whole: np.ndarray, fraction: np.ndarray, words_: UniformStream) -> np.ndarray:
        seen.append((int(whole[0]), int(fraction[0])))
        return np.ones(1, dtype=bool)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "_coins", coins)
        noise.bernoulli_exp_exactly(np.array([steps]), rate, Script((), 1))
    exact = Fraction(steps * rate, ONE)
    whole = math.floor(exact)
    assert seen[0][1] == steps * rate % ONE
    assert seen[0][0] == whole if whole < 1 << 62 else seen[0][0] >= 1 << 62


@pytest.mark.parametrize("deviation", [20.0, 741_000.0])
def test_wide_noise_is_as_wide_as_it_says(deviation: float) -> None:
    """Standard deviation and share within one of it, to four standard errors, up to the widest that is drawn."""
    drawn = discrete_gaussian(40_000, rate_of(deviation), words(7)).astype(np.float64)
    assert abs(drawn.std() / deviation - 1) < 4 / math.sqrt(2 * drawn.size)
    inside = math.erf((1 + 0.5 / deviation) / math.sqrt(2))
    assert abs((np.abs(drawn) <= deviation).mean() - inside) < 4 * math.sqrt(inside * (1 - inside) / drawn.size) + 0.001


def test_a_rate_outside_its_range_is_refused() -> None:
    """Noise so wide that squares would overflow, and so narrow that it is none, are not drawn."""
    for rate in ((1 << 12) - 1, 1 << 57):
        with pytest.raises(ParameterError, match="outside its range"):
            discrete_gaussian(1, rate, words())
    assert discrete_gaussian(0, 1 << 12, words()).size == 0


def test_counts_keep_their_shape_and_their_mean() -> None:
    """Noise is added cell by cell, and a seed draws the same again."""
    counts = np.arange(12_000).reshape(3, 4_000)
    first, again = (gaussian_counts(counts, rate_of(3.0), UniformStream(Randomness.seeded(2))) for _ in range(2))
    assert first.shape == counts.shape
    assert (first == again).all()
    assert abs((first - counts).mean()) < 4 * 3 / math.sqrt(counts.size)
