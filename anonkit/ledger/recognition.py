# SPDX-License-Identifier: Apache-2.0
"""Recognition of the dataset a table belongs to: by the owner's name for it first, else by its fingerprint.

Privacy
-------
That a table is known again is a fact about its rows which no epsilon covers: it goes to the owner and is in no
file of a release.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from anonkit.errors import DatasetError, option
from anonkit.ledger.fingerprint import Fingerprint, Likeness, closest, fingerprint
from anonkit.ledger.legacy_fingerprints import LegacyFingerprint, legacy_fingerprint
from anonkit.ledger.people_marks import PeopleMarks, people_marks
from anonkit.protocols import Engine, Source

Marks = Fingerprint | LegacyFingerprint
"""The stored marks of a table."""
Known = Marks | PeopleMarks
"""The marks by which a ledger knows a dataset: its tables, and their people."""

_HALF = 0.5
"""Share of common rows from which marks of version 1 look alike."""


def marks_from(rows: int, raw: bytes, form: int) -> Marks:
    """Read the marks of a table back."""
    return (
        LegacyFingerprint.from_bytes(rows, raw) if form == LegacyFingerprint.form else Fingerprint.from_bytes(rows, raw)
    )


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """A table under the key of a ledger."""

    found: Fingerprint
    first: LegacyFingerprint | None = None
    """As a ledger of version 1 would have marked it; None when nothing is known by such marks."""
    people: tuple[PeopleMarks, ...] = ()
    """Its people, by each column that names them."""

    @classmethod
    def of(
        cls,
        table: Source,
        engine: Engine,
        key: bytes,
        known: Sequence[tuple[str, Known]],
        people: Source | None = None,
        keys: Sequence[str] = (),
    ) -> Sighting:
        """Look at a table, and in the old way too where something is known by it.

        Parameters
        ----------
        people : Source, optional
            The same table with all columns that name people.
        keys : sequence of str
            These columns.
        """
        old = any(isinstance(marks, LegacyFingerprint) for _, marks in known)
        traits = [name for name in table.schema.names if name not in keys]
        found = [] if people is None else [people_marks(people, engine, key, column, traits) for column in keys]
        return cls(
            found=fingerprint(table, engine, key),
            first=legacy_fingerprint(table, key) if old else None,
            people=tuple(marks for marks in found if marks is not None),
        )

    def likeness(self, marks: Known) -> Likeness:
        """Return the resemblance of the table to one that a ledger knows."""
        if isinstance(marks, PeopleMarks):
            return Likeness.PEOPLE if any(one.is_like(marks) for one in self.people) else Likeness.NONE
        if isinstance(marks, Fingerprint):
            return self.found.likeness(marks)
        if self.first is None:
            return Likeness.NONE
        if self.first.is_same_as(marks):
            return Likeness.SAME
        return Likeness.ROWS if self.first.overlap(marks) >= _HALF else Likeness.NONE


@dataclass(frozen=True, kw_only=True)
class Recognition:
    """The dataset of a release, and the facts about its rows that only the owner gets."""

    dataset: str
    notes: tuple[str, ...] = field(default=())


def recognised(
    sighting: Sighting, known: Sequence[tuple[str, Known]], taken: Sequence[str], *, named: str | None, fallback: str
) -> Recognition:
    """Return the dataset of a table.

    Parameters
    ----------
    sighting : Sighting
    known : sequence of (str, marks)
        The tables of every dataset.
    taken : sequence of str
        All names.
    named : str, optional
        What the owner calls the dataset; it wins. Names that Unicode takes for the same (NFC) are one, as are blanks
        at their ends.
    fallback : str
        What a dataset is called that nobody named and nothing is known of.

    Raises
    ------
    DatasetError
        Nobody named it, and it looks like a dataset that is known without being the same, or is the same as several; or
        its name differs from one in the ledger by case, blanks, or letters that look alike in print only.
    """
    if named is not None:
        named = _known_name(named, taken)
    likenesses = {
        name: closest([sighting.likeness(marks) for dataset, marks in known if dataset == name])
        for name in dict.fromkeys(dataset for dataset, _ in known)
    }
    alike = {name: likeness for name, likeness in likenesses.items() if likeness is not Likeness.NONE}
    if named is not None:
        others = {name: likeness for name, likeness in alike.items() if name != named}
        return Recognition(dataset=named, notes=tuple(_also(name, likeness) for name, likeness in others.items()))
    same = [name for name, likeness in alike.items() if likeness.is_same]
    if len(same) == 1:
        return Recognition(dataset=same[0])
    if same:
        raise DatasetError(
            f"the table is in the ledger as the datasets {_listed(same)}: which one's budget is spent?",
            f"{option('dataset', 'NAME')}, or dataset = {same[0]!r} in the policy",
        )
    if alike:
        name = min(alike, key=lambda candidate: list(Likeness).index(alike[candidate]))
        raise DatasetError(
            f"the table looks like dataset {name!r} of the ledger ({alike[name].value}) and is not the same: without a "
            "name its release would be counted apart",
            f"{option('dataset', name)} when it holds the same people, {option('dataset')} with a new "
            "name when it does not",
        )
    names = (fallback, *(f"{fallback}-{number}" for number in range(2, len(taken) + 3)))
    return Recognition(dataset=next(candidate for candidate in names if candidate not in taken))


def _known_name(named: str, taken: Sequence[str]) -> str:
    """Return the name in the ledger that a name is, else the name in its one form.

    Raises
    ------
    DatasetError
        A name in the ledger reads the same and is spelled otherwise: the same people would have two budgets.
    """
    same = [name for name in taken if _one_form(name) == _one_form(named)]
    if same:
        return named if named in same else same[0]
    alike = [name for name in taken if _read_aloud(name) == _read_aloud(named)]
    if alike:
        raise DatasetError(
            f"dataset {named!r} is spelled {alike[0]!r} in the ledger: spelled otherwise the same people would have "
            "a second budget",
            f"{option('dataset', alike[0])}, or a name that nobody takes for it",
        )
    return _one_form(named)


def _one_form(name: str) -> str:
    """Return a name in composed characters: keyboards and file systems differ in how they write the same letter."""
    return unicodedata.normalize("NFC", name).strip() or name


def _read_aloud(name: str) -> str:
    """Return a name without case, without blanks at its ends or twice, without characters that cannot be seen."""
    seen = "".join(letter for letter in unicodedata.normalize("NFKC", name) if unicodedata.category(letter) != "Cf")
    return unicodedata.normalize("NFKC", " ".join(seen.casefold().split()))


def _also(name: str, likeness: Likeness) -> str:
    apart = "the losses of both add up, and neither budget sees the other."
    if likeness.is_same:
        return f"The same rows are in the ledger as dataset {name!r} too: {apart}"
    return (
        f"The table looks like dataset {name!r} of the ledger too ({likeness.value}): where people are in both, {apart}"
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
