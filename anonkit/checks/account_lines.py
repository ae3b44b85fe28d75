# SPDX-License-Identifier: Apache-2.0
"""Draws of a published account that are paid in rho: what they cost, what rho comes to in epsilon, how wide they are.

Nothing of this is shared with the code that makes the claim. The conversion is solved for epsilon here, and for delta
there: a loss of rho keeps, for every alpha > 1,

    epsilon = alpha rho + ln(1 - 1 / alpha) - ln(alpha delta) / (alpha - 1)

with that delta (Canonne, Kamath, Steinke 2020, corollary 13). Whatever alpha is taken, the epsilon holds, so that a
search that misses the best one refuses a release and never lets one pass.

Draws of a published account for domains and spikes: their lines, and the delta of thresholds of categories.

A value that only the m rows of one unit have is published if its noisy count reaches the threshold T. Of n such rows
the noise, discrete Laplace with q = exp(-rate), has to reach T - n: a chance of q**(T - n) / (1 + q). The values of one
unit share its m rows, so that all of them together have at most max over n of m / n times that.

The private search for spikes as a release states it: columns that are searched, the cost, and what is found.

A row is in one cell of the noisy histogram of a column: the candidates, and all else. Candidates, threshold and spikes
follow from the public rule and the published histogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from anonkit.budget_rules.spike_rule import (
    FEWEST_VALUES,
    candidates_of,
    found_among,
    spacing_of,
    spike_units,
    threshold_of,
)
from anonkit.checks.central_params import (
    EXPONENTIAL,
    GAUSSIAN,
    THRESHOLDED,
    PublicColumn,
    PublicFacts,
    changed_rows,
    integers,
)
from anonkit.checks.row_rules import rules_of
from anonkit.checks.sameness import same
from anonkit.errors import ReleaseFormatError
from anonkit.promises.guarantee import Check

SPIKES = "spikes of "
"""Beginning of the purpose of a histogram of candidates."""
_PURPOSES = ("kind of ", "sizes of ", "bounds of ", "categories of ", SPIKES)
_EPSILON_ROUNDING = 1e-9
"""Relative error of a float here, on the safe side."""


def finding_lines(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the lines that looked for domains, or for spikes."""
    return [line for line in params["accounting"] if str(line["purpose"]).startswith(_PURPOSES)]


def looked_for_domains(params: Mapping[str, Any]) -> bool:
    """Return True if a line looked for a domain, which takes half of delta; none that looks for spikes does."""
    return any(not str(line["purpose"]).startswith(SPIKES) for line in finding_lines(params))


def model_lines(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all other lines."""
    return [line for line in params["accounting"] if not str(line["purpose"]).startswith(_PURPOSES)]


def finding_epsilon(params: Mapping[str, Any]) -> Fraction:
    """Return the epsilon of one row for finding domains and spikes."""
    rates = integers([line["rate"] for line in finding_lines(params)])
    return sum((Fraction(rate, 1 << 52) for rate in rates), Fraction(0))


def finding_delta(params: Mapping[str, Any], rows: int, *, replaced: bool) -> float:
    """Return the delta of all thresholds together, rounded up.

    Parameters
    ----------
    params : mapping
    rows : int
        Most rows of a unit.
    replaced : bool
        True where a unit's rows are replaced: those that go and those that come may be published.

    Raises
    ------
    ReleaseFormatError
        A threshold is none, or states another delta than it has.
    """
    total = 0.0
    for line in finding_lines(params):
        if line["mechanism"] != THRESHOLDED:
            continue
        (threshold, rate) = integers([line["threshold"], line["rate"]])
        if threshold <= rows or rate < 1:
            raise ReleaseFormatError("a threshold of the account would tell what one unit alone has")
        loss = rate / 2**52
        each = max(math.log(rows / n) - loss * (threshold - n) for n in range(1, rows + 1))
        delta = math.exp(each) / (1 + math.exp(-loss)) * (2 if replaced else 1) * (1 + _EPSILON_ROUNDING)
        if not math.isclose(delta, float(line["delta"]), rel_tol=1e-6):
            raise ReleaseFormatError("a line of the account states another delta than its threshold has")
        total += delta
    return total


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


_UNIT = Fraction(1, 1 << 52)
_DIGITS = 50
_ROUNDING_OF_DOUBLES = 1e-12
_ROUNDING = Decimal(10) ** -30
_STEPS = 160
_GOLDEN = (math.sqrt(5) - 1) / 2
_ORDERS = (-20.0, 40.0)
"""Range of ln(alpha - 1) that is searched: `_STEPS` golden sections leave less than 1e-30 of it."""


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon that a loss of rho keeps with a delta; rounded up.

    Parameters
    ----------
    rho : Fraction
        Above 0.
    delta : Fraction
        In (0, 1).
    """
    low, high = _ORDERS
    loss, rest = float(rho), math.log(delta.numerator) - math.log(delta.denominator)

    def rough(log: float) -> float:
        order = math.exp(log)
        return order * loss + loss - math.log1p(1 / order) - (rest + math.log1p(order)) / order

    for _ in range(_STEPS):  # golden section: the bound falls, then rises with alpha
        first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, second) if rough(first) < rough(second) else (first, high)
    with localcontext() as context:
        context.prec = _DIGITS
        order = Decimal((low + high) / 2).exp()
        alpha = order + 1
        at_delta = (Decimal(delta.numerator) / Decimal(delta.denominator)).ln()
        exact = alpha * Decimal(rho.numerator) / Decimal(rho.denominator)
        exact += (order / alpha).ln() - (at_delta + alpha.ln()) / order
        return max(Fraction(0), Fraction(exact + _ROUNDING * (1 + abs(exact))))


@lru_cache(maxsize=256)
def rho_within(epsilon: float, delta: float) -> float:
    """Return the rho at which epsilon and delta are used up."""
    low, high = 0.0, 64.0
    while high - low > high * 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(Fraction(middle), Fraction(delta)) <= epsilon else (low, middle)
    return low


def rho_of(line: Mapping[str, Any]) -> Fraction:
    """Return the rho of one row for a line of Gaussian noise.

    Raises
    ------
    ReleaseFormatError
        It is none that anonkit writes, or states another rho than its rate has.
    """
    rate, times = integers([line["rate"], line["times"]])
    plain = (line["sensitivity"], line["level"], line["ends_path"], line["rate_unit"])
    if line["mechanism"] != GAUSSIAN or rate < 1 or times < 1 or plain != (1, None, False, "2**-52"):
        raise ReleaseFormatError("a line of the account is no Gaussian noise that anonkit draws")
    return _stated(line, rate * times * _UNIT)


def choice_rho_of(line: Mapping[str, Any]) -> Fraction:
    """Return the rho of one row for choices by the exponential mechanism: epsilon**2 / 8 for each of them.

    Losses of all outcomes of a choice lie within epsilon of each other; that bound is for this mechanism alone.

    Raises
    ------
    ReleaseFormatError
        It is none that anonkit writes, or states another rho than its rate has.
    """
    rate, width, times = integers([line["rate"], line["sensitivity"], line["times"]])
    plain = (line["level"], line["ends_path"], line["rate_unit"])
    if line["mechanism"] != EXPONENTIAL or min(rate, width, times) < 1 or plain != (None, False, "2**-52"):
        raise ReleaseFormatError("a line of the account is paid in rho, and is no choice that has one")
    return _stated(line, times * (rate * width * _UNIT) ** 2 / 8)


def _stated(line: Mapping[str, Any], cost: Fraction) -> Fraction:
    """Return a cost, if it is the one that the line states."""
    if not same(float(cost), line["rho"], tolerance=_ROUNDING_OF_DOUBLES):
        raise ReleaseFormatError(
            "a line of the account states another rho than its rate has", "the params file was altered"
        )
    return cost


def gaussian_variance(rate: int) -> float:
    """Return the variance of the law with weights exp(-y**2 * rate / 2**52), by adding up its squares."""
    reach = 2 + math.ceil(40 * math.sqrt(2**51 / rate))
    step = max(1, reach // 20_000)  # a wide law is smooth: every so many points give the same
    weights = [math.exp(-(y * y) * rate / 2**52) for y in range(0, reach, step)]
    squares = math.fsum(weight * (step * at) ** 2 for at, weight in enumerate(weights))
    return squares / (math.fsum(weights) - 0.5)
