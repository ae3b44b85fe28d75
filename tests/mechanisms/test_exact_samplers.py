"""The exact integer samplers: their laws, their independence of block sizes, their processes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chisquare

from anonkit.mechanisms.exact_samplers import UniformStream, bernoulli_exp, discrete_laplace, geometric, noisy_counts
from anonkit.randomness import Randomness

ONE = 1 << 52
ALPHA = 1e-3


def words(seed: int = 1) -> UniformStream:
    """A reproducible stream."""
    return UniformStream(Randomness.seeded(seed))


def agrees(drawn: np.ndarray, law: Callable[[int], float], low: int, high: int) -> bool:
    """Chi-square test of a sample against a law on the integers, tails pooled."""
    counts = [float((drawn == value).sum()) for value in range(low, high + 1)]
    shares = [law(value) for value in range(low, high + 1)]
    counts.append(drawn.size - sum(counts))
    shares.append(1 - sum(shares))
    return bool(chisquare(counts, np.array(shares) * drawn.size).pvalue > ALPHA)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.5])
def test_the_noise_has_the_law_of_the_formula(epsilon: float) -> None:
    """P(y) = (e^eps - 1) / (e^eps + 1) * exp(-eps |y|)."""
    drawn = discrete_laplace(60_000, int(epsilon * ONE), words())
    q = math.exp(-epsilon)
    reach = max(2, int(3 / epsilon))
    assert agrees(drawn, lambda y: (1 - q) / (1 + q) * q ** abs(y), -reach, reach)


@pytest.mark.parametrize("epsilon", [0.2, 1.7])
def test_the_geometric_has_the_law_of_the_formula(epsilon: float) -> None:
    """P(y) = (1 - e^-eps) exp(-eps y) for y >= 0."""
    drawn = geometric(60_000, int(epsilon * ONE), words(2))
    q = math.exp(-epsilon)
    assert drawn.min() == 0
    assert agrees(drawn, lambda y: (1 - q) * q**y, 0, int(4 / epsilon))


@pytest.mark.parametrize("exponent", [0.0, 0.3, 1.0, 2.7])
def test_a_coin_falls_heads_as_often_as_it_should(exponent: float) -> None:
    """The share of heads is exp(-steps * rate), within four standard errors."""
    steps, n = 8, 80_000
    heads = bernoulli_exp(np.full(n, steps), int(exponent / steps * ONE), words(3)) if exponent else None
    if heads is None:
        assert bernoulli_exp(np.zeros(100, dtype=np.int64), ONE, words()).all()
        return
    share = math.exp(-exponent)
    assert abs(heads.mean() - share) < 4 * math.sqrt(share * (1 - share) / n)


def test_the_largest_exponents_do_not_overflow() -> None:
    """Scores of any size are taken; what is hopeless never wins."""
    steps = np.array([0, 1, 1 << 20, (1 << 62)])
    for rate in (1, ONE, (1 << 58) - 1):
        heads = bernoulli_exp(steps, rate, words())
        assert heads[0]
        if rate >= ONE:
            assert not heads[2:].any()


def test_bounds_of_uniform_integers_are_kept_and_all_reached() -> None:
    """`below` gives every integer under its bound, equally often."""
    drawn = words(4).below(np.full(30_000, 3))
    assert chisquare(np.bincount(drawn, minlength=3)).pvalue > ALPHA
    assert (words(5).below(np.full(100, (1 << 62) + 1)) >= 0).all()


def test_counts_keep_their_shape_and_are_right_on_average() -> None:
    """Noise is added to each count by itself and has mean 0."""
    counts = np.full((200, 50), 1000)
    noisy = noisy_counts(counts, ONE // 2, words(6))
    assert noisy.shape == counts.shape
    assert abs(noisy.mean() - 1000) < 4 * math.sqrt(2 / 0.25 / counts.size) * 1.1
    variance = 2 * math.exp(-0.5) / (1 - math.exp(-0.5)) ** 2
    assert noisy.var() == pytest.approx(variance, rel=0.1)
    assert abs(np.corrcoef(noisy[:, :-1].reshape(-1), noisy[:, 1:].reshape(-1))[0, 1]) < 0.05


def test_neighbouring_counts_have_the_same_support() -> None:
    """Noisy counts are integers whatever the count: no last bit can disclose it (Mironov 2012)."""
    assert noisy_counts(np.zeros(10, dtype=np.int64), ONE, words()).dtype == np.int64


@pytest.mark.system_entropy
def test_two_streams_made_in_one_moment_differ_and_so_do_forked_workers() -> None:
    """Every release keys its own stream from the operating system: no clock, no inherited state."""
    rate = ONE // 100
    first, second = (discrete_laplace(50, rate, UniformStream(Randomness.secure())) for _ in range(2))
    assert not np.array_equal(first, second)
    drawn = []
    for _ in range(2):
        readable, writable = os.pipe()
        if (child := os.fork()) == 0:
            os.write(writable, discrete_laplace(50, rate, UniformStream(Randomness.secure())).tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        os.close(writable)
        with os.fdopen(readable, "rb") as pipe:
            drawn.append(pipe.read())
    assert drawn[0] != drawn[1]


@pytest.mark.slow
def test_opendp_draws_from_the_same_law() -> None:
    """Two samples, ours and that of OpenDP's discrete Laplace, come from one law (alpha 1e-6: no seed)."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    from scipy.stats import chi2_contingency

    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measure = dp.m.make_laplace(*space, scale=2.0)
    theirs = np.array(measure([0] * 30_000))
    ours = discrete_laplace(30_000, ONE // 2, words(7))
    table = [[(np.clip(sample, -8, 8) == value).sum() for value in range(-8, 9)] for sample in (ours, theirs)]
    assert chi2_contingency(table).pvalue > 1e-6
