# SPDX-License-Identifier: Apache-2.0
"""Drafting a policy from a table: what `anonkit init` writes for the owner to read and correct.

Roles are guessed from names and from how many values a column has. Bounds are never taken from the table;
categories are shown only when many rows hold them, and as comments, since a domain must be public knowledge.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonkit.cells import is_ordered
from anonkit.engines import open_engine
from anonkit.errors import PolicyError, did_you_mean
from anonkit.mechanisms.coding import CodedColumn
from anonkit.policy import Policy, Role
from anonkit.protocols import Engine, Source

SAFE_ROWS = 10
SAFE_SHARE = 0.001
"""A value is shown in a draft when at least `SAFE_ROWS` rows and this share of all rows hold it."""

MISSING_MARKERS = (
    *("?", "-", "--", ".", "*", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "Null", "null", "None", "none"),
    *("Missing", "missing", "Unknown", "unknown"),
)
"""Texts that commonly mean missing; named in a draft when they stand among numbers, however few rows hold them."""

_LISTED = 60  # values of a column whose categories are listed, at most
_LISTED_LENGTH = 60  # characters of a listed value, at most
_LINE = 110
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"

_NUMBER_WORDS = frozenset(
    "id ids uid uuid guid ssn nin sin nif cpf bsn nhs mrn passport iban account card license licence plate vin imei "
    "imsi msisdn phone telephone tel mobile cell fax email mail username login userid customerid clientid patientid "
    "personid memberid employeeid studentid subjectid 身份证 身份证号 手机 手机号 电话 邮箱".split()
)
_NAME_WORDS = frozenset(
    "name names surname firstname forename lastname fullname nickname address street url ip mac vorname nachname nom "
    "prénom prenom nombre apellido apellidos nome cognome 姓名 名字 氏名".split()
)
_NUMBERING_WORDS = frozenset("no nr num number code key index idx ref reference serial record row case hash".split())
_QUALIFYING_WORDS = _NUMBERING_WORDS | frozenset("first last middle given family full".split())
_GROUP_WORDS = frozenset(
    "country state city region county district product item brand model company store shop department school hospital "
    "ward course category type class group job".split()
)
_SENSITIVE_WORDS = frozenset(
    "disease illness diagnosis diagnoses icd condition symptom symptoms treatment medication drug therapy hiv cancer "
    "disability pregnancy pregnant mental health death salary income wage wages earnings debt loan credit balance "
    "deposit savings wealth religion faith belief political politics vote union orientation sexuality genetic genotype "
    "conviction crime offence offense arrest".split()
)


class ValueKind(Enum):
    """What the values of a column are, as far as a draft is concerned."""

    TEXT = "Categories or texts"
    WHOLE = "Whole numbers"
    FRACTIONAL = "Numbers"
    TIME = "Dates or times"


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """How many values a column has; none of the values."""

    name: str
    kind: ValueKind
    filled: int
    """Rows in which the column has a value."""
    distinct: int
    """Distinct values, missing apart."""
    serial: bool = False
    """Whole numbers without a gap, or all with the same number of digits, six at least."""

    @classmethod
    def of_codes(cls, column: CodedColumn) -> ColumnProfile:
        """Return the profile of a column that an engine has coded."""
        values = [value for value in column.values if value is not None]
        missing = 0 if column.missing is None else int(np.count_nonzero(column.codes == column.missing))
        kind = ValueKind.TEXT
        serial = False
        if column.ordered and values:
            first, last = values[0], values[-1]
            kind = {int: ValueKind.WHOLE, float: ValueKind.FRACTIONAL}.get(type(first), ValueKind.TIME)
            serial = isinstance(first, int) and isinstance(last, int) and _is_serial(first, last, len(values))
        return cls(name=column.name, kind=kind, filled=len(column.codes) - missing, distinct=len(values), serial=serial)

    @property
    def repeats(self) -> bool:
        """True when some value stands in several rows."""
        return self.distinct < self.filled

    @property
    def is_coarse(self) -> bool:
        """True when the values tell groups apart, not people: few of them, each in many rows on average."""
        return 0 < self.distinct <= 100 and self.filled >= 20 * self.distinct


def likely_identifiers(columns: Iterable[CodedColumn]) -> list[str]:
    """Return the names of the columns that look like identifiers: by name, or because nearly every row is alone.

    Parameters
    ----------
    columns : iterable of CodedColumn
        As `Engine.encode` returns them.

    Privacy
    -------
    The answer depends on the number of distinct values only; it is for the owner, who decides.
    """
    return [column.name for column in columns if identifier_reason(ColumnProfile.of_codes(column)) is not None]


def identifier_reason(profile: ColumnProfile) -> str | None:
    """Return why a column looks like an identifier, or None when it does not."""
    if _named(profile.name, _NUMBER_WORDS | _NAME_WORDS) and not profile.is_coarse:
        return "its name says so"
    if profile.filled < 10:
        return None
    share = profile.distinct / profile.filled
    if profile.kind in (ValueKind.TEXT, ValueKind.WHOLE) and share >= 0.5 and _is_numbering(profile.name):
        return "its name is that of a numbering, and it has many values"
    if share >= 0.9 and (profile.kind is ValueKind.TEXT or profile.serial):
        return "nearly every row has a value of its own"
    return None


def draft_policy(table: Any, *, target: str | None = None, engine: Engine | None = None) -> str:
    """Draft a commented `policy.toml` from a table.

    Parameters
    ----------
    table : path or table
        Anything `anonkit.release` reads.
    target : str, optional
        The class label; otherwise the last column that does not look like an identifier.
    engine : Engine, optional
        Where the values are counted; a new local engine by default.

    Returns
    -------
    str
        TOML text that `Policy.load` accepts as it stands: a role for every column, with the reason for the guess,
        and commented-out `bounds` and `categories` to fill in.

    Raises
    ------
    PolicyError
        The table has no column `target`.
    SourceError
        The table cannot be read.

    Privacy
    -------
    A draft holds no minimum or maximum, no count, no value of an identifier, and no value that fewer than
    max(`SAFE_ROWS`, `SAFE_SHARE` of the rows) rows hold; with a unit column, people instead of rows. It still
    describes the table: it is the owner's until every line was confirmed.
    """
    with closing(open_engine("local")) if engine is None else nullcontext(engine) as opened:
        source = opened.scan(table, Policy())
        names = source.schema.names
        if target is not None and target not in names:
            raise PolicyError(f"column {target!r} is not in the table", did_you_mean(target, names))
        looks = [_look(opened, source, name) for name in names]
        roles = _guess_roles([look.profile for look in looks], target)
        safe = _safe_rows(opened, source, roles)
        sections = []
        for look in looks:
            role = roles[look.profile.name]
            common = _common_values(opened, source, look, role, safe)
            sections.append("\n".join(_section(look, role, target, common)))
    markers = sorted({marker for look in looks for marker in look.markers})
    return "\n\n".join(["\n".join(_head(table, markers)), *sections]) + "\n"


# --- looking at the table --------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Tally:
    """What one pass over a column finds."""

    filled: int = 0
    numbers: int = 0
    """Text cells that are numbers."""
    marked: int = 0
    """Text cells that commonly mean missing."""
    markers: set[str] = field(default_factory=set)
    low: int | None = field(default=None, repr=False)
    high: int | None = field(default=None, repr=False)

    def add(self, cells: pa.Array) -> None:
        values = cells.dictionary_decode() if isinstance(cells, pa.DictionaryArray) else cells
        self.filled += len(values) - values.null_count
        if pa.types.is_string(values.type):
            is_number = pc.fill_null(pc.match_substring_regex(values, _NUMBER), False)
            marks = values.filter(pc.is_in(values, pa.array(MISSING_MARKERS)))
            self.numbers += pc.sum(is_number).as_py() or 0
            self.marked += len(marks)
            self.markers.update(marks.unique().to_pylist())
        elif pa.types.is_integer(values.type) and self.filled:
            low, high = pc.min_max(values).as_py().values()
            self.low, self.high = (
                min((x for x in (self.low, low) if x is not None), default=None),
                max((x for x in (self.high, high) if x is not None), default=None),
            )


@dataclass(frozen=True, kw_only=True)
class _Look:
    """A column as the draft describes it."""

    profile: ColumnProfile
    markers: tuple[str, ...] = ()
    """What stands for missing among the numbers of a text column."""
    mostly_numbers: bool = False
    """Nine in ten cells of a text column are numbers, the others are texts that are not known to mean missing."""


def _look(engine: Engine, source: Source, name: str) -> _Look:
    tally = _Tally()
    for batch in source.batches([name]):
        tally.add(batch.column(0))
    classes = engine.class_sizes(source, [name], 1).classes
    distinct = classes - (1 if tally.filled < source.n_rows else 0)
    among_numbers = 0 < tally.numbers == tally.filled - tally.marked and tally.marked > 0
    serial = tally.low is not None and tally.high is not None and _is_serial(tally.low, tally.high, distinct)
    kind = ValueKind.FRACTIONAL if among_numbers else _kind(source.schema.field(name).type)
    return _Look(
        profile=ColumnProfile(name=name, kind=kind, filled=tally.filled, distinct=distinct, serial=serial),
        markers=tuple(sorted(tally.markers)) if among_numbers else (),
        mostly_numbers=not among_numbers and 0.9 * tally.filled <= tally.numbers < tally.filled,
    )


def _kind(given: pa.DataType) -> ValueKind:
    if not is_ordered(given):
        return ValueKind.TEXT
    if pa.types.is_integer(given):
        return ValueKind.WHOLE
    return ValueKind.TIME if pa.types.is_temporal(given) else ValueKind.FRACTIONAL


def _is_serial(low: int, high: int, distinct: int) -> bool:
    return high - low + 1 == distinct or (low > 0 and len(str(low)) == len(str(high)) >= 6)


def _safe_rows(engine: Engine, source: Source, roles: dict[str, Role]) -> int:
    """Return how many rows must hold a value for it to be shown: so many that enough people do, when there is a unit."""
    unit = next((name for name, role in roles.items() if role is Role.UNIT), None)
    most = 1 if unit is None else engine.class_sizes(source, [unit], 1).histogram[-1][0]
    return int(most * max(SAFE_ROWS, math.ceil(SAFE_SHARE * source.n_rows)))


def _common_values(engine: Engine, source: Source, look: _Look, role: Role, safe: int) -> tuple[list[str], bool]:
    """Return the values that many rows hold, in order, and whether these are all values of the column."""
    profile = look.profile
    listed = profile.kind is ValueKind.TEXT or (profile.kind is ValueKind.WHOLE and role is Role.TARGET)
    if not listed or role in (Role.IDENTIFIER, Role.UNIT) or not 0 < profile.distinct <= _LISTED:
        return [], False
    (column,) = engine.encode(source, [profile.name])
    counts = np.bincount(column.codes, minlength=column.size)
    common = [
        str(value)
        for value, count in zip(column.values, counts, strict=True)
        if value is not None and count >= safe and len(str(value)) <= _LISTED_LENGTH
    ]
    return common, len(common) == profile.distinct


# --- guessing roles --------------------------------------------------------------------------------------------


def _guess_roles(profiles: Sequence[ColumnProfile], target: str | None) -> dict[str, Role]:
    roles = {
        profile.name: Role.QUASI_IDENTIFIER if identifier_reason(profile) is None else Role.IDENTIFIER
        for profile in profiles
    }
    label = target or next((name for name in reversed(roles) if roles[name] is Role.QUASI_IDENTIFIER), None)
    if label is not None:
        roles[label] = Role.TARGET
    for profile in profiles:
        if roles[profile.name] is Role.IDENTIFIER and _may_be_unit(profile):
            roles[profile.name] = Role.UNIT
            break
    return roles


def _may_be_unit(profile: ColumnProfile) -> bool:
    return profile.repeats and (_named(profile.name, _NUMBER_WORDS) or _is_numbering(profile.name))


def _words(name: str) -> list[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W\d_]+", spaced.lower()) if word]


def _named(name: str, vocabulary: frozenset[str]) -> bool:
    words = _words(name)
    while words and words[-1] in _QUALIFYING_WORDS:
        words.pop()
    return bool(words) and words[-1] in vocabulary and not _GROUP_WORDS.intersection(words)


def _is_numbering(name: str) -> bool:
    return bool(_NUMBERING_WORDS.intersection(_words(name)[-1:]))


# --- writing the text ------------------------------------------------------------------------------------------


def _head(table: Any, markers: Sequence[str]) -> list[str]:
    stem = Path(table).name.split(".")[0] if isinstance(table, str | Path) else ""
    return [
        "# A draft: every role below is a guess. Read each line, correct it, and keep the file private until then.",
        "#",
        "# role = identifier         names a person; never released",
        "#        unit               whose row it is, when one person has many; counted, never released",
        "#        quasi_identifier   an attacker may know it from elsewhere; protected (the cautious choice)",
        "#        sensitive          what an attacker wants to learn; its diversity is checked",
        "#        insensitive        neither; released unchanged",
        "#        target             the class label that consumers predict",
        "#",
        "# Methods of local and central differential privacy need a domain for every released column: bounds for numbers,",
        "# categories for the rest. A domain must be public knowledge (a code book, a law, common sense), so none is",
        "# taken from the table: fill in the commented lines.",
        "",
        f'dataset = {_text(stem)}' if stem else '# dataset = "NAME"',
        '# declared_by = "NAME, OFFICE"   # who vouches that the domains below are public',
        f'{"" if markers else "# "}missing_values = {_texts(["", *(markers or ["?"])])}   # in CSV and TSV',
        'missing = "category"   # or "drop" (the row), or "error"',
    ]


def _section(look: _Look, role: Role, target: str | None, common: tuple[list[str], bool]) -> list[str]:
    lines = [f"[columns.{_key(look.profile.name)}]", *(f"# {note}" for note in _notes(look, role, target, common[0]))]
    lines.append(f'role = "{role}"')
    if role is Role.TARGET and _is_sensitive(look.profile.name):
        lines.append("# sensitive = true")
    if role in (Role.IDENTIFIER, Role.UNIT) or look.profile.kind is ValueKind.TIME:
        return lines
    if role is Role.TARGET or look.profile.kind is ValueKind.TEXT:
        return lines + _category_lines(*common)
    return [*lines, "# bounds = [LOW, HIGH]   # inclusive, from public knowledge"]


def _notes(look: _Look, role: Role, target: str | None, common: Sequence[str]) -> list[str]:
    """Return the reasons for the guess, and what the owner may want to change."""
    profile = look.profile
    reason = identifier_reason(profile)
    notes = []
    if role is Role.IDENTIFIER:
        notes.append(f"Identifier: {reason}.")
        if profile.repeats:
            notes.append('Values repeat: if one person has several rows, role = "unit" makes k count people.')
    elif role is Role.UNIT:
        notes.append(f"Identifier: {reason}. Its values repeat, so one person seems to have several rows and k counts")
        notes.append('people. Otherwise: role = "identifier".')
    elif role is Role.TARGET:
        notes.append("Target: as asked for." if target else "Target: the last column that does not look like an identifier.")
        if reason is not None:
            notes.append(f"It looks like an identifier ({reason}): is it the right column?")
        elif profile.distinct > _LISTED:
            notes.append("It has many values where a few classes are expected: is it the right column?")
        if _is_sensitive(profile.name):
            notes.append("Perhaps sensitive, by its name: then uncomment the line below the role.")
    else:
        notes += _quasi_identifier_notes(profile)
    if look.markers:
        notes.append(f"Numbers, but for {_texts(look.markers)[1:-1]}: missing_values above makes them missing.")
    if look.mostly_numbers:
        notes.append("Most cells are numbers, the others are texts: list in missing_values those that mean missing.")
    for marker in set(common).intersection(MISSING_MARKERS):
        notes.append(f"Does {_text(marker)} mean missing? Then list it in missing_values.")
    return notes


def _quasi_identifier_notes(profile: ColumnProfile) -> list[str]:
    notes = [f"{profile.kind.value}; a quasi-identifier until somebody knows better."]
    if _named(profile.name, _NUMBER_WORDS | _NAME_WORDS):
        notes.append('Named like an identifier, but with few values: if it tells people apart, role = "identifier".')
    elif profile.kind is ValueKind.TEXT and profile.filled >= 10 and 2 * profile.distinct > profile.filled:
        notes.append('Most of its values stand in one row: role = "identifier" if it names people, else give a tree.')
    if _is_sensitive(profile.name):
        notes.append('Perhaps sensitive, by its name: then role = "sensitive".')
    return notes


def _is_sensitive(name: str) -> bool:
    return not _SENSITIVE_WORDS.isdisjoint(_words(name))


def _category_lines(common: Sequence[str], complete: bool) -> list[str]:
    if not common:
        return ['# categories = ["...", "..."]   # the public domain, in order; or tree = "FILE.csv", a hierarchy']
    shown = "These stand in many rows each" + ("" if complete else "; rarer values are not shown")
    lines = [f"# {shown}. Confirm or complete the list from public knowledge:"]
    line = "# categories = ["
    for at, value in enumerate(common):
        item = _text(value) + ("]" if at == len(common) - 1 else ", ")
        if len(line) + len(item) > _LINE:
            lines.append(line.rstrip())
            line = "#     "
        line += item
    return [*lines, line]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _texts(values: Iterable[str]) -> str:
    return "[" + ", ".join(map(_text, values)) + "]"


def _text(value: str) -> str:
    """Return a TOML basic string: JSON's escapes, and DEL, which JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
