"""k-anonymity as a promise: what it says, what it leaves open, and how it is compared with a recount."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonkit.promises.anonymous_classes import Diversity, KAnonymity


@dataclass(frozen=True)
class Counted:
    """A recount, made up."""

    k: int = 10
    people: int | None = None
    sensitive: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


DIVERSITIES = st.builds(
    Diversity,
    l=st.none() | st.floats(1, 9),
    entropy_l=st.none() | st.floats(1, 9),
    recursive=st.none() | st.tuples(st.floats(0.5, 9), st.integers(2, 5)),
    t=st.none() | st.floats(0, 1),
    alpha=st.none() | st.floats(0.1, 1),
)
PROMISES = st.builds(
    KAnonymity,
    k=st.integers(2, 100),
    quasi_identifiers=st.lists(st.text(min_size=1), max_size=3).map(tuple),
    sensitive=st.just(("s",)),
    diversity=DIVERSITIES,
    unit=st.none() | st.just("who"),
    assumptions=st.lists(st.text(), max_size=2).map(tuple),
)


@given(PROMISES)
def test_a_promise_reads_back_from_its_report(promise: KAnonymity) -> None:
    """The block of the report is the whole promise."""
    assert KAnonymity.from_dict(json.loads(json.dumps(promise.to_dict()))) == promise


@given(PROMISES)
def test_every_part_of_a_promise_is_checked(promise: KAnonymity) -> None:
    """There are as many checks as requirements, and a recount that measured nothing passes none of them."""
    checks = promise.verify(Counted(k=0))
    asked = 1 + (promise.unit is not None) + len(promise.diversity.required())
    assert len(checks) == asked
    assert not any(check.passed for check in checks)


@pytest.mark.parametrize(
    ("diversity", "found", "passed"),
    [
        (Diversity(l=2), {"l": 2.0}, True),
        (Diversity(l=2), {"l": 1.0}, False),
        (Diversity(entropy_l=1.5), {"entropy_l": 1.5}, True),
        (Diversity(entropy_l=1.5), {"entropy_l": 1.4}, False),
        (Diversity(t=0.2), {"t": 0.2}, True),
        (Diversity(t=0.2), {"t": 0.21}, False),
        (Diversity(alpha=0.7), {"alpha": 0.7}, True),
        (Diversity(alpha=0.7), {"alpha": 0.8}, False),
        (Diversity(recursive=(3.0, 2)), {"recursive_c_2": 2.9}, True),
        (Diversity(recursive=(3.0, 2)), {"recursive_c_2": 3.0}, False),
        (Diversity(recursive=(3.0, 2)), {}, False),
    ],
)
def test_each_model_is_compared_in_its_own_direction(
    diversity: Diversity, found: dict[str, float], passed: bool
) -> None:
    """At least for l, at most for t and alpha, strictly below for c."""
    promise = KAnonymity(k=2, quasi_identifiers=("q",), sensitive=("s",), diversity=diversity)
    assert promise.verify(Counted(sensitive={"s": found}))[-1].passed is passed


def test_a_promise_says_what_it_leaves_open() -> None:
    """Homogeneity is named unless diversity is required; distinct l alone leaves skewness; rows are not people."""
    plain = KAnonymity(k=5, quasi_identifiers=("q",))
    distinct = KAnonymity(k=5, quasi_identifiers=("q",), sensitive=("s",), diversity=Diversity(l=2))
    close = KAnonymity(k=5, quasi_identifiers=("q",), sensitive=("s",), diversity=Diversity(t=0.2), unit="who")

    assert any(text.startswith("Homogeneity") for text in plain.not_protected())
    assert any(text.startswith("Skewness") for text in distinct.not_protected())
    assert not any(text.startswith(("Homogeneity", "Skewness", "Rows")) for text in close.not_protected())
    assert any(text.startswith("Rows are counted") for text in plain.not_protected())
    assert "5 people" in close.statement()
