"""Tables read off a randomized release, and the coverage of their intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anonkit.consumers import by_class, frequencies, histogram, moments, two_way
from anonkit.domains.number_bins import Categories
from anonkit.errors import ParameterError, SourceError
from anonkit.published.channels.category_channels import RandomizedResponse
from anonkit.published.channels.number_channels import PUBLISHED, BandResponse, TransformedResponse
from anonkit.published.channels.response_channel import ResponseMatrix
from anonkit.published.randomized_table import PublishedAttribute, PublishedTable, PublishedTarget

from .conftest import CLASSES, COLOUR_SHARES, COLOURS, HEIGHTS, colours_by_class, publish_table

TRR = TransformedResponse(multiplier=PUBLISHED["N(1,1)"][0], offset=PUBLISHED["N(1,1)"][1])
MARGINAL = np.array([0.34, 0.3, 0.36])
RUNS = 500


def table(
    height: Any = TRR, colour: Any = None, label: Any = None, *, asked: bool = False, joint: bool = False
) -> PublishedTable:
    """Colour, height and class with the given mechanisms."""
    grid = None if isinstance(height, TransformedResponse) else HEIGHTS
    target = None if joint else label or RandomizedResponse.rrph(0.7)
    return PublishedTable(
        target=PublishedTarget(name="class", domain=CLASSES, mechanism=target),
        attributes=(
            PublishedAttribute(
                name="colour",
                domain=COLOURS,
                mechanism=colour or RandomizedResponse.equal(3, 0.5),
                joint_with_target=joint,
            ),
            PublishedAttribute(name="height", domain=grid, mechanism=height, joint_with_target=joint),
        ),
        asked_column="asked" if asked or joint else None,
    )


JOINT = table(BandResponse.square_wave(4.0, 12, segments=2), RandomizedResponse.from_epsilon(6, 4.0), joint=True)
BAND = table(BandResponse.square_wave(3.0, 12))
BINS = table(RandomizedResponse.equal(12, 0.5))


@pytest.mark.parametrize("described", [table(), table(asked=True), JOINT], ids=["all", "one per row", "joint"])
def test_frequencies_come_back(described: PublishedTable) -> None:
    """Shares of all rows, and of the target, within 4 standard errors; labels and level are stated."""
    released = publish_table(described, colours_by_class(60_000, 1), 1)
    found = frequencies(released, described.to_params(), "colour")
    assert np.all(np.abs(found.estimate - MARGINAL) < 4 * found.error)
    assert np.all((found.lower <= found.estimate) & (found.estimate <= found.upper))
    assert found.index == (("colour", COLOURS.values),)
    assert found.n_rows == pytest.approx(60_000 if described.asked_column is None else 30_000, rel=0.02)
    if described is not JOINT:
        label = frequencies(released, described, "class")
        assert np.all(np.abs(label.estimate - [0.6, 0.4]) < 4 * label.error)


@pytest.mark.parametrize("described", [BAND, BINS, JOINT], ids=["band", "bins", "joint"])
def test_histograms_come_back(described: PublishedTable) -> None:
    """Cells within 4 standard errors of the true shares, smoothing apart."""
    truth = colours_by_class(60_000, 1)
    cells = np.bincount(HEIGHTS.encode(truth["height"]), minlength=12) / 60_000
    found = histogram(publish_table(described, truth, 1), described, "height")
    assert np.all(np.abs(found.estimate - cells) < 4 * found.error + 0.02)
    assert found.index[0][1] == tuple(HEIGHTS.midpoints())


@pytest.mark.parametrize("described", [table(), BAND, BINS, JOINT], ids=["trr", "band", "bins", "joint"])
def test_moments_come_back(described: PublishedTable) -> None:
    """Mean and variance of all rows within 4 standard errors; nothing is missing."""
    truth = colours_by_class(60_000, 1)
    found = moments(publish_table(described, truth, 1), described, "height")
    height = truth["height"]
    if described.attribute("height").domain is not None:
        height = HEIGHTS.midpoints()[HEIGHTS.encode(height)]
    assert np.all(np.abs(found.estimate - [height.mean(), height.var(), 1.0]) < 4 * found.error + 1e-9)


def test_tables_by_class_come_back() -> None:
    """Colours and moments within each class, labels randomized, within 4 standard errors."""
    released = publish_table(table(), colours_by_class(60_000, 1), 1)
    colours = by_class(released, table(), "colour")
    assert np.all(np.abs(colours.estimate - COLOUR_SHARES) < 4 * colours.error)
    heights = by_class(released, table(), "height")
    assert np.all(np.abs(heights.estimate[0] - [4, 8]) < 4 * heights.error[0])
    assert heights.index[1] == ("class", CLASSES.values)
    smoothed = by_class(publish_table(BAND, colours_by_class(60_000, 1), 1), BAND, "height")
    assert smoothed.estimate.shape == (2, 12)


def test_two_way_tables_come_back() -> None:
    """Colour by height bin, and colour by class, with the Kronecker inverse, within 4 standard errors."""
    truth = colours_by_class(60_000, 1)
    released = publish_table(BINS, truth, 1)
    colours = np.array([COLOURS.values.index(name) for name in truth["colour"]])
    expected = np.zeros((3, 12))
    np.add.at(expected, (colours, HEIGHTS.encode(truth["height"])), 1 / 60_000)
    found = two_way(released, BINS, "colour", "height")
    assert np.all(np.abs(found.estimate - expected) < 4.5 * found.error)
    by_label = two_way(released, BINS, "colour", "class")
    assert by_label.estimate.sum() == pytest.approx(1)
    assert np.all(np.abs(by_label.estimate - COLOUR_SHARES.T * [0.6, 0.4]) < 4 * by_label.error)


def test_a_table_can_be_a_data_frame() -> None:
    """One row per number, labels as index."""
    frame = two_way(publish_table(BINS, colours_by_class(500, 1), 1), BINS, "colour", "class").to_pandas()
    assert list(frame.columns) == ["estimate", "error", "lower", "upper"]
    assert frame.index.names == ["colour", "class"]
    assert len(frame) == 6


def coverage(described: PublishedTable, ask: Any, truth: np.ndarray, n: int) -> np.ndarray:
    """Share of runs, on fresh rows and fresh noise, whose 95 % interval holds the true number."""
    hits = np.zeros(truth.shape)
    for seed in range(RUNS):
        found = ask(publish_table(described, colours_by_class(n, 10_000 + seed), seed), described)
        hits += (found.lower <= truth) & (truth <= found.upper)
    return hits / RUNS


CASES: dict[str, tuple[PublishedTable, Any, np.ndarray]] = {
    "frequencies": (table(), lambda data, params: frequencies(data, params, "colour"), MARGINAL),
    "matrix": (
        table(colour=ResponseMatrix.from_probabilities([[0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]])),
        lambda data, params: frequencies(data, params, "colour"),
        MARGINAL,
    ),
    "by class": (table(), lambda data, params: by_class(data, params, "colour"), COLOUR_SHARES),
    "joint": (JOINT, lambda data, params: by_class(data, params, "colour"), COLOUR_SHARES),
    "two-way": (
        table(),
        lambda data, params: two_way(data, params, "colour", "class"),
        COLOUR_SHARES.T * [0.6, 0.4],
    ),
    "mean and variance": (
        table(),
        lambda data, params: moments(data, params, "height"),
        np.array([5.6, 1.5**2 + 0.24 * 16, 1.0]),
    ),
    "moments by class": (
        table(label=RandomizedResponse.rrph(0.9)),
        lambda data, params: by_class(data, params, "height"),
        np.array([[4.0, 8.0], [2.25, 2.25], [1.0, 1.0]]),
    ),
}


FAST = ("frequencies", "by class", "moments by class")


@pytest.mark.quick_cases("by class")
@pytest.mark.parametrize(
    "case", [case if case in FAST else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_intervals_cover_the_truth_as_often_as_they_say(case: str) -> None:
    """Over 500 runs of 1,500 rows every 95 % interval holds the truth in 92.5 to 98 % of them."""
    described, ask, truth = CASES[case]
    found = coverage(described, ask, truth, 1500)
    certain = truth == 1.0  # the share of present values is known where none can be missing
    assert found[certain] == pytest.approx(1.0)
    assert np.all((found[~certain] > 0.925) & (found[~certain] < 0.98)), found


def test_what_cannot_be_answered_says_so() -> None:
    """Each refusal names a possible question."""
    released = publish_table(table(), colours_by_class(50, 1), 1)
    one = publish_table(JOINT, colours_by_class(50, 1), 1)
    for ask in (
        lambda: frequencies(released, table(), "height"),
        lambda: histogram(released, table(), "colour"),
        lambda: moments(released, table(), "colour"),
        lambda: two_way(released, table(), "colour", "height"),
        lambda: two_way(released, BAND, "colour", "height"),
        lambda: two_way(one, JOINT, "colour", "height"),
        lambda: frequencies(one, JOINT, "class"),
        lambda: frequencies(released, table(), "color"),
        lambda: by_class(released, PublishedTable(target=None, attributes=table().attributes), "colour"),
    ):
        with pytest.raises(ParameterError):
            ask()
    empty = {name: column[:0] for name, column in released.items()}
    for ask in (
        lambda: frequencies(empty, table(), "colour"),
        lambda: by_class(empty, table(), "colour"),
        lambda: two_way(empty, table(), "colour", "class"),
        lambda: two_way({**released, "colour": ["marker"] * 50}, table(), "colour", "class"),
    ):
        with pytest.raises(SourceError) as caught:
            ask()
        assert "marker" not in str(caught.value)


def test_missing_is_one_more_label() -> None:
    """A category that may be missing has a share for missing."""
    domain = Categories(values=COLOURS.values, has_missing=True)
    described = PublishedTable(
        target=None,
        attributes=(PublishedAttribute(name="colour", domain=domain, mechanism=RandomizedResponse.equal(4, 0.5)),),
    )
    truth = colours_by_class(40_000, 1, missing=0.2)
    found = frequencies(publish_table(described, truth, 1), described, "colour")
    assert found.index[0][1] == (*COLOURS.values, None)
    assert found.estimate[-1] == pytest.approx(0.2, abs=4 * found.error[-1])
