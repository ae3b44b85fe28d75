"""Counts of true values from randomized ones: exact where nothing was randomized, unbiased where it was."""

from __future__ import annotations

import numpy as np

from anonkit.consumers.tree_growth import Answers, EstimatedNodeCounts, value_tests
from anonkit.domains.number_bins import Categories, Grid
from anonkit.published.channels.category_channels import RandomizedResponse

COLOUR = Categories(values=("red", "green", "blue"))
SIZE = Grid(lower=0, upper=4, cells=4, has_missing=True)
WARM = Categories(values=("no", "yes"))
DOMAINS: tuple[Categories | Grid, ...] = (COLOUR, SIZE, WARM)
N = 4_000


def true_codes() -> tuple[list[np.ndarray], np.ndarray]:
    """Codes of each attribute, and classes that depend on them."""
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, domain.size, N) for domain in DOMAINS]
    return codes, (codes[0] == 2) | (codes[1] > 2) & (codes[2] == 1)


def answers_of(codes: list[np.ndarray], classes: np.ndarray, channels: list[RandomizedResponse]) -> Answers:
    """Published answers with the scores of their channels."""
    return Answers(
        codes=codes,
        scores=[channel.scores(np.eye(channel.n_inputs)) for channel in channels],
        labels=np.eye(2)[classes.astype(int)],
        tests=value_tests(DOMAINS),
    )


def test_a_category_is_against_the_rest_and_a_number_is_cut() -> None:
    """Two categories have one test, three have three, four cells and missing four cuts."""
    tests = value_tests(DOMAINS)
    assert [test.attribute for test in tests] == [0, 0, 0, 1, 1, 1, 1, 2]
    assert tests[3].values.tolist() == [False, True, True, True, True]
    assert tests[6].values.tolist() == [False, False, False, False, True]  # missing against present
    assert tests[7].values.tolist() == [False, True]


def test_clear_answers_are_counted_exactly() -> None:
    """Along a path of three tests, two of one attribute, counts and sides are those of the rows."""
    codes, classes = true_codes()
    answers = answers_of(codes, classes, [RandomizedResponse.clear(domain.size) for domain in DOMAINS])
    node = EstimatedNodeCounts(answers=answers).below(3, True).below(0, False).below(5, False)
    rows = (codes[1] >= 1) & (codes[0] != 0) & (codes[1] < 3)
    assert np.allclose(node.counts, np.bincount(classes[rows], minlength=2))
    yes, no = node.sides()
    for test, passed, failed in zip(answers.tests, yes, no, strict=True):
        side = test.values[codes[test.attribute]]
        assert np.allclose(passed, np.bincount(classes[rows & side], minlength=2))
        assert np.allclose(failed, np.bincount(classes[rows & ~side], minlength=2))


def test_randomized_answers_are_counted_without_bias() -> None:
    """The mean of 200 draws is the true count of a path, within four of its standard errors."""
    codes, classes = true_codes()
    channels = [RandomizedResponse.equal(domain.size, 0.6) for domain in DOMAINS]
    rng = np.random.default_rng(5)
    estimates = []
    for _ in range(200):
        published = [
            np.where(rng.random(N) < 0.6, code, rng.integers(0, domain.size, N))
            for code, domain in zip(codes, DOMAINS, strict=True)
        ]
        node = (
            EstimatedNodeCounts(answers=answers_of(published, classes, channels))
            .below(2, True)
            .below(4, True)
            .below(7, False)
        )
        estimates.append(node.counts)
    truth = np.bincount(classes[(codes[0] == 2) & (codes[1] >= 2) & (codes[2] == 0)], minlength=2)
    spread = np.std(estimates, axis=0)
    assert (np.abs(np.mean(estimates, axis=0) - truth) < 4 * spread / np.sqrt(200)).all()
