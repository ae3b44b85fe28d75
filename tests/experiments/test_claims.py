# SPDX-License-Identifier: Apache-2.0
"""Verdicts on claims follow from the table: what is false in it is never called held."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from papers.harness.claims import HELD, NOT_HELD, OPEN, MeasuredConfiguration, PaperClaim, fits, interval
from papers.harness.panels import Panel
from papers.harness.verdict_page import _spread

from anonkit.errors import PolicyError

_scores = st.lists(st.floats(0, 1, width=16), min_size=1, max_size=4)
_OF = {">=": lambda a, b: a >= b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, "<": lambda a, b: a < b}


def measured(system: str, k: int | None, scores: list[float], **more: Any) -> MeasuredConfiguration:
    """A configuration with one score a repeat."""
    samples = {(repeat, 0): {"auc": score} for repeat, score in enumerate(scores)}
    return MeasuredConfiguration(data="a", system=system, point={} if k is None else {"k": k}, samples=samples, **more)


def claim(**more: Any) -> PaperClaim:
    """A claim about the AUC of system `ours`."""
    return PaperClaim.from_dict({"says": "…", "measure": "auc", "left": "ours", **more}, "claim")


@given(st.lists(st.tuples(_scores, _scores), min_size=1, max_size=4), st.sampled_from([">=", ">", "<=", "<"]))
def test_what_is_false_in_the_table_is_never_held(points: list[tuple[list[float], list[float]]], relation: str) -> None:
    """For any scores, a claim that holds requires the relation of the means at every point."""
    pairs = [(left[: len(right)], right[: len(left)]) for left, right in points]
    ours = [measured("ours", k, left) for k, (left, _) in enumerate(pairs)]
    theirs = [measured("theirs", k, right) for k, (_, right) in enumerate(pairs)]

    verdict = claim(**{"is": relation, "right": "theirs"}).judged([*ours, *theirs])

    true = all(_OF[relation](np.mean(left), np.mean(right)) for left, right in pairs)
    assert verdict.word in ((HELD, OPEN) if true else (NOT_HELD, OPEN))


@given(st.lists(_scores, min_size=2, max_size=5), st.sampled_from(["rises", "falls"]))
def test_what_does_not_rise_in_the_table_is_never_held_to_rise(steps: list[list[float]], way: str) -> None:
    """Held means that no step of the means goes the other way, and that the last is beyond the first."""
    shortest = min(map(len, steps))
    ours = [measured("ours", k, scores[:shortest]) for k, scores in enumerate(steps)]

    verdict = claim(**{"is": way, "along": "k"}).judged(ours)

    means = [float(np.mean(scores[:shortest])) for scores in steps]
    means = means if way == "rises" else [-mean for mean in means]
    true = all(after >= before for before, after in pairwise(means)) and means[-1] > means[0]
    assert verdict.word != HELD or true


def test_what_is_held_to_rise_shows_the_rise_that_it_rests_on() -> None:
    """Steps alone may be within the spread; the whole way is beside them, on the claimed side."""
    ours = [measured("ours", k, [0.1 * k + (wave * (-1) ** k) for wave in (0.0, 0.06, -0.06, 0.05)]) for k in range(6)]
    verdict = claim(**{"is": "rises", "along": "k"}).judged(ours)

    assert verdict.word == HELD
    (whole,) = (point for point in verdict.points if "the whole way" in point.label)
    assert whole.label == "a, k 0 to 5, the whole way"
    assert whole.verdict == HELD
    assert whole.difference == pytest.approx(0.5, abs=0.05)


@given(_scores, st.floats(0, 1), st.floats(0, 0.2))
def test_about_is_held_within_the_tolerance_alone(scores: list[float], value: float, tolerance: float) -> None:
    """And with the spread within it too."""
    verdict = claim(**{"is": "about", "right": value, "tolerance": tolerance}).judged([measured("ours", 1, scores)])

    assert verdict.word != HELD or abs(np.mean(scores) - value) <= tolerance + 1e-12
    assert verdict.word != NOT_HELD or abs(np.mean(scores) - value) > tolerance - 1e-12


def test_one_run_tells_nothing_unless_the_measure_is_exact() -> None:
    """Without a spread no difference is sure; a breach coefficient follows from parameters."""
    ours, theirs = measured("ours", 1, [0.9]), measured("theirs", 1, [0.1])
    assert claim(**{"is": ">=", "right": "theirs"}).judged([ours, theirs]).word == OPEN

    exact = [
        MeasuredConfiguration(data="a", system=name, point={}, samples={(0, 0): {"breach": value}})
        for name, value in (("ours", 0.2), ("theirs", 0.3))
    ]
    less = PaperClaim.from_dict(
        {"says": "…", "measure": "breach", "left": "ours", "is": "<", "right": "theirs"}, "claim"
    )
    assert less.judged(exact).word == HELD


@pytest.mark.parametrize(
    ("relation", "told"),
    [
        (">", "1 difference, as claimed: +0.6"),
        ("<", "1 difference, against the claim: +0.6"),
    ],
)
def test_one_difference_is_told_once(relation: str, told: str) -> None:
    """It is no range from itself to itself."""
    ours, theirs = measured("ours", 1, [0.9, 0.91, 0.89]), measured("theirs", 1, [0.3, 0.31, 0.29])
    assert claim(**{"is": relation, "right": "theirs"}).judged([ours, theirs]).seen == told
    open_one = claim(**{"is": relation, "right": "theirs"}).judged([measured("ours", 1, [0.9]), theirs])
    assert open_one.seen == "1 difference, within the spread: +0.6"


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([0.1 + 0.2, 0.3, 0.3], "0.3000"),
        ([0.2, 0.4], "0.3000 ± 0.14"),
        ([0.0, 0.0], "0.0000"),
        ([0.5], "0.5000"),
    ],
)
def test_last_bits_are_no_spread(values: list[float], told: str) -> None:
    """Figures that follow from parameters are shown as one figure, in any order of adding floats."""
    assert _spread(values) == told


def test_differences_are_of_the_same_rows_and_noise() -> None:
    """Repeats that differ a lot from each other, and always in the same direction between systems, distinguish them."""
    ours = measured("ours", 1, [0.2, 0.5, 0.8, 0.9])
    theirs = measured("theirs", 1, [0.19, 0.48, 0.79, 0.88])

    verdict = claim(**{"is": ">", "right": "theirs"}).judged([ours, theirs])
    assert verdict.word == HELD
    assert verdict.points[0].difference == pytest.approx(0.015)


def test_a_system_without_the_axis_is_compared_at_every_point() -> None:
    """A flat line is the same all along; means over an axis are one point."""
    ours = [measured("ours", k, [0.1 * k, 0.1 * k + 0.01]) for k in (1, 2, 3)]
    flat = measured("flat", None, [0.2, 0.2])

    assert len(claim(**{"is": ">=", "right": "flat"}).judged([*ours, flat]).points) == 3
    (point,) = claim(**{"is": ">=", "right": "flat", "mean_over": ["k"]}).judged([*ours, flat]).points
    assert point.left == pytest.approx(0.205)
    assert not claim(**{"is": ">=", "right": "flat", "where": {"k": [9]}}).judged([*ours, flat]).points


def test_intervals_are_students_with_the_correction_for_folds() -> None:
    """Against the formula at hand: t(.975, 4) = 2.776; five folds add 1/4 to 1/5."""
    differences = np.array([0.01, 0.03, 0.02, 0.0, 0.04])
    deviation = differences.std(ddof=1)

    low, high = interval(differences, 0.0, 1, exact=False)
    assert (high - low) / 2 == pytest.approx(2.7764451 * deviation / math.sqrt(5))
    low, high = interval(differences, 0.25, 1, exact=False)
    assert (high - low) / 2 == pytest.approx(2.7764451 * deviation * math.sqrt(1 / 5 + 1 / 4))
    wider = interval(differences, 0.25, 10, exact=False)
    assert wider[0] < low
    assert high < wider[1]


def test_conditions_are_values_lists_and_ranges() -> None:
    """Ends are in."""
    assert fits(2, 2)
    assert fits("a", ["a", "b"])
    assert fits(0.4, {"from": 0.4, "to": 0.7})
    assert not fits(0.39, {"from": 0.4})
    assert not fits("a", {"from": 0.4})


def test_lines_of_a_panel_are_systems_and_what_else_varies() -> None:
    """A ratio divides by the system at the same point; a system without the axis is a flat line."""
    ours = [measured("ours", k, [0.2 * k]) for k in (1, 2)]
    theirs = [measured("theirs", k, [0.1 * k]) for k in (1, 2)]
    panel = Panel.from_dict({"x": "k", "measure": "auc", "ratio_to": "theirs"}, "panel")

    lines = {line.system: line for line in panel.lines([*ours, *theirs, measured("flat", None, [0.4])], {})}
    assert [height for _, height, _ in lines["ours"].points] == pytest.approx([2.0, 2.0])
    assert [height for _, height, _ in lines["theirs"].points] == [1.0, 1.0]
    flat = Panel.from_dict({"x": "k", "measure": "auc"}, "panel").lines([measured("flat", None, [0.4])], {"flat": "F"})
    assert (flat[0].label, flat[0].points[0][:2]) == ("F", (None, 0.4))


def test_both_sides_are_averaged_over_the_same_values() -> None:
    """A system that rises along an axis, against itself with fewer values of it, is no better than itself."""
    ours = [measured("ours", k, [0.1 * k, 0.1 * k + 0.01, 0.1 * k - 0.01]) for k in (1, 2, 3, 4)]
    same = [measured("same", k, [0.1 * k, 0.1 * k + 0.01, 0.1 * k - 0.01]) for k in (1, 2)]

    verdict = claim(**{"is": ">", "right": "same", "mean_over": ["k"]}).judged([*ours, *same])
    (point,) = verdict.points
    assert (point.left, point.right) == pytest.approx((0.15, 0.15))
    assert verdict.word != HELD
    apart = claim(**{"is": ">", "right": "same", "mean_over": ["k"], "left_where": {"k": [3, 4]}})
    assert apart.judged([*ours, *same]).points[0].left == pytest.approx(0.35)  # chosen apart on purpose
    other = [measured("same", k, [0.5, 0.5]) for k in (7, 8)]
    assert not claim(**{"is": ">", "right": "same", "mean_over": ["k"]}).judged([*ours, *other]).points


def test_no_claim_is_judged_by_the_accountant_of_the_package() -> None:
    """An epsilon of our own is no measurement: it is on the page beside the claimed one, without a verdict."""
    made = PaperClaim.from_dict({"says": "…", "measure": "epsilon", "left": "ours", "is": "<=", "right": 1.0}, "claim")
    with pytest.raises(PolicyError, match="follows from the package's own accountant"):
        made.refuse_unknown_names(["ours"], [], ["epsilon"], "claim")
