# SPDX-License-Identifier: Apache-2.0
"""The rows of one person: how many of them are used, and how many an attacker is taken to know."""

from __future__ import annotations

from dataclasses import dataclass

SURROGATE = "surrogate"
"""Name of the column of surrogates in a release."""


@dataclass(frozen=True, kw_only=True)
class PersonRows:
    """The contribution bound of people who have several rows, since several tables were joined.

    Privacy
    -------
    With `whole_set` an attacker may know all rows of a person; without it, one of them.
    """

    whole_set: bool = True
    """k holds for the whole set of a person's rows; else for each single row. For k-anonymity alone."""
    surrogate: bool = False
    """True: rows of one person show one random number of the release. With `whole_set` alone."""
    most: int | None = None
    """Most rows of a person that are used, drawn at random among more; None: all."""
