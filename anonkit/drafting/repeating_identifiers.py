# SPDX-License-Identifier: Apache-2.0
"""Identifiers that repeat: columns that identify a person who has several rows. Never a cell value."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from anonkit.drafting.identifying.header_words import kind_named, names_birth
from anonkit.drafting.identifying.kinds import IdentifierKind
from anonkit.drafting.profiling import ColumnProfile, ValueKind

_OF_A_PERSON = frozenset(
    {
        IdentifierKind.KEY,
        IdentifierKind.EMAIL,
        IdentifierKind.PHONE,
        IdentifierKind.NATIONAL_NUMBER,
        IdentifierKind.PERSON_NAME,
    }
)


@dataclass(frozen=True, kw_only=True)
class RepeatingIdentifier:
    """An identifier whose values occur in several rows: each may be a person."""

    columns: tuple[str, ...]
    """One column; or given name, family name and, where there is one, date of birth, which name a person together."""
    kind: IdentifierKind


def repeating_identifiers(
    profiles: Iterable[ColumnProfile], declared: Collection[str] = ()
) -> list[RepeatingIdentifier]:
    """Return the columns that are identifiers of a person and repeat.

    Parameters
    ----------
    profiles : iterable of ColumnProfile
        Of all columns that may be one, in table order: declared identifiers, and what nobody declared.
    declared : collection of str
        Those that are declared as identifiers. They are of the kind that their cells, else their names, say.

    Returns
    -------
    list of RepeatingIdentifier
        Keys, e-mail addresses, phone numbers, national numbers and full names, in table order; then given name and
        family name, with a date of birth where there is one, in columns of their own. Addresses of a household, free
        text and other identifiers are none.
    """
    seen = list(profiles)
    kinds = {profile.name: _kind(profile, profile.name in declared) for profile in seen}
    found = [
        RepeatingIdentifier(columns=(profile.name,), kind=kind)
        for profile in seen
        if (kind := kinds[profile.name]) in _OF_A_PERSON and profile.repeats
    ]
    given, family = (
        next((name for name, kind in kinds.items() if kind is part), None)
        for part in (IdentifierKind.GIVEN_NAME, IdentifierKind.FAMILY_NAME)
    )
    born = next((profile.name for profile in seen if _is_birth_date(profile)), None)
    if given is not None and family is not None:
        columns = (given, family) if born is None else (given, family, born)
        found.append(RepeatingIdentifier(columns=columns, kind=IdentifierKind.PERSON_NAME))
    return found


def _kind(profile: ColumnProfile, is_declared: bool) -> IdentifierKind | None:
    if profile.verdict is not None:
        return profile.verdict.kind
    return kind_named(profile.name) if is_declared else None


def _is_birth_date(profile: ColumnProfile) -> bool:
    return names_birth(profile.name) and (profile.kind is ValueKind.TIME or profile.written is not None)
