# SPDX-License-Identifier: Apache-2.0
"""The private search for spikes as a release states it: columns that are searched, the cost, and what is found.

A row is in one cell of the noisy histogram of a column: the candidates, and all else. Candidates, threshold and spikes
follow from the public rule and the published histogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from anonkit.budget_rules.spike_rule import (
    FEWEST_VALUES,
    candidates_of,
    found_among,
    spacing_of,
    spike_units,
    threshold_of,
)
from anonkit.checks.central_params import PublicColumn, PublicFacts, changed_rows, integers
from anonkit.checks.finding_lines import SPIKES
from anonkit.checks.row_rules import rules_of
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

_KEYS = {"name", "every", "counts", "rate", "threshold"}


def spike_costs(facts: PublicFacts, params: Mapping[str, Any]) -> dict[str, float]:
    """Return the purpose and the epsilon of the line of each column that must be searched.

    A column that has spikes and no histogram is one whose spikes the policy names.
    """
    names = _searched(facts, params)
    whole = math.floor(Fraction(facts.number("epsilon")) / changed_rows(facts) * 2**52)
    return {f"{SPIKES}{name}": spike_units(whole, len(names)) / 2**52 for name in names}


def _searched(facts: PublicFacts, params: Mapping[str, Any]) -> list[str]:
    given = facts.parameters
    if given.get("spikes") != "private" or facts.delta or given.get("as_") == "cells":
        return []
    fewest = max(FEWEST_VALUES, facts.whole("bins", 0, 1024))
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
    low, high = own.first, own.first + own.number - 1
    every, places = spacing_of(low, high), candidates_of(low, high)
    counts, (stated, threshold) = integers(one["counts"]), integers([one["rate"], one["threshold"]])
    if len(counts) != len(places) + 1 or stated < 1:
        return 1
    least = threshold_of(counts, stated)
    found = tuple(place - low for place in found_among(places, counts, least))
    return (
        int(stated != rate)
        + int(Fraction(str(one["every"])) != every * own.step)
        + int(threshold != least)
        + int(found != own.alone)
    )
