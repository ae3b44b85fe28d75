"""The samplers enumerated: every word, coin and rank they could draw is given to them, and the laws come out exactly.

Samples against a law (`test_discrete_laplace.py`, `test_private_selection.py`) see what is off by a thousandth; what is
here sees a wrong comparison. docs/proofs/samplers.md puts the pieces together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.dp_trees import plan
from anonkit.dp_trees.plan import PoissonBootstrap
from anonkit.mechanisms import exact_samplers
from anonkit.mechanisms import exact_samplers as noise
from anonkit.mechanisms.exact_samplers import UniformStream
from anonkit.randomness import Randomness
from tests.mechanisms.test_private_selection import law_of_exponential, law_of_permute_and_flip

ONE = 1 << 52


class _OpenError(Exception):
    """A draw beyond the script: how many outcomes it has, and how likely each is."""

    def __init__(self, chances: Sequence[Any]) -> None:
        self.chances = chances


class Script(UniformStream):
    """Words that come from a script, one draw an entry; a draw beyond it is reported to the enumerator."""

    def __init__(self, script: tuple[int, ...], steps: int) -> None:
        super().__init__(Randomness.seeded(0))
        self.script, self.at, self.steps = script, 0, steps

    def one_of(self, chances: Sequence[Any]) -> int:
        """Return which outcome the script has here."""
        if self.at == len(self.script):
            raise _OpenError(chances)
        self.at += 1
        return self.script[self.at - 1]

    def below_one(self, outcomes: int) -> int:
        """Return one of so many outcomes that are equally likely."""
        return self.one_of(() if self.at < len(self.script) else [Fraction(1, outcomes)] * outcomes)

    def fractions(self, n: int) -> np.ndarray:
        """Uniform integers in [0, steps) in place of [0, 2**52)."""
        return np.array([self.below_one(self.steps) for _ in range(n)])

    def below(self, bounds: np.ndarray) -> np.ndarray:
        """Uniform integers below each bound."""
        return np.array([self.below_one(int(bound)) for bound in bounds.reshape(-1)], dtype=np.int64)


def enumerated(run: Callable[[Script], Any], *, steps: int = 1, draws: int = 12) -> dict[Any, Any]:
    """Return the chance of each outcome of what is decided within so many draws."""
    found: dict[Any, Any] = {}
    waiting: list[tuple[tuple[int, ...], Any]] = [((), Fraction(1))]
    while waiting:
        script, chance = waiting.pop()
        try:
            outcome = run(Script(script, steps))
        except _OpenError as open_:
            if len(script) < draws:
                waiting += [((*script, at), chance * share) for at, share in enumerate(open_.chances) if share]
            continue
        found[outcome] = found.get(outcome, 0) + chance
    return found


@pytest.mark.parametrize("fraction", range(5))
def test_a_coin_of_the_alternating_series_is_decided_as_the_series_says(fraction: int) -> None:
    """All draws of the first four coins of exp(-f), f in quarters: heads and tails have the partial sums exactly."""
    found = enumerated(lambda words: bool(noise._exp_fraction(np.array([fraction]), words)[0]), steps=4, draws=7)
    f = Fraction(fraction, 4)
    failed = [f ** (k - 1) / math.factorial(k - 1) - f**k / math.factorial(k) for k in range(1, 5)]
    assert found.get(True, 0) == failed[0] + failed[2]
    assert found.get(False, 0) == failed[1] + failed[3]


@settings(max_examples=25)
@given(st.data())
def test_the_coins_of_an_exponent_add_up_to_it_exactly(data: st.DataObject) -> None:
    """For any steps and rate the exponents of the coins that must fall heads are steps * rate to the last unit."""
    rate = data.draw(st.integers(1, (1 << 58) - 1) | st.integers(1, 1 << 20))
    steps = data.draw(st.integers(0, min(1 << 36, 20 * ONE // rate)))
    seen: list[int] = []

    def heads(fraction: np.ndarray, words: UniformStream) -> np.ndarray:
        seen.extend(fraction.tolist())
        return np.ones(fraction.size, dtype=bool)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "_exp_fraction", heads)
        assert noise.bernoulli_exp(np.array([steps]), rate, Script((), 1)).tolist() == [True]
    assert sum(seen) == steps * rate
    assert all(0 <= one <= ONE for one in seen)


@settings(max_examples=25)
@given(steps=st.integers(0, (1 << 63) - 1), rate=st.integers(1, (1 << 58) - 1))
def test_exponents_beyond_the_largest_are_those_of_the_largest(steps: int, rate: int) -> None:
    """The first coin of any number of steps is that of the capped number: nothing overflows."""
    capped = min(steps, 1 << 36, (ONE << 28) // rate)
    seen: list[int] = []

    def tails(fraction: np.ndarray, words: UniformStream) -> np.ndarray:
        seen.extend(fraction.tolist())
        return np.zeros(fraction.size, dtype=bool)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "_exp_fraction", tails)
        noise.bernoulli_exp(np.array([steps]), rate, Script((), 1))
    assert seen == [capped * rate % ONE]


@settings(max_examples=25)
@given(offset=st.integers(0, ONE - 1), runs=st.integers(0, 6), rate=st.integers(1, (1 << 58) - 1))
def test_a_geometric_number_is_an_offset_and_a_run_divided_by_the_rate(offset: int, runs: int, rate: int) -> None:
    """The offset is kept by the coin of its own exponent, the run lengthened by coins of exponent 1."""
    coins: list[np.ndarray] = []

    def coin(fraction: np.ndarray, words: UniformStream) -> np.ndarray:
        coins.append(fraction)
        return np.full(fraction.size, len(coins) <= runs + 1)

    script = Script((offset,) * 10, ONE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "_exp_fraction", coin)
        drawn = noise.geometric(1, rate, script)
    assert drawn.tolist() == [(offset + ONE * runs) // rate]
    assert coins[0][0] == offset
    assert [one.tolist() for one in coins[1:]] == [[ONE]] * (runs + 1)


@pytest.mark.parametrize("rate", [1, 2, 3, 5, 8, 13])
def test_dividing_by_the_rate_leaves_the_law_of_the_rate(rate: int) -> None:
    """Of X >= 0 with P(x) ~ exp(-x / 8), X // rate has P(y) ~ exp(-y rate / 8): every y, summed up to x = 2,000."""
    chance = np.exp(-np.arange(2_000 - 2_000 % rate) / 8).reshape(-1, rate).sum(axis=1)
    assert chance[1:60] / chance[:59] == pytest.approx(math.exp(-rate / 8), rel=1e-9)


def test_every_size_and_sign_is_one_integer_but_minus_zero() -> None:
    """All sizes 0 to 3 with all signs: each integer comes from one pair, and minus zero is drawn again."""

    def drawn(script: Script) -> int:
        pairs: list[tuple[int, int]] = []

        def sizes(n: int, rate: int, words: UniformStream) -> np.ndarray:
            pairs.append((script.below_one(4), script.below_one(2)))
            return np.full(n, pairs[-1][0], dtype=np.int64)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(noise, "geometric", sizes)
            patch.setattr(UniformStream, "take", lambda self, n: np.full(n, pairs[-1][1], dtype=np.uint64))
            return int(noise.discrete_laplace(1, ONE, script)[0])

    found = enumerated(drawn, draws=2)
    assert found == {value: Fraction(1, 8) for value in range(-3, 4)}


@settings(max_examples=25)
@given(bound=st.integers(1, (1 << 63) - 1) | st.sampled_from([1, 2, 3, 1 << 32, (1 << 62) + 1, (1 << 63) - 1]))
def test_integers_below_a_bound_have_as_many_words_each(bound: int) -> None:
    """Words up to the largest multiple of the bound are taken, the next one is not: no remainder is likelier."""
    ceiling = (1 << 64) - (1 << 64) % bound
    given_: list[int] = []

    def take(self: UniformStream, n: int) -> np.ndarray:
        return np.array([given_.pop(0) for _ in range(n)], dtype=np.uint64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(UniformStream, "take", take)
        for words, wanted in (([0], 0), ([ceiling - 1], bound - 1), ([ceiling, 5], 5 % bound), ([(1 << 64) - 1, 0], 0)):
            if words[0] == ceiling == 1 << 64 or (len(words) == 2 and ceiling == 1 << 64):
                continue
            given_[:] = words
            assert UniformStream(Randomness.seeded(0)).below(np.array([bound])).tolist() == [wanted]
            assert given_ == []


SCORES = [[0, 0], [2, 0, 1], [0, 3, 3], [-1, -1, -4], [5, 1, 0, 2]]


def _coins(script: Script, rate: float) -> Callable[[np.ndarray, int, UniformStream], np.ndarray]:
    """Coins of exp(-gap * rate), each outcome with its chance."""

    def coins(gap: np.ndarray, rate_units: int, words: UniformStream) -> np.ndarray:
        assert rate_units == round(rate * ONE)
        chances = [math.exp(-rate * one) for one in gap.reshape(-1).tolist()]
        return np.array([script.one_of([1 - p, p]) for p in chances], dtype=bool).reshape(gap.shape)

    return coins


@pytest.mark.parametrize("scores", SCORES)
def test_the_code_of_permute_and_flip_has_its_law(scores: list[int]) -> None:
    """All outcomes of all coins and ranks that the code draws, weighted: the law of the paper's algorithm."""
    rate = 0.5

    def choose(script: Script) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact_samplers, "bernoulli_exp", _coins(script, rate))
            return int(exact_samplers.permute_and_flip(np.array([scores]), ONE // 2, script)[0])

    found = enumerated(choose)
    assert [float(found[at]) for at in range(len(scores))] == pytest.approx(
        law_of_permute_and_flip(scores, rate).tolist(), abs=1e-12
    )


@pytest.mark.parametrize("weights", [None, [1, 3, 2, 5]])
@pytest.mark.parametrize("scores", SCORES[:4])
def test_the_code_of_the_exponential_mechanism_has_its_law(scores: list[int], weights: list[int] | None) -> None:
    """All proposals and coins of the first two rounds: whatever is chosen in them is chosen by weight and score."""
    rate = 0.5
    public = None if weights is None else np.array(weights[: len(scores)])

    def choose(script: Script) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact_samplers, "bernoulli_exp", _coins(script, rate))
            chosen = exact_samplers.exponential_mechanism(np.array([scores]), ONE // 2, script, weights=public)
            return int(chosen[0])

    found = enumerated(choose, draws=6)
    law = law_of_exponential(scores, rate) * (1 if public is None else public)
    decided = np.array([float(found[at]) for at in range(len(scores))])
    assert decided.sum() > 0.7
    assert (decided / decided.sum()).tolist() == pytest.approx((law / law.sum()).tolist(), abs=1e-12)


def test_every_order_of_rows_has_as_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """All words of two bits for three rows: each of the six orders four times, and words that tie are drawn again."""
    drawn: list[tuple[int, ...]] = []

    def words(self: Randomness, n: int) -> np.ndarray:
        return np.array(drawn.pop(0), dtype=np.uint64)

    monkeypatch.setattr(Randomness, "words", words)
    found: dict[tuple[int, ...], int] = {}
    for first in itertools.product(range(4), repeat=3):
        drawn[:] = [first, (3, 1, 2)]
        order = tuple(Randomness.seeded(0).permutation(3).tolist())
        assert len(drawn) == (1 if len(set(first)) == 3 else 0)
        if drawn:
            found[order] = found.get(order, 0) + 1
    assert set(found.values()) == {4}
    assert len(found) == 6


def test_every_number_of_copies_has_exactly_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words at both ends of every run give the number of copies whose weight the run is."""
    weights = PoissonBootstrap(trees=1).bootstrap.weights
    ends = np.cumsum(weights)
    assert ends[-1] == 1 << 32
    borders = [word for start, end in zip([0, *ends[:-1]], ends, strict=True) for word in (start, end - 1)]

    def at_borders(key: bytes, stream: int, first: int, n_rows: int) -> np.ndarray:
        return np.array(borders, dtype=np.uint32).reshape(-1, 1)

    monkeypatch.setattr(plan, "keyed_words", at_borders)
    groups: Iterator[Any] = PoissonBootstrap(trees=1).groups(b"", 0, len(borders))
    ((_, copies),) = groups
    assert copies.tolist() == [count for count in range(len(weights)) for _ in range(2)]
