# SPDX-License-Identifier: Apache-2.0
"""The inference attack: unknown values of a person guessed from the released rows that match the known values.

Secrets that are guessed: which guesses are right, and which holders of which values are counted by themselves.

A guess at a measured number is right within the width in which numbers count as one value of the column. That a value
is rare hides what is disclosed of those who hold it, among all the guesses that anybody gets right: so the holders of a
value are attacked apart, beside as many people who do not hold it, and what is guessed is who does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import IMPOSSIBLE, AttackColumn, Equal, Values, Weighed, evidence_for
from anonkit.auditing.attacks.success_rates import Rate
from anonkit.domains.coded_columns import IntArray
from anonkit.promises.no_values import TOLERANCE

FEW = 50
"""Numbers of a column of no known width are exact where there are no more different ones: a convention."""
_RAREST = 20
"""Values whose holders are attacked apart, at most, the rarest: a bound on time."""
_BANDS = 10
"""Bands of a measured column whose holders are: a convention."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class ObservedValue:
    """A value of a secret, or a band of its numbers, whose holders are attacked apart."""

    value: Any
    """As JSON has it; of a band its least and greatest number."""
    codes: Bools
    """By value of the column: it is this one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Secret:
    """A column that is guessed."""

    name: str
    values: Values
    numbers: NDArray[np.float64] | None
    """Number of each value, NaN for missing; None where values are compared as they are."""
    width: float
    """Numbers as near as this are one value."""

    @classmethod
    def of(cls, name: str, values: Values, width: float | None) -> Secret:
        """Read a column of the source.

        Parameters
        ----------
        name : str
        values : Values
        width : float, optional
            What the release states of it; else that of any measured column, where it has many different numbers.
        """
        numbers = _numbers(values.values)
        if numbers is None or width == 0:
            return cls(name=name, values=values, numbers=None, width=0.0)
        if width is None:
            present = numbers[values.codes]
            present = present[~np.isnan(present)]
            low, high = np.quantile(present, (0.05, 0.95)) if np.unique(present).size > FEW else (0.0, 0.0)
            width = float(f"{TOLERANCE * (high - low):.1e}")
        return cls(name=name, values=values, numbers=numbers if width else None, width=width)

    def guess(self, votes: NDArray[np.float64], overall: NDArray[np.float64]) -> int:
        """Return the value that most speaks for, with those that count as one with it.

        Among several it is the one for which most speaks itself, then the one that is commonest in the release.
        """
        near, commonest = self._near(votes), self._near(overall)
        best = _largest(near)
        if self.numbers is not None:
            best = best[_largest(votes[best])]
        return int(best[np.argmax(commonest[best])])

    def is_right(self, guess: int, truth: int) -> bool:
        """Return True if a guess is right."""
        if guess == truth or self.numbers is None:
            return guess == truth
        return bool(abs(self.numbers[guess] - self.numbers[truth]) <= self.width)

    def nearest(self, shown: Sequence[Any]) -> NDArray[np.int64] | None:
        """Return the value of a measured column that is nearest to each released number, -1 where none is in reach.

        None where the column is not measured, or released cells are no numbers.
        """
        numbers = _numbers(shown) if shown and self.numbers is not None else None
        if numbers is None or self.numbers is None:
            return None
        there = np.flatnonzero(~np.isnan(self.numbers))
        order = there[np.argsort(self.numbers[there], kind="stable")]
        ascending = self.numbers[order]
        above = np.clip(np.searchsorted(ascending, numbers), 1, ascending.size - 1)
        at = np.where(numbers - ascending[above - 1] <= ascending[above] - numbers, above - 1, above)
        missing = next((code for code, value in enumerate(self.values.values) if value is None), -1)
        found = np.where(np.abs(ascending[at] - numbers) <= self.width, order[at], -1)
        return np.where(np.isnan(numbers), missing, found)

    def _near(self, votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the votes for every value and for all numbers that count as one with it."""
        if self.numbers is None:
            return votes
        there = np.flatnonzero(~np.isnan(self.numbers))
        order = there[np.argsort(self.numbers[there], kind="stable")]
        ascending, sums = self.numbers[order], np.concatenate([[0.0], np.cumsum(votes[order])])
        first = np.searchsorted(ascending, ascending - self.width, side="left")
        last = np.searchsorted(ascending, ascending + self.width, side="right")
        near = votes.copy()
        near[order] = sums[last] - sums[first]
        return near

    def attacked_values(self) -> list[ObservedValue]:
        """Return the values, or bands, whose holders are attacked apart, the rarest first; missing is none."""
        counts = self.values.counts
        if self.numbers is None:
            there = [code for code, value in enumerate(self.values.values) if value is not None and counts[code]]
            rarest = sorted(there, key=lambda code: int(counts[code]))[:_RAREST]
            places = np.arange(len(self.values.values))
            return [ObservedValue(value=_json(self.values.values[code]), codes=places == code) for code in rarest]
        present = self.numbers[self.values.codes]
        present = present[~np.isnan(present)]
        edges = (
            np.unique(np.quantile(present, np.linspace(0, 1, _BANDS + 1), method="lower")) if present.size else present
        )
        bands = [(self.numbers >= low) & (self.numbers < high) for low, high in pairwise(edges)]
        if bands:
            bands[-1] |= self.numbers == edges[-1]
        shown = [self.numbers[band] for band in bands]
        return [
            ObservedValue(value=[float(numbers.min()), float(numbers.max())], codes=band)
            for band, numbers in zip(bands, shown, strict=True)
            if numbers.size
        ]


def right_about(
    value: ObservedValue, votes: Sequence[NDArray[np.float64]], overall: NDArray[np.float64], truth: Sequence[bool]
) -> Rate:
    """Return the rate of right decisions on who holds a value: yes where the evidence exceeds everybody else's."""
    usual = _share(overall, value.codes) * (1 + 1e-9)
    right = sum((_share(own, value.codes) > usual) == true for own, true in zip(votes, truth, strict=True))
    return Rate(successes=float(right), attacks=len(truth))


def _largest(votes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the places of the largest votes, but for rounding."""
    return np.flatnonzero(votes >= votes.max() - 1e-12 * max(abs(float(votes.max())), 1.0))


def _share(votes: NDArray[np.float64], codes: Bools) -> float:
    clear = np.maximum(votes, 0.0)  # the inverse of a response may speak against a value
    total = float(clear.sum())
    return float(clear[codes].sum()) / total if total > 0 else 0.0


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return the numbers that values are, NaN for missing; None where one is none."""
    if not all(
        value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool)) for value in values
    ):
        return None
    return np.array([np.nan if value is None else float(value) for value in values])


def _json(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else str(value)


Votes = NDArray[np.float64]
"""By value of a secret: how much the released rows speak for it."""
_DENSE = 1_000_000
"""Entries of a table of labels by values that are stored as a table."""


def votes_for(
    columns: Mapping[str, AttackColumn],
    known: Sequence[str],
    secrets: Sequence[Secret],
    people: Sequence[Mapping[str, int]],
) -> dict[str, list[Votes]]:
    """Let the released rows vote for the secrets of people; the evidence for each person is added up once.

    Parameters
    ----------
    columns : mapping of Column
        The release as evidence, secrets in it.
    known : sequence of str
        What the attacker knows of a person; the secret that is guessed is left out of it.
    secrets : sequence of Secret
    people : sequence of mapping
        Codes of the values of each person.

    Returns
    -------
    dict
        By secret, the votes for each person; secrets that the release shows in no way that is guessed from are not in
        it.

    Notes
    -----
    Every released row votes for the values of which its secret may be a generalization, by the evidence that the row is
    the person's. Rows whose secret was randomized vote by the inverse of the response: blind answers cancel.
    """
    ballots = {secret.name: Ballot.of(columns.get(secret.name), secret) for secret in secrets}
    found: dict[str, list[Votes]] = {name: [] for name, ballot in ballots.items() if ballot is not None}
    for person in people:
        whole = evidence_for(columns, known, person)
        for name, votes in found.items():
            ballot, scores = ballots[name], whole
            assert ballot is not None  # noqa: S101 - those are left out above
            if name in known and name in columns:
                scores = evidence_for(columns, [other for other in known if other != name], person)
            if scores.size == 0:
                scores = np.zeros(ballot.codes.size, dtype=np.float32)
            weights = np.exp(np.asarray(scores, dtype=np.float64) - float(scores.max(initial=0.0)))
            votes.append(ballot.cast(weights))
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Ballot:
    """Votes of released cells of a secret for its original values: pairs of a label and a value, each with a share."""

    codes: IntArray
    """Label of each released row; -1 for a cell without information."""
    labels: IntArray
    values: IntArray
    shares: Votes
    n_labels: int
    n_values: int

    @classmethod
    def of(cls, column: AttackColumn | None, secret: Secret) -> Ballot | None:
        """Read a released column; None where its cells are no labels."""
        original, n_values = secret.values, len(secret.values.values)
        if isinstance(column, Weighed | Equal) and (nearest := secret.nearest(column.shown)) is not None:
            labels = np.flatnonzero(nearest >= 0)
            return cls(
                codes=column.codes, labels=labels, values=nearest[labels], shares=np.ones(labels.size),
                n_labels=nearest.size, n_values=n_values,
            )  # fmt: skip
        if isinstance(column, Equal):
            values = np.flatnonzero(column.label_of >= 0)
            labels, shares = column.label_of[values], np.ones(values.size)
            return cls(
                codes=column.codes,
                labels=labels,
                values=values,
                shares=shares,
                n_labels=column.gain.size,
                n_values=n_values,
            )
        if not isinstance(column, Weighed):
            return None
        n_labels = column.weights.shape[0] - 1
        labels, values, shares = _pairs(column, original)
        return cls(
            codes=column.codes, labels=labels, values=values, shares=shares, n_labels=n_labels, n_values=n_values
        )

    def cast(self, weights: Votes) -> Votes:
        """Return the votes for each value, of rows with these weights."""
        speak = self.codes >= 0
        of_labels = np.bincount(self.codes[speak], weights[speak], minlength=self.n_labels)
        votes = np.bincount(self.values, of_labels[self.labels] * self.shares, minlength=self.n_values)
        return votes.astype(np.float64)

    def overall(self) -> Votes:
        """Return the votes of all rows alike: what is guessed of anybody."""
        return self.cast(np.ones(self.codes.size))


def _pairs(column: Weighed, original: Values) -> tuple[IntArray, IntArray, Votes]:
    """Return the votes of labels for original values, with their weights.

    The weights are log p(label | value) - log p(label); without the frequency they are the response, whose inverse
    votes without bias. A label that fits several values votes for each by how common it is.
    """
    weights = column.weights[:-1]
    common = original.counts / max(original.codes.size, 1)
    if weights.size > _DENSE:  # of recoded cells, which fit or do not
        labels, values = np.nonzero(weights > IMPOSSIBLE / 2)
        fits = common[values]
    else:
        n_labels = weights.shape[0]
        counts = np.bincount(column.codes[column.codes >= 0], minlength=n_labels)[:n_labels]
        share = np.log((counts + 1e-9) / max(counts.sum(), 1))
        response = np.exp(np.minimum(weights.astype(np.float64) + share[:, np.newaxis], 0.0))
        columns = response.sum(axis=0)
        if n_labels == response.shape[1] and np.allclose(columns, 1.0, atol=1e-3) and np.linalg.cond(response) < 1e6:
            inverse = np.linalg.inv(response).T
            labels, values = np.nonzero(inverse)
            return labels, values, inverse[labels, values]
        votes = np.where(response > 1e-3, response * common, 0.0)
        labels, values = np.nonzero(votes)
        fits = votes[labels, values]
    total = np.bincount(labels, fits, minlength=weights.shape[0])
    return labels, values, fits / total[labels]
