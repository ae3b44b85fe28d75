# SPDX-License-Identifier: Apache-2.0
"""Candidates for the person of a row where no unit is declared: columns that may identify people with several rows.

A candidate is an identifier that repeats, declared or found (`repeating_identifiers`), or a key by structure: a column
of many values, each in several rows, that determines several other columns far beyond chance and is nearly determined
by them, among them one about the person: age, birth, sex, origin, marital state.

Identifiers that repeat: columns that identify a person who has several rows. Never a cell value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from anonkit.domains.coded_columns import CodedColumn, combine
from anonkit.drafting.identifying.street_addresses import (
    IdentifierKind,
    is_measure,
    is_postal,
    kind_named,
    names_birth,
    vocabulary,
    words_of,
)
from anonkit.drafting.identifying.topic_words import is_demographic, is_place
from anonkit.drafting.identifying.verdicts import IdentifierVerdict
from anonkit.drafting.profiling import ColumnProfile, Undeclared, ValueKind, looked_at, profiles_of
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy
from anonkit.policy.person_candidates import Candidate, key_names
from anonkit.protocols import Engine, Source

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


ALIKE = 0.99
"""Candidates that part so large a share of the rows in the same way are one."""
MANY_VALUES = 20
"""Values of a key by structure, at least."""
ROWS_A_VALUE = 2.0
"""Rows of each of its values on average, at least."""
DETERMINED = 0.9
"""Share of the pairs of rows of one value of the key that agree in a column which the key determines, at least."""
BEYOND_CHANCE = 0.8
"""The same, of the pairs that would not agree by chance."""
SEVERAL = 2
"""Columns that a key by structure determines, at least."""
NEARLY = 0.5
"""Share of the rows whose value of the key is the commonest one where those columns say the same, at least."""
FEW_TWINS, MANY_TWINS = 0.01, 0.1
"""Shares of rows with a twin in all quasi-identifiers: by chance, and where rows come in runs of one person."""
KEY_BY_STRUCTURE = IdentifierVerdict(
    rule="key_by_structure",
    reason="each of its values has several rows, which agree on the person and differ from all others",
    kind=IdentifierKind.KEY,
)

_ORIGINS = vocabulary("origin origine origen origem origini herkunft herkomst afkomst pochodzenie oprindelse")
_ROWS = 5_000  # rows whose pairs are compared, in whole groups of one value
_IN_ORDER = 0.999  # rank correlation of two columns, one of which is made of the other
_Codes = NDArray[np.int64]


def with_keys_by_structure(source: Source, undeclared: Undeclared, engine: Engine) -> Undeclared:
    """Take keys by structure for identifiers, among the columns that nobody declared.

    Privacy
    -------
    What is found depends on cells: it is for promises that are checked on the output, not for differential privacy.
    """
    free = {profile.name: profile for profile in undeclared.profiles.values() if profile.verdict is None}
    possible = [name for name, profile in free.items() if _may_be_key(profile)]
    if not possible:
        return undeclared
    rows = looked_at(source, engine)
    columns = {name: column for name in free for column in engine.encode(rows, [name])}
    about = frozenset(name for name, column in columns.items() if _is_about_person(column))
    dates = frozenset(name for name in about if names_birth(name) and _is_date(free[name]))
    keys = [
        name
        for name in possible
        if name not in about
        and not is_place(name, _texts(columns[name]))
        and _is_key(columns[name], [columns[other] for other in free if other != name], about, dates)
    ]
    taken = {name: replace(free[name], verdict=KEY_BY_STRUCTURE) for name in keys}
    return replace(
        undeclared,
        taken={**undeclared.taken, **taken},
        profiles={**undeclared.profiles, **taken},
        nearly_unique=tuple(name for name in undeclared.nearly_unique if name not in taken),
    )


def candidates_for_person(
    source: Source, policy: Policy, undeclared: Undeclared, engine: Engine, earlier: Sequence[tuple[str, ...]] = ()
) -> tuple[Candidate, ...]:
    """Return the candidates for the person of a row; those that part the rows alike are one.

    Parameters
    ----------
    policy : Policy
        With the role of every column.
    earlier : sequence of tuple of str
        Candidates of an earlier release: they count whatever this table looks like.
    """
    coordinates = {name for column in policy.columns.values() if column.place for name in column.place.columns}
    hidden = policy.names(Role.IDENTIFIER)
    declared = [name for name in hidden if name not in undeclared.taken and name not in coordinates]
    found = {profile.name: profile for profile in profiles_of(source, declared, engine)}
    profiles: Mapping[str, ColumnProfile] = {**undeclared.profiles, **undeclared.taken, **found}
    repeating = repeating_identifiers([profiles[name] for name in policy.columns if name in profiles], declared)
    new = [each.columns for each in repeating if each.columns not in earlier]
    candidates = [*earlier, *_parting_otherwise(new, earlier, source, engine)]
    keys = key_names(candidates, tuple(policy.columns))
    return tuple(Candidate(columns=columns, key=key) for columns, key in zip(candidates, keys, strict=True))


def come_in_runs(source: Source, policy: Policy, engine: Engine) -> bool:
    """Return True if rows look like runs of one person's, though no column identifies the person.

    Were the quasi-identifiers independent, under `FEW_TWINS` of the rows would have a twin in all of them, and over
    `MANY_TWINS` have one.
    """
    names = [name for name in policy.quasi_identifiers if name in source.schema.names]
    if len(names) < SEVERAL or source.n_rows < SEVERAL:
        return False
    rows = looked_at(source, engine)
    columns = [column for name in names for column in engine.encode(rows, [name])]
    if _twins_by_chance(columns, source.n_rows) >= FEW_TWINS:
        return False
    alone = dict(engine.class_sizes(source, names, SEVERAL).histogram).get(1, 0)
    if source.n_rows - alone <= MANY_TWINS * source.n_rows:
        return False
    own: list[CodedColumn] = []  # a column that another one determines makes no twin rarer
    for column in sorted(columns, key=lambda one: -one.size):
        if not any(
            _share_determined(other.codes.astype(np.int64), column.codes.astype(np.int64)) >= ALIKE for other in own
        ):
            own.append(column)
    return _twins_by_chance(own, source.n_rows) < FEW_TWINS


def _twins_by_chance(columns: Sequence[CodedColumn], n_rows: int) -> float:
    """Return the share of rows that would have a twin in all columns, were these independent."""
    shares = np.ones(columns[0].codes.size)
    for at, column in enumerate(columns):
        share = np.bincount(column.codes, minlength=column.size) / max(column.codes.size, 1)
        shares *= np.roll(share[column.codes], at * column.codes.size // len(columns))
    return float(np.mean(-np.expm1((n_rows - 1) * np.log1p(-np.minimum(shares, 1 - 1e-12)))))


# --- keys by structure -----------------------------------------------------------------------------------------------


def _may_be_key(profile: ColumnProfile) -> bool:
    """Return True if a column has the values of a key: integers or strings, many, and each in several rows."""
    several = profile.distinct >= MANY_VALUES and profile.filled >= ROWS_A_VALUE * profile.distinct
    plain = profile.kind in (ValueKind.WHOLE, ValueKind.TEXT) and profile.written is None
    return several and plain and not is_measure(profile.name) and not is_postal(profile.name)


def _is_about_person(column: CodedColumn) -> bool:
    """Return True if a column is named or filled like age, birth, sex, origin or marital state.

    Goods have an origin too: where the name says no more, and the values are places, it says nothing of a person.
    """
    texts = _texts(column)
    of_goods = set(words_of(column.name)) <= _ORIGINS and is_place("", texts)
    return is_demographic(column.name, texts) and not of_goods


def _is_key(key: CodedColumn, others: Sequence[CodedColumn], about: Collection[str], dates: Collection[str]) -> bool:
    """Return True if a column determines several others, one about the person, and is nearly determined by them.

    Columns that are made of the key, or it of them, are none of these: those that ascend or descend with it, and those
    that divide the rows alike, but for a date of birth.
    """
    chosen = _whole_groups(key)
    groups = key.codes[chosen].astype(np.int64)
    determined = [
        column for column in sorted(others, key=lambda one: one.name not in about) if _agrees(groups, column, chosen)
    ]
    if not any(column.name in about for column in determined):
        return False
    evidence = [
        column
        for column in determined
        if not _in_order(key, column) and (column.name in dates or not _part_alike(key.codes, column.codes))
    ]
    if len(evidence) < SEVERAL or not any(column.name in about for column in evidence):
        return False
    together, _ = combine([column.codes for column in evidence], key.codes.size)
    return _share_determined(together, key.codes.astype(np.int64)) >= NEARLY


def _whole_groups(key: CodedColumn) -> _Codes:
    """Return all rows of evenly spaced values of the key, enough of them for evidence by pairs."""
    n_values = key.size - (key.missing is not None)
    counts = np.bincount(key.codes, minlength=key.size)[:n_values]
    n_groups = max(MANY_VALUES, int(_ROWS / max(counts.mean(), 1.0)))
    spaced = np.unique(np.linspace(0, n_values - 1, min(n_groups, n_values)).astype(np.int64))
    wanted = np.zeros(key.size, dtype=bool)
    wanted[spaced] = True
    return np.flatnonzero(wanted[key.codes])


def _agrees(groups: _Codes, column: CodedColumn, chosen: _Codes) -> bool:
    """Return True if rows of one group agree in a column far beyond chance, pair by pair."""
    values = column.codes[chosen].astype(np.int64)
    both, n_both = combine([groups, values], groups.size)
    pairs = _pairs(np.bincount(groups))
    observed = _pairs(np.bincount(both, minlength=n_both)) / max(pairs, 1)
    chance = _pairs(np.bincount(column.codes)) / max(column.codes.size * (column.codes.size - 1) / 2, 1)
    return bool(chance < 1 and observed >= DETERMINED and observed - chance >= BEYOND_CHANCE * (1 - chance))


def _pairs(counts: NDArray[np.integer]) -> float:
    return float((counts * (counts - 1.0) / 2).sum())


def _in_order(key: CodedColumn, column: CodedColumn) -> bool:
    """Return True if the values of one column ascend, or descend, with those of the other, in their own order."""
    first, second = _places(key), _places(column)
    if first.std() == 0 or second.std() == 0:
        return False
    return abs(float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])) >= _IN_ORDER


def _places(column: CodedColumn) -> NDArray[np.float64]:
    """Return the place of each row's value among all values in order."""
    if column.ordered:
        return column.codes.astype(np.float64)
    order = sorted(range(column.size), key=lambda code: (column.values[code] is None, str(column.values[code])))
    place = np.empty(column.size)
    place[order] = np.arange(column.size)
    return np.asarray(place[column.codes])


def _ranks(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean rank of each row."""
    _, at, counts = np.unique(places, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[at])


def _share_determined(by: _Codes, key: _Codes) -> float:
    """Return the share of rows that have the value which is commonest where rows say the same."""
    both, n_both = combine([by, key], by.size)
    rows = np.bincount(both, minlength=n_both)
    owner = np.empty(n_both, dtype=np.int64)
    owner[both] = by
    most = np.zeros(int(by.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, owner, rows)
    return float(most.sum()) / max(by.size, 1)


def _texts(column: CodedColumn) -> list[str]:
    return [str(value) for value in column.values if value is not None]


def _is_date(profile: ColumnProfile) -> bool:
    return profile.kind is ValueKind.TIME or profile.written is not None


# --- candidates that are one -----------------------------------------------------------------------------------------


def _parting_otherwise(
    names: Iterable[tuple[str, ...]], before: Iterable[tuple[str, ...]], source: Source, engine: Engine
) -> list[tuple[str, ...]]:
    """Return those of some candidates that part the rows in another way than the others do; the first of each stays."""
    rows = looked_at(source, engine)

    def keys_of(columns: tuple[str, ...]) -> tuple[_Codes, NDArray[np.bool_]]:
        coded = engine.encode(rows, columns)
        there = np.ones(coded[0].codes.size, dtype=bool)
        for column in coded:
            there &= column.codes != (-1 if column.missing is None else column.missing)
        return combine([column.codes for column in coded], there.size)[0], there

    known = [keys_of(columns) for columns in before]
    chosen = []
    for columns in names:
        keys, there = keys_of(columns)
        if np.unique(keys[there]).size == there.sum():
            continue  # none occurs in two rows
        if not any(_alike(keys, there, *other) for other in known):
            known.append((keys, there))
            chosen.append(columns)
    return chosen


def _alike(keys: _Codes, there: NDArray[np.bool_], others: _Codes, others_there: NDArray[np.bool_]) -> bool:
    """Return True if two candidates part the rows alike, and are missing in the same ones."""
    both = there & others_there
    if both.sum() < ALIKE * (there | others_there).sum():
        return False
    return _part_alike(keys[both], others[both])


def _part_alike(one: NDArray[np.integer], other: NDArray[np.integer]) -> bool:
    first, second = one.astype(np.int64), other.astype(np.int64)
    return _share_determined(first, second) >= ALIKE and _share_determined(second, first) >= ALIKE
