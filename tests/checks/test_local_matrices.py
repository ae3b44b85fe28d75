"""Response matrices and losses that the checks rebuild are what the sampler does, word by word."""

from __future__ import annotations

import json
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anonkit.checks.local_matrices import (
    BlindAndNear,
    BlindAndSets,
    OwnMatrix,
    ResponseWords,
    loss_of,
    set_or_blind,
    truth_or_blind,
)
from anonkit.checks.local_params import PublishedAnswers, RandomizedColumn, read_answers
from anonkit.checks.local_promise import breach_of, published_loss
from anonkit.domains.number_bins import Categories, Grid
from anonkit.errors import ReleaseFormatError
from anonkit.mechanisms.randomizers import AliasTable, randomizer_of
from anonkit.published.channels.category_channels import RandomizedResponse, SetResponse
from anonkit.published.channels.number_channels import BandResponse
from anonkit.published.channels.response_channel import Channel, ResponseMatrix
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

ALL_WORDS = 1 << 16


def parsed(channel: Channel, *, joint_classes: int = 1) -> RandomizedColumn:
    """The first attribute of a table as the checks read it from the JSON of its params."""
    size = channel.n_inputs // joint_classes
    missing = bool(getattr(channel, "has_missing", False))
    domain = (
        Grid(lower=0, upper=1, cells=size - missing, has_missing=missing)
        if isinstance(channel, BandResponse)
        else Categories(values=tuple(f"v{at}" for at in range(size)))
    )
    joint = joint_classes > 1
    classes = Categories(values=tuple(f"c{at}" for at in range(joint_classes)))
    table = PublishedTable(
        target=PublishedTarget(name="class", domain=classes, mechanism=None) if joint else None,
        attributes=(PublishedAttribute(name="a", domain=domain, mechanism=channel, joint_with_target=joint),),
        asked_column="asked" if joint else None,
    )
    return read_answers(json.loads(json.dumps(table.to_params()))).attributes[0]


def words_of(channel: Channel, **more: int) -> ResponseWords:
    """The matrix that the checks rebuild."""
    found = parsed(channel, **more).words
    assert found is not None
    return found


def enumerated(channel: Channel) -> list[list[int]]:
    """The number of all 16-bit words that the sampler maps to each answer, for each true code: tried, not computed."""
    words = np.arange(ALL_WORDS, dtype=np.uint16)
    return [
        np.bincount(
            randomizer_of(channel).answer(np.full(ALL_WORDS, code, dtype=np.int32), words), minlength=channel.n_outputs
        ).tolist()
        for code in range(channel.n_inputs)
    ]


def worst_of(rows: list[list[int]]) -> Fraction | None:
    """The largest quotient within a column, by looking at every pair of rows."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        for one in column:
            for other in column:
                if one and not other:
                    return None
                worst = max(worst, Fraction(one, other)) if other else worst
    return worst


@st.composite
def responses(draw: st.DrawFn) -> RandomizedResponse:
    """Randomized response on 16-bit words, even or uneven, categories without blind answers included."""
    size = draw(st.integers(1, 6))
    if draw(st.booleans()):
        blind = (draw(st.integers(0, (ALL_WORDS - 1) // size)),) * size
    else:
        blind = tuple(draw(st.lists(st.integers(0, (ALL_WORDS - 1) // size), min_size=size, max_size=size)))
    return RandomizedResponse(truth_weight=ALL_WORDS - sum(blind), blind_weights=blind, word_bits=16)


@st.composite
def bands(draw: st.DrawFn) -> BandResponse:
    """Band response on 16-bit words, with missing and with classes."""
    positions, band, segments = draw(st.integers(1, 6)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    missing = draw(st.booleans())
    places = segments * (positions + band - 1 + band * missing)
    blind = draw(st.integers(1, ALL_WORDS // places - band))
    excess = (ALL_WORDS - places * blind) // band
    return BandResponse(
        positions=positions, band=band, blind_weight=blind, excess_weight=excess, has_missing=missing,
        segments=segments, word_bits=16,
    )  # fmt: skip


@st.composite
def sets(draw: st.DrawFn) -> SetResponse:
    """Set response on 16-bit words, any members of any classes and values, with words that rounding leaves."""
    segments, values = draw(st.integers(1, 3)), draw(st.integers(2, 6))
    pairs = segments * values
    members = tuple(sorted(draw(st.sets(st.integers(0, pairs - 1), min_size=1, max_size=pairs - 1))))
    blind = draw(st.integers(1, ALL_WORDS // pairs - len(members)))
    excess = (ALL_WORDS - pairs * blind) // len(members)
    return SetResponse(
        segments=segments, values=values, members=members, blind_weight=blind, excess_weight=excess, word_bits=16
    )


@settings(max_examples=60)
@given(channel=st.one_of(responses(), bands(), sets()))
def test_the_rebuilt_matrix_is_what_the_sampler_does(channel: Channel) -> None:
    """All 65,536 words tried for every true code: the counts are the matrix, and their worst quotient its ratio."""
    rows = enumerated(channel)
    classes = channel.segments if isinstance(channel, BandResponse | SetResponse) else 1
    rebuilt = words_of(channel, joint_classes=classes)
    assert rebuilt.rows() == rows
    assert rebuilt.worst_ratio() == worst_of(rows)


@settings(max_examples=25)
@given(data=st.data())
def test_an_own_matrix_is_what_the_sampler_does(data: st.DataObject) -> None:
    """The ends of all runs of 32-bit words tried for every true code: an own matrix, zeros included."""
    size = data.draw(st.integers(1, 5))
    parts = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    matrix = [[one / sum(row) for one in row] for row in (data.draw(parts) for _ in range(size))]
    channel = ResponseMatrix.from_probabilities(matrix)
    rebuilt = words_of(channel)
    assert rebuilt.worst_ratio() == worst_of(rebuilt.rows())
    bits = (size - 1).bit_length() or 1
    starts = sorted(
        {0, *AliasTable.of(channel.rows, 32).limits.tolist(), *(at << (32 - bits) for at in range(1 << bits))}
    )
    lengths = np.diff([*starts, 1 << 32])
    for code, row in enumerate(rebuilt.rows()):
        answers = randomizer_of(channel).answer(
            np.full(len(starts), code, dtype=np.int64), np.array(starts, dtype=np.uint32)
        )
        counted = [int(lengths[answers == answer].sum()) for answer in range(size)]
        assert counted == row


@settings(max_examples=25)
@given(channel=bands(), seed=st.integers(0, 1000))
def test_shares_go_forward_and_backward_as_the_matrix_says(channel: BandResponse, seed: int) -> None:
    """Running sums give what a product with the whole matrix gives; classes and values alone add up its entries."""
    rebuilt = words_of(channel, joint_classes=channel.segments)
    assert isinstance(rebuilt, BlindAndNear)
    matrix, random = np.array(rebuilt.rows()) / ALL_WORDS, np.random.default_rng(seed)
    shares, answers = random.dirichlet(np.ones(rebuilt.n_codes)), random.random(rebuilt.n_answers)
    np.testing.assert_allclose(rebuilt.forward(shares), shares @ matrix, atol=1e-12)
    np.testing.assert_allclose(rebuilt.backward(answers), matrix @ answers, atol=1e-12)
    blocks = np.array(rebuilt.rows()).reshape(
        channel.segments, -1, channel.segments, rebuilt.n_answers // channel.segments
    )
    for at in range(channel.segments):
        np.testing.assert_array_equal(rebuilt.of_values(channel.segments).rows(), blocks[at].sum(axis=1))
        for value in range(blocks.shape[1]):
            assert rebuilt.of_classes(channel.segments).rows()[at] == blocks[at, value].sum(axis=1).tolist()


@settings(max_examples=25)
@given(channel=sets(), seed=st.integers(0, 1000))
def test_shares_of_sets_go_forward_and_backward(channel: SetResponse, seed: int) -> None:
    """Products with the matrix that is written out; classes and values alone add up its entries."""
    rebuilt, classes = words_of(channel, joint_classes=channel.segments), channel.segments
    assert isinstance(rebuilt, BlindAndSets)
    assert not rebuilt.is_truth()
    matrix, random = np.array(rebuilt.rows()) / ALL_WORDS, np.random.default_rng(seed)
    shares, answers = random.dirichlet(np.ones(rebuilt.n_codes)), random.random(rebuilt.n_answers)
    np.testing.assert_allclose(rebuilt.forward(shares), shares @ matrix, atol=1e-12)
    np.testing.assert_allclose(rebuilt.backward(answers), matrix @ answers, atol=1e-12)
    blocks = np.array(rebuilt.rows()).reshape(classes, channel.values, classes, channel.values)
    for at in range(classes):
        np.testing.assert_array_equal(rebuilt.of_values(classes).rows(), blocks[at].sum(axis=1))
        for value in range(channel.values):
            assert rebuilt.of_classes(classes).rows()[at] == blocks[at, value].sum(axis=1).tolist()


@given(top=st.integers(1, 2**64), bottom=st.integers(1, 2**64))
def test_a_loss_is_the_smallest_float_not_below_the_logarithm(top: int, bottom: int) -> None:
    """E to the loss is at least the ratio, and to the next smaller float it is less."""
    ratio = max(Fraction(top, bottom), Fraction(bottom, top))
    found = loss_of(ratio)
    if ratio == 1:
        assert found == 0.0
        return
    with localcontext() as context:
        context.prec = 120
        exact = Decimal(ratio.numerator) / Decimal(ratio.denominator)
        assert Decimal(found).exp() >= exact > Decimal(math.nextafter(found, 0)).exp()


def _table(losses: list[RandomizedResponse], asked: str | None, label: RandomizedResponse | None) -> PublishedAnswers:
    domain = Categories(values=("a", "b", "c"))
    table = PublishedTable(
        target=None if label is None else PublishedTarget(name="class", domain=domain, mechanism=label),
        attributes=tuple(
            PublishedAttribute(name=f"x{at}", domain=domain, mechanism=each) for at, each in enumerate(losses)
        ),
        asked_column=asked,
    )
    return read_answers(json.loads(json.dumps(table.to_params())))


@given(epsilons=st.lists(st.floats(0.01, 20), min_size=1, max_size=6), one=st.booleans(), label=st.booleans())
def test_losses_add_up_unless_a_row_gives_one_answer(epsilons: list[float], one: bool, label: bool) -> None:
    """The loss of a row is that of the product of the quotients, or of the largest, and at most the request."""
    made = [RandomizedResponse.from_epsilon(3, epsilon) for epsilon in epsilons]
    found = published_loss(_table(made, "asked" if one else None, made[0] if label else None))
    quotients = [worst_of(each.weights()) or Fraction(0) for each in made]
    whole = max(quotients) if one else math.prod(quotients, start=Fraction(1))
    assert found.epsilon == loss_of(whole * (quotients[0] if label else 1))
    budget = (max(epsilons) if one else sum(epsilons)) + (epsilons[0] if label else 0)
    assert found.epsilon <= budget * (1 + 1e-12)


def test_a_row_without_a_bound_has_none() -> None:
    """One category that is never answered blindly, or a clear label, and the loss of the row is infinite."""
    sound, broken = RandomizedResponse.from_epsilon(3, 1.0), RandomizedResponse.skewed(0.5, [0.5, 0, 0])
    for asked in (None, "asked"):
        assert published_loss(_table([sound, broken], asked, None)).epsilon == math.inf
        assert published_loss(_table([sound], asked, RandomizedResponse.clear(3))).epsilon == math.inf
        assert published_loss(_table([sound, sound], asked, sound)).epsilon < 4


def test_breach_coefficients_are_those_of_the_paper() -> None:
    """Worked by hand: p_0² / (p_0 + p_j) for randomized response, p² + (1 − p)² for Warner's model."""
    half = parsed(RandomizedResponse(truth_weight=ALL_WORDS // 2, blind_weights=(ALL_WORDS // 4,) * 2, word_bits=16))
    assert breach_of(half) == pytest.approx(0.25 / 0.75)
    assert breach_of(parsed(ResponseMatrix.warner(0.75))) == pytest.approx(0.75**2 + 0.25**2)
    assert breach_of(parsed(BandResponse.square_wave(1.0, 4))) is None


@pytest.mark.slow
def test_large_matrices_are_never_held() -> None:
    """A million categories and a band over a hundred thousand places: the ratio is found from runs alone."""
    assert truth_or_blind(64, 2**64 - 10**6, [1] * 10**6).worst_ratio() == 2**64 - 10**6 + 1
    wide = BandResponse.square_wave(1.0, 50_000, has_missing=True)
    assert words_of(wide).worst_ratio() == Fraction(wide.blind_weight + wide.excess_weight, wide.blind_weight)


def test_an_own_matrix_that_is_no_distribution_is_refused() -> None:
    """Rows of another sum or length are no response matrix."""
    for entries in (((1, 2), (3, 4)), ((1 << 32, 0),), ((1 << 33, -(1 << 32)), (0, 1 << 32))):
        with pytest.raises(ReleaseFormatError):
            OwnMatrix(word_bits=32, entries=entries)


def test_sets_whose_words_do_not_add_up_are_refused() -> None:
    """Sets that are built directly, not from params, are checked too."""
    sound = set_or_blind(16, classes=1, values=3, members=(0,), blind=1, excess=2)
    with pytest.raises(ReleaseFormatError, match="add up"):
        BlindAndSets(word_bits=16, blind=sound.blind, more=((1, 1, 1),))


def band(**change: Any) -> dict[str, Any]:
    """Params of a number under a band response, changed."""
    channel = BandResponse.square_wave(1.0, 8)
    own = change.pop("parameters", {})
    params = own if "truth_weight" in own else {**channel.to_params(), **own}
    domain = {"bounds": [0, 8], "cells": 8, "has_missing": False}
    return {"name": "x", "type": "number", "domain": domain, "mechanism": "band-response", "parameters": params,
            "epsilon": channel.epsilon, "joint_with_target": False, **change}  # fmt: skip
