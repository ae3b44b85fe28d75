# SPDX-License-Identifier: Apache-2.0
"""The inference attack: an unknown value of a person guessed from the released rows that match the known values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from anonkit.auditing.attacks.attack_evidence import Column, Values, Weighed, evidence_for
from anonkit.auditing.attacks.rates import Rate

MANY = 50
"""Secrets with more values are not guessed."""


def infer(
    columns: Mapping[str, Column],
    names: Sequence[str],
    secret: str,
    original: Mapping[str, Values],
    targets: Sequence[Mapping[str, int]],
    truth: Sequence[int],
) -> Rate:
    """Guess the secret of every target.

    Parameters
    ----------
    columns : mapping of Column
        The release as evidence, the secret in it.
    names : sequence of str
        What the attacker knows: not the secret.
    secret : str
        Name of the secret column.
    original : mapping of Values
        The source, whose values of the secret are guessed.
    targets : sequence of mapping
        Codes of the known values of each target.
    truth : sequence of int
        Code of each target's secret.

    Notes
    -----
    Every released row votes for the values its secret may stand for, by the evidence that the row is the person's. Rows
    whose secret was randomized vote by the inverse of the response: blind answers cancel.
    """
    held = columns.get(secret)
    if not isinstance(held, Weighed):
        return Rate(successes=0.0, attacks=0)
    votes_of = _votes(held, original[secret])
    overall = np.bincount(held.codes[held.codes >= 0], minlength=votes_of.shape[0]) @ votes_of
    won = 0.0
    for values, true in zip(targets, truth, strict=True):
        scores = evidence_for(columns, names, values)
        if scores.size == 0:
            continue
        weights = np.exp(np.asarray(scores, dtype=np.float64) - float(scores.max()))
        weights[held.codes < 0] = 0.0
        votes = np.bincount(np.maximum(held.codes, 0), weights, minlength=votes_of.shape[0]) @ votes_of
        best = np.flatnonzero(votes >= votes.max() - 1e-12 * max(abs(votes.max()), 1))
        guess = best[np.argmax(overall[best])]
        won += float(guess == true)
    return Rate(successes=won, attacks=len(truth))


def _votes(held: Weighed, original: Values) -> NDArray[np.float64]:
    """Return how each label votes on the original values, shape (n_labels, n_values).

    The weights are log p(label | value) - log p(label); without the frequency they are the response, whose inverse
    votes without bias. A label that fits several values votes for each by how common it is.
    """
    labels = held.weights.shape[0] - 1
    counts = np.bincount(held.codes[held.codes >= 0], minlength=labels)[:labels]
    share = np.log((counts + 1e-9) / max(counts.sum(), 1))
    response = np.exp(np.minimum(held.weights[:-1].astype(np.float64) + share[:, np.newaxis], 0.0))
    columns = response.sum(axis=0)
    if labels == response.shape[1] and np.allclose(columns, 1.0, atol=1e-3) and np.linalg.cond(response) < 1e6:
        return np.asarray(np.linalg.inv(response).T)
    common = original.counts / max(original.codes.size, 1)
    fits = np.where(response > 1e-3, response * common, 0.0)
    total = fits.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(fits, total, out=np.zeros_like(fits), where=total > 0))
