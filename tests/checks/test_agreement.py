"""The report states the results of the checks as recomputed: verified ones, and those that need the source."""

from __future__ import annotations

from typing import Any

import pytest

from anonkit.checks.agreement import verification_checks
from anonkit.promises.guarantee import Check

MADE = Check(name="k_anonymity", passed=True, observed=10, required=10)
JOINT = {"name": "joint_k", "passed": True, "observed": "10 or more", "required": 10}


def verified(*stated: dict[str, Any]) -> Check:
    """The verdict on a report that states these checks."""
    report = {"verification": {"checks": [MADE.to_dict(), *stated]}}
    (found,) = verification_checks(report, [MADE], ("joint_k",))
    return found


@pytest.mark.parametrize("observed", ["10 or more", 10, 11])
def test_a_check_of_the_source_has_reached_what_it_required(observed: object) -> None:
    """The margin is not always published."""
    assert verified({**JOINT, "observed": observed}).passed


@pytest.mark.parametrize("change", [{"observed": 9}, {"passed": False}, {"name": "other"}, {"more": 1}])
def test_a_check_of_the_source_that_says_otherwise_fails(change: dict[str, Any]) -> None:
    """Below what it required, failed, of another name, or with a key too many."""
    assert not verified({**JOINT, **change}).passed


def test_a_check_that_occurs_twice_or_is_invented_fails() -> None:
    """Every check that is made is there once, as it comes out now."""
    assert verified().passed
    assert not verified(MADE.to_dict()).passed
    other = {**MADE.to_dict(), "observed": 12}
    (found,) = verification_checks({"verification": {"checks": [other]}}, [MADE], ())
    assert found.observed == 1
