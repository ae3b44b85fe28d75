# SPDX-License-Identifier: Apache-2.0
"""The inference attack: unknown values of a person guessed from the released rows that match the known values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import IMPOSSIBLE, AttackColumn, Equal, Values, Weighed, evidence_for
from anonkit.auditing.attacks.guessed_secrets import Secret
from anonkit.domains.array_types import IntArray

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
        for name, told in found.items():
            ballot, scores = ballots[name], whole
            assert ballot is not None  # noqa: S101 - those are left out above
            if name in known and name in columns:
                scores = evidence_for(columns, [other for other in known if other != name], person)
            if scores.size == 0:
                scores = np.zeros(ballot.codes.size, dtype=np.float32)
            weights = np.exp(np.asarray(scores, dtype=np.float64) - float(scores.max(initial=0.0)))
            told.append(ballot.cast(weights))
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
    def of(cls, held: AttackColumn | None, secret: Secret) -> Ballot | None:
        """Read a released column; None where its cells are no labels."""
        original, n_values = secret.values, len(secret.values.values)
        if isinstance(held, Weighed | Equal) and (nearest := secret.nearest(held.shown)) is not None:
            labels = np.flatnonzero(nearest >= 0)
            return cls(
                codes=held.codes, labels=labels, values=nearest[labels], shares=np.ones(labels.size),
                n_labels=nearest.size, n_values=n_values,
            )  # fmt: skip
        if isinstance(held, Equal):
            values = np.flatnonzero(held.label_of >= 0)
            labels, shares = held.label_of[values], np.ones(values.size)
            return cls(
                codes=held.codes,
                labels=labels,
                values=values,
                shares=shares,
                n_labels=held.gain.size,
                n_values=n_values,
            )
        if not isinstance(held, Weighed):
            return None
        n_labels = held.weights.shape[0] - 1
        labels, values, shares = _pairs(held, original)
        return cls(codes=held.codes, labels=labels, values=values, shares=shares, n_labels=n_labels, n_values=n_values)

    def cast(self, weights: Votes) -> Votes:
        """Return the votes for each value, of rows with these weights."""
        speak = self.codes >= 0
        of_labels = np.bincount(self.codes[speak], weights[speak], minlength=self.n_labels)
        votes = np.bincount(self.values, of_labels[self.labels] * self.shares, minlength=self.n_values)
        return votes.astype(np.float64)

    def overall(self) -> Votes:
        """Return the votes of all rows alike: what is guessed of anybody."""
        return self.cast(np.ones(self.codes.size))


def _pairs(held: Weighed, original: Values) -> tuple[IntArray, IntArray, Votes]:
    """Return the votes of labels for original values, with their weights.

    The weights are log p(label | value) - log p(label); without the frequency they are the response, whose inverse
    votes without bias. A label that fits several values votes for each by how common it is.
    """
    weights = held.weights[:-1]
    common = original.counts / max(original.codes.size, 1)
    if weights.size > _DENSE:  # of recoded cells, which fit or do not
        labels, values = np.nonzero(weights > IMPOSSIBLE / 2)
        fits = common[values]
    else:
        n_labels = weights.shape[0]
        counts = np.bincount(held.codes[held.codes >= 0], minlength=n_labels)[:n_labels]
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
