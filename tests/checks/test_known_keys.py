# SPDX-License-Identifier: Apache-2.0
"""The documents of a release have the keys that anonkit writes; damaged ones are refused as such."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest
from checks.forgeries import Files, forged, verdict
from checks.forging import at

from anonkit.checks.approximate_histogram import approximate_report_checks
from anonkit.checks.central import central_report_checks
from anonkit.checks.known_keys import key_checks
from anonkit.checks.local_table import local_file_checks
from anonkit.errors import ReleaseFormatError


@pytest.mark.parametrize("moment", ["yesterday", "2026-01-01T00:00:00"])
def test_when_a_release_was_made_is_a_moment(small_releases: dict[str, Files], moment: str, tmp_path: Path) -> None:
    """Words are no moment, nor is a time that names no zone."""
    true = small_releases["k-anonymous"]

    assert verdict(forged(true, at("report", "created", to=moment), tmp_path)) == (1, ("documents",))


def test_a_method_of_somebody_else_need_not_speak_of_a_shuffle(
    small_releases: dict[str, Files], tmp_path: Path
) -> None:
    """The shuffle checks are left out for a stranger's report without a shuffle; anonkit's own reports have one."""
    true = small_releases["local"]
    data, params, report = forged(true, lambda _: None, tmp_path), true.params, deepcopy(true.report)
    own = [check.name for check in local_file_checks(data, params, report, is_promised=True).later]
    del report["shuffle"]
    report["method"]["name"] = "somebody-elses"
    other = [check.name for check in local_file_checks(data, params, report, is_promised=True).later]

    assert [name for name in own if name not in other] == [name for name in own if "shuffle" in name] != []


def test_a_damaged_report_is_refused_as_such(small_releases: dict[str, Files]) -> None:
    """A report with a missing block, or with params that cannot be read, is refused as damaged."""
    true = small_releases["forest"]
    broken = {**true.params, "target": None}

    for params, report in ((true.params, {}), (broken, true.report)):
        with pytest.raises(ReleaseFormatError):
            list(central_report_checks(params, report, is_promised=True))
    with pytest.raises(ReleaseFormatError):
        list(approximate_report_checks({}, {}))


@pytest.mark.parametrize(("interval", "wrong"), [([0.4, 0.6], 0), ([0.6, 0.4], 1), ([0.4], 1), ("0.4 to 0.6", 1)])
def test_an_interval_of_a_figure_is_two_numbers_in_order(
    small_releases: dict[str, Files], interval: object, wrong: int
) -> None:
    """Anything else in its place is of another kind."""
    true = small_releases["k-anonymous"]
    report = deepcopy(true.report)
    shares = dict.fromkeys(("auc", "balanced_accuracy", "accuracy", "majority"), 0.5)
    figure = {"model": "m", "protocol": "p", **shares, "ci": {"auc": interval}}
    report["utility"]["prediction_of_target"] = figure
    (check,) = key_checks(true.params, report)

    assert check.observed == wrong
