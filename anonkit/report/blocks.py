# SPDX-License-Identifier: Apache-2.0
"""Types of the report's blocks that a method fills in: columns, privacy budget and further blocks.

A method fills these in as plain dictionaries; `report.json` holds them key by key (`anonkit.report.schemas`). Types are
checked before anything runs: a misspelt key is found by mypy, not by a reader of the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A value that JSON can hold."""

JsonObject: TypeAlias = Mapping[str, Json]
"""An object of JSON."""

Action: TypeAlias = Literal["kept", "dropped", "generalized", "averaged", "numbered", "randomized", "synthesized"]
"""Treatment of a column."""

Loss: TypeAlias = float | str | None
"""A privacy loss: a number, "inf", or None where the promise has none."""


class ColumnFacts(TypedDict, total=False):
    """The facts of a method on one column; a key that does not apply is left out."""

    reason: str
    """Why the column was treated so."""
    detail: Json
    """Level of generalization: "full", "generalized", or a word of the method."""
    values: Sequence[Json]
    """Distinct values it can have in the release; None is missing."""
    released_values: int
    """Number of released values."""
    importance: float
    """Importance of the column for the target, in the method's unit."""
    coding: str
    """Form of numbers beyond declared bounds."""
    mechanism: str
    """Name of the randomizer of its cells."""
    epsilon: Loss
    """Loss of one answer of it."""
    p_keep: float
    """Probability that the true value is reported, in [0, 1]."""
    breach: float
    """Largest probability with which a true answer is believed, in [0, 1]."""
    domain: JsonObject | None
    """Public domain of a randomized column, as `params.json` has it."""
    parameters: JsonObject | None
    """Parameters of its mechanism, as `params.json` has them."""
    declared: bool
    """Of the target: whether its role was declared, or guessed."""
    released_as_is: bool
    """True where the owner releases it unchanged whatever its cells look like."""
    keep: bool
    """True where the owner requires that at least two parts of it are released."""
    domain_from_data: bool
    """True where the domain was read from the table."""
    may_be_person: bool
    """True of an identifier under a promise of noise for one row, where no unit is declared."""
    mean: Mapping[str, float | bool]
    """Of numbers that noisy counts are published of: value, interval, and whether the mean of the rows may be used."""
    taken_for: str
    """Role of a column that nobody declared."""
    rule: str
    """Name of the rule by which it was taken for an identifier."""


class _ColumnRole(TypedDict):
    """The keys of every entry."""

    name: str
    role: str
    action: Action


class ReportColumn(_ColumnRole, ColumnFacts, total=False):
    """One entry of the report's `columns` block."""

    sensitive: bool
    """True when the classes have to be diverse in it."""


def column_entry(name: str, role: str, action: Action, *, is_sensitive: bool) -> ReportColumn:
    """Return the keys that every entry of the report's `columns` block has for a declared column."""
    return {"name": name, "role": role, "sensitive": is_sensitive, "action": action}


class Expense(TypedDict, total=False):
    """Privacy budget of one level or one attribute; `name` or the other keys say which."""

    name: str
    level: int | None
    part: str
    """Part of a level: its splits or its leaves."""
    epsilon: Loss
    delta: float
    rho: float
    """In place of epsilon, where such losses are added up before they are converted."""


class Budget(TypedDict, total=False):
    """The report's `budget` block: what the release spends, and on what."""

    epsilon: Loss
    delta: float | None
    per_level: Sequence[Expense]
    per_attribute: Sequence[Expense]
    domains: Sequence[Expense]
    """Loss of one row by the search for domains and spikes of columns, draw by draw."""


def spent_on(expenses: Sequence[Expense], epsilon: Loss, delta: float | None) -> Budget:
    """Return the report's `budget` block: the loss of the release, and on what it was spent."""
    return {"epsilon": epsilon, "delta": delta, "per_level": [], "per_attribute": list(expenses)}


class Details(TypedDict, total=False):
    """Blocks that a method adds to the report."""

    budget: Budget
    search: JsonObject
    """Search for a k-anonymous recoding."""
    utility: JsonObject
    forest: JsonObject
    """Size of the trees that are published."""
    marginals: JsonObject
    """Tables that are published of columns and of pairs of columns, and the size of the mixture that fits them."""
    published_measures: JsonObject
    """Measures of the method's own paper."""
    weights: JsonObject
    """The column of the weights of a sample, and their sum over the released rows."""
    means: JsonObject
    """By generalized number: its classes, and how many show the middle of the interval for a mean, or nothing."""
    draws: Sequence[JsonObject]
    """Draws of a noise statement, in words."""
    shuffle: JsonObject
    """Effect of the secret shuffle of the rows on a local promise."""
