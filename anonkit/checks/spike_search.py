# SPDX-License-Identifier: Apache-2.0
"""The private search for spikes, followed again: which columns are searched, what that costs, and what is found.

A row is in one cell of the noisy histogram of a column: the candidates, and all else. Candidates are the first and the
last number of the column and the multiples of a power of ten of its step, of the least that leaves at most 200. A value
is a spike where its noisy count reaches a threshold, that follows from the rate and the sum of the histogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from anonkit.checks.central_params import PublicColumn, PublicFacts, changed_rows, integers
from anonkit.checks.finding_lines import SPIKES
from anonkit.checks.number_cells import Multiples
from anonkit.checks.row_rules import rules_of
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_SHARE = Fraction(1, 25)
_VALUES, _CANDIDATES, _MOST = 16, 200, 8
_ALARMS = 100
_LEAST = Fraction(1, 20)
_KEYS = {"name", "every", "counts", "rate", "threshold"}


def spike_costs(facts: PublicFacts, params: Mapping[str, Any]) -> dict[str, float]:
    """Return the purpose and the epsilon of the line of each column that must be searched.

    A column that has spikes and no histogram is one whose spikes the policy names.
    """
    names = _searched(facts, params)
    whole = math.floor(Fraction(facts.number("epsilon")) / changed_rows(facts) * 2**52)
    return {f"{SPIKES}{name}": int(whole * _SHARE) // len(names) / 2**52 for name in names}


def _searched(facts: PublicFacts, params: Mapping[str, Any]) -> list[str]:
    given = facts.parameters
    if given.get("spikes") != "private" or facts.delta or given.get("as_") == "cells":
        return []
    fewest = max(_VALUES, facts.whole("bins", 0, 1024))
    rules = rules_of(params)
    ruled = {name for pair in rules.apart for name in pair}
    ruled |= {name for one in rules.following for name in (one.of, one.name)}
    stated = {str(one["name"]) for one in params.get("spikes", [])}
    return [
        column.name
        for column in facts.attributes
        if (own := column.domain.multiples) is not None
        and own.number > fewest
        and column.name not in ruled
        and (not own.alone or column.name in stated)
    ]


def spike_checks(params: Mapping[str, Any], facts: PublicFacts) -> Iterator[Check]:
    """Compare the histograms with the columns that must be searched, and the spikes of these with what they show.

    Raises
    ------
    ReleaseFormatError
        A histogram is none that anonkit writes.
    """
    histograms, names = params.get("spikes", []), _searched(facts, params)
    listed = [str(one["name"]) for one in histograms]
    wrong = int(listed != names) + int("spikes" in params and not names)
    columns = {column.name: column for column in facts.attributes}
    rates = {str(line["purpose"]): line["rate"] for line in params["accounting"]}
    for one in histograms:
        name = str(one["name"])
        if set(one) != _KEYS or name not in columns or columns[name].domain.multiples is None:
            raise ReleaseFormatError("a histogram of the search for spikes is none that anonkit writes")
        wrong += _wrong(one, columns[name], rates.get(f"{SPIKES}{name}"))
    yield Check(name="spikes", passed=wrong == 0, observed=wrong, required=0)


def _wrong(one: Mapping[str, Any], column: PublicColumn, rate: object) -> int:
    """Count what of a histogram is not as the rule has it: its candidates, its rate, its threshold, its spikes."""
    own = column.domain.multiples
    assert own is not None  # noqa: S101 - whoever asks has looked
    every, places = _candidates(own)
    counts, (stated, threshold) = integers(one["counts"]), integers([one["rate"], one["threshold"]])
    if len(counts) != len(places) + 1 or stated < 1:
        return 1
    least = max(math.ceil(math.log(len(counts) * _ALARMS) * 2**52 / stated), math.ceil(Fraction(sum(counts)) * _LEAST))
    high = sorted(zip(counts, (-place for place in places), strict=False), reverse=True)[:_MOST]
    found = sorted(-place for count, place in high if count >= least)
    return (
        int(stated != rate)
        + int(Fraction(str(one["every"])) != every * own.step)
        + int(threshold != least)
        + int(tuple(found) != own.alone)
    )


def _candidates(own: Multiples) -> tuple[int, list[int]]:
    """Return how many steps candidates are apart, and their places, in steps above the first number."""
    last, every = own.first + own.number - 1, 1
    while len(range(-(-own.first // every), last // every + 1)) > _CANDIDATES - 2:
        every *= 10
    between = {multiple * every - own.first for multiple in range(-(-own.first // every), last // every + 1)}
    return every, sorted(between | {0, own.number - 1})
