"""Local mechanisms proved twice: every word enumerated, and an audit that knows only their answers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from anonkit.auditing.epsilon_audit import EpsilonBound, lower_bound_over_inputs
from anonkit.mechanisms.randomizers import KaryRandomizer, NumberRandomizer, randomizer_of
from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import PUBLISHED, BandResponse, TransformedResponse
from anonkit.published.channels.response_channel import Channel, ResponseMatrix
from anonkit.published.exact_losses import worst_ratio
from anonkit.randomized_response.number_response import best_category_response
from anonkit.randomness import Randomness, keyed_words

ROWS = 200_000
KEY = Randomness.seeded(11).key("audit")


def small_response(truth: int, *blind: int) -> RandomizedResponse:
    """Randomized response on 16-bit words, so that every word can be tried."""
    return RandomizedResponse(truth_weight=truth, blind_weights=blind, word_bits=16)


SMALL_CHANNELS = {
    "two categories": small_response(2**15, 2**14, 2**14),
    "equal": small_response(2**16 - 5 * 9000, *[9000] * 5),
    "skewed": small_response(2**16 - 60_000, 10_000, 1, 20_000, 29_999),
    "never answered blindly": small_response(2**16 - 60_000, 60_000, 0),
    "clear": small_response(2**16, 0, 0, 0),
    "band": BandResponse(positions=6, band=3, blind_weight=4000, excess_weight=11_000, word_bits=16),
    "band with missing": BandResponse(
        positions=5, band=2, blind_weight=3000, excess_weight=20_000, has_missing=True, word_bits=16
    ),
    "band with classes": BandResponse(
        positions=4, band=3, blind_weight=1200, excess_weight=11_000, has_missing=True, segments=3, word_bits=16
    ),
    "sets": SetResponse(segments=1, values=7, members=(0, 1, 3), blind_weight=5000, excess_weight=10_000, word_bits=16),
    "sets with classes": SetResponse(
        segments=3, values=5, members=(0, 3, 6, 9, 11), blind_weight=2500, excess_weight=5607, word_bits=16
    ),
}


@pytest.mark.parametrize("name", SMALL_CHANNELS)
def test_every_word_answers_as_the_response_matrix_says(name: str) -> None:
    """All 65,536 words tried for every input: the answers are counted, and the counts are the matrix."""
    channel = SMALL_CHANNELS[name]
    words = np.arange(2**16, dtype=np.uint16)
    for code, expected in enumerate(channel.weights()):
        answers = randomizer_of(channel).answer(np.full(2**16, code, dtype=np.int32), words)
        assert np.bincount(answers, minlength=channel.n_outputs).tolist() == expected


@pytest.mark.parametrize("name", SMALL_CHANNELS)
def test_the_claim_covers_every_pair_of_inputs(name: str) -> None:
    """The stated ε is the logarithm of the worst quotient among the answers to all words, counted and not computed."""
    channel = SMALL_CHANNELS[name]
    words = np.arange(2**16, dtype=np.uint16)
    counted = np.array(
        [
            np.bincount(
                randomizer_of(channel).answer(np.full(2**16, code, dtype=np.int32), words), minlength=channel.n_outputs
            )
            for code in range(channel.n_inputs)
        ]
    )
    given = counted[:, counted.any(axis=0)]
    least, most = given.min(axis=0), given.max(axis=0)
    expected = math.inf if (least == 0).any() else float(np.log(most / np.maximum(least, 1)).max())
    assert channel.epsilon == pytest.approx(expected, rel=1e-12)


SETS = best_category_response(1.0, segments=2, values=9)
"""The mechanism of `rr` at this epsilon for nine values and two classes."""


@pytest.mark.parametrize("channel", [RandomizedResponse.from_epsilon(5, 1.0), BandResponse.square_wave(1.0, 8), SETS])
def test_the_ends_of_32_bit_runs_answer_as_the_matrix_says(channel: Channel) -> None:
    """Words at the borders of every run: as many distinct runs, in place, as the small words showed."""
    borders = np.unique(np.concatenate([np.cumsum(row) for row in _runs(channel)]))
    words = np.unique(np.concatenate([borders - 1, borders, [0]]) % 2**32).astype(np.uint32)
    for code in range(channel.n_inputs):
        answers = randomizer_of(channel).answer(np.full(len(words), code, dtype=np.int64), words)
        lengths = np.diff(np.append(words.astype(np.int64), 2**32))
        counted = np.bincount(answers, weights=lengths, minlength=channel.n_outputs)
        assert counted.astype(np.int64).tolist() == channel.weights()[code]


def _runs(channel: Channel) -> list[list[int]]:
    """Lengths of the runs of words between which the answer can change."""
    if isinstance(channel, RandomizedResponse):
        return [[channel.truth_weight, *channel.blind_weights]]
    if isinstance(channel, SetResponse):
        members = [channel.excess_weight] * len(channel.members)
        return [[*members, *[channel.blind_weight] * channel.n_outputs]]
    assert isinstance(channel, BandResponse)
    near = [channel.excess_weight] * channel.band
    return [[*near, *[channel.blind_weight] * channel.n_outputs]]


def audit(audited: Channel | KaryRandomizer, inputs: list[int]) -> EpsilonBound:
    """Audit 200,000 answers to each of some inputs."""
    randomizer = audited if isinstance(audited, KaryRandomizer) else randomizer_of(audited)
    samples = [
        randomizer.randomize(np.full(ROWS, code, dtype=np.int32), key=KEY, stream=stream)
        for stream, code in enumerate(inputs)
    ]
    return lower_bound_over_inputs(samples)


@pytest.mark.parametrize("size", [2, 16, 42])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_an_audit_of_randomized_response_stays_below_the_claim(size: int, epsilon: float) -> None:
    """At 200,000 answers per input the lower bound never exceeds the claim, and at ε ≥ 1 it reaches 0.9 of it."""
    channel = RandomizedResponse.from_epsilon(size, epsilon)
    found = audit(channel, [0, size - 1])
    assert found.lower_bound <= channel.epsilon
    if epsilon >= 1:
        assert found.lower_bound >= 0.9 * channel.epsilon


@pytest.mark.parametrize(
    ("channel", "inputs"),
    [
        (BandResponse.square_wave(1.0, 32), [0, 31]),
        (BandResponse.piecewise(1.0, 32), [0, 31]),
        (BandResponse.square_wave(2.0, 16, has_missing=True, segments=2), [0, 16, 20]),
        (ResponseMatrix.from_probabilities([[0.6, 0.3, 0.1], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]), [0, 1, 2]),
        (SETS, [0, 7, 14]),
        (RandomizedResponse.skewed(0.4, [0.3, 0.2, 0.1]), [0, 1, 2]),
    ],
    ids=["square wave", "piecewise", "joint with missing", "matrix", "sets", "skewed"],
)
def test_an_audit_of_the_others_stays_below_the_claim(channel: Channel, inputs: list[int]) -> None:
    """Bounded below the claim, and at least 0.9 of it is shown: the budget is used."""
    found = audit(channel, inputs)
    assert 0.9 * channel.epsilon <= found.lower_bound <= channel.epsilon


class _BlindOverTheOthers(KaryRandomizer):
    """Planted bug: p_0 of the formula for all m categories, blind answers over the other m − 1 only."""

    def answer(self, codes: np.ndarray, words: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        honest = super().answer(codes, words)
        blind_hit = (honest == codes) & (words >= self.channel.truth_weight)
        return np.where(blind_hit, (codes + 1 + words % (self.channel.n_inputs - 1)) % self.channel.n_inputs, honest)


class _NeverBlindlyTheLast(KaryRandomizer):
    """Planted bug: the last category is never a blind answer."""

    def answer(self, codes: np.ndarray, words: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        honest, last = super().answer(codes, words), self.channel.n_inputs - 1
        return np.where((honest == last) & (codes != last), 0, honest)


def test_blind_answers_that_avoid_the_truth_are_caught_when_calibrated_as_the_others() -> None:
    """Planted bug: the keep probability of k-ary response used where blind answers hit all m categories."""
    size, epsilon = 16, 1.0
    # k-ary response keeps with e^ε / (e^ε + m − 1); drawing the rest over all m again keeps too often
    keep = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
    wrong = RandomizedResponse.equal(size, keep)
    assert audit(wrong, [0, 1]).lower_bound > epsilon
    # the other way round (p_0 of ERRPH, blind answers over the other m − 1) keeps too little and shows no more
    spared = RandomizedResponse.from_epsilon(size, epsilon)
    cautious = _BlindOverTheOthers(spared)
    assert audit(cautious, [0, 1]).lower_bound <= epsilon


@pytest.mark.parametrize("size", [2, 16, 42])
def test_a_budget_not_halved_is_caught(size: int) -> None:
    """Planted bug: two attributes share ε = 1 but each is given all of it; the pair of answers shows it."""
    whole = RandomizedResponse.from_epsilon(size, 1.0)
    samples = []
    for code in (0, 1):
        codes = np.full(ROWS, code, dtype=np.int32)
        first, second = (randomizer_of(whole).randomize(codes, key=KEY, stream=10 * code + stream) for stream in (0, 1))
        samples.append(first * size + second)
    assert lower_bound_over_inputs(samples).lower_bound > 1.0


@pytest.mark.slow_cases("42")
@pytest.mark.parametrize("size", [2, 16, 42])
def test_a_category_never_answered_blindly_is_caught(size: int) -> None:
    """Planted bug: one category betrays its owners, found without naming it."""
    honest = RandomizedResponse.from_epsilon(size, 1.0)
    broken = _NeverBlindlyTheLast(honest)
    found = audit(broken, list(range(size)))
    assert found.lower_bound > 5
    assert found.event == f"answer in {{{size - 1}}}"


def test_a_stream_used_twice_is_caught() -> None:
    """Planted bug: two attributes draw the same words, so that their blind answers agree."""
    channel, codes = RandomizedResponse.from_epsilon(4, 1.0), np.zeros(ROWS, dtype=np.int32)
    first, second = (randomizer_of(channel).randomize(codes, key=KEY, stream=7) for _ in range(2))
    honest = randomizer_of(channel).randomize(codes, key=KEY, stream=8)
    assert np.mean(first == second) == 1.0
    expected = float((channel.response_matrix()[0] ** 2).sum())
    assert np.mean(first == honest) == pytest.approx(expected, abs=0.01)


def test_trr_shows_more_than_any_useful_epsilon() -> None:
    """On [−1, 1] an audit of N(1,1) finds more than 3 between 0 and 1: no formal guarantee, indeed."""
    mechanism = TransformedResponse(multiplier=PUBLISHED["N(1,1)"][0], offset=PUBLISHED["N(1,1)"][1], step=2.0**-4)
    samples = [
        NumberRandomizer(mechanism).randomize(np.full(ROWS, x), key=KEY, stream=s) for s, x in enumerate((0.0, 1.0))
    ]
    assert lower_bound_over_inputs(samples).lower_bound > 3


def test_words_of_neighbouring_rows_are_unrelated() -> None:
    """Words of consecutive rows, and of one row in consecutive streams, are uncorrelated within 5 standard errors."""
    words = keyed_words(KEY, 0, 0, ROWS).reshape(-1).astype(np.float64)
    other = keyed_words(KEY, 1, 0, ROWS).reshape(-1).astype(np.float64)
    for first, second in ((words[1:], words[:-1]), (words, other)):
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / math.sqrt(ROWS)


def test_merging_the_places_of_missing_costs_nothing() -> None:
    """With missing hidden in the same answer the worst ratio is still that of a band."""
    channel = BandResponse.square_wave(1.5, 12, has_missing=True)
    assert worst_ratio(channel.weights()) == channel.ratio
    assert replace(channel, has_missing=False).ratio == channel.ratio
