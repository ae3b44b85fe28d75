"""Answers to codes: a function of key, stream and row number, whatever the batch, by the response matrix.

The alias table: every outcome has exactly its words.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.errors import ParameterError
from anonkit.mechanisms.randomizers import (
    AliasTable,
    BandRandomizer,
    KaryRandomizer,
    MatrixRandomizer,
    choose,
    randomizer_of,
    row_blocks,
)
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import BandResponse
from anonkit.published.channels.response_channel import Channel, ResponseMatrix
from tests.published.channels.channel_strategies import band_channels, kary_channels, set_channels, stochastic_matrices

WORDS = np.arange(1 << 16, dtype=np.uint16)


@st.composite
def weights(draw: st.DrawFn) -> list[list[int]]:
    """One to three distributions over 2 to 40 outcomes in 65,536 words, zeros among them."""
    size = draw(st.integers(2, 40))
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        cuts = sorted(draw(st.lists(st.integers(0, 1 << 16), min_size=size - 1, max_size=size - 1)))
        rows.append(np.diff([0, *cuts, 1 << 16]).tolist())
    return rows


@settings(max_examples=60, deadline=None)
@given(weights())
def test_every_outcome_has_exactly_its_words(rows: list[list[int]]) -> None:
    """All 65,536 words drawn from every distribution: the counts are the weights."""
    table = AliasTable.of(rows, 16)
    for number, row in enumerate(rows):
        drawn = table.draw(WORDS, np.full(WORDS.shape, number))
        assert np.bincount(drawn, minlength=len(row)).tolist() == row
    assert np.array_equal(table.draw(WORDS), table.draw(WORDS, np.zeros(WORDS.shape, dtype=np.int64)))


@pytest.mark.parametrize("word_bits", [32, 64])
def test_the_ends_of_wide_words_are_exact(word_bits: int) -> None:
    """In each column the word before the limit has the first outcome, the limit the second, and sums are whole."""
    width, total = 1 << (word_bits - 2), 1 << word_bits
    row = [1, total // 2 + 7, total - total // 2 - 8 - width // 3, width // 3]
    table = AliasTable.of([row], word_bits)
    counted = [0] * len(row)
    for column in range(4):
        start = column * width
        limit = max(int(table.limits[column]), start)
        counted[table.outcomes[2 * column]] += limit - start
        counted[table.outcomes[2 * column + 1]] += start + width - limit
        edge = np.array([limit, start + width - 1], dtype=table.limits.dtype)
        assert set(table.draw(edge).tolist()) == {int(table.outcomes[2 * column + 1])}
    assert counted == row


def test_weights_that_do_not_add_up_are_refused() -> None:
    """One word too few."""
    with pytest.raises(ParameterError, match="add up"):
        AliasTable.of([[1, (1 << 16) - 2]], 16)


def test_tables_too_many_for_starts_are_drawn_all_the_same() -> None:
    """Of very many distributions the first bits of a word are not looked up; every outcome has exactly its words."""
    size, n_rows = 300, 1 << 10
    row = [(1 << 16) // size] * size
    row[-1] += (1 << 16) - sum(row)
    table = AliasTable.of([row] * n_rows, 16)
    assert table._start_bits <= table.column_bits
    assert np.bincount(table.draw(WORDS, np.full(WORDS.shape, n_rows - 1)), minlength=size).tolist() == row


KEY = bytes(range(32))


@given(kary_channels(), st.integers(0, 2**40), st.integers(0, 60), st.integers(1, 60))
def test_a_batch_is_randomized_as_its_rows_are(channel: RandomizedResponse, first: int, lead: int, n: int) -> None:
    """The answers depend on key, stream and row number, not on the batch."""
    codes = np.random.default_rng(n).integers(0, channel.n_inputs, lead + n).astype(np.uint8)
    whole = randomizer_of(channel).randomize(codes, key=KEY, stream=2, first_row=first)
    part = randomizer_of(channel).randomize(codes[lead:], key=KEY, stream=2, first_row=first + lead)
    assert np.array_equal(whole[lead:], part)
    assert whole.dtype == codes.dtype


def test_blocks_do_not_show_in_the_answers() -> None:
    """Answers are the same across the block size the work is cut into."""
    channel = RandomizedResponse.from_epsilon(5, 1.0)
    codes = np.random.default_rng(0).integers(0, 5, 100_000).astype(np.int32)
    whole = randomizer_of(channel).randomize(codes, key=KEY, stream=0)
    parts = [
        randomizer_of(channel).randomize(codes[at : at + 777], key=KEY, stream=0, first_row=at)
        for at in range(0, 100_000, 777)
    ]
    assert np.array_equal(whole, np.concatenate(parts))


@given(st.lists(st.integers(0, 70_000), max_size=30, unique=True).map(sorted), st.integers(0, 2**40))
def test_rows_that_are_not_asked_take_no_word_of_another(rows: list[int], first: int) -> None:
    """The answers of some rows of a batch are those that these rows have in the whole batch."""
    channel, places = RandomizedResponse.from_epsilon(5, 1.0), np.array(rows, dtype=np.int64)
    codes = np.random.default_rng(0).integers(0, 5, 70_001).astype(np.uint8)
    whole = randomizer_of(channel).randomize(codes, key=KEY, stream=3, first_row=first)
    some = randomizer_of(channel).randomize(codes[places], key=KEY, stream=3, first_row=first, rows=places)
    assert np.array_equal(some, whole[places])


def test_codes_out_of_range_are_counted_not_shown() -> None:
    """The message says how many rows, never which value."""
    channel = RandomizedResponse.equal(3, 0.5)
    with pytest.raises(ParameterError, match=r"2 of 4 codes are outside \[0, 3\)"):
        randomizer_of(channel).randomize(np.array([0, 77, -1, 2]), key=KEY, stream=0)
    with pytest.raises(ParameterError, match="one-dimensional integer"):
        randomizer_of(channel).randomize(np.array([0.5]), key=KEY, stream=0)


@given(stochastic_matrices())
def test_an_impossible_answer_never_happens(matrix: list[list[float]]) -> None:
    """20,000 answers per input stay within the support of its row."""
    channel = ResponseMatrix.from_probabilities(matrix)
    for code in range(channel.n_inputs):
        answers = randomizer_of(channel).randomize(np.full(20_000, code, dtype=np.int16), key=KEY, stream=code)
        assert np.all(np.array(matrix)[code, np.unique(answers)] > 0)


def test_the_shares_of_the_answers_are_those_of_the_matrix() -> None:
    """300,000 answers per input lie within 5 standard errors of the matrix."""
    channel = ResponseMatrix.from_probabilities([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]])
    for code, row in enumerate(channel.response_matrix()):
        answers = randomizer_of(channel).randomize(np.full(300_000, code), key=KEY, stream=code)
        shares = np.bincount(answers, minlength=3) / 300_000
        assert np.all(np.abs(shares - row) <= 5 * np.sqrt(row * (1 - row) / 300_000))


@given(st.one_of(band_channels(), set_channels()), st.integers(0, 2**40), st.integers(0, 60), st.integers(1, 60))
def test_a_batch_of_answers_is_drawn_as_its_rows_are(channel: Channel, first: int, lead: int, n: int) -> None:
    """The answers depend on key, stream and row number, not on the batch."""
    codes = np.random.default_rng(n).integers(0, channel.n_inputs, lead + n)
    whole = randomizer_of(channel).randomize(codes, key=KEY, stream=1, first_row=first)
    part = randomizer_of(channel).randomize(codes[lead:], key=KEY, stream=1, first_row=first + lead)
    assert np.array_equal(whole[lead:], part)
    assert whole.min() >= 0
    assert whole.max() < channel.n_outputs


@given(st.integers(0, 200_000))
def test_blocks_cover_every_row_once(n: int) -> None:
    """Blocks follow each other without gap or overlap."""
    blocks = list(row_blocks(n))
    assert sum(block.stop - block.start for block in blocks) == n
    assert all(first.stop == second.start for first, second in pairwise(blocks))


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.int32, np.int64, np.uint64])
def test_choosing_by_bits_is_where(kind: type) -> None:
    """The branchless choice agrees with `numpy.where` for every integer type, extremes included."""
    limits = np.iinfo(kind)
    values = np.array([limits.min, limits.max, 0, 1, limits.max // 2], dtype=kind)
    chosen, otherwise = np.meshgrid(values, values)
    for condition in (np.zeros(chosen.shape, dtype=bool), np.eye(5, dtype=bool), np.ones(chosen.shape, dtype=bool)):
        assert np.array_equal(choose(condition, chosen, otherwise), np.where(condition, chosen, otherwise))


@pytest.mark.parametrize(
    ("channel", "kind"),
    [
        (RandomizedResponse.equal(3, 0.5), KaryRandomizer),
        (ResponseMatrix.warner(0.75), MatrixRandomizer),
        (BandResponse.piecewise(1.0, 8), BandRandomizer),
    ],
)
def test_every_channel_has_its_randomizer(channel: Channel, kind: type) -> None:
    """And keeps the channel whose answers it draws; codes come back in the range of the answers."""
    made = randomizer_of(channel)
    assert type(made) is kind
    assert made.channel is channel
    answers = made.randomize(np.arange(channel.n_inputs), key=bytes(32), stream=0)
    assert 0 <= answers.min() <= answers.max() < channel.n_outputs


def test_a_channel_of_someone_else_is_not_guessed() -> None:
    """A mechanism without a randomizer is refused by its name, and never drawn by another one."""
    kind = type("Other", (Channel,), {"mechanism": "other", **dict.fromkeys(Channel.__abstractmethods__)})
    with pytest.raises(ParameterError, match="mechanism other"):
        randomizer_of(kind())
