# SPDX-License-Identifier: Apache-2.0
"""A policy drafted from a table: `anonkit init` writes it for the owner to read and correct.

Roles are guessed from names and from how many values a column has. Bounds are never taken from the table;
categories are shown only when many rows hold them, and as comments, since a domain must be public knowledge.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from anonkit.domains.cell_values import number_of_text
from anonkit.drafting.found_forms import FoundForms, calendar_lines, place_sections, read_by_forms
from anonkit.drafting.guessed_target import TargetGuess, guess_target
from anonkit.drafting.identifying.street_addresses import vocabulary, words_of
from anonkit.drafting.identifying.topic_words import looks_like_secret
from anonkit.drafting.owner_answers import GuessedRoles, OwnerAnswers
from anonkit.drafting.profiling import (
    MISSING_MARKERS,
    ColumnProfile,
    Undeclared,
    ValueKind,
    looked_at,
    profile_columns,
)
from anonkit.drafting.row_constraints import rule_lines
from anonkit.drafting.whose_rows import candidates_for_person, with_keys_by_structure
from anonkit.engines import open_engine
from anonkit.engines.reading.number_columns import CountGroups, text_columns_of_groups
from anonkit.engines.snapshots.addresses import ReadAs, source_at
from anonkit.engines.snapshots.dispatch import snapshot
from anonkit.errors import PolicyError, did_you_mean, on_command_line
from anonkit.policy.column_declarations import Role
from anonkit.policy.declaration import Policy, TargetUse
from anonkit.policy.person_candidates import Candidate
from anonkit.policy.side_files import POINT, UTF8, encoding_named
from anonkit.protocols import Engine, Progress, Source, no_progress
from anonkit.redaction import table_name
from anonkit.report.block_words import lost_cells

__all__ = ["SAFE_ROWS", "SAFE_SHARE", "draft_policy"]

DRAFT_STEPS = ("reading", "counting", "drafting")
"""Names of the steps of a draft, in order, as progress shows them."""
SAFE_ROWS = 10
SAFE_SHARE = 0.001
"""A value is shown in a draft when at least `SAFE_ROWS` rows and this share of all rows hold it."""

_LISTED = 60  # distinct values of a column whose categories are listed, at most
_CODES = 10  # distinct integers of a column that may be codes, at most
_CODE_ROWS = 10  # rows with a value for each of them, at least
_LISTED_LENGTH = 60  # characters of a listed value, at most
_LINE = 110

_MONEY_WORDS = vocabulary("income loan credit balance deposit savings")


def draft_policy(
    table: object,
    *,
    target: str | None = None,
    encoding: str | None = None,
    ask: Callable[[GuessedRoles], OwnerAnswers] | None = None,
    engine: Engine | None = None,
    progress: Progress = no_progress,
    **how: Unpack[ReadAs],
) -> str:
    """Draft a commented `policy.toml` from a table.

    Parameters
    ----------
    table : path or table
        Anything `anonkit.release` reads.
    target : str, optional
        The class label; otherwise the last column, where it is evidently one (`anonkit.drafting.guessed_target`).
    encoding : str, optional
        Encoding of a text file; UTF-8 by default. The draft declares it.
    ask : callable, optional
        Given what was guessed, returns what the owner answers; answers go before guesses.
    engine : Engine, optional
        Where the values are counted; a new local engine by default.
    progress : callable
        Called with the step and the share done.
    **how
        `query`, `sheet`, `format`, `header_row`, `header`, `names`, `decimal`, `delimiter` and
        `skip_rows`, as for `anonkit.release`.

    Returns
    -------
    str
        TOML text that `Policy.load` accepts unchanged: a role for every column, with the reason for the guess,
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
    max(`SAFE_ROWS`, `SAFE_SHARE` of the rows) rows hold (people instead of rows, when a column looks like their
    number), except for strings that commonly mean missing, such as `?`. It still describes the table: it is the
    owner's until every line was confirmed.
    """
    if engine is None:
        with closing(open_engine("local")) as opened:
            return draft_policy(
                table, target=target, encoding=encoding, ask=ask, engine=opened, progress=progress, **how
            )
    written_in = UTF8 if encoding is None else encoding_named(encoding)
    progress("reading", 0.0)
    with snapshot(source_at(table, **how)) as stays:
        source = stays.scan(engine, Policy(encoding=written_in))
        forms, source = read_by_forms(source, Policy(), engine)
        grouped = {*stays.grouped, *_grouped_in_texts(source, engine)} if how.get("decimal") is None else set()
        warnings = lost_cells({"points_between_figures": sorted(grouped)}, counted=False)
        lines = [f"# {on_command_line(note)}" for note in (*stays.notes, *warnings)]
        lines += [*([] if written_in == UTF8 else [f'encoding = "{written_in}"']), *_decimal_line(how.get("decimal"))]
        return _drafted(table, source, target, lines, forms, ask, engine, progress)


def _grouped_in_texts(source: Source, engine: Engine) -> tuple[str, ...]:
    """Return the text columns in which a point may separate thousands."""
    count = CountGroups(names=text_columns_of_groups(source.schema, Policy()))
    return count.found(engine.add_up(source, count, count.names, count.size)) if count.names else ()


def _drafted(
    table: object,
    source: Source,
    target: str | None,
    lines: Sequence[str],
    forms: FoundForms,
    ask: Callable[[GuessedRoles], OwnerAnswers] | None,
    engine: Engine,
    progress: Progress,
) -> str:
    """Return the draft of a table that is open."""
    names = source.schema.names
    if target is not None and target not in names:
        raise PolicyError(f"column {target!r} is not in the table", did_you_mean(target, names))
    profiles = profile_columns(engine, source, progress)
    found = _with_keys(source, profiles, engine)
    profiles = [found.profiles[profile.name] for profile in profiles]
    candidates = _candidates(source, found, target, engine)
    unit = _guess_unit(profiles, candidates, target)
    guess = None if target is not None else _guess_target(source, profiles, unit, engine)
    roles = _guess_roles(profiles, target if guess is None else guess.target, unit)
    answers = None
    if ask is not None:
        persons = [name for candidate in candidates for name in candidate.columns]
        answers = ask(GuessedRoles(roles=roles, secrets=[n for n in names if _is_sensitive(n)], persons=persons))
        roles, guess = answers.roles(roles), None
    safe = _safe_rows(engine, source, roles)
    guesses: list[_Guess] = []
    for at, profile in enumerate(profiles):
        progress("drafting", at / len(profiles))
        guesses.append(_guess(engine, source, profile, roles[profile.name], safe))
    blocks = [
        _head(table, profiles, lines, _whose_lines(candidates, unit, answers), answers),
        *(_section(each, guess, answers, forms) for each in guesses),
        *place_sections(profiles),
    ]
    few = [each.profile.name for each in guesses if each.role is not Role.UNIT and each.has_few_values]
    rules = rule_lines(engine, source, few, _most_of_one(engine, source, roles))
    blocks += [rules] if rules else []
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


# --- guessing --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Guess:
    """The entry of the draft on a column."""

    profile: ColumnProfile
    role: Role
    common: Sequence[str] = ()
    """The values that many rows hold, in order."""
    complete: bool = False
    """True when these are all values of the column."""
    words: Sequence[str] = ()
    """Of a column of numbers but for some strings: those strings that many rows hold."""

    @property
    def has_few_values(self) -> bool:
        """True of released columns of strings or integers with few values."""
        kind = self.profile.kind in (ValueKind.TEXT, ValueKind.WHOLE)
        return kind and self.role is not Role.IDENTIFIER and 1 < self.profile.distinct <= _LISTED

    @property
    def may_be_codes(self) -> bool:
        """True when the values are few integers, each of many rows on average, such as 0 and 1, or 1 to 5."""
        profile = self.profile
        few = 0 < profile.distinct <= _CODES and profile.filled >= _CODE_ROWS * profile.distinct
        return self.role is Role.QUASI_IDENTIFIER and profile.kind is ValueKind.WHOLE and few


def _with_keys(source: Source, profiles: Sequence[ColumnProfile], engine: Engine) -> Undeclared:
    """Return the identifiers that a release would find, keys by structure among them, with every profile."""
    by_name = {profile.name: profile for profile in profiles}
    taken = {name: profile for name, profile in by_name.items() if profile.verdict is not None}
    return with_keys_by_structure(source, Undeclared(taken=taken, profiles=by_name), engine)


def _candidates(source: Source, found: Undeclared, target: str | None, engine: Engine) -> tuple[Candidate, ...]:
    """Return the candidates for the person of a row, as a release of the table would find it without this draft."""
    policy = found.declared(Policy()).with_roles(target=target)
    resolved = policy.resolve(source.schema.names, target_use=TargetUse.AS_DECLARED)
    return candidates_for_person(source, resolved, found, engine)


def _guess_unit(profiles: Sequence[ColumnProfile], candidates: Sequence[Candidate], target: str | None) -> str | None:
    """Return the unit: where there is one candidate, and it is the number of something; of several none is chosen."""
    if len(candidates) > 1:
        return None
    numbers = [profile.name for profile in profiles if profile.may_be_unit and profile.name != target]
    return next((name for candidate in candidates for name in candidate.columns if name in numbers), None)


def _whose_lines(candidates: Sequence[Candidate], unit: str | None, answers: OwnerAnswers | None) -> list[str]:
    """Ask whose the rows are, where neither the draft nor the owner chooses."""
    if answers is not None:
        return [] if answers.unit else ['unit = "none"   # no person has several rows, as answered']
    if not candidates or unit is not None:
        return ['# unit = "none"   # no person has several rows']
    names = "; ".join(" with ".join(candidate.columns) for candidate in candidates)
    return [
        *_comment(
            f"Whose are the rows? Each of these may be a person who has several: {names}. Every class then holds k "
            'different values of each. If one is the person, give its columns role = "unit" below; if no person has '
            "several rows, uncomment the line."
        ),
        '# unit = "none"',
    ]


def _guess_target(source: Source, profiles: Sequence[ColumnProfile], unit: str | None, engine: Engine) -> TargetGuess:
    """Return a release's guess on the last column, by the same rule."""
    identifiers = [profile.name for profile in profiles if profile.identifier_reason is not None]
    return guess_target(source, Policy().with_roles(unit=unit), identifiers, engine)


def _guess_roles(profiles: Sequence[ColumnProfile], label: str | None, unit: str | None) -> dict[str, Role]:
    roles = {
        profile.name: Role.QUASI_IDENTIFIER if profile.identifier_reason is None else Role.IDENTIFIER
        for profile in profiles
    }
    if label is not None:
        roles[label] = Role.TARGET
    if unit is not None:
        roles[unit] = Role.UNIT
    return roles


def _most_of_one(engine: Engine, source: Source, roles: Mapping[str, Role]) -> int:
    """Return the largest number of rows of one person: 1 without a unit."""
    unit = next((name for name, role in roles.items() if role is Role.UNIT), None)
    return 1 if unit is None else engine.class_sizes(source, [unit], 1).histogram[-1][0]


def _safe_rows(engine: Engine, source: Source, roles: Mapping[str, Role]) -> int:
    """Return the least number of rows of a value that is shown: with a unit, so many that enough people hold it."""
    return _most_of_one(engine, source, roles) * max(SAFE_ROWS, math.ceil(SAFE_SHARE * source.n_rows))


def _guess(engine: Engine, source: Source, profile: ColumnProfile, role: Role, safe: int) -> _Guess:
    if role in (Role.IDENTIFIER, Role.UNIT):
        return _Guess(profile=profile, role=role)
    words = _common(engine, looked_at(source, engine), profile.name, safe) if profile.mostly_numbers else []
    guess = _Guess(profile=profile, role=role, words=[word for word in words if number_of_text(word) is None])
    listed = profile.kind is ValueKind.TEXT or (profile.kind is ValueKind.WHOLE and role is Role.TARGET)
    if not (listed or guess.may_be_codes) or not 0 < profile.distinct <= _LISTED:
        return guess
    common = _common(engine, source, profile.name, safe)
    return replace(guess, common=common, complete=len(common) == profile.distinct)


def _common(engine: Engine, source: Source, name: str, safe: int) -> list[str]:
    """Return the values of a column that many rows hold, in order."""
    (column,) = engine.encode(source, [name])
    counts = np.bincount(column.codes, minlength=column.size)
    return [
        str(value)
        for value, count in zip(column.values, counts, strict=True)
        if value is not None and count >= safe and len(str(value)) <= _LISTED_LENGTH
    ]


# --- writing ---------------------------------------------------------------------------------------------------


def _decimal_line(mark: str | None) -> list[str]:
    return [] if mark in (None, POINT) else [f'decimal = "{mark}"']


def _head(
    table: object,
    profiles: Iterable[ColumnProfile],
    form: Sequence[str],
    whose: Sequence[str],
    answers: OwnerAnswers | None,
) -> list[str]:
    stem = table_name(table) if isinstance(table, str | Path) else ""
    stem = answers.dataset if answers is not None and answers.dataset else stem
    markers = sorted({marker for profile in profiles for marker in profile.markers})
    return [
        "# A draft: every role below is a guess. Read each line, correct it, and keep the file private until then.",
        "#",
        "# role = identifier         names a person; never released",
        "#        unit               whose row it is, when one person has many; counted, never released",
        "#        quasi_identifier   an attacker may know it from elsewhere; protected (the cautious choice)",
        "#        sensitive          what an attacker wants to learn; its diversity is checked",
        "#        insensitive        neither; released unchanged",
        "#        target             the class label that consumers predict; released unchanged by k-anonymous methods",
        "#",
        "# Methods of local and central differential privacy need a domain for every released column: bounds for",
        "# numbers, categories for the rest. A domain must be public knowledge (a code book, a law, common sense), so",
        "# none is taken from the table: fill in the commented lines.",
        "",
        f"dataset = {_text(stem)}" if stem else '# dataset = "NAME"',
        '# declared_by = "NAME, OFFICE"   # who vouches that the domains below are public',
        f"{'' if markers else '# '}missing_values = {_texts(['', *(markers or ['?'])])}",
        *form,
        'missing = "category"   # or "drop" (the row), or "error"',
        *whose,
    ]


def _section(
    guess: _Guess, of_target: TargetGuess | None, answers: OwnerAnswers | None, forms: FoundForms
) -> list[str]:
    profile, role = guess.profile, guess.role
    lines = [
        f"[columns.{_key(profile.name)}]",
        *_comment(" ".join([*_notes(guess, of_target), *_form_notes(profile.name, forms)])),
        f'role = "{role}"',
        *forms.lines(profile.name),
    ]
    if role in (Role.IDENTIFIER, Role.UNIT):
        return lines
    if answers is not None and profile.name in answers.keep and not answers.needs_domains:
        lines.append("keep = true")
    if role is Role.TARGET and answers is not None and profile.name in answers.sensitive:
        lines.append("sensitive = true")
    elif role is Role.TARGET and _is_sensitive(profile.name):
        lines.append("# sensitive = true")
    if role is not Role.TARGET and (calendar := calendar_lines(profile, is_declared=profile.name in forms.columns)):
        return [*lines, *calendar]
    if role is Role.TARGET or profile.kind is ValueKind.TEXT:
        return lines + _category_lines(guess)
    if guess.may_be_codes:
        lines += _code_lines(guess)
    whole = (
        ['# type = "integer"   # whole numbers: noise releases them as such'] if profile.kind is ValueKind.WHOLE else []
    )
    return [*lines, "# bounds = [LOW, HIGH]   # inclusive, from public knowledge", *whole]


def _code_lines(guess: _Guess) -> list[str]:
    """Propose that few integers are categories: by their type in a text file, by a list in any table."""
    return [
        *_comment(
            "A small set of whole numbers: codes without order (0 and 1 for no and yes) are categories, grouped by "
            "value, not by range. If these are such codes, uncomment the type (of CSV and TSV) or the categories (of "
            "every source), and leave out the bounds."
        ),
        '# type = "category"',
        *_category_lines(guess),
    ]


def _notes(guess: _Guess, of_target: TargetGuess | None) -> list[str]:
    """Return the reasons for a guess, and what the owner may want to change."""
    profile = guess.profile
    if guess.role is Role.IDENTIFIER:
        notes = [f"Identifier: {profile.identifier_reason or 'as answered'}."]
        if profile.repeats:
            notes.append('Values repeat: if one person has several rows, role = "unit" makes k count people.')
    elif guess.role is Role.UNIT:
        reason = f"Identifier: {profile.identifier_reason}. " if profile.identifier_reason else ""
        notes = [f"{reason}Values repeat, so one person seems to have several rows"]
        notes.append('and k counts people; otherwise role = "identifier".')
    elif guess.role is Role.SENSITIVE:
        notes = ["Secret, as answered: nobody may learn it about a person."]
    elif guess.role is Role.TARGET:
        notes = _target_notes(profile, target_is_given=of_target is None)
    else:
        notes = _quasi_identifier_notes(profile)
    if of_target is not None and of_target.column == profile.name and of_target.against is not None:
        notes.append(_no_target_note(of_target))
    if profile.markers:
        notes.append(f"Numbers but for {_texts(profile.markers)[1:-1]}, which missing_values above makes missing.")
    if profile.mostly_numbers:
        notes.append(_words_note(guess.words))
    for marker in sorted(set(guess.common).intersection(MISSING_MARKERS)):
        notes.append(f"Does {_text(marker)} mean missing? Then list it in missing_values.")
    return notes


def _form_notes(name: str, forms: FoundForms) -> list[str]:
    if name in forms.columns:
        return ["The lines below the role say how its cells are written: without them noise reads texts."]
    if name not in forms.undecided:
        return []
    one, other = forms.undecided[name]
    return [f"All its cells can be read by {one}, and by {other}, and not as the same: declare which of both it is."]


def _words_note(words: Sequence[str]) -> str:
    """Return the note that strings occur among numbers; those that many rows hold are shown."""
    note = (
        "Most cells are numbers, the others are texts, so that it is read as categories: list in missing_values above "
    )
    if not words:
        return f'{note}those that mean missing: missing_values = ["", "TEXT"].'
    return f"{note}those that mean missing. In many rows: missing_values = {_texts(['', *words])}."


def _target_notes(profile: ColumnProfile, *, target_is_given: bool) -> list[str]:
    how = "as you named it" if target_is_given else "guessed, evidently a class label"
    notes = [f"Target: {how}; a target is released unchanged by k-anonymous methods."]
    if profile.identifier_reason is not None:
        notes.append(f"It looks like an identifier ({profile.identifier_reason}): is it the right column?")
    elif profile.distinct > _LISTED:
        notes.append("It has many values where a few classes are expected: is it the right column?")
    if _is_sensitive(profile.name):
        notes.append("Perhaps sensitive, by its name: then uncomment the line below the role.")
    return notes


def _no_target_note(of_target: TargetGuess) -> str:
    """Return the reason why the last column is not taken for the target, and what a target would mean."""
    if of_target.is_secret:
        return (
            'No target was guessed: it looks like a secret. role = "sensitive", or role = "target": released unchanged.'
        )
    return f'No target was guessed: the last column {of_target.against}. role = "target" releases a column unchanged.'


def _quasi_identifier_notes(profile: ColumnProfile) -> list[str]:
    notes = [f"{profile.kind.value.capitalize()} that an attacker may know."]
    if profile.is_named_identifier:
        how_many = "with many different" if 2 * profile.distinct > profile.filled else "but with repeated"
        notes.append(f'Named like an identifier, {how_many} values: if it tells people apart, role = "identifier".')
    elif profile.kind is ValueKind.TEXT and profile.filled >= 10 and 2 * profile.distinct > profile.filled:
        notes.append('Nearly as many values as rows: role = "identifier" if it names people, otherwise give a tree.')
    if _is_sensitive(profile.name):
        notes.append('Perhaps sensitive, by its name: then role = "sensitive".')
    return notes


def _is_sensitive(name: str) -> bool:
    return looks_like_secret(name) or not _MONEY_WORDS.isdisjoint(words_of(name))


def _category_lines(guess: _Guess) -> list[str]:
    if not guess.common:
        return ['# categories = ["...", "..."]   # the public domain, in order; or tree = "FILE.csv", a hierarchy']
    rest = "" if guess.complete else ", rarer ones are not shown"
    lines = _comment(f"Each of these is in many rows{rest}. Confirm or complete the list from public knowledge:")
    line = "# categories = ["
    for at, value in enumerate(guess.common):
        item = _text(value) + ("]" if at == len(guess.common) - 1 else ", ")
        if len(line) + len(item) > _LINE:
            lines.append(line.rstrip())
            line = "#     "
        line += item
    return [*lines, line]


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _LINE, initial_indent="# ", subsequent_indent="# ")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _texts(values: Iterable[str]) -> str:
    return "[" + ", ".join(map(_text, values)) + "]"


def _text(value: str) -> str:
    """Return a TOML basic string in which everything that is not plainly seen on one line is escaped."""
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(line if line.isprintable() else f"\\U{ord(line):08X}" for line in quoted)
