# SPDX-License-Identifier: Apache-2.0
"""The attacks on a release: singling out, membership, linkability and inference.

*Singling out*: predicates taken from the release that match exactly one row of the source.

*Membership*: deciding from the best-matching released row whether a person was in the table.

*Linkability*: finding the released row of a person whose true values are known.

*Inference*: unknown values of a person guessed from the released rows that match the known values. A guess at a
measured number is right within the width in which numbers count as one value of the column. That a value is rare hides
what is disclosed of those who hold it, among all the guesses that anybody gets right: so the holders of a value are
attacked apart, beside as many people who do not hold it, and what is guessed is who does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import (
    IMPOSSIBLE,
    AttackColumn,
    Equal,
    FloatArray,
    Transformed,
    Values,
    Weighed,
    evidence_for,
)
from anonkit.auditing.attacks.success_rates import Attack, Rate
from anonkit.domains.coded_columns import IntArray
from anonkit.promises.no_values import TOLERANCE


def membership(members: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> Attack:
    """Return the attack that calls everybody a member who is fitted at least so well.

    Parameters
    ----------
    members, others : array
        Evidence of the best-fitting row for people of the table and for people who are not in it.

    Notes
    -----
    One half of each chooses the threshold, the other half is attacked: the attack rate is the share of members that are
    recognised, the control rate that of others who are taken for members. Under pure ε-differential privacy their
    difference is at most (e^ε - 1) / (e^ε + 1).
    """
    half_m, half_o = members.size // 2, others.size // 2
    thresholds = np.unique(np.concatenate([members[:half_m], others[:half_o], [np.inf]]))
    seen = np.array(
        [(members[:half_m] >= threshold).mean() - (others[:half_o] >= threshold).mean() for threshold in thresholds]
    )
    best = thresholds[int(np.argmax(seen))] if half_m and half_o else np.inf
    return Attack(
        name="membership",
        attack=Rate(successes=float((members[half_m:] >= best).sum()), attacks=members.size - half_m),
        control=Rate(successes=float((others[half_o:] >= best).sum()), attacks=others.size - half_o),
        identity=None,
        renamed=None,
        shuffled=None,
    )


_SAME = 1e-4
"""Evidence that differs by less is the same evidence."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Linkage:
    """Successes of the ranking of all rows by their evidence."""

    first: Rate
    """The row ranked first is the person's; ties are guessed among."""
    first_ten: Rate


def link(
    columns: Mapping[str, AttackColumn],
    names: Sequence[str],
    original: Mapping[str, Values],
    targets: Sequence[int],
    position: NDArray[np.int64] | None,
    people: NDArray[np.int64] | None = None,
) -> Linkage:
    """Rank the released rows for every target.

    Parameters
    ----------
    columns : mapping of Column
        The release as evidence.
    names : sequence of str
        What the attacker knows.
    original : mapping of Values
        The source.
    targets : sequence of int
        Rows of the source.
    position : array, optional
        Released row of every row of the source, -1 for none. Without it a row that fits in every known column is taken
        for the person's, as it is in a release that perturbs nothing.
    people : array, optional
        Person of every row of the source: any row of the target's person is a success.
    """
    first = ten = 0.0
    for target in targets:
        values = {name: int(original[name].codes[target]) for name in names}
        scores = evidence_for(columns, names, values)
        if scores.size == 0:
            continue
        if position is None:
            own = float(scores.max())
            if own < len(names) * IMPOSSIBLE / (len(names) + 1):  # some known cell does not fit any row
                continue
            fits = _complete(columns, names, values)
            if fits:
                mine = min(_alike(original, names, target, people), fits)
                first += mine / fits
                ten += _among(fits, mine, 10)
            continue
        at = position[target : target + 1] if people is None else position[people == people[target]]
        at = at[at >= 0]
        if at.size:
            won = ranked(scores, at)
            first += won[0]
            ten += won[1]
    return Linkage(
        first=Rate(successes=first, attacks=len(targets)), first_ten=Rate(successes=ten, attacks=len(targets))
    )


def ranked(scores: FloatArray, own: NDArray[np.int64] | int) -> tuple[float, float]:
    """Return the chance that an own row is ranked first, and among the first ten, ties being ordered at random.

    Parameters
    ----------
    own : int or array of int
        The person's rows; the best of them count.
    """
    mine = scores[np.atleast_1d(np.asarray(own))]
    best = mine.max()
    better = int((scores > best + _SAME).sum())
    same = int((np.abs(scores - best) <= _SAME).sum())
    tied = int((np.abs(mine - best) <= _SAME).sum())
    return (tied / same if better == 0 else 0.0), _among(same, tied, 10 - better)


def _among(n_rows: int, own: int, sample: int) -> float:
    """Return the chance that one of the own rows is among some drawn of all rows."""
    if sample <= 0:
        return 0.0
    return 1.0 if sample >= n_rows else 1 - comb(n_rows - own, sample) / comb(n_rows, sample)


def _alike(original: Mapping[str, Values], names: Sequence[str], target: int, people: NDArray[np.int64] | None) -> int:
    """Count the rows of the target's person in which all that the attacker knows is as in the target."""
    if people is None:
        return 1
    same = people == people[target]
    for name in names:
        same = same & (original[name].codes == original[name].codes[target])
    return int(same.sum())


def _complete(columns: Mapping[str, AttackColumn], names: Sequence[str], values: Mapping[str, int]) -> int:
    """Count the rows in which every known cell fits."""
    parts = [columns[name].scores(values[name]) > IMPOSSIBLE / 2 for name in names if name in columns]
    return int(np.logical_and.reduce(parts).sum()) if parts else 0


MOST_COLUMNS = 5
"""Columns in a description, at most: a bound on time."""

Predicate = dict[str, NDArray[np.bool_]]
"""For each column of a description, which of the source's values fit."""


def predicates(
    columns: Mapping[str, AttackColumn], original: Mapping[str, Values], n_predicates: int, random: np.random.Generator
) -> list[Predicate]:
    """Draw descriptions: some cells of a released row, read as sets of original values; no two alike.

    Rows with rare cells are drawn more often, since they single out more. Fewer than wanted are returned when there are
    no more.
    """
    names = [name for name, column in columns.items() if not isinstance(column, Transformed)]
    if not names:
        return []
    n_rows = max(_codes(columns[name]).size for name in names)
    if n_rows == 0:
        return []
    rarity = np.sum([_rarity(columns[name]) for name in names], axis=0)
    found: dict[tuple[tuple[str, int], ...], Predicate] = {}
    for row in random.choice(n_rows, size=2 * n_predicates, p=rarity / rarity.sum()).tolist():
        size = int(random.integers(1, min(MOST_COLUMNS, len(names)) + 1))
        chosen = sorted(random.choice(names, size=size, replace=False).tolist())
        key = tuple((name, int(_codes(columns[name])[row])) for name in chosen)
        if key not in found:
            found[key] = {name: _fitting(columns[name], row, len(original[name].values)) for name in chosen}
        if len(found) == n_predicates:
            break
    return list(found.values())


def singled_out(
    descriptions: list[Predicate], rows: Mapping[str, Values], people: NDArray[np.int64] | None = None
) -> Rate:
    """Count the descriptions that fit exactly one of the rows; every row counts, those that are alike too.

    With `people`, the person of each row, shape (n_rows,), they have to fit rows of exactly one person.
    """
    counts = {name: rows[name].counts for predicate in descriptions for name in predicate}
    hits = 0
    for predicate in descriptions:
        # the column that leaves fewest rows first: the others are looked up in these rows alone
        first, *others = [
            name for _, name in sorted((int(counts[name][mask].sum()), name) for name, mask in predicate.items())
        ]
        fits = np.flatnonzero(predicate[first][rows[first].codes])
        for name in others:
            fits = fits[predicate[name][rows[name].codes[fits]]]
        hits += int(fits.size == 1 if people is None else np.unique(people[fits]).size == 1)
    return Rate(successes=float(hits), attacks=len(descriptions))


def _codes(column: AttackColumn) -> NDArray[np.int64]:
    assert isinstance(column, Weighed | Equal)  # noqa: S101 - others are left out above
    return column.codes


def _rarity(column: AttackColumn) -> NDArray[np.float64]:
    codes = _codes(column)
    counts = np.bincount(codes - codes.min(initial=0))
    return np.asarray(1 / counts[codes - codes.min(initial=0)])


def _fitting(column: AttackColumn, row: int, n_values: int) -> NDArray[np.bool_]:
    """Return the values that a cell most probably generalizes."""
    if isinstance(column, Equal):
        return np.asarray(column.label_of == column.codes[row])
    assert isinstance(column, Weighed)  # noqa: S101
    weights = column.weights[column.codes[row]]
    if column.codes[row] < 0:
        return np.ones(n_values, dtype=bool)
    return np.asarray((weights >= weights.max() - 1e-4) & (weights > IMPOSSIBLE / 2))


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
