# SPDX-License-Identifier: Apache-2.0
"""The target of a table for which nobody declared one: taken only where it is evidently a harmless class label.

A target is released unchanged. So the last column without a declared role is taken for it when it has few classes,
each of many rows, and neither its name nor its values say that it identifies, describes or shames people: words of
names and published lists decide (`identifying.topic_words`). Else there is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from anonkit.domains.coded_columns import CodedColumn
from anonkit.drafting.identifying.street_addresses import HeaderKind, header_kind, is_postal
from anonkit.drafting.identifying.topic_words import describes_person, is_place, is_time, looks_like_secret
from anonkit.drafting.profiling import WRITTEN_TIMES, looked_at
from anonkit.errors import ChoiceError, SourceError, option
from anonkit.policy.declaration import Policy
from anonkit.protocols import COUNT, Engine, Source

# Conventions: a harmless class label has few classes, none of them rare.
MOST_CLASSES = 20
"""Classes of a label that is taken for the target."""
FEWEST_ROWS = 10
"""Rows, or people where a unit is declared, that hold each of them at least, whatever k is."""
FEWEST_SHARE = 0.01
"""Share of all rows, or people, that hold each of them at least."""

_SPELLED = 1_000  # distinct values whose spelling is looked at
_MOSTLY = 0.75
_WORDS = 5
_LETTERS = 60
_YEARS = range(1900, 2101)
_CODE = re.compile(r"[0-9]{4,}|[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}")  # postcodes: digits alone, or British ones


@dataclass(frozen=True, kw_only=True)
class TargetGuess:
    """The finding on the last column without a declared role."""

    column: str | None
    """Its name; None where every column has a role."""
    against: str | None
    """Why it is not taken for the target, in words that follow its name; None where it is."""
    is_secret: bool = False
    """True when it is named or filled like what people keep secret."""

    @property
    def target(self) -> str | None:
        """The column that is taken for the target, if one is."""
        return self.column if self.against is None else None

    def notes(self) -> list[str]:
        """Return a note on the guess, or on why there is none; no value."""
        if self.column is None:
            return []
        named = option("target", self.column)
        if self.target is not None:
            return [
                f"Target {self.column!r}: guessed, released unchanged. Say {named} if it is one, "
                f"{option('no_target', True)} if nothing is to be predicted."
            ]
        if self.is_secret:
            return [
                f"No target was guessed: the last column, {self.column!r}, looks like a secret: "
                f"{option('sensitive', [self.column])} or {named}."
            ]
        named = option("target", "NAME")
        return [f"No target was guessed: the last column, {self.column!r}, {self.against}. {named} names one."]

    def question(self, method: str) -> ChoiceError:
        """Return the refusal of a method that needs a target where none is declared or evident."""
        if self.column is None:
            return ChoiceError(f"method {method!r} needs a target, and none is declared", option("target", "NAME"))
        named = option("target", self.column)
        secret = f"{option('sensitive', [self.column])} or {named}"
        return ChoiceError(
            f"method {method!r} needs a target, none is declared, and the last column, {self.column!r}, "
            + ("looks like a secret" if self.is_secret else str(self.against)),
            secret if self.is_secret else f"{named} if it is the class label, else {option('target', 'NAME')}",
        )


def guess_target(table: Source, policy: Policy, identifiers: Collection[str], engine: Engine) -> TargetGuess:
    """Return the guess on the last column of a table without a declared role.

    Parameters
    ----------
    table : Source
    policy : Policy
        What is declared, by whoever declares it.
    identifiers : collection of str
        Columns that are taken for identifiers.

    Privacy
    -------
    The guess depends on cells: it is for promises that let a role depend on the table, not for differential privacy.
    """
    free = [name for name in table.schema.names if not policy.column(name).role_given]
    if not free:
        return TargetGuess(column=None, against="there is none")
    name = free[-1]
    if name in identifiers:
        return TargetGuess(column=name, against="looks like an identifier")
    kind = table.schema.field(name).type
    if pa.types.is_temporal(kind) and not looks_like_secret(name):
        return TargetGuess(column=name, against="holds dates or times")
    try:
        (column,) = engine.encode(looked_at(table, engine), [name])
    except SourceError:  # numbers that Python's do not reach
        return TargetGuess(column=name, against="holds numbers")
    texts = _spelled(column)
    if looks_like_secret(name, texts):
        return TargetGuess(column=name, against="looks like a secret", is_secret=True)
    against = _against(name, column, texts) or _too_rare(table, name, policy, engine)
    return TargetGuess(column=name, against=against)


def _spelled(column: CodedColumn) -> list[str]:
    """Return the spelling of the values, of evenly spaced ones where there are many."""
    values = column.values[: column.size - (column.missing is not None)]
    places = np.unique(np.linspace(0, max(len(values) - 1, 0), min(len(values), _SPELLED)).astype(np.int64))
    return [_text(values[at]) for at in places]


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value == value // 1 else str(value).strip()


def _against(name: str, column: CodedColumn, texts: Sequence[str]) -> str | None:
    """Return the objection to a column as a class label by its name and values."""
    n_values = column.size - (column.missing is not None)
    if header_kind(name) is not HeaderKind.OTHER:
        return "is named like an identifier"
    if _are_times(texts) or (is_time(name) and n_values != 2):
        return "holds dates or times"
    if is_place(name, texts) or is_postal(name) or _are_codes(texts):
        return "is about places"
    if describes_person(name, texts):
        return "describes people"
    if n_values > MOST_CLASSES:
        return f"has more than {MOST_CLASSES} different values"
    if n_values < 2:
        return "has fewer than two different values"
    if any(len(text) > _LETTERS or len(text.split()) > _WORDS for text in texts):
        return "holds texts that are no classes"
    return None


def _are_times(texts: Sequence[str]) -> bool:
    """Return True if most values are written as dates, moments or times, or all are years."""
    if not texts:
        return False
    written = sum(any(re.search(pattern, text) for pattern in _TIMES) for text in texts)
    years = [text for text in texts if re.fullmatch(r"[0-9]{4}", text) and int(text) in _YEARS]
    return written >= _MOSTLY * len(texts) or len(years) == len(texts)


_TIMES = (*WRITTEN_TIMES.values(), r"^[0-9]{4}[-/][0-9]{1,2}([-/][0-9]{1,2})?$")


def _are_codes(texts: Sequence[str]) -> bool:
    """Return True if all values have the form of postcodes: as many digits, four at least."""
    return bool(texts) and len({len(text) for text in texts}) == 1 and all(map(_CODE.fullmatch, texts))


def _too_rare(table: Source, name: str, policy: Policy, engine: Engine) -> str | None:
    """Return the objection to a column with classes: one of few rows, or of few people where a unit is declared."""
    unit = policy.unit if policy.unit in table.schema.names else None
    if unit is None:
        (counted,) = engine.count_sets(table, [(name,)])
        everybody = table.n_rows
    else:
        counted = engine.count_people(table, [name], unit)
        everybody = engine.class_sizes(table, [unit], 1).classes
    sizes = [size for value, size in zip(*(counted.column(of).to_pylist() for of in (name, COUNT)), strict=True)
             if value is not None]  # fmt: skip
    who = "rows" if unit is None else "people"
    if len(sizes) > MOST_CLASSES:
        return f"has more than {MOST_CLASSES} different values"
    if min(sizes, default=0) < max(FEWEST_ROWS, FEWEST_SHARE * everybody):
        return f"has a value that fewer than {FEWEST_ROWS} {who}, or 1 % of them, hold"
    return None
